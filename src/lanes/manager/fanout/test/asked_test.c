/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands to nodes that answer. */
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

static void one_node_is_asked_and_answers(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 1);
	asked = bed_only(scene, 0);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->group, GRANT);
	assert_false(asked->is_separate);
	assert_int_equal(asked->head.op, COMMAND_APPLY);
	assert_int_equal(asked->part_bytes, FANOUT_PART_BYTES);
	assert_int_equal(asked->patience_ms, TIMEOUT_MS / 2);
	asked_answer_but(scene, asked, 1, NOBODY);
	asked_end(scene, asked);
	bed_reported_once(scene, 1);
	assert_true(scene->nodes[0].is_own);
	assert_int_equal(scene->nodes[0].result, 0);
	assert_memory_equal(scene->nodes[0].answered_by,
			    scene->nodes[0].incarnation, INCARNATION_SIZE);
	assert_int_equal(fanouts_deadline_ms(scene->fanouts), DEADLINE_NONE);
}

static void all_nodes_are_asked_by_one_round(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, NODES_MAX);
	asked = bed_only(scene, 0);
	assert_int_equal(asked->count, NODES_MAX);
	asked_answer_but(scene, asked, NODES_MAX, NOBODY);
	bed_tick(scene);
	bed_reported_once(scene, NODES_MAX);
	/* The end of what is over is no news. */
	asked_end(scene, asked);
	bed_only(scene, 0);
	assert_true(asked->is_cancelled);
}

static void answers_of_a_query_have_room(void **state)
{
	struct scene *scene = *state;

	bed_start(scene, COMMAND_QUERY, 2);
	assert_int_equal(bed_only(scene, 0)->part_bytes, PARCEL_PART_MAX);
}

static void refusal_is_reported_with_its_reason(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	bed_start(scene, COMMAND_APPLY, 3);
	asked = bed_only(scene, 0);
	part = part_begin(scene, asked, 3);
	part_add(&part, 0, 0);
	part_add(&part, 1, -EBUSY);
	part_add(&part, 2, 0);
	part_send(&part);
	asked_end(scene, asked);
	bed_reported_once(scene, 3);
	assert_int_equal(scene->nodes[1].result, -EBUSY);
	assert_string_equal(scene->nodes[1].text, "why");
	assert_true(scene->nodes[1].is_own);
	assert_int_equal(scene->nodes[2].result, 0);
}

/* The manager has read its journal again: what it sent is void. */
static void what_is_forgotten_is_cancelled_and_tells_nobody(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	asked_answer_one(scene, asked, 2, 0, 0);
	fanouts_clear(scene->fanouts);
	assert_true(asked->is_cancelled);
	asked_answer_one(scene, asked, 2, 1, 0);
	asked_end(scene, asked);
	assert_int_equal(scene->done_count, 0);
	assert_int_equal(scene->nodes[0].answer_count, 0);
	assert_int_equal(fanouts_deadline_ms(scene->fanouts), DEADLINE_NONE);
}

/* A grant that is over has no later command that would end its group. */
static void group_ends_with_its_revoke(void **state)
{
	struct scene *scene = *state;

	bed_start(scene, COMMAND_REVOKE, 1);
	asked_answer_one(scene, bed_only(scene, 0), 1, 0, 0);
	bed_tick(scene);
	assert_int_equal(scene->done_count, 1);
	assert_int_equal(scene->drop_count, 1);
	bed_start(scene, COMMAND_REVOKE, 1);
	fanouts_clear(scene->fanouts);
	assert_int_equal(scene->drop_count, 2);
}

static void group_outlives_an_apply(void **state)
{
	struct scene *scene = *state;

	bed_start(scene, COMMAND_APPLY, 1);
	asked_answer_one(scene, bed_only(scene, 0), 1, 0, 0);
	bed_tick(scene);
	assert_int_equal(scene->done_count, 1);
	bed_start(scene, COMMAND_APPLY, 1);
	fanouts_clear(scene->fanouts);
	assert_int_equal(scene->drop_count, 0);
}

static void two_bed_do_not_meet(void **state)
{
	struct scene *scene = *state;
	struct asked *first, *second;

	bed_start(scene, COMMAND_REVOKE, 1);
	bed_start(scene, COMMAND_REVOKE, 1);
	assert_int_equal(scene->asked_count, 2);
	first = scene->asked[0];
	second = scene->asked[1];
	assert_int_not_equal(first->head.sequence, second->head.sequence);
	asked_answer_but(scene, second, 1, NOBODY);
	asked_end(scene, second);
	assert_int_equal(scene->done_count, 1);
	asked_answer_but(scene, first, 1, NOBODY);
	asked_end(scene, first);
	assert_int_equal(scene->done_count, 2);
	assert_int_equal(scene->nodes[0].answer_count, 2);
}

static void command_to_no_node_is_done(void **state)
{
	struct scene *scene = *state;

	bed_start(scene, COMMAND_REVOKE, 0);
	assert_int_equal(scene->done_count, 0);
	bed_tick(scene);
	bed_reported_once(scene, 0);
	assert_int_equal(fanouts_deadline_ms(scene->fanouts), DEADLINE_NONE);
}

static void command_that_cannot_be_sent_has_its_error(void **state)
{
	struct scene *scene = *state;
	struct fanout_command *command =
		fanout_command_create(COMMAND_REVOKE, scene->names, 2);

	command->error = -EMSGSIZE;
	fanouts_start(scene->fanouts, command, scene->now_ms);
	bed_tick(scene);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->asked_count, 0);
	assert_int_equal(scene->nodes[1].result, -EMSGSIZE);
	assert_false(scene->nodes[1].is_own);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_node_is_asked_and_answers),
		TEST(all_nodes_are_asked_by_one_round),
		TEST(answers_of_a_query_have_room),
		TEST(refusal_is_reported_with_its_reason),
		TEST(what_is_forgotten_is_cancelled_and_tells_nobody),
		TEST(group_ends_with_its_revoke),
		TEST(group_outlives_an_apply),
		TEST(two_bed_do_not_meet),
		TEST(command_to_no_node_is_done),
		TEST(command_that_cannot_be_sent_has_its_error),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
