/* SPDX-License-Identifier: BSD-3-Clause */
/* The reference numbers are the authors' (state 1, 2, 3, 4). */
#include "sim/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void numbers_are_those_of_the_reference(void **state)
{
	static const uint64_t expected[] = {
		11520,
		0,
		1509978240,
		1215971899390074240u,
		1216172134540287360u,
		607988272756665600u,
		16172922978634559625u,
		8476171486693032832u,
		10595114339597558777u,
		2904607092377533576u,
	};
	struct sim_rng rng = { .state = { 1, 2, 3, 4 } };

	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		assert_true(sim_rng_u64(&rng) == expected[i]);
}

static void state_is_filled_by_splitmix64(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 0);
	assert_true(rng.state[0] == UINT64_C(0xe220a8397b1dcdaf));
	assert_true(rng.state[1] == UINT64_C(0x6e789e6aa1b965f4));
	assert_true(rng.state[2] == UINT64_C(0x06c45d188009454f));
	assert_true(rng.state[3] == UINT64_C(0xf88bb8a8724c81ec));
}

static void same_seed_gives_same_numbers(void **state)
{
	struct sim_rng one, two, three;

	sim_rng_init(&one, 42);
	sim_rng_init(&two, 42);
	sim_rng_init(&three, 43);
	for (int i = 0; i < 100; i++) {
		uint64_t number = sim_rng_u64(&one);

		assert_true(number == sim_rng_u64(&two));
		assert_true(number != sim_rng_u64(&three));
	}
}

static void below_reaches_each_number_and_none_more(void **state)
{
	struct sim_rng rng;
	unsigned int seen[7] = { 0 };

	sim_rng_init(&rng, 1);
	for (int i = 0; i < 7000; i++) {
		uint64_t number = sim_rng_below(&rng, 7);

		assert_in_range(number, 0, 6);
		seen[number]++;
	}
	for (int i = 0; i < 7; i++)
		assert_in_range(seen[i], 850, 1150);
	assert_int_equal(sim_rng_below(&rng, 1), 0);
}

static void below_a_huge_number_favours_none(void **state)
{
	/* Without drawing again, the lower half would come twice as often. */
	const uint64_t n = UINT64_C(3) << 62;
	struct sim_rng rng;
	unsigned int low = 0;

	sim_rng_init(&rng, 2);
	for (int i = 0; i < 30000; i++) {
		uint64_t number = sim_rng_below(&rng, n);

		assert_true(number < n);
		low += number < UINT64_C(1) << 62;
	}
	assert_in_range(low, 9500, 10500);
}

static void chance_is_per_million(void **state)
{
	struct sim_rng rng;
	unsigned int hits = 0;

	sim_rng_init(&rng, 3);
	for (int i = 0; i < 10000; i++) {
		assert_false(sim_rng_chance(&rng, 0));
		assert_true(sim_rng_chance(&rng, 1000000));
		hits += sim_rng_chance(&rng, 250000);
	}
	assert_in_range(hits, 2300, 2700);
}

static void seam_fills_lowest_byte_first_and_no_further(void **state)
{
	/* 11520 is 0x2d00, 1509978240 is 0x5a007080. */
	static const uint8_t expected[] = { 0x00, 0x2d, 0,    0,    0,   0, 0,
					    0,    0,    0,    0,    0,   0, 0,
					    0,    0,    0x80, 0x70, 0x55 };
	struct sim_rng rng = { .state = { 1, 2, 3, 4 } };
	struct rng_seam seam = sim_rng_seam(&rng);
	uint8_t bytes[sizeof(expected)];

	memset(bytes, 0x55, sizeof(bytes));
	rng_fill(&seam, bytes, sizeof(bytes) - 1);
	assert_memory_equal(bytes, expected, sizeof(expected));
	assert_true(rng_u64(&seam) == 1215971899390074240u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_those_of_the_reference),
		cmocka_unit_test(state_is_filled_by_splitmix64),
		cmocka_unit_test(same_seed_gives_same_numbers),
		cmocka_unit_test(below_reaches_each_number_and_none_more),
		cmocka_unit_test(below_a_huge_number_favours_none),
		cmocka_unit_test(chance_is_per_million),
		cmocka_unit_test(seam_fills_lowest_byte_first_and_no_further),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
