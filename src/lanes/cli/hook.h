/* SPDX-License-Identifier: BSD-3-Clause */
/* What prolog, epilog and housekeeping share: scripts of a job manager. */
#pragma once

#include "lanes/cli/cli.h"

enum hook_job {
	HOOK_JOB_NEEDED,
	HOOK_JOB_OPTIONAL,
	HOOK_JOB_OR_GRANT, /* of a prolog */
};

#define HOOK_DETAILS                                                           \
	"Asks the daemon of this node. JOB is SUBMITTER/JOB[/ATTEMPT]; where " \
	"it is not given,\nthe environment variable FAIRLEAD_JOB says it."

#define HOOK_OPTIONS                                                  \
	OPTION_DRY_RUN, OPTION_JSON, OPTION_SOCKET,                   \
	{                                                             \
		.name = "timeout", .letter = 't', .value = "SECONDS", \
		.help = "try for so long (default: the daemon's)"     \
	}

/* of epilog and housekeeping */
extern const struct option_spec hook_options[];

/* Call the op with the job and the options; with --json print the answer. */
int hook_ask(struct cli *cli, const char *op, enum hook_job job,
	     json_t **ret_answer);
/* Those of an answer, to standard error. */
void hook_show_warnings(struct cli *cli, const json_t *answer);
/* epilog and housekeeping: what was taken back, and what is busy. */
int hook_run_teardown(struct cli *cli, const char *op, enum hook_job job);
