/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that are down, slow, restarted, or hard to reach. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/seam.h"
#include "lanes/proto/collective.h"

static void dead_node_of_a_revoke_is_reported_and_the_others_count(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_REVOKE, 4);
	asked = bed_only(scene, 0);
	asked_answer_but(scene, asked, 4, 2);
	asked_end_without(scene, asked, 2, -EHOSTUNREACH);
	assert_int_equal(scene->nodes[1].answer_count, 1);
	assert_int_equal(scene->done_count, 0);
	/* It is asked again alone, by a tree: nobody is suspected. */
	bed_advance(scene, FANOUT_REPEAT_MS);
	assert_int_equal(scene->asked_count, 2);
	asked = scene->asked[1];
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 2);
	assert_false(asked->is_separate);
	assert_int_equal(asked->head.sequence, scene->asked[0]->head.sequence);
	asked_end_without(scene, asked, 2, -EHOSTUNREACH);
	/* And when its lease is over it is waited for no longer. */
	scene->nodes[2].is_up = false;
	bed_advance(scene, FANOUT_REPEAT_MS);
	assert_int_equal(scene->done_count, 0);
	bed_advance(scene, FANOUT_GONE_MS);
	bed_reported_once(scene, 4);
	assert_int_equal(scene->nodes[2].result, -EHOSTUNREACH);
	assert_string_equal(scene->nodes[2].text, "the node is down");
	assert_false(scene->nodes[2].is_own);
}

/* Its subtree is unknown: the others are asked past it. */
static void silent_node_holds_nobody_up(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_REVOKE, 4);
	asked = bed_only(scene, 0);
	asked_answer_one(scene, asked, 4, 0, 0);
	bed_advance(scene, asked->patience_ms + FANOUT_REPEAT_MS - 1);
	assert_int_equal(scene->asked_count, 1);
	bed_advance(scene, 1);
	asked = bed_only(scene, 1);
	assert_true(asked->is_separate);
	assert_int_equal(asked->count, 3);
	assert_int_equal(asked->head.sequence, scene->asked[0]->head.sequence);
	asked_answer_one(scene, asked, 4, 1, 0);
	asked_answer_one(scene, asked, 4, 3, 0);
	bed_tick(scene);
	assert_int_equal(scene->nodes[1].answer_count, 1);
	assert_int_equal(scene->nodes[3].answer_count, 1);
	assert_int_equal(scene->done_count, 0);
	/* What the tree brings late counts as well. */
	asked_answer_one(scene, scene->asked[0], 4, 2, 0);
	bed_tick(scene);
	bed_reported_once(scene, 4);
}

static void unreached_node_is_asked_until_the_deadline(void **state)
{
	struct scene *scene = *state;

	bed_start(scene, COMMAND_APPLY, 2);
	for (size_t i = 0; scene->done_count == 0; i++) {
		struct asked *asked = scene->asked[scene->asked_count - 1];

		assert_true(i <= TIMEOUT_MS / FANOUT_REPEAT_MS);
		asked_answer_but(scene, asked, 2, 1);
		asked_end_without(scene, asked, 1, -EHOSTDOWN);
		bed_advance(scene, FANOUT_REPEAT_MS);
	}
	assert_true(scene->asked_count >= 10);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -EHOSTUNREACH);
	assert_string_equal(scene->nodes[1].text, "the node cannot be reached");
	assert_int_equal(scene->nodes[0].result, 0);
}

static void nodes_that_are_down_are_waited_for_a_while(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	scene->nodes[0].is_up = false;
	scene->nodes[2].is_up = false;
	bed_start(scene, COMMAND_REVOKE, 3);
	asked = bed_only(scene, 0);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 1);
	asked_answer_but(scene, asked, 3, NOBODY);
	asked_end(scene, asked);
	bed_advance(scene, FANOUT_GONE_MS - 1);
	assert_int_equal(scene->done_count, 0);
	scene->nodes[2].is_up = true;
	fanouts_node_up(scene->fanouts, "n2");
	bed_tick(scene);
	asked = scene->asked[1];
	assert_int_equal(scene->asked_count, 2);
	assert_int_equal(asked->places[0], 2);
	bed_advance(scene, 1);
	assert_int_equal(scene->nodes[0].result, -EHOSTUNREACH);
	asked_answer_but(scene, asked, 3, NOBODY);
	asked_end(scene, asked);
	bed_reported_once(scene, 3);
	assert_int_equal(scene->nodes[2].result, 0);
}

/* What was said of it before it was asked again is past. */
static void silence_after_a_failure_is_a_timeout(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	asked_answer_but(scene, asked, 2, 1);
	asked_end_without(scene, asked, 1, -EHOSTUNREACH);
	bed_advance(scene, FANOUT_REPEAT_MS);
	assert_int_equal(scene->asked_count, 2);
	bed_advance(scene, TIMEOUT_MS);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -ETIMEDOUT);
}

