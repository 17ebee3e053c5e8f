/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/member/roster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "sim/heap.h"

static void indexes_follow_the_order(void **state)
{
	static const uint64_t nids[] = { 30, 10, UINT64_MAX, 0 };
	struct roster *roster;

	assert_int_equal(roster_create(nids, 4, &roster), 0);
	assert_int_equal(roster_count(roster), 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(roster_nid(roster, i), nids[i]);
		assert_int_equal(roster_index(roster, nids[i]), i);
	}
	assert_int_equal(roster_index(roster, 11), ROSTER_NONE);
	roster_destroy(roster);
}

static void the_same_node_twice_is_refused(void **state)
{
	static const uint64_t nids[] = { 1, 2, 1 };
	struct roster *roster = NULL;
	uint32_t index = 77;

	assert_int_equal(roster_create(nids, 3, &roster), -EEXIST);
	assert_null(roster);
	assert_int_equal(roster_create(nids, 2, &roster), 0);
	assert_int_equal(roster_add(roster, 2, &index), -EEXIST);
	assert_int_equal(index, 77);
	assert_int_equal(roster_add(roster, 3, &index), 0);
	assert_int_equal(index, 2);
	roster_destroy(roster);
}

static void more_than_the_maximum_is_refused(void **state)
{
	struct roster *roster;
	uint32_t index;

	assert_int_equal(roster_create(NULL, ROSTER_NODE_MAX + 1, &roster),
			 -ENOSPC);
	assert_int_equal(roster_create(NULL, 0, &roster), 0);
	for (uint64_t nid = 0; nid < ROSTER_NODE_MAX; nid++)
		assert_int_equal(roster_add(roster, nid * 977, &index), 0);
	assert_int_equal(roster_add(roster, 1, &index), -ENOSPC);
	assert_int_equal(roster_index(roster, 977 * 1234), 1234);
	roster_destroy(roster);
}

static void digest_of(const uint64_t *nids, size_t count, uint8_t *digest)
{
	struct roster *roster;

	assert_int_equal(roster_create(nids, count, &roster), 0);
	roster_digest(roster, digest);
	roster_destroy(roster);
}

static void the_digest_covers_nodes_and_order(void **state)
{
	uint8_t digests[4][ROSTER_DIGEST_SIZE];

	digest_of((uint64_t[]){ 1, 2, 3 }, 3, digests[0]);
	digest_of((uint64_t[]){ 1, 3, 2 }, 3, digests[1]);
	digest_of((uint64_t[]){ 1, 2 }, 2, digests[2]);
	digest_of((uint64_t[]){ 1, 2, 3 }, 3, digests[3]);
	assert_memory_equal(digests[0], digests[3], ROSTER_DIGEST_SIZE);
	assert_memory_not_equal(digests[0], digests[1], ROSTER_DIGEST_SIZE);
	assert_memory_not_equal(digests[0], digests[2], ROSTER_DIGEST_SIZE);
}

static int make_some(void *ctx)
{
	uint64_t nids[40];
	struct roster *roster;
	int result;

	for (uint64_t i = 0; i < 40; i++)
		nids[i] = i << 32;
	result = roster_create(nids, 40, &roster);
	if (result == 0)
		roster_destroy(roster);
	return result;
}

static void memory_that_runs_out_leaves_nothing(void **state)
{
	int result;
	unsigned int n;

	for (n = 1; sim_heap_fails(n, &result, make_some, NULL); n++)
		assert_true(result == -ENOMEM || result == 0);
	assert_int_equal(result, 0);
	assert_true(n > 40);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(indexes_follow_the_order),
		cmocka_unit_test(the_same_node_twice_is_refused),
		cmocka_unit_test(more_than_the_maximum_is_refused),
		cmocka_unit_test(the_digest_covers_nodes_and_order),
		cmocka_unit_test(memory_that_runs_out_leaves_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
