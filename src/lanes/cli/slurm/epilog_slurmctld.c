/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of the job. Slurm runs this before, beside or after the epilogs of
 * the nodes; nothing here depends on which. Every grant of the job that was
 * issued so far goes: of which attempt the environment speaks is not known,
 * since that of a requeued job has the next one already. Tasks may live on for
 * KillWait, with their lane, so the nodes' epilogs have time to take it back.
 */
#include "lanes/cli/output.h"
#include "lanes/cli/slurm/hook.h"
#include "lanes/cli/slurm/slurm.h"

int slurm_epilog_slurmctld(struct slurm_hook *hook)
{
	json_int_t grace_s = hook->config->slurm.grace_ms / 1000;
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	bool has_others;
	int code;

	if (!slurm_hook_may_hold(hook))
		return EXIT_DONE;
	code = slurm_has_others(hook, NULL, &has_others);
	if (code != EXIT_DONE || has_others)
		return code;
	if (slurm_hook_ask(hook, "release",
			   json_pack("{s:s, s:I}", "job", hook->name, "grace",
				     grace_s),
			   &answer, &error) < 0)
		return slurm_hook_fail(hook,
				       "%s; 'fairlead reconcile --slurm' will "
				       "release the lane",
				       error.text);
	return EXIT_DONE;
}
