/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/queue.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "sim/rng.h"

#define RECORD_MAX 2000

struct bed {
	struct sim_clock clock;
	struct sim_queue *queue;
	uint64_t moments[RECORD_MAX];
	int numbers[RECORD_MAX];
	size_t count;
};

struct note {
	struct bed *bed;
	int number;
	uint64_t handle;
	uint64_t at_ms;
	bool is_cancelled;
};

static void bed_init(struct bed *bed)
{
	*bed = (struct bed){ .clock = { .monotonic_ms = 1000 } };
	bed->queue = sim_queue_create(&bed->clock);
}

static void on_note(void *ctx)
{
	const struct note *note = ctx;
	struct bed *bed = note->bed;

	bed->moments[bed->count] = bed->clock.monotonic_ms;
	bed->numbers[bed->count++] = note->number;
}

static void events_run_at_their_moments(void **state)
{
	struct bed bed;
	struct note notes[] = { { &bed, 1 }, { &bed, 2 }, { &bed, 3 } };

	bed_init(&bed);
	assert_true(sim_queue_next_ms(bed.queue) == DEADLINE_NONE);
	sim_queue_add(bed.queue, 30, on_note, &notes[2]);
	sim_queue_add(bed.queue, 0, on_note, &notes[0]);
	sim_queue_add(bed.queue, 10, on_note, &notes[1]);
	assert_true(sim_queue_next_ms(bed.queue) == 1000);
	while (sim_queue_run(bed.queue))
		;
	assert_int_equal(bed.count, 3);
	assert_true(bed.moments[0] == 1000 && bed.numbers[0] == 1);
	assert_true(bed.moments[1] == 1010 && bed.numbers[1] == 2);
	assert_true(bed.moments[2] == 1030 && bed.numbers[2] == 3);
	assert_true(bed.clock.wall_us == 30000);
	sim_queue_destroy(bed.queue);
}

static void events_of_one_moment_keep_their_order(void **state)
{
	struct note notes[100];
	struct bed bed;

	bed_init(&bed);
	for (int i = 0; i < 100; i++) {
		notes[i] = (struct note){ &bed, i };
		sim_queue_add(bed.queue, 5, on_note, &notes[i]);
	}
	while (sim_queue_run(bed.queue))
		;
	for (int i = 0; i < 100; i++)
		assert_int_equal(bed.numbers[i], i);
	sim_queue_destroy(bed.queue);
}

static void cancelled_events_do_not_run(void **state)
{
	struct bed bed;
	struct note notes[] = { { &bed, 1 }, { &bed, 2 } };
	uint64_t handle;

	bed_init(&bed);
	handle = sim_queue_add(bed.queue, 1, on_note, &notes[0]);
	sim_queue_add(bed.queue, 2, on_note, &notes[1]);
	sim_queue_cancel(bed.queue, handle);
	sim_queue_cancel(bed.queue, handle);
	sim_queue_cancel(bed.queue, 0);
	assert_int_equal(sim_queue_count(bed.queue), 1);
	assert_true(sim_queue_run(bed.queue));
	assert_false(sim_queue_run(bed.queue));
	assert_int_equal(bed.count, 1);
	assert_int_equal(bed.numbers[0], 2);
	sim_queue_destroy(bed.queue);
}

static void on_chain(void *ctx)
{
	struct note *note = ctx;

	on_note(ctx);
	if (note->number++ < 3)
		sim_queue_add(note->bed->queue, 7, on_chain, ctx);
}

static void an_event_may_add_events(void **state)
{
	struct bed bed;
	struct note note = { &bed, 1 };

	bed_init(&bed);
	sim_queue_add(bed.queue, 7, on_chain, &note);
	while (sim_queue_run(bed.queue))
		;
	assert_int_equal(bed.count, 3);
	assert_true(bed.moments[2] == 1021);
	sim_queue_destroy(bed.queue);
}

static void many_events_run_sorted_and_none_twice(void **state)
{
	static struct note notes[RECORD_MAX];
	static struct bed bed;
	unsigned int seen[RECORD_MAX] = { 0 };
	struct sim_rng rng;

	bed_init(&bed);
	sim_rng_init(&rng, 1);
	for (int i = 0; i < RECORD_MAX; i++) {
		uint64_t delay_ms = sim_rng_below(&rng, 500);

		notes[i] = (struct note){ &bed, i };
		notes[i].at_ms = 1000 + delay_ms;
		notes[i].handle =
			sim_queue_add(bed.queue, delay_ms, on_note, &notes[i]);
	}
	for (int i = 0; i < RECORD_MAX; i++) {
		notes[i].is_cancelled = sim_rng_chance(&rng, 300000);
		if (notes[i].is_cancelled)
			sim_queue_cancel(bed.queue, notes[i].handle);
	}
	while (sim_queue_run(bed.queue))
		;
	for (size_t i = 0; i < bed.count; i++) {
		const struct note *note = &notes[bed.numbers[i]];

		seen[bed.numbers[i]]++;
		assert_true(bed.moments[i] == note->at_ms);
		if (i > 0)
			assert_true(bed.moments[i] > bed.moments[i - 1] ||
				    (bed.moments[i] == bed.moments[i - 1] &&
				     bed.numbers[i] > bed.numbers[i - 1]));
	}
	for (int i = 0; i < RECORD_MAX; i++)
		assert_int_equal(seen[i], notes[i].is_cancelled ? 0 : 1);
	sim_queue_destroy(bed.queue);
}

static void what_waits_is_dropped_at_the_end(void **state)
{
	struct bed bed;
	struct note note = { &bed, 1 };

	bed_init(&bed);
	sim_queue_add(bed.queue, 1, on_note, &note);
	sim_queue_destroy(bed.queue);
	sim_queue_destroy(NULL);
	assert_int_equal(bed.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_run_at_their_moments),
		cmocka_unit_test(events_of_one_moment_keep_their_order),
		cmocka_unit_test(cancelled_events_do_not_run),
		cmocka_unit_test(an_event_may_add_events),
		cmocka_unit_test(many_events_run_sorted_and_none_twice),
		cmocka_unit_test(what_waits_is_dropped_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
