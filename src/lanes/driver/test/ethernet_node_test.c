/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes between two nodes: what the contract cannot say of every driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/two_nodes.h"

static void a_lane_of_two_nodes_is_for_its_owner(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_apply_all(&lane);
	nodes_assert_owner_only();
	for (size_t i = 0; i < NODES_COUNT; i++) {
		assert_int_equal(nodes_revoke(i, &lane, true), 0);
		assert_false(netns_holds("ip link show fl%d", NODES_VNI));
		assert_false(netns_holds("nft list table inet fairlead | "
					 "grep fl%d",
					 NODES_VNI));
	}
}

static void a_lane_in_a_namespace_is_seen_there_only(void **state)
{
	const struct place_to_be owners[] = {
		{ .node = 0, .netns = NODES_NETNS_0 "/9", .uid = NODES_OWNER },
		{ .node = 1, .netns = NODES_NETNS_1 "/9", .uid = NODES_OWNER },
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	strcpy(lane.options, "vnis=1,tcs=BEST_EFFORT,isolation=netns");
	nodes_apply_all(&lane);
	for (size_t i = 0; i < NODES_COUNT; i++) {
		nodes_enter(i);
		assert_false(netns_holds("ip link show fl%d", NODES_VNI));
		assert_true(netns_holds("nsenter --net=%s ip link show fl%d",
					owners[i].netns, NODES_VNI));
	}
	assert_int_equal(nodes_connect(4, &owners[0], &owners[1]), 0);
	assert_int_equal(nodes_connect(6, &owners[1], &owners[0]), 0);
	for (size_t i = 0; i < NODES_COUNT; i++) {
		assert_int_equal(nodes_revoke(i, &lane, i == 0), 0);
		assert_true(access(owners[i].netns, F_OK) < 0);
	}
}

static void a_device_without_an_alias_is_the_lane_s_that_has_its_vni(
	void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_enter(0);
	netns_run("ip link add fl%d group 17996 type vxlan id %d dev eth1 "
		  "dstport 4789 udp6zerocsumrx",
		  NODES_VNI, NODES_VNI);
	assert_int_equal(nodes_apply(0, &lane), -EEXIST);
	assert_int_equal(nodes_revoke(0, &lane, false), 0);
	assert_false(netns_holds("ip link show fl%d", NODES_VNI));
	assert_int_equal(nodes_apply(0, &lane), 0);
}

struct seen {
	size_t count;
	struct fairlead_object foreign;
};

static void foreign_take(void *arg, const struct fairlead_object *object)
{
	struct seen *seen = arg;

	if (object->flags & FAIRLEAD_OBJECT_SYSTEM)
		return;
	seen->count++;
	seen->foreign = *object;
}

static void a_foreign_vxlan_device_withholds_its_vni(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);
	struct seen seen = { 0 };

	nodes_enter(0);
	netns_run("ip link add other0 type vxlan id %d dev eth1 dstport 4789 "
		  "udp6zerocsumrx",
		  NODES_VNI);
	netns_run("ip link add flannel.1 type vxlan id 1 dev eth1 "
		  "dstport 8472");
	assert_int_equal(nodes_apply(0, &lane), -EEXIST);
	assert_non_null(strstr(world.error.text, "other0"));
	assert_int_equal(nodes_revoke(0, &lane, false), 0);
	assert_int_equal(ethernet_node_ops.list(world.nodes[0].state,
						foreign_take, &seen,
						&world.error),
			 0);
	assert_int_equal(seen.count, 1);
	assert_string_equal(seen.foreign.device, "other0");
	assert_int_equal(seen.foreign.ids[0], NODES_VNI);
	assert_int_equal(ethernet_node_ops.destroy(world.nodes[0].state,
						   &seen.foreign, false,
						   &world.error),
			 0);
	assert_false(netns_holds("ip link show other0"));
	assert_true(netns_holds("ip link show flannel.1"));
}

