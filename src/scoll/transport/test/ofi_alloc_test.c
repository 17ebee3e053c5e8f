/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a message costs in memory: every allocation of the process is counted,
 * libfabric's too. The program's own malloc stands before the C library's, so
 * it is not built into one with a sanitizer, which has its own.
 */
#include "scoll/transport/ofi/ofi.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "scoll/transport/test/node.h"
#include "sys/test/watchdog.h"

#define WARM  3000
#define COUNT 10000
#define BYTES 2000
#define TAG   (UINT64_C(0x5eed) << 12)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_COUNTED false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_COUNTED false
#endif
#endif
#ifndef IS_COUNTED
#define IS_COUNTED true

static uint64_t allocation_count;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *old, size_t size);

void *malloc(size_t size)
{
	allocation_count++;
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	allocation_count++;
	return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
	allocation_count++;
	return __libc_realloc(old, size);
}
#else
static const uint64_t allocation_count;
#endif

static struct node node;
static struct puppet puppet;
static char answer[CHILD_ANSWER_MAX];
static uint8_t bytes[BYTES];

static int setup(void **state)
{
	watchdog_start(NULL);
	node_open(&node, test_host(), NULL, 0);
	puppet_meet_new(&puppet, 0, &node);
	return 0;
}

static int teardown(void **state)
{
	child_stop(&puppet.child);
	node_close(&node);
	watchdog_stop();
	return 0;
}

static void round_trip(void)
{
	struct iovec piece = { bytes, BYTES };
	struct move sent = { .is_done = false }, replied = { .is_done = false };

	assert_int_equal(node.ops->reply_post(node.t, 1, TAG, &piece, 1,
					      &replied.transfer),
			 0);
	assert_int_equal(
		node.ops->send(node.t, SELF_NID, &piece, 1, &sent.transfer), 0);
	assert_int_equal(node_finish(&node, &sent), 0);
	sent = (struct move){ .is_done = false };
	assert_int_equal(node.ops->reply_send(node.t, SELF_NID, TAG, &piece, 1,
					      &sent.transfer),
			 0);
	assert_int_equal(node_finish(&node, &sent), 0);
	assert_int_equal(node_finish(&node, &replied), 0);
}

/* A message, a reply for which a buffer is posted, over and over. */
static void steady_state_M06_allocates_nothing(void **state)
{
	uint8_t address[TRANSPORT_ADDRESS_MAX];
	struct transport_stats before, after;
	size_t size = node_address(&node, address);
	uint64_t count;

	node_meet(&node, SELF_NID, address, size);
	for (int i = 0; i < WARM; i++)
		round_trip();
	node.kind->stats(node.t, &before);
	count = allocation_count;
	for (int i = 0; i < COUNT; i++)
		round_trip();
	count = allocation_count - count;
	node.kind->stats(node.t, &after);
	assert_int_equal(after.sent_count, before.sent_count + 2 * COUNT);
	assert_int_equal(after.allocation_count, before.allocation_count);
	/* libfabric: one for each sweep, of which there is one a second. */
	if (IS_COUNTED)
		assert_in_range(count, 0, COUNT / 100);
}

/* What comes from elsewhere, thousands of them. */
static void receiving_M06_allocates_nothing(void **state)
{
	struct transport_stats before, after;
	uint64_t count;

	child_tell(&puppet.child, "send 1 0 %d 500", WARM);
	node_until(&node, &node.received_count, WARM);
	puppet_hear(&puppet, &node, answer);
	node.kind->stats(node.t, &before);
	child_tell(&puppet.child, "send 1 0 %d 500", COUNT);
	count = allocation_count;
	node_until(&node, &node.received_count, WARM + COUNT);
	count = allocation_count - count;
	node.kind->stats(node.t, &after);
	puppet_hear(&puppet, &node, answer);
	assert_int_equal(after.allocation_count, before.allocation_count);
	if (IS_COUNTED)
		assert_in_range(count, 0, COUNT / 100);
}

int main(int argc, char **argv)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			steady_state_M06_allocates_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(receiving_M06_allocates_nothing,
						setup, teardown),
	};
	int result = puppet_main(argc, argv);

	return result >= 0 ? result : cmocka_run_group_tests(tests, NULL, NULL);
}
