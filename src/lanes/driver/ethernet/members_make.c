/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether the places of a job's nodes go together. What each node has reported
 * is not trusted: a node that names another's address would get that one's
 * packets, so no address may be there twice, on whichever rail. A node without
 * rails has none of the lane, and nothing to go together with.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/driver/ethernet/members.h"

static const struct {
	struct ip_network network;
	const char *what;
} unreachable[] = {
	{ { { 4, { 0 } }, 8 }, "no host's" },
	{ { { 4, { 127 } }, 8 }, "loopback" },
	{ { { 4, { 224 } }, 3 }, "multicast or reserved" },
	{ { { 6, { 0 } }, 127 }, "no host's, or loopback" },
	{ { { 6, { 0xfe, 0x80 } }, 10 }, "link-local" },
	{ { { 6, { 0xff } }, 8 }, "multicast" },
};

int ethernet_members_check(size_t count,
			   const struct ethernet_networks *networks,
			   struct fairlead_error *ret_error)
{
	uint32_t nodes = ethernet_ipv4_nodes(networks);

	if (count < 1 || count > ETHERNET_NODES_MAX)
		return error_set(ret_error, -EINVAL,
				 "a lane has 1 to %d nodes, not %zu",
				 ETHERNET_NODES_MAX, count);
	if (nodes && count > nodes)
		return error_set(ret_error, -EINVAL,
				 "%zu nodes are more than the %u that an IPv4 "
				 "network of a lane has addresses for; set "
				 "ipv4_lane_size lower, or ipv4_network to "
				 "none",
				 count, nodes);
	return 0;
}

static int check_address(const struct ip_address *address, const char *name,
			 uint8_t rail, struct fairlead_error *ret_error)
{
	char text[IP_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < sizeof(unreachable) / sizeof(unreachable[0]);
	     i++) {
		if (!ip_network_has(&unreachable[i].network, address))
			continue;
		ip_address_format(address, text);
		return error_set(ret_error, -EINVAL,
				 "node %s has the address %s on rail %u, which "
				 "is %s",
				 name, text, rail, unreachable[i].what);
	}
	return 0;
}

/* The rail of one node goes with that of the first, which sets the family. */
static int check_rail(const struct ethernet_rail *rail,
		      const struct ethernet_rail *first,
		      const char *const names[2], uint8_t number,
		      struct fairlead_error *ret_error)
{
	uint32_t least =
		ETHERNET_MTU_MIN + ethernet_overhead(rail->address.family);

	if (rail->address.family != first->address.family)
		return error_set(ret_error, -EINVAL,
				 "node %s has an IPv%u address on rail %u and "
				 "node %s an IPv%u one",
				 names[0], first->address.family, number,
				 names[1], rail->address.family);
	if (rail->mtu < least)
		return error_set(ret_error, -EINVAL,
				 "node %s has an MTU of %u on rail %u, a lane "
				 "needs %u",
				 names[1], rail->mtu, number, least);
	return check_address(&rail->address, names[1], number, ret_error);
}

struct owner {
	struct ip_address address;
	uint32_t node;
};

static int owner_compare(const void *a, const void *b)
{
	const struct owner *left = a;
	const struct owner *right = b;
	int result =
		memcmp(&left->address, &right->address, sizeof(left->address));

	if (result == 0)
		result =
			(left->node > right->node) - (left->node < right->node);
	return result;
}

/* Each address is one node's, and once. */
static int check_apart(const struct ethernet_members *members,
		       const char *const *names,
		       struct fairlead_error *ret_error)
{
	size_t count = (size_t)members->node_count * members->rail_count;
	_auto_(freep) struct owner *owners =
		memory_array(count, sizeof(*owners));
	char text[IP_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < count; i++) {
		owners[i].address = members->addresses[i];
		owners[i].node = (uint32_t)(i / members->rail_count);
	}
	qsort(owners, count, sizeof(*owners), owner_compare);
	for (size_t i = 1; i < count; i++) {
		if (owners[i].address.family == 0 ||
		    !ip_address_equal(&owners[i - 1].address,
				      &owners[i].address))
			continue;
		ip_address_format(&owners[i].address, text);
		if (owners[i - 1].node == owners[i].node)
			return error_set(ret_error, -EINVAL,
					 "node %s says twice that it is at %s",
					 names[owners[i].node], text);
		return error_set(ret_error, -EINVAL,
				 "nodes %s and %s both say that they are at %s",
				 names[owners[i - 1].node],
				 names[owners[i].node], text);
	}
	return 0;
}

