/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rules and gates of a node with lanes: when somebody flushes or changes them,
 * and when others have some of their own.
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

static void object_drop(void *arg, const struct fairlead_object *object)
{
	size_t *count = arg;

	(*count)++;
}

static void rules_that_somebody_flushed_come_back_with_a_look(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);
	size_t count = 0;

	nodes_apply_all(&lane);
	nodes_enter(0);
	netns_run("nft flush ruleset");
	assert_int_equal(ethernet_node_ops.list(world.nodes[0].state,
						object_drop, &count,
						&world.error),
			 0);
	assert_int_equal(count, 2);
	assert_true(netns_holds("nft list table inet fairlead | grep fl%d",
				NODES_VNI));
	nodes_assert_owner_only();
}

static void rules_that_somebody_flushed_come_back_when_they_are_tended(
	void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_apply_all(&lane);
	nodes_enter(0);
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	/* Lanes that come and go are no change of the rules. */
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
	assert_int_equal(nodes_apply(0, &lane), 0);
	nodes_enter(0);
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	netns_run("nft flush ruleset");
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 1);
	assert_non_null(strstr(world.error.text, "inet fairlead"));
	nodes_assert_owner_only();
	nodes_enter(0);
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	/* Neither a lane nor somebody else's rules are a change of ours. */
	netns_run("nft add table inet other");
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 0);
	netns_run("nft flush table inet fairlead");
	assert_int_equal(
		ethernet_node_ops.tend(world.nodes[0].state, &world.error), 1);
	nodes_assert_owner_only();
	nodes_enter(0);
	netns_run("nft delete table inet fairlead");
	netns_run("nft add table inet fairlead");
	assert_int_equal(ethernet_node_ops.tend(world.nodes[0].state,
						&world.error),
			 -EEXIST);
	netns_run("nft delete table inet fairlead");
}

static void a_start_writes_rules_for_what_is_there(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_apply_all(&lane);
	nodes_close(0);
	netns_run("nft flush ruleset");
	nodes_open(0, NULL, 0);
	nodes_assert_owner_only();
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
}

static void an_apply_after_a_flush_brings_all_rules_back(void **state)
{
	struct fairlead_lane lanes[] = { nodes_lane(9, NODES_OWNER, NODES_VNI),
					 nodes_lane(10, NODES_OTHER_USER,
						    NODES_VNI + 1) };

	nodes_apply_all(&lanes[0]);
	nodes_enter(0);
	netns_run("nft flush ruleset");
	assert_int_equal(nodes_apply(0, &lanes[1]), 0);
	assert_true(netns_holds("nft list table inet fairlead | grep fl%d",
				NODES_VNI));
	nodes_assert_owner_only();
}

static void rules_of_a_device_that_somebody_deleted_go_by_the_record(
	void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_apply_all(&lane);
	nodes_enter(0);
	netns_run("ip link del fl%d", NODES_VNI);
	assert_true(netns_holds("nft list table inet fairlead | grep fl%d",
				NODES_VNI));
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
	assert_false(netns_holds("nft list table inet fairlead | grep fl%d",
				 NODES_VNI));
}

/* Rules that stay would let its owner into the next lane that has its NODES_VNI. */
static void rules_of_a_device_that_somebody_changed_go_with_it(void **state)
{
	static const char *const changes[] = {
		"ip link set fl4096 alias other",
		"ip link set fl4096 down",
		"ip -4 addr flush dev fl4096",
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		nodes_apply_all(&lane);
		nodes_enter(0);
		netns_run("%s", changes[i]);
		assert_int_equal(nodes_revoke(0, &lane, true), 0);
		assert_false(netns_holds("nft list table inet fairlead | "
					 "grep -e fl%d -e %d",
					 NODES_VNI, NODES_OWNER));
		assert_int_equal(nodes_revoke(1, &lane, true), 0);
		lane.grant_id++;
	}
}

static void a_foreign_table_is_not_touched(void **state)
{
	const struct fairlead_setting none[] = {
		{ .name = "bpf_pins", .value = "/mnt/bpf0" },
	};
	void *node;

	nodes_close(0);
	netns_run("nft flush ruleset");
	netns_run("nft add table inet fairlead");
	assert_int_equal(ethernet_node_ops.open(none, 1, &node, &world.error),
			 -EEXIST);
	assert_non_null(strstr(world.error.text, "inet fairlead"));
	netns_run("nft delete table inet fairlead");
	nodes_open(0, NULL, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
		TEST(rules_that_somebody_flushed_come_back_with_a_look),
		TEST(rules_that_somebody_flushed_come_back_when_they_are_tended),
		TEST(a_start_writes_rules_for_what_is_there),
		TEST(an_apply_after_a_flush_brings_all_rules_back),
		TEST(rules_of_a_device_that_somebody_deleted_go_by_the_record),
		TEST(rules_of_a_device_that_somebody_changed_go_with_it),
		TEST(a_foreign_table_is_not_touched),
#undef TEST
	};

	return cmocka_run_group_tests(tests, nodes_group_setup, NULL);
}
