/* SPDX-License-Identifier: BSD-3-Clause */
/* Clusters of the shipped code in which one thing happens. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#define CYCLES(count) ((uint64_t)(count)*BED_CYCLE_MS)

static const struct bed_faults quiet = { .delay_min_ms = 1, .delay_max_ms = 5 };
static const struct bed_faults rough = {
	.lost = 100000,
	.doubled = 50000,
	.late = 20000,
	.delay_min_ms = 1,
	.delay_max_ms = 80,
};

/* Up for so long that everybody is calm. */
static struct bed *settled(size_t node_count, const struct bed_faults *faults,
			   uint64_t seed)
{
	struct bed_options options = { .node_count = node_count,
				       .seed = seed,
				       .drift_ppm_max = 100,
				       .faults = *faults };
	struct bed *bed = bed_create(&options);

	for (uint32_t i = 0; i < node_count; i++)
		bed_start(bed, i);
	bed_run(bed, CYCLES(120));
	for (uint32_t i = 0; i < node_count; i++) {
		assert_true(bed_is_judge(bed, i));
		assert_int_equal(bed_alive_views(bed, i), node_count - 1);
	}
	return bed;
}

static void assert_sound(struct bed *bed)
{
	assert_int_equal(bed_stats(bed)->false_deaths, 0);
	assert_int_equal(bed_stats(bed)->false_reboots, 0);
	bed_destroy(bed);
}

static void cycle_D01_is_one_on_all_nodes_and_as_fast_as_time(void **state)
{
	struct bed *bed = settled(100, &rough, 1);
	uint64_t low, high, begin;

	bed_cycles(bed, &begin, &high);
	for (int i = 0; i < 40; i++) {
		bed_run(bed, CYCLES(10));
		bed_cycles(bed, &low, &high);
		assert_in_range(high - low, 0, 1);
	}
	/* The fastest clock is 0.01 % fast; none gets ahead of it. */
	assert_in_range(low - begin, 399, 401);
	assert_sound(bed);
}

static void timestamps_D01_are_as_young_as_the_bound_says(void **state)
{
	static const size_t counts[] = { 2, 10, 64, 100, 300, 1000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct bed *bed = settled(counts[i], &quiet, i);
		unsigned int oldest = 0;

		for (int k = 0; k < (counts[i] > 100 ? 5 : 40); k++) {
			unsigned int age;

			bed_run(bed, CYCLES(1));
			age = bed_age_max(bed);
			oldest = age > oldest ? age : oldest;
		}
		assert_in_range(oldest, 0, bed_bounds(bed)->age_max);
		assert_sound(bed);
	}
}

/* Some by hours, as where no time server was reached. */
static void clocks_that_are_apart_D01_make_one_cycle(void **state)
{
	static const size_t counts[] = { 2, 3, 20, 100 };
	static const uint32_t apart_ms[] = { 2000, 60000, 36000000 };

	for (size_t i = 0; i < 3 * sizeof(counts) / sizeof(*counts); i++) {
		struct bed_options options = {
			.node_count = counts[i / 3],
			.seed = 70 + i,
			.drift_ppm_max = 100,
			.wall_apart_ms = apart_ms[i % 3],
			.faults = rough,
		};
		struct bed *bed = bed_create(&options);
		uint32_t count = (uint32_t)counts[i / 3];
		uint64_t low, high;

		for (uint32_t k = 0; k < count; k++)
			bed_start(bed, k);
		bed_run(bed, CYCLES(120));
		bed_cycles(bed, &low, &high);
		assert_in_range(high - low, 0, 1);
		for (uint32_t k = 0; k < count; k++)
			assert_int_equal(bed_alive_views(bed, k), count - 1);
		/* One that starts again later does so with its own clock. */
		bed_crash(bed, 1);
		bed_run(bed, CYCLES(60));
		bed_start(bed, 1);
		bed_run(bed, CYCLES(120));
		bed_cycles(bed, &low, &high);
		assert_in_range(high - low, 0, 1);
		assert_int_equal(bed_alive_views(bed, 1), count - 1);
		assert_sound(bed);
	}
}

