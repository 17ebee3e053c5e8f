/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The node half: its state, and operations behind ethernet_node_ops, which are
 * in apply.c, enforce_tend.c, env.c (with inherit), list.c (with destroy),
 * node.c (open, close, probe, place), revoke.c and summary.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lanes/driver/common/warnings.h"
#include "lanes/driver/ethernet/gate.h"
#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/naming.h"
#include "lanes/driver/ethernet/policy.h"
#include "lanes/driver/ethernet/underlay.h"
#include "fairlead_driver.h"

#define NODE_LANES_MAX 4096 /* that a node can hold */

/* What keeps others out of lanes, and what is known of it. */
struct ethernet_guard {
	struct ethernet_gate *gate;      /* NULL: it could not be opened */
	struct fairlead_error gate_flaw; /* why; code 0: it is open */
	/*
	 * Of all rules of the node (table.h), when the table was right last: it
	 * still is as long as only we change any.
	 */
	uint32_t generation;
	uint64_t digest;            /* of the table, see table.h */
	uint32_t digest_generation; /* when that was so */
	uint64_t lanes; /* what they were made from: sum of each device's */
	/*
	 * Rules may be of devices that are gone, or could not be written, or
	 * the gate could not: no lane is made before they are.
	 */
	bool has_leftovers;
	/* What was put back, and is to be said. */
	char news[FAIRLEAD_ERROR_TEXT_MAX];
	/* What cannot be put back, as was said last. */
	char failure[FAIRLEAD_ERROR_TEXT_MAX];
	/* By rail, the last peer that an apply found no way to; family 0: none. */
	struct ip_address far_peers[ETHERNET_RAILS_MAX];
};

struct ethernet_node {
	/*
	 * Opened without CAP_NET_ADMIN, as the agent does it: rules and gates
	 * are not ours to touch, and what is in a job's namespace is not seen.
	 */
	bool is_looking;
	struct netlink *netlink;
	struct netlink *filter;       /* for rules; NULL while we only look */
	struct ethernet_guard *guard; /* likewise */
	struct underlay_names *taken; /* see underlay_list */
	const char *devices;          /* settings, see settings.h */
	const char *namespaces;
	const char *bpf_pins;
	const char *cgroup;     /* NULL: where cgroup v2 is mounted */
	const char *job_cgroup; /* NULL: gates go by uid only */
	struct ethernet_networks networks;
	uint8_t dscp[ETHERNET_CLASS_COUNT];
	bool requires_devices;
	bool is_shaping;
	bool wants_namespaces; /* the file says that jobs may have them */
	uint32_t link_mbit;    /* 0: what the NIC says */
	uint8_t ttl;           /* of VXLAN: 1 is not routed */
};

/* -EIO and the like with a text. */
int node_underlays(const struct ethernet_node *node, struct underlays *ret_list,
		   struct fairlead_error *ret_error);
/* One more than the highest rail whose NIC is usable; 0: there is none. */
uint8_t underlays_rails(const struct underlays *list);
/*
 * Can lanes have the port of the rail? -EADDRINUSE with a text: see
 * underlay_port_check; what a lane of ours has is no other program's.
 */
int node_port_check(const struct ethernet_node *node, size_t rail,
		    struct fairlead_error *ret_error);
/* The one with that interface index, or NULL. */
const struct underlay *underlays_find(const struct underlays *list, int index);

/* As fairlead_node_ops has them; state is a struct ethernet_node. */
int ethernet_apply(void *state, const struct fairlead_lane *lane,
		   bool is_dry_run, struct fairlead_record *ret_record,
		   struct fairlead_warnings *warnings,
		   struct fairlead_error *ret_error);
int ethernet_revoke(void *state, const struct fairlead_lane *lane,
		    const struct fairlead_record *record, bool is_dry_run,
		    struct fairlead_warnings *warnings,
		    struct fairlead_error *ret_error);
void ethernet_revoke_all(void *state, struct fairlead_revocation *revocations,
			 size_t count);
int ethernet_list(void *state,
		  void (*emit)(void *arg, const struct fairlead_object *object),
		  void *arg, struct fairlead_error *ret_error);
void ethernet_summarize(void *state, char text[FAIRLEAD_SUMMARY_MAX + 1]);
int ethernet_tend(void *state, struct fairlead_error *ret_error);
int ethernet_destroy(void *state, const struct fairlead_object *object,
		     bool is_dry_run, struct fairlead_error *ret_error);
int ethernet_env(void *state, const struct fairlead_lane *lane,
		 const struct fairlead_record *record,
		 void (*emit)(void *arg, const char *name, const char *value),
		 void *arg, struct fairlead_error *ret_error);
int ethernet_inherit(void *state, uid_t uid,
		     const char *(*get)(void *arg, const char *name), void *arg,
		     struct fairlead_error *ret_error);
