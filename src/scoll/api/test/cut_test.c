/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulated nodes: members in networks of their own, on a bridge, each at the
 * end of a link that is cut: the link goes down, or lets nothing through and
 * says nothing. The provider is the program's argument. The networks go with
 * the processes.
 *
 * The tree is 0 -> 1, 2; 1 -> 3, 4; 2 -> 5, 6, and the link is 1's.
 */
#include "scoll.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/api/test/clock.h"
#include "scoll/api/test/member.h"
#include "sys/test/watchdog.h"

#define COUNT      6 /* members, besides the root */
#define CUT        1
#define BULK_BYTES (8 << 20)
#define BULK_BEGUN (256 << 10) /* of them, when the link is cut */
#define PATIENCE_S 40          /* P */

enum way {
	LINK_DOWN,
	LINK_SILENT, /* it leads nowhere, and both ends are up */
	WAY_COUNT,
};

static const char *provider = "tcp;ofi_rxm";
static struct person root;
static struct member members[COUNT + 1]; /* from 1 on */
static scoll_group_t *group;
static struct outcome outcome;
static uint8_t bulk[BULK_BYTES];
static bool is_there; /* the bridge */

static bool shell(const char *format, ...)
{
	char command[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	return system(command) == 0;
}

static int group_setup(void **state)
{
	/* What other tests say of the interface is not true here. */
	unsetenv("FI_TCP_IFACE");
	unsetenv("FI_NET_IFACE");
	/* An address of its own, or it has that of a link, which knows it. */
	is_there = geteuid() == 0 && unshare(CLONE_NEWNET) == 0 &&
		   shell("ip link set lo up && "
			 "ip link add br0 address 02:00:00:00:00:01 "
			 "type bridge && "
			 "ip addr add 10.9.0.1/24 dev br0 && "
			 "ip link set br0 up");
	for (size_t i = 0; i < sizeof(bulk); i++)
		bulk[i] = (uint8_t)(i * 7 + (i >> 8));
	return 0;
}

static void nodes_start(void)
{
	char host[32];

	person_open(&root, 0, provider, "10.9.0.1", NULL,
		    SCOLL_DISCOVERY_GIVEN);
	for (int i = 1; i <= COUNT; i++) {
		snprintf(host, sizeof(host), "10.9.0.%d", i + 1);
		member_start_apart(&members[i], i, provider, host);
		assert_true(shell("ip link add v%d type veth peer name e0 "
				  "netns %d && ip link set v%d master br0 up",
				  i, members[i].child.pid, i));
		member_start_joined(&members[i]);
	}
	for (int i = 1; i <= COUNT; i++)
		member_start_end(&members[i]);
	members_meet(members, COUNT, &root);
	root.timeout = PATIENCE_S * INT64_C(1000000000);
	group = crowd_group_far(&root, COUNT, SCOLL_TREE_KARY(2), false);
}

static int setup(void **state)
{
	watchdog_start(NULL);
	memset(members, 0, sizeof(members));
	root.scoll = NULL;
	return 0;
}

static int teardown(void **state)
{
	for (int i = 1; i <= COUNT; i++)
		child_stop(&members[i].child);
	/* With its network it would go, too, but some time later. */
	for (int i = 1; is_there && i <= COUNT; i++)
		shell("ip link del v%d 2>/dev/null", i);
	if (root.scoll != NULL)
		person_close(&root);
	watchdog_stop();
	return 0;
}

static void cut(enum way way)
{
	if (way == LINK_DOWN)
		assert_true(shell("ip link set v%d down", CUT));
	else
		assert_true(shell("ip link set v%d nomaster", CUT));
}

static void mend(enum way way)
{
	if (way == LINK_DOWN)
		assert_true(shell("ip link set v%d up", CUT));
	else
		assert_true(shell("ip link set v%d master br0", CUT));
}

static void send(const char *text, size_t bulk_len)
{
	root.reply_count = 0;
	assert_int_equal(crowd_send(&root, group, text, (int)strlen(text), bulk,
				    bulk_len, 0, &outcome),
			 0);
}

static void run(const char *text)
{
	send(text, 0);
	crowd_until(&root, 1, &outcome.is_done);
}

/*
 * Once 2 has answered, the end comes by our own time, (2 + 1) R + P and some
 * for bulk data, and not by TCP's, which gives up after minutes.
 */
static void until_cut_is_reported(void)
{
	char answer[CHILD_ANSWER_MAX];

	while (root.reply_count < 1)
		scoll_wait(root.scoll, 100000000);
	clock_skip(2 * PATIENCE_S);
	crowd_until(&root, 1, &outcome.is_done);
	for (int i = 1; i <= COUNT; i++) {
		child_tell(&members[i].child, "skip %d", 2 * PATIENCE_S);
		member_hear(&members[i], &root, answer);
	}
	assert_int_equal(outcome.status, -EREMOTEIO);
	assert_int_equal(outcome.failure_count, 3);
	for (int i = 1; i <= COUNT; i++) {
		if (i == 1 || i == 3 || i == 4)
			assert_non_null(outcome_failure(&outcome, i));
		else
			assert_null(outcome_failure(&outcome, i));
	}
	assert_int_equal(outcome.tally.node_count, 1 + 3);
}

/* What a member says: its requests, and those of them that are not over. */
static void member_counts(int index, int *ret_requests, int *ret_groups,
			  int *ret_active)
{
	char answer[CHILD_ANSWER_MAX];
	unsigned refused;

	child_tell(&members[index].child, "count");
	member_hear(&members[index], &root, answer);
	assert_int_equal(sscanf(answer, "%d %u %d %d", ret_requests, &refused,
				ret_groups, ret_active),
			 4);
}

static void mute(int index, bool is_mute)
{
	char answer[CHILD_ANSWER_MAX];

	child_tell(&members[index].child, "mute %d", is_mute);
	member_hear(&members[index], &root, answer);
}

/* The link is back, and the next request reaches all. */
static void works_again(enum way way)
{
	mend(way);
	do
		run("back");
	while (outcome.status != 0);
	assert_int_equal(outcome.tally.node_count, COUNT + 1);
}

static void nothing_is_left(void)
{
	struct scoll_stats stats = { .size = sizeof(stats) };
	int requests, groups, active;

	scoll_group_destroy(group);
	for (int i = 1; i <= COUNT; i++) {
		do
			member_counts(i, &requests, &groups, &active);
		while (groups > 0 || active > 0);
	}
	do {
		scoll_wait(root.scoll, 1000000);
		scoll_stats(root.scoll, &stats);
	} while (stats.requests_active > 0 || stats.groups > 0);
}

static void need_networks(void)
{
	if (is_there)
		return;
	print_message("networks of one's own need root, bridge and veth\n");
	skip();
}

static void link_E04_I09_that_is_cut_between_requests_is_exactly_known(
	void **state)
{
	need_networks();
	nodes_start();
	for (int way = 0; way < WAY_COUNT; way++) {
		run("all");
		assert_int_equal(outcome.status, 0);
		cut((enum way)way);
		send("cut", 0);
		until_cut_is_reported();
		works_again((enum way)way);
	}
	nothing_is_left();
}

/* 3 has run it and has not replied, so that 1 still waits. */
static void link_E04_I09_that_is_cut_during_a_request_is_exactly_known(
	void **state)
{
	need_networks();
	nodes_start();
	for (int way = 0; way < WAY_COUNT; way++) {
		int before, after, groups, active;
		run("all");
		assert_int_equal(outcome.status, 0);
		member_counts(3, &before, &groups, &active);
		mute(3, true);
		send("cut", 0);
		do
			member_counts(3, &after, &groups, &active);
		while (after == before);
		cut((enum way)way);
		until_cut_is_reported();
		mute(3, false);
		works_again((enum way)way);
	}
	/* What 3 never replied to is its service's, not a leak of ours. */
}

/* To the member, by the link that is cut. */
static uint64_t passed_bytes(void)
{
	char line[256], name[16];
	uint64_t bytes = 0;
	FILE *file = fopen("/proc/self/net/dev", "r");

	assert_non_null(file);
	while (fgets(line, sizeof(line), file) != NULL) {
		uint64_t sent;

		/* Eight numbers of what it received come first. */
		if (sscanf(line,
			   " %15[^:]: %*u %*u %*u %*u %*u %*u %*u %*u "
			   "%" SCNu64,
			   name, &sent) == 2 &&
		    name[0] == 'v' && atoi(name + 1) == CUT)
			bytes = sent;
	}
	fclose(file);
	return bytes;
}

static void link_E04_K06_that_is_cut_during_bulk_data_is_exactly_known(
	void **state)
{
	need_networks();
	nodes_start();
	for (int way = 0; way < WAY_COUNT; way++) {
		uint64_t begun;

		run("all");
		assert_int_equal(outcome.status, 0);
		begun = passed_bytes();
		send("cut", sizeof(bulk));
		while (!outcome.is_done && passed_bytes() - begun < BULK_BEGUN)
			scoll_wait(root.scoll, 1000000);
		assert_false(outcome.is_done);
		cut((enum way)way);
		until_cut_is_reported();
		assert_int_equal(outcome.tally.bulk_sum,
				 4 * crowd_sum(bulk, sizeof(bulk)));
		works_again((enum way)way);
	}
	nothing_is_left();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(link_E04_I09_that_is_cut_between_requests_is_exactly_known),
		TEST(link_E04_I09_that_is_cut_during_a_request_is_exactly_known),
		TEST(link_E04_K06_that_is_cut_during_bulk_data_is_exactly_known),
	};
	int result = member_main(argc, argv, &provider);

	if (result >= 0)
		return result;
	return cmocka_run_group_tests(tests, group_setup, NULL);
}
