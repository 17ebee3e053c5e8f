/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "sim/heap.h"
#include "sim/rng.h"

static struct scoll_replay *replay;

static int setup(void **state)
{
	return replay_create(3, &replay);
}

static int teardown(void **state)
{
	replay_destroy(replay);
	return 0;
}

static void assert_enter(scoll_nid_t root, uint64_t nonce, uint64_t number,
			 enum replay_result result)
{
	assert_int_equal(replay_check(replay, root, nonce, number), result);
	assert_int_equal(replay_enter(replay, root, nonce, 0, number), result);
}

static void number_is_new_once(void **state)
{
	assert_enter(1, 100, 5, REPLAY_NEW);
	assert_enter(1, 100, 5, REPLAY_SEEN);
	assert_enter(1, 100, 6, REPLAY_NEW);
	assert_enter(1, 100, 5, REPLAY_SEEN);
	assert_enter(2, 100, 5, REPLAY_NEW);
	assert_enter(1, 100, 0, REPLAY_NEW);
	assert_enter(1, 100, 0, REPLAY_SEEN);
}

static void check_changes_nothing(void **state)
{
	assert_int_equal(replay_check(replay, 1, 100, 5), REPLAY_NEW);
	assert_int_equal(replay_check(replay, 1, 100, 5), REPLAY_NEW);
	assert_int_equal(replay_root_count(replay), 0);
	assert_enter(1, 100, 5, REPLAY_NEW);
	assert_int_equal(replay_check(replay, 1, 200, 1), REPLAY_NEW_NONCE);
	assert_int_equal(replay_check(replay, 1, 100, 5), REPLAY_SEEN);
}

static void numbers_come_in_any_order_within_the_window(void **state)
{
	assert_enter(1, 100, 20000, REPLAY_NEW);
	assert_enter(1, 100, 20000 - REPLAY_WINDOW + 1, REPLAY_NEW);
	assert_enter(1, 100, 20000 - REPLAY_WINDOW, REPLAY_OLD);
	assert_enter(1, 100, 20000 - REPLAY_WINDOW + 1, REPLAY_SEEN);
	assert_enter(1, 100, 18000, REPLAY_NEW);
	/* The window goes on: what falls out counts as seen. */
	assert_enter(1, 100, 25000, REPLAY_NEW);
	assert_enter(1, 100, 18000, REPLAY_SEEN);
	assert_enter(1, 100, 20000 - REPLAY_WINDOW + 1, REPLAY_OLD);
	assert_enter(1, 100, 20000, REPLAY_SEEN);
	assert_enter(1, 100, 19999, REPLAY_NEW);
	/* A long way: nothing of before is left. */
	assert_enter(1, 100, 25000 + 10 * REPLAY_WINDOW, REPLAY_NEW);
	assert_enter(1, 100, 25000, REPLAY_OLD);
	assert_enter(1, 100, 24999 + 10 * REPLAY_WINDOW, REPLAY_NEW);
}

static void highest_number_of_all_is_no_end(void **state)
{
	assert_enter(1, 100, UINT64_MAX - 1, REPLAY_NEW);
	assert_enter(1, 100, UINT64_MAX, REPLAY_NEW);
	assert_enter(1, 100, UINT64_MAX, REPLAY_SEEN);
	assert_enter(1, 100, UINT64_MAX - 1, REPLAY_SEEN);
	assert_enter(1, 100, 0, REPLAY_OLD);
}

/* Against a list of all that was ever entered. */
static void window_agrees_with_a_list(void **state)
{
	enum {
		SPREAD = REPLAY_WINDOW * 3 / 2,
		COUNT = 5 * REPLAY_WINDOW,
	};
	static bool is_seen[SPREAD + COUNT / 5];
	struct sim_rng rng;
	uint64_t highest = 0;

	sim_rng_init(&rng, 7);
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t number = sim_rng_below(&rng, SPREAD) + i / 5;
		enum replay_result expected = REPLAY_NEW;

		if (number + REPLAY_WINDOW <= highest)
			expected = REPLAY_OLD;
		else if (is_seen[number])
			expected = REPLAY_SEEN;
		assert_enter(1, 100, number, expected);
		is_seen[number] = true;
		if (number > highest)
			highest = number;
	}
}

