/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/slurm/slurm.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/cli/config_path.h"

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
