/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user requests of a lane, in the text that Slurm and Flux pass on:
 *
 *	off                 no lane
 *	NAME[=VALUE][,...]  options for the driver; interconnect=NAME names it
 *
 * Names have a-z, 0-9 and _; values letters, digits and _.:+-. The text is the
 * user's, and may be forged on its way. Errors are for the user: printable,
 * with what is right. Pure; for plugins as well.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"
#include "fairlead_driver.h"

/* Whether a job is to have a lane, by its options and the site's default. */
enum lane_expectation {
	LANE_NONE, /* it asked for none, or the default is none */
	LANE_MAY, /* one, or none when a pool is empty (reserve_fatal = false) */
	LANE_MUST,
};

/* "must", "may" and "none", as settings of plugins have it. -EINVAL. */
int lane_expectation_parse(const char *text, enum lane_expectation *ret_lane,
			   struct fairlead_error *ret_error);
const char *lane_expectation_name(enum lane_expectation lane);
/* Is it the first part of a job's key: 1 to 32 letters, digits, _ and -? */
int submitter_check(const char *text, struct fairlead_error *ret_error);

/* -EINVAL: it is empty, too long, or not of this form. */
int job_options_check(const char *text, struct fairlead_error *ret_error);

/*
 * Check a text and split it: the interconnect, "" if none is named, and the
 * options for its driver.
 */
int job_options_split(const char *text,
		      char ret_interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1],
		      char ret_options[FAIRLEAD_OPTIONS_MAX + 1],
		      struct fairlead_error *ret_error);

/* Is the item, such as "vnis=0", one of a good text? */
bool job_options_has(const char *text, const char *item);
