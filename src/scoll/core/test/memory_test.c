/* SPDX-License-Identifier: BSD-3-Clause */
/* What a core takes, what it gives back, and what it does without. */
#include "cast.h"

#include <malloc.h>
#include <stdlib.h>

#include "scoll/core/test/fail.h"
#include "sim/heap.h"

static uint64_t allocations_of(const struct cast *cast)
{
	uint64_t sum = 0;

	for (int i = 0; i < cast->count; i++)
		sum += cast->members[i].core->stats.allocations;
	return sum;
}

static void idle_member_M08_S02_is_small(void **state)
{
	struct cast cast;
	const struct scoll_core *core;

	cast_init(&cast, 1, SCOLL_TREE_BINOMIAL);
	core = cast.members[0].core;
	assert_int_equal(core->stats.allocations, 0);
	assert_true(malloc_usable_size((void *)core) +
			    malloc_usable_size(core->replay) +
			    malloc_usable_size(core->groups) <
		    2048);
	cast_finish(&cast, NULL);
}

static void steady_state_M06_B5_takes_no_memory(void **state)
{
	static uint8_t bulk[1000];
	struct iovec iov = { bulk, sizeof(bulk) };
	struct cast cast;
	scoll_group_t *group;
	uint64_t before = 0;

	cast_init(&cast, 16, SCOLL_TREE_KNOMIAL(4));
	group = cast_group(&cast, 0, 0, 16);
	for (int round = 0; round < 60; round++) {
		cast_script_clear(&cast);
		cast_bcast(&cast, 0, group, "x");
		cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
		cast_run(&cast);
		assert_int_equal(cast.members[0].status, 0);
		if (round == 10)
			before = allocations_of(&cast);
	}
	assert_true(before > 0);
	assert_int_equal(allocations_of(&cast), before);
	cast_finish(&cast, group);
}

static void pool_M08_keeps_no_more_than_its_limit(void **state)
{
	enum {
		COUNT = 40
	};
	struct cast cast;
	struct scoll_core *core;
	void *blocks[COUNT];

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	core = cast.members[0].core;
	for (int i = 0; i < COUNT; i++) {
		blocks[i] = scoll_core_alloc(core, 1 << 19);
		assert_non_null(blocks[i]);
	}
	for (int i = 0; i < COUNT; i++)
		scoll_core_release(core, blocks[i]);
	assert_int_equal(core->pool_kept, POOL_KEPT_MAX);
	/* Too large to be kept at all. */
	scoll_core_release(core, scoll_core_alloc(core, (size_t)1 << 28));
	assert_int_equal(core->pool_kept, POOL_KEPT_MAX);
	cast_finish(&cast, NULL);
}

static void pool_M08_takes_no_more_for_what_it_never_keeps(void **state)
{
	const size_t size = POOL_KEPT_MAX + POOL_KEPT_MAX / 8;
	struct cast cast;
	struct scoll_core *core;
	void *block;

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	core = cast.members[0].core;
	block = scoll_core_alloc(core, size);
	assert_non_null(block);
	assert_in_range(malloc_usable_size((struct pool_block *)block - 1),
			size, size + POOL_KEPT_MAX / 8);
	scoll_core_release(core, block);
	/* The largest that is. */
	scoll_core_release(core, scoll_core_alloc(core, POOL_KEPT_MAX));
	assert_int_equal(core->pool_kept, POOL_KEPT_MAX);
	cast_finish(&cast, NULL);
}

static void deadlines_O01_come_in_their_order(void **state)
{
	enum {
		COUNT = 200
	};
	struct cast cast;
	struct scoll_core *core;
	struct bcast *bcasts[COUNT];
	uint64_t last_ns = 0;
	uint64_t seed = 1;

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	core = cast.members[0].core;
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(bcast_create(core, &bcasts[i]), 0);
		bcasts[i]->root = (scoll_nid_t)(i % 5);
		bcasts[i]->number = (uint64_t)i;
		bcast_enter(bcasts[i]);
	}
	for (int i = 0; i < 5 * COUNT; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1;
		bcast_due_set(bcasts[(seed >> 40) % COUNT],
			      i % 7 == 0 ? DEADLINE_NONE : seed >> 50);
	}
	for (int i = 0; i < COUNT; i++)
		assert_ptr_equal(bcast_find(core, (scoll_nid_t)(i % 5), 0,
					    (uint64_t)i),
				 bcasts[i]);
	assert_null(bcast_find(core, 1, 0, 0));
	while (bcast_due_first(core) != NULL) {
		assert_true(bcast_due_first(core)->due_ns >= last_ns);
		last_ns = bcast_due_first(core)->due_ns;
		bcast_due_set(bcast_due_first(core), DEADLINE_NONE);
	}
	for (int i = 0; i < COUNT; i += 2)
		bcast_destroy(bcasts[i], 0);
	for (int i = 1; i < COUNT; i += 2)
		assert_ptr_equal(bcast_find(core, (scoll_nid_t)(i % 5), 0,
					    (uint64_t)i),
				 bcasts[i]);
	for (int i = 1; i < COUNT; i += 2)
		bcast_destroy(bcasts[i], 0);
	cast_finish(&cast, NULL);
}