static void silence_is_a_timeout(void **state)
{
	struct scene *scene = *state;

	bed_start(scene, COMMAND_APPLY, 2);
	bed_advance(scene, TIMEOUT_MS - 1);
	assert_int_equal(scene->done_count, 0);
	bed_advance(scene, 1);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[0].result, -ETIMEDOUT);
	assert_int_equal(scene->asked_count, 2);
	for (size_t i = 0; i < 2; i++)
		assert_true(scene->asked[i]->is_cancelled);
	assert_int_equal(fanouts_counters(scene->fanouts)->timeout_count, 2);
}

static void node_that_registers_again_gets_a_new_sequence(void **state)
{
	struct scene *scene = *state;
	struct asked *asked, *again;

	bed_start(scene, COMMAND_APPLY, 3);
	asked = bed_only(scene, 0);
	scene->sequence += 10; /* its HELLO, and others */
	fanouts_node_up(scene->fanouts, "n1");
	bed_tick(scene);
	again = bed_only(scene, 1);
	assert_int_equal(again->count, 1);
	assert_int_equal(again->places[0], 1);
	assert_true(again->head.sequence > asked->head.sequence + 10);
	/* What it says to the old one is over. */
	asked_answer_one(scene, asked, 3, 1, -ESTALE);
	asked_answer_but(scene, asked, 3, 1);
	asked_end(scene, asked);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[1].answer_count, 0);
	asked_answer_but(scene, again, 3, NOBODY);
	asked_end(scene, again);
	bed_reported_once(scene, 3);
	assert_int_equal(scene->nodes[1].result, 0);
}

static void node_that_was_rebooted_meanwhile_has_failed(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	scene->nodes[1].incarnation[0] ^= 0xff;
	fanouts_node_up(scene->fanouts, "n1");
	asked_answer_one(scene, asked, 2, 0, 0);
	bed_tick(scene);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -EHOSTUNREACH);
	assert_false(scene->nodes[1].is_own);
}

static void rebooted_node_is_asked_to_revoke_again(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_REVOKE, 2);
	asked = bed_only(scene, 0);
	scene->nodes[1].incarnation[0] ^= 0xff;
	fanouts_node_up(scene->fanouts, "n1");
	bed_tick(scene);
	asked = bed_only(scene, 1);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->head.sequence, scene->asked[0]->head.sequence);
	asked_answer_but(scene, asked, 2, NOBODY);
	asked_end(scene, asked);
	assert_int_equal(scene->nodes[1].result, 0);
	assert_memory_equal(scene->nodes[1].answered_by,
			    scene->nodes[1].incarnation, INCARNATION_SIZE);
	asked_answer_one(scene, scene->asked[0], 2, 0, 0);
	asked_end(scene, scene->asked[0]);
	bed_reported_once(scene, 2);
}

static void round_that_cannot_begin_is_tried_again(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	scene->start_result = -EAGAIN;
	bed_start(scene, COMMAND_APPLY, 2);
	assert_int_equal(scene->asked_count, 0);
	bed_advance(scene, FANOUT_REPEAT_MS - 1);
	scene->start_result = 0;
	assert_int_equal(scene->asked_count, 0);
	bed_advance(scene, 1);
	asked = bed_only(scene, 0);
	fanouts_ended(scene->fanouts, asked->id, -ENOMEM, NULL, 0);
	bed_advance(scene, FANOUT_REPEAT_MS);
	assert_int_equal(scene->asked_count, 2);
	/* Nobody was suspected of anything. */
	assert_false(scene->asked[1]->is_separate);
	asked_answer_but(scene, scene->asked[1], 2, NOBODY);
	asked_end(scene, scene->asked[1]);
	bed_reported_once(scene, 2);
}

static void node_that_is_not_registered_yet_is_asked_again(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	asked_answer_one(scene, asked, 2, 0, 0);
	asked_answer_one(scene, asked, 2, 1, -ENOTCONN);
	asked_end(scene, asked);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[1].answer_count, 0);
	/* Nobody is suspected: it has answered, and is registered soon. */
	bed_advance(scene, FANOUT_EARLY_MS);
	asked = bed_only(scene, 1);
	assert_false(asked->is_separate);
	assert_int_equal(asked->head.sequence, scene->asked[0]->head.sequence);
	asked_answer_but(scene, asked, 2, NOBODY);
	asked_end(scene, asked);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, 0);
}

static void lost_nodes_are_looked_at_at_once(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	asked_answer_but(scene, asked, 2, 1);
	bed_advance(scene, 100);
	scene->nodes[1].is_up = false;
	fanouts_nodes_lost(scene->fanouts);
	bed_advance(scene, FANOUT_GONE_MS);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -EHOSTUNREACH);
	assert_true(asked->is_cancelled);
}

/* A node needs no time for it, so nobody is to wait for a silent one. */
static void lease_has_a_short_patience(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_LEASE, 3);
	asked = bed_only(scene, 0);
	assert_int_equal(asked->patience_ms, FANOUT_REPEAT_MS);
	asked_answer_one(scene, asked, 3, 0, 0);
	bed_advance(scene, 2 * FANOUT_REPEAT_MS);
	asked = bed_only(scene, 1);
	assert_true(asked->is_separate);
	assert_int_equal(asked->count, 2);
}

