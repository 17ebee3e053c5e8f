/* SPDX-License-Identifier: BSD-3-Clause */
/* The queue of tombstones against an array that remembers everything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lanes/manager/core/tombstone.h"
#include "sim/rng.h"

static void add(struct tombstones *set, uint64_t id)
{
	char key[32];

	snprintf(key, sizeof(key), "slurm/%" PRIu64 "/0", id);
	assert_int_equal(tombstones_add(set, id, key, (uid_t)id, 100), 0);
}

static const struct tombstone *find(const struct tombstones *set, uint64_t id)
{
	const struct tombstone *by_id = tombstones_find_id(set, id);
	const struct tombstone *by_key;
	char key[32];

	snprintf(key, sizeof(key), "slurm/%" PRIu64 "/0", id);
	by_key = tombstones_find_key(set, key);
	assert_ptr_equal(by_id, by_key);
	if (by_id != NULL)
		assert_int_equal(by_id->grant_id, id);
	return by_id;
}

static void an_empty_set_has_nothing(void **state)
{
	struct tombstones set;
	uint64_t id;

	tombstones_init(&set, 10, 2);
	assert_null(find(&set, 1));
	assert_null(tombstones_newest(&set, 0));
	assert_false(tombstones_is_full(&set, &id));
	assert_false(tombstones_has_old_key(&set, &id));
	assert_int_equal(tombstones_next(&set), 1);
	tombstones_fini(&set);
}

static void a_key_or_an_id_is_there_once(void **state)
{
	struct tombstones set;

	tombstones_init(&set, 10, 2);
	add(&set, 5);
	assert_int_equal(tombstones_add(&set, 6, "slurm/5/0", 0, 0), -EEXIST);
	assert_int_equal(tombstones_add(&set, 5, "slurm/6/0", 0, 0), -EEXIST);
	assert_int_equal(set.count, 1);
	tombstones_fini(&set);
}

static void keys_as_text_are_those_of_the_newest(void **state)
{
	struct tombstones set;
	uint64_t id;

	tombstones_init(&set, 10, 2);
	for (uint64_t i = 1; i <= 4; i++)
		add(&set, i * 10);
	assert_true(tombstones_has_old_key(&set, &id));
	assert_int_equal(id, 10);
	tombstones_forget_old_key(&set);
	assert_true(tombstones_has_old_key(&set, &id));
	assert_int_equal(id, 20);
	tombstones_forget_old_key(&set);
	assert_false(tombstones_has_old_key(&set, &id));
	assert_null(find(&set, 20)->key);
	assert_string_equal(find(&set, 30)->key, "slurm/30/0");
	assert_int_equal(find(&set, 30)->uid, 30);
	assert_int_equal(tombstones_newest(&set, 0)->grant_id, 40);
	assert_int_equal(tombstones_newest(&set, 3)->grant_id, 10);
	assert_null(tombstones_newest(&set, 4));
	tombstones_fini(&set);
}

static void the_oldest_are_forgotten(void **state)
{
	/* Not a power of two, and far more additions than places. */
	enum {
		PLACES = 1000,
		ADDED = 20000
	};
	struct tombstones set;
	struct sim_rng rng;
	uint64_t order[ADDED], id;

	tombstones_init(&set, PLACES, 10);
	sim_rng_init(&rng, 3);
	for (uint64_t i = 0; i < ADDED; i++)
		order[i] = i + 1;
	/* Grants are not released in the order in which they were given. */
	for (uint64_t i = 0; i + 50 < ADDED; i++) {
		uint64_t other = i + sim_rng_below(&rng, 50);

		id = order[i];
		order[i] = order[other];
		order[other] = id;
	}
	for (uint64_t i = 0; i < ADDED; i++) {
		if (tombstones_is_full(&set, &id)) {
			assert_int_equal(id, order[i - PLACES]);
			tombstones_forget_oldest(&set);
			assert_null(find(&set, id));
		}
		add(&set, order[i]);
		if (tombstones_has_old_key(&set, &id))
			tombstones_forget_old_key(&set);
		assert_int_equal(tombstones_next(&set), i + 2);
		if (i % 512 != 0)
			continue;
		for (uint64_t n = 0; n <= i; n++)
			assert_int_equal(find(&set, order[n]) != NULL,
					 i - n < PLACES);
	}
	assert_int_equal(set.count, PLACES);
	tombstones_fini(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_has_nothing),
		cmocka_unit_test(a_key_or_an_id_is_there_once),
		cmocka_unit_test(keys_as_text_are_those_of_the_newest),
		cmocka_unit_test(the_oldest_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
