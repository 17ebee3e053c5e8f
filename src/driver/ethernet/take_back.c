/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A lane has a class on each rail, which the first of its devices there takes
 * away; the others find it gone.
 */
#include "driver/ethernet/take_back.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "driver/ethernet/enforce.h"
#include "driver/ethernet/links.h"
#include "driver/ethernet/namespace.h"
#include "driver/ethernet/shaper.h"

struct taking {
	const struct ethernet_node *node;
	const struct found_device *devices;
	size_t count;
	struct netlink *inside; /* of the lane's namespace, when it has one */
	bool is_kept[ETHERNET_DEVICES_MAX];
	struct fairlead_error all;
};

/*
 * The NIC below a device, by the kernel's word: which ones carry lanes may have
 * changed since the device was made. False: it is gone, and its classes with it.
 */
static bool nic_find(const struct taking *taking, size_t i,
		     struct underlay *ret_nic)
{
	struct link link;

	if (link_read(taking->node->netlink, NULL,
		      taking->devices[i].device.underlay_index, &link,
		      NULL) < 0)
		return false;
	*ret_nic = (struct underlay){ .index = link.index };
	memcpy(ret_nic->name, link.name, sizeof(ret_nic->name));
	return true;
}

/* -EBUSY wins, since it names what is in the way, before the first other. */
static void join(struct fairlead_error *all, const struct fairlead_error *one)
{
	struct fairlead_error before = *all;

	if (before.code == 0)
		*all = *one;
	else
		error_set(all, one->code == -EBUSY ? -EBUSY : before.code,
			  "%s; %s", before.text, one->text);
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
	join(&taking->all, &error);
}

static struct netlink *netlink_of(const struct taking *taking, size_t i)
{
	return taking->devices[i].is_netns ? taking->inside
					   : taking->node->netlink;
}

static int begin(struct taking *taking, struct fairlead_error *ret_error)
{
	uint64_t grant_id = 0;

	for (size_t i = 0; i < taking->count; i++) {
		if (taking->devices[i].is_netns)
			grant_id = taking->devices[i].device.alias.grant_id;
	}
	if (grant_id == 0)
		return 0;
	return namespace_netlink(taking->node->namespaces, grant_id,
				 &taking->inside, ret_error);
}

static void lower_all(struct taking *taking)
{
	struct fairlead_error error;

	for (size_t i = 0; i < taking->count; i++) {
		if (device_down(netlink_of(taking, i),
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

		if (minor == 0 || !nic_find(taking, i, &nic))
			continue;
		if (remove(taking->node->netlink, &nic, minor, &error) < 0)
			keep(taking, i, &error);
	}
}

/* In the host's namespace, or in the lane's. */
static void delete_in(struct taking *taking, bool is_netns)
{
	struct lane_device devices[ETHERNET_DEVICES_MAX];
	bool is_left[ETHERNET_DEVICES_MAX] = { false };
	size_t from[ETHERNET_DEVICES_MAX];
	struct fairlead_error error;
	size_t count = 0;
	int result;

	for (size_t i = 0; i < taking->count; i++) {
		if (taking->is_kept[i] ||
		    taking->devices[i].is_netns != is_netns)
			continue;
		devices[count] = taking->devices[i].device;
		from[count++] = i;
	}
	if (count == 0)
		return;
	result = devices_delete(is_netns ? taking->inside
					 : taking->node->netlink,
				devices, count, is_left, &error);
	for (size_t i = 0; i < count && result < 0; i++) {
		if (is_left[i])
			keep(taking, from[i], &error);
	}
}

/*
 * Has it lost what its rules were made from? IPv6 addresses go when somebody sets
 * it down.
 */
static bool has_changed(const struct ethernet_node *node,
			const struct lane_device *device)
{
	return device->alias.grant_id == 0 || device->ipv6.family == 0 ||
	       (node->networks.ipv4.address.family != 0 &&
		device->ipv4.family == 0);
}

static void finish(struct taking *taking, const struct enforcement *enforcement)
{
	struct fairlead_error error;
	bool is_any_kept = false, is_netns = false, is_changed = false;
	int result;

	for (size_t i = 0; i < taking->count; i++) {
		is_any_kept |= taking->is_kept[i];
		is_netns |= taking->devices[i].is_netns;
		is_changed |=
			has_changed(taking->node, &taking->devices[i].device);
	}
	result = is_any_kept || is_changed
			 ? enforce_all(taking->node, &error)
			 : enforce_remove(taking->node, enforcement, &error);
	if (result == 0 && is_netns && !is_any_kept)
		result = namespace_delete(
			taking->node->namespaces,
			taking->devices[0].device.alias.grant_id, &error);
	if (result < 0)
		join(&taking->all, &error);
}

int take_back(const struct ethernet_node *node,
	      const struct found_device *devices, size_t count,
	      struct fairlead_error *ret_error)
{
	struct taking taking = {
		.node = node,
		.devices = devices,
		.count = count,
	};
	struct enforcement enforcement;
	int result;

	if (count > ETHERNET_DEVICES_MAX)
		return error_set(ret_error, -E2BIG,
				 "a lane with %zu devices cannot be", count);
	result =
		enforcement_init(&enforcement, node, devices, count, ret_error);
	if (result < 0)
		return result;
	result = begin(&taking, ret_error);
	if (result == 0) {
		lower_all(&taking);
		classes_remove(&taking, shaper_remove);
		delete_in(&taking, false);
		delete_in(&taking, true);
		finish(&taking, &enforcement);
		result = taking.all.code;
		if (result < 0)
			*ret_error = taking.all;
	}
	enforcement_fini(&enforcement);
	netlink_close(taking.inside);
	return result;
}

int take_back_try(const struct ethernet_node *node,
		  const struct found_device *devices, size_t count,
		  struct fairlead_error *ret_error)
{
	struct taking taking = {
		.node = node,
		.devices = devices,
		.count = count < ETHERNET_DEVICES_MAX ? count
						      : ETHERNET_DEVICES_MAX,
	};
	int result = begin(&taking, ret_error);

	netlink_close(taking.inside);
	if (result < 0)
		return result;
	classes_remove(&taking, shaper_try_remove);
	if (taking.all.code < 0)
		*ret_error = taking.all;
	return taking.all.code;
}