/* Nodes 1 to 40 come back, each when the one before has been asked again. */
static void signatures_for_nodes_that_register_are_few(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	char name[16];
	size_t count = 0;

	bed_start(scene, COMMAND_APPLY, 50);
	for (uint32_t i = 1; i <= 40; i++) {
		snprintf(name, sizeof(name), "n%u", i);
		fanouts_node_up(scene->fanouts, name);
		bed_tick(scene);
	}
	assert_int_equal(scene->asked_count, FANOUT_COMMANDS_MAX);
	/* The rest shares one as soon as there is room. */
	asked_answer_but(scene, scene->asked[1], 50, NOBODY);
	asked_end(scene, scene->asked[1]);
	asked = bed_only(scene, FANOUT_COMMANDS_MAX);
	assert_int_equal(asked->count, 40 - (FANOUT_COMMANDS_MAX - 1));
	for (size_t i = 0; i < scene->asked_count; i++) {
		if (i == 1)
			continue;
		asked_answer_but(scene, scene->asked[i], 50, NOBODY);
		asked_end(scene, scene->asked[i]);
	}
	bed_reported_once(scene, 50);
	for (size_t i = 0; i < 50; i++)
		count += scene->nodes[i].result == 0;
	assert_int_equal(count, 50);
}

static void reboot_in_a_round_leaves_the_others_true(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	bed_start(scene, COMMAND_REVOKE, 3);
	asked = bed_only(scene, 0);
	part = part_begin(scene, asked, 3);
	for (uint32_t i = 0; i < 3; i++)
		part_add(&part, i, 0);
	scene->nodes[1].incarnation[0] ^= 0xff;
	fanouts_node_up(scene->fanouts, "n1");
	part_send(&part);
	asked_end(scene, asked);
	assert_int_equal(fanouts_counters(scene->fanouts)->false_count, 0);
	assert_int_equal(scene->nodes[0].result, 0);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[2].answer_count, 1);
	/* What it was is not what it is. */
	assert_int_equal(scene->nodes[1].answer_count, 0);
	asked = bed_only(scene, 1);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 1);
	asked_answer_but(scene, asked, 3, NOBODY);
	asked_end(scene, asked);
	bed_reported_once(scene, 3);
	assert_memory_equal(scene->nodes[1].answered_by,
			    scene->nodes[1].incarnation, INCARNATION_SIZE);
}

/* The command of the round reached it when it was back already. */
static void reboot_before_the_command_came_leaves_the_others_true(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_REVOKE, 3);
	asked = bed_only(scene, 0);
	scene->nodes[1].incarnation[0] ^= 0xff;
	fanouts_node_up(scene->fanouts, "n1");
	asked_answer_but(scene, asked, 3, NOBODY);
	bed_tick(scene);
	assert_int_equal(fanouts_counters(scene->fanouts)->false_count, 0);
	bed_reported_once(scene, 3);
	assert_memory_equal(scene->nodes[1].answered_by,
			    scene->nodes[1].incarnation, INCARNATION_SIZE);
}

static void nodes_are_looked_up_when_they_are_asked(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 1000);
	asked = bed_only(scene, 0);
	assert_int_equal(scene->look_up_count, 1000);
	/* What befalls one is not asked of the others. */
	scene->look_up_count = 0;
	fanouts_node_up(scene->fanouts, "n7");
	bed_tick(scene);
	assert_int_equal(scene->asked_count, 2);
	assert_in_range(scene->look_up_count, 1, 2);
	fanouts_nodes_lost(scene->fanouts);
	bed_tick(scene);
	assert_in_range(scene->look_up_count, 1000, 1002);
	assert_int_equal(asked->count, 1000);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)
	const struct CMUnitTest tests[] = {
		TEST(dead_node_of_a_revoke_is_reported_and_the_others_count),
		TEST(silent_node_holds_nobody_up),
		TEST(unreached_node_is_asked_until_the_deadline),
		TEST(nodes_that_are_down_are_waited_for_a_while),
		TEST(silence_after_a_failure_is_a_timeout),
		TEST(silence_is_a_timeout),
		TEST(node_that_registers_again_gets_a_new_sequence),
		TEST(node_that_was_rebooted_meanwhile_has_failed),
		TEST(rebooted_node_is_asked_to_revoke_again),
		TEST(round_that_cannot_begin_is_tried_again),
		TEST(node_that_is_not_registered_yet_is_asked_again),
		TEST(lost_nodes_are_looked_at_at_once),
		TEST(lease_has_a_short_patience),
		TEST(signatures_for_nodes_that_register_are_few),
		TEST(reboot_in_a_round_leaves_the_others_true),
		TEST(reboot_before_the_command_came_leaves_the_others_true),
		TEST(nodes_are_looked_up_when_they_are_asked),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
