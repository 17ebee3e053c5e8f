/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers to a REVOKE or LEASE that come when its order is over. */
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

/* The deadline has come, and node 1 has not answered; its collective goes on. */
static struct asked *over_without_1(struct scene *scene, enum command_op op)
{
	struct asked *asked;

	bed_start(scene, op, 2);
	asked = bed_only(scene, 0);
	asked_answer_but(scene, asked, 2, 1);
	bed_advance(scene, TIMEOUT_MS);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -ETIMEDOUT);
	return asked;
}

static void late_revoke_is_reported(void **state)
{
	struct scene *scene = *state;
	struct asked *asked = over_without_1(scene, COMMAND_REVOKE);

	assert_false(asked->is_cancelled);
	asked_answer_one(scene, asked, 2, 1, 0);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 1);
	assert_string_equal(scene->late_node, "n1");
	/* Then there is nobody left to listen for. */
	assert_true(asked->is_cancelled);
	bed_reported_once(scene, 2);
	assert_int_equal(fanouts_deadline_ms(scene->fanouts), DEADLINE_NONE);
}

static void late_revoke_that_is_carried_is_reported(void **state)
{
	struct scene *scene = *state;
	struct asked *asked = over_without_1(scene, COMMAND_REVOKE);

	asked->is_separate = true;
	asked_answer_one(scene, asked, 2, 1, 0);
	asked_answer_one(scene, asked, 2, 1, 0);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 1);
}

/* It lives, or did so when it was asked. */
static void late_lease_is_reported(void **state)
{
	struct scene *scene = *state;
	uint64_t asked_ms = scene->now_ms;
	struct asked *asked = over_without_1(scene, COMMAND_LEASE);

	assert_false(asked->is_cancelled);
	asked_answer_one(scene, asked, 2, 1, 0);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 1);
	assert_string_equal(scene->late_node, "n1");
	assert_int_equal(scene->late_ms, asked_ms);
	bed_reported_once(scene, 2);
}

static void late_refusal_is_no_news(void **state)
{
	struct scene *scene = *state;
	struct asked *asked = over_without_1(scene, COMMAND_REVOKE);

	asked_answer_one(scene, asked, 2, 1, -EBUSY);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 0);
	asked_end(scene, asked);
	assert_int_equal(fanouts_deadline_ms(scene->fanouts), DEADLINE_NONE);
}

static void late_forgery_is_no_news(void **state)
{
	struct scene *scene = *state;
	struct asked *asked = over_without_1(scene, COMMAND_REVOKE);
	struct part part = part_begin(scene, asked, 2);

	part_add(&part, 1, 0);
	part.combined.sets[0].tag[0] ^= 1;
	part_send(&part);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 0);
	asked_end(scene, asked);
}

/* It was busy, and is not any more: it was asked twice. */
static void answer_after_a_refusal_is_reported(void **state)
{
	struct scene *scene = *state;
	struct asked *asked;

	bed_start(scene, COMMAND_REVOKE, 2);
	asked = bed_only(scene, 0);
	asked_answer_one(scene, asked, 2, 1, -EBUSY);
	bed_tick(scene);
	asked_answer_one(scene, asked, 2, 1, 0);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 1);
	asked_answer_one(scene, asked, 2, 0, 0);
	bed_tick(scene);
	bed_reported_once(scene, 2);
	assert_int_equal(scene->nodes[1].result, -EBUSY);
}

static void apply_that_is_over_is_not_listened_for(void **state)
{
	struct scene *scene = *state;
	struct asked *asked = over_without_1(scene, COMMAND_APPLY);

	assert_true(asked->is_cancelled);
	asked_answer_one(scene, asked, 2, 1, 0);
	bed_tick(scene);
	assert_int_equal(scene->late_count, 0);
}

static void order_that_listens_ends_with_its_collectives(void **state)
{
	struct scene *scene = *state;
	struct asked *asked = over_without_1(scene, COMMAND_REVOKE);

	/* Who comes up now is not asked any more. */
	fanouts_node_up(scene->fanouts, "n1");
	bed_tick(scene);
	assert_int_equal(scene->asked_count, 2);
	asked_end_without(scene, asked, 1, -EHOSTUNREACH);
	asked_end_without(scene, scene->asked[1], 1, -EHOSTUNREACH);
	assert_int_equal(fanouts_deadline_ms(scene->fanouts), DEADLINE_NONE);
	assert_false(asked->is_cancelled);
	bed_reported_once(scene, 2);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_setup, bed_teardown)
	const struct CMUnitTest tests[] = {
		TEST(late_revoke_is_reported),
		TEST(late_revoke_that_is_carried_is_reported),
		TEST(late_lease_is_reported),
		TEST(late_refusal_is_no_news),
		TEST(late_forgery_is_no_news),
		TEST(answer_after_a_refusal_is_reported),
		TEST(apply_that_is_over_is_not_listened_for),
		TEST(order_that_listens_ends_with_its_collectives),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
