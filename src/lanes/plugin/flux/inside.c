/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/inside.h"

#include <string.h>

static const char *const jobs[] = { "a job of Slurm", "a job of Fairlead" };
const char *const inside_variables[] = { "SLURM_JOB_ID", "FAIRLEAD_JOB" };
const size_t inside_variable_count = sizeof(jobs) / sizeof(jobs[0]);

const char *inside_find(const char *level,
			bool (*is_there)(void *arg, const char *name),
			void *arg)
{
	if (level && strcmp(level, "0") != 0)
		return "a job of Flux";
	for (size_t i = 0; i < inside_variable_count; i++)
		if (is_there(arg, inside_variables[i]))
			return jobs[i];
	return NULL;
}
