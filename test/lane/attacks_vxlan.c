/* SPDX-License-Identifier: BSD-3-Clause */
/* VXLAN that somebody makes, and ways around a lane's device. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attacks.h"

/* --- 5, 8: VXLAN by hand --- */

/* Who sends it, by which way, and into which lane on which node. */
struct forger {
	enum world_host host;
	uid_t uid;
	struct probe_end from; /* port 0 and no address: its own */
	struct probe_end by;   /* where VXLAN is unpacked */
	bool is_mapped;
	bool is_inside;    /* of lane B */
	bool is_in_pieces; /* fragments; from has an address */
	enum world_lane into;
	enum world_host target;
};

/* Nothing here is refused: root's raw socket is its own. */
static void send_in_pieces(const struct probe_actor *actor,
			   const struct probe_call *call)
{
	struct probe_piece pieces[PROBE_PIECES_COUNT];
	struct probe_call raw = { .type = SOCK_RAW, .to = call->to };

	raw.to.port = 0;
	probe_cut(&call->from, &call->to, call->bytes, call->size, pieces);
	for (size_t i = 0; i < PROBE_PIECES_COUNT; i++) {
		int fd;

		raw.bytes = pieces[i].bytes;
		raw.size = pieces[i].size;
		fd = probe_open(actor, &raw);
		assert_true(fd >= 0);
		close(fd);
	}
}

static bool forges(const struct world *world, uint8_t family,
		   const struct forger *forger)
{
	struct probe_actor owner = world_inside(
		world, forger->into, forger->target, world_owner(forger->into));
	struct probe_actor actor =
		forger->is_inside
			? world_inside(world, LANE_B, forger->host, forger->uid)
			: world_actor(world, forger->host, forger->uid);
	struct probe_end to =
		world_end(world, forger->into, forger->target, family, PORT);
	/* As from another member: a node's own would be a martian's. */
	enum world_host other = forger->target == NODE1 ? NODE2 : NODE1;
	struct ethernet_names names;
	uint8_t packet[PROBE_FORGED_MAX];
	struct probe_forgery forgery = {
		.vni = world_vni(forger->into),
		.from = world_end(world, forger->into, other, family, PORT),
		.to = to,
		.text = ATTACK_TEXT,
	};
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.is_mapped = forger->is_mapped,
		.from = forger->from,
		.to = forger->by,
		.bytes = packet,
	};
	int receiver = attack_listen(owner, SOCK_DGRAM, to);
	int fd = -1;
	bool result;

	assert_true(receiver >= 0);
	world_names(world, forger->into, forger->target, &names);
	memcpy(forgery.to_mac, names.mac, sizeof(names.mac));
	call.size = probe_forge(&forgery, packet);
	if (forger->is_in_pieces)
		send_in_pieces(&actor, &call);
	else
		fd = probe_open(&actor, &call);
	result = attack_has_come(world, receiver);
	if (fd >= 0)
		close(fd);
	close(receiver);
	return result;
}

/* From a host, to the underlay's address of the node whose lane it is to be in. */
static struct forger forger(const struct world *world, enum world_host host,
			    uid_t uid, enum world_lane into,
			    enum world_host target)
{
	return (struct forger){
		.host = host,
		.uid = uid,
		.by = world_underlay(world, target, world->underlay_family,
				     world_port(world)),
		.into = into,
		.target = target,
	};
}

static bool other_user_forges(const struct world *world, uint8_t family)
{
	struct forger other = forger(world, NODE1, OTHER_USER, LANE_A, NODE2);

	return forges(world, family, &other);
}

/* IPv4 by a socket of IPv6, where VXLAN is over IPv4. */
static bool other_user_forges_mapped(const struct world *world, uint8_t family)
{
	struct forger other = forger(world, NODE1, OTHER_USER, LANE_A, NODE2);

	other.is_mapped = world->underlay_family == 4;
	return forges(world, family, &other);
}

static bool other_owner_forges(const struct world *world, uint8_t family)
{
	struct forger owner = forger(world, NODE1, OWNER_B, LANE_A, NODE2);

	return forges(world, family, &owner);
}

static bool owner_forges_another(const struct world *world, uint8_t family)
{
	struct forger owner = forger(world, NODE1, OWNER_A, LANE_B, NODE3);

	return forges(world, family, &owner);
}

static bool neighbour_forges(const struct world *world, uint8_t family)
{
	struct forger neighbour =
		forger(world, NODE2, OTHER_USER, LANE_A, NODE2);

	return forges(world, family, &neighbour);
}

/* Node 1 has both lanes, and unpacks VXLAN that comes out of one of them. */
static bool forges_through_own_lane(const struct world *world, uint8_t family)
{
	struct forger owner = forger(world, NODE3, OWNER_B, LANE_A, NODE1);

	owner.is_inside = true;
	owner.by = world_end(world, LANE_B, NODE1, world->underlay_family,
			     world_port(world));
	return forges(world, family, &owner);
}

