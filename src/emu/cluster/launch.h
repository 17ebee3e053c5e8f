/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tasks of a job on emulated nodes: what a job manager's node daemon does.
 * Each task runs on its node as the job's owner, with the environment that
 * the node's lane has for it and rank variables:
 *
 *	FAIRLEAD_JOB         SUBMITTER/JOB/ATTEMPT
 *	FAIRLEAD_RANK        0 .. FAIRLEAD_NTASKS - 1
 *	FAIRLEAD_LOCAL_RANK  rank among the tasks of its node
 *	FAIRLEAD_NODEID      index of its node in the job
 *	FAIRLEAD_NNODES      nodes of the job
 *	FAIRLEAD_NODELIST    their host list
 *
 * Where the lane wants it (Elan) the tasks of a node are in a program
 * description: a process that is root makes it, is given what was left there
 * for it, becomes the owner, and forks the tasks, so that they are members; the
 * driver says to each which rank of the lane it is. It ends then. Their parent
 * is launch_run()'s caller, as otherwise.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "emu/cluster/cluster.h"
#include "fairlead_driver.h"

#define LAUNCH_TASKS_MAX 1024
#define LAUNCH_LINE_MAX  4096 /* bytes; a longer line is broken */

/* The job whose process one becomes. */
struct launch_job {
	uint64_t grant_id;
	const char *submitter; /* the key's parts */
	const char *job;
	uint32_t attempt;
	bool has_lane; /* false: there is no environment file to read */
	uid_t uid;
	gid_t gid;
	/*
	 * Of the lane: its driver's `task` is called in each task. NULL: none
	 * has to be prepared.
	 */
	const struct fairlead_driver *driver;
	const struct fairlead_lane *lane;
	/* Number of the program description on each node; 0: none is made. */
	uint32_t program;
};

struct launch_spec {
	struct cluster *cluster;
	struct launch_job job;
	const sigset_t *signal_mask;       /* of the tasks */
	struct cluster_node *const *nodes; /* of the job, in order */
	const uint32_t *tasks;             /* an entry a node */
	const uint32_t *cores;             /* an entry a node */
	uint32_t node_count;
	const char *node_list;
	bool is_labelled; /* "n0.1: " before each line of output */
	char *const *argv;
};

/*
 * The signals that launch_run() passes on, and SIGPIPE: who blocks them
 * before and until after it loses none of them, nor the chance to clean up.
 */
void launch_signals(sigset_t *ret_signals);

/*
 * Start the tasks and wait for their end. Output goes to stdout and stderr in
 * whole lines. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are
 * passed on to all tasks; a second SIGINT kills them. Returns the highest
 * exit code of a task (128 + signal for a killed one), or -errno when the
 * tasks could not be started (none runs then).
 */
int launch_run(const struct launch_spec *spec,
	       struct fairlead_error *ret_error);

/* The program's: a step of a job manager is done. Only a test does something. */
void launch_pass(const char *step);

/*
 * Make the calling process, which has one thread, the job's on that node, for
 * good: in its cgroup, where cluster_job_begin() has made one, with its
 * environment, in its network where FAIRLEAD_ISOLATION says "netns:PATH", as
 * its owner. PATH ends in the grant's id. Errors name what could not be
 * entered.
 */
int launch_enter(const struct cluster *cluster, const struct cluster_node *node,
		 const struct launch_job *job,
		 struct fairlead_error *ret_error);
/* The same in two steps: all but the last one, and becoming the owner. */
int launch_enter_as_root(const struct cluster_node *node,
			 const struct launch_job *job,
			 struct fairlead_error *ret_error);
int launch_drop_root(const struct cluster *cluster,
		     const struct launch_job *job,
		     struct fairlead_error *ret_error);
/* Become a user for good, as tasks do. -EPERM. */
int launch_become_owner(const struct cluster *cluster, uid_t uid,
			struct fairlead_error *ret_error);
/* Put what the cluster has for its users before PATH. */
void launch_put_path(const struct cluster *cluster);
