/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Slurm's hooks but the one that asks for the lane.
 *
 * Prolog: the lane was made by PrologSlurmctld. This looks whether the node's
 * own daemon has it, and waits for nothing. A non-zero exit has Slurm drain the
 * node, and a batch job is requeued and held: not so where a user has cancelled
 * the job meanwhile, and EpilogSlurmctld taken the lane back.
 *
 * Epilog: take back what this node's journal has for the job, whichever attempt
 * it was of. What is busy is no failure of the job's end: the daemon goes on,
 * and has the node drained when its long tries are over.
 *
 * EpilogSlurmctld: the end of the job. Slurm runs this before, beside or after
 * the epilogs of the nodes; nothing here depends on which. Every grant of the
 * job that was issued so far goes: of which attempt the environment speaks is
 * not known, since that of a requeued job has the next one already. Tasks may
 * live on for KillWait, with their lane, so the nodes' epilogs have time to
 * take it back.
 */
#include "lanes/cli/slurm/slurm.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/cli/config_path.h"
#include "lanes/cli/output.h"

/* --- Prolog --- */

static bool has_lane(const json_t *grants)
{
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant)
		if (strcmp(output_text(grant, "state"), "applied") == 0)
			return true;
	return false;
}

/* Drain the node first, so that Slurm shows our reason. */
static int slurm_prolog_refuse(struct slurm_hook *hook)
{
	if (hook->job.node)
		slurm_drain(hook, hook->job.node, hook->said);
	return EXIT_FAILED;
}

static int slurm_prolog(struct slurm_hook *hook)
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

/* --- Epilog --- */

static int slurm_epilog(struct slurm_hook *hook)
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

/* --- EpilogSlurmctld --- */

static int slurm_epilog_slurmctld(struct slurm_hook *hook)
{
	json_int_t grace_s = hook->config->slurm.grace_ms / 1000;
	json_auto_t *answer = NULL;
	struct fairlead_error error;
	const json_t *grant;
	bool has_others;
	size_t i;
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
	/* Without a grace, or where the nodes were asked before. */
	json_array_foreach (json_object_get(answer, "grants"), i, grant)
		output_lines(hook->cli, "warning", output_text(grant, "why"));
	return EXIT_DONE;
}

/* --- the commands --- */

static const struct option_spec options[] = {
	OPTION_CONFIG,
	OPTION_SOCKET,
	{ 0 },
};

static int run_prolog_slurmctld(struct cli *cli)
{
	return slurm_hook_run(cli, REMOTE_MANAGER, slurm_prolog_slurmctld,
			      NULL);
}

static int run_prolog(struct cli *cli)
{
	return slurm_hook_run(cli, REMOTE_NODE, slurm_prolog,
			      slurm_prolog_refuse);
}

/*
 * An error in a file that all nodes share would drain them all, one as each job
 * ends. The manager's release asks the daemon, which runs.
 */
static int ignore(struct slurm_hook *hook)
{
	return EXIT_DONE;
}

static int run_epilog(struct cli *cli)
{
	return slurm_hook_run(cli, REMOTE_NODE, slurm_epilog, ignore);
}

/*
 * Slurm kills all scripts of a job that is cancelled while its PrologSlurmctld
 * runs, by their process groups, this one too. In a session of its own it goes
 * on, and releases the lane.
 */
static int run_epilog_slurmctld(struct cli *cli)
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		setsid();
		return slurm_hook_run(cli, REMOTE_MANAGER,
				      slurm_epilog_slurmctld, NULL);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return cli_fail(cli, EXIT_FAILED, "cannot start a process: %s",
				strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

#define HOOK(hook, name_, summary_)                                    \
	static const struct subcommand hook = {                        \
		.name = (name_),                                       \
		.summary = (summary_),                                 \
		.details = "Run by Slurm, with the variables of this " \
			   "hook; exits with 0 or 1. See "             \
			   "fairlead-slurm(7).",                       \
		.options = options,                                    \
		.run = run_##hook,                                     \
	}

HOOK(prolog_slurmctld, "prolog-slurmctld",
     "PrologSlurmctld: reserve and apply the job's lane");
HOOK(prolog, "prolog", "Prolog: check that the job's lane is on this node");
HOOK(epilog, "epilog", "Epilog: revoke the job's lane on this node");
HOOK(epilog_slurmctld, "epilog-slurmctld",
     "EpilogSlurmctld: release the job's lane");

static const struct subcommand *const commands[] = {
	&prolog_slurmctld, &prolog, &epilog, &epilog_slurmctld, NULL,
};

const struct subcommand command_slurm = {
	.name = "slurm",
	.summary = "Hooks for Slurm",
	.commands = commands,
};

/* --- links to them --- */

#define LINKS_MAX 8

static const char *find_name(const char *name)
{
	const struct subcommand *const *hooks = command_slurm.commands;

	for (; *hooks; hooks++)
		if (strcmp((*hooks)->name, name) == 0)
			return (*hooks)->name;
	return NULL;
}

/* Where the link leads, from where path is seen. NULL: it is none. */
static char *follow(const char *path, size_t folder_size)
{
	char target[PATH_MAX];
	ssize_t size = readlink(path, target, sizeof(target) - 1);

	if (size <= 0)
		return NULL;
	target[size] = 0;
	return memory_format("%.*s%s", *target == '/' ? 0 : (int)folder_size,
			     path, target);
}

const char *slurm_link_hook(const char *path)
{
	_auto_(freep) char *at = memory_text(path);

	for (int i = 0; at && i < LINKS_MAX; i++) {
		const char *slash = strrchr(at, '/');
		const char *name = slash ? slash + 1 : at;
		const char *hook = find_name(name);
		char *next;

		if (hook)
			return hook;
		next = follow(at, (size_t)(name - at));
		free(at);
		at = next;
	}
	return NULL;
}
