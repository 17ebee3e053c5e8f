/* SPDX-License-Identifier: BSD-3-Clause */
/* One node: stealth, verdicts, news, what is sent and what is refused. */
#include "scoll/member/gossip.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lab.h"
#include "scoll/member/age.h"
#include "sim/heap.h"

#define NODE_COUNT 20

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

/* --- stealth --- */

static void stealth_D03_sends_nothing_and_hears_everything(void **state)
{
	struct lab *lab = *state;

	assert_true(discovery_is_stealthy(lab->discovery));
	for (unsigned int i = 1; i < lab->bounds.stealth; i++) {
		lab_pass(lab, 1);
		lab_message(lab, 1, 5000 + i);
		lab_say(lab, 2, 1);
		/* It is known, and lately: nothing that ends stealth. */
		lab_say(lab, 0, 3);
		lab->message.listening_cycles = 255;
		lab->message.is_request = true;
		assert_int_equal(lab_receive(lab), 0);
		assert_int_equal(cycle_of(lab), 5000 + i);
		assert_true(lab_is_alive(lab, 1));
		assert_true(lab_is_alive(lab, 2));
		assert_false(lab_is_alive(lab, 3));
		assert_true(discovery_is_stealthy(lab->discovery));
	}
	assert_int_equal(lab->sent_count, 0);
	lab_pass(lab, 2);
	assert_false(discovery_is_stealthy(lab->discovery));
	assert_true(lab->sent_count > 0);
}

static void stealth_D04_outlasts_a_death_and_grows_like_log_n(void **state)
{
	struct gossip_bounds last = gossip_bounds_of(1);

	for (size_t nodes = 2; nodes <= ROSTER_NODE_MAX; nodes *= 2) {
		struct gossip_bounds bounds = gossip_bounds_of(nodes);

		assert_int_equal(bounds.stealth,
				 bounds.dead_after + GOSSIP_SKEW_CYCLES + 1);
		assert_in_range(bounds.stealth, last.stealth, last.stealth + 2);
		last = bounds;
	}
	assert_int_equal(gossip_bounds_of(10000).dead_after, 18);
	assert_in_range(last.stealth, 20, 30);
}

static void stealth_D04_is_counted_by_the_own_clock(void **state)
{
	struct lab *lab = *state;
	uint64_t begin_ns = lab->now_ns;

	/* However far the cycle jumps. */
	assert_int_equal(lab_hear(lab, 1, 1000), 0);
	assert_int_equal(lab_hear(lab, 2, 2000), 0);
	lab_surface(lab);
	assert_true(lab->now_ns - begin_ns >=
		    lab->bounds.stealth * LAB_CYCLE_NS);
	assert_int_equal(gossip_stats(lab->gossip)->early_count, 0);
}

/* A message in which this node's last sign of life is `age` old. */
static void obituary(struct lab *lab, unsigned int age)
{
	lab_message(lab, 1, 5000);
	lab_say(lab, 0, age);
	lab->message.listening_cycles = (uint8_t)lab->bounds.age_max;
}

static void stealth_D05_B28_ends_by_a_very_old_timestamp(void **state)
{
	struct lab *lab = *state;

	lab_pass(lab, lab->bounds.age_max);
	obituary(lab, lab->bounds.very_old);
	assert_int_equal(lab_receive(lab), 0);
	assert_true(discovery_is_stealthy(lab->discovery));
	obituary(lab, lab->bounds.very_old + 1);
	assert_int_equal(lab_receive(lab), 0);
	assert_false(discovery_is_stealthy(lab->discovery));
	assert_int_equal(gossip_stats(lab->gossip)->early_count, 1);
	lab_pass(lab, 1);
	assert_true(lab->sent_count > 0);
	/* T_dead and the age of what others may still believe. */
	assert_true(lab->bounds.very_old >=
		    lab->bounds.dead_after + lab->bounds.age_max);
}

