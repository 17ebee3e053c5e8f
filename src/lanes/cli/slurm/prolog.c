/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The lane was made by PrologSlurmctld. This looks whether the node's own
 * daemon has it, and waits for nothing. A non-zero exit has Slurm drain the
 * node, and a batch job is requeued and held: not so where a user has cancelled
 * the job meanwhile, and EpilogSlurmctld taken the lane back.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lanes/cli/output.h"
#include "lanes/cli/slurm/hook.h"
#include "lanes/cli/slurm/slurm.h"

static bool has_lane(const json_t *grants)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant)
		if (strcmp(output_text(grant, "state"), "applied") == 0)
			return true;
	return false;
}

int slurm_prolog_refuse(struct slurm_hook *hook)
{
	if (hook->job.node)
		slurm_drain(hook, hook->job.node, hook->said);
	return EXIT_FAILED;
}

int slurm_prolog(struct slurm_hook *hook)
{
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	int result;

	if (hook->expectation == LANE_NONE)
		return EXIT_DONE;
	result = slurm_hook_ask(hook, "prolog",
				json_pack("{s:s, s:b}", "job", hook->name,
					  "dry_run", true),
				&answer, &error);
	if (result == 0 && has_lane(json_object_get(answer, "grants")))
		return EXIT_DONE;
	if ((result == 0 || result == -ENOENT) && answer &&
	    hook->expectation == LANE_MAY)
		return EXIT_DONE;
	if ((result == 0 || result == -ENOENT) && answer && slurm_is_over(hook))
		return EXIT_DONE;
	if ((result == 0 || result == -ENOENT) && answer)
		slurm_hook_fail(hook,
				"this node has no lane of job %s: was "
				"PrologSlurmctld set?",
				hook->name);
	else
		slurm_hook_fail(hook, "%s", error.text);
	return slurm_prolog_refuse(hook);
}
