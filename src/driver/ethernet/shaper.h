/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates on an underlay's NIC: HTB with one parent class of the link's rate,
 * below it one class for each lane that has rates or a class of traffic of its own,
 * and a default class for all else. The class of a packet is its priority,
 * which nft sets; no filter is needed.
 *
 *	1:  ->  1:1 (link)  ->  1:ffff (default), 1:10, 1:11, ... (lanes)
 *
 * Sending only: a maximum is kept by the sender.
 */
#pragma once

#include <stdint.h>

#include "driver/ethernet/netlink.h"
#include "driver/ethernet/policy.h"
#include "driver/ethernet/underlay.h"

#define SHAPER_HANDLE        1u
#define SHAPER_DEFAULT_MINOR 0xffffu
#define SHAPER_FIRST_MINOR   0x10u
#define SHAPER_LAST_MINOR    0xfffeu

struct shaper_class {
	uint16_t minor;
	enum ethernet_class priority;
	uint32_t reserved_mbit; /* 0: the least that HTB takes */
	uint32_t max_mbit;      /* 0: the link's */
};

/* What the kernel lacks for it, or "" (with a newline between several). */
int shaper_probe(struct netlink *netlink, char text[256]);
/*
 * Make the qdisc, or find that it is there and ours. link_mbit: the link's rate.
 * -EEXIST with a text: the NIC has a qdisc of the site's own; -EOPNOTSUPP.
 */
int shaper_start(struct netlink *netlink, const struct underlay *underlay,
		 uint32_t link_mbit, struct fairlead_error *ret_error);
/* The qdisc goes, with all classes, if it is ours. */
int shaper_stop(struct netlink *netlink, const struct underlay *underlay,
		struct fairlead_error *ret_error);
/* minor 0: any free one, which is set. -ENOSPC, -EEXIST. */
int shaper_add(struct netlink *netlink, const struct underlay *underlay,
	       struct shaper_class *shaped, struct fairlead_error *ret_error);
/* -EBUSY with a text: something of somebody else's hangs on it. */
int shaper_remove(struct netlink *netlink, const struct underlay *underlay,
		  uint16_t minor, struct fairlead_error *ret_error);
int shaper_list(struct netlink *netlink, const struct underlay *underlay,
		void (*emit)(void *arg, const struct shaper_class *shaped),
		void *arg, struct fairlead_error *ret_error);
