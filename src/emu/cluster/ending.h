/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The end of a job on its nodes, in a process of its own, which ends what is
 * left of it (program descriptions and cgroups, with all that is in there) when
 * asked to, or when its parent has died. The lane is not its part.
 */
#pragma once

#include <sys/types.h>

#include "emu/cluster/cluster.h"

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
