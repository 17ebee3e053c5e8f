/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members are large where nodes are many, and go to each of them: addresses are
 * written rail by rail as runs that rise by one, and of the first of a run only
 * what differs from the address before.
 *
 *	members   u8 version (2)
 *	          u8[4] IPv6 network
 *	          u8 prefix of the IPv4 network (0: none), and if there is one
 *	          u8[4] it, u8 ipv4_lane_size
 *	          u16 port of rail 0
 *	          u8 lacking << 4 | rails, a bit for each number; of each rail
 *	          u16 mtu
 *	          u32 nodes (1..65534)
 *	          of each rail: u8 family, runs of as many addresses as nodes
 *	run       u8 same << 4 | n: n of 1 to 14 is its length, with 15 a u16 of at
 *	          least 15 follows; then the first address without its first `same`
 *	          bytes, which are those of the last address of the rail
 *	      or  u8 n << 4: so many nodes without rails, n as above; they are
 *	          the same on each rail, and not all nodes
 *
 * So nodes in a row take a few bytes a rail, however many they are, and IPv4
 * addresses at random at most 5 bytes each.
 */
#include "lanes/driver/ethernet/members.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define LENGTH_FOLLOWS 15 /* in place of a length */

int ethernet_place_encode(const struct ethernet_place *place,
			  struct writer *writer)
{
	write_u8(writer, ETHERNET_PLACE_VERSION);
	write_u8(writer, place->rail_count);
	for (uint8_t i = 0; i < place->rail_count; i++) {
		ip_address_write(&place->rails[i].address, writer);
		write_u16(writer, place->rails[i].mtu);
	}
	return writer->result;
}

int ethernet_place_decode(const void *bytes, size_t size,
			  struct ethernet_place *ret_place)
{
	struct reader reader = reader_of(bytes, size);
	struct ethernet_place place = { 0 };
	bool has_any = false;

	if (size == 0)
		return -EBADMSG;
	if (read_u8(&reader) != ETHERNET_PLACE_VERSION)
		return -EPROTONOSUPPORT;
	place.rail_count = read_u8(&reader);
	if (place.rail_count > ETHERNET_RAILS_MAX)
		return -EBADMSG;
	for (uint8_t i = 0; i < place.rail_count; i++) {
		ip_address_read(&reader, &place.rails[i].address);
		place.rails[i].mtu = read_u16(&reader);
		if (!place.rails[i].address.family && place.rails[i].mtu != 0)
			return -EBADMSG;
		has_any |= place.rails[i].address.family != 0;
	}
	if (!reader_is_done(&reader) || has_any != (place.rail_count > 0))
		return -EBADMSG;
	*ret_place = place;
	return 0;
}

static size_t size_of(uint8_t family)
{
	return family == 6 ? 16 : 4;
}

/* False: there is none. */
static bool address_next(struct ip_address *address)
{
	for (size_t i = size_of(address->family); i-- > 0;) {
		if (++address->bytes[i])
			return true;
	}
	return false;
}

bool ethernet_members_has(const struct ethernet_members *members,
			  uint32_t index)
{
	return members->rail_count > 0 &&
	       ethernet_members_at(members, index, 0)->family != 0;
}

uint32_t ethernet_members_count(const struct ethernet_members *members)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < members->node_count; i++)
		count += ethernet_members_has(members, i);
	return count;
}

/* How many nodes have no rails from this one on. */
static uint32_t gap_length(const struct ethernet_members *members,
			   uint32_t node)
{
	uint32_t length = 0;

	while (node + length < members->node_count &&
	       !ethernet_members_has(members, node + length))
		length++;
	return length;
}

/* How many addresses of the rail rise by one from this node on. */
static uint32_t run_length(const struct ethernet_members *members,
			   uint32_t node, uint8_t rail)
{
	struct ip_address next = *ethernet_members_at(members, node, rail);
	uint32_t length = 1;

	while (node + length < members->node_count && length < UINT16_MAX &&
	       address_next(&next) &&
	       ip_address_equal(&next, ethernet_members_at(
					       members, node + length, rail)))
		length++;
	return length;
}