static bool host_forges(const struct world *world, uint8_t family)
{
	struct forger root = forger(world, OUTSIDE, 0, LANE_A, NODE2);

	return forges(world, family, &root);
}

/* Its root, so that its own rules let it. */
static bool member_of_other_lane_forges(const struct world *world,
					uint8_t family)
{
	struct forger root = forger(world, NODE3, 0, LANE_A, NODE1);

	return forges(world, family, &root);
}

/* Who may send what it likes has node 1's address. */
static bool forges_as_member(const struct world *world, enum world_host host,
			     uint8_t family)
{
	struct forger root = forger(world, host, 0, LANE_A, NODE2);
	bool result;

	root.from = world_underlay(world, NODE1, world->underlay_family, 0);
	attack_lend(world, host, "add", &root.from.address);
	result = forges(world, family, &root);
	attack_lend(world, host, "del", &root.from.address);
	return result;
}

static bool container_forges(const struct world *world, uint8_t family)
{
	return forges_as_member(world, CONTAINER, family);
}

/* On the network of another rail, to the port of this one. */
static bool host_of_other_rail_forges(const struct world *world, uint8_t family)
{
	struct forger root = forger(world, OUTSIDE, 0, LANE_A, NODE2);
	struct world other = *world;
	bool result;

	other.rail = (world->rail + 1) % RAIL_COUNT;
	root.by = world_underlay(&other, NODE2, world->underlay_family,
				 world_port(world));
	root.from = world_underlay(world, NODE1, world->underlay_family, 0);
	attack_lend(world, OUTSIDE, "add", &root.from.address);
	result = forges(world, family, &root);
	attack_lend(world, OUTSIDE, "del", &root.from.address);
	return result;
}

static bool host_forges_as_member(const struct world *world, uint8_t family)
{
	return forges_as_member(world, OUTSIDE, family);
}

/* --- 8: in fragments, of which none has UDP's header over IPv6 --- */

static bool forges_in_pieces(const struct world *world, enum world_host host,
			     enum world_host from, uint8_t family)
{
	struct forger root = forger(world, host, 0, LANE_A, NODE2);

	root.is_in_pieces = true;
	root.from = world_underlay(world, from, world->underlay_family, PORT);
	return forges(world, family, &root);
}

static bool host_forges_in_pieces(const struct world *world, uint8_t family)
{
	return forges_in_pieces(world, OUTSIDE, OUTSIDE, family);
}

/* Node 1 is a member. */
static bool container_forges_in_pieces(const struct world *world,
				       uint8_t family)
{
	return forges_in_pieces(world, CONTAINER, NODE1, family);
}

static bool member_forges_in_pieces(const struct world *world, uint8_t family)
{
	struct forger root = forger(world, NODE3, 0, LANE_A, NODE1);

	root.is_inside = root.is_in_pieces = true;
	root.from =
		world_end(world, LANE_B, NODE3, world->underlay_family, PORT);
	root.by = world_end(world, LANE_B, NODE1, world->underlay_family,
			    world_port(world));
	return forges(world, family, &root);
}

/* --- 7: other ways --- */

/* The address, with a network of this size around it. */
static void route(const struct world *world, const char *verb,
		  struct probe_end to, unsigned int prefix_size)
{
	uint8_t family = to.address.family;
	struct probe_end by = world_underlay(world, NODE1, family, 0);
	char to_text[IP_ADDRESS_TEXT_MAX], by_text[IP_ADDRESS_TEXT_MAX];

	ip_address_format(&to.address, to_text);
	ip_address_format(&by.address, by_text);
	world_run(world, OUTSIDE, "ip route %s %s/%u via %s", verb, to_text,
		  prefix_size, by_text);
}

/* Node 1 forwards what a host sends to an address of the lane. */
static bool reaches_by(const struct world *world, uint8_t family,
		       enum world_host target)
{
	struct probe_end to = world_end(world, LANE_A, target, family, PORT);
	bool result;

	route(world, "add", to, family == 6 ? 128 : 32);
	result = attack_reaches(world, SOCK_DGRAM,
				world_actor(world, OUTSIDE, 0),
				(struct probe_end){ 0 },
				world_inside(world, LANE_A, target, OWNER_A),
				to);
	route(world, "del", to, family == 6 ? 128 : 32);
	return result;
}

static bool node_forwards(const struct world *world, uint8_t family)
{
	return reaches_by(world, family, NODE2);
}

static bool another_device_takes(const struct world *world, uint8_t family)
{
	return reaches_by(world, family, NODE1);
}