/* Crash it, and see when everybody knows. */
static void assert_detected(struct bed *bed, uint32_t victim)
{
	const struct gossip_bounds *bounds = bed_bounds(bed);
	uint64_t crash_ms = bed_now_ms(bed);
	uint64_t verdicts = bed_stats(bed)->verdicts;

	bed_crash(bed, victim);
	bed_run(bed, CYCLES(bounds->dead_after + GOSSIP_SKEW_CYCLES));
	assert_int_equal(bed_alive_views(bed, victim), 0);
	assert_int_equal(bed_stats(bed)->verdicts - verdicts,
			 bed_node_count(bed) - 1);
	assert_in_range(bed_last_verdict_ms(bed, victim) - crash_ms, 1,
			CYCLES(bounds->dead_after + GOSSIP_SKEW_CYCLES));
}

static void a_crash_is_seen_by_all_in_time(void **state)
{
	static const size_t counts[] = { 2, 10, 100, 1000 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		struct bed *bed = settled(counts[i], &rough, 10 + i);

		assert_detected(bed, (uint32_t)counts[i] / 2);
		assert_sound(bed);
	}
}

/* A reboot `down` cycles after the crash: what I7 asks of everybody. */
static void assert_reboot_is_seen(size_t count, unsigned int down,
				  uint64_t seed, uint64_t *ret_early_count)
{
	struct bed *bed = settled(count, &rough, seed);
	uint32_t victim = (uint32_t)(seed % count);
	uint64_t start_ms, early_count;

	bed_crash(bed, victim);
	bed_run(bed, CYCLES(down) + seed % BED_CYCLE_MS);
	bed_start(bed, victim);
	start_ms = bed_now_ms(bed);
	while (!bed_is_active(bed, victim)) {
		bed_run(bed, 1);
		assert_in_range(bed_now_ms(bed) - start_ms, 0,
				CYCLES(bed_bounds(bed)->stealth + 1));
	}
	/* All have seen the death, before the first word of the new one. */
	for (uint32_t i = 0; i < count; i++) {
		if (i == victim)
			continue;
		assert_false(bed_sees(bed, i, victim));
		assert_int_equal(bed_counter(bed, i, victim), 1);
	}
	early_count = gossip_stats(bed_gossip(bed, victim))->early_count;
	if (down + bed_bounds(bed)->stealth < bed_bounds(bed)->very_old)
		assert_int_equal(early_count, 0);
	*ret_early_count += early_count;
	bed_run(bed, CYCLES(100));
	for (uint32_t i = 0; i < count; i++) {
		if (i == victim)
			continue;
		assert_true(bed_sees(bed, i, victim));
		assert_int_equal(bed_counter(bed, i, victim), 1);
	}
	assert_int_equal(bed_alive_views(bed, victim), count - 1);
	assert_sound(bed);
}

static void quick_reboot_D03_D04_D07_is_seen_by_all(void **state)
{
	uint64_t early_count = 0;

	for (unsigned int down = 0; down <= 16; down += 2) {
		assert_reboot_is_seen(10, down, 100 + down, &early_count);
		assert_reboot_is_seen(70, down, 200 + down, &early_count);
	}
	/* Some were down for so long that they could know. */
	assert_in_range(early_count, 1, 17);
}

static void slow_reboot_D05_does_not_wait_again(void **state)
{
	uint64_t early_count = 0;

	for (unsigned int down = 30; down < 150; down += 20)
		assert_reboot_is_seen(60, down, 300 + down, &early_count);
	assert_int_equal(early_count, 6);
}

static void partition_heals_with_one_more_on_both_sides(void **state)
{
	struct bed *bed = settled(40, &rough, 5);
	unsigned int cycles = 2 * bed_bounds(bed)->dead_after;

	for (uint32_t i = 0; i < 40; i++) {
		bed_disturb(bed, i);
		bed_put(bed, i, i % 3 == 0);
	}
	bed_run(bed, CYCLES(cycles));
	for (uint32_t i = 0; i < 40; i++) {
		for (uint32_t k = 0; k < 40; k++)
			assert_int_equal(bed_sees(bed, i, k),
					 (i % 3 == 0) == (k % 3 == 0));
	}
	for (uint32_t i = 0; i < 40; i++) {
		bed_put(bed, i, 0);
		bed_calm(bed, i);
	}
	bed_run(bed, CYCLES(100));
	for (uint32_t i = 0; i < 40; i++) {
		assert_int_equal(bed_alive_views(bed, i), 39);
		for (uint32_t k = 0; k < 40; k++)
			assert_int_equal(bed_counter(bed, i, k),
					 (i % 3 == 0) != (k % 3 == 0));
	}
	assert_sound(bed);
}