static void earlier_start_of_a_node_does_not_come_back(void **state)
{
	assert_enter(1, 100, 5, REPLAY_NEW);
	assert_enter(1, 200, 5, REPLAY_NEW_NONCE);
	assert_enter(1, 200, 5, REPLAY_SEEN);
	assert_enter(1, 100, 6, REPLAY_PAST);
	assert_enter(1, 200, 1, REPLAY_NEW);
	assert_enter(1, 300, 1, REPLAY_NEW_NONCE);
	assert_enter(1, 100, 7, REPLAY_PAST);
	assert_enter(1, 200, 7, REPLAY_PAST);
	/* Another node may have any nonce. */
	assert_enter(2, 100, 6, REPLAY_NEW);
}

static void late_message_of_an_unknown_start_does_not_replace_a_later_one(
	void **state)
{
	assert_enter(1, 200, 5, REPLAY_NEW);
	assert_enter(1, 100, 6, REPLAY_PAST);
	assert_enter(1, 200, 6, REPLAY_NEW);
}

static void node_that_died_may_have_a_lower_nonce(void **state)
{
	assert_int_equal(replay_enter(replay, 1, 200, 0, 5), REPLAY_NEW);
	assert_int_equal(replay_enter(replay, 1, 100, 0, 5), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 5), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 6), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 7), REPLAY_NEW_NONCE);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 7), REPLAY_SEEN);
	assert_int_equal(replay_enter(replay, 1, 50, 1, 5), REPLAY_PAST);
}

static void late_messages_after_a_death_do_not_shut_out_who_lives(void **state)
{
	assert_int_equal(replay_enter(replay, 1, 200, 0, 5), REPLAY_NEW);
	for (uint64_t i = 6; i < 20; i++) {
		assert_int_equal(replay_enter(replay, 1, 100, 1, i),
				 REPLAY_PAST);
		assert_int_equal(replay_enter(replay, 1, 100, 1, i),
				 REPLAY_PAST);
		assert_int_equal(replay_enter(replay, 1, 200, 1, i),
				 REPLAY_NEW);
	}
	/* The same one again and again is one. */
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(replay_enter(replay, 1, 100, 1, 30),
				 REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 200, 1, 20), REPLAY_NEW);
	/* Several in a row replace it, until a message of it arrives. */
	for (uint64_t i = 31; i < 33; i++)
		assert_int_equal(replay_enter(replay, 1, 100, 1, i),
				 REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 33), REPLAY_NEW_NONCE);
	assert_int_equal(replay_enter(replay, 1, 200, 1, 20), REPLAY_OLD);
	assert_int_equal(replay_enter(replay, 1, 200, 1, 21), REPLAY_NEW_NONCE);
	assert_int_equal(replay_enter(replay, 1, 200, 1, 20), REPLAY_SEEN);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 40), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 200, 1, 22), REPLAY_NEW);
}

static void start_that_was_replaced_is_not_believed_after_a_death(void **state)
{
	assert_int_equal(replay_enter(replay, 1, 100, 0, 5), REPLAY_NEW);
	assert_int_equal(replay_enter(replay, 1, 200, 0, 5), REPLAY_NEW_NONCE);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 5), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 100, 1, 6), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 300, 1, 5), REPLAY_NEW_NONCE);
	/* So many of them are remembered. */
	for (uint64_t i = 0; i < REPLAY_NONCES_MAX; i++)
		assert_int_equal(replay_enter(replay, 1, 400 + i, 1, 5),
				 REPLAY_NEW_NONCE);
	assert_int_equal(replay_enter(replay, 1, 300, 2, 5), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 200, 2, 5), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 200, 2, 6), REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 200, 2, 7), REPLAY_NEW_NONCE);
}

/*
 * Its clock was set back: 100 lives. One message of 200 was late, of which
 * nothing had come before it.
 */
