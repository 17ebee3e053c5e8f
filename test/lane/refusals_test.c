/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Usage: refusals_test FAMILY: what VXLAN goes over, 4 or 6. What the rules
 * answer to refused senders, count, and do to packets that pass.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "attacks.h"

#define PACKET_MAX 2048

static struct world *world;

static const struct probe_end anywhere;

/* --- refusals --- */

static void assert_refused(enum world_host host, uint8_t family)
{
	struct probe_actor other = world_actor(world, host, OTHER_USER);
	struct probe_call call = {
		.type = SOCK_STREAM,
		.to = world_end(world, LANE_A, NODE2, family, PORT),
	};
	int listener = attack_listen(world_actor(world, NODE2, OWNER_A),
				     SOCK_STREAM, call.to);
	int fd = probe_open(&other, &call);

	assert_true(listener >= 0);
	world_settle(world);
	/* At once, or when it looks. */
	if (fd >= 0)
		assert_int_equal(probe_connected(fd), -ECONNREFUSED);
	else
		assert_int_equal(fd, -ECONNREFUSED);
	close(fd);
	close(listener);
	call.type = SOCK_DGRAM;
	call.bytes = "x";
	call.size = 1;
	assert_int_equal(probe_open(&other, &call), -EPERM);
}

static void another_user_is_refused_at_once(void **state)
{
	assert_refused(NODE1, 4);
	assert_refused(NODE1, 6);
}

static void another_user_on_the_node_is_refused_at_once(void **state)
{
	assert_refused(NODE2, 4);
	assert_refused(NODE2, 6);
}

static void a_forger_is_refused_at_once(void **state)
{
	struct probe_actor owner = world_actor(world, NODE1, OWNER_A);
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.to = world_underlay(world, NODE2, world->underlay_family,
				     world_port(world)),
		.bytes = "x",
		.size = 1,
	};

	assert_int_equal(probe_open(&owner, &call), -EPERM);
	call.to.port = ethernet_port(ETHERNET_PORT, ETHERNET_RAILS_MAX - 1);
	assert_int_equal(probe_open(&owner, &call), -EPERM);
}

static void a_port_of_no_rail_is_anybody_s(void **state)
{
	const uint16_t ports[] = { ETHERNET_PORT_ROCE,
				   ethernet_port(ETHERNET_PORT,
						 ETHERNET_RAILS_MAX) };

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		struct probe_end to = world_underlay(
			world, NODE2, world->underlay_family, ports[i]);

		assert_true(attack_reaches(
			world, SOCK_DGRAM,
			world_actor(world, NODE1, OTHER_USER), anywhere,
			world_actor(world, NODE2, OTHER_USER), to));
	}
}

/* What root of node 1 makes by hand, into lane A and as from that address. */
static bool comes_from(const char *source)
{
	struct probe_actor root = world_actor(world, NODE1, 0);
	struct probe_forgery forgery = {
		.vni = world_vni(LANE_A),
		.from.port = PORT,
		.text = ATTACK_TEXT,
	};
	uint8_t packet[PROBE_FORGED_MAX];
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.to = world_underlay(world, NODE2, world->underlay_family,
				     world_port(world)),
		.bytes = packet,
	};
	struct ethernet_names names;
	int receiver, fd;
	bool result;

	assert_true(ip_address_parse(source, &forgery.from.address));
	forgery.to = world_end(world, LANE_A, NODE2,
			       forgery.from.address.family, PORT);
	world_names(world, LANE_A, NODE2, &names);
	memcpy(forgery.to_mac, names.mac, sizeof(names.mac));
	call.size = probe_forge(&forgery, packet);
	receiver = attack_listen(world_actor(world, NODE2, OWNER_A), SOCK_DGRAM,
				 forgery.to);
	assert_true(receiver >= 0);
	fd = probe_open(&root, &call);
	assert_true(fd >= 0);
	result = attack_has_come(world, receiver);
	close(fd);
	close(receiver);
	return result;
}

static void what_comes_by_a_lane_is_of_lanes(void **state)
{
	static const char *const outside[] = { "10.99.0.9", "fd99::9" };
	char inside[IP_ADDRESS_TEXT_MAX];

	for (size_t i = 0; i < 2; i++) {
		struct probe_end member =
			world_end(world, LANE_A, NODE1, i == 0 ? 4 : 6, PORT);

		ip_address_format(&member.address, inside);
		world_enforce(world, LEVEL_NONE);
		assert_true(comes_from(outside[i]));
		world_enforce(world, LEVEL_NFT);
		assert_false(comes_from(outside[i]));
		assert_true(comes_from(inside));
	}
}

