/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rates by HTB: how the link is shared, and what of it is ours. The queueing
 * discipline is known by its handle, a class by its quantum: neither has a place
 * for a word of ours.
 */
#include "driver/ethernet/shaper.h"

#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "driver/ethernet/tc.h"

#define HANDLE         (SHAPER_HANDLE << 16)
#define LINK_MINOR     1u
#define BYTES_PER_MBIT UINT64_C(125000)
/* More than the largest packet, so that turns are fair; and ours by it. */
#define QUANTUM (65536 + 17996)
/* One part in so many is no lane's: the node itself always gets through. */
#define DEFAULT_PART 10
/* Where nothing is reserved; the kernel takes no 0. */
#define RATE_LEAST 1000
/* The link is the maximum, also when it becomes faster. */
#define CEIL_NONE (UINT64_C(100000000) * BYTES_PER_MBIT)

struct state {
	struct tc_item root; /* of the NIC; kind "": the kernel's default */
	struct tc_list classes;
	const struct tc_item *link; /* NULL: not there */
	uint64_t reserved;          /* by lanes, bytes a second */
};

static void state_fini(struct state *state)
{
	tc_list_fini(&state->classes);
}

static bool is_shaped(const struct state *state)
{
	return state->root.handle == HANDLE &&
	       strcmp(state->root.kind, "htb") == 0;
}

