/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device waits for all that looks at it, and many that go at once wait but once:
 * lanes that are taken together take little longer than one.
 *
 * A lane has a class on each rail, which the first of its devices there takes
 * away; the others find it gone.
 */
#include "lanes/driver/ethernet/take_back.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/common/warnings.h"
#include "lanes/driver/ethernet/enforce.h"
#include "lanes/driver/ethernet/links.h"
#include "lanes/driver/ethernet/namespace.h"
#include "lanes/driver/ethernet/shaper.h"
#include "lanes/driver/ethernet/sweep.h"

struct taking {
	const struct ethernet_node *node;
	const struct found_device *devices;
	size_t count;
	bool has_no_rules;
	struct netlink *inside; /* of the lane's namespace, when it has one */
	bool *is_kept;          /* of each of them; borrowed */
	struct fairlead_error error; /* code 0: none yet */
};

/*
 * The NIC below a device, by the kernel's word: which ones carry lanes may have
 * changed since the device was made. False: it is gone, and its classes with it.
 */
static bool nic_find(const struct taking *taking, size_t i,
		     struct underlay *ret_nic)
{
	struct ethernet_link link;

	if (link_read(taking->node->netlink, NULL,
		      taking->devices[i].device.underlay_index, &link,
		      NULL) < 0)
		return false;
	*ret_nic = (struct underlay){ .index = link.index };
	memcpy(ret_nic->name, link.name, sizeof(ret_nic->name));
	return true;
}

static void keep(struct taking *taking, size_t i,
		 const struct fairlead_error *why)
{
	const struct lane_device *device = &taking->devices[i].device;
	struct fairlead_error error;
	struct underlay nic;

	taking->is_kept[i] = true;
	error_set(&error, why->code, "%s: lane %u (VNI %u) cannot be taken: %s",
		  nic_find(taking, i, &nic) ? nic.name : device->name,
		  device_lane(device), device->vni, why->text);
	errors_join(&taking->error, &error);
}

static struct netlink *netlink_of(const struct taking *taking, size_t i)
{
	return taking->devices[i].is_netns ? taking->inside
					   : taking->node->netlink;
}

/* Devices of one namespace go at a time. */
static uint64_t others_refuse(struct taking *taking)
{
	struct fairlead_error error;
	uint64_t namespace_id = 0;

	for (size_t i = 0; i < taking->count; i++) {
		uint64_t own = taking->devices[i].namespace_id;

		if (namespace_id == 0)
			namespace_id = own;
		if (own == 0 || own == namespace_id)
			continue;
		error_set(&error, -EBUSY,
			  "it was moved to namespace %" PRIu64
			  ", and is taken from there the next time",
			  own);
		keep(taking, i, &error);
	}
	return namespace_id;
}

/* What cannot be reached stays as it is. */
static void begin(struct taking *taking)
{
	uint64_t namespace_id = others_refuse(taking);
	struct fairlead_error error;

	if (namespace_id == 0 ||
	    namespace_netlink(taking->node->namespaces, namespace_id,
			      &taking->inside, &error) == 0)
		return;
	for (size_t i = 0; i < taking->count; i++) {
		if (taking->devices[i].namespace_id == namespace_id)
			keep(taking, i, &error);
	}
}

/* What stays for now is to carry nothing either. */
static void kept_lower(const struct taking *taking, size_t i)
{
	_auto_(netlink_closep) struct netlink *inside = NULL;
	struct fairlead_error ignored;

	if (namespace_netlink(taking->node->namespaces,
			      taking->devices[i].namespace_id, &inside,
			      &ignored) == 0)
		(void)device_down(inside, &taking->devices[i].device, &ignored);
}

static void lower_all(struct taking *taking)
{
	struct fairlead_error error;

	for (size_t i = 0; i < taking->count; i++) {
		if (taking->is_kept[i])
			kept_lower(taking, i);
		else if (device_down(netlink_of(taking, i),
				     &taking->devices[i].device, &error) < 0)
			keep(taking, i, &error);
	}
}

static void classes_remove(struct taking *taking,
			   int (*remove)(struct netlink *netlink,
					 const struct underlay *underlay,
					 uint16_t minor,
					 struct fairlead_error *ret_error))
{
	struct fairlead_error error;

