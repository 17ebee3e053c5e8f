/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers that somebody has changed, left out or made up. */
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

/* A relay below which are 1 and 2 has changed the tag of their set. */
static void set_with_a_false_tag_is_asked_for_separately(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	bed_start(scene, COMMAND_REVOKE, 4);
	asked = bed_only(scene, 0);
	part = part_begin(scene, asked, 4);
	part_add(&part, 1, 0);
	part_add(&part, 2, 0);
	part.combined.sets[0].tag[5] ^= 1;
	part_send(&part);
	part = part_begin(scene, asked, 4);
	part_add(&part, 0, 0);
	part_add(&part, 3, 0);
	part_send(&part);
	asked_end(scene, asked);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[3].answer_count, 1);
	assert_int_equal(scene->nodes[1].answer_count, 0);
	assert_int_equal(scene->nodes[2].answer_count, 0);
	assert_int_equal(fanouts_counters(scene->fanouts)->false_count, 2);
	asked = bed_only(scene, 1);
	assert_true(asked->is_separate);
	assert_int_equal(asked->group, 0);
	assert_int_equal(asked->count, 2);
	asked_answer_but(scene, asked, 4, NOBODY);
	asked_end(scene, asked);
	bed_reported_once(scene, 4);
	assert_int_equal(scene->nodes[1].result, 0);
	assert_true(scene->nodes[1].is_own);
}

/* It says that all below have answered, and has left one out. */
static void node_that_was_left_out_is_asked_separately(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 4);
	asked = bed_only(scene, 0);
	asked_answer_but(scene, asked, 4, 3);
	asked_end(scene, asked);
	assert_int_equal(scene->done_count, 0);
	assert_int_equal(fanouts_counters(scene->fanouts)->omitted_count, 1);
	asked = bed_only(scene, 1);
	assert_true(asked->is_separate);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->places[0], 3);
	/* It is only slow, and is not asked without a pause. */
	asked_end(scene, asked);
	bed_only(scene, 1);
	bed_advance(scene, FANOUT_REPEAT_MS);
	assert_int_equal(scene->asked_count, 3);
	asked_answer_but(scene, scene->asked[2], 4, NOBODY);
	asked_end(scene, scene->asked[2]);
	bed_reported_once(scene, 4);
}

/* A set may be true and still name nobody who was not there. */
static void relay_cannot_answer_for_a_node_that_has_not(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	bed_start(scene, COMMAND_REVOKE, 3);
	asked = bed_only(scene, 0);
	part = part_begin(scene, asked, 3);
	part_add(&part, 0, 0);
	part_add(&part, 1, 0);
	idset_add(part.combined.sets[0].places, 2);
	part_send(&part);
	asked_end(scene, asked);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(scene->nodes[i].answer_count, 0);
	asked = bed_only(scene, 1);
	assert_true(asked->is_separate);
	assert_int_equal(asked->count, 3);
}

static void forged_confirmations_count_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;
	struct writer confirm;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	part = part_begin(scene, asked, 2);
	confirm = asked_confirm(scene, asked, 1, -EIO, "not true");
	confirm.data[confirm.size - 1] ^= 1;
	assert_int_equal(
		combined_carry(&part.combined, confirm.data, confirm.size), 0);
	writer_fini(&confirm);
	/* And one of a node that was not asked. */
	confirm = asked_confirm(scene, asked, 7, 0, "");
	assert_int_equal(
		combined_carry(&part.combined, confirm.data, confirm.size), 0);
	writer_fini(&confirm);
	part_send(&part);
	fanouts_part(scene->fanouts, asked->id, "nonsense", 8);
	bed_tick(scene);
	for (size_t i = 0; i < 8; i++)
		assert_int_equal(scene->nodes[i].answer_count, 0);
	asked_answer_but(scene, asked, 2, NOBODY);
	asked_end(scene, asked);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, 0);
}

static void answers_to_another_command_count_for_nothing(void **state)
{
	struct scene *scene = *state;
	struct asked *asked, other;

	bed_start(scene, COMMAND_APPLY, 1);
	asked = bed_only(scene, 0);
	for (int i = 0; i < 5; i++) {
		other = *asked;
		other.head.op = i == 0 ? COMMAND_REVOKE : COMMAND_APPLY;
		other.head.sequence += i == 1;
		other.head.epoch += i == 2;
		other.head.life += i == 3;
		other.head.grant_id += i == 4;
		/* Combined or not. */
		asked_answer_one(scene, &other, 1, 0, 0);
		other.is_separate = true;
		asked_answer_one(scene, &other, 1, 0, 0);
		asked_answer_one(scene, &other, 1, 0, -EIO);
		bed_tick(scene);
		assert_int_equal(scene->nodes[0].answer_count, 0);
	}
}

static void second_answer_changes_nothing(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_APPLY, 2);
	asked = bed_only(scene, 0);
	asked_answer_one(scene, asked, 2, 0, -EIO);
	asked_answer_one(scene, asked, 2, 0, 0);
	bed_tick(scene);
	asked_answer_one(scene, asked, 2, 0, 0);
	bed_tick(scene);
	assert_int_equal(scene->nodes[0].answer_count, 1);
	assert_int_equal(scene->nodes[0].result, -EIO);
}

static void flat_collectives_are_few_and_small(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	size_t count = 0;

	bed_start(scene, COMMAND_REVOKE, NODES_MAX);
	asked = bed_only(scene, 0);
	asked_end(scene, asked); /* all were left out */
	assert_int_equal(scene->asked_count, 1 + FANOUT_FLATS_MAX);
	for (size_t i = 1; i < scene->asked_count; i++) {
		assert_true(scene->asked[i]->is_separate);
		assert_in_range(scene->asked[i]->count, 1, FANOUT_FLAT_MAX);
		count += scene->asked[i]->count;
	}
	assert_int_equal(count, FANOUT_FLATS_MAX * FANOUT_FLAT_MAX);
	/* With each that ends another one begins, until all were asked. */
	for (size_t i = 1; i < scene->asked_count; i++) {
		asked_answer_but(scene, scene->asked[i], NODES_MAX, NOBODY);
		asked_end(scene, scene->asked[i]);
	}
	bed_reported_once(scene, NODES_MAX);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)
	const struct CMUnitTest tests[] = {
		TEST(set_with_a_false_tag_is_asked_for_separately),
		TEST(node_that_was_left_out_is_asked_separately),
		TEST(relay_cannot_answer_for_a_node_that_has_not),
		TEST(forged_confirmations_count_for_nothing),
		TEST(answers_to_another_command_count_for_nothing),
		TEST(second_answer_changes_nothing),
		TEST(flat_collectives_are_few_and_small),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