/* --- counters --- */

static const struct attack *attack_find(const struct attack *list,
					const char *name)
{
	for (; list->name != NULL; list++) {
		if (strcmp(list->name, name) == 0)
			return list;
	}
	fail_msg("there is no attack '%s'", name);
	return NULL;
}

/* What this attack adds on this node. */
static struct rules_counters added(const struct attack *list, const char *name,
				   enum world_host host)
{
	const struct attack *attack = attack_find(list, name);

	world_enforce(world, LEVEL_NFT);
	assert_false(attack->works(world, 4));
	return world_counters(world, host);
}

static void what_is_refused_is_counted(void **state)
{
	struct rules_counters counters;

	counters = added(attacks_by_socket, "1 another user sends into a lane",
			 NODE1);
	assert_int_equal(counters.refused_send, 1);
	assert_int_equal(counters.refused_raw, 0);
	counters =
		added(attacks_by_vxlan, "5 another user forges VXLAN", NODE1);
	assert_int_equal(counters.refused_send, 0);
	assert_int_equal(counters.refused_raw, 1);
	counters =
		added(attacks_by_vxlan, "8 a host outside forges VXLAN", NODE2);
	assert_int_equal(counters.refused_host, 1);
	assert_int_equal(counters.refused_way, 0);
	counters =
		added(attacks_by_vxlan, "7 a node forwards into a lane", NODE1);
	assert_int_equal(counters.refused_host, 0);
	assert_int_equal(counters.refused_way, 1);
}

/* --- classes --- */

/* DSCP of the outer and of the inner header. */
struct seen {
	uint8_t outer, inner;
};

static uint8_t dscp_of(const uint8_t *header)
{
	if (header[0] >> 4 == 6)
		return (uint8_t)((header[0] << 4 | header[1] >> 4) & 0xff) >> 2;
	return header[1] >> 2;
}

/* Of VXLAN that comes to node 2, when the owner sends with this DSCP. */
static struct seen send_with(uint8_t dscp, uint8_t family)
{
	struct probe_actor owner = world_inside(world, LANE_A, NODE1, OWNER_A);
	struct probe_call call = {
		.type = SOCK_DGRAM,
		.to = world_end(world, LANE_A, NODE2, family, PORT),
		.tos = (uint8_t)(dscp << 2),
		.bytes = "x",
		.size = 1,
	};
	size_t header_size = world->underlay_family == 6 ? 40 : 20;
	uint8_t packet[PACKET_MAX];
	int capture = world_capture(world, NODE2);
	int fd = probe_open(&owner, &call);

	assert_true(fd >= 0);
	world_settle(world);
	assert_true(probe_receive(capture, packet, sizeof(packet)) > 0);
	close(capture);
	close(fd);
	/* UDP's header, VXLAN's, Ethernet's. */
	return (struct seen){ dscp_of(packet),
			      dscp_of(packet + header_size + 8 + 8 + 14) };
}

static void a_class_of_the_lane_is_kept(void **state)
{
	for (uint8_t family = 4; family <= 6; family += 2) {
		assert_int_equal(send_with(DSCP_LOW_LATENCY, family).outer,
				 DSCP_LOW_LATENCY);
		assert_int_equal(send_with(0, family).outer, 0);
	}
}

static void another_class_becomes_the_lane_s_first(void **state)
{
	struct seen seen;

	for (uint8_t family = 4; family <= 6; family += 2) {
		seen = send_with(DSCP_DEDICATED_ACCESS, family);
		assert_int_equal(seen.outer, DSCP_LOW_LATENCY);
		assert_int_equal(seen.inner, DSCP_DEDICATED_ACCESS);
		assert_int_equal(send_with(1, family).outer, DSCP_LOW_LATENCY);
	}
}

static void without_rules_any_class_passes(void **state)
{
	world_enforce(world, LEVEL_NONE);
	assert_int_equal(send_with(DSCP_DEDICATED_ACCESS, 4).outer,
			 DSCP_DEDICATED_ACCESS);
	assert_int_equal(send_with(DSCP_DEDICATED_ACCESS, 6).outer,
			 DSCP_DEDICATED_ACCESS);
}

