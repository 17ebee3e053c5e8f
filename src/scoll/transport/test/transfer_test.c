/* SPDX-License-Identifier: BSD-3-Clause */
/* The seam between processes. The provider is the program's argument. */
#include "scoll/transport/ofi/ofi.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define TAG   (UINT64_C(0x5eed) << 12)
#define BYTES (SCOLL_REPLY_PART_MAX + 256)

static struct node node;
static struct puppet puppets[SENDERS_MAX];
static char answer[CHILD_ANSWER_MAX];

static int setup(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, 0);
	return 0;
}

/* The same with what other providers need. */
static int setup_poor(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL,
		  TRANSPORT_OFI_PLAIN_RECEIVES | TRANSPORT_OFI_LOCAL_MEMORY);
	return 0;
}

static int teardown(void **state)
{
	for (int i = 0; i < SENDERS_MAX; i++)
		child_stop(&puppets[i].child);
	if (node.t != NULL)
		node_close(&node);
	watchdog_stop();
	return 0;
}

/* Until the puppet has received so many. */
static void puppet_counts(struct puppet *puppet, unsigned count)
{
	unsigned received, damaged;

	do {
		child_tell(&puppet->child, "count");
		puppet_hear(puppet, &node, answer);
		assert_int_equal(sscanf(answer, "%u %u", &received, &damaged),
				 2);
		assert_int_equal(damaged, 0);
	} while (received < count);
	assert_int_equal(received, count);
}

static void message_arrives_as_it_was_sent(void **state)
{
	static const size_t sizes[] = { 5, 64, 1000, SCOLL_BCAST_MAX };
	struct move move;

	puppet_meet_new(&puppets[0], 0, &node);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		child_tell(&puppets[0].child, "send 1 3 1 %zu", sizes[i]);
		node_until(&node, &node.received_count, i + 1);
		puppet_hear(&puppets[0], &node, answer);
		assert_string_equal(answer, "0 0");
		assert_int_equal(node.last_size, sizes[i]);
		assert_int_equal(
			node_send(&node, PUPPET_NID(0), 1, sizes[i], &move), 0);
		assert_int_equal(node_finish(&node, &move), 0);
	}
	assert_int_equal(node.from[3], 4);
	assert_int_equal(node.damaged_count, 0);
	puppet_counts(&puppets[0], 4);
}

/* More than is taken from the queue in one go, and nothing to remind us. */
static void what_has_come_is_shown_until_it_was_taken(void **state)
{
	struct pollfd fd = { .fd = node.kind->fd(node.t), .events = POLLIN };

	puppet_meet_new(&puppets[0], 0, &node);
	child_tell(&puppets[0].child, "send 1 3 1 64");
	node_until(&node, &node.received_count, 1);
	puppet_hear(&puppets[0], &node, answer);
	child_tell(&puppets[0].child, "send 1 3 100 64");
	child_hear(&puppets[0].child, answer);
	while (node.received_count < 101) {
		if (node.kind->deadline_ns(node.t) > 0)
			assert_int_equal(poll(&fd, 1, -1), 1);
		node.kind->progress(node.t, test_now_ns());
	}
}

