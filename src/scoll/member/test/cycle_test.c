/* SPDX-License-Identifier: BSD-3-Clause */
/* The cycle number: who may move it how far, and what a pause does. */
#include "scoll/member/gossip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>

#include "lab.h"

#define NODE_COUNT 20
#define HUGE_CYCLE (UINT64_C(1) << 61)

static int set_up(void **state)
{
	static struct lab lab;

	lab_init(&lab, NODE_COUNT);
	*state = &lab;
	return 0;
}

static int tear_down(void **state)
{
	lab_fini(*state);
	return 0;
}

static uint64_t cycle_of(const struct lab *lab)
{
	return gossip_cycle(lab->gossip);
}

/* Out of stealth, and all others alive. */
static void surrounded(struct lab *lab)
{
	lab_surface(lab);
	for (uint32_t i = 1; i < NODE_COUNT; i++)
		assert_int_equal(lab_hear(lab, i, cycle_of(lab)), 0);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
}

static void one_node_alone_cannot_make_the_cycle_jump(void **state)
{
	struct lab *lab = *state;
	uint64_t cycle;

	surrounded(lab);
	cycle = cycle_of(lab);
	for (int i = 0; i < 10; i++)
		assert_int_equal(lab_hear(lab, 1, HUGE_CYCLE), -ERANGE);
	assert_int_equal(lab_hear(lab, 2, HUGE_CYCLE / 2), -ERANGE);
	assert_int_equal(lab_hear(lab, 3, HUGE_CYCLE / 4), -ERANGE);
	assert_int_equal(lab_hear(lab, 2, cycle + GOSSIP_STEP_CYCLES + 1),
			 -ERANGE);
	assert_int_equal(cycle_of(lab), cycle);
	assert_int_equal(gossip_stats(lab->gossip)->refused_count[GOSSIP_AHEAD],
			 13);
	lab_pass(lab, 1);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
}

static void a_node_cannot_hurry_the_others_step_by_step(void **state)
{
	struct lab *lab = *state;
	unsigned int refused = 0;
	uint64_t begin;

	surrounded(lab);
	begin = cycle_of(lab);
	for (int i = 0; i < 100; i++)
		refused += lab_hear(lab, 1, cycle_of(lab) + 1) == -ERANGE;
	assert_true(refused > 90);
	assert_in_range(cycle_of(lab), begin + 1,
			begin + GOSSIP_STEP_CYCLES + 1);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
	/* A clock that is a little faster than ours is followed, though. */
	for (int i = 0; i < 200; i++) {
		uint64_t expected = cycle_of(lab) + 1;

		lab->now_ns += LAB_CYCLE_NS - LAB_CYCLE_NS / 200;
		assert_int_equal(lab_hear(lab, 1, expected), 0);
		assert_int_equal(cycle_of(lab), expected);
	}
}

/* Send to a node that is `lag` behind in each cycle; how far we came. */
static uint64_t count_beside(struct lab *lab, uint64_t lag, unsigned int cycles)
{
	uint64_t begin = cycle_of(lab);

	for (unsigned int i = 0; i < cycles; i++) {
		assert_int_equal(lab_hear(lab, 1, begin - lag + i), 0);
		lab_pass(lab, 1);
	}
	return cycle_of(lab) - begin;
}

static void who_was_hurried_waits_for_the_others(void **state)
{
	struct lab *lab = *state;

	surrounded(lab);
	assert_int_equal(count_beside(lab, GOSSIP_STEP_CYCLES, 6), 6);
	for (int i = 0; i < 100; i++)
		lab_hear(lab, 2, cycle_of(lab) + 1);
	assert_in_range(count_beside(lab, GOSSIP_STEP_CYCLES + 1, 6), 3, 5);
	/* Long after, those who are behind are late, and not we ahead. */
	lab_pass(lab, 300);
	assert_int_equal(count_beside(lab, GOSSIP_STEP_CYCLES + 1, 6), 6);
}

