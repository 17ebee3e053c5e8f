/* SPDX-License-Identifier: BSD-3-Clause */
#include "attacks.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char text[] = ATTACK_TEXT;
static const struct probe_end anywhere;

/* --- for all --- */

int attack_listen(struct probe_actor actor, int type, struct probe_end at)
{
	struct probe_call call = {
		.type = type,
		.is_listening = type == SOCK_STREAM,
		.from = at,
	};

	return probe_open(&actor, &call);
}

bool attack_has_come(const struct world *world, int receiver)
{
	char bytes[sizeof(text)];

	world_settle(world);
	return probe_receive(receiver, bytes, sizeof(bytes)) ==
		       (ssize_t)strlen(text) &&
	       memcmp(bytes, text, strlen(text)) == 0;
}

static bool sends(const struct world *world, struct probe_actor actor,
		  struct probe_end from, struct probe_end to, int receiver)
{
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.from = from,
		.to = to,
		.bytes = text,
		.size = strlen(text),
	};
	int fd = probe_open(&actor, &call);
	bool result = attack_has_come(world, receiver);

	if (fd >= 0)
		close(fd);
	return result;
}

static bool connects(const struct world *world, struct probe_actor actor,
		     struct probe_end from, struct probe_end to)
{
	struct probe_call call = {
		.type = SOCK_STREAM,
		.from = from,
		.to = to,
	};
	int fd = probe_open(&actor, &call);
	bool result;

	world_settle(world);
	if (fd < 0)
		return false;
	result = probe_connected(fd) == 1;
	close(fd);
	return result;
}

bool attack_reaches(const struct world *world, int type,
		    struct probe_actor sender, struct probe_end from,
		    struct probe_actor receiver, struct probe_end to)
{
	int fd = attack_listen(receiver, type, to);
	bool result;

	assert_true(fd >= 0);
	result = type == SOCK_STREAM ? connects(world, sender, from, to)
				     : sends(world, sender, from, to, fd);
	close(fd);
	return result;
}

void attack_lend(const struct world *world, enum world_host host,
		 const char *verb, const struct ip_address *address)
{
	char name[IP_ADDRESS_TEXT_MAX];

	ip_address_format(address, name);
	world_run(world, host, "ip address %s dev lo %s%s", verb, name,
		  address->family == 6 ? "/128 nodad" : "/32");
}

/* Through lane A from node 1 to its owner on node 2. */
static bool reaches_owner(const struct world *world, int type, uint8_t family,
			  enum world_host from, uid_t uid)
{
	return attack_reaches(world, type, world_actor(world, from, uid),
			      anywhere,
			      world_inside(world, LANE_A, NODE2, OWNER_A),
			      world_end(world, LANE_A, NODE2, family, PORT));
}

/* --- 1, 2: sending --- */

static bool other_user_sends(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_DGRAM, family, NODE1, OTHER_USER);
}

static bool other_user_connects(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE1, OTHER_USER);
}

static bool other_owner_sends(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_DGRAM, family, NODE1, OWNER_B);
}

static bool other_owner_connects(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE1, OWNER_B);
}

static bool neighbour_sends(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_DGRAM, family, NODE2, OTHER_USER);
}

static bool neighbour_connects(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE2, OTHER_USER);
}

/* Both of its jobs' addresses are on node 1, so loopback takes it there. */
static bool other_owner_crosses(const struct world *world, uint8_t family)
{
	return attack_reaches(world, SOCK_DGRAM,
			      world_inside(world, LANE_B, NODE1, OWNER_B),
			      world_end(world, LANE_B, NODE1, family, 0),
			      world_inside(world, LANE_A, NODE1, OWNER_A),
			      world_end(world, LANE_A, NODE1, family, PORT));
}

/* --- 3: another's source --- */

static bool source_in_own_lane(const struct world *world, uint8_t family)
{
	return attack_reaches(world, SOCK_DGRAM,
			      world_inside(world, LANE_B, NODE1, OWNER_B),
			      world_end(world, LANE_A, NODE1, family, 0),
			      world_inside(world, LANE_B, NODE3, OWNER_B),
			      world_end(world, LANE_B, NODE3, family, PORT));
}

static bool source_on_underlay(const struct world *world, uint8_t family)
{
	return attack_reaches(world, SOCK_DGRAM,
			      world_actor(world, NODE1, OTHER_USER),
			      world_end(world, LANE_A, NODE1, family, 0),
			      world_actor(world, NODE2, 0),
			      world_underlay(world, NODE2, family, PORT));
}

static bool source_on_loopback(const struct world *world, uint8_t family)
{
	return attack_reaches(world, SOCK_DGRAM,
			      world_actor(world, NODE2, OTHER_USER),
			      world_end(world, LANE_A, NODE2, family, 0),
			      world_actor(world, NODE2, 0),
			      world_underlay(world, NODE2, family, PORT));
}

