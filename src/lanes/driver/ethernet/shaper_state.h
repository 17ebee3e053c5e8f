/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the two halves of the shaper share: what a NIC has, and what of it is
 * ours.
 */
#pragma once

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>

#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/ethernet/tc.h"

#define SHAPER_QDISC          (SHAPER_HANDLE << 16)
#define SHAPER_LINK_MINOR     1u
#define SHAPER_BYTES_PER_MBIT UINT64_C(125000)
/* More than the largest packet, so that turns are fair; and ours by it. */
#define SHAPER_QUANTUM (65536 + 17996)
/* One part in so many is no lane's: the node itself always gets through. */
#define SHAPER_DEFAULT_PART 10
/* Where nothing is reserved; the kernel takes no 0. */
#define SHAPER_RATE_LEAST 1000
/* The link is the maximum, also when it becomes faster. */
#define SHAPER_CEIL_NONE (UINT64_C(100000000) * SHAPER_BYTES_PER_MBIT)

struct shaper_state {
	struct tc_item root; /* of the NIC; kind "": the kernel's default */
	struct tc_list classes;
	const struct tc_item *link; /* NULL: not there */
	uint64_t reserved;          /* by lanes, bytes a second */
};

/* Give it to shaper_state_fini also after a failure. */
int shaper_state_read(struct netlink *netlink, const struct underlay *underlay,
		      struct shaper_state *state,
		      struct fairlead_error *ret_error);
void shaper_state_fini(struct shaper_state *state);

/* The class of a lane of ours, and one of its leaves. */
bool shaper_is_lane(const struct tc_item *item);
bool shaper_is_leaf_of(const struct tc_item *item, uint32_t lane_handle);
/* The lane's, whose leaf it may be. */
uint32_t shaper_lane_minor(uint32_t handle);

/* Make a class of ours; kind and quantum are set. */
int shaper_put_class(struct netlink *netlink, const struct underlay *underlay,
		     int flags, struct tc_item *item,
		     struct fairlead_error *ret_error);
/*
 * -EBUSY with a text when something of somebody else's would go with the class;
 * class_id 0: with all that is ours.
 */
int shaper_check_others(struct netlink *netlink,
			const struct underlay *underlay,
			const struct tc_list *classes, uint32_t class_id,
			struct fairlead_error *ret_error);
