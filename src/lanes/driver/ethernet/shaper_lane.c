/* SPDX-License-Identifier: BSD-3-Clause */
/* The class of a lane, with a leaf for each of its classes of traffic. */
#include <errno.h>

#include "lanes/driver/ethernet/shaper_state.h"

static void minor_use(uint8_t *used, uint32_t handle)
{
	uint32_t minor = TC_H_MIN(handle);

	if (minor >> SHAPER_LEAF_SHIFT <= ETHERNET_CLASS_COUNT)
		minor = shaper_lane_minor(handle);
	if (minor <= SHAPER_LAST_MINOR)
		used[minor / 8] |= (uint8_t)(1u << minor % 8);
}

int shaper_choose(struct netlink *netlink, const struct underlay *underlay,
		  const uint16_t *taken, size_t count, uint16_t *ret_minor,
		  struct fairlead_error *ret_error)
{
	uint8_t used[(SHAPER_LAST_MINOR + 8) / 8] = { 0 };
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	int result = shaper_state_read(netlink, underlay, &state, ret_error);

	if (result < 0)
		return result;
	for (size_t i = 0; i < count; i++)
		minor_use(used, taken[i]);
	for (size_t i = 0; i < state.classes.count; i++)
		minor_use(used, state.classes.items[i].handle);
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

static int check_rates(const struct shaper_state *state,
		       const struct underlay *underlay,
		       const struct shaper_class *shaped,
		       struct fairlead_error *ret_error)
{
	uint64_t capacity =
		state->link->rate - state->link->rate / SHAPER_DEFAULT_PART;
	uint64_t left =
		state->reserved < capacity ? capacity - state->reserved : 0;

	if (shaped->max_mbit && shaped->max_mbit < shaped->reserved_mbit)
		return error_set(ret_error, -EINVAL,
				 "%u Mbit/s are reserved, and %u are the "
				 "maximum",
				 shaped->reserved_mbit, shaped->max_mbit);
	if (shaped->reserved_mbit * SHAPER_BYTES_PER_MBIT > left)
		return error_set(
			ret_error, -ENOSPC,
			"NIC %s has %llu of %llu Mbit/s left to "
			"reserve, and %u are asked for",
			underlay->name,
			(unsigned long long)(left / SHAPER_BYTES_PER_MBIT),
			(unsigned long long)(capacity / SHAPER_BYTES_PER_MBIT),
			shaped->reserved_mbit);
	return 0;
}

static struct tc_item lane_item(const struct shaper_class *shaped)
{
	return (struct tc_item){
		.handle = SHAPER_QDISC | shaped->minor,
		.parent = SHAPER_QDISC | SHAPER_LINK_MINOR,
		.rate = shaped->reserved_mbit
				? shaped->reserved_mbit * SHAPER_BYTES_PER_MBIT
				: SHAPER_RATE_LEAST,
		.ceil = shaped->max_mbit
				? shaped->max_mbit * SHAPER_BYTES_PER_MBIT
				: SHAPER_CEIL_NONE,
		.priority = shaped->priority,
	};
}

static int remove_class(struct netlink *netlink,
			const struct underlay *underlay, uint32_t handle,
			struct fairlead_error *ret_error)
{
	const struct tc_item item = { .handle = handle };
	struct nl_msg *message =
		tc_message(RTM_DELTCLASS, 0, underlay->index, &item);
	int result =
		netlink_call(netlink, message, ret_error,
			     "cannot remove class %x:%x of NIC %s",
			     SHAPER_HANDLE, TC_H_MIN(handle), underlay->name);
	return result == -ENOENT ? 0 : result;
}

/* Below the lane's class, which is there. */
static int put_leaves(struct netlink *netlink, const struct underlay *underlay,
		      const struct shaper_class *shaped,
		      struct fairlead_error *ret_error)
{
	struct tc_item lane = lane_item(shaped);
	uint64_t part =
		lane.rate / (uint64_t)__builtin_popcount(shaped->classes);
	int result = 0;

	for (uint32_t class = 0; class < ETHERNET_CLASS_COUNT && result == 0;
	     class ++) {
		uint16_t minor =
			shaper_leaf(shaped->minor, shaped->classes, class);
		struct tc_item leaf = {
			.handle = SHAPER_QDISC | minor,
			.parent = lane.handle,
			.rate = part < SHAPER_RATE_LEAST ? SHAPER_RATE_LEAST
							 : part,
			.ceil = lane.ceil,
			.priority = class,
		};

