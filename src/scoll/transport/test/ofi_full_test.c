/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a peer has no room for is its own trouble, and of our own buffers some
 * are there at any time.
 */
#include "scoll/transport/ofi/ofi.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scoll/transport/ofi/internal.h"
#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

static struct node node;

static const struct transport_ofi *ofi(const struct node *of)
{
	return of->t;
}
static struct puppet puppets[2];

static int setup(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, 0);
	return 0;
}

static int setup_plain(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, TRANSPORT_OFI_PLAIN_RECEIVES);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < 2; i++)
		child_stop(&puppets[i].child);
	node_close(&node);
	watchdog_stop();
	return 0;
}

static int send_to(scoll_nid_t nid, struct move *move)
{
	static uint8_t byte = 1;
	struct iovec piece = { &byte, 1 };

	return node.ops->send(node.t, nid, &piece, 1, &move->transfer);
}

static void full_peer_is_busy_and_holds_up_nobody_else(void **state)
{
	static struct move moves[TRANSPORT_OFI_PENDING_MAX];
	struct move move = { 0 };

	puppet_meet_new(&puppets[0], 0, &node);
	puppet_meet_new(&puppets[1], 1, &node);
	child_kill(&puppets[0].child);
	for (int i = 0; i < TRANSPORT_OFI_PENDING_MAX; i++)
		assert_int_equal(send_to(PUPPET_NID(0), &moves[i]), 0);
	assert_int_equal(send_to(PUPPET_NID(0), &move), -EBUSY);
	assert_int_equal(send_to(PUPPET_NID(1), &move), 0);
	assert_int_equal(node_finish(&node, &move), 0);
	node.kind->stop(node.t);
	for (int i = 0; i < TRANSPORT_OFI_PENDING_MAX; i++)
		assert_true(moves[i].is_done);
}

/* One message at a time, so that no progress can use up half of them. */
static void buffers_M02_are_posted_again_when_half_are_left(void **state)
{
	int count = ofi(&node)->slab_count;
	int least = count;

	assert_int_equal(ofi(&node)->posted_count, count);
	puppet_meet_new(&puppets[0], 0, &node);
	for (int i = 0; i < 2 * count; i++) {
		char answer[CHILD_ANSWER_MAX];

		child_tell(&puppets[0].child, "send 1 0 1 100");
		puppet_hear(&puppets[0], &node, answer);
		node_until(&node, &node.received_count, (uint64_t)i + 1);
		if (ofi(&node)->posted_count < least)
			least = ofi(&node)->posted_count;
	}
	assert_true(least > count / 2);
	assert_true(least < count); /* in batches, not each at once */
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			full_peer_is_busy_and_holds_up_nobody_else, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			buffers_M02_are_posted_again_when_half_are_left,
			setup_plain, teardown),
	};
	int result = puppet_main(argc, argv);

	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
