/* SPDX-License-Identifier: BSD-3-Clause */
/* A lane's record, and where ranks are. */
#include "lanes/driver/elan3/record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "lanes/driver/elan3/geometry.h"
#include "elan/capability.h"

/* ElanIDs 3, 5 and 9 with 2, 3 and 1 tasks. */
static struct elan_capability cap_of(bool is_cyclic)
{
	static const uint8_t key[ELAN3_KEY_SIZE];
	uint32_t ids[] = { 5, 3, 9 };
	const uint32_t tasks[] = { 3, 2, 1 };
	const struct elan3_geometry geometry = {
		.count = 3,
		.ids = ids,
		.tasks = tasks,
		.low = 3,
		.high = 9,
		.most = 3,
	};
	struct elan_capability cap;

	elan3_capability_make(&geometry, 1024, 1026, is_cyclic, 1, key, &cap);
	return cap;
}

static void assert_rank(const struct elan_capability *cap, uint32_t rank,
			uint32_t node, uint32_t context)
{
	uint32_t found_node, found_context;

	assert_int_equal(
		capability_locate(cap, rank, &found_node, &found_context), 0);
	assert_int_equal(found_node, node);
	assert_int_equal(found_context, context);
	assert_int_equal(capability_rank_of(cap, node, context), (int)rank);
}

static void ranks_go_by_the_layout(void **state)
{
	struct elan_capability block = cap_of(false);
	struct elan_capability cyclic = cap_of(true);
	uint32_t node, context;

	assert_rank(&block, 0, 0, 0);
	assert_rank(&block, 1, 0, 1);
	assert_rank(&block, 2, 2, 0);
	assert_rank(&block, 4, 2, 2);
	assert_rank(&block, 5, 6, 0);
	assert_rank(&cyclic, 0, 0, 0);
	assert_rank(&cyclic, 1, 2, 0);
	assert_rank(&cyclic, 2, 6, 0);
	assert_rank(&cyclic, 3, 0, 1);
	assert_rank(&cyclic, 5, 2, 2);
	assert_int_equal(capability_locate(&block, 6, &node, &context),
			 -ENOENT);
	assert_int_equal(capability_locate(&cyclic, UINT32_MAX, &node,
					   &context),
			 -ENOENT);
	assert_int_equal(capability_rank_of(&block, 1, 0), -ENOENT);
	assert_int_equal(capability_rank_of(&cyclic, 0, 2), -ENOENT);
	block.cap_type |= ELAN_CAP_TYPE_NO_BITMAP;
	assert_rank(&block, 3, 1, 0);
	assert_rank(&block, 20, 6, 2);
}

static void a_share_counts_nodes_with_processes(void **state)
{
	struct elan_capability cap = cap_of(false);
	struct elan3_share share = { 0 };

	assert_int_equal(elan3_share_of(&cap, 3, &share), 0);
	assert_int_equal(share.node, 0);
	assert_int_equal(share.nodes, 3);
	assert_int_equal(share.processes, 6);
	assert_int_equal(elan3_share_of(&cap, 9, &share), 0);
	assert_int_equal(share.node, 2);
	assert_int_equal(elan3_share_of(&cap, 4, &share), -EINVAL);
	assert_int_equal(elan3_share_of(&cap, 2, &share), -EINVAL);
	assert_int_equal(elan3_share_of(&cap, 10, &share), -EINVAL);
}

static void a_record_is_read_as_it_was_written(void **state)
{
	const struct elan3_share share = { 300, 70000 % ELAN_MAX_VPS, 299 };
	struct fairlead_record record = { 0 };
	struct fairlead_error error;
	struct elan3_share found;

	elan3_record_encode(&share, 7, &record);
	assert_int_equal(elan3_record_decode(&record, &found, &error), 0);
	assert_memory_equal(&found, &share, sizeof(share));
	record.size = 0;
	assert_int_equal(elan3_record_decode(&record, &found, &error), 0);
	assert_int_equal(found.nodes, 0);
}

static void a_damaged_record_is_refused(void **state)
{
	const struct elan3_share bad[] = {
		{ 0, 5, 0 },
		{ 3, 5, 3 },
		{ 3, 2, 0 },
		{ 3, ELAN_MAX_VPS + 1, 0 },
	};
	struct elan3_share share = { 3, 5, 1 };
	struct fairlead_record record = { 0 };
	struct fairlead_error error;

	elan3_record_encode(&share, 7, &record);
	for (size_t size = 1; size < record.size; size++) {
		struct fairlead_record cut = record;

		cut.size = size;
		assert_int_equal(elan3_record_decode(&cut, &share, &error),
				 -EBADMSG);
	}
	record.size++;
	assert_int_equal(elan3_record_decode(&record, &share, &error),
			 -EBADMSG);
	record.size = SIZE_MAX;
	assert_int_equal(elan3_record_decode(&record, &share, &error),
			 -EBADMSG);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		elan3_record_encode(&bad[i], 7, &record);
		assert_int_equal(elan3_record_decode(&record, &share, &error),
				 -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_go_by_the_layout),
		cmocka_unit_test(a_share_counts_nodes_with_processes),
		cmocka_unit_test(a_record_is_read_as_it_was_written),
		cmocka_unit_test(a_damaged_record_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
