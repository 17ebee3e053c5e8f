/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/shaper_world.h"

static void a_probe_changes_nothing(void **state)
{
	char lacking[256] = "?";

	assert_int_equal(shaper_probe(world.netlink, lacking), 0);
	assert_string_equal(lacking, "");
	assert_true(netns_holds("tc qdisc show dev lo | grep -q noqueue"));
	/* Nor where the site has shaped loopback. */
	netns_run("tc qdisc add dev lo root handle 7: htb default 1");
	assert_int_equal(shaper_probe(world.netlink, lacking), 0);
	assert_true(netns_holds("tc qdisc show dev lo | grep -q 'htb 7:'"));
	netns_run("tc qdisc del dev lo root");
}

static void a_start_makes_the_link_and_a_class_for_the_rest(void **state)
{
	struct tc_item item;

	world_start(1000);
	world_check_class(1, 1000, 1000);
	assert_true(world_class(SHAPER_DEFAULT_MINOR, &item));
	assert_int_equal(item.rate, 100 * 125000);
	assert_int_equal(item.parent, SHAPER_PRIORITY(1));
	assert_int_equal(item.priority, ETHERNET_BEST_EFFORT);
	assert_int_equal(world_lanes(), 0);
}

static void a_second_start_keeps_lanes_and_sets_the_rate(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(SHAPER_FIRST_MINOR, 300, 400), 0);
	world_start(1000);
	world_start(10000);
	world_check_class(1, 10000, 10000);
	world_check_class(SHAPER_FIRST_MINOR, 300, 400);
	assert_int_equal(world_lanes(), 1);
}

static void a_start_completes_what_a_crash_left(void **state)
{
	netns_run("tc qdisc add dev nic0 root handle 464c: htb default ffff");
	assert_int_equal(world_add(0x1f, 0, 0), -ENOENT);
	world_start(1000);
	world_check_class(1, 1000, 1000);
	assert_int_equal(world_add(SHAPER_FIRST_MINOR, 0, 0), 0);
}

static void a_link_of_unknown_rate_is_refused(void **state)
{
	assert_int_equal(shaper_start(world.netlink, &world.nic, 0,
				      &world.error),
			 -EINVAL);
	assert_non_null(strstr(world.error.text, "nic0"));
}

static void queueing_of_the_site_is_refused_and_left(void **state)
{
	netns_run("tc qdisc add dev nic0 root handle 1: htb default 1");
	assert_int_equal(shaper_start(world.netlink, &world.nic, 1000,
				      &world.error),
			 -EEXIST);
	assert_string_equal(world.error.text,
			    "NIC nic0 has a queueing discipline "
			    "already: htb 1:");
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 0);
	assert_int_equal(world_lanes(), 0);
	assert_int_equal(world_add(0x1f, 0, 0), -ENOENT);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_true(netns_holds("tc qdisc show dev nic0 | grep -q 'htb 1:'"));
	netns_run("tc qdisc replace dev nic0 root tbf rate 1gbit burst 100k "
		  "latency 50ms");
	assert_int_equal(shaper_start(world.netlink, &world.nic, 1000,
				      &world.error),
			 -EEXIST);
	assert_non_null(strstr(world.error.text, "already: tbf"));
	assert_true(netns_holds("tc qdisc show dev nic0 | grep -q tbf"));
}

static void a_stop_takes_all_of_ours(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(SHAPER_FIRST_MINOR, 100, 0), 0);
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 0);
	assert_true(netns_holds("tc qdisc show dev nic0 | grep -q noqueue"));
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 0);
}

static void a_stop_leaves_all_while_something_of_others_hangs_on_it(
	void **state)
{
	world_start(1000);
	netns_run("tc filter add dev nic0 parent 464c: protocol ip u32 match "
		  "u32 0 0 flowid 464c:ffff");
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 -EBUSY);
	assert_string_equal(world.error.text,
			    "NIC nic0: filter u32 of somebody "
			    "else's hangs on its queueing");
	world_check_class(1, 1000, 1000);
	netns_run("tc filter del dev nic0 parent 464c:");
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:20 htb "
		  "rate 1mbit");
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 -EBUSY);
	assert_non_null(strstr(world.error.text, "class 464c:20"));
	netns_run("tc class del dev nic0 classid 464c:20");
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 0);
}

static void the_lowest_class_that_is_free_is_chosen(void **state)
{
	const uint16_t taken[] = { 0, 0x13, 0xffff, 0x11 };

	assert_int_equal(world_choose(NULL, 0), 0x10);
	world_start(1000);
	assert_int_equal(world_choose(NULL, 0), 0x10);
	assert_int_equal(world_choose(taken, 4), 0x10);
	assert_int_equal(world_add(0x10, 0, 0), 0);
	assert_int_equal(world_add(0x12, 0, 0), 0);
	assert_int_equal(world_choose(NULL, 0), 0x11);
	assert_int_equal(world_choose(taken, 4), 0x14);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_int_equal(world_choose(taken, 4), 0x10);
}

