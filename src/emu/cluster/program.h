/* SPDX-License-Identifier: BSD-3-Clause */
/* Program descriptions of jobs on emulated nodes: what a job manager does. */
#pragma once

#include "emu/cluster/launch.h"
#include "fairlead/rms.h"

/* What was used of all nodes together. */
struct program_usage {
	uint64_t user_ms, system_ms;
	uint64_t bytes, transfers; /* on the interconnect */
};

/*
 * In a process of its own, which is root on the node and has no members' work
 * to do: make the job's program description, be its first member, in a session
 * of its own, and give it the lane's capabilities.
 */
int program_make(const struct launch_job *job, uint32_t cpus,
		 struct fairlead_error *ret_error);
/*
 * In a member, as the job's owner: the rank of the local task of this number,
 * by the program's capability. -ENOENT with a text.
 */
int program_rank(uint32_t local, uint32_t *ret_rank,
		 struct fairlead_error *ret_error);

/* From outside. A node without the program is no error. */
void program_signal(const struct cluster_node *node, uint32_t program,
		    int signal);
/* Add what it has used. */
void program_account(const struct cluster_node *node, uint32_t program,
		     struct program_usage *usage);
/* Kill its members, wait until they are gone, and forget it. */
int program_end(const struct cluster_node *node, uint32_t program,
		struct fairlead_error *ret_error);

/*
 * The end of a job on its nodes, in a process of its own, which ends what is
 * left of it (program descriptions and cgroups, with all that is in there) when
 * asked to, or when its parent has died. The lane is not its part.
 */
struct ending {
	int fd; /* -1: none was started */
	pid_t pid;
};

/* Before anything of the job is on a node. Borrows nothing. program: or 0. */
int ending_start(const struct cluster *cluster,
		 struct cluster_node *const *nodes, uint32_t node_count,
		 uint64_t grant_id, uint32_t program, struct ending *ret_ending,
		 struct fairlead_error *ret_error);
/* End the job, and wait for it. What could not be ended was said on stderr. */
void ending_finish(struct ending *ending);