static void stealth_D05_believes_only_who_can_know(void **state)
{
	struct lab *lab = *state;

	/* We had another life a moment ago, for all that it knows. */
	lab_pass(lab, lab->bounds.age_max - 1);
	obituary(lab, AGE_MAX);
	assert_int_equal(lab_receive(lab), 0);
	assert_true(discovery_is_stealthy(lab->discovery));
	lab_pass(lab, 1);
	/* It has not received from others for long enough. */
	obituary(lab, AGE_MAX);
	lab->message.listening_cycles--;
	assert_int_equal(lab_receive(lab), 0);
	assert_true(discovery_is_stealthy(lab->discovery));
	/* It is an old message: the age is the network's. */
	obituary(lab, 0);
	lab->message.cycle = 4000;
	assert_int_equal(lab_receive(lab), 0);
	assert_true(discovery_is_stealthy(lab->discovery));
}

static void first_boot_B29_of_a_node_that_nobody_knows_is_quick(void **state)
{
	struct lab *lab = *state;

	lab_pass(lab, lab->bounds.age_max);
	assert_true(lab->bounds.age_max < lab->bounds.stealth);
	lab_message(lab, 1, 5000);
	lab->message.listening_cycles = 100;
	assert_int_equal(lab->signs[0], AGE_UNKNOWN);
	assert_int_equal(lab_receive(lab), 0);
	assert_false(discovery_is_stealthy(lab->discovery));
}

static void reboot_B29_too_quick_to_be_seen_is_found_by_its_nonce(void **state)
{
	struct lab *lab = *state;

	lab_surface(lab);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_int_equal(lab_counter(lab, 1), 0);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.boot_nonce = 77;
	assert_int_equal(lab_receive(lab), 0);
	assert_true(lab_is_alive(lab, 1));
	assert_int_equal(lab_counter(lab, 1), 1);
	assert_int_equal(gossip_stats(lab->gossip)->reboot_count, 1);
	/* Once. */
	assert_int_equal(lab_receive(lab), 0);
	assert_int_equal(lab_counter(lab, 1), 1);
	/* A death that was seen has counted already. */
	lab_pass(lab, lab->bounds.dead_after + 1);
	assert_int_equal(lab_counter(lab, 1), 2);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_int_equal(lab_counter(lab, 1), 2);
}

/* --- cycle and timestamps --- */

static void cycle_D01_is_the_highest_received(void **state)
{
	struct lab *lab = *state;
	uint64_t cycle;

	lab_surface(lab);
	cycle = cycle_of(lab);
	assert_int_equal(lab_hear(lab, 1, cycle - 1), 0);
	assert_int_equal(cycle_of(lab), cycle);
	assert_int_equal(lab_hear(lab, 1, cycle + 1), 0);
	assert_int_equal(cycle_of(lab), cycle + 1);
	/* The next tick is a whole cycle away: not both in one. */
	lab->now_ns += LAB_CYCLE_NS - 1;
	gossip_run(lab->gossip, lab->now_ns);
	assert_int_equal(cycle_of(lab), cycle + 1);
	lab->now_ns++;
	gossip_run(lab->gossip, lab->now_ns);
	assert_int_equal(cycle_of(lab), cycle + 2);
}

static void timestamps_D01_are_merged_by_the_latest(void **state)
{
	struct lab *lab = *state;
	unsigned int dead_after = lab->bounds.dead_after;
	uint64_t cycle;

	lab_surface(lab);
	cycle = cycle_of(lab);
	lab_message(lab, 1, cycle);
	lab_say(lab, 2, 5);
	assert_int_equal(lab_receive(lab), 0);
	/* Older news of node 2, in a message that is itself old. */
	lab_message(lab, 3, cycle - 2);
	lab_say(lab, 2, 4);
	lab_say(lab, 4, 0);
	assert_int_equal(lab_receive(lab), 0);
	lab_pass(lab, dead_after - 5);
	assert_true(lab_is_alive(lab, 2));
	assert_true(lab_is_alive(lab, 4));
	lab_pass(lab, 1);
	assert_false(lab_is_alive(lab, 2));
	lab_pass(lab, 2);
	assert_true(lab_is_alive(lab, 4));
	lab_pass(lab, 1);
	assert_false(lab_is_alive(lab, 4));
	/* Nothing in what it sends is younger than what it received. */
	assert_true(lab_is_alive(lab, 1));
}

