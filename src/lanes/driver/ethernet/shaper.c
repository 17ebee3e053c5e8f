/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates by HTB: how the link is shared, and what of it is ours. The queueing
 * discipline is known by its handle, a class by its quantum: neither has a
 * place for a word of ours.
 */
#include "lanes/driver/ethernet/shaper.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/ethernet/shaper_state.h"

void shaper_state_fini(struct shaper_state *state)
{
	tc_list_fini(&state->classes);
}

static bool shaper_is_shaped(const struct shaper_state *state)
{
	return state->root.handle == SHAPER_QDISC &&
	       strcmp(state->root.kind, "htb") == 0;
}

bool shaper_is_lane(const struct tc_item *item)
{
	uint32_t minor = TC_H_MIN(item->handle);

	return item->parent == (SHAPER_QDISC | SHAPER_LINK_MINOR) &&
	       item->quantum == SHAPER_QUANTUM && minor >= SHAPER_FIRST_MINOR &&
	       minor <= SHAPER_LAST_MINOR;
}

uint32_t shaper_lane_minor(uint32_t handle)
{
	return TC_H_MIN(handle) & ((1u << SHAPER_LEAF_SHIFT) - 1);
}

bool shaper_is_leaf_of(const struct tc_item *item, uint32_t lane_handle)
{
	uint32_t class = TC_H_MIN(item->handle) >> SHAPER_LEAF_SHIFT;

	return item->type == RTM_NEWTCLASS && item->parent == lane_handle &&
	       item->quantum == SHAPER_QUANTUM && class >= 1 &&
	       class <= ETHERNET_CLASS_COUNT &&
	       shaper_lane_minor(item->handle) == TC_H_MIN(lane_handle);
}

static int read_root(struct netlink *netlink, const struct underlay *underlay,
		     struct tc_item *ret_root, struct fairlead_error *ret_error)
{
	_auto_(tc_list_fini) struct tc_list list = { 0 };
	int result =
		tc_dump(netlink, RTM_GETQDISC, underlay, 0, &list, ret_error);

	if (result < 0)
		return result;
	*ret_root = (struct tc_item){ 0 };
	for (size_t i = 0; i < list.count; i++) {
		/* What the kernel chose by itself has no handle. */
		if (list.items[i].parent == TC_H_ROOT && list.items[i].handle)
			*ret_root = list.items[i];
	}
	return 0;
}

int shaper_state_read(struct netlink *netlink, const struct underlay *underlay,
		      struct shaper_state *state,
		      struct fairlead_error *ret_error)
{
	int result = read_root(netlink, underlay, &state->root, ret_error);

	if (result == 0 && shaper_is_shaped(state))
		result = tc_dump(netlink, RTM_GETTCLASS, underlay, 0,
				 &state->classes, ret_error);
	if (result < 0)
		return result;
	for (size_t i = 0; i < state->classes.count; i++) {
		const struct tc_item *item = &state->classes.items[i];

		if (item->handle == (SHAPER_QDISC | SHAPER_LINK_MINOR))
			state->link = item;
		if (shaper_is_lane(item) && item->rate > SHAPER_RATE_LEAST)
			state->reserved += item->rate;
	}
	return 0;
}

int shaper_put_class(struct netlink *netlink, const struct underlay *underlay,
		     int flags, struct tc_item *item,
		     struct fairlead_error *ret_error)
{
	struct nl_msg *message;

	strcpy(item->kind, "htb");
	item->quantum = SHAPER_QUANTUM;
	message = tc_message(RTM_NEWTCLASS, NLM_F_CREATE | flags,
			     underlay->index, item);
	tc_put_class(message, item);
	return netlink_call(netlink, message, ret_error,
			    "cannot make class %x:%x of NIC %s", SHAPER_HANDLE,
			    TC_H_MIN(item->handle), underlay->name);
}

static int put_qdisc(struct netlink *netlink, const struct underlay *underlay,
		     struct fairlead_error *ret_error)
{
	const struct tc_item item = { .handle = SHAPER_QDISC,
				      .parent = TC_H_ROOT,
				      .kind = "htb" };
	struct nl_msg *message =
		tc_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
			   underlay->index, &item);
	int result;

	tc_put_qdisc(message, SHAPER_DEFAULT_MINOR);
	result = netlink_call(netlink, message, ret_error,
			      "cannot shape NIC %s", underlay->name);
	if (result == -ENOENT)
		return error_set(ret_error, -EOPNOTSUPP,
				 "cannot shape NIC %s: the kernel has no HTB "
				 "(CONFIG_NET_SCH_HTB)",
				 underlay->name);
	return result;
}