static void a_class_of_the_site_is_not_chosen(void **state)
{
	world_start(1000);
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:10 htb "
		  "rate 1mbit");
	assert_int_equal(world_choose(NULL, 0), 0x11);
}

static void a_NIC_without_a_free_class_says_so(void **state)
{
	static uint16_t taken[SHAPER_LAST_MINOR + 1];
	uint16_t minor = 7;

	for (size_t i = 0; i <= SHAPER_LAST_MINOR; i++)
		taken[i] = (uint16_t)i;
	assert_int_equal(world_choose(taken, SHAPER_LAST_MINOR),
			 SHAPER_LAST_MINOR);
	assert_int_equal(shaper_choose(world.netlink, &world.nic, taken,
				       SHAPER_LAST_MINOR + 1, &minor,
				       &world.error),
			 -ENOSPC);
	assert_string_equal(world.error.text, "NIC nic0 has no class left");
	assert_int_equal(minor, 7);
}

static void a_class_is_a_lanes_own(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(0x12, 0, 0), 0);
	assert_int_equal(world_add(0x12, 0, 0), -EEXIST);
	assert_int_equal(world_add(0, 0, 0), -EINVAL);
	assert_int_equal(world_add(1, 0, 0), -EINVAL);
	assert_int_equal(world_add(0xffff, 0, 0), -EINVAL);
	assert_int_equal(world_add(SHAPER_LAST_MINOR + 1, 0, 0), -EINVAL);
	assert_int_equal(world_add(SHAPER_LAST_MINOR, 0, 0), 0);
	assert_int_equal(world_lanes(), 2);
}

static void a_class_is_listed_as_it_was_asked_for(void **state)
{
	const struct shaper_class asked[] = {
		{ 0x10, ETHERNET_DEDICATED_ACCESS, 0, 0 },
		{ 0x11, ETHERNET_LOW_LATENCY, 1, 1 },
		{ 0x12, ETHERNET_BULK_DATA, 25000, 100000 },
		{ 0x13, ETHERNET_BEST_EFFORT, 0, 10 },
		{ 0x14, ETHERNET_BEST_EFFORT, 200000, 0 },
	};
	struct listing listing;

	world_start(400000);
	world_check_class(1, 400000, 400000);
	for (size_t i = 0; i < 5; i++) {
		struct shaper_class shaped = asked[i];

		assert_int_equal(shaper_add(world.netlink, &world.nic, &shaped,
					    &world.error),
				 0);
	}
	listing = world_list();
	assert_int_equal(listing.count, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct shaper_class *listed = &listing.classes[i];
		const struct shaper_class *wanted =
			&asked[listed->minor - 0x10];

		assert_int_equal(listed->priority, wanted->priority);
		assert_int_equal(listed->reserved_mbit, wanted->reserved_mbit);
		assert_int_equal(listed->max_mbit, wanted->max_mbit);
	}
	world_check_class(0x12, 25000, 100000);
}

static void no_more_is_reserved_than_the_link_has(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(0x1f, 900, 800), -EINVAL);
	assert_int_equal(world_add(0x1f, 901, 0), -ENOSPC);
	assert_int_equal(world_add(0x10, 600, 0), 0);
	assert_int_equal(world_add(0x1f, 301, 0), -ENOSPC);
	assert_string_equal(world.error.text,
			    "NIC nic0 has 300 of 900 Mbit/s left "
			    "to reserve, and 301 are asked for");
	assert_int_equal(world_add(0x11, 300, 0), 0);
	assert_int_equal(world_add(0x12, 0, 0), 0);
	assert_int_equal(world_add(0x1f, 1, 0), -ENOSPC);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_int_equal(world_add(0x10, 600, 0), 0);
	/* A link that has become slower. */
	world_start(500);
	assert_int_equal(world_add(0x1f, 1, 0), -ENOSPC);
}

static void packets_go_to_the_class_of_their_priority(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(0x10, 100, 0), 0);
	assert_int_equal(world_add(0x11, 0, 0), 0);
	world_send("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(0x10), 3);
	world_send("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(0x11), 5);
	assert_int_equal(world_packets(0x10), 3);
	assert_int_equal(world_packets(0x11), 5);
	/* No class, one that is gone, and one of another handle. */
	world_send("10.77.0.1", "10.77.0.2", 0, 1);
	world_send("10.77.0.1", "10.77.0.2", SHAPER_PRIORITY(0x99), 2);
	world_send("10.77.0.1", "10.77.0.2", 0x10010, 4);
	assert_int_equal(world_packets(SHAPER_DEFAULT_MINOR), 7);
	assert_int_equal(world_packets(0x10), 3);
	assert_int_equal(world_packets(1), 15);
}

static void a_packet_keeps_its_class_through_VXLAN(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(0x10, 0, 0), 0);
	netns_run("ip link add fl7 type vxlan id 7 dev nic0 local 10.77.0.1 "
		  "dstport 4789 nolearning");
	netns_run("ip addr add 100.64.0.1/24 dev fl7 && ip link set fl7 up");
	netns_run("ip neigh add 100.64.0.2 lladdr 02:00:00:07:00:02 dev fl7");
	netns_run("bridge fdb append 02:00:00:07:00:02 dst 10.77.0.2 dev fl7");
	world_send("100.64.0.1", "100.64.0.2", SHAPER_PRIORITY(0x10), 6);
	assert_int_equal(world_packets(0x10), 6);
	netns_run("ip link del fl7");
}