static void a_paused_node_is_dead_to_others_and_kills_nobody(void **state)
{
	struct bed *bed = settled(50, &rough, 6);

	bed_pause(bed, 7);
	bed_run(bed, CYCLES(100));
	assert_int_equal(bed_alive_views(bed, 7), 0);
	bed_resume(bed, 7);
	bed_run(bed, CYCLES(60));
	assert_int_equal(bed_alive_views(bed, 7), 49);
	for (uint32_t i = 0; i < 50; i++) {
		assert_int_equal(bed_counter(bed, 7, i), 0);
		assert_int_equal(bed_counter(bed, i, 7), i != 7);
	}
	assert_int_equal(gossip_stats(bed_gossip(bed, 7))->pause_count, 1);
	assert_sound(bed);
}

static void a_leave_is_known_long_before_a_death_would_be(void **state)
{
	struct bed *bed = settled(200, &rough, 8);

	bed_leave(bed, 9);
	bed_run(bed, CYCLES(bed_bounds(bed)->age_max));
	assert_int_equal(bed_alive_views(bed, 9), 0);
	bed_run(bed, CYCLES(60));
	for (uint32_t i = 0; i < 200; i++) {
		if (i != 9)
			assert_int_equal(bed_counter(bed, i, 9), 1);
	}
	assert_sound(bed);
}

static void most_may_die_at_once_and_the_others_live(void **state)
{
	struct bed *bed = settled(200, &rough, 9);

	for (uint32_t i = 0; i < 180; i++)
		bed_crash(bed, i);
	bed_run(bed, CYCLES(bed_bounds(bed)->dead_after + GOSSIP_SKEW_CYCLES));
	for (uint32_t i = 0; i < 180; i++)
		assert_int_equal(bed_alive_views(bed, i), 0);
	for (uint32_t i = 180; i < 200; i++)
		assert_int_equal(bed_alive_views(bed, i), 19);
	bed_run(bed, CYCLES(100));
	for (uint32_t i = 0; i < 180; i++)
		bed_start(bed, i);
	bed_run(bed, CYCLES(150));
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(bed_alive_views(bed, i), 199);
	assert_sound(bed);
}

static void a_large_cluster_keeps_to_its_bytes(void **state)
{
	struct bed *bed = settled(1000, &rough, 11);
	struct bed_stats before = *bed_stats(bed);
	uint64_t bytes;

	bed_run(bed, CYCLES(10));
	bytes = bed_stats(bed)->sent_bytes - before.sent_bytes;
	/* Two exchanges of a view, there and back; a fifth is asked again. */
	assert_in_range(bytes / 1000 / 10, 3 * 1056, 5 * 1056);
	assert_sound(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			cycle_D01_is_one_on_all_nodes_and_as_fast_as_time),
		cmocka_unit_test(timestamps_D01_are_as_young_as_the_bound_says),
		cmocka_unit_test(clocks_that_are_apart_D01_make_one_cycle),
		cmocka_unit_test(a_crash_is_seen_by_all_in_time),
		cmocka_unit_test(quick_reboot_D03_D04_D07_is_seen_by_all),
		cmocka_unit_test(slow_reboot_D05_does_not_wait_again),
		cmocka_unit_test(partition_heals_with_one_more_on_both_sides),
		cmocka_unit_test(
			a_paused_node_is_dead_to_others_and_kills_nobody),
		cmocka_unit_test(a_leave_is_known_long_before_a_death_would_be),
		cmocka_unit_test(most_may_die_at_once_and_the_others_live),
		cmocka_unit_test(a_large_cluster_keeps_to_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
