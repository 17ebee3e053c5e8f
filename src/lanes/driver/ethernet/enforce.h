/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may use a lane: rules and gates, as they follow from its devices.
 */
#pragma once

#include "lanes/driver/ethernet/found.h"
#include "lanes/driver/ethernet/rules.h"

/*
 * Rewrite the table and the gate, for all of our devices that are there; a gate
 * that is not open yet is opened. Each of the two is one step for the kernel:
 * nothing is open in between. -EEXIST: the table is somebody else's;
 * -EOPNOTSUPP: the kernel lacks something for the gate; both with a text.
 */
int enforce_all(const struct ethernet_node *node,
		struct fairlead_error *ret_error);
/* For these, which are all that are there. */
int enforce_found(const struct ethernet_node *node, const struct found *found,
		  struct fairlead_error *ret_error);

/*
 * Add what follows from devices that were made and are not up yet; a gate that
 * others have changed is put back first. On a failure some may have been added,
 * which goes when the caller takes the devices back.
 */
int enforce_add(const struct ethernet_node *node,
		const struct found_device *made, size_t count,
		struct fairlead_error *ret_error);
/*
 * Rewrite all since devices have gone. If that fails the lanes are taken back
 * all the same: rules without a device let nobody do anything. ethernet_tend
 * says why and tries again, and no lane is made before.
 */
void enforce_mend(const struct ethernet_node *node);

/*
 * Put back what others have changed. 0, or an error with a text.
 *
 * Is the table still there, and ours, with its elements? Somebody may have
 * flushed all rules of the node: it is written again then, and ethernet_tend
 * will say so. It costs a question to the kernel where nobody has changed any
 * rules.
 */
int enforce_tend_table(const struct ethernet_node *node,
		       struct fairlead_error *ret_error);
/*
 * That and, as well as it can be done, the same of devices and the gate's map.
 * Before lanes are taken back, while all have their devices and rules: later
 * others' changes could not be distinguished from ours.
 */
void enforce_tend_rules(const struct ethernet_node *node);
/* The same of the gate: whole, see gate_tend. */
int enforce_tend_gate(const struct ethernet_node *node,
		      struct fairlead_error *ret_error);
enum lanes_change {
	LANES_SAME,
	LANES_CHANGED,      /* somebody deleted a peer, renamed a device, ... */
	LANES_GATE_CHANGED, /* the gate's map was not as we had written it */
};

/*
 * Are devices of lanes what their rules were made from? All is rewritten from
 * what they are now, and their gates go by the cgroups of jobs that are there
 * now. An enum lanes_change, of what is right again. An error, with a text,
 * also says of a job's cgroup that it cannot be known whether it is there; all
 * else is done then.
 */
int enforce_tend_lanes(const struct ethernet_node *node,
		       struct fairlead_error *ret_error);

/*
 * The cgroup of a job by which its lane's gates go: its id, or 0 where the site
 * keeps none. An error, with a text: it wants one, and they go by uid all the
 * same (*ret_id is 0), since the cgroup is not there yet (-ENOENT); or they go
 * by none that could be known (GATE_CGROUP_UNKNOWN), since we cannot look:
 * -EACCES, -EMFILE, -EINVAL (not of cgroup v2), ...
 */
int enforce_cgroup(const struct ethernet_node *node,
		   const struct ethernet_alias *alias, uint64_t *ret_id,
		   struct fairlead_error *ret_error);

/* "nft+bpf", or "none" where not all of it is in force now. */
const char *enforce_level(const struct ethernet_node *node);
