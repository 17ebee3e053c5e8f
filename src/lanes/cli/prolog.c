/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's APPLY and the job manager's prolog reach a node in any order:
 * the node's daemon waits for the first, so that no task starts without a lane.
 * That a job has none is in its grant only: no node hears of it.
 */
#include "lanes/cli/remote.h"
#include "lanes/cli/hook.h"
#include "lanes/cli/show.h"

static const struct option_spec options[] = {
	{ .name = "cores",
	  .letter = 'c',
	  .value = "COUNT",
	  .help = "cores on this node, for a dry run of a grant (default: 1)" },
	HOOK_OPTIONS,
	OPTION_NO_HEADER,
	{ 0 },
};

static int prolog_run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code = hook_ask(cli, "prolog", HOOK_JOB_OR_GRANT, &answer);

	if (code == EXIT_DONE)
		hook_show_warnings(cli, answer);
	if (code == EXIT_DONE && !cli_flag(cli, "json"))
		show_grants(cli, answer);
	return code;
}

const struct subcommand command_prolog = {
	.name = "prolog",
	.summary = "Before a job's tasks: wait until its lane is here",
	.arguments = "[JOB|GRANT]",
	.details = HOOK_DETAILS
	"\nGRANT is what 'fairlead reserve --grant' printed: with it nothing "
	"is "
	"waited for where\nthe job has no lane, and --dry-run says what a lane "
	"that is not here yet would be.",
	.options = options,
	.arguments_max = 1,
	.run = prolog_run,
};
