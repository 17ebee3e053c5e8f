/* SPDX-License-Identifier: BSD-3-Clause */
#include "driver/ethernet/check.h"

#include <errno.h>
#include <inttypes.h>

#include "driver/ethernet/nft.h"

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
		    ip_network_has(checks[i].network, checks[i].address))
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
	enum nft_table table;
	int result;

	if (found_has_lanes(found) ||
	    underlay_clash(node->netlink, &node->networks, &clash) == 0)
		return 0;
	result = nft_table(node->nft, &table, NULL, ret_error);
	if (result == 0 && table == NFT_TABLE_OURS)
		result = nft_table_delete(node->nft, ret_error);
	if (result == 0)
		result = gate_leave(pins, ret_error);
	if (result == 0) {
		*ret_error = clash;
		result = clash.code;
	}
	return result;
}
