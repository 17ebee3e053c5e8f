/* SPDX-License-Identifier: BSD-3-Clause */
/* One pool by itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lanes/manager/core/pool.h"
#include "sim/rng.h"

static const struct edge_probe nobody = { 0 };

static struct fairlead_pool_spec spec(const char *universe, uint32_t limit)
{
	return (struct fairlead_pool_spec){ .name = "vni",
					    .limit = limit,
					    .universe = universe };
}

static struct pool pool_of(const char *universe)
{
	struct fairlead_pool_spec wanted = spec(universe, 100);
	struct fairlead_error error;
	struct pool pool;

	if (pool_init(&pool, "fake", &wanted, &nobody, &error) < 0)
		fail_msg("%s", error.text);
	return pool;
}

static void assert_set(const struct idset *set, const char *expected)
{
	char *text = idset_format(set);

	assert_string_equal(text, expected);
	free(text);
}

static void take_goes_round(void **state)
{
	struct pool pool = pool_of("10-14");
	uint32_t ids[4];

	pool_take(&pool, 4, ids);
	pool_put(&pool, 10);
	pool_put(&pool, 11);
	pool_take(&pool, 2, ids);
	/* 14 was taken first: a job's identifiers are in ascending order. */
	assert_int_equal(ids[0], 10);
	assert_int_equal(ids[1], 14);
	assert_int_equal(pool.cursor, 11);
	assert_int_equal(pool_available(&pool), 1);
	pool_fini(&pool);
}

static void a_cursor_beyond_the_limit_begins_again(void **state)
{
	struct pool pool = pool_of("10-14");
	uint32_t id;

	pool_set_cursor(&pool, 13);
	pool_take(&pool, 1, &id);
	assert_int_equal(id, 13);
	pool_set_cursor(&pool, 100);
	pool_take(&pool, 1, &id);
	assert_int_equal(id, 10);
	pool_set_cursor(&pool, UINT64_MAX);
	assert_int_equal(pool.cursor, 0);
	pool_fini(&pool);
}

static void the_last_number_below_the_limit_is_used(void **state)
{
	struct pool pool = pool_of("98-99");
	uint32_t ids[2];

	pool_take(&pool, 2, ids);
	assert_int_equal(ids[1], 99);
	assert_int_equal(pool.cursor, 0);
	pool_fini(&pool);
}

static void restore_finds_a_second_holder(void **state)
{
	struct pool pool = pool_of("10-14");

	assert_int_equal(pool_restore(&pool, 10, false), 0);
	assert_int_equal(pool_restore(&pool, 10, false), -EBADMSG);
	assert_int_equal(pool_restore(&pool, 10, true), -EBADMSG);
	assert_int_equal(pool_restore(&pool, 11, true), 0);
	assert_int_equal(pool_restore(&pool, 11, false), -EBADMSG);
	assert_int_equal(pool_restore(&pool, 100, false), -EBADMSG);
	/* Outside the universe it is held and draining. */
	assert_int_equal(pool_restore(&pool, 50, false), 0);
	assert_set(pool.held, "10,50");
	assert_set(pool.quarantined, "11");
	assert_set(pool.free, "12-14");
	pool_verify(&pool);
	pool_fini(&pool);
}

static void a_limit_below_what_is_in_use_is_refused(void **state)
{
	struct pool pool = pool_of("10-90");
	struct fairlead_pool_spec lower = spec("10-20", 50);
	struct fairlead_error error;

	pool_set_cursor(&pool, 60);
	assert_int_equal(pool_check(&pool, &lower, &error), 0);
	assert_int_equal(pool_restore(&pool, 50, true), 0);
	assert_int_equal(pool_check(&pool, &lower, &error), -EINVAL);
	pool_put(&pool, 50);
	pool_withhold(&pool, 80);
	pool_unwithhold(&pool, 80);
	pool_configure(&pool, &lower);
	assert_int_equal(pool.limit, 50);
	assert_int_equal(pool.cursor, 0);
	assert_set(pool.free, "10-20");
	lower = spec("10-20,99", 200);
	pool_configure(&pool, &lower);
	assert_set(pool.free, "10-20,99");
	pool_withhold(&pool, 199);
	pool_verify(&pool);
	pool_fini(&pool);
}