static uint8_t length_head(uint32_t length)
{
	return (uint8_t)(length < LENGTH_FOLLOWS ? length : LENGTH_FOLLOWS);
}

static void write_length(uint32_t length, struct writer *writer)
{
	if (length >= LENGTH_FOLLOWS)
		write_u16(writer, (uint16_t)length);
}

static void write_gap(uint32_t length, struct writer *writer)
{
	write_u8(writer, (uint8_t)(length_head(length) << 4));
	write_length(length, writer);
}

static void write_run(const struct ip_address *before,
		      const struct ip_address *first, uint32_t length,
		      struct writer *writer)
{
	size_t size = size_of(first->family);
	size_t same = 0;

	while (same < size - 1 && first->bytes[same] == before->bytes[same])
		same++;
	write_u8(writer, (uint8_t)(same << 4 | length_head(length)));
	write_length(length, writer);
	write_bytes(writer, first->bytes + same, size - same);
}

static void write_rail(const struct ethernet_members *members, uint8_t rail,
		       struct writer *writer)
{
	struct ip_address before = { 0 };
	uint32_t node = 0;
	uint32_t length = gap_length(members, 0);

	write_u8(writer, ethernet_members_at(members, length, rail)->family);
	while (node < members->node_count) {
		length = gap_length(members, node);
		if (length > 0) {
			write_gap(length, writer);
			node += length;
			continue;
		}
		length = run_length(members, node, rail);
		write_run(&before, ethernet_members_at(members, node, rail),
			  length, writer);
		node += length;
		before = *ethernet_members_at(members, node - 1, rail);
	}
}

static void write_networks(const struct ethernet_networks *networks,
			   struct writer *writer)
{
	write_u8(writer, ETHERNET_MEMBERS_VERSION);
	write_bytes(writer, networks->ipv6.address.bytes, 4);
	if (networks->ipv4.address.family) {
		write_u8(writer, networks->ipv4.prefix_size);
		write_bytes(writer, networks->ipv4.address.bytes, 4);
		write_u8(writer, networks->ipv4_lane_size);
	} else {
		write_u8(writer, 0);
	}
	write_u16(writer, networks->port);
}

int ethernet_members_encode(const struct ethernet_members *members,
			    struct writer *writer)
{
	uint8_t rails = 0;

	for (uint8_t i = 0; i < members->rail_count; i++)
		rails |= (uint8_t)(1u << members->rails[i]);
	write_networks(&members->networks, writer);
	write_u8(writer, (uint8_t)(members->lacking << 4 | rails));
	for (uint8_t rail = 0; rail < members->rail_count; rail++)
		write_u16(writer, members->mtu[rail]);
	write_u32(writer, members->node_count);
	for (uint8_t rail = 0; rail < members->rail_count; rail++)
		write_rail(members, rail, writer);
	return writer->result;
}

/* The first bytes of a network's address, which has none behind its prefix. */
static bool read_network(struct reader *reader, uint8_t family,
			 uint8_t prefix_size, struct ip_network *ret_network)
{
	struct ip_network network = { .address.family = family,
				      .prefix_size = prefix_size };
	const uint8_t *bytes = read_bytes(reader, 4);

	if (!bytes)
		return false;
	memcpy(network.address.bytes, bytes, 4);
	*ret_network = network;
	return ip_network_has(&network, &network.address);
}

static bool read_networks(struct reader *reader,
			  struct ethernet_networks *networks)
{
	uint8_t prefix_size;

	if (!read_network(reader, 6, 32, &networks->ipv6))
		return false;
	prefix_size = read_u8(reader);
	if (prefix_size) {
		if (prefix_size > 32 ||
		    !read_network(reader, 4, prefix_size, &networks->ipv4))
			return false;
		networks->ipv4_lane_size = read_u8(reader);
		if (!ethernet_ipv4_lanes(networks))
			return false;
	}
	networks->port = read_u16(reader);
	return networks->port >= ETHERNET_PORT_MIN &&
	       networks->port <= ETHERNET_PORT_MAX &&
	       networks->port != ETHERNET_PORT_ROCE;
}

