/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/transport/sim/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/seam.h"
#include "sim/rng.h"

#define EVENTS 1000

static struct mark {
	struct transport_timeline_event event;
	uint64_t at_ns;
	unsigned int number;
} marks[EVENTS];
static struct transport_timeline *timeline;
static unsigned int seen[EVENTS];
static unsigned int seen_count;

static void note(struct transport_timeline_event *event)
{
	struct mark *mark = (struct mark *)event;

	assert_true(transport_timeline_now_ns(timeline) == mark->at_ns);
	seen[seen_count++] = mark->number;
}

static int setup(void **state)
{
	timeline = transport_timeline_create();
	seen_count = 0;
	for (unsigned int i = 0; i < EVENTS; i++)
		marks[i] = (struct mark){ .event.run = note, .number = i };
	return 0;
}

static int teardown(void **state)
{
	transport_timeline_destroy(timeline);
	return 0;
}

static void put(unsigned int i, uint64_t at_ns)
{
	marks[i].at_ns = at_ns;
	transport_timeline_set(timeline, &marks[i].event, at_ns);
}

static void run_all(void)
{
	while (transport_timeline_run(timeline))
		;
}

static void events_run_by_moment_then_by_order(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 7);
	for (unsigned int i = 0; i < EVENTS; i++)
		put(i, sim_rng_below(&rng, 50));
	run_all();
	assert_int_equal(seen_count, EVENTS);
	for (unsigned int i = 1; i < EVENTS; i++) {
		const struct mark *a = &marks[seen[i - 1]];
		const struct mark *b = &marks[seen[i]];

		assert_true(a->at_ns < b->at_ns ||
			    (a->at_ns == b->at_ns && a->number < b->number));
	}
	assert_int_equal(transport_timeline_count(timeline), EVENTS);
}

static void moved_event_runs_once(void **state)
{
	put(0, 100);
	put(1, 50);
	put(0, 10);
	assert_int_equal(transport_timeline_next_ns(timeline), 10);
	run_all();
	assert_int_equal(seen_count, 2);
	assert_int_equal(seen[0], 0);
	put(2, 60);
	put(2, 90);
	run_all();
	assert_int_equal(seen_count, 3);
	assert_int_equal(transport_timeline_now_ns(timeline), 90);
}

static void cancelled_event_does_not_run(void **state)
{
	put(0, 10);
	put(1, 20);
	assert_true(transport_timeline_waits(&marks[0].event));
	transport_timeline_cancel(&marks[0].event);
	assert_false(transport_timeline_waits(&marks[0].event));
	assert_int_equal(transport_timeline_next_ns(timeline), 20);
	run_all();
	assert_int_equal(seen_count, 1);
	assert_int_equal(seen[0], 1);
	assert_true(transport_timeline_next_ns(timeline) == DEADLINE_NONE);
	assert_false(transport_timeline_run(timeline));
}

static void past_moment_is_now(void **state)
{
	put(0, 100);
	run_all();
	transport_timeline_set(timeline, &marks[1].event, 5);
	marks[1].at_ns = 100;
	run_all();
	assert_int_equal(seen_count, 2);
	assert_int_equal(transport_timeline_now_ns(timeline), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			events_run_by_moment_then_by_order, setup, teardown),
		cmocka_unit_test_setup_teardown(moved_event_runs_once, setup,
						teardown),
		cmocka_unit_test_setup_teardown(cancelled_event_does_not_run,
						setup, teardown),
		cmocka_unit_test_setup_teardown(past_moment_is_now, setup,
						teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