	for (size_t i = 0; i < taking->count; i++) {
		uint16_t minor = taking->devices[i].device.alias.htb_class;
		struct underlay nic;

		if (taking->is_kept[i] || minor == 0 ||
		    !nic_find(taking, i, &nic))
			continue;
		if (remove(taking->node->netlink, &nic, minor, &error) < 0)
			keep(taking, i, &error);
	}
}

/*
 * Devices of the lanes from `first` to `end`: in the host's namespace, or in that
 * of the one lane.
 */
struct deletion {
	struct taking *takings;
	size_t first, end;
	bool is_netns;
	size_t count;
	struct lane_device *devices;
	bool *is_left;
};

static bool is_to_go(const struct taking *taking, size_t i, bool is_netns)
{
	return !taking->is_kept[i] && taking->devices[i].is_netns == is_netns;
}

static void deletion_collect(struct deletion *deletion)
{
	deletion->count = 0;
	for (size_t k = deletion->first; k < deletion->end; k++) {
		const struct taking *taking = &deletion->takings[k];

		for (size_t i = 0; i < taking->count; i++) {
			if (is_to_go(taking, i, deletion->is_netns))
				deletion->devices[deletion->count++] =
					taking->devices[i].device;
		}
	}
}

/* In the order of deletion_collect. */
static void deletion_keep(const struct deletion *deletion,
			  const struct fairlead_error *why)
{
	size_t at = 0;

	for (size_t k = deletion->first; k < deletion->end; k++) {
		struct taking *taking = &deletion->takings[k];

		for (size_t i = 0; i < taking->count; i++) {
			if (is_to_go(taking, i, deletion->is_netns) &&
			    deletion->is_left[at++])
				keep(taking, i, why);
		}
	}
}

static void deletion_do(struct deletion *deletion, size_t first, size_t end,
			bool is_netns)
{
	struct taking *takings = deletion->takings;
	struct fairlead_error error;
	int result;

	deletion->first = first;
	deletion->end = end;
	deletion->is_netns = is_netns;
	deletion_collect(deletion);
	if (deletion->count == 0)
		return;
	result = devices_delete(
		is_netns ? takings[first].inside : takings[first].node->netlink,
		deletion->devices, deletion->count, deletion->is_left, &error);
	if (result < 0)
		deletion_keep(deletion, &error);
}

/*
 * Has it lost what its rules were made from? IPv6 addresses go when somebody sets
 * it down.
 */
static bool has_changed(const struct ethernet_node *node,
			const struct lane_device *device)
{
	const struct ethernet_networks *networks = &node->networks;

	return device->alias.grant_id == 0 ||
	       !ip_network_has(&networks->ipv6, &device->ipv6) ||
	       (networks->ipv4.address.family != 0 &&
		!ip_network_has(&networks->ipv4, &device->ipv4));
}

/* --- all lanes --- */

/* What lanes have in common while they are taken. */
struct taking_all {
	const struct ethernet_node *node;
	size_t count;
	struct taking *takings;
	struct deletion deletion;
	struct found_device *devices; /* of all */
	size_t device_count;
	bool *is_kept; /* likewise */
	struct enforcement enforcement;
};

static void all_fini(struct taking_all *all)
{
	for (size_t k = 0; k < all->count; k++)
		netlink_close(all->takings[k].inside);
	enforcement_fini(&all->enforcement);
	free(all->takings);
	free(all->devices);
	free(all->is_kept);
	free(all->deletion.devices);
	free(all->deletion.is_left);
}

static int all_init(struct taking_all *all, const struct take_back *lanes,
		    struct fairlead_error *ret_error)
{
	size_t device_max = 0;

	for (size_t k = 0; k < all->count; k++)
		device_max += lanes[k].count;
	all->takings = memory_array(all->count, sizeof(*all->takings));
	all->devices = memory_array(device_max, sizeof(*all->devices));
	all->is_kept = memory_array(device_max, sizeof(*all->is_kept));
	all->deletion.takings = all->takings;
	all->deletion.devices =
		memory_array(device_max, sizeof(*all->deletion.devices));
	all->deletion.is_left =
		memory_array(device_max, sizeof(*all->deletion.is_left));
	for (size_t k = 0; k < all->count; k++) {
		struct taking *taking = &all->takings[k];

		taking->node = all->node;
		taking->has_no_rules = lanes[k].has_no_rules;
		taking->devices = lanes[k].devices;
		taking->is_kept = all->is_kept + all->device_count;
		taking->count = lanes[k].count;
		for (size_t i = 0; i < taking->count; i++)
			all->devices[all->device_count++] = taking->devices[i];
	}
	return enforcement_init(&all->enforcement, all->node, all->devices,
				all->device_count, ret_error);
}

