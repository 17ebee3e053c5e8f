/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Take back what this node's journal has for the job, whichever attempt it was
 * of. What is busy is no failure of the job's end: the daemon goes on, and has
 * the node drained when its long tries are over.
 */
#include <errno.h>

#include "lanes/cli/output.h"
#include "lanes/cli/slurm/hook.h"
#include "lanes/cli/slurm/slurm.h"

int slurm_epilog(struct slurm_hook *hook)
{
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	bool has_others;
	const json_t *busy;
	size_t i;
	int result;

	if (!slurm_hook_may_hold(hook))
		return EXIT_DONE;
	/* Without a list nothing is taken: the manager's release does it. */
	if (slurm_has_others(hook, hook->job.node, &has_others) != EXIT_DONE ||
	    has_others)
		return EXIT_DONE;
	result = slurm_hook_ask(hook, "epilog",
				json_pack("{s:s, s:b}", "job", hook->name,
					  "housekeeping", true),
				&answer, &error);
	json_array_foreach (json_object_get(answer, "busy"), i, busy)
		output_lines(hook->cli, "busy", output_text(busy, "text"));
	if (result == 0 || (result == -EBUSY && answer))
		return EXIT_DONE;
	slurm_hook_fail(hook, "%s", error.text);
	if (hook->job.node)
		slurm_drain(hook, hook->job.node, hook->said);
	return EXIT_FAILED;
}
