/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/ethernet/check.h"

#include <errno.h>
#include <inttypes.h>

#include "lanes/driver/ethernet/table.h"

static bool has_ipv4_of(const struct lane_device *device, uint32_t number)
{
	const uint8_t *bytes = device->ipv4.bytes;
	uint32_t host = (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
			(uint32_t)bytes[2] << 8 | bytes[3];
	uint32_t mask =
		(uint32_t)(UINT64_C(0xffffffff) >> device->ipv4_prefix_size);

	return (host & mask) == number;
}

/* The port of its rail may be another setting's, too. */
static bool has_ipv6_of(const struct lane_device *device, uint32_t number)
{
	const struct ethernet_networks networks = {
		.ipv6 = ip_network_of(&device->ipv6, 32),
		.port = ETHERNET_PORT,
	};
	struct ethernet_names names;
	bool is_one = false;

	for (uint32_t rail = 0; rail < ETHERNET_RAILS_MAX; rail++) {
		ethernet_name(&networks, device->vni, rail, number, &names);
		is_one |= ip_address_equal(&names.ipv6, &device->ipv6);
	}
	return is_one;
}

/*
 * Can the device have that address from us, of a network of other settings? Any
 * other was added by hand, and is not the lane's.
 */
static bool can_be_the_lane_s(const struct lane_device *device, uint8_t family)
{
	const uint8_t *mac = device->mac;
	uint32_t vni = (uint32_t)mac[1] << 16 | (uint32_t)mac[2] << 8 | mac[3];
	uint32_t number = (uint32_t)mac[4] << 8 | mac[5];

	/* Which address is its own its MAC says, unless somebody has set it. */
	if (mac[0] != 0x02 || vni != device->vni || vni == 0 ||
	    vni >= ETHERNET_VNI_LIMIT || number == 0 ||
	    number > ETHERNET_NODES_MAX)
		return true;
	return family == 4 ? has_ipv4_of(device, number)
			   : has_ipv6_of(device, number);
}

/* Rules for other networks would leave a lane's addresses to everybody. */
static int lane_check(const struct ethernet_node *node,
		      const struct lane_device *device,
		      struct fairlead_error *ret_error)
{
	const struct {
		const struct ip_address *address;
		const struct ip_network *network;
		const char *setting;
	} checks[] = {
		{ &device->ipv4, &node->networks.ipv4, "ipv4_network" },
		{ &device->ipv6, &node->networks.ipv6, "ipv6_network" },
	};
	char text[IP_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		if (checks[i].address->family == 0 ||
		    ip_network_has(checks[i].network, checks[i].address) ||
		    !can_be_the_lane_s(device, checks[i].address->family))
			continue;
		ip_address_format(checks[i].address, text);
		return error_set(ret_error, -EADDRINUSE,
				 "device %s of grant %" PRIu64
				 " has the address %s, which is not of "
				 "%s: put that back until its job has ended",
				 device->name, device->alias.grant_id, text,
				 checks[i].setting);
	}
	return 0;
}

int check_lanes(const struct ethernet_node *node, const struct found *found,
		struct fairlead_error *ret_error)
{
	int result = 0;

	for (size_t i = 0; i < found->count && result == 0; i++) {
		if (found->list[i].device.is_ours && !found->list[i].is_netns)
			result = lane_check(node, &found->list[i].device,
					    ret_error);
	}
	return result;
}

int check_networks(const struct ethernet_node *node, const struct found *found,
		   const char *pins, struct fairlead_error *ret_error)
{
	struct fairlead_error clash;
	struct writer batch = { 0 };
	int result;

	if (found_has_lanes(found) ||
	    underlay_clash(node->netlink, &node->networks, &clash) == 0)
		return 0;
	result = table_read(node->filter, NULL, ret_error);
	if (result == TABLE_OURS) {
		rules_write_removal(&batch);
		result = table_change(node->filter, &batch, ret_error);
	}
	if (result >= 0)
		result = gate_leave(pins, ret_error);
	if (result == 0) {
		*ret_error = clash;
		result = clash.code;
	}
	return result;
}