static bool is_lane(const struct tc_item *item)
{
	uint32_t minor = TC_H_MIN(item->handle);

	return item->parent == (HANDLE | LINK_MINOR) &&
	       item->quantum == QUANTUM && minor >= SHAPER_FIRST_MINOR &&
	       minor <= SHAPER_LAST_MINOR;
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

/* Give it to state_fini also after a failure. */
static int state_read(struct netlink *netlink, const struct underlay *underlay,
		      struct state *state, struct fairlead_error *ret_error)
{
	int result = read_root(netlink, underlay, &state->root, ret_error);

	if (result == 0 && is_shaped(state))
		result = tc_dump(netlink, RTM_GETTCLASS, underlay, 0,
				 &state->classes, ret_error);
	if (result < 0)
		return result;
	for (size_t i = 0; i < state->classes.count; i++) {
		const struct tc_item *item = &state->classes.items[i];

		if (item->handle == (HANDLE | LINK_MINOR))
			state->link = item;
		if (is_lane(item) && item->rate > RATE_LEAST)
			state->reserved += item->rate;
	}
	return 0;
}

static int put_class(struct netlink *netlink, const struct underlay *underlay,
		     int flags, struct tc_item *item,
		     struct fairlead_error *ret_error)
{
	struct nl_msg *message;

	strcpy(item->kind, "htb");
	item->quantum = QUANTUM;
	message = tc_message(RTM_NEWTCLASS, NLM_F_CREATE | flags,
			     underlay->index, item);
	if (!message || tc_put_class(message, item) < 0) {
		nlmsg_free(message);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
	return netlink_call(netlink, message, ret_error,
			    "cannot make class %x:%x of NIC %s", SHAPER_HANDLE,
			    TC_H_MIN(item->handle), underlay->name);
}

static int put_qdisc(struct netlink *netlink, const struct underlay *underlay,
		     struct fairlead_error *ret_error)
{
	const struct tc_item item = { .handle = HANDLE,
				      .parent = TC_H_ROOT,
				      .kind = "htb" };
	struct nl_msg *message =
		tc_message(RTM_NEWQDISC, NLM_F_CREATE | NLM_F_EXCL,
			   underlay->index, &item);
	int result;

	if (!message || tc_put_qdisc(message, SHAPER_DEFAULT_MINOR) < 0) {
		nlmsg_free(message);
		return error_set(ret_error, -ENOMEM, "out of memory");
	}
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
	uint64_t rate = link_mbit * BYTES_PER_MBIT;
	struct tc_item link = {
		.handle = HANDLE | LINK_MINOR,
		.parent = HANDLE,
		.rate = rate,
		.ceil = rate,
	};
	struct tc_item rest = {
		.handle = HANDLE | SHAPER_DEFAULT_MINOR,
		.parent = HANDLE | LINK_MINOR,
		.rate = rate / DEFAULT_PART,
		.ceil = CEIL_NONE,
		.priority = ETHERNET_BEST_EFFORT,
	};
	int result = put_class(netlink, underlay, 0, &link, ret_error);

	if (result < 0)
		return result;
	return put_class(netlink, underlay, 0, &rest, ret_error);
}

int shaper_start(struct netlink *netlink, const struct underlay *underlay,
		 uint32_t link_mbit, struct fairlead_error *ret_error)
{
	_auto_(state_fini) struct state state = { 0 };
	char text[TC_TEXT_MAX];
	int result;

	if (link_mbit == 0)
		return error_set(ret_error, -EINVAL,
				 "the rate of NIC %s is not known",
				 underlay->name);
	result = state_read(netlink, underlay, &state, ret_error);
	if (result < 0)
		return result;
	if (!is_shaped(&state) && state.root.kind[0]) {
		tc_format(&state.root, text);
		return error_set(ret_error, -EEXIST,
				 "NIC %s has a queueing discipline already: "
				 "%s",
				 underlay->name, text);
	}
	if (!is_shaped(&state)) {
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
		return item->parent == class_id || item->class_id == class_id;
	switch (item->type) {
	case RTM_NEWQDISC:
		return item->parent != TC_H_ROOT &&
		       TC_H_MAJ(item->parent) == HANDLE;
	case RTM_NEWTCLASS:
		return item->quantum != QUANTUM;
	default:
		return true;
	}
}

/* -EBUSY with a text when something of somebody else's would go with the class. */
static int check_strangers(struct netlink *netlink,
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
		result = tc_dump(netlink, RTM_GETTFILTER, underlay, HANDLE,
				 &filters, ret_error);
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
	const struct tc_item item = { .handle = HANDLE, .parent = TC_H_ROOT };
	_auto_(state_fini) struct state state = { 0 };
	int result = state_read(netlink, underlay, &state, ret_error);
	struct nl_msg *message;

	if (result < 0 || !is_shaped(&state))
		return result;
	result = check_strangers(netlink, underlay, &state.classes, 0,
				 ret_error);
	if (result < 0)
		return result;
	message = tc_message(RTM_DELQDISC, 0, underlay->index, &item);
	if (!message)
		return error_set(ret_error, -ENOMEM, "out of memory");
	return netlink_call(netlink, message, ret_error,
			    "cannot stop shaping NIC %s", underlay->name);
}

static void minor_use(uint8_t *used, uint32_t minor)
{
	if (minor <= SHAPER_LAST_MINOR)
		used[minor / 8] |= (uint8_t)(1u << minor % 8);
}

int shaper_choose(struct netlink *netlink, const struct underlay *underlay,
		  const uint16_t *taken, size_t count, uint16_t *ret_minor,
		  struct fairlead_error *ret_error)
{
	uint8_t used[(SHAPER_LAST_MINOR + 8) / 8] = { 0 };
	_auto_(state_fini) struct state state = { 0 };
	int result = state_read(netlink, underlay, &state, ret_error);

	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		minor_use(used, taken[i]);
	for (size_t i = 0; i < state.classes.count; i++)
		minor_use(used, TC_H_MIN(state.classes.items[i].handle));
	for (uint32_t minor = SHAPER_FIRST_MINOR; minor <= SHAPER_LAST_MINOR;
	     minor++) {
		if (used[minor / 8] & 1u << minor % 8)
			continue;
		*ret_minor = (uint16_t)minor;
		return 0;
	}
	return error_set(ret_error, -ENOSPC, "NIC %s has no class left",
			 underlay->name);
}

static int check_rates(const struct state *state,
		       const struct underlay *underlay,
		       const struct shaper_class *shaped,
		       struct fairlead_error *ret_error)
{
	uint64_t room = state->link->rate - state->link->rate / DEFAULT_PART;
	uint64_t left = state->reserved < room ? room - state->reserved : 0;

	if (shaped->max_mbit && shaped->max_mbit < shaped->reserved_mbit)
		return error_set(ret_error, -EINVAL,
				 "%u Mbit/s are reserved, and %u are the "
				 "maximum",
				 shaped->reserved_mbit, shaped->max_mbit);
	if (shaped->reserved_mbit * BYTES_PER_MBIT > left)
		return error_set(ret_error, -ENOSPC,
				 "NIC %s has %llu of %llu Mbit/s left to "
				 "reserve, and %u are asked for",
				 underlay->name,
				 (unsigned long long)(left / BYTES_PER_MBIT),
				 (unsigned long long)(room / BYTES_PER_MBIT),
				 shaped->reserved_mbit);
	return 0;
}

static struct tc_item lane_item(const struct shaper_class *shaped)
{
	return (struct tc_item){
		.handle = HANDLE | shaped->minor,
		.parent = HANDLE | LINK_MINOR,
		.rate = shaped->reserved_mbit
				? shaped->reserved_mbit * BYTES_PER_MBIT
				: RATE_LEAST,
		.ceil = shaped->max_mbit ? shaped->max_mbit * BYTES_PER_MBIT
					 : CEIL_NONE,
		.priority = shaped->priority,
	};
}

int shaper_add(struct netlink *netlink, const struct underlay *underlay,
	       const struct shaper_class *shaped,
	       struct fairlead_error *ret_error)
{
	_auto_(state_fini) struct state state = { 0 };
	struct tc_item item = lane_item(shaped);
	int result = state_read(netlink, underlay, &state, ret_error);

	if (result < 0)
		return result;
	/* Below a class that is not there the kernel would make it a root. */
	if (!state.link)
		return error_set(ret_error, -ENOENT, "NIC %s is not shaped",
				 underlay->name);
	result = check_rates(&state, underlay, shaped, ret_error);
	if (result < 0)
		return result;
	if (shaped->minor < SHAPER_FIRST_MINOR ||
	    shaped->minor > SHAPER_LAST_MINOR)
		return error_set(ret_error, -EINVAL,
				 "class %x:%x is not for lanes", SHAPER_HANDLE,
				 shaped->minor);
	return put_class(netlink, underlay, NLM_F_EXCL, &item, ret_error);
}

/* 1: the class is there, and can go; 0: it is not. */
static int find_removable(struct netlink *netlink,
			  const struct underlay *underlay, uint16_t minor,
			  struct fairlead_error *ret_error)
{
	const uint32_t handle = HANDLE | minor;
	_auto_(state_fini) struct state state = { 0 };
	bool is_there = false;
	int result = state_read(netlink, underlay, &state, ret_error);

	if (result < 0)
		return result;
	for (size_t i = 0; i < state.classes.count; i++)
		is_there =
			is_there || (state.classes.items[i].handle == handle &&
				     is_lane(&state.classes.items[i]));
	if (!is_there)
		return 0;
	result = check_strangers(netlink, underlay, &state.classes, handle,
				 ret_error);
	return result < 0 ? result : 1;
}

int shaper_try_remove(struct netlink *netlink, const struct underlay *underlay,
		      uint16_t minor, struct fairlead_error *ret_error)
{
	int result = find_removable(netlink, underlay, minor, ret_error);

	return result < 0 ? result : 0;
}

int shaper_remove(struct netlink *netlink, const struct underlay *underlay,
		  uint16_t minor, struct fairlead_error *ret_error)
{
	const struct tc_item item = { .handle = HANDLE | minor };
	struct nl_msg *message;
	int result = find_removable(netlink, underlay, minor, ret_error);

	if (result <= 0)
		return result;
	message = tc_message(RTM_DELTCLASS, 0, underlay->index, &item);
	if (!message)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = netlink_call(netlink, message, ret_error,
			      "cannot remove class %x:%x of NIC %s",
			      SHAPER_HANDLE, minor, underlay->name);
	return result == -ENOENT ? 0 : result;
}

int shaper_list(struct netlink *netlink, const struct underlay *underlay,
		void (*emit)(void *arg, const struct shaper_class *shaped),
		void *arg, struct fairlead_error *ret_error)
{
	_auto_(state_fini) struct state state = { 0 };
	int result = state_read(netlink, underlay, &state, ret_error);

	for (size_t i = 0; result == 0 && i < state.classes.count; i++) {
		const struct tc_item *item = &state.classes.items[i];
		struct shaper_class shaped = {
			.minor = (uint16_t)TC_H_MIN(item->handle),
			.priority = item->priority,
			.reserved_mbit =
				(uint32_t)(item->rate / BYTES_PER_MBIT),
		};

		if (item->ceil != CEIL_NONE)
			shaped.max_mbit =
				(uint32_t)(item->ceil / BYTES_PER_MBIT);
		if (is_lane(item))
			emit(arg, &shaped);
	}
	return result;
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
	int result;

	if (!message)
		return -ENOMEM;
	result = netlink_call(netlink, message, &error, "cannot try HTB");
	text[0] = '\0';
	if (result == -ENOENT)
		snprintf(text, 256, "%s", "HTB (CONFIG_NET_SCH_HTB)");
	else if (result == -EPERM)
		return result;
	return 0;
}