/* Rules by the lanes' devices, or all anew where these do not say enough. */
static void rules_remove(struct taking_all *all)
{
	bool is_incomplete = false;
	bool is_any = false;

	for (size_t k = 0; k < all->count; k++) {
		const struct taking *taking = &all->takings[k];

		for (size_t i = 0; i < taking->count; i++)
			is_any |= !taking->is_kept[i] && !taking->has_no_rules;
		/* What is kept keeps its rules. */
		is_incomplete |= taking->error.code < 0;
	}
	if (!is_any)
		return;
	for (size_t i = 0; i < all->device_count; i++)
		is_incomplete |=
			has_changed(all->node, &all->devices[i].device);
	if (is_incomplete)
		enforce_mend(all->node);
	else
		enforce_remove(all->node, &all->enforcement);
}

static void all_take(struct taking_all *all)
{
	for (size_t k = 0; k < all->count; k++) {
		begin(&all->takings[k]);
		lower_all(&all->takings[k]);
	}
	for (size_t k = 0; k < all->count; k++)
		classes_remove(&all->takings[k], shaper_remove);
	deletion_do(&all->deletion, 0, all->count, false);
	for (size_t k = 0; k < all->count; k++)
		deletion_do(&all->deletion, k, k + 1, true);
	rules_remove(all);
}

void take_back_all(const struct ethernet_node *node, struct take_back *lanes,
		   size_t count)
{
	struct taking_all all = { .node = node, .count = count };
	struct fairlead_error error;
	int result;

	if (count == 0)
		return;
	/*
	 * Later what is gone by us could not be told from what others took. But
	 * a lane that has no rules yet would be given some.
	 */
	if (!lanes[0].has_no_rules)
		(void)enforce_tend_table(node, &error);
	result = all_init(&all, lanes, &error);
	if (result == 0)
		all_take(&all);
	for (size_t k = 0; k < count; k++)
		lanes[k].error = result == 0 ? all.takings[k].error : error;
	all_fini(&all);
	/* What keeps one is not to keep the others. */
	for (size_t k = 0; k < count && count > 1 && result < 0; k++)
		take_back_all(node, &lanes[k], 1);
}

int take_back(const struct ethernet_node *node,
	      const struct found_device *devices, size_t count,
	      struct fairlead_error *ret_error)
{
	struct take_back lane = { .devices = devices, .count = count };

	take_back_all(node, &lane, 1);
	if (lane.error.code < 0)
		*ret_error = lane.error;
	return lane.error.code;
}

static void ours_find(void *arg, const struct lane_device *device)
{
	bool *is_there = arg;

	*is_there |= device->is_ours;
}

int take_back_namespace(const struct ethernet_node *node, uint64_t grant_id,
			struct fairlead_error *ret_error)
{
	_auto_(netlink_closep) struct netlink *inside = NULL;
	bool is_used = false;
	int result = namespace_netlink(node->namespaces, grant_id, &inside,
				       ret_error);

	if (result == 0)
		result = devices_list(inside, &node->networks, ours_find,
				      &is_used, ret_error);
	if (result < 0 && result != -ENOENT)
		return result;
	return is_used ? 0
		       : namespace_delete(node->namespaces, grant_id,
					  ret_error);
}

void take_back_other_namespaces(const struct ethernet_node *node,
				uint64_t grant_id,
				const struct found_device *devices,
				size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (devices[i].namespace_id != 0 &&
		    devices[i].namespace_id != grant_id)
			namespace_sweep(node, devices[i].namespace_id);
	}
}

int take_back_try(const struct ethernet_node *node,
		  const struct found_device *devices, size_t count,
		  struct fairlead_error *ret_error)
{
	_auto_(freep) bool *is_kept = memory_array(count, sizeof(*is_kept));
	struct taking taking = {
		.node = node,
		.devices = devices,
		.count = count,
		.is_kept = is_kept,
	};

	begin(&taking);
	netlink_close(taking.inside);
	classes_remove(&taking, shaper_try_remove);
	if (taking.error.code < 0)
		*ret_error = taking.error;
	return taking.error.code;
}