static void take_rail(const struct ethernet_rail *rail, uint32_t node,
		      uint8_t i, struct ethernet_members *members)
{
	uint16_t mtu =
		(uint16_t)(rail->mtu - ethernet_overhead(rail->address.family));

	*ethernet_members_at(members, node, i) = rail->address;
	if (members->mtu[i] == 0 || mtu < members->mtu[i])
		members->mtu[i] = mtu;
}

static int take_places(const struct ethernet_place *places,
		       const char *const *names, uint32_t first,
		       struct ethernet_members *members,
		       struct fairlead_error *ret_error)
{
	for (uint32_t node = first; node < members->node_count; node++) {
		const char *const pair[2] = { names[first], names[node] };

		if (places[node].rail_count == 0)
			continue;
		for (uint8_t i = 0; i < members->rail_count; i++) {
			uint8_t number = members->rails[i];
			const struct ethernet_rail *rail =
				&places[node].rails[number];
			int result =
				check_rail(rail, &places[first].rails[number],
					   pair, number, ret_error);

			if (result < 0)
				return result;
			take_rail(rail, node, i, members);
		}
	}
	return 0;
}

/* Bits 1 << number of the rails that the node has. */
static uint8_t rails_of(const struct ethernet_place *place)
{
	uint8_t rails = 0;

	for (uint8_t i = 0; i < place->rail_count; i++)
		rails |= (uint8_t)((place->rails[i].address.family != 0) << i);
	return rails;
}

/* "0, 2" */
static void rails_format(uint8_t rails, char text[3 * ETHERNET_RAILS_MAX])
{
	size_t used = 0;

	for (unsigned int i = 0; i < ETHERNET_RAILS_MAX; i++) {
		if (rails & 1u << i)
			used += (size_t)snprintf(text + used, 4, "%s%u",
						 used ? ", " : "", i);
	}
}

/* The rails that all nodes have which have any; *ret_first is the first one. */
static int take_common(const struct ethernet_place *places,
		       const char *const *names, uint32_t *ret_first,
		       struct ethernet_members *members,
		       struct fairlead_error *ret_error)
{
	char own[3 * ETHERNET_RAILS_MAX], others[3 * ETHERNET_RAILS_MAX];
	uint8_t common = 0, lacking = 0;

	for (uint32_t i = 0; i < members->node_count; i++) {
		uint8_t rails = rails_of(&places[i]);

		if (rails == 0)
			continue;
		if (common == 0) {
			*ret_first = i;
			common = rails;
		}
		if (!(common & rails)) {
			rails_format(rails, own);
			rails_format(common, others);
			return error_set(
				ret_error, -EINVAL,
				"node %s can use rail %s only, and "
				"those before it rail %s; a lane needs "
				"one that all nodes can use (`fairlead "
				"node devices` there says why not)",
				names[i], own, others);
		}
		common &= rails;
		lacking |= (uint8_t)((1u << places[i].rail_count) - 1) & ~rails;
	}
	members->lacking = lacking;
	for (uint8_t number = 0; number < ETHERNET_RAILS_MAX; number++) {
		if (common & 1u << number)
			members->rails[members->rail_count++] = number;
	}
	return 0;
}

int ethernet_members_make(const struct ethernet_place *places,
			  const char *const *names, size_t count,
			  struct ethernet_members *members,
			  struct fairlead_error *ret_error)
{
	struct ethernet_members made = { .networks = members->networks,
					 .node_count = (uint32_t)count };
	uint32_t first = 0; /* that has rails */
	int result =
		ethernet_members_check(count, &members->networks, ret_error);

	if (result == 0)
		result = take_common(places, names, &first, &made, ret_error);
	if (result < 0)
		return result;
	made.addresses =
		memory_array(count * made.rail_count, sizeof(*made.addresses));
	result = take_places(places, names, first, &made, ret_error);
	if (result == 0)
		result = check_apart(&made, names, ret_error);
	if (result < 0) {
		ethernet_members_fini(&made);
		return result;
	}
	*members = made;
	return 0;
}
