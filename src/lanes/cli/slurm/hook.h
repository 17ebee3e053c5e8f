/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the hooks of Slurm share. A hook is one short call: whatever it waits
 * for has an end, so that a daemon that is down holds up no job for ever.
 *
 * Slurm keeps what a hook prints to itself, so errors also go to syslog, and
 * what ends a job or drains a node is said by its reason there.
 */
#pragma once

#include "lanes/cli/cli.h"
#include "lanes/cli/remote.h"
#include "lanes/cli/slurm/expect.h"
#include "lanes/cli/slurm/job.h"

/* "SUBMITTER/4294967295" */
#define SLURM_JOB_NAME_MAX 48

struct slurm_hook {
	struct cli *cli;
	struct config *config;
	struct slurm_job job;
	enum lane_expectation expectation;
	bool has_bad_options;
	char name[SLURM_JOB_NAME_MAX]; /* SUBMITTER/JOB, JOB the leader's */
	enum remote_daemon daemon;
	struct fairlead *handle; /* NULL: not connected */
	char said[512];          /* the first error; "" when there was none */
};

/*
 * One call of a hook: reads configuration and environment, calls `run`, sends
 * what it said to syslog. Exit codes are 0 or 1: Slurm knows no others. Without
 * a configuration run_unconfigured is called, if there is one, with no more
 * than the job and what was said; else that is a failure.
 */
int slurm_hook_run(struct cli *cli, enum remote_daemon daemon,
		   int (*run)(struct slurm_hook *hook),
		   int (*run_unconfigured)(struct slurm_hook *hook));

/*
 * Ask the daemon: 0, or the negative errno of its answer, or of no answer. One
 * that is away or being restarted is waited for, 15 s at most, and asked again:
 * only for what may be asked twice. *ret_answer is NULL when none came; the
 * caller drops it.
 */
int slurm_hook_ask(struct slurm_hook *hook, const char *op,
		   json_t *members_owned, json_t **ret_answer,
		   struct fairlead_error *ret_error);

/*
 * At the end of the job: may it have a lane? A component of a heterogeneous one
 * shares its leader's, whatever its own user asked for.
 */
bool slurm_hook_may_hold(const struct slurm_hook *hook);

/* As cli_fail(), code EXIT_FAILED; the first one is remembered in `said`. */
int slurm_hook_fail(struct slurm_hook *hook, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* --- commands to Slurm; a failure is reported, and changes nothing --- */

/*
 * Drain nodes (a host list) with "fairlead: REASON (job N)", but for those that
 * somebody else has drained or set down.
 */
void slurm_drain(struct slurm_hook *hook, const char *nodes,
		 const char *reason);
/* For `scontrol show job`: AdminComment. */
void slurm_comment(struct slurm_hook *hook, const char *text);
/*
 * The job would be refused for ever: when its PrologSlurmctld has failed, have
 * Slurm cancel it, and not requeue it.
 */
void slurm_refuse(struct slurm_hook *hook);

/*
 * It is cancelled, or starts no more for another reason. False, too, where
 * Slurm does not say.
 */
bool slurm_is_over(struct slurm_hook *hook);

struct components;
/* The job's components, from squeue. Exit code; an error was said. */
int slurm_components(struct slurm_hook *hook, struct components **ret_found);
/*
 * Another component of a heterogeneous job is still there, and uses the lane:
 * on this node, or, where node is NULL, anywhere. Exit code; an error was said.
 */
int slurm_has_others(struct slurm_hook *hook, const char *node,
		     bool *ret_has_others);
