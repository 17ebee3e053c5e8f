/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device waits for all that looks at it, and many that go at once wait but
 * once: lanes that are taken together take little longer than one. Where
 * somebody has moved them does not matter.
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

/* A device on its way. */
struct item {
	const struct found_device *found;
	struct take_back *lane;
	struct netlink *netlink; /* of its namespace */
	bool is_kept;
};

struct taking {
	const struct ethernet_node *node;
	size_t count;
	struct item *items;
	/* Namespaces of jobs that they are in. */
	size_t entered_count;
	struct entered {
		uint64_t id;
		struct netlink *netlink;
	} * entered;
};

/*
 * The NIC below a device, by the kernel's word: which ones carry lanes may have
 * changed since the device was made. False: it is gone, and its classes with
 * it.
 */
static bool nic_find(const struct taking *taking, const struct item *item,
		     struct underlay *ret_nic)
{
	struct ethernet_link link;

	if (link_read(taking->node->netlink, NULL,
		      item->found->device.underlay_index, &link, NULL) < 0)
		return false;
	*ret_nic = (struct underlay){ .index = link.index };
	memcpy(ret_nic->name, link.name, sizeof(ret_nic->name));
	return true;
}

static void keep(const struct taking *taking, struct item *item,
		 const struct fairlead_error *why)
{
	const struct lane_device *device = &item->found->device;
	struct fairlead_error error;
	struct underlay nic;

	item->is_kept = true;
	error_set(&error, why->code, "%s: lane %u (VNI %u) cannot be taken: %s",
		  nic_find(taking, item, &nic) ? nic.name : device->name,
		  device_lane(device), device->vni, why->text);
	errors_join(&item->lane->error, &error);
}

static int netlink_find(struct taking *taking, struct item *item,
			struct fairlead_error *ret_error)
{
	uint64_t id = item->found->namespace_id;
	int result;

	item->netlink = taking->node->netlink;
	if (!item->found->is_netns)
		return 0;
	/* Devices of one are found one after the other. */
	for (size_t i = taking->entered_count; i-- > 0;) {
		item->netlink = taking->entered[i].netlink;
		if (taking->entered[i].id == id)
			return 0;
	}
	result = namespace_netlink(taking->node->namespaces, id, &item->netlink,
				   ret_error);
	if (result == 0)
		taking->entered[taking->entered_count++] =
			(struct entered){ id, item->netlink };
	return result;
}

static void taking_init(struct taking *taking, const struct ethernet_node *node,
			struct take_back *lanes, size_t count)
{
	struct fairlead_error error;
	size_t device_count = 0;

	for (size_t k = 0; k < count; k++)
		device_count += lanes[k].count;
	*taking = (struct taking){
		.node = node,
		.items = memory_array(device_count, sizeof(*taking->items)),
		.entered = memory_array(device_count, sizeof(*taking->entered)),
	};
	for (size_t k = 0; k < count; k++) {
		for (size_t i = 0; i < lanes[k].count; i++) {
			struct item *item = &taking->items[taking->count++];

			item->lane = &lanes[k];
			item->found = &lanes[k].devices[i];
			if (netlink_find(taking, item, &error) < 0)
				keep(taking, item, &error);
		}
	}
}

static void taking_fini(struct taking *taking)
{
	for (size_t i = 0; i < taking->entered_count; i++)
		netlink_close(taking->entered[i].netlink);
	free(taking->entered);
	free(taking->items);
}

static void lower_all(struct taking *taking)
{
	struct fairlead_error error;

	for (size_t i = 0; i < taking->count; i++) {
		struct item *item = &taking->items[i];

		if (!item->is_kept &&
		    device_down(item->netlink, &item->found->device, &error) <
			    0)
			keep(taking, item, &error);
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
		struct item *item = &taking->items[i];
		uint16_t minor = item->found->device.alias.htb_class;
		struct underlay nic;

		if (!item->is_kept && minor != 0 &&
		    nic_find(taking, item, &nic) &&
		    remove(taking->node->netlink, &nic, minor, &error) < 0)
			keep(taking, item, &error);
	}
}

/* All that are in that namespace. */
static void devices_remove(struct taking *taking, struct netlink *netlink)
{
	_auto_(freep) struct lane_device *devices =
		memory_array(taking->count, sizeof(*devices));
	_auto_(freep) struct item **items =
		memory_array(taking->count, sizeof(struct item *));
	_auto_(freep) bool *is_left =
		memory_array(taking->count, sizeof(*is_left));
	struct fairlead_error error;
	size_t count = 0;

	for (size_t i = 0; i < taking->count; i++) {
		struct item *item = &taking->items[i];

		if (item->is_kept || item->netlink != netlink)
			continue;
		items[count] = item;
		devices[count++] = item->found->device;
	}
	if (count == 0 ||
	    devices_delete(netlink, devices, count, is_left, &error) == 0)
		return;
	for (size_t i = 0; i < count; i++) {
		if (is_left[i])
			keep(taking, items[i], &error);
	}
}

void take_back_all(const struct ethernet_node *node, struct take_back *lanes,
		   size_t count)
{
	struct taking taking;
	bool is_any = false;

	/* A lane that has no rules yet would be given some. */
	if (count > 0 && !lanes[0].has_no_rules)
		enforce_tend_rules(node);
	taking_init(&taking, node, lanes, count);
	lower_all(&taking);
	classes_remove(&taking, shaper_remove);
	devices_remove(&taking, node->netlink);
	for (size_t i = 0; i < taking.entered_count; i++)
		devices_remove(&taking, taking.entered[i].netlink);
	for (size_t i = 0; i < taking.count; i++)
		is_any |= !taking.items[i].is_kept &&
			  !taking.items[i].lane->has_no_rules;
	if (is_any)
		enforce_mend(node);
	taking_fini(&taking);
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
	struct take_back lane = { .devices = devices, .count = count };
	struct taking taking;

	taking_init(&taking, node, &lane, 1);
	classes_remove(&taking, shaper_try_remove);
	taking_fini(&taking);
	if (lane.error.code < 0)
		*ret_error = lane.error;
	return lane.error.code;
}
