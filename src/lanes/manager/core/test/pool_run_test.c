/* SPDX-License-Identifier: BSD-3-Clause */
/* A pool of runs by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/core/pool.h"
#include "sim/rng.h"

#define POSITIONS 1000
#define CROWD     10000

static const struct edge_probe nobody = { 0 };

static struct pool pool_of(const char *universe)
{
	const struct fairlead_pool_spec spec = { .name = "context",
						 .limit = 2047,
						 .universe = universe,
						 .positions = POSITIONS };
	struct fairlead_error error;
	struct pool pool;

	if (pool_init(&pool, "fake", &spec, &nobody, &error) < 0)
		fail_msg("%s", error.text);
	return pool;
}

static struct fairlead_run run(uint32_t low, uint32_t high, uint32_t length)
{
	return (struct fairlead_run){ low, high, length };
}

static struct run_area take(struct pool *pool, struct fairlead_run wanted)
{
	uint32_t ids[2];

	pool_run_take(pool, &wanted, ids);
	pool_verify(pool);
	assert_int_equal(ids[1] - ids[0] + 1, wanted.length);
	return (struct run_area){ wanted.low, wanted.high, ids[0], ids[1] };
}

static void assert_set(const struct idset *set, const char *expected)
{
	char *text = idset_format(set);

	assert_string_equal(text, expected);
	free(text);
}

static void ranges_that_meet_share_nothing(void **state)
{
	struct pool pool = pool_of("1024-1033");
	struct run_area a = take(&pool, run(0, 9, 4));
	struct run_area b = take(&pool, run(9, 20, 4));
	struct run_area c = take(&pool, run(10, 20, 4));
	uint32_t first;

	assert_int_equal(a.first, 1024);
	assert_int_equal(b.first, 1028);
	assert_int_equal(c.first, 1024);
	assert_set(pool.held, "1024-1031");
	assert_set(pool.free, "1032-1033");
	assert_int_equal(
		pool_run_longest(&pool, &(struct fairlead_run){ 5, 15, 1 }), 2);
	assert_false(pool_run_find(&pool, &(struct fairlead_run){ 5, 15, 3 },
				   &first));
	assert_true(pool_run_find(&pool, &(struct fairlead_run){ 21, 30, 10 },
				  &first));
	pool_fini(&pool);
}

static void the_lowest_run_is_taken(void **state)
{
	struct pool pool = pool_of("1024-1033,1040-1049");
	struct run_area a = take(&pool, run(0, 0, 3));

	take(&pool, run(0, 0, 3));
	pool_run_put(&pool, &a, false);
	pool_verify(&pool);
	assert_int_equal(take(&pool, run(0, 0, 4)).first, 1030);
	assert_int_equal(take(&pool, run(0, 0, 3)).first, 1024);
	/* A run does not go over a hole of the universe. */
	assert_int_equal(take(&pool, run(0, 0, 4)).first, 1040);
	pool_fini(&pool);
}

static void a_run_in_quarantine_is_not_taken(void **state)
{
	struct pool pool = pool_of("1024-1027");
	struct run_area a = take(&pool, run(0, 9, 2));
	struct run_area b = take(&pool, run(10, 19, 2));

	pool_run_quarantine(&pool, &a);
	pool_verify(&pool);
	assert_set(pool.held, "1024-1025");
	assert_set(pool.quarantined, "1024-1025");
	assert_int_equal(take(&pool, run(9, 9, 2)).first, 1026);
	pool_run_put(&pool, &b, false);
	assert_set(pool.held, "1026-1027");
	pool_run_put(&pool, &a, true);
	pool_verify(&pool);
	assert_set(pool.free, "1024-1025");
	assert_int_equal(take(&pool, run(9, 9, 2)).first, 1024);
	pool_fini(&pool);
}

static void what_is_withheld_is_so_everywhere(void **state)
{
	struct pool pool = pool_of("1024-1029");

	pool_withhold(&pool, 1026);
	assert_int_equal(take(&pool, run(0, 0, 3)).first, 1027);
	assert_int_equal(take(&pool, run(999, 999, 2)).first, 1024);
	pool_unwithhold(&pool, 1026);
	pool_verify(&pool);
	pool_fini(&pool);
}

