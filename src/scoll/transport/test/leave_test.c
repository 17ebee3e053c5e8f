/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that is left while a peer reads it: libfabric still has it under way
 * to the peer, which takes nothing meanwhile. The peer is this process, the
 * owner a puppet.
 */
#include "scoll/transport/ofi/ofi.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define BYTES (48u << 20) /* far more than sockets hold */

static struct node node;
static struct puppet puppet;
static char answer[CHILD_ANSWER_MAX];
static uint8_t bytes[BYTES];

static int setup(void **state)
{
	watchdog_start(NULL);
	memset(bytes, 0, sizeof(bytes));
	node_open(&node, test_host(), NULL, 0);
	return 0;
}

static int teardown(void **state)
{
	child_stop(&puppet.child);
	if (node.t != NULL)
		node_close(&node);
	watchdog_stop();
	return 0;
}

static void tell(const char *line)
{
	child_tell(&puppet.child, "%s", line);
	puppet_hear(&puppet, &node, answer);
}

static void send_to_puppet(void)
{
	struct move move;

	do {
		assert_int_equal(node_send(&node, PUPPET_NID(0), 1, 100, &move),
				 0);
	} while (node_finish(&node, &move) < 0);
}

static void hear_from_puppet(void)
{
	uint64_t count = node.received_count;

	while (node.received_count == count)
		tell("send 1 0 1 100");
}

static void is_reached(void)
{
	tell("count");
	for (int before = atoi(answer); atoi(answer) == before;) {
		send_to_puppet();
		tell("count");
	}
	hear_from_puppet();
}

/* Who was first to send has made the connection. */
static void leave(const char *what, bool is_puppet_first)
{
	struct iovec piece = { bytes, sizeof(bytes) };
	struct move move = { .is_done = false };
	struct remote_piece remote;
	struct region region;
	char line[64];
	size_t at = 0;

	puppet_meet_new(&puppet, 0, &node);
	if (is_puppet_first)
		hear_from_puppet();
	send_to_puppet();
	snprintf(line, sizeof(line), "open %zu", sizeof(bytes));
	tell(line);
	assert_int_equal(sscanf(answer, "%" SCNu64 " %" SCNu64 " %" SCNu64,
				&remote.address, &remote.key, &remote.size),
			 3);
	assert_int_equal(
		node.ops->region_open(node.t, &piece, 1, &region, NULL), 0);
	assert_int_equal(node.ops->read(node.t, PUPPET_NID(0), &remote, 1, 0,
					&region, 0, sizeof(bytes),
					&move.transfer),
			 0);
	/* From here on we take nothing. */
	child_tell(&puppet.child, "fill");
	child_hear(&puppet.child, answer);
	child_tell(&puppet.child, "leave %d %s", SELF_NID, what);
	child_hear(&puppet.child, answer);
	assert_true(node_finish(&node, &move) < 0);
	node.ops->region_close(node.t, &region);
	while (at < sizeof(bytes) && bytes[at] == test_byte(at))
		at++;
	print_message("%zu bytes came before\n", at);
	while (at < sizeof(bytes) && bytes[at] == 0)
		at++;
	assert_int_equal(at, sizeof(bytes)); /* and nothing after them */
	is_reached();
}

static void need_an_owner_that_answers(void)
{
}

static void memory_that_is_reused_is_read_no_more(void **state)
{
	need_an_owner_that_answers();
	leave("reused", false);
}

static void memory_that_is_reused_is_read_no_more_by_who_was_called(
	void **state)
{
	need_an_owner_that_answers();
	leave("reused", true);
}

static void peer_is_reached_after_its_memory_has_gone(void **state)
{
	need_an_owner_that_answers();
	leave("gone", false);
}

static void peer_that_called_is_reached_after_its_memory_has_gone(void **state)
{
	need_an_owner_that_answers();
	leave("gone", true);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(memory_that_is_reused_is_read_no_more),
		TEST(memory_that_is_reused_is_read_no_more_by_who_was_called),
		TEST(peer_is_reached_after_its_memory_has_gone),
		TEST(peer_that_called_is_reached_after_its_memory_has_gone),
	};
	int result = puppet_main(argc, argv);

	if (result >= 0)
		return result;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
