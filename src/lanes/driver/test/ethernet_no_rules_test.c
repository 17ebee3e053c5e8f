/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node does with its lanes when somebody changed its rules, and while
 * they cannot be written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define FOREIGN "nft delete table inet fairlead; nft add table inet fairlead"
#define OURS    "nft list table inet fairlead | grep -q "

static char line[FAIRLEAD_SUMMARY_MAX + 1];

static void assert_line(const char *part)
{
	ethernet_node_ops.summarize(world.state, line);
	if (!strstr(line, part))
		fail_msg("'%s' is not in '%s'", part, line);
}

static void assert_said(const char *part)
{
	if (!strstr(world.error.text, part))
		fail_msg("'%s' is not in '%s'", part, world.error.text);
}

static int tend(void)
{
	world.error.text[0] = '\0';
	return ethernet_node_ops.tend(world.state, &world.error);
}

/* Nothing is wrong, and nothing is said. */
static void assert_quiet(void)
{
	if (tend() != 0)
		fail_msg("%s", world.error.text);
	assert_string_equal(world.error.text, "");
}

static struct fairlead_lane lane_of(uint32_t number)
{
	struct fairlead_lane lane = node_world_lane(9 + number, "host");

	lane.ids[0] += number;
	return lane;
}

static int lane_apply(uint32_t number)
{
	const struct fairlead_lane lane = lane_of(number);

	return ethernet_node_ops.apply(world.state, &lane, false, &world.record,
				       NULL, &world.error);
}

/* As after a crash: without a record. */
static int lane_revoke(uint32_t number)
{
	const struct fairlead_lane lane = lane_of(number);
	const struct fairlead_record none = { 0 };

	return ethernet_node_ops.revoke(world.state, &lane, &none, false,
					&node_world_warnings, &world.error);
}

/* --- what others change --- */

static void elements_that_somebody_changed_are_said_and_put_right(void **state)
{
	static const char *const changes[] = {
		"flush set inet fairlead senders4",
		("add element inet fairlead senders4 "
		 "{ \"fl4096\" . 100.64.0.1 . 20002 }"),
		"delete element inet fairlead owners4 { 100.64.0.1 . 20001 }",
	};

	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		/* Also where a lane has come since the last look. */
		if (i != 1)
			assert_quiet();
		netns_run("nft '%s'", changes[i]);
		assert_int_equal(tend(), 1);
		assert_said("had changed the table 'inet fairlead'");
		assert_true(netns_holds(OURS "'100.64.0.1 . 20001'"));
		assert_true(netns_holds(OURS "'\"fl4096\" . 100.64.0.1'"));
		assert_false(netns_holds(OURS "20002"));
		assert_quiet();
		assert_int_equal(lane_revoke(0), 0);
		assert_int_equal(lane_apply(0), 0);
	}
}

static void others_rules_are_no_change_of_ours(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	netns_run("nft add table inet other");
	assert_quiet();
	netns_run("nft add chain inet other one");
	assert_quiet();
	netns_run("nft add chain inet other two");
	assert_int_equal(lane_apply(1), 0);
	netns_run("nft add chain inet other three");
	assert_quiet();
	netns_run("nft add chain inet other four");
	assert_int_equal(lane_revoke(1), 0);
	assert_quiet();
	assert_int_equal(lane_revoke(0), 0);
	assert_quiet();
}

static void rules_that_a_lane_brings_back_are_said(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	netns_run("nft flush ruleset");
	assert_int_equal(lane_apply(1), 0);
	assert_int_equal(tend(), 1);
	assert_said("nft flush ruleset?");
	assert_quiet();
	/* Once, however often it was. */
	netns_run("nft flush ruleset");
	assert_int_equal(node_world_look(), 0);
	netns_run("nft flush ruleset");
	assert_int_equal(lane_revoke(1), 0);
	assert_true(netns_holds(OURS "fl4096"));
	assert_int_equal(tend(), 1);
	assert_said("nft flush ruleset?");
	assert_null(
		strstr(strstr(world.error.text, "ruleset?") + 1, "ruleset?"));
	assert_quiet();
}

/* --- what cannot be written --- */

static void what_cannot_be_put_back_is_said_once(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	for (int i = 0; i < 2; i++) {
		netns_run(FOREIGN);
		assert_int_equal(tend(), -EEXIST);
		assert_said("there is a table 'inet fairlead'");
		assert_null(strstr(strstr(world.error.text, "there is") + 1,
				   "there is"));
		assert_int_equal(tend(), -EEXIST);
		assert_string_equal(world.error.text, "");
		netns_run("nft delete table inet fairlead");
		assert_int_equal(tend(), 1);
		assert_said("it is back");
		assert_quiet();
	}
}

