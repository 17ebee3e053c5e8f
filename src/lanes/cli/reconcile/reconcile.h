/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of `fairlead reconcile`: what was found, and what is done. */
#pragma once

#include "lanes/cli/cli.h"
#include "lanes/cli/reconcile/source.h"

struct reconcile {
	struct cli *cli;
	const struct reconcile_source *source;
	struct config *config;
	const struct config_job_manager *section;
	json_t *grants;     /* live ones of the submitter, as in `list` */
	json_t *with_grant; /* names of its jobs, members of an object */
	struct job_listing *lists[2];
	size_t forgotten_count;
	json_t *over; /* those of `forgotten` whose jobs are listed as over */
	json_t *forgotten, *foreign; /* with `done` */
	json_t *without_grant;       /* names of jobs */
	const char *refusal; /* why not all were released; NULL: no reason */
};

/*
 * Release each grant of the array (objects with the member grant_id), and put
 * into it `done`: "released" or "failed"; then also `error`, or `quarantined`
 * and `waits_for` (a host list) where identifiers have to wait. After a failure
 * the others are still released; returns the first one's exit code, and prints
 * how many there were.
 */
int reconcile_release(struct cli *cli, json_t *grants);
