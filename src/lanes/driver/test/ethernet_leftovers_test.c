/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What crashes, lost journals and administrators leave on a node: ours is found
 * and goes, others' stays unless it is named.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

static const struct fairlead_setting shaped[] = {
	{ .name = "shaping", .value = "true" },
	{ .name = "link_rate", .value = "10G" },
};

static void start_again(const struct fairlead_setting *more, size_t count)
{
	node_world_close();
	node_world_open(more, count);
}

static const struct fairlead_object *object_of(uint32_t vni)
{
	assert_int_equal(node_world_look(), 0);
	for (size_t i = 0; i < world.object_count; i++) {
		if (world.objects[i].id == vni)
			return &world.objects[i];
	}
	return NULL;
}

static void destroy(uint32_t vni)
{
	const struct fairlead_object *object = object_of(vni);

	assert_non_null(object);
	if (ethernet_node_ops.destroy(world.state, object, false,
				      &world.error) < 0)
		fail_msg("%s", world.error.text);
	assert_null(object_of(vni));
}

/* --- ours --- */

static void a_device_without_an_alias_is_listed_and_destroyed(void **state)
{
	node_world_open_bare();
	netns_run("ip link add fl%d type vxlan id %d dstport 4789 dev eth1",
		  NODE_WORLD_VNI, NODE_WORLD_VNI);
	netns_run("ip link set fl%d group 17996", NODE_WORLD_VNI);
	assert_int_equal(object_of(NODE_WORLD_VNI)->uid, UINT32_MAX);
	destroy(NODE_WORLD_VNI);
	assert_false(netns_holds("ip link show fl%d", NODE_WORLD_VNI));
}

static void what_is_left_of_a_lane_is_listed_and_destroyed(void **state)
{
	struct fairlead_lane lane = node_world_lane(9, "host");

	lane.id_count = 3;
	lane.ids[1] = 4097;
	lane.ids[2] = 4098;
	strcpy(lane.options, "vnis=3,tcs=BEST_EFFORT,isolation=host");
	node_world_open_bare();
	assert_int_equal(ethernet_node_ops.apply(world.state, &lane, false,
						 &world.record, NULL,
						 &world.error),
			 0);
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.object_count, 2); /* and the NIC */
	assert_int_equal(world.device.resources[0].reserved, 1);
	assert_int_equal(object_of(NODE_WORLD_VNI)->id_count, 3);
	destroy(NODE_WORLD_VNI);
	assert_false(netns_holds("ip -o link show type vxlan | grep -q ."));
}

static void rules_without_a_device_go_with_a_start(void **state)
{
	node_world_open_bare();
	node_world_apply(9, "host");
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	assert_true(netns_holds("nft list table inet fairlead | grep fl%d",
				NODE_WORLD_VNI));
	node_world_close();
	node_world_open_bare();
	assert_false(netns_holds("nft list table inet fairlead | grep fl%d",
				 NODE_WORLD_VNI));
}

static void a_class_that_no_device_names_goes_with_a_start(void **state)
{
	node_world_open(shaped, 2);
	node_world_apply(9, "host");
	assert_true(netns_holds("tc class show dev eth1 | grep 464c:10"));
	start_again(shaped, 2);
	assert_true(netns_holds("tc class show dev eth1 | grep 464c:10"));
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	start_again(shaped, 2);
	assert_false(netns_holds("tc class show dev eth1 | grep 464c:10"));
	assert_true(netns_holds("tc qdisc show dev eth1 | grep 464c:"));
}

static void a_class_goes_with_a_lane_whose_device_is_gone(void **state)
{
	const struct fairlead_lane lane = node_world_lane(9, "host");

	node_world_open(shaped, 2);
	node_world_apply(9, "host");
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	assert_int_equal(ethernet_node_ops.revoke(world.state, &lane,
						  &world.record, false, NULL,
						  &world.error),
			 0);
	assert_false(netns_holds("tc class show dev eth1 | grep 464c:10"));
	assert_true(netns_holds("tc qdisc show dev eth1 | grep 464c:"));
}

static void a_class_that_somebody_holds_is_said_at_the_revoke(void **state)
{
	const struct fairlead_lane lane = node_world_lane(9, "host");

	node_world_open(shaped, 2);
	node_world_apply(9, "host");
	netns_run(
		"class=$(tc class show dev eth1 | "
		"sed -n 's/.* \\(464c:10[0-9a-f]*\\) .*/\\1/p' | head -n 1) && "
		"tc filter add dev eth1 parent 464c: protocol ip prio 77 u32 "
		"match u32 0 0 flowid $class");
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	assert_int_equal(ethernet_node_ops.revoke(
				 world.state, &lane, &world.record, false,
				 &node_world_warnings, &world.error),
			 0);
	assert_int_equal(world.warning_count, 1);
	assert_non_null(strstr(world.warning, "stays, with its rate"));
	netns_run("tc filter del dev eth1 parent 464c: prio 77");
	start_again(shaped, 2);
	assert_false(netns_holds("tc class show dev eth1 | grep 464c:10"));
}