static void a_node_without_rules_says_so(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	assert_line("enforcement nft+bpf, ");
	netns_run(FOREIGN);
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.object_count, 2);
	assert_line("enforcement none, ");
	assert_line("; lacks nft (table inet fairlead is not of this version)");
}

static void without_rules_lanes_are_taken_back_and_none_is_made(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	netns_run(FOREIGN);
	assert_int_equal(lane_revoke(0), 0);
	assert_int_equal(node_world_look(), 0);
	assert_int_equal(world.object_count, 1);
	assert_int_equal(lane_apply(1), -EEXIST);
	assert_null(strstr(world.error.text, "cannot be taken back"));
	assert_false(netns_holds("ip link show fl4097"));
	netns_run("nft delete table inet fairlead");
	assert_int_equal(tend(), 1);
	assert_int_equal(lane_apply(1), 0);
	assert_quiet();
}

static void a_start_with_lanes_beside_a_foreign_table_goes_on(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	node_world_close();
	netns_run(FOREIGN);
	node_world_open_bare();
	assert_line("enforcement none, ");
	assert_int_equal(lane_apply(1), -EEXIST);
	assert_int_equal(lane_revoke(0), 0);
}

static void a_device_keeps_its_lane_whatever_it_is_called(void **state)
{
	static const char *const names[] = { "a\"b", "fl*" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		node_world_open_bare();
		assert_int_equal(lane_apply(0), 0);
		netns_run("ip link set fl4096 down && "
			  "ip link set fl4096 name '%s' && "
			  "ip link set '%s' up",
			  names[i], names[i]);
		assert_int_equal(tend(), 1);
		assert_quiet();
		assert_int_equal(lane_apply(1), 0);
		assert_true(netns_holds(OURS "' . 100.64.0.1 . 20001'"));
		node_world_close();
		node_world_open_bare();
		assert_true(netns_holds(OURS "fl4097"));
		assert_int_equal(lane_revoke(0), 0);
		assert_int_equal(lane_revoke(1), 0);
		node_world_close();
	}
}

static void counters_go_on_when_the_table_is_rewritten(void **state)
{
	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	assert_false(netns_holds("setpriv --reuid 20002 --clear-groups "
				 "bash -c 'echo > /dev/udp/100.64.0.2/9'"));
	assert_line(", refused: send 1");
	netns_run("nft add chain inet fairlead other");
	assert_int_equal(tend(), 1);
	assert_line(", refused: send 1");
	node_world_close();
	node_world_open_bare();
	assert_line(", refused: send 1");
}

/* Its first device is made, and its second one cannot be. */
static void a_lane_that_fails_before_it_has_rules_leaves_the_table(void **state)
{
	const char *handle = "nft -a list table inet fairlead | "
			     "grep 'table.*handle'";
	struct fairlead_lane lane = lane_of(1);

	node_world_open_bare();
	assert_int_equal(lane_apply(0), 0);
	assert_quiet();
	netns_run("%s > /mnt/before", handle);
	netns_run("touch /mnt/other && unshare --net=/mnt/other true");
	netns_run("ip link add other type vxlan id 4098 dstport 4789 dev eth1 "
		  "udp6zerocsumrx && ip link set other netns /mnt/other");
	lane.id_count = 2;
	lane.ids[1] = lane.ids[0] + 1;
	strcpy(lane.options, "vnis=2,tcs=BEST_EFFORT,isolation=host");
	assert_int_equal(ethernet_node_ops.apply(world.state, &lane, false,
						 &world.record, NULL,
						 &world.error),
			 -EEXIST);
	assert_false(netns_holds("ip link show fl4097"));
	netns_run("%s | cmp - /mnt/before", handle);
	assert_quiet();
	netns_run("umount /mnt/other");
}

#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(elements_that_somebody_changed_are_said_and_put_right),
		TEST(others_rules_are_no_change_of_ours),
		TEST(rules_that_a_lane_brings_back_are_said),
		TEST(what_cannot_be_put_back_is_said_once),
		TEST(a_node_without_rules_says_so),
		TEST(without_rules_lanes_are_taken_back_and_none_is_made),
		TEST(a_start_with_lanes_beside_a_foreign_table_goes_on),
		TEST(a_device_keeps_its_lane_whatever_it_is_called),
		TEST(counters_go_on_when_the_table_is_rewritten),
		TEST(a_lane_that_fails_before_it_has_rules_leaves_the_table),
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
