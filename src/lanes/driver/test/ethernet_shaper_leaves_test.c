/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of several traffic classes, which have a leaf for each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/shaper_world.h"

#define BOTH (1u << ETHERNET_LOW_LATENCY | 1u << ETHERNET_BEST_EFFORT)
#define LOW  0x4010u /* leaves of 464c:10 */
#define BEST 0x8010u

static int add_with_leaves(void)
{
	const struct shaper_class shaped = { .minor = 0x10,
					     .reserved_mbit = 100,
					     .max_mbit = 200,
					     .classes = BOTH };

	return shaper_add(world.netlink, &world.nic, &shaped, &world.error);
}

static void a_lane_with_several_classes_has_a_leaf_for_each(void **state)
{
	struct listing listing;
	struct tc_item leaf;

	world_start(1000);
	assert_int_equal(add_with_leaves(), 0);
	world_check_class(0x10, 100, 200);
	world_check_class(LOW, 50, 200);
	world_check_class(BEST, 50, 200);
	assert_true(world_class(LOW, &leaf));
	assert_int_equal(leaf.parent, SHAPER_PRIORITY(0x10));
	assert_int_equal(leaf.priority, ETHERNET_LOW_LATENCY);
	world_send("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(LOW), 3);
	world_send("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(BEST), 4);
	assert_int_equal(world_packets(LOW), 3);
	assert_int_equal(world_packets(BEST), 4);
	assert_int_equal(world_packets(0x10), 7);
	/* It is one lane, and 100 Mbit/s are reserved. */
	listing = world_list();
	assert_int_equal(listing.count, 1);
	assert_int_equal(listing.classes[0].classes, BOTH);
	assert_int_equal(world_add(0x1f, 801, 0), -ENOSPC);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_false(world_class(LOW, &leaf) || world_class(BEST, &leaf) ||
		     world_class(0x10, &leaf));
}

static void a_lane_whose_leaf_cannot_be_made_has_no_class(void **state)
{
	struct tc_item item;

	world_start(1000);
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:8010 htb "
		  "rate 1mbit");
	assert_int_equal(world_choose(NULL, 0), 0x11);
	assert_int_equal(add_with_leaves(), -EEXIST);
	assert_non_null(strstr(world.error.text, "464c:8010"));
	assert_false(world_class(LOW, &item) || world_class(0x10, &item));
	world_check_class(BEST, 1, 1);
}

static void a_lane_stays_while_something_of_others_hangs_on_a_leaf(void **state)
{
	world_start(1000);
	assert_int_equal(add_with_leaves(), 0);
	netns_run("tc filter add dev nic0 parent 464c: protocol ip u32 match "
		  "u32 0 0 flowid 464c:8010");
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 -EBUSY);
	assert_non_null(strstr(world.error.text, "class 464c:8010"));
	world_check_class(LOW, 50, 200);
	netns_run("tc filter del dev nic0 parent 464c:");
	netns_run("tc class add dev nic0 parent 464c:10 classid 464c:a010 htb "
		  "rate 1mbit");
	assert_int_equal(shaper_try_remove(world.netlink, &world.nic, 0x10,
					   &world.error),
			 -EBUSY);
	netns_run("tc class del dev nic0 classid 464c:a010");
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_int_equal(world_lanes(), 0);
}

#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_lane_with_several_classes_has_a_leaf_for_each),
		TEST(a_lane_whose_leaf_cannot_be_made_has_no_class),
		TEST(a_lane_stays_while_something_of_others_hangs_on_a_leaf),
	};

	return cmocka_run_group_tests(tests, world_group_setup,
				      world_group_teardown);
}
