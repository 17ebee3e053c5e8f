/* SPDX-License-Identifier: BSD-3-Clause */
/* What the rules are not to touch. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attacks.h"

static const struct probe_end anywhere;

/* In lane A, to its owner on node 2. */
static bool reaches_owner(const struct world *world, int type, uint8_t family,
			  enum world_host from, uid_t uid)
{
	return attack_reaches(world, type,
			      world_inside(world, LANE_A, from, uid), anywhere,
			      world_inside(world, LANE_A, NODE2, OWNER_A),
			      world_end(world, LANE_A, NODE2, family, PORT));
}

static bool owner_sends(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_DGRAM, family, NODE1, OWNER_A);
}

static bool owner_connects(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE1, OWNER_A);
}

static bool owner_sends_on_node(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_DGRAM, family, NODE2, OWNER_A);
}

static bool owner_connects_on_node(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE2, OWNER_A);
}

static bool root_sends(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_DGRAM, family, NODE1, 0);
}

static bool root_connects(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE1, 0);
}

static bool root_connects_on_node(const struct world *world, uint8_t family)
{
	return reaches_owner(world, SOCK_STREAM, family, NODE2, 0);
}

static bool other_lane_works(const struct world *world, uint8_t family)
{
	return attack_reaches(world, SOCK_STREAM,
			      world_inside(world, LANE_B, NODE3, OWNER_B),
			      anywhere,
			      world_inside(world, LANE_B, NODE1, OWNER_B),
			      world_end(world, LANE_B, NODE1, family, PORT));
}

static bool other_users_meet(const struct world *world, int type,
			     struct probe_end at, enum world_host from,
			     enum world_host to)
{
	return attack_reaches(world, type, world_actor(world, from, OTHER_USER),
			      anywhere, world_actor(world, to, OTHER_USER), at);
}

static bool underlay_sends(const struct world *world, uint8_t family)
{
	return other_users_meet(world, SOCK_DGRAM,
				world_underlay(world, NODE2, family, PORT),
				NODE1, NODE2) &&
	       other_users_meet(world, SOCK_DGRAM,
				world_underlay(world, NODE2, family, PORT),
				OUTSIDE, NODE2);
}

static bool underlay_connects(const struct world *world, uint8_t family)
{
	return other_users_meet(world, SOCK_STREAM,
				world_underlay(world, NODE2, family, PORT),
				NODE1, NODE2) &&
	       other_users_meet(world, SOCK_STREAM,
				world_underlay(world, OUTSIDE, family, PORT),
				NODE1, OUTSIDE);
}

static bool loopback_works(const struct world *world, uint8_t family)
{
	struct probe_end at = { .port = PORT };

	assert_true(ip_address_parse(family == 6 ? "::1" : "127.0.0.1",
				     &at.address));
	return other_users_meet(world, SOCK_DGRAM, at, NODE1, NODE1) &&
	       other_users_meet(world, SOCK_STREAM, at, NODE1, NODE1);
}

/* What a closed socket has left to send has no owner any more. */
static bool closed_socket_sends_all(const struct world *world, uint8_t family)
{
	static uint8_t bytes[64 * 1024];
	struct probe_end at = world_end(world, LANE_A, NODE2, family, PORT);
	struct probe_actor sender = world_inside(world, LANE_A, NODE1, OWNER_A);
	struct probe_call call = { .type = SOCK_STREAM, .to = at };
	int listener = attack_listen(
		world_inside(world, LANE_A, NODE2, OWNER_A), SOCK_STREAM, at);
	int fd = probe_open(&sender, &call);
	ssize_t sent, size, received = 0;
	int accepted;

	assert_true(listener >= 0 && fd >= 0);
	world_settle(world);
	accepted = probe_accept(listener);
	assert_true(accepted >= 0);
	sent = send(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	assert_true(sent > 0);
	close(fd);
	do {
		world_settle(world);
		size = probe_receive(accepted, bytes, sizeof(bytes));
		received += size > 0 ? size : 0;
	} while (size > 0);
	close(accepted);
	close(listener);
	return size == 0 && received == sent;
}

/* More than one packet takes: in fragments, each of which is then VXLAN's. */
static bool sends_in_fragments(const struct world *world,
			       struct probe_actor sender,
			       struct probe_actor receiver, struct probe_end at)
{
	static uint8_t sent[4000], received[sizeof(sent) + 1];
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.to = at,
		.bytes = sent,
		.size = sizeof(sent),
	};
	int listener = attack_listen(receiver, SOCK_DGRAM, at);
	int fd;
	ssize_t size;

	assert_true(listener >= 0);
	memset(sent, 'f', sizeof(sent));
	memset(received, 0, sizeof(received));
	fd = probe_open(&sender, &call);
	world_settle(world);
	size = probe_receive(listener, received, sizeof(received));
	if (fd >= 0)
		close(fd);
	close(listener);
	return size == (ssize_t)sizeof(sent) &&
	       memcmp(sent, received, sizeof(sent)) == 0;
}

static bool owner_sends_in_fragments(const struct world *world, uint8_t family)
{
	return sends_in_fragments(
		world, world_inside(world, LANE_A, NODE1, OWNER_A),
		world_inside(world, LANE_A, NODE2, OWNER_A),
		world_end(world, LANE_A, NODE2, family, PORT));
}

static bool underlay_sends_in_fragments(const struct world *world,
					uint8_t family)
{
	return sends_in_fragments(world,
				  world_actor(world, OUTSIDE, OTHER_USER),
				  world_actor(world, NODE2, OTHER_USER),
				  world_underlay(world, NODE2, family, PORT)) &&
	       sends_in_fragments(world,
				  world_actor(world, CONTAINER, OTHER_USER),
				  world_actor(world, NODE2, OTHER_USER),
				  world_underlay(world, NODE2, family, PORT));
}

/* A port at which nobody listens says so at once. */
static bool closed_port_refuses(const struct world *world, uint8_t family)
{
	struct probe_actor owner = world_inside(world, LANE_A, NODE1, OWNER_A);
	struct probe_call call = {
		.type = SOCK_STREAM,
		.to = world_end(world, LANE_A, NODE2, family, PORT),
	};
	int fd = probe_open(&owner, &call);
	int result;

	assert_true(fd >= 0);
	world_settle(world);
	result = probe_connected(fd);
	close(fd);
	return result == -ECONNREFUSED;
}

const struct attack passages[] = {
	{ "the owner sends", owner_sends, LEVEL_NEVER },
	{ "the owner connects", owner_connects, LEVEL_NEVER },
	{ "the owner sends on a node", owner_sends_on_node, LEVEL_NEVER },
	{ "the owner connects on a node", owner_connects_on_node, LEVEL_NEVER },
	{ "root sends", root_sends, LEVEL_NEVER },
	{ "root connects", root_connects, LEVEL_NEVER },
	{ "root connects on a node", root_connects_on_node, LEVEL_NEVER },
	{ "the other lane works", other_lane_works, LEVEL_NEVER },
	{ "others send on the underlay", underlay_sends, LEVEL_NEVER },
	{ "others connect on the underlay", underlay_connects, LEVEL_NEVER },
	{ "the owner sends in fragments", owner_sends_in_fragments,
	  LEVEL_NEVER },
	{ "others send in fragments", underlay_sends_in_fragments,
	  LEVEL_NEVER },
	{ "others have loopback", loopback_works, LEVEL_NEVER },
	{ "a closed socket sends what it has left", closed_socket_sends_all,
	  LEVEL_NEVER },
	{ "a closed port refuses at once", closed_port_refuses, LEVEL_NEVER },
	{ NULL },
};