/* The two that all packets go through: the link, and the node itself. */
static int put_frame(struct netlink *netlink, const struct underlay *underlay,
		     uint32_t link_mbit, struct fairlead_error *ret_error)
{
	uint64_t rate = link_mbit * SHAPER_BYTES_PER_MBIT;
	struct tc_item link = {
		.handle = SHAPER_QDISC | SHAPER_LINK_MINOR,
		.parent = SHAPER_QDISC,
		.rate = rate,
		.ceil = rate,
	};
	struct tc_item rest = {
		.handle = SHAPER_QDISC | SHAPER_DEFAULT_MINOR,
		.parent = SHAPER_QDISC | SHAPER_LINK_MINOR,
		.rate = rate / SHAPER_DEFAULT_PART,
		.ceil = SHAPER_CEIL_NONE,
		.priority = ETHERNET_BEST_EFFORT,
	};
	int result = shaper_put_class(netlink, underlay, 0, &link, ret_error);

	if (result < 0)
		return result;
	return shaper_put_class(netlink, underlay, 0, &rest, ret_error);
}

int shaper_start(struct netlink *netlink, const struct underlay *underlay,
		 uint32_t link_mbit, struct fairlead_error *ret_error)
{
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	char text[TC_TEXT_MAX];
	int result;

	if (link_mbit == 0)
		return error_set(ret_error, -EINVAL,
				 "the rate of NIC %s is not known",
				 underlay->name);
	result = shaper_state_read(netlink, underlay, &state, ret_error);
	if (result < 0)
		return result;
	if (!shaper_is_shaped(&state) && state.root.kind[0]) {
		tc_format(&state.root, text);
		return error_set(ret_error, -EEXIST,
				 "NIC %s has a queueing discipline already: "
				 "%s",
				 underlay->name, text);
	}
	if (!shaper_is_shaped(&state)) {
		result = put_qdisc(netlink, underlay, ret_error);
		if (result < 0)
			return result;
	}
	return put_frame(netlink, underlay, link_mbit, ret_error);
}

/* class_id 0: is it anywhere on what is ours, without being ours? */
static bool hangs_on(const struct tc_item *item, uint32_t class_id)
{
	/* The kernel's own, which is below each class. */
	if (item->type == RTM_NEWQDISC && item->handle == 0)
		return false;
	if (class_id)
		return (item->parent == class_id &&
			!shaper_is_leaf_of(item, class_id)) ||
		       item->class_id == class_id;
	switch (item->type) {
	case RTM_NEWQDISC:
		return item->parent != TC_H_ROOT &&
		       TC_H_MAJ(item->parent) == SHAPER_QDISC;
	case RTM_NEWTCLASS:
		return item->quantum != SHAPER_QUANTUM;
	default:
		return true;
	}
}

int shaper_check_others(struct netlink *netlink,
			const struct underlay *underlay,
			const struct tc_list *classes, uint32_t class_id,
			struct fairlead_error *ret_error)
{
	_auto_(tc_list_fini) struct tc_list qdiscs = { 0 };
	_auto_(tc_list_fini) struct tc_list filters = { 0 };
	const struct tc_list *lists[] = { classes, &qdiscs, &filters };
	struct tc_item class = { .type = RTM_NEWTCLASS, .handle = class_id };
	char what[TC_TEXT_MAX], where[TC_TEXT_MAX] = "its queueing";
	int result =
		tc_dump(netlink, RTM_GETQDISC, underlay, 0, &qdiscs, ret_error);

	if (result == 0)
		result = tc_dump(netlink, RTM_GETTFILTER, underlay,
				 SHAPER_QDISC, &filters, ret_error);
	if (result < 0)
		return result;
	if (class_id)
		tc_format(&class, where);
	for (size_t k = 0; k < sizeof(lists) / sizeof(lists[0]); k++) {
		for (size_t i = 0; i < lists[k]->count; i++) {
			const struct tc_item *item = &lists[k]->items[i];

			if (!hangs_on(item, class_id))
				continue;
			tc_format(item, what);
			return error_set(ret_error, -EBUSY,
					 "NIC %s: %s of somebody else's hangs "
					 "on %s",
					 underlay->name, what, where);
		}
	}
	return 0;
}

int shaper_stop(struct netlink *netlink, const struct underlay *underlay,
		struct fairlead_error *ret_error)
{
	const struct tc_item item = { .handle = SHAPER_QDISC,
				      .parent = TC_H_ROOT };
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	int result = shaper_state_read(netlink, underlay, &state, ret_error);
	struct nl_msg *message;

	if (result < 0 || !shaper_is_shaped(&state))
		return result;
	result = shaper_check_others(netlink, underlay, &state.classes, 0,
				     ret_error);
	if (result < 0)
		return result;
	message = tc_message(RTM_DELQDISC, 0, underlay->index, &item);
	return netlink_call(netlink, message, ret_error,
			    "cannot stop shaping NIC %s", underlay->name);
}

/*
 * HTB without options is refused by every kernel that has it, and so changes
 * nothing; a kernel that has none does not know the word.
 */
int shaper_probe(struct netlink *netlink, char text[256])
{
	const struct tc_item item = { .parent = TC_H_ROOT, .kind = "htb" };
	struct fairlead_error error;
	struct nl_msg *message =
		tc_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL, 1, &item);
	int result = netlink_call(netlink, message, &error, "cannot try HTB");

	text[0] = '\0';
	if (result == -ENOENT)
		snprintf(text, 256, "%s", "HTB (CONFIG_NET_SCH_HTB)");
	else if (result == -EPERM)
		return result;
	return 0;
}
