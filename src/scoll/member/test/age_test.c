/* SPDX-License-Identifier: BSD-3-Clause */
/* The inner loops, compared with one node at a time. */
#include "scoll/member/age.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "sim/rng.h"

#define COUNT (3 * AGE_BLOCK)

/* One sign, `cycles` later. */
static uint8_t later(uint8_t sign, uint64_t cycles)
{
	uint64_t sum = sign + 2 * cycles;

	return sum > AGE_UNKNOWN ? AGE_UNKNOWN : (uint8_t)sum;
}

static bool same(uint8_t one, uint8_t other)
{
	/* At the end of the scale, how it was said is lost. */
	return one == other ||
	       (age_of(one) == AGE_MAX && age_of(other) == AGE_MAX);
}

static void fill(struct sim_rng *rng, uint8_t *signs)
{
	for (size_t i = 0; i < COUNT; i++)
		signs[i] = (uint8_t)sim_rng_below(rng, 256);
}

static void time_passes_for_all_signs_and_stops_at_the_end(void **state)
{
	struct sim_rng rng;
	uint8_t before[COUNT], signs[COUNT];

	sim_rng_init(&rng, 1);
	for (uint64_t cycles = 0; cycles < 300; cycles++) {
		fill(&rng, before);
		memcpy(signs, before, sizeof(signs));
		age_pass(signs, COUNT, cycles);
		for (size_t i = 0; i < COUNT; i++)
			assert_true(same(signs[i], later(before[i], cycles)));
	}
	age_pass(signs, COUNT, UINT64_MAX);
	for (size_t i = 0; i < COUNT; i++)
		assert_int_equal(signs[i], AGE_UNKNOWN);
}

static void the_younger_sign_wins_wherever_a_part_ends(void **state)
{
	struct sim_rng rng;
	uint8_t before[COUNT], theirs[COUNT], signs[COUNT];

	sim_rng_init(&rng, 2);
	for (size_t count = 1; count <= COUNT; count++) {
		uint64_t lag = sim_rng_below(&rng, 140);

		fill(&rng, before);
		fill(&rng, theirs);
		memcpy(signs, before, sizeof(signs));
		age_merge(signs, theirs, count, lag);
		for (size_t i = 0; i < COUNT; i++) {
			uint8_t sign = later(theirs[i], lag);

			if (i >= count || before[i] < sign)
				sign = before[i];
			assert_true(same(signs[i], sign));
		}
	}
}

static void a_merge_is_the_same_in_any_order_and_twice(void **state)
{
	struct sim_rng rng;
	uint8_t signs[2][COUNT], views[2][COUNT];

	sim_rng_init(&rng, 3);
	fill(&rng, signs[0]);
	memcpy(signs[1], signs[0], COUNT);
	fill(&rng, views[0]);
	fill(&rng, views[1]);
	age_merge(signs[0], views[0], COUNT, 2);
	age_merge(signs[0], views[1], COUNT, 5);
	age_merge(signs[1], views[1], COUNT, 5);
	age_merge(signs[1], views[0], COUNT, 2);
	age_merge(signs[1], views[1], COUNT, 5);
	assert_memory_equal(signs[0], signs[1], COUNT);
}

static void bits_say_who_was_alive_and_who_left(void **state)
{
	uint8_t block[AGE_BLOCK];

	for (unsigned int age = 0; age < 63; age++) {
		for (unsigned int base = 0; base < 256; base += AGE_BLOCK) {
			uint64_t alive, left;

			for (unsigned int i = 0; i < AGE_BLOCK; i++)
				block[i] = (uint8_t)(base + i);
			alive = age_alive(block, age);
			left = age_left(block, age);
			for (unsigned int i = 0; i < AGE_BLOCK; i++) {
				bool is_young = age_of(block[i]) <= age;

				assert_int_equal(alive >> i & 1,
						 is_young && block[i] % 2 == 1);
				assert_int_equal(left >> i & 1,
						 is_young && block[i] % 2 == 0);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			time_passes_for_all_signs_and_stops_at_the_end),
		cmocka_unit_test(the_younger_sign_wins_wherever_a_part_ends),
		cmocka_unit_test(a_merge_is_the_same_in_any_order_and_twice),
		cmocka_unit_test(bits_say_who_was_alive_and_who_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