static void what_cannot_be_sent_is_refused_at_once(void **state)
{
	static uint8_t bytes[SCOLL_BCAST_MAX + 1];
	struct iovec piece = { bytes, sizeof(bytes) };
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	struct move move = { .is_done = false };
	size_t size = node_address(&node, address);

	node_meet(&node, SELF_NID, address, size);
	assert_int_equal(node.ops->send(node.t, SELF_NID, &piece, 1,
					&move.transfer),
			 -EMSGSIZE);
	piece.iov_len = 0;
	assert_int_equal(node.ops->send(node.t, SELF_NID, &piece, 1,
					&move.transfer),
			 -EINVAL);
	piece.iov_len = 10;
	assert_int_equal(node.ops->send(node.t, 99, &piece, 1, &move.transfer),
			 -EHOSTUNREACH);
	assert_int_equal(node.ops->reply_send(node.t, SELF_NID,
					      TRANSPORT_TAG_MAX + 1, &piece, 1,
					      &move.transfer),
			 -EINVAL);
	assert_int_equal(node.kind->peer_set(node.t, 5, address, size - 1),
			 -EINVAL);
	assert_int_equal(node.kind->peer_set(node.t, 5, address, 0), -ENOENT);
	assert_int_equal(node.kind->peer_set(node.t, SELF_NID, address, 0), 0);
	assert_int_equal(node.ops->send(node.t, SELF_NID, &piece, 1,
					&move.transfer),
			 -EHOSTUNREACH);
	size = 1;
	assert_int_equal(node.kind->address(node.t, address, &size), -ENOSPC);
	assert_true(size > 1);
	assert_false(move.is_done);
}

static void connections_are_polled_often_unless_configured_otherwise(
	void **state)
{
	static const char variable[] = "FI_OFI_RXM_CM_PROGRESS_INTERVAL";

	if (test_provider_is("tcp")) {
		print_message("libfabric is not there\n");
		skip();
	}

	node_close(&node);
	assert_int_equal(unsetenv(variable), 0);
	node_open(&node, test_host(), NULL, 0);
	assert_string_equal(getenv(variable), "100");
	node_close(&node);
	assert_int_equal(setenv(variable, "5000", 1), 0);
	node_open(&node, test_host(), NULL, 0);
	assert_string_equal(getenv(variable), "5000");
	assert_int_equal(setenv(variable, "100", 1), 0);
}

static void unknown_provider_is_an_error_that_says_so(void **state)
{
	struct transport_options options = { .provider = "pigeon" };
	struct transport other = { 0 };
	struct fairlead_error error = { 0 };

	assert_int_equal(transport_open(&options, &other, &error), -ENODATA);
	assert_null(other.ctx);
	assert_non_null(strstr(error.text, "pigeon"));
}

/* Of four senders at once, faster than they can be taken. */
static void crowd_M01_M02_loses_no_message_to_a_slow_receiver(void **state)
{
	node.burn_ns = 20000;
	for (int i = 0; i < 4; i++)
		puppet_meet_new(&puppets[i], i, &node);
	for (int i = 0; i < 4; i++)
		child_tell(&puppets[i].child, "send 1 %d 500 %d", i,
			   100 + 1000 * i);
	node_until(&node, &node.received_count, 2000);
	for (int i = 0; i < 4; i++) {
		puppet_hear(&puppets[i], &node, answer);
		assert_string_equal(answer, "0 0");
		assert_int_equal(node.from[i], 500);
	}
	assert_int_equal(node.received_count, 2000);
	assert_int_equal(node.damaged_count, 0);
}

static void post(uint64_t tag, uint8_t *bytes, size_t size, struct move *move)
{
	struct iovec pieces[] = { { bytes, size / 4 },
				  { bytes + size / 4, size - size / 4 } };

	memset(move, 0, sizeof(*move));
	memset(bytes, 0xee, size);
	assert_int_equal(node.ops->reply_post(node.t, PUPPET_NID(0), tag,
					      pieces, 2, &move->transfer),
			 0);
}

static void reply(uint64_t tag, size_t size)
{
	child_tell(&puppets[0].child, "reply 1 %" PRIu64 " %zu", tag, size);
}

static void replied(void)
{
	puppet_hear(&puppets[0], &node, answer);
	assert_string_equal(answer, "0");
}