static void a_node_reports_that_its_address_has_changed(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);
	_auto_(freep) uint8_t *members =
		nodes_members(&lane, &lane.members_size);

	nodes_enter(0);
	netns_run("ip addr flush dev eth1");
	netns_run("ip addr add 10.204.0.77/16 dev eth1");
	lane.members = members;
	lane.node_count = NODES_COUNT;
	assert_int_equal(ethernet_node_ops.apply(world.nodes[0].state, &lane,
						 false, &world.nodes[0].record,
						 &nodes_warnings, &world.error),
			 -ESTALE);
	assert_non_null(strstr(world.error.text, "10.204.0.77"));
	assert_false(netns_holds("ip link show fl%d", NODES_VNI));
}

static void members_of_another_version_say_who_is_to_be_updated(void **state)
{
	static const char *const who[] = { [1] = "update fairlead on the "
						 "manager's host",
					   [3] = "update fairlead on this "
						 "node" };
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);
	_auto_(freep) uint8_t *members =
		nodes_members(&lane, &lane.members_size);

	nodes_enter(0);
	lane.members = members;
	lane.node_count = NODES_COUNT;
	for (uint8_t version = 1; version <= 3; version += 2) {
		members[0] = version;
		assert_int_equal(
			ethernet_node_ops.apply(world.nodes[0].state, &lane,
						false, &world.nodes[0].record,
						&nodes_warnings, &world.error),
			-EPROTONOSUPPORT);
		assert_non_null(strstr(world.error.text, who[version]));
	}
}

static void the_smallest_mtu_of_the_job_is_everybody_s(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_enter(1);
	netns_run("ip link set eth1 mtu 1400");
	nodes_apply_all(&lane);
	nodes_enter(0);
	assert_true(
		netns_holds("ip link show fl%d | grep 'mtu 1350'", NODES_VNI));
}

static void a_nic_too_small_for_a_lane_is_said(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	nodes_enter(0);
	netns_run("ip link set eth1 mtu 1300");
	assert_int_equal(ethernet_node_ops.apply(world.nodes[0].state, &lane,
						 false, &world.nodes[0].record,
						 &nodes_warnings, &world.error),
			 -ENODEV);
	assert_non_null(strstr(world.error.text, "MTU"));
}

static void a_lane_of_many_nodes_without_members_is_refused(void **state)
{
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	lane.index = 1;
	lane.node_count = NODES_COUNT;
	nodes_enter(1);
	assert_int_equal(ethernet_node_ops.apply(world.nodes[1].state, &lane,
						 false, &world.nodes[1].record,
						 &nodes_warnings, &world.error),
			 -EBADMSG);
	assert_false(netns_holds("ip link show fl%d", NODES_VNI));
}

static void a_lane_is_revoked_whose_nic_is_left_out_by_now(void **state)
{
	const struct fairlead_setting automatic = { .name = "devices",
						    .value = "auto" };
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);
	char line[FAIRLEAD_SUMMARY_MAX + 1];

	nodes_close(0);
	nodes_open(0, &automatic, 1);
	assert_int_equal(nodes_apply(0, &lane), 0);
	for (int i = 2; i < 6; i++) {
		netns_run("ip link add eth0x%d type veth peer name end%d", i,
			  i);
		netns_run("ip addr add 10.205.%d.1/24 dev eth0x%d", i, i);
		netns_run("ip link set eth0x%d up", i);
	}
	ethernet_node_ops.summarize(world.nodes[0].state, line);
	assert_non_null(strstr(line, "; lacks rails for eth1 "));
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
	assert_false(netns_holds("ip link show fl%d", NODES_VNI));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
		TEST(a_lane_of_two_nodes_is_for_its_owner),
		TEST(a_lane_in_a_namespace_is_seen_there_only),
		TEST(a_device_without_an_alias_is_the_lane_s_that_has_its_vni),
		TEST(a_foreign_vxlan_device_withholds_its_vni),
		TEST(a_node_reports_that_its_address_has_changed),
		TEST(members_of_another_version_say_who_is_to_be_updated),
		TEST(the_smallest_mtu_of_the_job_is_everybody_s),
		TEST(a_nic_too_small_for_a_lane_is_said),
		TEST(a_lane_of_many_nodes_without_members_is_refused),
		TEST(a_lane_is_revoked_whose_nic_is_left_out_by_now),
#undef TEST
	};

	return cmocka_run_group_tests(tests, nodes_group_setup, NULL);
}