static void a_quorum_is_believed_and_nobody_dies_of_it(void **state)
{
	struct lab *lab = *state;
	uint64_t target;

	surrounded(lab);
	target = cycle_of(lab) + 500;
	for (uint32_t i = 1; i < GOSSIP_QUORUM; i++) {
		assert_int_equal(lab_hear(lab, i, target), -ERANGE);
		assert_int_equal(lab_hear(lab, i, target), -ERANGE);
	}
	assert_int_equal(lab_hear(lab, GOSSIP_QUORUM, target), 0);
	assert_int_equal(cycle_of(lab), target);
	assert_int_equal(gossip_stats(lab->gossip)->jump_count, 1);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
	/* A node not seen by then is dead. */
	lab_pass(lab, lab->bounds.age_max - 1);
	assert_int_equal(gossip_stats(lab->gossip)->death_count, 0);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	lab_pass(lab, 2);
	assert_true(lab_is_alive(lab, 1));
	assert_true(lab_is_alive(lab, GOSSIP_QUORUM));
	assert_int_equal(gossip_stats(lab->gossip)->death_count,
			 NODE_COUNT - 3);
}

static void voices_that_are_too_far_apart_make_no_quorum(void **state)
{
	struct lab *lab = *state;
	uint64_t target;

	surrounded(lab);
	target = cycle_of(lab) + 500;
	for (uint32_t i = 0; i < 4; i++) {
		/* They go on as time does, and arrive again and again. */
		assert_int_equal(lab_hear(lab, 1 + i % 2, target), -ERANGE);
		lab_pass(lab, 1);
		target++;
	}
	/* The third one comes long after the others. */
	lab_pass(lab, lab->bounds.age_max + 1);
	target += lab->bounds.age_max + 1;
	assert_int_equal(lab_hear(lab, 3, target), -ERANGE);
	assert_int_equal(gossip_stats(lab->gossip)->jump_count, 0);
}

static void in_stealth_the_first_word_counts_and_can_be_undone(void **state)
{
	struct lab *lab = *state;
	unsigned int received = 0;

	assert_int_equal(lab_hear(lab, 1, HUGE_CYCLE), 0);
	assert_true(cycle_of(lab) >= HUGE_CYCLE);
	/* The others say otherwise, and do so for a while. */
	for (unsigned int i = 0; i < 2 * lab->bounds.age_max; i++) {
		uint32_t index = 2 + i % 5;

		lab_pass(lab, 1);
		if (lab_hear(lab, index, 700 + i) == 0)
			received++;
	}
	assert_int_equal(received, 2 * lab->bounds.age_max);
	assert_int_equal(cycle_of(lab), 700 + 2 * lab->bounds.age_max - 1);
	assert_int_equal(gossip_stats(lab->gossip)->back_count, 1);
	assert_int_equal(discovery_alive_count(lab->discovery), 6 + 1);
}

static void a_cycle_that_nobody_can_have_reached_is_never_believed(void **state)
{
	struct lab *lab = *state;

	assert_int_equal(lab_hear(lab, 1, MESSAGE_CYCLE_MAX), -ERANGE);
	surrounded(lab);
	for (uint32_t i = 1; i < NODE_COUNT; i++)
		assert_int_equal(lab_hear(lab, i, MESSAGE_CYCLE_MAX), -ERANGE);
	assert_int_equal(gossip_stats(lab->gossip)->jump_count, 0);
}

static void those_behind_do_not_pull_a_majority_back(void **state)
{
	struct lab *lab = *state;
	uint64_t begin;

	assert_int_equal(lab_hear(lab, 1, 5000), 0);
	surrounded(lab);
	begin = cycle_of(lab);
	for (unsigned int i = 0; i < 3 * lab->bounds.age_max; i++) {
		lab_pass(lab, 1);
		for (uint32_t index = 1; index < 5; index++)
			assert_int_equal(lab_hear(lab, index, cycle_of(lab)),
					 0);
		for (uint32_t index = 5; index < 10; index++)
			assert_int_equal(lab_hear(lab, index, 5 + i), 0);
	}
	assert_int_equal(gossip_stats(lab->gossip)->back_count, 0);
	assert_true(cycle_of(lab) >= begin + 3 * lab->bounds.age_max);
	/* And what they say of themselves is old. */
	assert_false(lab_is_alive(lab, 5));
}

