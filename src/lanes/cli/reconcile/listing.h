/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job manager's own list of its jobs, by which live grants are judged. Pure.
 *
 * A list in which anything is not as it should be is refused as a whole: what
 * was left out would look as if its job were gone.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "base/error.h"

#define LISTED_NAME_MAX 12 /* bytes, without the zero: F58 of 64 bits */

enum listed_state {
	LISTED_NOT,
	LISTED_OVER,    /* it has given its nodes back, epilogs and all */
	LISTED_LIVE,    /* it waits, begins, ends, or is in an unknown state */
	LISTED_RUNNING, /* it has begun, and has not ended */
};

/* JOB of a key, as hooks make it. */
struct listed_job {
	char name[LISTED_NAME_MAX + 1];
	enum listed_state state;
};

struct job_listing {
	size_t line_count; /* 0: the list is empty */
	size_t count;      /* of jobs, in the order of their names */
	struct listed_job *jobs;
};

/*
 * Arguments for squeue, ended by NULL. %A is a job's own id, also in an array.
 * Of a heterogeneous job's component %i names the leader, who has the grant.
 */
#define LISTING_SQUEUE                                                     \
	{                                                                  \
		"squeue", "-h", "-a", "-t", "all", "-o", "%A|%i|%T", NULL, \
	}

/* For flux: active jobs of all users, and what has ended lately. */
#define LISTING_FLUX                                                           \
	{                                                                      \
		"flux", "jobs", "-A", "--since=-1h", "--count=0",              \
			"--no-header", "--format={id.f58plain}|{state}", NULL, \
	}

/*
 * What these have printed. The caller frees *ret_listing with
 * listing_destroy(). -EINVAL with a text that quotes the line.
 */
int listing_parse_slurm(const char *text, size_t size,
			struct job_listing **ret_listing,
			struct fairlead_error *ret_error);
int listing_parse_flux(const char *text, size_t size,
		       struct job_listing **ret_listing,
		       struct fairlead_error *ret_error);
void listing_destroy(struct job_listing *listing);
DEFINE_AUTO(struct job_listing, listing_destroy)

enum listed_state listing_state(const struct job_listing *listing,
				const char *name);

/* In both lists? */
bool listing_is_running(const struct job_listing *first,
			const struct job_listing *second, const char *name);

/* Without --force so many that are not listed may go, or 1 in LISTING_SHARE. */
#define LISTING_MOST  8
#define LISTING_SHARE 20
/*
 * More than are released without force: or all of several, since a job manager
 * that has lost its jobs and was given a new one knows none of ours either.
 */
bool listing_is_much(size_t forgotten, size_t count);

/* Could a hook have made JOB of a key from an id of the job manager's? */
bool listing_is_slurm_name(const char *name);
bool listing_is_flux_name(const char *name);