static void reply_M03_meets_the_buffer_of_its_tag_only(void **state)
{
	static const uint64_t tags[] = { TAG, TAG + 1, TAG + 4096,
					 TRANSPORT_TAG_MAX - 4095,
					 TAG + (UINT64_C(1) << 40) };
	static uint8_t bytes[5][BYTES];
	static const size_t sizes[] = { 256, 100, 5000, BYTES, 20000 };
	struct move moves[5];

	puppet_meet_new(&puppets[0], 0, &node);
	for (int i = 0; i < 5; i++)
		post(tags[i], bytes[i], sizes[i] + (i == 1 ? 50 : 0),
		     &moves[i]);
	for (int i = 4; i > 0; i--) {
		reply(tags[i], sizes[i]);
		assert_int_equal(node_finish(&node, &moves[i]), 0);
		replied();
		assert_int_equal(moves[i].size, sizes[i]);
		for (size_t at = 0; at < sizes[i]; at++)
			assert_int_equal(bytes[i][at], test_byte(at));
	}
	assert_false(moves[0].is_done);
	node.ops->cancel(node.t, &moves[0].transfer);
	assert_int_equal(node_finish(&node, &moves[0]), -ECANCELED);
	/* Ended ones are not cancelled twice. */
	node.ops->cancel(node.t, &moves[0].transfer);
	assert_int_equal(bytes[0][0], 0xee);
}

/* Over tcp such an error costs the connection, and with it what is on it. */
static void is_reachable(void)
{
	uint64_t count = node.received_count;

	while (node.received_count == count) {
		child_tell(&puppets[0].child, "send 1 0 1 100");
		puppet_hear(&puppets[0], &node, answer);
		node_step(&node, test_now_ns() + 1000000);
	}
}

static void reply_that_is_too_large_is_an_error(void **state)
{
	static uint8_t bytes[1000];
	struct move move;

	puppet_meet_new(&puppets[0], 0, &node);
	post(TAG, bytes, sizeof(bytes), &move);
	reply(TAG, 1001);
	assert_int_equal(node_finish(&node, &move), -EMSGSIZE);
	puppet_hear(&puppets[0], &node, answer);
	is_reachable();
}

static int open_remote(const char *sizes, struct remote_piece *ret_pieces)
{
	const char *at = answer;
	int count = 0, used;

	child_tell(&puppets[0].child, "open %s", sizes);
	puppet_hear(&puppets[0], &node, answer);
	while (sscanf(at, "%" SCNu64 " %" SCNu64 " %" SCNu64 "%n",
		      &ret_pieces[count].address, &ret_pieces[count].key,
		      &ret_pieces[count].size, &used) == 3) {
		at += used;
		count++;
	}
	return count;
}

static int read_all(const struct remote_piece *remote, int count,
		    uint64_t remote_at, struct region *region,
		    uint64_t local_at, size_t size)
{
	struct move move = { .is_done = false };
	int result;

	do {
		result = node.ops->read(node.t, PUPPET_NID(0), remote, count,
					remote_at, region, local_at, size,
					&move.transfer);
		if (result == -EAGAIN)
			node_step(&node, test_now_ns() + 1000000);
	} while (result == -EAGAIN);
	return result < 0 ? result : node_finish(&node, &move);
}

#define REMOTE_BYTES (1000 + 1 + 0 + 70000 + 3 + 300000)

