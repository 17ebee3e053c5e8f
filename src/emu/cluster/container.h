/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A container: what makes a process believe that it is on a machine of its own.
 * Its own network, host name, IPC and mounts (a private /run and /dev/shm, and
 * /sys/fs/bpf and software NICs in /sys where that is allowed), kept alive by a process that does
 * nothing, the holder. Where it has a cgroup, all that enters it is in there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "emu/cluster/process.h"

/* Where a container that has a cgroup finds it, inside. */
#define CONTAINER_CGROUP "/run/cgroup"

struct container_spec {
	const char *name;    /* host name inside */
	const char *run_dir; /* appears as /run/fairlead inside; exists */
	const char *cgroup;  /* of cgroup v2; exists. NULL: none */
	uint32_t nic_count;  /* software NICs that /sys shows inside */
	/*
	 * Writes down that the holder is there; ret_holder is set. A holder
	 * of which that was not done, since it failed or we died, ends.
	 */
	int (*record)(void *arg, struct fairlead_error *ret_error);
	void *record_arg;
};

/* Make one and its holder. -EPERM with a text when that is not allowed. */
int container_create(const struct container_spec *spec,
		     struct cluster_process *ret_holder,
		     struct fairlead_error *ret_error);

/*
 * Move the calling process, which has one thread, into the container. The
 * working directory stays when it exists inside, else it is /.
 */
int container_enter(const struct cluster_process *holder,
		    struct fairlead_error *ret_error);

/*
 * End every process that has a namespace of the container, but for the holder
 * and those in `kept` (count entries): SIGTERM, then SIGKILL after grace_ms.
 */
int container_sweep(const struct cluster_process *holder,
		    const struct cluster_process *kept, size_t count,
		    uint32_t grace_ms);

/*
 * Become root in a user namespace of our own, for users who are not root.
 * Only this user exists inside. -EPERM when the system forbids it.
 */
int container_become_root(struct fairlead_error *ret_error);
/* Enter the user namespace of a container that was made so. */
int container_enter_user(const struct cluster_process *holder,
			 struct fairlead_error *ret_error);

/*
 * Run `ip -force -batch -` with these lines inside the container: all of them,
 * also when one fails, which is -EIO.
 */
int container_ip(const struct cluster_process *holder, const char *lines,
		 struct fairlead_error *ret_error);