/* --- memory that runs out --- */

static uint8_t bulk_bytes[300];

static int everything(void *ctx)
{
	struct iovec iov = { bulk_bytes, sizeof(bulk_bytes) };
	struct cast *cast = ctx;
	struct member *root = &cast->members[0];
	scoll_request_t *request;
	int result;

	root->group_status = 1;
	result = cast_group_try(cast, 0, 0, cast->count, root->sum == 1);
	if (result < 0)
		return result;
	cast_settle(cast);
	if (root->group_status < 0)
		return root->group_status;
	result = cast_request_try(cast, 0, root->group, &iov, 1, &request);
	if (result == 0) {
		result = scoll_core_bcast_send(request, cast->now_ns);
		if (result < 0)
			cast_request_free(cast, request);
	}
	cast_settle(cast);
	scoll_core_group_destroy(root->group, cast->now_ns);
	cast_settle(cast);
	if (result == 0 && root->status < 0)
		return -EREMOTEIO;
	return result;
}

static void check_outcome(struct cast *cast, int result)
{
	int count = 0;

	cast_assert_grammar(cast);
	for (int i = 0; i < cast->count; i++) {
		assert_in_range(cast->members[i].request_count, 0, 1);
		count += cast->members[i].request_count;
	}
	/* S-03: it is a success, or it is not. */
	if (result == 0)
		assert_int_equal(count, cast->count);
	else if (result == -EREMOTEIO)
		assert_string_not_equal(cast->members[0].failures, "");
}

static void no_memory_E01_S03_is_an_error_wherever_it_strikes(void **state)
{
	for (uint32_t is_now = 0; is_now < 2; is_now++) {
		unsigned int failed = 0, n = 1;
		bool was_hit = true;

		for (; was_hit; n++) {
			struct cast cast;
			int result = 0;

			cast_init(&cast, 4, CAST_CHAIN);
			cast.members[0].sum = is_now;
			was_hit = sim_heap_fails(n, &result, everything, &cast);
			check_outcome(&cast, result);
			failed += result < 0;
			cast_finish(&cast, NULL);
			if (!was_hit)
				assert_int_equal(result, 0);
		}
		/* It did strike, and most of it could not be helped. */
		assert_true(n > 60);
		assert_true(failed > 30);
	}
}

/* More have failed than a request has room for: its list has to grow. */
static void failures_S03_E06_without_memory_are_everybody(void **state)
{
	unsigned int overflown = 0;
	bool was_hit = true;

	for (uint32_t n = 1; was_hit; n++) {
		struct cast cast;
		struct member *root = &cast.members[0];
		scoll_request_t *request;
		scoll_group_t *group =
			cast_init_group(&cast, 5, SCOLL_TREE_FLAT);
		int result;

		for (int i = 1; i < 4; i++)
			cast_rule(&cast, MOVE_SEND, 0, i, FATE_FAIL, -1);
		request = cast_request(&cast, 0, group, "x", 1, 0, 0);
		scoll_core_fail_at(root->core, n);
		result = scoll_core_bcast_send(request, cast.now_ns);
		if (result < 0)
			cast_request_free(&cast, request);
		cast_settle(&cast);
		was_hit = scoll_core_fail_left(root->core) == 0;
		scoll_core_fail_at(root->core, 0);
		/* Whoever was not reached is in it, whoever else is. */
		for (int i = 1; i < 4 && result == 0; i++) {
			char name[8];

			snprintf(name, sizeof(name), "%02d:", i);
			assert_non_null(strstr(root->failures, name));
		}
		overflown += strstr(root->failures, "00:NOMEM") != NULL;
		cast_rules_clear(&cast);
		cast_finish(&cast, group);
	}
	assert_true(overflown > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_member_M08_S02_is_small),
		cmocka_unit_test(steady_state_M06_B5_takes_no_memory),
		cmocka_unit_test(pool_M08_keeps_no_more_than_its_limit),
		cmocka_unit_test(
			pool_M08_takes_no_more_for_what_it_never_keeps),
		cmocka_unit_test(deadlines_O01_come_in_their_order),
		cmocka_unit_test(
			no_memory_E01_S03_is_an_error_wherever_it_strikes),
		cmocka_unit_test(failures_S03_E06_without_memory_are_everybody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