static void a_message_says_what_is_known(void **state)
{
	struct lab *lab = *state;
	struct member_message message;

	lab_surface(lab);
	lab_message(lab, 1, cycle_of(lab));
	lab_say(lab, 2, 3);
	lab->message.is_request = true;
	lab->sent_count = 0;
	assert_int_equal(lab_receive(lab), 0);
	assert_int_equal(lab->sent_count, 1);
	assert_int_equal(lab->sent[0].nid, lab_nid(1));
	assert_int_equal(message_decode(lab->sent[0].bytes, lab->sent[0].size,
					&message),
			 0);
	assert_false(message.is_request);
	assert_int_equal(message.nid, lab_nid(0));
	assert_int_equal(message.boot_nonce, 1);
	assert_int_equal(message.cycle, cycle_of(lab));
	assert_int_equal(message.count, NODE_COUNT);
	assert_int_equal(message.signs[0], AGE_SELF);
	assert_int_equal(message.signs[1], 1);
	assert_int_equal(message.signs[2], 7);
	assert_int_equal(message.signs[3], AGE_UNKNOWN);
	/* An answer is not answered. */
	lab->message.is_request = false;
	assert_int_equal(lab_receive(lab), 0);
	assert_int_equal(lab->sent_count, 1);
}

/* --- counters --- */

static void counter_D06_rises_at_each_death_and_stays_here(void **state)
{
	struct lab *lab = *state;

	lab_surface(lab);
	for (uint32_t deaths = 0; deaths < 3; deaths++) {
		assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
		assert_true(lab_is_alive(lab, 1));
		assert_int_equal(lab_counter(lab, 1), deaths);
		lab_pass(lab, lab->bounds.dead_after);
		assert_int_equal(lab_counter(lab, 1), deaths);
		lab_pass(lab, 1);
		assert_false(lab_is_alive(lab, 1));
		assert_int_equal(lab_counter(lab, 1), deaths + 1);
		lab_pass(lab, 5);
		assert_int_equal(lab_counter(lab, 1), deaths + 1);
	}
	/* A node that was never alive has not died. */
	assert_int_equal(lab_counter(lab, 2), 0);
}

/* Let node 1 die so often, and catch the answer to a request after that. */
static struct lab_sent answer_after(unsigned int deaths, uint64_t cycle)
{
	struct lab_sent sent;
	struct lab lab;

	lab_init(&lab, NODE_COUNT);
	assert_int_equal(lab_hear(&lab, 2, 1000), 0);
	lab_surface(&lab);
	for (unsigned int i = 0; i < deaths; i++) {
		lab_pass(&lab, lab.bounds.dead_after + 1);
		assert_int_equal(lab_hear(&lab, 1, cycle_of(&lab)), 0);
	}
	assert_int_equal(lab_counter(&lab, 1), deaths > 0 ? deaths - 1 : 0);
	while (cycle_of(&lab) < cycle)
		lab_pass(&lab, 1);
	lab_message(&lab, 1, cycle);
	lab.message.is_request = true;
	for (uint32_t i = 1; i < NODE_COUNT; i++)
		lab_say(&lab, i, 0);
	assert_int_equal(lab_receive(&lab), 0);
	lab.sent_count = 0;
	assert_int_equal(lab_receive(&lab), 0);
	assert_int_equal(lab.sent_count, 1);
	sent = lab.sent[0];
	lab_fini(&lab);
	return sent;
}

static void counters_D08_add_nothing_to_what_is_sent(void **state)
{
	struct lab_sent none = answer_after(0, 1200);
	struct lab_sent many = answer_after(6, 1200);

	assert_int_equal(none.size, MESSAGE_HEADER_SIZE + NODE_COUNT);
	assert_int_equal(many.size, none.size);
	/* All but byte 6, for how long it has listened. */
	none.bytes[6] = many.bytes[6];
	assert_memory_equal(none.bytes, many.bytes, none.size);
}