static void classes_go_from_a_nic_that_is_not_named_any_more(void **state)
{
	const struct fairlead_setting others[] = {
		shaped[0],
		shaped[1],
		{ .name = "devices", .value = "p1" },
	};

	netns_run("ip addr add 10.205.0.1/16 dev p1");
	node_world_open(shaped, 2);
	node_world_apply(9, "host");
	start_again(others, 3);
	assert_true(netns_holds("tc class show dev eth1 | grep 464c:10"));
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	start_again(others, 3);
	assert_false(netns_holds("tc qdisc show dev eth1 | grep 464c:"));
}

static void shaping_that_is_switched_off_ends_with_the_last_lane(void **state)
{
	node_world_open(shaped, 2);
	node_world_apply(9, "host");
	start_again(NULL, 0);
	assert_true(netns_holds("tc class show dev eth1 | grep 464c:10"));
	destroy(NODE_WORLD_VNI);
	start_again(NULL, 0);
	assert_false(netns_holds("tc qdisc show dev eth1 | grep 464c:"));
}

static void a_namespace_without_a_lane_goes_with_a_start(void **state)
{
	node_world_open_bare();
	node_world_apply(9, "netns");
	node_world_close();
	node_world_open_bare();
	assert_true(netns_holds("nsenter --net=/mnt/netns/9 ip link show fl%d",
				NODE_WORLD_VNI));
	netns_run("nsenter --net=/mnt/netns/9 ip link del fl%d",
		  NODE_WORLD_VNI);
	node_world_close();
	node_world_open_bare();
	assert_false(netns_holds("ls /mnt/netns/9"));
}

/* --- others' --- */

static void foreign_things_stay_until_they_are_named(void **state)
{
	node_world_open_bare();
	node_world_apply(9, "host");
	netns_run("ip link add vx7 type vxlan id 7 dstport 4790 dev eth1");
	netns_run("ip link add vx8 type vxlan id 8 dstport 8472 dev eth1");
	netns_run("ip link add fl4097 type vxlan id 9 dstport 8472 dev eth1");
	netns_run("nft add table inet site");
	netns_run("tc qdisc add dev p1 root handle 7: htb default 1");
	destroy(NODE_WORLD_VNI);
	start_again(NULL, 0);
	assert_true(netns_holds("ip link show vx7"));
	destroy(7);
	assert_false(netns_holds("ip link show vx7"));
	assert_true(netns_holds("ip link show vx8"));
	assert_true(netns_holds("ip link show fl4097"));
	assert_true(netns_holds("nft list table inet site"));
	assert_true(netns_holds("tc qdisc show dev p1 | grep 'htb 7:'"));
}

static void a_lane_s_device_that_was_renamed_as_another_is_listed_twice(
	void **state)
{
	node_world_open_bare();
	node_world_apply(9, "host");
	netns_run("ip link set fl%d down && ip link set fl%d name fl5000",
		  NODE_WORLD_VNI, NODE_WORLD_VNI);
	assert_non_null(object_of(5000));
	assert_non_null(object_of(NODE_WORLD_VNI));
}

static void what_hangs_on_somebody_elses_class_stays(void **state)
{
	node_world_open(shaped, 2);
	node_world_apply(9, "host");
	netns_run("tc class add dev eth1 parent 464c:10 classid 464c:9999 htb "
		  "rate 1mbit quantum 1500");
	netns_run("ip link del fl%d", NODE_WORLD_VNI);
	start_again(NULL, 0);
	assert_true(netns_holds("tc class show dev eth1 | grep 464c:9999"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)
		TEST(a_device_without_an_alias_is_listed_and_destroyed),
		TEST(what_is_left_of_a_lane_is_listed_and_destroyed),
		TEST(rules_without_a_device_go_with_a_start),
		TEST(a_class_that_no_device_names_goes_with_a_start),
		TEST(a_class_goes_with_a_lane_whose_device_is_gone),
		TEST(a_class_that_somebody_holds_is_said_at_the_revoke),
		TEST(classes_go_from_a_nic_that_is_not_named_any_more),
		TEST(shaping_that_is_switched_off_ends_with_the_last_lane),
		TEST(a_namespace_without_a_lane_goes_with_a_start),
		TEST(foreign_things_stay_until_they_are_named),
		TEST(a_lane_s_device_that_was_renamed_as_another_is_listed_twice),
		TEST(what_hangs_on_somebody_elses_class_stays),
#undef TEST
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