static void positions_beyond_the_last_have_nothing(void **state)
{
	struct pool pool = pool_of("1024-1029");
	uint32_t first;

	assert_false(pool_run_find(
		&pool, &(struct fairlead_run){ 0, POSITIONS, 1 }, &first));
	assert_false(pool_run_find(&pool, &(struct fairlead_run){ 5, 4, 1 },
				   &first));
	assert_false(pool_run_find(&pool, &(struct fairlead_run){ 5, 5, 0 },
				   &first));
	pool_fini(&pool);
}

static void records_that_meet_are_refused(void **state)
{
	const struct run_area bad[] = {
		{ 9, 9, 1026, 1030 },   { 0, 0, 1024, 1024 },
		{ 0, POSITIONS, 1, 1 }, { 5, 4, 1, 1 },
		{ 0, 0, 5, 4 },         { 0, 0, 1, 2047 },
	};
	struct run_area area = { 0, 9, 1024, 1026 };
	struct pool pool = pool_of("1024-1029");

	assert_int_equal(pool_run_restore(&pool, &area, true), 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(pool_run_restore(&pool, &bad[i], false),
				 -EBADMSG);
	/* Outside the universe: it drains. */
	area = (struct run_area){ 10, 19, 1024, 1035 };
	assert_int_equal(pool_run_restore(&pool, &area, false), 0);
	pool_verify(&pool);
	pool_fini(&pool);
}

static void a_pool_stays_one_of_runs(void **state)
{
	struct fairlead_pool_spec spec = { .name = "context",
					   .limit = 2047,
					   .universe = "1024-1100",
					   .positions = POSITIONS };
	struct fairlead_error error = { 0 };
	struct pool pool = pool_of("1024-1029");
	struct pool none;

	assert_int_equal(pool_check(&pool, &spec, &error), 0);
	take(&pool, run(0, 0, 6));
	pool_configure(&pool, &spec);
	pool_verify(&pool);
	assert_int_equal(take(&pool, run(0, 0, 6)).first, 1030);
	spec.positions = 0;
	assert_int_equal(pool_check(&pool, &spec, &error), -EINVAL);
	spec.positions = POSITIONS;
	spec.limit = 2048;
	assert_int_equal(pool_check(&pool, &spec, &error), -EINVAL);
	spec.limit = FAIRLEAD_RUN_IDS_MAX + 1;
	assert_int_equal(pool_init(&none, "fake", &spec, &nobody, &error),
			 -EINVAL);
	spec.limit = 2047;
	spec.positions = FAIRLEAD_POSITIONS_MAX + 1;
	assert_int_equal(pool_init(&none, "fake", &spec, &nobody, &error),
			 -EINVAL);
	pool_fini(&pool);
}

/* 10,000 live jobs on 1,000 nodes, many times over. */
static void a_crowd_has_no_point_in_common(void **state)
{
	struct run_area *live = calloc(CROWD, sizeof(*live));
	struct pool pool = pool_of("1024-2046");
	struct sim_rng rng;
	uint32_t count = 0;

	sim_rng_init(&rng, 1);
	for (uint32_t i = 0; i < 10 * CROWD; i++) {
		uint32_t low = (uint32_t)sim_rng_below(&rng, POSITIONS - 8);
		struct fairlead_run wanted = {
			low, low + (uint32_t)sim_rng_below(&rng, 8),
			1 + (uint32_t)sim_rng_below(&rng, 32)
		};
		uint32_t ids[2], first;

		if (count < CROWD && pool_run_find(&pool, &wanted, &first)) {
			pool_run_take(&pool, &wanted, ids);
			assert_int_equal(ids[0], first);
			live[count++] =
				(struct run_area){ wanted.low, wanted.high,
						   ids[0], ids[1] };
			continue;
		}
		first = (uint32_t)sim_rng_below(&rng, count);
		pool_run_put(&pool, &live[first], false);
		live[first] = live[--count];
	}
	assert_true(count > CROWD - 1000);
	pool_verify(&pool);
	for (uint32_t i = 0; i < count; i++)
		pool_run_put(&pool, &live[i], false);
	assert_null(pool.runs->taken.root);
	pool_fini(&pool);
	free(live);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_that_meet_share_nothing),
		cmocka_unit_test(the_lowest_run_is_taken),
		cmocka_unit_test(a_run_in_quarantine_is_not_taken),
		cmocka_unit_test(what_is_withheld_is_so_everywhere),
		cmocka_unit_test(positions_beyond_the_last_have_nothing),
		cmocka_unit_test(records_that_meet_are_refused),
		cmocka_unit_test(a_pool_stays_one_of_runs),
		cmocka_unit_test(a_crowd_has_no_point_in_common),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