		if (shaped->classes & 1u << class)
			result = shaper_put_class(netlink, underlay, NLM_F_EXCL,
						  &leaf, ret_error);
	}
	return result;
}

/* What is left of leaves and lane after a failure goes. */
static void remove_all(struct netlink *netlink, const struct underlay *underlay,
		       const struct shaper_class *shaped)
{
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	uint32_t lane = SHAPER_QDISC | shaped->minor;
	struct fairlead_error ignored;

	if (shaper_state_read(netlink, underlay, &state, &ignored) < 0)
		return;
	for (size_t i = 0; i < state.classes.count; i++) {
		if (shaper_is_leaf_of(&state.classes.items[i], lane))
			(void)remove_class(netlink, underlay,
					   state.classes.items[i].handle,
					   &ignored);
	}
	(void)remove_class(netlink, underlay, lane, &ignored);
}

int shaper_add(struct netlink *netlink, const struct underlay *underlay,
	       const struct shaper_class *shaped,
	       struct fairlead_error *ret_error)
{
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	struct tc_item item = lane_item(shaped);
	int result = shaper_state_read(netlink, underlay, &state, ret_error);

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
	result = shaper_put_class(netlink, underlay, NLM_F_EXCL, &item,
				  ret_error);
	if (result < 0 || (shaped->classes & (shaped->classes - 1)) == 0)
		return result;
	result = put_leaves(netlink, underlay, shaped, ret_error);
	if (result < 0)
		remove_all(netlink, underlay, shaped);
	return result;
}

/* The lane's class last, since it goes only when it has no leaves. */
struct removal {
	size_t count; /* 0: it is not there */
	uint32_t handles[ETHERNET_CLASS_COUNT + 1];
};

/* What goes with the lane's class, or -EBUSY. */
static int find_removable(struct netlink *netlink,
			  const struct underlay *underlay, uint16_t minor,
			  struct removal *ret_removal,
			  struct fairlead_error *ret_error)
{
	const uint32_t handle = SHAPER_QDISC | minor;
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	struct removal removal = { 0 };
	bool is_there = false;
	int result = shaper_state_read(netlink, underlay, &state, ret_error);

	for (size_t i = 0; result == 0 && i < state.classes.count; i++) {
		const struct tc_item *item = &state.classes.items[i];

		is_there |= item->handle == handle && shaper_is_lane(item);
		if (shaper_is_leaf_of(item, handle) &&
		    removal.count < ETHERNET_CLASS_COUNT)
			removal.handles[removal.count++] = item->handle;
	}
	if (is_there)
		removal.handles[removal.count++] = handle;
	else
		removal.count = 0;
	for (size_t i = 0; i < removal.count && result == 0; i++)
		result = shaper_check_others(netlink, underlay, &state.classes,
					     removal.handles[i], ret_error);
	*ret_removal = removal;
	return result;
}

int shaper_try_remove(struct netlink *netlink, const struct underlay *underlay,
		      uint16_t minor, struct fairlead_error *ret_error)
{
	struct removal ignored;

	return find_removable(netlink, underlay, minor, &ignored, ret_error);
}

int shaper_remove(struct netlink *netlink, const struct underlay *underlay,
		  uint16_t minor, struct fairlead_error *ret_error)
{
	struct removal removal;
	int result =
		find_removable(netlink, underlay, minor, &removal, ret_error);

	for (size_t i = 0; i < removal.count && result == 0; i++)
		result = remove_class(netlink, underlay, removal.handles[i],
				      ret_error);
	return result;
}

static uint8_t classes_of(const struct shaper_state *state,
			  uint32_t lane_handle)
{
	uint8_t classes = 0;

	for (size_t i = 0; i < state->classes.count; i++) {
		const struct tc_item *item = &state->classes.items[i];
		uint32_t class = TC_H_MIN(item->handle) >> SHAPER_LEAF_SHIFT;

		if (shaper_is_leaf_of(item, lane_handle))
			classes |= (uint8_t)(1u << (class - 1));
	}
	return classes;
}

int shaper_list(struct netlink *netlink, const struct underlay *underlay,
		void (*emit)(void *arg, const struct shaper_class *shaped),
		void *arg, struct fairlead_error *ret_error)
{
	_auto_(shaper_state_fini) struct shaper_state state = { 0 };
	int result = shaper_state_read(netlink, underlay, &state, ret_error);

	for (size_t i = 0; result == 0 && i < state.classes.count; i++) {
		const struct tc_item *item = &state.classes.items[i];
		struct shaper_class shaped = {
			.minor = (uint16_t)TC_H_MIN(item->handle),
			.priority = item->priority,
			.reserved_mbit =
				(uint32_t)(item->rate / SHAPER_BYTES_PER_MBIT),
			.classes = classes_of(&state, item->handle),
		};

		if (item->ceil != SHAPER_CEIL_NONE)
			shaped.max_mbit =
				(uint32_t)(item->ceil / SHAPER_BYTES_PER_MBIT);
		if (shaper_is_lane(item))
			emit(arg, &shaped);
	}
	return result;
}
