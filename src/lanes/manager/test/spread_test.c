/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders to nodes that answer. */
#include "orders.h"

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
#include "lanes/proto/nid.h"

static void one_node_is_asked_and_answers(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	orders_start(scene, COMMAND_APPLY, 1);
	asked = orders_only(scene, 0);
	assert_int_equal(asked->count, 1);
	assert_int_equal(asked->group, GRANT);
	assert_false(asked->is_flat);
	assert_false(asked->is_separate);
	assert_int_equal(asked->head.op, COMMAND_APPLY);
	assert_int_equal(asked->part_bytes, SPREAD_PART_BYTES);
	assert_int_equal(asked->patience_ms, TIMEOUT_MS / 2);
	asked_answer_but(scene, asked, 1, NOBODY);
	asked_end(scene, asked);
	orders_told_once(scene, 1);
	assert_true(scene->nodes[0].is_heard);
	assert_int_equal(scene->nodes[0].result, 0);
	assert_memory_equal(scene->nodes[0].answered_by,
			    scene->nodes[0].incarnation, INCARNATION_SIZE);
	assert_int_equal(spreads_deadline_ms(scene->spreads), DEADLINE_NONE);
}

static void all_nodes_are_asked_by_one_collective(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	orders_start(scene, COMMAND_APPLY, NODES_MAX);
	asked = orders_only(scene, 0);
	assert_int_equal(asked->count, NODES_MAX);
	asked_answer_but(scene, asked, NODES_MAX, NOBODY);
	orders_tick(scene);
	orders_told_once(scene, NODES_MAX);
	/* The end of what is over is no news. */
	asked_end(scene, asked);
	orders_only(scene, 0);
	assert_true(asked->is_cancelled);
}

static void answers_of_a_query_have_room(void **state)
{
	struct scene *scene = *state;

	orders_start(scene, COMMAND_QUERY, 2);
	assert_int_equal(orders_only(scene, 0)->part_bytes, PARCEL_PART_MAX);
}

static void refusal_is_told_with_its_reason(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;
	struct part part;

	orders_start(scene, COMMAND_APPLY, 3);
	asked = orders_only(scene, 0);
	part = part_begin(scene, asked, 3);
	part_add(&part, 0, 0);
	part_add(&part, 1, -EBUSY);
	part_add(&part, 2, 0);
	part_send(&part);
	asked_end(scene, asked);
	orders_told_once(scene, 3);
	assert_int_equal(scene->nodes[1].result, -EBUSY);
	assert_string_equal(scene->nodes[1].text, "why");
	assert_true(scene->nodes[1].is_heard);
	assert_int_equal(scene->nodes[2].result, 0);
}

/* The manager has read its journal again: what it sent is void. */
static void what_is_forgotten_is_cancelled_and_tells_nobody(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	orders_start(scene, COMMAND_APPLY, 2);
	asked = orders_only(scene, 0);
	asked_answer_one(scene, asked, 2, 0, 0);
	spreads_clear(scene->spreads);
	assert_true(asked->is_cancelled);
	asked_answer_one(scene, asked, 2, 1, 0);
	asked_end(scene, asked);
	assert_int_equal(scene->done_count, 0);
	assert_int_equal(scene->nodes[0].answer_count, 0);
	assert_int_equal(spreads_deadline_ms(scene->spreads), DEADLINE_NONE);
}

static void two_orders_do_not_meet(void **state)
{
	struct scene *scene = *state;
	struct asked *first, *second;

	orders_start(scene, COMMAND_REVOKE, 1);
	orders_start(scene, COMMAND_REVOKE, 1);
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

static void order_needs_nodes(void **state)
{
	struct scene *scene = *state;
	const struct spread_order order = { .op = COMMAND_QUERY };

	assert_int_equal(spread_start(scene->spreads, &order, scene->now_ms),
			 -EINVAL);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, orders_setup, orders_teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_node_is_asked_and_answers),
		TEST(all_nodes_are_asked_by_one_collective),
		TEST(answers_of_a_query_have_room),
		TEST(refusal_is_told_with_its_reason),
		TEST(what_is_forgotten_is_cancelled_and_tells_nobody),
		TEST(two_orders_do_not_meet),
		TEST(order_needs_nodes),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
