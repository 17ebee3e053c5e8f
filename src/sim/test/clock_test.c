/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static void clock_stands_still_until_it_is_moved(void **state)
{
	struct sim_clock clock = { .monotonic_ms = 5, .wall_us = 7000 };
	struct clock_seam seam = sim_clock_seam(&clock);

	for (int i = 0; i < 2; i++) {
		assert_int_equal(clock_monotonic_ms(&seam), 5);
		assert_int_equal(clock_wall_us(&seam), 7000);
	}
}

static void advance_moves_both_clocks(void **state)
{
	struct sim_clock clock = { .monotonic_ms = 5, .wall_us = 7000 };
	struct clock_seam seam = sim_clock_seam(&clock);

	sim_clock_advance(&clock, 3);
	assert_int_equal(clock_monotonic_ms(&seam), 8);
	assert_int_equal(clock_wall_us(&seam), 10000);
}

static void wall_clock_can_jump_back_alone(void **state)
{
	struct sim_clock clock = { .monotonic_ms = 5, .wall_us = 7000 };
	struct clock_seam seam = sim_clock_seam(&clock);

	clock.wall_us = 1;
	assert_int_equal(clock_monotonic_ms(&seam), 5);
	assert_int_equal(clock_wall_us(&seam), 1);
}

static void two_clocks_are_apart(void **state)
{
	struct sim_clock one = { 0 }, two = { 0 };
	struct clock_seam seam = sim_clock_seam(&two);

	sim_clock_advance(&one, 9);
	assert_int_equal(clock_monotonic_ms(&seam), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_stands_still_until_it_is_moved),
		cmocka_unit_test(advance_moves_both_clocks),
		cmocka_unit_test(wall_clock_can_jump_back_alone),
		cmocka_unit_test(two_clocks_are_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