static void check_stays(const char *text)
{
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 -EBUSY);
	assert_string_equal(world.error.text, text);
	world_check_class(0x10, 100, 200);
}

static void a_class_stays_while_something_of_others_hangs_on_it(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(0x10, 100, 200), 0);
	assert_int_equal(world_add(0x11, 100, 200), 0);
	netns_run("tc filter add dev nic0 parent 464c: protocol ip u32 match "
		  "u32 0 0 flowid 464c:10");
	check_stays("NIC nic0: filter u32 of somebody else's hangs on class "
		    "464c:10");
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x11,
				       &world.error),
			 0);
	netns_run("tc filter del dev nic0 parent 464c:");
	netns_run("tc qdisc add dev nic0 parent 464c:10 handle 20: tbf rate "
		  "1mbit burst 10k latency 50ms");
	check_stays("NIC nic0: tbf 20: of somebody else's hangs on class "
		    "464c:10");
	netns_run("tc qdisc del dev nic0 parent 464c:10");
	netns_run("tc class add dev nic0 parent 464c:10 classid 464c:20 htb "
		  "rate 1mbit");
	check_stays("NIC nic0: class 464c:20 of somebody else's hangs on class "
		    "464c:10");
	assert_int_equal(world_lanes(), 1);
	netns_run("tc class del dev nic0 classid 464c:20");
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_int_equal(world_lanes(), 0);
}

static void classes_of_others_are_not_listed_and_not_removed(void **state)
{
	world_start(1000);
	netns_run("tc class add dev nic0 parent 464c:1 classid 464c:10 htb "
		  "rate 1mbit");
	assert_int_equal(world_lanes(), 0);
	assert_int_equal(world_add(0x10, 0, 0), -EEXIST);
	assert_int_equal(world_add(0x11, 0, 0), 0);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	world_check_class(0x10, 1, 1);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0xffff,
				       &world.error),
			 0);
	assert_int_equal(
		shaper_remove(world.netlink, &world.nic, 1, &world.error), 0);
	world_check_class(1, 1000, 1000);
}

static void a_NIC_that_is_gone_has_nothing(void **state)
{
	world_start(1000);
	assert_int_equal(world_add(0x10, 0, 0), 0);
	netns_run("ip link del nic0");
	assert_int_equal(world_lanes(), 0);
	assert_int_equal(shaper_remove(world.netlink, &world.nic, 0x10,
				       &world.error),
			 0);
	assert_int_equal(shaper_stop(world.netlink, &world.nic, &world.error),
			 0);
	assert_int_equal(world_add(0x1f, 0, 0), -ENOENT);
	assert_int_equal(shaper_start(world.netlink, &world.nic, 1000,
				      &world.error),
			 -ENODEV);
	assert_non_null(strstr(world.error.text, "nic0"));
}

static void try_without_privileges(void)
{
	struct netlink *poor;
	char lacking[256];

	prctl(PR_SET_KEEPCAPS, 0);
	if (setuid(65534) != 0 || netlink_open(&poor, NULL) < 0)
		_exit(2);
	_exit(shaper_probe(poor, lacking) == -EPERM &&
			      shaper_start(poor, &world.nic, 1000,
					   &world.error) == -EPERM
		      ? 0
		      : 1);
}

static void without_privileges_it_says_so(void **state)
{
	int status;
	pid_t pid = fork();

	if (pid == 0)
		try_without_privileges();
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define one(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		one(a_probe_changes_nothing),
		one(a_start_makes_the_link_and_a_class_for_the_rest),
		one(a_second_start_keeps_lanes_and_sets_the_rate),
		one(a_start_completes_what_a_crash_left),
		one(a_link_of_unknown_rate_is_refused),
		one(queueing_of_the_site_is_refused_and_left),
		one(a_stop_takes_all_of_ours),
		one(a_stop_leaves_all_while_something_of_others_hangs_on_it),
		one(the_lowest_class_that_is_free_is_chosen),
		one(a_class_of_the_site_is_not_chosen),
		one(a_NIC_without_a_free_class_says_so),
		one(a_class_is_a_lanes_own),
		one(a_class_is_listed_as_it_was_asked_for),
		one(no_more_is_reserved_than_the_link_has),
		one(packets_go_to_the_class_of_their_priority),
		one(a_packet_keeps_its_class_through_VXLAN),
		one(a_class_stays_while_something_of_others_hangs_on_it),
		one(classes_of_others_are_not_listed_and_not_removed),
		one(a_NIC_that_is_gone_has_nothing),
		one(without_privileges_it_says_so),
	};

	return cmocka_run_group_tests(tests, world_group_setup,
				      world_group_teardown);
}