/* The next news are of the node. */
static void assert_news(struct lab *lab, uint64_t nid, enum scoll_liveness news)
{
	enum scoll_liveness got;
	uint64_t got_nid;

	assert_true(discovery_news_next(lab->discovery, &got_nid, &got));
	assert_int_equal(got_nid, nid);
	assert_int_equal(got, news);
}

/* Take the news so far. */
static void news_clear(struct lab *lab)
{
	enum scoll_liveness news;
	uint64_t nid;

	while (discovery_news_next(lab->discovery, &nid, &news))
		;
}

static void falsely_dead_B30_node_comes_back_with_another_counter(void **state)
{
	struct lab *lab = *state;
	struct lab other;

	lab_init(&other, NODE_COUNT);
	lab_surface(lab);
	lab_surface(&other);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_int_equal(lab_hear(&other, 1, cycle_of(&other)), 0);
	news_clear(lab);
	for (unsigned int i = 0; i <= lab->bounds.dead_after; i++) {
		lab_pass(lab, 1);
		lab_pass(&other, 1);
		/* All of its messages to the one are lost. */
		assert_int_equal(lab_hear(&other, 1, cycle_of(&other)), 0);
	}
	assert_news(lab, lab_nid(1), SCOLL_DEAD);
	assert_false(discovery_has_news(lab->discovery));
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_news(lab, lab_nid(1), SCOLL_ALIVE);
	/* Now the two do not agree, and nothing makes them. */
	assert_int_equal(lab_counter(lab, 1), 1);
	assert_int_equal(lab_counter(&other, 1), 0);
	lab_fini(&other);
}

static void reboot_D02_D07_is_reported_and_changes_the_counter(void **state)
{
	struct lab *lab = *state;
	uint32_t counter;

	lab_surface(lab);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	news_clear(lab);
	counter = lab_counter(lab, 1);
	/* It reboots at once, and keeps its stealth. */
	lab_pass(lab, lab->bounds.stealth);
	assert_news(lab, lab_nid(1), SCOLL_DEAD);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.boot_nonce = 77;
	assert_int_equal(lab_receive(lab), 0);
	assert_news(lab, lab_nid(1), SCOLL_ALIVE);
	assert_int_not_equal(lab_counter(lab, 1), counter);
	assert_int_equal(lab_counter(lab, 1), counter + 1);
}

static void death_after_the_check_B26_is_reported(void **state)
{
	struct lab *lab = *state;
	_auto_(discovery_view_destroyp) struct discovery_view *view = NULL;
	uint64_t nids[] = { lab_nid(0), lab_nid(1), lab_nid(2) };

	lab_surface(lab);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_int_equal(lab_hear(lab, 2, cycle_of(lab)), 0);
	assert_int_equal(discovery_view_create(lab->discovery, nids, 3, &view),
			 0);
	news_clear(lab);
	assert_int_equal(*discovery_view_alive(view), 7);
	lab_pass(lab, lab->bounds.dead_after);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	lab_pass(lab, 1);
	assert_int_equal(*discovery_view_alive(view), 3);
	assert_news(lab, lab_nid(2), SCOLL_DEAD);
	assert_false(discovery_has_news(lab->discovery));
}

/* --- leaving --- */

static void a_leave_is_a_death_at_once_and_for_good(void **state)
{
	struct lab *lab = *state;

	lab_surface(lab);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_int_equal(lab_hear(lab, 2, cycle_of(lab)), 0);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.is_leave = true;
	lab->signs[1] = AGE_LEAVES;
	assert_int_equal(lab_receive(lab), 0);
	assert_false(lab_is_alive(lab, 1));
	assert_int_equal(lab_counter(lab, 1), 1);
	/* Older signs of life, and those of the same cycle, do not help. */
	lab_message(lab, 2, cycle_of(lab));
	lab_say(lab, 1, 0);
	assert_int_equal(lab_receive(lab), 0);
	assert_false(lab_is_alive(lab, 1));
	/* Later ones do: it has come back. */
	lab_pass(lab, 1);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	assert_true(lab_is_alive(lab, 1));
	assert_int_equal(lab_counter(lab, 1), 1);
}

