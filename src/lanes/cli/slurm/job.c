/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/job.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "lanes/plugin/common/job_options.h"

#define SPANK_PREFIX "SPANK_"

static int read_number(char *(*variable)(const char *), const char *name,
		       uint32_t *ret_number, struct fairlead_error *ret_error)
{
	const char *text = variable(name);

	if (!text || !*text)
		return error_set(
			ret_error, -ENODATA,
			"%s is not set: only Slurm can run this, as one "
			"of its hooks",
			name);
	if (!text_number(text, strlen(text), ret_number) ||
	    *ret_number == UINT32_MAX)
		return error_set(ret_error, -EINVAL,
				 "%s='%.40s' is not a number", name, text);
	return 0;
}

/* As read_number; it stays as it is where the variable is not set. */
static int read_optional(char *(*variable)(const char *), const char *name,
			 uint32_t *number, struct fairlead_error *ret_error)
{
	const char *text = variable(name);

	return text && *text ? read_number(variable, name, number, ret_error)
			     : 0;
}

int slurm_job_read(char *(*variable)(const char *name),
		   struct slurm_job *ret_job, struct fairlead_error *ret_error)
{
	struct slurm_job job = { .gid = SLURM_GID_UNKNOWN };
	uint32_t leader = 0;
	int result = read_number(variable, "SLURM_JOB_ID", &job.id, ret_error);

	if (result == 0)
		result = read_number(variable, "SLURM_JOB_UID", &job.uid,
				     ret_error);
	if (result == 0)
		result = read_optional(variable, "SLURM_JOB_GID", &job.gid,
				       ret_error);
	if (result == 0)
		result = read_optional(variable, "SLURM_JOB_RESTART_COUNT",
				       &job.restart_count, ret_error);
	if (result == 0)
		result = read_optional(variable, "SLURM_HET_JOB_ID", &leader,
				       ret_error);
	if (result == 0)
		result = read_optional(variable, "SLURM_ARRAY_JOB_ID",
				       &job.array, ret_error);
	if (result == 0)
		result = read_optional(variable, "SLURM_ARRAY_TASK_ID",
				       &job.array_task, ret_error);
	if (result < 0)
		return result;
	job.is_component = leader != 0;
	job.leader = job.is_component ? leader : job.id;
	job.nodes = variable("SLURM_JOB_NODELIST");
	if (!job.nodes)
		job.nodes = variable("SLURM_NODELIST"); /* at nodes */
	job.all_nodes = variable("SLURM_HET_JOB_NODELIST");
	job.cores = variable("SLURM_JOB_CPUS_PER_NODE");
	job.node = variable("SLURMD_NODENAME");
	*ret_job = job;
	return 0;
}

void slurm_job_format(const struct slurm_job *job,
		      char ret_text[SLURM_JOB_TEXT_MAX])
{
	if (job->array)
		snprintf(ret_text, SLURM_JOB_TEXT_MAX, "%" PRIu32 "_%" PRIu32,
			 job->array, job->array_task);
	else
		snprintf(ret_text, SLURM_JOB_TEXT_MAX, "%" PRIu32, job->id);
}

int slurm_job_options(const char *text, struct slurm_job *job,
		      struct fairlead_error *ret_error)
{
	*job->interconnect = *job->options = '\0';
	if (!text || !*text)
		return 0;
	return job_options_split(text, job->interconnect, job->options,
				 ret_error);
}

int slurm_job_spank_check(char *const *environment,
			  struct fairlead_error *ret_error)
{
	size_t size = 0;

	for (; *environment; environment++)
		if (strncmp(*environment, SPANK_PREFIX, strlen(SPANK_PREFIX)) ==
		    0)
			size += strlen(*environment) + 1;
	if (size > SLURM_SPANK_MAX)
		return error_set(ret_error, -E2BIG,
				 "the job's SPANK variables have %zu bytes; at "
				 "most %d",
				 size, SLURM_SPANK_MAX);
	return 0;
}