static void late_message_does_not_shut_out_who_lives_for_ever(void **state)
{
	for (uint64_t i = 1; i <= 10; i++)
		assert_enter(1, 100, i, REPLAY_NEW);
	assert_enter(1, 200, 77, REPLAY_NEW_NONCE);
	assert_enter(1, 100, 11, REPLAY_PAST);
	assert_enter(1, 100, 12, REPLAY_PAST);
	assert_int_equal(replay_enter(replay, 1, 100, 0, 13), REPLAY_NEW_NONCE);
	assert_enter(1, 100, 14, REPLAY_NEW);
	/* What was run is not run now. */
	for (uint64_t i = 1; i <= 10; i++)
		assert_in_range(replay_enter(replay, 1, 100, 0, i), REPLAY_SEEN,
				REPLAY_PAST);
	assert_enter(1, 200, 77, REPLAY_OLD);
	assert_enter(1, 100, 15, REPLAY_NEW);
}

/* However often, what was seen of a start does not bring it back. */
static void replays_of_a_past_start_do_not_bring_it_back(void **state)
{
	for (uint64_t i = 1; i <= 10; i++)
		assert_enter(1, 100, i, REPLAY_NEW);
	assert_enter(1, 200, 1, REPLAY_NEW_NONCE);
	for (uint64_t i = 1; i <= 10; i++)
		assert_int_equal(replay_enter(replay, 1, 100, 5, i),
				 REPLAY_PAST);
	assert_enter(1, 200, 2, REPLAY_NEW);
}

/* To be answered it has to be one that would be believed, in the end. */
static void new_numbers_are_distinguished_from_old_ones(void **state)
{
	assert_true(replay_may_be_new(replay, 1, 200, 0, 1));
	assert_enter(1, 200, 1, REPLAY_NEW);
	assert_false(replay_may_be_new(replay, 1, 200, 0, 1));
	assert_true(replay_may_be_new(replay, 1, 200, 0, 2));
	/* An earlier start, unless its node has died. */
	assert_false(replay_may_be_new(replay, 1, 100, 0, 1));
	assert_true(replay_may_be_new(replay, 1, 100, 1, 1));
	assert_true(replay_may_be_new(replay, 1, 300, 0, 1));
}

static void root_that_was_silent_longest_goes_out(void **state)
{
	assert_enter(1, 100, 1, REPLAY_NEW);
	assert_enter(2, 100, 1, REPLAY_NEW);
	assert_enter(3, 100, 1, REPLAY_NEW);
	assert_enter(1, 100, 2, REPLAY_NEW);
	assert_enter(4, 100, 1, REPLAY_NEW);
	assert_int_equal(replay_root_count(replay), 3);
	assert_enter(1, 100, 1, REPLAY_SEEN);
	assert_enter(3, 100, 1, REPLAY_SEEN);
	assert_enter(2, 100, 1, REPLAY_NEW); /* in place of 3 */
	assert_enter(1, 100, 2, REPLAY_SEEN);
	assert_int_equal(replay_check(replay, 3, 100, 1), REPLAY_NEW);
}

static int enter_some(void *ctx)
{
	for (uint64_t root = 1; root < 4; root++) {
		int result = replay_enter(replay, root, 100, 0, 1);

		if (result < 0)
			return result;
	}
	return 0;
}

static void end_of_memory_is_not_seen(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, enter_some, NULL); n++) {
		assert_int_equal(result, -ENOMEM);
		replay_destroy(replay);
		assert_int_equal(replay_create(3, &replay), 0);
	}
	assert_int_equal(replay_root_count(replay), 3);
	assert_true(n > 3);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		test_of(number_is_new_once),
		test_of(check_changes_nothing),
		test_of(numbers_come_in_any_order_within_the_window),
		test_of(highest_number_of_all_is_no_end),
		test_of(window_agrees_with_a_list),
		test_of(earlier_start_of_a_node_does_not_come_back),
		test_of(late_message_of_an_unknown_start_does_not_replace_a_later_one),
		test_of(node_that_died_may_have_a_lower_nonce),
		test_of(late_messages_after_a_death_do_not_shut_out_who_lives),
		test_of(start_that_was_replaced_is_not_believed_after_a_death),
		test_of(late_message_does_not_shut_out_who_lives_for_ever),
		test_of(replays_of_a_past_start_do_not_bring_it_back),
		test_of(new_numbers_are_distinguished_from_old_ones),
		test_of(root_that_was_silent_longest_goes_out),
		test_of(end_of_memory_is_not_seen),
	};

	return cmocka_run_group_tests_name("scoll_replay", tests, NULL, NULL);
}