static void read_crosses_pieces_on_both_sides(void **state)
{
	static uint8_t bytes[2][REMOTE_BYTES];
	static const struct {
		uint64_t remote_at, local_at;
		size_t size;
	} cases[] = { { 0, 0, REMOTE_BYTES },
		      { 999, 17, 3 },
		      { 1000, 0, 1 },
		      { 70990, 4990, 300000 },
		      { REMOTE_BYTES - 1, 0, 1 } };
	struct remote_piece remote[SCOLL_BULK_IOVS_MAX];
	struct iovec pieces[] = { { bytes[0], 5000 },
				  { bytes[0] + 6000, 1 },
				  { bytes[1], REMOTE_BYTES } };
	struct region region;
	int count;

	puppet_meet_new(&puppets[0], 0, &node);
	count = open_remote("1000 1 0 70000 3 300000", remote);
	assert_int_equal(count, 6);
	assert_int_equal(
		node.ops->region_open(node.t, pieces, 3, &region, NULL), 0);
	assert_int_equal(region.size, 5001 + REMOTE_BYTES);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(bytes, 0, sizeof(bytes));
		assert_int_equal(read_all(remote, count, cases[i].remote_at,
					  &region, cases[i].local_at,
					  cases[i].size),
				 0);
		for (size_t at = 0; at < cases[i].size; at++) {
			size_t local = cases[i].local_at + at;
			uint8_t *byte = local < 5000 ? &bytes[0][local]
					: local == 5000
						? &bytes[0][6000]
						: &bytes[1][local - 5001];

			assert_int_equal(*byte,
					 test_byte(cases[i].remote_at + at));
		}
	}
	assert_int_equal(read_all(remote, count, 1, &region, 0, REMOTE_BYTES),
			 -EINVAL);
	assert_int_equal(
		read_all(remote, count, 0, &region, 5001, REMOTE_BYTES), 0);
	assert_int_equal(read_all(remote, count, 0, &region, 5002,
				  REMOTE_BYTES),
			 -EINVAL);
	remote[0].size = UINT64_MAX;
	assert_int_equal(read_all(remote, count, 0, &region, 0, 1), -EINVAL);
	node.ops->region_close(node.t, &region);
	assert_null(region.handle);
}

static void read_of_a_closed_region_fails(void **state)
{
	static uint8_t bytes[1000];
	struct iovec piece = { bytes, sizeof(bytes) };
	struct remote_piece remote[SCOLL_BULK_IOVS_MAX];
	struct region region;
	int count;

	puppet_meet_new(&puppets[0], 0, &node);
	count = open_remote("1000", remote);
	assert_int_equal(
		node.ops->region_open(node.t, &piece, 1, &region, NULL), 0);
	assert_int_equal(read_all(remote, count, 0, &region, 0, 1000), 0);
	child_tell(&puppets[0].child, "close");
	puppet_hear(&puppets[0], &node, answer);
	memset(bytes, 0, sizeof(bytes));
	assert_true(read_all(remote, count, 0, &region, 0, 1000) < 0);
	assert_int_equal(bytes[999], 0);
	remote[0].key++;
	assert_true(read_all(remote, count, 0, &region, 0, 1000) < 0);
	node.ops->region_close(node.t, &region);
	is_reachable();
}

/* The reply of a request that was given up, and then a message. */
static void late_reply_meets_no_buffer_and_blocks_nothing(void **state)
{
	static uint8_t bytes[BYTES];
	struct transport_stats stats;
	struct move move;

	puppet_meet_new(&puppets[0], 0, &node);
	for (unsigned i = 0; i < 20; i++) {
		post(TAG + 4096 * i, bytes, BYTES, &move);
		node.ops->cancel(node.t, &move.transfer);
		assert_int_equal(node_finish(&node, &move), -ECANCELED);
		reply(TAG + 4096 * i, i % 2 == 0 ? 1000 : BYTES);
		replied();
		child_tell(&puppets[0].child, "send 1 0 1 100");
		node_until(&node, &node.received_count, i + 1);
		puppet_hear(&puppets[0], &node, answer);
		assert_string_equal(answer, "0 0");
		assert_int_equal(bytes[0], 0xee);
	}
	do {
		node_step(&node, test_now_ns() + 1000000);
		node.kind->stats(node.t, &stats);
	} while (stats.stale_count < 20);
}

/* Tags that were never posted; a forger's, say. */
static void reply_of_an_unknown_tag_is_dropped(void **state)
{
	struct transport_stats stats;

	puppet_meet_new(&puppets[0], 0, &node);
	for (unsigned i = 0; i < 100; i++) {
		reply(TAG + 4096 * i, 2000);
		puppet_hear(&puppets[0], &node, answer);
		node_skip(&node, UINT64_C(1000000000));
	}
	do {
		node_skip(&node, UINT64_C(1000000000));
		node_step(&node, test_now_ns() + 1000000);
		node.kind->stats(node.t, &stats);
	} while (stats.stale_count < 100);
	child_tell(&puppets[0].child, "send 1 0 1 100");
	node_until(&node, &node.received_count, 1);
}