static void who_leaves_tells_it_and_is_silent(void **state)
{
	struct lab *lab = *state;
	struct member_message message;
	size_t count;

	lab_surface(lab);
	for (uint32_t i = 1; i < 5; i++)
		assert_int_equal(lab_hear(lab, i, cycle_of(lab)), 0);
	lab->sent_count = 0;
	gossip_leave(lab->gossip, lab->now_ns);
	assert_true(lab->sent_count >= 4);
	for (size_t i = 0; i < lab->sent_count; i++) {
		assert_int_equal(message_decode(lab->sent[i].bytes,
						lab->sent[i].size, &message),
				 0);
		assert_true(message.is_leave);
		assert_int_equal(message.signs[0], AGE_LEAVES);
	}
	count = lab->sent_count;
	assert_int_equal(gossip_deadline_ns(lab->gossip), DEADLINE_NONE);
	assert_true(discovery_is_stealthy(lab->discovery));
	gossip_run(lab->gossip, lab->now_ns + 100 * LAB_CYCLE_NS);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.is_request = true;
	assert_int_equal(lab_receive(lab), 0);
	assert_int_equal(lab->sent_count, count);
}

/* --- refusals --- */

static void assert_refused(struct lab *lab, enum gossip_refusal why, int result)
{
	const struct gossip_stats *stats = gossip_stats(lab->gossip);
	uint64_t count = stats->refused_count[why];

	lab->message.is_request = true;
	lab->sent_count = 0;
	assert_int_equal(lab_receive(lab), result);
	assert_int_equal(stats->refused_count[why], count + 1);
	assert_int_equal(lab->sent_count, 0);
	assert_int_equal(discovery_alive_count(lab->discovery), 1);
}

static void what_cannot_be_meant_for_us_is_refused_and_counted(void **state)
{
	struct lab *lab = *state;
	uint64_t nid;

	lab_surface(lab);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.roster_digest[3] ^= 1;
	assert_refused(lab, GOSSIP_ROSTER, -ESTALE);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.nid = 99;
	assert_refused(lab, GOSSIP_UNKNOWN, -ENOENT);
	lab_message(lab, 0, cycle_of(lab));
	assert_refused(lab, GOSSIP_SELF, -EADDRINUSE);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.count--;
	assert_refused(lab, GOSSIP_MALFORMED, -EBADMSG);
	lab_message(lab, 1, cycle_of(lab));
	lab->message.part = 1;
	assert_refused(lab, GOSSIP_MALFORMED, -EBADMSG);
	assert_int_equal(gossip_receive(lab->gossip, lab->now_ns, "x", 1),
			 -EBADMSG);
	assert_int_equal(gossip_sender("x", 1, &nid), -EBADMSG);
}

static void the_sender_can_be_read_beforehand(void **state)
{
	struct lab *lab = *state;
	uint64_t nid = 0;

	lab_surface(lab);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	lab_pass(lab, 1);
	assert_true(lab->sent_count > 0);
	assert_int_equal(
		gossip_sender(lab->sent[0].bytes, lab->sent[0].size, &nid), 0);
	assert_int_equal(nid, lab_nid(0));
}

static void sends_that_fail_are_counted_only(void **state)
{
	struct lab *lab = *state;

	lab_surface(lab);
	assert_int_equal(lab_hear(lab, 1, cycle_of(lab)), 0);
	lab->send_result = -ENOBUFS;
	lab_pass(lab, 3);
	assert_true(gossip_stats(lab->gossip)->send_failed_count >= 6);
	assert_true(lab_is_alive(lab, 1));
}

