/* SPDX-License-Identifier: BSD-3-Clause */
/* Watching: who is told what, and when. */
#include "scoll/member/discovery.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "scoll/member/given.h"
#include "sim/heap.h"

#define TOLD_MAX 32

struct told {
	uint64_t nid;
	enum discovery_event event;
	uint32_t counter; /* as it was seen while being told */
};

struct bed {
	struct given *given;
	struct discovery *discovery;
	struct discovery_watcher *watcher;
	struct told told[TOLD_MAX];
	size_t count;
	/* What the watcher does when it is told of `trigger`. */
	void (*react)(struct bed *bed);
	struct discovery_watcher *other;
};

static void on_change(void *ctx, uint64_t nid, enum discovery_event event)
{
	struct bed *bed = ctx;

	assert_true(bed->count < TOLD_MAX);
	bed->told[bed->count++] =
		(struct told){ nid, event,
			       discovery_counter(bed->discovery, nid) };
	if (bed->react != NULL)
		bed->react(bed);
}

static int set_up(void **state)
{
	static struct bed bed;

	bed = (struct bed){ 0 };
	assert_int_equal(given_create(true, &bed.given), 0);
	bed.discovery = given_discovery(bed.given);
	assert_int_equal(discovery_watcher_create(bed.discovery, on_change,
						  &bed, &bed.watcher),
			 0);
	*state = &bed;
	return 0;
}

static int tear_down(void **state)
{
	struct bed *bed = *state;

	discovery_watcher_destroy(bed->other);
	discovery_watcher_destroy(bed->watcher);
	given_destroy(bed->given);
	return 0;
}

static void assert_told(const struct bed *bed, size_t at, uint64_t nid,
			enum discovery_event event)
{
	assert_true(at < bed->count);
	assert_int_equal(bed->told[at].nid, nid);
	assert_int_equal(bed->told[at].event, event);
}

static void news_D02_of_death_and_reboot_of_nodes_of_interest(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(discovery_watch(bed->watcher, 7), 0);
	given_dead(bed->given, 8);
	assert_int_equal(bed->count, 0);
	given_dead(bed->given, 7);
	given_alive(bed->given, 7);
	given_rebooted(bed->given, 7);
	assert_int_equal(bed->count, 3);
	assert_told(bed, 0, 7, DISCOVERY_DEAD);
	assert_told(bed, 1, 7, DISCOVERY_ALIVE);
	assert_told(bed, 2, 7, DISCOVERY_REBOOTED);
	assert_int_equal(bed->told[0].counter, 1);
	assert_int_equal(bed->told[1].counter, 1);
	assert_int_equal(bed->told[2].counter, 2);
}

static void interest_is_told_once(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(discovery_watch(bed->watcher, 7), 0);
	assert_int_equal(discovery_watch(bed->watcher, 7), 0);
	given_dead(bed->given, 7);
	assert_int_equal(bed->count, 1);
}

static void what_was_before_the_interest_is_not_told(void **state)
{
	struct bed *bed = *state;

	given_dead(bed->given, 7);
	assert_int_equal(discovery_watch(bed->watcher, 7), 0);
	given_dead(bed->given, 7);
	assert_int_equal(bed->count, 0);
	given_rebooted(bed->given, 7);
	assert_int_equal(bed->count, 1);
	assert_told(bed, 0, 7, DISCOVERY_ALIVE);
}

static void silence_the_other(struct bed *bed)
{
	discovery_watcher_destroy(bed->other);
	bed->other = NULL;
}

static void who_goes_before_his_turn_is_not_told(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(discovery_watcher_create(bed->discovery, on_change,
						  bed, &bed->other),
			 0);
	assert_int_equal(discovery_watch(bed->watcher, 7), 0);
	assert_int_equal(discovery_watch(bed->other, 7), 0);
	bed->react = silence_the_other;
	given_dead(bed->given, 7);
	assert_int_equal(bed->count, 1);
}

static void revive(struct bed *bed)
{
	bed->react = NULL;
	assert_int_equal(given_alive(bed->given, 7), 0);
	/* The outer call tells it, not this one. */
	assert_int_equal(bed->count, 1);
}

static void a_change_made_while_telling_is_told_next(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(discovery_watch(bed->watcher, 7), 0);
	bed->react = revive;
	given_dead(bed->given, 7);
	assert_int_equal(bed->count, 2);
	assert_told(bed, 0, 7, DISCOVERY_DEAD);
	assert_told(bed, 1, 7, DISCOVERY_ALIVE);
}

static int watch_some(void *ctx)
{
	struct bed *bed = ctx;
	struct discovery_watcher *watcher;
	int result = discovery_watcher_create(bed->discovery, on_change, bed,
					      &watcher);

	if (result < 0)
		return result;
	for (uint64_t nid = 0; nid < 50 && result == 0; nid++)
		result = discovery_watch(watcher, nid);
	discovery_watcher_destroy(watcher);
	return result;
}

static void memory_that_runs_out_leaves_no_interest(void **state)
{
	int result;
	unsigned int n;

	for (n = 1; sim_heap_fails(n, &result, watch_some, *state); n++)
		assert_true(result == -ENOMEM || result == 0);
	assert_int_equal(result, 0);
	assert_true(n > 100);
}

#define test_with_bed(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_with_bed(
			news_D02_of_death_and_reboot_of_nodes_of_interest),
		test_with_bed(interest_is_told_once),
		test_with_bed(what_was_before_the_interest_is_not_told),
		test_with_bed(who_goes_before_his_turn_is_not_told),
		test_with_bed(a_change_made_while_telling_is_told_next),
		test_with_bed(memory_that_runs_out_leaves_no_interest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