/* A host that gives itself an address of the lane. */
static bool source_from_outside(const struct world *world, uint8_t family)
{
	struct probe_end source = world_end(world, LANE_A, NODE2, family, 0);
	bool result;

	attack_lend(world, OUTSIDE, "add", &source.address);
	result = attack_reaches(world, SOCK_DGRAM,
				world_actor(world, OUTSIDE, 0), source,
				world_actor(world, NODE1, 0),
				world_underlay(world, NODE1, family, PORT));
	attack_lend(world, OUTSIDE, "del", &source.address);
	return result;
}

/* --- 4: listening --- */

static struct probe_end wildcard(uint8_t family)
{
	return (struct probe_end){ .address.family = family, .port = PORT };
}

/* The owner, from this node, meets another user on node 2. */
static bool squats(const struct world *world, int type, struct probe_end at,
		   uint8_t family, enum world_host from)
{
	struct probe_actor owner = world_inside(world, LANE_A, from, OWNER_A);
	struct probe_end to = world_end(world, LANE_A, NODE2, family, PORT);
	int fd = attack_listen(world_actor(world, NODE2, OTHER_USER), type, at);
	bool result;

	if (fd < 0)
		return false;
	result = type == SOCK_STREAM ? connects(world, owner, anywhere, to)
				     : sends(world, owner, anywhere, to, fd);
	close(fd);
	return result;
}

static bool listens_at_address(const struct world *world, uint8_t family)
{
	return squats(world, SOCK_STREAM,
		      world_end(world, LANE_A, NODE2, family, PORT), family,
		      NODE1);
}

static bool listens_everywhere(const struct world *world, uint8_t family)
{
	return squats(world, SOCK_STREAM, wildcard(family), family, NODE1);
}

static bool listens_on_loopback(const struct world *world, uint8_t family)
{
	return squats(world, SOCK_STREAM, wildcard(family), family, NODE2);
}

static bool squats_at_address(const struct world *world, uint8_t family)
{
	return squats(world, SOCK_DGRAM,
		      world_end(world, LANE_A, NODE2, family, PORT), family,
		      NODE1);
}

static bool squats_everywhere(const struct world *world, uint8_t family)
{
	return squats(world, SOCK_DGRAM, wildcard(family), family, NODE1);
}

/* --- 6: root's services --- */

static bool root_is_reached(const struct world *world, uint8_t family)
{
	struct probe_end all = { .address.family = family, .port = PORT };
	int fd = attack_listen(world_actor(world, NODE2, 0), SOCK_STREAM, all);
	bool result;

	assert_true(fd >= 0);
	result = connects(world, world_inside(world, LANE_A, NODE1, OWNER_A),
			  anywhere,
			  world_end(world, LANE_A, NODE2, family, PORT));
	close(fd);
	return result;
}

const struct attack attacks_by_socket[] = {
	{ "1 another user sends into a lane", other_user_sends, LEVEL_NFT },
	{ "1 another user connects into a lane", other_user_connects,
	  LEVEL_NFT },
	{ "1 another job's owner sends into a lane", other_owner_sends,
	  LEVEL_NFT },
	{ "1 another job's owner connects into a lane", other_owner_connects,
	  LEVEL_NFT },
	{ "2 another user sends on the node itself", neighbour_sends,
	  LEVEL_NFT },
	{ "2 another user connects on the node itself", neighbour_connects,
	  LEVEL_NFT },
	{ "2 another job's owner sends from lane to lane on a node",
	  other_owner_crosses, LEVEL_NFT },
	{ "3 an owner has another lane's source in its own lane",
	  source_in_own_lane, LEVEL_NFT },
	{ "3 another user has a lane's source on the underlay",
	  source_on_underlay, LEVEL_NFT },
	{ "3 another user has a lane's source on loopback", source_on_loopback,
	  LEVEL_NFT },
	{ "3 a host outside has a lane's source", source_from_outside,
	  LEVEL_NFT },
	{ "4 another user listens at a lane's address", listens_at_address,
	  LEVEL_NFT },
	{ "4 another user listens at all addresses", listens_everywhere,
	  LEVEL_NFT },
	{ "4 another user listens on the node itself", listens_on_loopback,
	  LEVEL_NFT },
	{ "4u another user takes a UDP port of a lane's address",
	  squats_at_address, LEVEL_GATE },
	{ "4u another user takes a UDP port of all addresses",
	  squats_everywhere, LEVEL_GATE },
	{ "6 an owner reaches what root offers at all addresses",
	  root_is_reached, LEVEL_GATE },
	{ NULL },
};
