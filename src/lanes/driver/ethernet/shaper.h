/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates on an underlay's NIC: HTB with one parent class of the link's rate,
 * below it one class for each lane that has rates or a class of traffic of its
 * own, and a default class for all else. A lane with several classes of traffic
 * has a leaf for each below its own. The class of a packet is its priority,
 * which nft sets; no filter is needed.
 *
 *	464c:    ->  464c:1 (link)
 *	464c:1   ->  464c:ffff (default), 464c:10, 464c:11, ... (lanes)
 *	464c:11  ->  464c:4011 (LOW_LATENCY), 464c:8011 (BEST_EFFORT)
 *
 * A lane's leaves have equal parts of what is reserved, and its maximum in
 * common; what one does not use goes to the lane's others first, by their
 * priority.
 *
 * A tenth of the link is the default class's, and cannot be reserved. What is
 * not used goes to the others: first to those of the higher priority, then in
 * turns.
 *
 * Sending only: a maximum is kept by the sender. All queues of the NIC share
 * one lock then, so that it is for sites that want rates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/policy.h"
#include "lanes/driver/ethernet/underlay.h"

/* "FL": not one that an administrator would choose, since ours is known by it. */
#define SHAPER_HANDLE        0x464cu
#define SHAPER_DEFAULT_MINOR 0xffffu
#define SHAPER_FIRST_MINOR   0x10u
#define SHAPER_LAST_MINOR    0x1fffu
/* The minor of a leaf: the lane's, and 1 + enum ethernet_class above it. */
#define SHAPER_LEAF_SHIFT 13
/* What a packet's priority is when it goes to that class. */
#define SHAPER_PRIORITY(minor) (SHAPER_HANDLE << 16 | (minor))

struct shaper_class {
	uint16_t minor;
	enum ethernet_class priority;
	uint32_t reserved_mbit; /* 0: the least that HTB takes */
	uint32_t max_mbit;      /* 0: the link's */
	uint8_t classes; /* bits 1 << enum ethernet_class; one or none: no leaves */
};

/* Where packets of that class go, of a lane that has it among its classes. */
static inline uint16_t shaper_leaf(uint16_t minor, uint32_t classes,
				   enum ethernet_class class)
{
	bool is_alone = (classes & (classes - 1)) == 0;

	return is_alone ? minor
			: (uint16_t)(minor | (class + 1) << SHAPER_LEAF_SHIFT);
}

/*
 * What the kernel lacks for it, or "" (with a newline between several). Nothing
 * is changed. -EPERM.
 */
int shaper_probe(struct netlink *netlink, char text[256]);
/*
 * Make the qdisc, or find that it is there and ours; what an earlier start
 * began is completed, and the rate set again. link_mbit: the link's rate.
 * -EEXIST with a text: the NIC has a qdisc of the site's own, which stays;
 * -EINVAL: link_mbit is 0; -EOPNOTSUPP.
 */
int shaper_start(struct netlink *netlink, const struct underlay *underlay,
		 uint32_t link_mbit, struct fairlead_error *ret_error);
/*
 * The qdisc goes, with all classes, if it is ours. -EBUSY as in shaper_remove.
 */
int shaper_stop(struct netlink *netlink, const struct underlay *underlay,
		struct fairlead_error *ret_error);
/*
 * The lowest minor number that no class on the NIC has, whoever made it, nor
 * any of its leaves, and that is not among the `count` taken ones. -ENOSPC.
 */
int shaper_choose(struct netlink *netlink, const struct underlay *underlay,
		  const uint16_t *taken, size_t count, uint16_t *ret_minor,
		  struct fairlead_error *ret_error);
/*
 * With its leaves, or nothing. -ENOSPC: so much cannot be reserved any more;
 * -EEXIST: the NIC has a class of that minor number; -ENOENT: not started;
 * -EINVAL: max is below reserved, or the number is none of a lane's.
 */
int shaper_add(struct netlink *netlink, const struct underlay *underlay,
	       const struct shaper_class *shaped,
	       struct fairlead_error *ret_error);
/*
 * With its leaves. -EBUSY with a text: something of somebody else's hangs on
 * one of them (a filter, class or qdisc), and all stay. A class that is not
 * there, or not ours, is no error.
 */
int shaper_remove(struct netlink *netlink, const struct underlay *underlay,
		  uint16_t minor, struct fairlead_error *ret_error);
/* What that would say now: 0 or -EBUSY. */
int shaper_try_remove(struct netlink *netlink, const struct underlay *underlay,
		      uint16_t minor, struct fairlead_error *ret_error);
/* Classes of lanes; none where it was not started. */
int shaper_list(struct netlink *netlink, const struct underlay *underlay,
		void (*emit)(void *arg, const struct shaper_class *shaped),
		void *arg, struct fairlead_error *ret_error);
