/* SPDX-License-Identifier: BSD-3-Clause */
/* Quick tries: the job's end must not wait for a process that lingers. */
#include "lanes/cli/hook.h"

static int epilog_run(struct cli *cli)
{
	return hook_run_teardown(cli, "epilog", HOOK_JOB_NEEDED);
}

const struct subcommand command_epilog = {
	.name = "epilog",
	.summary = "After a job's tasks: take its lane back here, with quick "
		   "tries",
	.arguments = "[JOB]",
	.details = HOOK_DETAILS
	"\nWhat is still in use is printed, and the exit code is 75: "
	"the daemon goes on trying,\nand 'fairlead housekeeping' "
	"waits for it.",
	.options = hook_options,
	.arguments_max = 1,
	.run = epilog_run,
};