/* Node 1 lends its address, a member's, as it does for containers. */
static bool node_masquerades(const struct world *world, uint8_t family)
{
	struct probe_end to = world_underlay(
		world, NODE2, world->underlay_family, world_port(world));
	unsigned int prefix_size = world->underlay_family == 6 ? 128 : 32;
	bool result;

	world_run(world, NODE1,
		  "nft 'table inet site { chain nat { "
		  "type nat hook postrouting priority srcnat; masquerade; "
		  "}; }'");
	route(world, "add", to, prefix_size);
	result = host_forges(world, family);
	route(world, "del", to, prefix_size);
	world_run(world, NODE1, "nft delete table inet site");
	return result;
}

/* As a site may have switched it on; it is off by default. */
static void ways_accept(const struct world *world, enum world_host host,
			int value)
{
	world_run(world, host,
		  "for device in all eth0 eth1 lo; do sysctl -qw "
		  "net.ipv6.conf.$device.seg6_enabled=%d "
		  "net.ipv4.conf.$device.accept_source_route=%d "
		  "net.ipv4.conf.$device.accept_local=%d; done",
		  value, value, value);
}

/* Node 2's own address first, and then its lane's. */
static bool reaches_by_way(const struct world *world, uint8_t family,
			   struct probe_actor sender)
{
	struct probe_end to = world_end(world, LANE_A, NODE2, family, PORT);
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.to = to,
		.via = world_underlay(world, NODE2, family, 0).address,
		.bytes = ATTACK_TEXT,
		.size = strlen(ATTACK_TEXT),
	};
	int receiver = attack_listen(
		world_inside(world, LANE_A, NODE2, OWNER_A), SOCK_DGRAM, to);
	bool result;
	int fd;

	assert_true(receiver >= 0);
	ways_accept(world, NODE2, 1);
	fd = probe_open(&sender, &call);
	result = attack_has_come(world, receiver);
	ways_accept(world, NODE2, 0);
	if (fd >= 0)
		close(fd);
	close(receiver);
	return result;
}

static bool host_names_a_way(const struct world *world, uint8_t family)
{
	return reaches_by_way(world, family, world_actor(world, OUTSIDE, 0));
}

static bool other_user_names_a_way(const struct world *world, uint8_t family)
{
	return reaches_by_way(world, family,
			      world_actor(world, NODE1, OTHER_USER));
}

static bool neighbour_names_a_way(const struct world *world, uint8_t family)
{
	return reaches_by_way(world, family,
			      world_actor(world, NODE2, OTHER_USER));
}

const struct attack attacks_by_vxlan[] = {
	{ "5 another user forges VXLAN", other_user_forges, LEVEL_NFT },
	{ "5 another user forges VXLAN by a mapped address",
	  other_user_forges_mapped, LEVEL_NFT },
	{ "5 another job's owner forges VXLAN", other_owner_forges, LEVEL_NFT },
	{ "5 an owner forges another lane's VNI", owner_forges_another,
	  LEVEL_NFT },
	{ "5 another user forges VXLAN on the node itself", neighbour_forges,
	  LEVEL_NFT },
	{ "5 an owner forges VXLAN through its own lane",
	  forges_through_own_lane, LEVEL_NFT },
	{ "7 a node forwards into a lane", node_forwards, LEVEL_NFT },
	{ "7 a lane's address is reached by another device",
	  another_device_takes, LEVEL_NFT },
	{ "7 a node forwards forged VXLAN under its own name", node_masquerades,
	  LEVEL_NFT },
	{ "7 a host outside sends by a way of its own", host_names_a_way,
	  LEVEL_NFT },
	{ "7 another user sends by a way of its own", other_user_names_a_way,
	  LEVEL_NFT },
	{ "7 another user on the node sends by a way of its own",
	  neighbour_names_a_way, LEVEL_NFT },
	{ "8 a host outside forges VXLAN", host_forges, LEVEL_NFT },
	{ "8 a member of another lane forges VXLAN",
	  member_of_other_lane_forges, LEVEL_NFT },
	{ "8 a node's container forges VXLAN with a member's address",
	  container_forges, LEVEL_NFT },
	{ "8 a host of another rail's network forges VXLAN with a member's "
	  "address",
	  host_of_other_rail_forges, LEVEL_NFT },
	{ "8 a host outside forges VXLAN in pieces", host_forges_in_pieces,
	  LEVEL_NFT },
	{ "8 a node's container forges VXLAN in pieces with a member's "
	  "address",
	  container_forges_in_pieces, LEVEL_NFT },
	{ "8 a member of another lane forges VXLAN in pieces through it",
	  member_forges_in_pieces, LEVEL_NFT },
	/* Only a switch can tell them apart. */
	{ "8 a host outside forges VXLAN with a member's address: OPEN",
	  host_forges_as_member, LEVEL_NEVER },
	{ NULL },
};