/* A table of the test's counts VXLAN that leaves, by its priority. */
static void a_lane_s_packets_have_the_priority_of_their_class(void **state)
{
	static const char watch[] =
		"nft 'table inet watch { chain leaving { type filter hook "
		"postrouting priority 0; udp dport 4789 jump seen; }; "
		"chain seen { meta priority 464c:8010 counter name best "
		"return; "
		"meta priority 464c:4010 counter name low return; "
		"counter name other; }; counter best { }; counter low { }; "
		"counter other { }; }'";

	world_run(world, NODE1, "%s", watch);
	send_with(0, 4);
	world_run(world, NODE1,
		  "nft list counter inet watch best | grep -q 'packets [1-9]' "
		  "&& nft list counter inet watch low | grep -q 'packets 0 '");
	send_with(DSCP_LOW_LATENCY, 6);
	send_with(DSCP_DEDICATED_ACCESS, 4);
	world_run(
		world, NODE1,
		"nft list counter inet watch low | grep -q 'packets [2-9]' && "
		"nft list counter inet watch other | grep -q 'packets 0 ' "
		"&& nft delete table inet watch");
}

/* Nothing of its packets but VXLAN is seen by the node's rules. */
static void a_lane_in_namespaces_has_classes_and_priority_too(void **state)
{
	world_enforce(world, LEVEL_NETNS);
	a_class_of_the_lane_is_kept(state);
	another_class_becomes_the_lane_s_first(state);
	a_lane_s_packets_have_the_priority_of_their_class(state);
}

/* --- change --- */

static void a_connection_outlives_a_new_table(void **state)
{
	struct probe_actor owner = world_actor(world, NODE1, OWNER_A);
	struct probe_call call = {
		.type = SOCK_STREAM,
		.to = world_end(world, LANE_A, NODE2, 4, PORT),
	};
	int listener = attack_listen(world_actor(world, NODE2, OWNER_A),
				     SOCK_STREAM, call.to);
	int fd = probe_open(&owner, &call);
	int accepted;
	char byte;

	world_settle(world);
	accepted = probe_accept(listener);
	assert_true(accepted >= 0);
	world_enforce(world, LEVEL_NFT);
	assert_int_equal(send(fd, "x", 1, MSG_DONTWAIT), 1);
	world_settle(world);
	assert_int_equal(probe_receive(accepted, &byte, 1), 1);
	close(accepted);
	close(fd);
	close(listener);
}

static void a_device_without_rules_is_nobody_s(void **state)
{
	const struct attack *works =
		attack_find(passages, "the other lane works");

	assert_true(works->works(world, 4));
	world_write_rules(world, NODE1, LANE_B);
	assert_false(works->works(world, 4));
	assert_false(works->works(world, 6));
	world_write_rules(world, NODE1, LANE_COUNT);
	assert_true(works->works(world, 4));
}

static int enforce(void **state)
{
	world_enforce(world, LEVEL_NFT);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(another_user_is_refused_at_once,
				       enforce),
		cmocka_unit_test_setup(
			another_user_on_the_node_is_refused_at_once, enforce),
		cmocka_unit_test_setup(a_forger_is_refused_at_once, enforce),
		cmocka_unit_test_setup(a_port_of_no_rail_is_anybody_s, enforce),
		cmocka_unit_test_setup(what_comes_by_a_lane_is_of_lanes,
				       enforce),
		cmocka_unit_test_setup(what_is_refused_is_counted, enforce),
		cmocka_unit_test_setup(a_class_of_the_lane_is_kept, enforce),
		cmocka_unit_test_setup(another_class_becomes_the_lane_s_first,
				       enforce),
		cmocka_unit_test_setup(without_rules_any_class_passes, enforce),
		cmocka_unit_test_setup(
			a_lane_s_packets_have_the_priority_of_their_class,
			enforce),
		cmocka_unit_test_setup(
			a_lane_in_namespaces_has_classes_and_priority_too,
			enforce),
		cmocka_unit_test_setup(a_connection_outlives_a_new_table,
				       enforce),
		cmocka_unit_test_setup(a_device_without_rules_is_nobody_s,
				       enforce),
	};
	int result;

	if (argc != 2) {
		fprintf(stderr, "usage: refusals_test FAMILY\n");
		return 2;
	}
	world = world_create(strcmp(argv[1], "6") == 0 ? 6 : 4);
	if (world == NULL)
		return 77;
	result = cmocka_run_group_tests(tests, NULL, NULL);
	world_destroy(world);
	return result;
}