/* A part that comes before its buffer, after the part before it. */
static void early_part_waits_for_its_buffer(void **state)
{
	static uint8_t bytes[2000];
	struct transport_stats stats;
	struct move move;

	if (test_provider_is("tcp")) {
		print_message("what is sent after the post comes after it\n");
		skip();
	}
	puppet_meet_new(&puppets[0], 0, &node);
	post(TAG, bytes, sizeof(bytes), &move);
	reply(TAG, 2000);
	assert_int_equal(node_finish(&node, &move), 0);
	replied();
	node_skip(&node, UINT64_C(20000000));
	reply(TAG + 1024, 2000);
	for (int i = 0; i < 40; i++)
		node_skip(&node, UINT64_C(20000000));
	post(TAG + 1024, bytes, sizeof(bytes), &move);
	assert_int_equal(node_finish(&node, &move), 0);
	puppet_hear(&puppets[0], &node, answer);
	assert_int_equal(bytes[1999], test_byte(1999));
	node.kind->stats(node.t, &stats);
	assert_int_equal(stats.stale_count, 0);
}

static void transfers_to_ourselves_work(void **state)
{
	static uint8_t bytes[1000];
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	struct iovec piece = { bytes, sizeof(bytes) };
	struct move move, sent = { .is_done = false };
	size_t size = node_address(&node, address);

	if (test_provider_is("tcp")) {
		print_message("nobody needs replies to ourselves\n");
		skip();
	}
	node_meet(&node, SELF_NID, address, size);
	assert_int_equal(node_send(&node, SELF_NID, 2, 1000, &move), 0);
	node_until(&node, &node.received_count, 1);
	assert_int_equal(node_finish(&node, &move), 0);
	assert_int_equal(node.from[2], 1);
	post(TAG, bytes, sizeof(bytes), &move);
	assert_int_equal(node.ops->reply_send(node.t, SELF_NID, TAG, &piece, 1,
					      &sent.transfer),
			 0);
	assert_int_equal(node_finish(&node, &move), 0);
	assert_int_equal(node_finish(&node, &sent), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
#define POOR(name)                                                         \
	{                                                                  \
#name "_with_a_poor_provider", name, setup_poor, teardown, \
			NULL                                               \
	}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		TEST(message_arrives_as_it_was_sent),
		TEST(what_has_come_is_shown_until_it_was_taken),
		TEST(what_cannot_be_sent_is_refused_at_once),
		TEST(connections_are_polled_often_unless_configured_otherwise),
		TEST(unknown_provider_is_an_error_that_says_so),
		TEST(crowd_M01_M02_loses_no_message_to_a_slow_receiver),
		TEST(reply_M03_meets_the_buffer_of_its_tag_only),
		TEST(reply_that_is_too_large_is_an_error),
		TEST(read_crosses_pieces_on_both_sides),
		TEST(read_of_a_closed_region_fails),
		TEST(late_reply_meets_no_buffer_and_blocks_nothing),
		TEST(reply_of_an_unknown_tag_is_dropped),
		TEST(early_part_waits_for_its_buffer),
		TEST(transfers_to_ourselves_work),
		POOR(message_arrives_as_it_was_sent),
		POOR(crowd_M01_M02_loses_no_message_to_a_slow_receiver),
		POOR(reply_M03_meets_the_buffer_of_its_tag_only),
		POOR(read_crosses_pieces_on_both_sides),
	};
	int result = puppet_main(argc, argv);

	if (result < 0 && argc > 2)
		cmocka_set_test_filter(argv[2]);
	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
