/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a site keeps for a job, such as a cgroup, as a setting names it: a path
 * in which stand
 *
 *	%g  the grant's id
 *	%j  the job, as its job manager knows it
 *	%u  the owner's uid
 *
 * Whoever submits a job may have chosen %j: what comes out stays below the
 * directory that the site has named. Pure.
 */
#pragma once

#include <limits.h>
#include <stdint.h>

#include "base/error.h"

struct job_names {
	uint64_t grant_id;
	uint32_t uid;
	const char *job; /* "": not known */
};

/*
 * -EINVAL with a text: neither %g nor %j, by which jobs differ, or any
 * other '%'.
 */
int job_path_check(const char *pattern, struct fairlead_error *ret_error);
/*
 * pattern: has passed the check. -ENOENT with a text: it has %j, and the lane
 * was made without its job's name; -EINVAL: a part would be "." or "..";
 * -ENAMETOOLONG.
 */
int job_path_format(const char *pattern, const struct job_names *names,
		    char path[PATH_MAX], struct fairlead_error *ret_error);