static void a_node_behind_is_answered_so_that_it_catches_up(void **state)
{
	struct lab *lab = *state;
	struct member_message message;

	assert_int_equal(lab_hear(lab, 2, 5000), 0);
	lab_surface(lab);
	lab_message(lab, 1, 3);
	lab->message.is_request = true;
	lab->sent_count = 0;
	assert_int_equal(lab_receive(lab), 0);
	assert_int_equal(lab->sent_count, 1);
	assert_int_equal(message_decode(lab->sent[0].bytes, lab->sent[0].size,
					&message),
			 0);
	assert_int_equal(message.cycle, cycle_of(lab));
	assert_false(lab_is_alive(lab, 1));
}

static void a_node_far_ahead_is_answered_so_that_it_goes_back(void **state)
{
	struct lab *lab = *state;
	struct member_message message;

	surrounded(lab);
	lab_message(lab, 1, HUGE_CYCLE);
	lab->message.is_request = true;
	lab->sent_count = 0;
	assert_int_equal(lab_receive(lab), -ERANGE);
	assert_int_equal(lab->sent_count, 1);
	assert_int_equal(message_decode(lab->sent[0].bytes, lab->sent[0].size,
					&message),
			 0);
	assert_int_equal(message.cycle, cycle_of(lab));
	assert_int_equal(message.asker_nonce, lab->message.boot_nonce);
}

static void a_pause_of_our_own_kills_nobody(void **state)
{
	struct lab *lab = *state;
	uint64_t cycle;

	surrounded(lab);
	cycle = cycle_of(lab);
	lab->now_ns += 100 * LAB_CYCLE_NS;
	gossip_run(lab->gossip, lab->now_ns);
	assert_int_equal(gossip_stats(lab->gossip)->pause_count, 1);
	assert_true(cycle_of(lab) >= cycle + 100);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
	/* Their views come; one does not. */
	lab_message(lab, 1, cycle_of(lab));
	for (uint32_t i = 1; i < NODE_COUNT - 1; i++)
		lab_say(lab, i, 2);
	assert_int_equal(lab_receive(lab), 0);
	lab_pass(lab, lab->bounds.age_max - 1);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
	lab_pass(lab, 1);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT - 1);
	assert_int_equal(lab_counter(lab, NODE_COUNT - 1), 1);
}

static void after_a_pause_messages_may_come_before_the_clock(void **state)
{
	struct lab *lab = *state;
	uint64_t cycle;

	surrounded(lab);
	cycle = cycle_of(lab);
	lab->now_ns += 100 * LAB_CYCLE_NS;
	/* One that waited all that time, and then a new one. */
	assert_int_equal(lab_hear(lab, 1, cycle + 1), 0);
	assert_int_equal(lab_hear(lab, 1, cycle + 100), 0);
	assert_int_equal(gossip_stats(lab->gossip)->pause_count, 1);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
}

/* What all others have said before the whole cluster was started again. */
static void play_back(struct lab *lab, uint64_t cycle, uint64_t asker_nonce)
{
	for (uint32_t i = 1; i < NODE_COUNT; i++) {
		lab_message(lab, i, cycle);
		lab->message.boot_nonce = 5000 + i;
		lab->message.asker_nonce = asker_nonce;
		for (uint32_t k = 0; k < NODE_COUNT; k++)
			lab_say(lab, k, 1);
		lab_receive(lab);
	}
}

/* Messages of all others arrive in each cycle. */
static void live(struct lab *lab, unsigned int cycles, uint64_t *cycle)
{
	for (unsigned int i = 0; i < cycles; i++) {
		lab_pass(lab, 1);
		++*cycle;
		for (uint32_t k = 1; k < NODE_COUNT; k++)
			lab_hear(lab, k, *cycle);
	}
}

