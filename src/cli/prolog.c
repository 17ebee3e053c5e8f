/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's APPLY and the job manager's prolog reach a node in any order:
 * the node's daemon waits for the first, so that no task starts without a lane.
 */
#include "cli/remote.h"
#include "cli/hook.h"
#include "cli/show.h"

static const struct option_spec options[] = {
	HOOK_OPTIONS,
	OPTION_NO_HEADER,
	{ 0 },
};

static int run(struct cli *cli)
{
	json_auto_t *answer = NULL;
	int code = hook_ask(cli, "prolog", HOOK_JOB_NEEDED, &answer);
	const json_t *warning;
	size_t i;

	json_array_foreach (json_object_get(answer, "warnings"), i, warning)
		if (code == EXIT_DONE && json_is_string(warning))
			cli_fail(cli, code, "%s", json_string_value(warning));
	if (code == EXIT_DONE && !cli_flag(cli, "json"))
		show_grants(cli, json_object_get(answer, "grants"));
	return code;
}

const struct subcommand command_prolog = {
	.name = "prolog",
	.summary = "Before a job's tasks: wait until its lane is here",
	.arguments = "[JOB]",
	.details = HOOK_DETAILS,
	.options = options,
	.arguments_max = 1,
	.run = run,
};