static bool read_rails(struct reader *reader, struct ethernet_members *members)
{
	uint32_t most = ETHERNET_NODES_MAX;
	uint8_t rails = read_u8(reader);

	members->lacking = rails >> 4;
	for (uint8_t number = 0; number < ETHERNET_RAILS_MAX; number++) {
		if (rails & 1u << number)
			members->rails[members->rail_count++] = number;
	}
	/* No node that has this rail lacks it. */
	if (members->lacking & rails ||
	    (members->lacking && members->rail_count == 0))
		return false;
	for (uint8_t rail = 0; rail < members->rail_count; rail++) {
		members->mtu[rail] = read_u16(reader);
		if (members->mtu[rail] < ETHERNET_MTU_MIN)
			return false;
	}
	members->node_count = read_u32(reader);
	if (members->networks.ipv4.address.family &&
	    ethernet_ipv4_nodes(&members->networks) < most)
		most = ethernet_ipv4_nodes(&members->networks);
	return members->node_count >= 1 && members->node_count <= most;
}

/* False: it does not fit in what is left. */
static bool read_length(struct reader *reader, uint8_t n, uint32_t left,
			uint32_t *ret_length)
{
	uint32_t length = n;

	if (n == LENGTH_FOLLOWS) {
		length = read_u16(reader);
		if (length < LENGTH_FOLLOWS)
			return false;
	}
	*ret_length = length;
	return length >= 1 && length <= left;
}

/* The first address of a run, from the last one before it. */
static bool read_first(struct reader *reader, size_t same,
		       struct ip_address *address)
{
	size_t size = size_of(address->family);
	const uint8_t *bytes;

	if (same >= size)
		return false;
	bytes = read_bytes(reader, size - same);
	if (bytes)
		memcpy(address->bytes + same, bytes, size - same);
	return bytes;
}

static bool read_rail(struct reader *reader, struct ethernet_members *members,
		      uint8_t rail)
{
	struct ip_address address = { .family = read_u8(reader) };
	uint32_t node = 0;
	uint32_t length;

	if (address.family != 4 && address.family != 6)
		return false;
	while (node < members->node_count) {
		uint8_t head = read_u8(reader);
		bool is_gap = (head & 0x0f) == 0;

		if (!read_length(reader, is_gap ? head >> 4 : head & 0x0f,
				 members->node_count - node, &length) ||
		    (!is_gap && !read_first(reader, head >> 4, &address)))
			return false;
		for (uint32_t end = node + length; node < end;) {
			if (!is_gap)
				*ethernet_members_at(members, node, rail) =
					address;
			if (++node < end && !is_gap && !address_next(&address))
				return false;
		}
	}
	return true;
}

/* Has each node all rails or none, and has one of them any? */
static bool is_whole(const struct ethernet_members *members)
{
	for (uint32_t node = 0; node < members->node_count; node++) {
		for (uint8_t rail = 1; rail < members->rail_count; rail++) {
			if (!ethernet_members_at(members, node, rail)->family !=
			    !ethernet_members_at(members, node, 0)->family)
				return false;
		}
	}
	return members->rail_count == 0 || ethernet_members_count(members) > 0;
}

int ethernet_members_decode(const void *bytes, size_t size,
			    struct ethernet_members *ret_members)
{
	struct reader reader = reader_of(bytes, size);
	struct ethernet_members members = { 0 };
	_auto_(freep) struct ip_address *addresses = NULL;

	if (size == 0)
		return -EBADMSG;
	if (read_u8(&reader) != ETHERNET_MEMBERS_VERSION)
		return -EPROTONOSUPPORT;
	if (!read_networks(&reader, &members.networks) ||
	    !read_rails(&reader, &members))
		return -EBADMSG;
	addresses =
		memory_array((size_t)members.node_count * members.rail_count,
			     sizeof(*addresses));
	members.addresses = addresses;
	for (uint8_t rail = 0; rail < members.rail_count; rail++) {
		if (!read_rail(&reader, &members, rail))
			return -EBADMSG;
	}
	if (!reader_is_done(&reader) || !is_whole(&members))
		return -EBADMSG;
	*ret_members = members;
	addresses = NULL;
	return 0;
}

void ethernet_members_fini(struct ethernet_members *members)
{
	free(members->addresses);
	*members = (struct ethernet_members){ 0 };
}
