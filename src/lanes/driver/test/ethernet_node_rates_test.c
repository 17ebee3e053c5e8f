/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes' classes in HTB, and packets in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <netinet/ip.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/ethernet.h"
#include "lanes/driver/ethernet/policy.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/two_nodes.h"

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
	assert_true(
		netns_holds("ip link show fl%d | grep :class=0:", NODES_VNI));
	assert_false(netns_holds("nft list table inet fairlead | grep 464c:"));
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
}

/* Datagrams of the owner's to the other node, in the lane. */
static void send_some(const char *netns, uint8_t dscp, int count)
{
	const struct place_to_be place = { .netns = netns, .uid = NODES_OWNER };
	struct sockaddr_storage to;
	int tos = dscp << 2, status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		socklen_t size = nodes_address(4, 1, &to);
		int fd;

		nodes_be_at(&place);
		fd = socket(AF_INET, SOCK_DGRAM, 0);
		if (setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos)) < 0)
			_exit(1);
		for (int i = 0; i < count; i++) {
			if (sendto(fd, "x", 1, 0, (struct sockaddr *)&to,
				   size) != 1)
				_exit(2);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static bool has_sent(const char *class, int count)
{
	return netns_holds("tc -s class show dev eth1 classid %s | "
			   "grep ' %d pkt'",
			   class, count);
}

static void count_by_class(const char *isolation, const char *netns)
{
	static const struct fairlead_setting shaping[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};
	struct fairlead_lane lane = nodes_lane(9, NODES_OWNER, NODES_VNI);

	snprintf(lane.options, sizeof(lane.options),
		 "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,reserved=100M,%s",
		 isolation);
	nodes_close(0);
	nodes_open(0, shaping, 2);
	nodes_apply_all(&lane);
	nodes_enter(0);
	assert_true(netns_holds("tc class show dev eth1 | grep "
				"'464c:4010 parent 464c:10 .*rate 50Mbit'"));
	send_some(netns, 0, 4);
	send_some(netns, 32, 3);
	/* No class of the lane's: it goes with the first. */
	send_some(netns, 46, 5);
	assert_true(has_sent("464c:8010", 4));
	assert_true(has_sent("464c:4010", 8));
	assert_true(has_sent("464c:10", 12));
	assert_int_equal(nodes_revoke(0, &lane, true), 0);
	assert_false(netns_holds("tc class show dev eth1 | grep -e :10 -e "
				 "464c:[48]010"));
}

static void packets_of_each_class_go_to_its_class_in_htb(void **state)
{
	count_by_class("isolation=host", NULL);
}

static void packets_of_a_namespace_go_to_their_class_in_htb(void **state)
{
	count_by_class("isolation=netns", NODES_NETNS_0 "/9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, nodes_setup, nodes_teardown)
		TEST(rates_are_classes_where_the_node_shapes),
		TEST(packets_of_each_class_go_to_its_class_in_htb),
		TEST(packets_of_a_namespace_go_to_their_class_in_htb),
		TEST(a_class_goes_from_a_nic_that_carries_no_lanes_any_more),
		TEST(what_cannot_be_reserved_is_a_warning),
#undef TEST
	};

	return cmocka_run_group_tests(tests, nodes_group_setup, NULL);
}