/* --- memory --- */

static int live_on(void *ctx)
{
	struct lab *lab = ctx;

	for (unsigned int i = 0; i < 40; i++) {
		lab->now_ns += LAB_CYCLE_NS;
		gossip_run(lab->gossip, lab->now_ns);
		assert_int_equal(gossip_receive(lab->gossip, lab->now_ns,
						lab->sent[0].bytes,
						lab->sent[0].size),
				 -EADDRINUSE);
	}
	return 0;
}

static void nothing_is_allocated_while_it_lives(void **state)
{
	struct lab *lab = *state;
	int result;

	lab_surface(lab);
	for (uint32_t i = 1; i < NODE_COUNT; i++)
		assert_int_equal(lab_hear(lab, i, cycle_of(lab)), 0);
	lab_pass(lab, 1);
	assert_true(lab->sent_count > 0);
	/* False: there was no first allocation to fail. */
	assert_false(sim_heap_fails(1, &result, live_on, lab));
	assert_true(gossip_stats(lab->gossip)->sent_count > 80);
	assert_int_equal(gossip_stats(lab->gossip)->death_count,
			 NODE_COUNT - 1);
}

static int create_one(void *ctx)
{
	struct lab *lab = ctx;
	struct gossip_options options = { .roster = lab->roster,
					  .nid = lab_nid(0) };
	struct gossip *gossip;
	int result = gossip_create(&options, 0, &gossip);

	if (result == 0)
		gossip_destroy(gossip);
	return result;
}

static void memory_that_runs_out_makes_no_gossip(void **state)
{
	unsigned int n;
	int result;

	for (n = 1; sim_heap_fails(n, &result, create_one, *state); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_true(n > 4);
}

static void options_that_make_no_sense_are_refused(void **state)
{
	struct lab *lab = *state;
	struct gossip_options options = { .roster = lab->roster, .nid = 5 };
	struct gossip *gossip = NULL;

	assert_int_equal(gossip_create(&options, 0, &gossip), -EINVAL);
	options.nid = lab_nid(0);
	options.fanout = GOSSIP_FANOUT_MAX + 1;
	assert_int_equal(gossip_create(&options, 0, &gossip), -EINVAL);
	assert_null(gossip);
}

#define test_with_lab(name) \
	cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test_with_lab(stealth_D03_sends_nothing_and_hears_everything),
		test_with_lab(
			stealth_D04_outlasts_a_death_and_grows_like_log_n),
		test_with_lab(stealth_D04_is_counted_by_the_own_clock),
		test_with_lab(stealth_D05_B28_ends_by_a_very_old_timestamp),
		test_with_lab(stealth_D05_believes_only_who_can_know),
		test_with_lab(
			first_boot_B29_of_a_node_that_nobody_knows_is_quick),
		test_with_lab(
			reboot_B29_too_quick_to_be_seen_is_found_by_its_nonce),
		test_with_lab(cycle_D01_is_the_highest_received),
		test_with_lab(timestamps_D01_are_merged_by_the_latest),
		test_with_lab(a_message_says_what_is_known),
		test_with_lab(counter_D06_rises_at_each_death_and_stays_here),
		test_with_lab(counters_D08_add_nothing_to_what_is_sent),
		test_with_lab(
			falsely_dead_B30_node_comes_back_with_another_counter),
		test_with_lab(
			reboot_D02_D07_is_reported_and_changes_the_counter),
		test_with_lab(death_after_the_check_B26_is_reported),
		test_with_lab(a_leave_is_a_death_at_once_and_for_good),
		test_with_lab(who_leaves_tells_it_and_is_silent),
		test_with_lab(
			what_cannot_be_meant_for_us_is_refused_and_counted),
		test_with_lab(the_sender_can_be_read_beforehand),
		test_with_lab(sends_that_fail_are_counted_only),
		test_with_lab(nothing_is_allocated_while_it_lives),
		test_with_lab(memory_that_runs_out_makes_no_gossip),
		test_with_lab(options_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
