/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The BPF part of a lane: programs at the root of the cgroups that let only the
 * owner's processes bind to, connect to, send to and receive at a lane's
 * addresses, and nobody but root send VXLAN by hand. They close what nft cannot
 * (ports that another user listens on), and look at the process, not only at
 * its user, where the job has a cgroup.
 *
 * Programs and maps are pinned: they outlive us, and whoever comes next goes on
 * with them. They look only at sockets of the network namespace that they were
 * made for (the caller's), so that several emulated nodes can be on one
 * machine. A kernel whose packet programs cannot ask for the namespace (6.1;
 * 6.18 can) applies what is said of packets to all namespaces of the machine:
 * nodes that are emulated beside each other then disturb each other.
 *
 * One process at a time uses a directory. Privileges: gate_open and gate_tend
 * need CAP_BPF and CAP_NET_ADMIN, and CAP_SYS_ADMIN if they have to mount; all
 * else needs none, only an open gate, and gate_leave that the user owns the
 * directory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "lanes/driver/ethernet/naming.h"

struct ethernet_gate;

struct ethernet_gate_options {
	/*
	 * A directory on a BPF file system, of this network namespace alone;
	 * made if need be, and the file system mounted: on /sys/fs/bpf if the
	 * directory is below it, else on the directory itself.
	 */
	const char *pins;
	const char *cgroup; /* NULL: where cgroup v2 is mounted */
	uint16_t port;      /* of VXLAN on rail 0 */
};

/*
 * Load and attach, or go on with what is pinned when it is of this version and
 * for these options; what is pinned and is not is replaced without a moment in
 * between where nothing is attached, and lanes are taken over. -EOPNOTSUPP with
 * a text: the kernel or the system lacks something (cgroup v2, BPF for it);
 * -EPERM, -EINVAL.
 */
int gate_open(const struct ethernet_gate_options *options,
	      struct ethernet_gate **ret_gate,
	      struct fairlead_error *ret_error);
/* Closes descriptors only; NULL allowed. */
void gate_close(struct ethernet_gate *gate);
DEFINE_AUTO(struct ethernet_gate, gate_close)

/*
 * Is it whole? -ENOLINK: somebody has detached some of it, and lanes are open
 * as without a gate. -ENOENT: it is in force, but only while this process
 * lives, since pins are gone (unlinked, or their file system unmounted). With a
 * text.
 */
int gate_check(const struct ethernet_gate *gate,
	       struct fairlead_error *ret_error);
/*
 * Put back what gate_check finds missing, with the lanes that it has: 1, and
 * the text says what it was; 0: nothing was. An error, with a text: it cannot
 * be; what is said of gate_check then still holds.
 */
int gate_tend(struct ethernet_gate *gate, struct fairlead_error *ret_error);

/*
 * Who may use a lane's addresses: those of this node, and those of its peers.
 * Root may always.
 */
struct gate_entry {
	struct ip_address address; /* any one of the lane's network */
	uint8_t prefix_size;       /* of the lane's network */
	/*
	 * Or it is one that lanes are cut from, and the rest says nothing: an
	 * address in it that has no other entry is refused to all but root.
	 */
	bool is_network;
	uint32_t uid;
	/*
	 * And only in this cgroup or below; 0: anywhere. GATE_CGROUP_UNKNOWN:
	 * in that of the entry that is there for the user; else nowhere.
	 */
	uint64_t cgroup_id;
};

#define GATE_CGROUP_UNKNOWN UINT64_MAX

/* An entry of that network is replaced. -ENOSPC, -EINVAL. */
int gate_add(struct ethernet_gate *gate, const struct gate_entry *entry,
	     struct fairlead_error *ret_error);
/*
 * Exactly these entries, from now on; those that stay are never out of force.
 * 1: some were not so, and not only in their cgroups: if that is what was
 * written last, somebody else has written to the map. -ENOSPC, -EINVAL.
 */
int gate_replace(struct ethernet_gate *gate, const struct gate_entry *entries,
		 size_t count, struct fairlead_error *ret_error);
struct gate_counters {
	uint64_t refused_bind;    /* calls */
	uint64_t refused_send;    /* calls of connect and send, and packets */
	uint64_t refused_receive; /* packets */
	uint64_t refused_raw;     /* VXLAN by hand: calls and packets */
};

/* Since the programs were first attached. */
int gate_counters(const struct ethernet_gate *gate,
		  struct gate_counters *ret_counters);
/*
 * Detach and unpin what this network namespace has in the directory: programs
 * to which nobody adds lanes any more would refuse all of them. Nothing there
 * is 0.
 */
int gate_leave(const char *pins, struct fairlead_error *ret_error);
/*
 * The id by which entries name a cgroup. -EINVAL with a text: it is not in
 * cgroup v2, or deeper than the programs look.
 */
int gate_cgroup_id(const char *path, uint64_t *ret_id,
		   struct fairlead_error *ret_error);
