/* SPDX-License-Identifier: BSD-3-Clause */
/* Long tries, after the job: what is left at the end drains the node. */
#include "lanes/cli/hook.h"

static int housekeeping_run(struct cli *cli)
{
	return hook_run_teardown(cli, "housekeeping", HOOK_JOB_OPTIONAL);
}

const struct subcommand command_housekeeping = {
	.name = "housekeeping",
	.summary = "Take back what an epilog left, with long tries",
	.arguments = "[JOB]",
	.details = HOOK_DETAILS
	"\nWithout a job it is everything that waits to be taken back. "
	"What is still in use at the\nend is printed, the node is "
	"drained, and the exit code is 75.",
	.options = hook_options,
	.arguments_max = 1,
	.run = housekeeping_run,
};
