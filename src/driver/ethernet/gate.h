/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BPF part of a lane: programs at the root of the cgroups that let only the
 * owner's processes bind to, connect to, send to and receive at a lane's
 * addresses, and nobody but root send VXLAN by hand. They close what nft cannot
 * (ports that a stranger listens on), and look at the process, not only at its
 * user, where the job has a cgroup.
 *
 * Programs and map are pinned: they outlive us, and whoever comes next goes on
 * with them. They look only at sockets of the network namespace that they were
 * made for, so that several emulated nodes can be on one machine.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "driver/ethernet/plan.h"

struct gate;

struct gate_options {
	const char *pins;   /* directory on a BPF file system; made if need be,
				and the file system mounted */
	const char *cgroup; /* NULL: where cgroup v2 is mounted */
	uint16_t port;      /* of VXLAN; with those of the other rails */
	uint8_t port_count;
};

/*
 * Load and attach, or go on with what is pinned when it is of this version; what
 * is pinned and is not is replaced without a moment in between where nothing is
 * attached. -EOPNOTSUPP with a text: the kernel or the system lacks something,
 * which is named (cgroup v2, a helper, BPF itself); -EPERM.
 */
int gate_open(const struct gate_options *options, struct gate **ret_gate,
	      struct fairlead_error *ret_error);
/* Closes descriptors only; NULL allowed. */
void gate_close(struct gate *gate);
DEFINE_AUTO(struct gate, gate_close)

/* Who may use an address of ours. */
struct gate_entry {
	struct ip_address address;
	uint32_t uid;
	uint64_t cgroup_id; /* and only in this cgroup or below; 0: anywhere */
};

/* An entry of that address is replaced. -ENOSPC. */
int gate_add(struct gate *gate, const struct gate_entry *entry,
	     struct fairlead_error *ret_error);
/* No such entry is no error. */
int gate_remove(struct gate *gate, const struct ip_address *address,
		struct fairlead_error *ret_error);
/* Exactly these entries, from now on. */
int gate_replace(struct gate *gate, const struct gate_entry *entries,
		 size_t count, struct fairlead_error *ret_error);
/*
 * Networks of all lanes: an address in them that has no entry is nobody's, and
 * is refused to all but root.
 */
int gate_networks(struct gate *gate, const struct ip_network *networks,
		  size_t count, struct fairlead_error *ret_error);

struct gate_counters {
	uint64_t refused_bind, refused_send, refused_receive, refused_raw;
};

int gate_counters(struct gate *gate, struct gate_counters *ret_counters);
/* Detach and unpin all that is in the directory. Nothing there is 0. */
int gate_clear(const char *pins, struct fairlead_error *ret_error);
/* The id by which entries name a cgroup. */
int gate_cgroup_id(const char *path, uint64_t *ret_id,
		   struct fairlead_error *ret_error);
