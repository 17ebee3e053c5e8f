/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's arguments, from its line in plugstack.conf. Pure. */
#pragma once

#include "lanes/plugin/slurm/lane.h"

struct spank_arguments {
	enum lane_expectation otherwise; /* of a job without --fairlead */
	const char *submitter;           /* first part of jobs' names */
	const char *jobs_dir;            /* NULL: FAIRLEAD_JOBS_DIR */
};

/*
 * Texts are borrowed. -EINVAL with a text that names the argument that is
 * wrong, and says what is right.
 */
int arguments_parse(int count, char *const *texts,
		    struct spank_arguments *ret_arguments,
		    struct fairlead_error *ret_error);
