/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random worlds (world.h), a few hundred; more by hand: gossip-sim. Whatever
 * can happen in a world has to have happened in some.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "world.h"

#define SEED_COUNT      200
#define SEED_COUNT_LONG 5000

static void what_has_to_be_true_is_whatever_happens(void **state)
{
	const char *length = getenv("FAIRLEAD_TEST");
	struct world_result result = { 0 };
	uint64_t count = SEED_COUNT;

	if (length != NULL && length[0] == 'l')
		count = SEED_COUNT_LONG;
	for (uint64_t seed = 1; seed <= count; seed++) {
		world_run(seed, &result);
		if (result.broken[0] != 0)
			fail_msg("%s", result.broken);
	}
	for (int i = 0; i < WORLD_COUNT; i++) {
		print_message("%12llu  %s\n",
			      (unsigned long long)result.counts[i],
			      world_count_names[i]);
		if (result.counts[i] == 0)
			fail_msg("never happened: %s", world_count_names[i]);
	}
	assert_true(result.simulated_ms > 0);
}

static void a_seed_has_one_history(void **state)
{
	uint64_t hashes[4];

	for (uint64_t seed = 0; seed < 4; seed++) {
		struct world_result first = { 0 }, again = { 0 };

		world_run(40 + seed, &first);
		world_run(40 + seed, &again);
		assert_int_equal(first.hash, again.hash);
		hashes[seed] = first.hash;
		for (uint64_t i = 0; i < seed; i++)
			assert_true(hashes[i] != hashes[seed]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_has_to_be_true_is_whatever_happens),
		cmocka_unit_test(a_seed_has_one_history),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
