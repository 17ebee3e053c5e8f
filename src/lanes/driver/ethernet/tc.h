/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic control in rtnetlink, as far as the shaper needs it: what queueing
 * disciplines, classes and filters a NIC has, and how HTB is made. By hand,
 * since libnl 3.7 counts buffers wrongly above 17 Gbit/s.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lanes/driver/ethernet/netlink.h"
#include "lanes/driver/ethernet/underlay.h"

#define TC_KIND_MAX 16
#define TC_TEXT_MAX 32

/* A queueing discipline, class or filter. */
struct tc_item {
	int type; /* RTM_NEWQDISC, RTM_NEWTCLASS, RTM_NEWTFILTER */
	uint32_t handle;
	uint32_t parent;
	char kind[TC_KIND_MAX];
	uint32_t class_id; /* of a filter: where it sends to; 0: not known */
	/* Of a class in HTB; bytes a second. */
	uint64_t rate;
	uint64_t ceil;
	uint32_t quantum;
	uint32_t priority;
	/* Sent through a queueing discipline or class. */
	uint64_t packets;
};

struct tc_list {
	size_t count;
	struct tc_item *items;
};

#define TC_LIST_MAX 131072 /* a NIC that has more is refused */

/*
 * All of that type (RTM_GETQDISC, RTM_GETTCLASS, RTM_GETTFILTER) on the NIC,
 * for tc_list_fini; parent: only of filters, on which they are. A NIC that is
 * gone has none.
 */
int tc_dump(struct netlink *netlink, int type, const struct underlay *underlay,
	    uint32_t parent, struct tc_list *ret_list,
	    struct fairlead_error *ret_error);
void tc_list_fini(struct tc_list *list);

/*
 * A message of that type for item's handle and parent (and kind, when there is
 * one), without options.
 */
struct nl_msg *tc_message(int type, int flags, int index,
			  const struct tc_item *item);
/* Options of HTB itself; packets go to the class with that minor number. */
void tc_put_qdisc(struct nl_msg *message, uint32_t default_minor);
/* Options of a class in HTB, from item's. */
void tc_put_class(struct nl_msg *message, const struct tc_item *item);

/* "tbf 8001:", "class 464c:10", "filter u32". */
void tc_format(const struct tc_item *item, char text[TC_TEXT_MAX]);
