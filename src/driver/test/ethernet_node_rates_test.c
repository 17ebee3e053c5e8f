/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes' classes in HTB, and packets in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "driver/ethernet/ethernet.h"
#include "driver/test/netns.h"
#include "driver/test/two_nodes.h"

static void rates_are_classes_where_the_node_shapes(void **state)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	strcpy(lane.options,
	       "vnis=1,tcs=LOW_LATENCY,reserved=100M,max=2G,isolation=host");
	nodes_close(0);
	nodes_open(0, shaping, 2);
	nodes_apply_all(&lane);
	/* The other node does not shape, and says so. */
	assert_int_equal(world.warning_count, 1);
	assert_non_null(strstr(world.warning, "shaping is off"));
	nodes_enter(0);
	assert_true(netns_holds("tc class show dev eth1 | "
				"grep 'rate 100Mbit ceil 2Gbit'"));
	nodes_assert_owner_only();
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
	assert_false(netns_holds("tc class show dev eth1 | grep 'ceil 2Gbit'"));
}

static void a_class_goes_from_a_nic_that_carries_no_lanes_any_more(void **state)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};
	const struct fairlead_setting other = { .name = "devices",
						.value = "eth2" };
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	strcpy(lane.options, "vnis=1,tcs=LOW_LATENCY,max=2G,isolation=host");
	nodes_close(0);
	nodes_open(0, shaping, 2);
	assert_int_equal(nodes_apply(0, &lane), 0);
	assert_true(netns_holds("tc class show dev eth1 | grep 'ceil 2Gbit'"));
	nodes_close(0);
	nodes_open(0, &other, 1);
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
	assert_false(netns_holds("ip link show fl%d", NODES_VNI));
	assert_false(netns_holds("tc class show dev eth1 | grep 'ceil 2Gbit'"));
}

static void what_cannot_be_reserved_is_a_warning(void **state)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "1G" },
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	strcpy(lane.options,
	       "vnis=1,tcs=LOW_LATENCY,reserved=2G,isolation=host");
	nodes_close(0);
	nodes_open(0, shaping, 2);
	assert_int_equal(nodes_apply(0, &lane), 0);
	assert_int_equal(world.warning_count, 1);
	assert_non_null(strstr(world.warning, "left to reserve"));
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
		TEST(rates_are_classes_where_the_node_shapes),
		TEST(a_class_goes_from_a_nic_that_carries_no_lanes_any_more),
		TEST(what_cannot_be_reserved_is_a_warning),
#undef TEST
	};

	return cmocka_run_group_tests(tests, nodes_group_setup, NULL);
}
