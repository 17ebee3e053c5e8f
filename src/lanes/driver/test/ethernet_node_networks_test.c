/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The site's networks, from which those of lanes are cut, where others have
 * them, too.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/two_nodes.h"

static void lanes_whose_networks_overlap_are_refused(void **state)
{
	struct fairlead_lane lanes[] = { nodes_lane(9, NODES_OWNER, NODES_VNI),
					 nodes_lane(10, NODES_OTHER_USER,
						    NODES_VNI + 1024) };

	/* The two are apart in a pool, and not when it is cut otherwise. */
	nodes_apply_all(&lanes[0]);
	assert_int_equal(nodes_apply(0, &lanes[1]), -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "fl4096"));
	assert_false(netns_holds("ip link show fl%d", NODES_VNI + 1024));
	nodes_assert_owner_only();
}

static void a_clash_with_the_site_s_networks_is_said(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_enter(0);
	netns_run("ip addr add 100.64.3.1/24 dev lo");
	assert_int_equal(nodes_apply(0, &lane), -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "100.64."));
}

/* The node's rules would be for others than the lane's addresses and ports. */
static void lanes_of_other_networks_than_the_node_s_are_refused(void **state)
{
	static const struct fairlead_setting others[][1] = {
		{ { .name = "ipv6_network", .value = "fd99:1::/32" } },
		{ { .name = "ipv4_network", .value = "10.64.0.0/10" } },
		{ { .name = "ipv4_network", .value = "none" } },
		{ { .name = "port", .value = "5789" } },
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		nodes_close(0);
		nodes_open(0, others[i], 1);
		assert_int_equal(nodes_apply(0, &lane), -ESTALE);
		assert_non_null(strstr(world.error.text, others[i][0].name));
		assert_false(netns_holds("ip link show fl%d", NODES_VNI));
	}
	nodes_close(0);
	nodes_open(0, NULL, 0);
	nodes_apply_all(&lane);
	nodes_assert_owner_only();
}

static int open_with_clash(size_t i)
{
	const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "namespaces", .value = NODES_NETNS_0 },
		{ .name = "bpf_pins", .value = "/mnt/bpf0" },
	};

	nodes_close(i);
	netns_run("ip addr add 100.64.200.1/24 dev eth1");
	return ethernet_node_ops.open(settings, 3, &world.nodes[i].state,
				      &world.error);
}

static void a_start_takes_no_network_that_is_the_site_s(void **state)
{
	assert_int_equal(open_with_clash(0), -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "100.64.200.1"));
	assert_false(netns_holds("nft list table inet fairlead"));
	assert_false(netns_holds("find /mnt/bpf0 -mindepth 1 -type d | "
				 "grep -q ."));
}

static void a_start_with_a_lane_keeps_its_rules_whatever_the_site_has(
	void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_apply_all(&lane);
	nodes_enter(0);
	assert_int_equal(open_with_clash(0), 0);
	nodes_assert_owner_only();
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
}

static void a_start_with_other_networks_than_a_lane_s_is_refused(void **state)
{
	const struct fairlead_setting settings[] = {
		{ .name = "devices", .value = "eth1" },
		{ .name = "bpf_pins", .value = "/mnt/bpf0" },
		{ .name = "ipv4_network", .value = "172.16.0.0/12" },
		{ .name = "namespaces", .value = NODES_NETNS_0 },
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);
	void *node;

	nodes_apply_all(&lane);
	nodes_close(0);
	assert_int_equal(ethernet_node_ops.open(settings, 4, &node,
						&world.error),
			 -EADDRINUSE);
	assert_non_null(strstr(world.error.text, "fl4096"));
	assert_non_null(strstr(world.error.text, "ipv4_network"));
	nodes_open(0, NULL, 0);
	nodes_assert_owner_only();
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
		TEST(lanes_whose_networks_overlap_are_refused),
		TEST(a_clash_with_the_site_s_networks_is_said),
		TEST(lanes_of_other_networks_than_the_node_s_are_refused),
		TEST(a_start_takes_no_network_that_is_the_site_s),
		TEST(a_start_with_a_lane_keeps_its_rules_whatever_the_site_has),
		TEST(a_start_with_other_networks_than_a_lane_s_is_refused),
#undef TEST
	};

	return cmocka_run_group_tests(tests, nodes_group_setup, NULL);
}
