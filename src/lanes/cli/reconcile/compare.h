/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Live grants beside two lists of jobs, taken one after the other and both
 * after the grants were read. Pure.
 */
#pragma once

#include <stdint.h>

#include "lanes/cli/reconcile/listing.h"

/* Without --force so many that are forgotten may go, or 1 in COMPARE_SHARE. */
#define COMPARE_MOST  8
#define COMPARE_SHARE 20

enum verdict {
	VERDICT_KEPT,      /* a list has its job, which is not over */
	VERDICT_OVER,      /* a list has its job, as over, and none otherwise */
	VERDICT_FORGOTTEN, /* neither list has */
	VERDICT_FOREIGN,   /* it is of no job of this job manager's */
};

struct live_grant {
	uint64_t grant_id;
	const char *job; /* JOB of its key; the caller's */
	enum verdict verdict;
};

/* Judge each. is_name: could it be a job's? Returns how many are forgotten. */
size_t compare_grants(struct live_grant *grants, size_t count,
		      const struct job_listing *first,
		      const struct job_listing *second,
		      bool (*is_name)(const char *name));

/*
 * More than are released without force: or all of several, since a job manager
 * that has lost its jobs and was given a new one knows none of ours either.
 */
bool compare_is_much(size_t forgotten, size_t count);

/*
 * Jobs that both lists have running and that have none of the grants, in the
 * order of their names. The caller frees *ret_names, and not the names, which
 * are the first list's.
 */
void compare_jobs(const struct live_grant *grants, size_t count,
		  const struct job_listing *first,
		  const struct job_listing *second, const char ***ret_names,
		  size_t *ret_count);