static void messages_of_an_earlier_life_move_no_cycle(void **state)
{
	struct lab *lab = *state;
	const struct gossip_stats *stats = gossip_stats(lab->gossip);
	uint64_t cycle;

	surrounded(lab);
	cycle = cycle_of(lab);
	play_back(lab, 100000, 0);
	play_back(lab, 100000, LAB_NONCE + 1);
	assert_int_equal(stats->refused_count[GOSSIP_AHEAD],
			 2 * (NODE_COUNT - 1));
	for (int i = 0; i < 40; i++) {
		play_back(lab, 100001 + i, 0);
		live(lab, 1, &cycle);
	}
	assert_int_equal(cycle_of(lab), cycle);
	/* Nor do they move it back. */
	for (int i = 0; i < 40; i++) {
		play_back(lab, 2 + i, LAB_NONCE + 1);
		lab_pass(lab, 1);
		cycle++;
	}
	assert_int_equal(cycle_of(lab), cycle);
	assert_int_equal(stats->reboot_count, 0);
	assert_int_equal(stats->jump_count + stats->back_count, 0);
}

static void earlier_life_believed_in_stealth_is_left_and_kills_nobody(
	void **state)
{
	struct lab *lab = *state;
	const struct gossip_stats *stats = gossip_stats(lab->gossip);
	unsigned int cycles = 3 * lab->bounds.age_max;
	uint64_t cycle = 700;

	for (uint32_t i = 1; i < NODE_COUNT; i++)
		lab_hear(lab, i, cycle);
	play_back(lab, 100000, 0);
	assert_int_equal(cycle_of(lab), 100000);
	/* They are replayed on and on, and true messages arrive, too. */
	for (unsigned int i = 0; i < lab->bounds.stealth + cycles; i++) {
		play_back(lab, 100001 + i, 0);
		live(lab, 1, &cycle);
	}
	assert_false(discovery_is_stealthy(lab->discovery));
	assert_int_equal(cycle_of(lab), cycle);
	assert_int_equal(stats->death_count, 0);
	assert_int_equal(discovery_alive_count(lab->discovery), NODE_COUNT);
}

static void cycle_begins_at_the_clock_and_follows_the_first_word(void **state)
{
	static const uint64_t words[] = { 3, 700, 1000000, 99 };
	struct lab lab;

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		lab_init_at(&lab, NODE_COUNT, 5000);
		assert_int_equal(cycle_of(&lab), 5000);
		lab_pass(&lab, 2);
		assert_int_equal(cycle_of(&lab), 5002);
		assert_int_equal(lab_hear(&lab, 1, words[i]), 0);
		assert_int_equal(cycle_of(&lab), words[i]);
		assert_true(lab_is_alive(&lab, 1));
		/* The second one only when it is further on. */
		assert_int_equal(lab_hear(&lab, 2, 2), 0);
		assert_int_equal(cycle_of(&lab), words[i]);
		lab_fini(&lab);
	}
}

#define test_with_lab(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_with_lab(one_node_alone_cannot_make_the_cycle_jump),
		test_with_lab(a_node_cannot_hurry_the_others_step_by_step),
		test_with_lab(who_was_hurried_waits_for_the_others),
		test_with_lab(a_quorum_is_believed_and_nobody_dies_of_it),
		test_with_lab(voices_that_are_too_far_apart_make_no_quorum),
		test_with_lab(
			in_stealth_the_first_word_counts_and_can_be_undone),
		test_with_lab(
			a_cycle_that_nobody_can_have_reached_is_never_believed),
		test_with_lab(messages_of_an_earlier_life_move_no_cycle),
		test_with_lab(
			earlier_life_believed_in_stealth_is_left_and_kills_nobody),
		test_with_lab(
			cycle_begins_at_the_clock_and_follows_the_first_word),
		test_with_lab(those_behind_do_not_pull_a_majority_back),
		test_with_lab(a_node_behind_is_answered_so_that_it_catches_up),
		test_with_lab(
			a_node_far_ahead_is_answered_so_that_it_goes_back),
		test_with_lab(a_pause_of_our_own_kills_nobody),
		test_with_lab(after_a_pause_messages_may_come_before_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
