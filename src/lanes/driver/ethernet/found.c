/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Devices in a job's namespace are read through a socket of that namespace. One
 * that cannot be entered is an error: what is in it cannot be known.
 */
#include "lanes/driver/ethernet/found.h"

#include <errno.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/driver/ethernet/namespace.h"

struct found_reading {
	const struct ethernet_node *node;
	struct found found;
	size_t capacity;
	bool is_netns;
	uint64_t namespace_id;
	int result;
	struct fairlead_error *error;
};

/* Not by its name, which anybody may have changed. */
static uint32_t rail_of(const struct ethernet_node *node,
			const struct lane_device *device)
{
	uint32_t rail = ethernet_rail(node->networks.port, device->port);

	return rail < ETHERNET_RAILS_MAX ? rail : 0;
}

static void device_take(void *arg, const struct lane_device *device)
{
	struct found_reading *reading = arg;
	struct found *found = &reading->found;

	if (found->count == reading->capacity) {
		reading->capacity = reading->capacity * 2 + 16;
		found->list = memory_resize(found->list, reading->capacity,
					    sizeof(*found->list));
	}
	found->list[found->count] = (struct found_device){
		.device = *device,
		.is_netns = reading->is_netns,
		.namespace_id = reading->namespace_id,
	};
	found->list[found->count++].device.rail =
		rail_of(reading->node, device);
}

static void namespace_read(void *arg, uint64_t grant_id)
{
	struct found_reading *reading = arg;
	_auto_(netlink_closep) struct netlink *netlink = NULL;

	if (reading->result < 0)
		return;
	reading->result = namespace_netlink(reading->node->namespaces, grant_id,
					    &netlink, reading->error);
	if (reading->result < 0)
		return;
	reading->is_netns = true;
	reading->namespace_id = grant_id;
	reading->result = devices_list(netlink, &reading->node->networks,
				       device_take, reading, reading->error);
}

int found_read(const struct ethernet_node *node, struct found *ret_found,
	       struct fairlead_error *ret_error)
{
	struct found_reading reading = { .node = node, .error = ret_error };
	int result = devices_list(node->netlink, &node->networks, device_take,
				  &reading, ret_error);

	if (result == 0 && !node->is_looking)
		result = namespace_list(node->namespaces, namespace_read,
					&reading, ret_error);
	if (result == 0)
		result = reading.result;
	if (result < 0) {
		found_fini(&reading.found);
		return result;
	}
	*ret_found = reading.found;
	return 0;
}

void found_fini(struct found *found)
{
	free(found->list);
	*found = (struct found){ 0 };
}

bool found_has_lanes(const struct found *found)
{
	for (size_t i = 0; i < found->count; i++) {
		if (found->list[i].device.is_ours)
			return true;
	}
	return false;
}

bool found_is_first(const struct found *found, size_t i)
{
	const struct lane_device *device = &found->list[i].device;

	for (size_t k = 0; k < i && device->alias.grant_id != 0; k++) {
		const struct lane_device *other = &found->list[k].device;

		if (other->alias.grant_id == device->alias.grant_id &&
		    other->underlay_index == device->underlay_index)
			return false;
	}
	return true;
}

bool found_lane_has(const struct fairlead_lane *lane, uint32_t vni)
{
	for (uint32_t i = 0; i < lane->id_count; i++) {
		if (lane->ids[i] == vni)
			return true;
	}
	return false;
}

bool found_is_of(const struct found_device *device,
		 const struct fairlead_lane *lane)
{
	const struct ethernet_alias *alias = &device->device.alias;

	if (!device->device.is_ours)
		return false;
	if (alias->grant_id == 0)
		return found_lane_has(lane, device->device.vni);
	return alias->grant_id == lane->grant_id && alias->uid == lane->uid;
}

bool found_is_astray(const struct found_device *device,
		     const struct fairlead_lane *lane)
{
	return device->device.is_ours && !found_is_of(device, lane) &&
	       found_lane_has(lane, device->device.vni);
}