static void bad_universes_are_refused_with_the_pools_name(void **state)
{
	static const char *const bad[] = { "x", "5-1", "100", "1,,2" };
	struct fairlead_error error;
	struct pool pool;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fairlead_pool_spec wanted = spec(bad[i], 100);

		assert_int_equal(pool_init(&pool, "fake", &wanted, &nobody,
					   &error),
				 -EINVAL);
		assert_non_null(strstr(error.text, "'vni'"));
	}
	{
		struct fairlead_pool_spec wanted =
			spec("1", IDSET_LIMIT_MAX + 1);

		assert_int_equal(pool_init(&pool, "fake", &wanted, &nobody,
					   &error),
				 -EINVAL);
	}
}

static void what_two_withhold_one_does_not_give_back(void **state)
{
	struct pool pool = pool_of("10-14");

	pool_withhold(&pool, 12);
	pool_withhold(&pool, 12);
	pool_unwithhold(&pool, 12);
	assert_set(pool.free, "10-11,13-14");
	pool_unwithhold(&pool, 12);
	assert_set(pool.free, "10-14");
	pool_fini(&pool);
}

/* --- against a model: what each identifier is --- */

enum model {
	MODEL_IDLE,
	MODEL_HELD,
	MODEL_QUARANTINED
};

struct model_id {
	enum model is;
	unsigned int withheld;
};

static void model_step(struct pool *pool, struct model_id *ids,
		       struct sim_rng *rng)
{
	uint32_t id = (uint32_t)sim_rng_below(rng, pool->limit);
	uint32_t taken[3];

	switch (sim_rng_below(rng, 6)) {
	case 0:
	case 1: {
		uint32_t count = 1 + (uint32_t)sim_rng_below(rng, 3);

		if (count > pool_available(pool))
			return;
		pool_take(pool, count, taken);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(ids[taken[i]].is, MODEL_IDLE);
			assert_int_equal(ids[taken[i]].withheld, 0);
			ids[taken[i]].is = MODEL_HELD;
		}
		return;
	}
	case 2:
		if (ids[id].is == MODEL_HELD) {
			pool_quarantine(pool, id);
			ids[id].is = MODEL_QUARANTINED;
		}
		return;
	case 3:
		if (ids[id].is != MODEL_IDLE) {
			pool_put(pool, id);
			ids[id].is = MODEL_IDLE;
		}
		return;
	case 4:
		pool_withhold(pool, id);
		ids[id].withheld++;
		return;
	default:
		if (ids[id].withheld > 0) {
			pool_unwithhold(pool, id);
			ids[id].withheld--;
		}
	}
}

static void random_steps_agree_with_a_model(void **state)
{
	static const char *const universes[] = { "0-63", "5-40", "1,3,5-63",
						 "30-99" };
	struct model_id ids[100] = { 0 };
	struct pool pool = pool_of(universes[0]);
	struct sim_rng rng;

	sim_rng_init(&rng, 7);
	for (int step = 0; step < 20000; step++) {
		if (step % 100 == 0) {
			struct fairlead_pool_spec wanted =
				spec(universes[sim_rng_below(&rng, 4)], 100);

			pool_configure(&pool, &wanted);
		}
		model_step(&pool, ids, &rng);
		pool_verify(&pool);
		for (uint32_t id = 0; id < 100; id++) {
			assert_int_equal(idset_has(pool.held, id),
					 ids[id].is == MODEL_HELD);
			assert_int_equal(idset_has(pool.quarantined, id),
					 ids[id].is == MODEL_QUARANTINED);
			assert_int_equal(idset_has(pool.withheld, id),
					 ids[id].withheld > 0);
		}
	}
	pool_fini(&pool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(take_goes_round),
		cmocka_unit_test(a_cursor_beyond_the_limit_begins_again),
		cmocka_unit_test(the_last_number_below_the_limit_is_used),
		cmocka_unit_test(restore_finds_a_second_holder),
		cmocka_unit_test(a_limit_below_what_is_in_use_is_refused),
		cmocka_unit_test(bad_universes_are_refused_with_the_pools_name),
		cmocka_unit_test(what_two_withhold_one_does_not_give_back),
		cmocka_unit_test(random_steps_agree_with_a_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
