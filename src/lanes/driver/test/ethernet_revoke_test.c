/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes that are taken back together: as each would be by itself, in one go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "lanes/driver/test/netns.h"
#include "lanes/driver/test/node_world.h"

#define LANES 5 /* the last one in a namespace of its own */
#define FIRST 9 /* grant */

static struct fairlead_lane lanes[LANES];
static struct fairlead_record records[LANES];
static struct fairlead_revocation revocations[LANES];

static void lanes_make(void)
{
	static const struct fairlead_setting shaped[] = {
		{ .name = "shaping", .value = "true" },
		{ .name = "link_rate", .value = "10G" },
	};

	node_world_open(shaped, 2);
	for (uint32_t i = 0; i < LANES; i++) {
		lanes[i] = node_world_lane(FIRST + i,
					   i == LANES - 1 ? "netns" : "host");
		lanes[i].ids[0] = NODE_WORLD_VNI + i;
		if (ethernet_node_ops.apply(world.state, &lanes[i], false,
					    &records[i], &node_world_warnings,
					    &world.error) < 0)
			fail_msg("%s", world.error.text);
	}
}

static void revoke_all(size_t count)
{
	for (size_t i = 0; i < count; i++)
		revocations[i] = (struct fairlead_revocation){
			.lane = &lanes[i],
			.record = &records[i],
			.warnings = &node_world_warnings,
			.result = 1,
		};
	ethernet_node_ops.revoke_all(world.state, revocations, count);
}

static bool is_there(size_t i)
{
	return netns_holds(
		"(ip link show fl%zu || nsenter --net=/mnt/netns/%zu "
		"ip link show)",
		NODE_WORLD_VNI + i, FIRST + i);
}

static bool has_rules(size_t i)
{
	return netns_holds("nft list table inet fairlead | "
			   "grep -e fl%zu -e 464c:1%zu",
			   NODE_WORLD_VNI + i, i);
}

static bool has_class(size_t i)
{
	return netns_holds("tc class show dev eth1 | grep 464c:1%zu", i);
}

/* --- tests --- */

static void lanes_that_are_taken_together_leave_nothing(void **state)
{
	lanes_make();
	for (size_t i = 0; i < LANES; i++)
		assert_true(is_there(i) && has_rules(i) && has_class(i));
	revoke_all(LANES);
	for (size_t i = 0; i < LANES; i++) {
		assert_int_equal(revocations[i].result, 0);
		assert_false(is_there(i) || has_rules(i) || has_class(i));
	}
	assert_int_equal(world.warning_count, 0);
	/* Nothing there is 0. */
	revoke_all(LANES);
	for (size_t i = 0; i < LANES; i++)
		assert_int_equal(revocations[i].result, 0);
}

/* What is said of the host's devices from now on. */
static int listen_to_links(void)
{
	const struct sockaddr_nl links = { .nl_family = AF_NETLINK,
					   .nl_groups = RTMGRP_LINK };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	assert_true(fd >= 0);
	assert_int_equal(
		bind(fd, (const struct sockaddr *)&links, sizeof(links)), 0);
	return fd;
}

/* Changes of devices that came after the first of them was deleted. */
static size_t changes_after_a_deletion(int fd, size_t *ret_deleted)
{
	_Alignas(struct nlmsghdr) uint8_t bytes[65536];
	size_t changes = 0;
	ssize_t size;

	*ret_deleted = 0;
	while ((size = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0) {
		const struct nlmsghdr *header = (const void *)bytes;

		if (header->nlmsg_type == RTM_DELLINK)
			(*ret_deleted)++;
		else if (*ret_deleted > 0)
			changes++;
	}
	assert_int_equal(errno, EAGAIN);
	return changes;
}

/* Each would wait for all processors otherwise, one after the other. */
static void lanes_that_are_taken_together_are_deleted_at_once(void **state)
{
	_auto_(closep) int fd = -1;
	size_t deleted;

	lanes_make();
	fd = listen_to_links();
	revoke_all(LANES - 1);
	assert_int_equal(changes_after_a_deletion(fd, &deleted), 0);
	assert_int_equal(deleted, LANES - 1);
}

static void what_keeps_one_lane_keeps_no_other(void **state)
{
	lanes_make();
	netns_run("tc class add dev eth1 parent 464c:11 classid 464c:9999 htb "
		  "rate 1mbit quantum 1500");
	revoke_all(LANES);
	for (size_t i = 0; i < LANES; i++) {
		bool is_kept = i == 1;

		assert_int_equal(revocations[i].result, is_kept ? -EBUSY : 0);
		assert_int_equal(is_there(i), is_kept);
		assert_int_equal(has_rules(i), is_kept);
	}
	assert_non_null(strstr(revocations[1].error.text, "4097"));
	assert_false(netns_holds("ip link show up fl4097 | grep ."));
	netns_run("tc class del dev eth1 classid 464c:9999");
	revoke_all(LANES);
	for (size_t i = 0; i < LANES; i++) {
		assert_int_equal(revocations[i].result, 0);
		assert_false(is_there(i) || has_rules(i));
	}
}

static void lanes_without_records_go_by_what_is_there(void **state)
{
	lanes_make();
	netns_run("ip link del fl4098");
	for (size_t i = 0; i < LANES; i++)
		records[i].size = i % 2 ? 0 : records[i].size;
	revoke_all(LANES);
	for (size_t i = 0; i < LANES; i++) {
		assert_int_equal(revocations[i].result, 0);
		assert_false(is_there(i) || has_rules(i));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                              \
	cmocka_unit_test_setup_teardown(name, node_world_setup, \
					node_world_teardown)
		TEST(lanes_that_are_taken_together_leave_nothing),
		TEST(lanes_that_are_taken_together_are_deleted_at_once),
		TEST(what_keeps_one_lane_keeps_no_other),
		TEST(lanes_without_records_go_by_what_is_there),
#undef TEST
	};

	return cmocka_run_group_tests(tests, node_world_group_setup, NULL);
}
