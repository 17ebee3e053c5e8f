/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of `fairlead reconcile`: what was found, and what is done. */
#pragma once

#include "lanes/cli/cli.h"
#include "lanes/cli/reconcile/compare.h"
#include "lanes/cli/reconcile/source.h"

struct reconcile {
	struct cli *cli;
	const struct reconcile_source *source;
	struct config *config;
	const struct config_job_manager *section;
	json_t *grants;          /* live ones of the submitter, as in `list` */
	struct live_grant *live; /* the same, and behind them further ones */
	size_t count, seen_count;
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
 * and `waits_for` (a host list) where identifiers have to wait. On a terminal
 * it says how far it is. One failure does not keep the others from being
 * released; how many there were is said, with the first one's exit code.
 */
int reconcile_release(struct cli *cli, json_t *grants);

/* Print what was found and done. Exit code, of the printing. */
int reconcile_report(const struct reconcile *reconcile);
