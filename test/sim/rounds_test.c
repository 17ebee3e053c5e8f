/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes that a collective reaches, those that it names, and its groups. */
#include "rounds_bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "lanes/proto/collective.h"

static void each_node_gets_it_once_and_answers(void **state)
{
	static const size_t counts[] = { 1, 2, 5, 40, 600 };

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct bed *bed = bed_create(counts[i]);

		bed_ask(bed, 1, 10, counts[i], 300);
		bed_expect_all(bed, 1, counts[i]);
		bed_ask(bed, 2, 0, counts[i], 300);
		bed_expect_all(bed, 2, counts[i]);
		for (size_t j = 0; j < counts[i]; j++)
			assert_int_equal(bed->members[j].received_count, 2);
		bed_destroy(bed);
	}
}

static void a_group_is_made_once_and_used_by_some(void **state)
{
	struct bed *bed = bed_create(40);

	bed_ask(bed, 1, 10, 40, 300);
	bed_ask(bed, 2, 10, 40, 300);
	bed_ask(bed, 3, 10, 7, 300);
	bed_expect_all(bed, 2, 40);
	bed_expect_all(bed, 3, 7);
	assert_int_equal(rounds_counters(bed->rounds)->made_count, 1);
	bed->seam.ops->group_drop(bed->seam.ctx, 10);
	assert_int_equal(rounds_counters(bed->rounds)->group_count, 0);
	bed_destroy(bed);
}

/* The most nodes whose list goes beside a command, and one more. */
static void a_list_that_does_not_fit_is_populated_first(void **state)
{
	size_t most = 1;

	for (size_t count = 100; count < 200 && most == 1; count++) {
		struct bed *bed = bed_create(count + 1);

		bed_ask(bed, 1, 10, count, 300);
		bed_expect_all(bed, 1, count);
		assert_int_equal(rounds_counters(bed->rounds)->populate_count,
				 0);
		bed_ask(bed, 2, 11, count + 1, 300);
		bed_expect_all(bed, 2, count + 1);
		if (rounds_counters(bed->rounds)->populate_count > 0)
			most = count;
		bed_destroy(bed);
	}
	assert_in_range(most, 100, 199);
	print_message("%zu nodes beside a command of 300 bytes\n", most);
}

static void a_command_that_does_not_fit_is_bulk_data(void **state)
{
	struct bed *bed = bed_create(200);

	bed_ask(bed, 1, 10, 200, 50000);
	bed_expect_all(bed, 1, 200);
	assert_int_equal(rounds_counters(bed->rounds)->bulk_count, 1);
	bed_ask(bed, 2, 0, 200, 50000);
	bed_expect_all(bed, 2, 200);
	bed_ask(bed, 3, 12, 3, 50000);
	bed_expect_all(bed, 3, 3);
	assert_int_equal(bed->members[0].visits[0].command_size, 50000);
	bed_destroy(bed);
}

static void who_moved_is_reached_by_a_new_group(void **state)
{
	struct bed *bed = bed_create(20);

	bed_ask(bed, 1, 10, 20, 300);
	member_stop(&bed->members[5]);
	member_start(&bed->members[5]);
	/* Who is above it learns of its start, and sends nothing twice. */
	bed_ask(bed, 2, 10, 20, 300);
	assert_int_equal(bed->calls[2].answers[5], 0);
	bed_ask(bed, 3, 10, 20, 300);
	bed_expect_all(bed, 3, 20);
	assert_int_equal(rounds_counters(bed->rounds)->made_count, 2);
	bed_destroy(bed);
}

static void who_is_new_is_taken_into_the_group(void **state)
{
	struct bed *bed = bed_create(20);

	bed_ask(bed, 1, 10, 15, 300);
	bed_ask(bed, 2, 10, 20, 300);
	bed_ask(bed, 3, 10, 15, 300);
	bed_expect_all(bed, 3, 15);
	assert_int_equal(rounds_counters(bed->rounds)->made_count, 2);
	bed_destroy(bed);
}

static void expect_lost(const struct bed *bed, uint64_t id, size_t count,
			uint32_t lost)
{
	assert_int_equal(bed->calls[id].failure_count, 1);
	assert_int_equal(bed->calls[id].failures[0].nid,
			 bed->members[lost].nid);
	assert_true(bed->calls[id].failures[0].status < 0);
	assert_int_equal(bed->calls[id].answer_count, count - 1);
	assert_int_equal(bed->calls[id].answers[lost], 0);
}

/* The last one is a leaf of every tree. */
static void who_is_dead_is_named_and_nobody_else(void **state)
{
	struct bed *bed = bed_create(30);

	bed_ask(bed, 1, 10, 30, 300);
	member_stop(&bed->members[29]);
	bed_ask(bed, 2, 10, 30, 300);
	expect_lost(bed, 2, 30, 29);
	bed_ask(bed, 3, 0, 30, 300);
	expect_lost(bed, 3, 30, 29);
	bed_destroy(bed);
}

static void who_is_below_the_dead_is_named_with_him(void **state)
{
	struct bed *bed = bed_create(600);
	size_t lost;

	bed_ask(bed, 1, 10, 600, 300);
	member_stop(&bed->members[300]);
	bed_ask(bed, 2, 10, 600, 300);
	lost = bed->calls[2].failure_count;
	assert_in_range(lost, 1, 300);
	assert_int_equal(bed->calls[2].answer_count, 600 - lost);
	for (size_t i = 0; i < lost; i++)
		for (uint32_t j = 0; j < 600; j++)
			assert_false(bed->calls[2].failures[i].nid ==
					     bed->members[j].nid &&
				     bed->calls[2].answers[j] > 0);
	bed_destroy(bed);
}

static void one_dead_node_does_not_keep_a_large_group_from_the_others(
	void **state)
{
	struct bed *bed = bed_create(600);

	member_stop(&bed->members[1]);
	bed_ask(bed, 1, 10, 600, 300);
	assert_int_equal(rounds_counters(bed->rounds)->failed_count, 1);
	assert_int_equal(
		bed->calls[1].answer_count + bed->calls[1].failure_count, 600);
	assert_in_range(bed->calls[1].failure_count, 1, 60);
	bed_destroy(bed);
}

static void no_node_is_between_in_a_flat_one(void **state)
{
	struct bed *bed = bed_create(128);

	member_stop(&bed->members[0]);
	assert_int_equal(bed_begin(bed, 1, 10, 128, 300, true), 0);
	bed_run(bed);
	assert_true(bed->calls[1].is_ended);
	expect_lost(bed, 1, 128, 0);
	bed_destroy(bed);
}

static void what_is_cancelled_has_no_events(void **state)
{
	struct bed *bed = bed_create(600);
	size_t answers;

	assert_int_equal(bed_begin(bed, 1, 10, 600, 300, false), 0);
	bed->seam.ops->cancel(bed->seam.ctx, 1); /* its group is being made */
	bed_run(bed);
	bed_ask(bed, 2, 10, 600, 300);
	assert_int_equal(bed_begin(bed, 3, 10, 600, 300, false), 0);
	medium_run(bed->medium, medium_now_ns(bed->medium) + MS / 2);
	answers = bed->calls[3].answer_count;
	assert_in_range(answers, 0, 599);
	bed->seam.ops->cancel(bed->seam.ctx, 3);
	bed_run(bed);
	assert_false(bed->calls[1].is_ended);
	assert_false(bed->calls[3].is_ended);
	assert_int_equal(bed->calls[1].answer_count, 0);
	assert_int_equal(bed->calls[3].answer_count, answers);
	bed_destroy(bed);
}

static void a_group_that_is_dropped_while_it_is_made_serves_those_who_wait(
	void **state)
{
	struct bed *bed = bed_create(200);

	assert_int_equal(bed_begin(bed, 1, 10, 200, 300, false), 0);
	assert_int_equal(bed_begin(bed, 2, 10, 100, 300, false), 0);
	bed->seam.ops->group_drop(bed->seam.ctx, 10);
	bed_run(bed);
	bed_expect_all(bed, 1, 200);
	bed_expect_all(bed, 2, 100);
	assert_int_equal(rounds_counters(bed->rounds)->group_count, 0);
	bed_destroy(bed);
}

static void a_new_manager_reaches_nodes_that_have_groups_of_the_old_one(
	void **state)
{
	struct bed *bed = bed_create(200);

	bed_ask(bed, 1, 10, 200, 300);
	assert_int_equal(bed_begin(bed, 2, 10, 200, 300, false), 0);
	medium_run(bed->medium, medium_now_ns(bed->medium) + MS / 4);
	manager_stop(bed);
	manager_start(bed, 2);
	for (size_t i = 0; i < bed->count; i++) {
		uint8_t address[64];
		size_t size = sizeof(address);

		scoll_address(bed->members[i].scoll, address, &size);
		bed->seam.ops->address(bed->seam.ctx, bed->members[i].nid,
				       address, size);
	}
	bed_ask(bed, 3, 10, 200, 300);
	bed_expect_all(bed, 3, 200);
	bed_destroy(bed);
}

static void groups_that_are_not_used_make_room(void **state)
{
	struct bed *bed = bed_create(3);

	for (uint64_t group = 1; group <= ROUNDS_GROUPS_MAX + 20; group++)
		bed_ask(bed, 1, group, 3, 300);
	assert_int_equal(rounds_counters(bed->rounds)->group_count,
			 ROUNDS_GROUPS_MAX);
	bed_ask(bed, 1, 1, 3, 300);
	bed_expect_all(bed, 1, 3);
	bed_destroy(bed);
}

/* What is asked for next does not wait for the dead one again. */
static void a_group_that_cannot_be_made_is_done_without(void **state)
{
	struct bed *bed = bed_create(600);
	const struct round_counters *counters = rounds_counters(bed->rounds);

	member_stop(&bed->members[599]);
	bed_ask(bed, 1, 10, 600, 300);
	expect_lost(bed, 1, 600, 599);
	assert_int_equal(counters->populate_count, 1);
	assert_int_equal(counters->failed_count, 1);
	assert_int_equal(bed_begin(bed, 2, 10, 600, 300, false), 0);
	medium_run(bed->medium, medium_now_ns(bed->medium) + 10 * MS);
	/* But for those above it. */
	assert_in_range(bed->calls[2].answer_count, 550, 599);
	bed_run(bed);
	expect_lost(bed, 2, 600, 599);
	assert_int_equal(counters->populate_count, 1);
	/* Its end is no matter of time: the node is back. */
	member_start(&bed->members[599]);
	bed_ask(bed, 3, 10, 600, 300);
	bed_expect_all(bed, 3, 600);
	assert_int_equal(counters->populate_count, 2);
	assert_int_equal(counters->group_count, 1);
	bed_destroy(bed);
}

static void a_group_is_tried_again_after_a_while(void **state)
{
	struct bed *bed = bed_create(200);
	const struct round_counters *counters = rounds_counters(bed->rounds);

	member_stop(&bed->members[199]);
	bed_ask(bed, 1, 10, 200, 300);
	assert_int_equal(counters->failed_count, 1);
	for (int i = 0; i < ROUNDS_SCATTERS_MAX; i++)
		bed_ask(bed, 1, 10, 200, 300);
	assert_int_equal(counters->populate_count, 1);
	bed_ask(bed, 1, 10, 200, 300);
	assert_int_equal(counters->populate_count, 2);
	bed_destroy(bed);
}

/* As many as there may be are being made at once, and then some. */
static void groups_that_are_made_are_no_more_than_may_be(void **state)
{
	struct bed *bed = bed_create(150);
	const struct round_counters *counters = rounds_counters(bed->rounds);

	for (uint64_t group = 1; group <= ROUNDS_GROUPS_MAX; group++) {
		assert_int_equal(bed_begin(bed, 1, group, 150, 300, false), 0);
		bed->seam.ops->cancel(bed->seam.ctx, 1);
	}
	assert_int_equal(counters->populate_count, ROUNDS_GROUPS_MAX);
	/* One that is dropped is made to its end. */
	bed->seam.ops->group_drop(bed->seam.ctx, 5);
	assert_int_equal(
		bed_begin(bed, 2, ROUNDS_GROUPS_MAX + 1, 150, 300, false), 0);
	assert_int_equal(counters->populate_count, ROUNDS_GROUPS_MAX);
	bed_run(bed);
	bed_expect_all(bed, 2, 150);
	assert_int_equal(counters->group_count, ROUNDS_GROUPS_MAX - 1);
	bed_ask(bed, 3, ROUNDS_GROUPS_MAX + 1, 150, 300);
	bed_expect_all(bed, 3, 150);
	assert_int_equal(counters->group_count, ROUNDS_GROUPS_MAX);
	bed_destroy(bed);
}

static void nothing(void *ctx)
{
}

/* A node that has the hop key tells the manager to be a member. */
static int sign_anything(void *ctx, const void *bytes, size_t count,
			 uint8_t *ret_signature)
{
	memset(ret_signature, 0, ROOT_SIGNATURE_SIZE);
	return 0;
}

static int believe_anything(void *ctx, scoll_nid_t root, const void *bytes,
			    size_t count, const uint8_t *signature)
{
	return 0;
}

/* A node asks; at first it cannot, then everybody believes what it signs. */
static void the_manager_takes_no_requests(void **state)
{
	struct bed *bed = bed_create(2);
	struct rounds *evil;
	struct round_seam seam;
	const struct round_request request = {
		.id = 5,
		.nids = (const uint64_t[]){ NID_MANAGER, bed->members[1].nid },
		.count = 2,
		.parcel = { .patience_ms = PATIENCE,
			    .part_bytes = PART_BYTES,
			    .command = bed->command,
			    .command_size = 300 },
	};
	uint8_t address[64];
	size_t size = sizeof(address);

	node_rounds_destroy(bed->members[0].node_rounds);
	medium_leave(bed->members[0].scoll);
	bed->members[0].scoll = medium_join(
		bed->medium,
		&(struct medium_member){
			.nid = bed->members[0].nid,
			.authenticator = &bed->members[0].hop.authenticator,
			.rng = sim_rng_seam(&bed->members[0].rng),
			.started_us = 1,
			.share_addresses = true,
			.settled = nothing,
		});
	assert_int_equal(rounds_create(bed->members[0].scoll, &bed_events, bed,
				       &evil),
			 0);
	seam = rounds_seam(evil);
	scoll_address(bed->scoll, address, &size);
	seam.ops->address(seam.ctx, NID_MANAGER, address, size);
	size = sizeof(address);
	scoll_address(bed->members[1].scoll, address, &size);
	seam.ops->address(seam.ctx, bed->members[1].nid, address, size);
	assert_int_equal(seam.ops->start(seam.ctx, &request), -EPERM);
	bed->members[0].hop.authenticator.sign = sign_anything;
	bed->members[1].hop.authenticator.check = believe_anything;
	bed->hop.authenticator.check = believe_anything;
	assert_int_equal(seam.ops->start(seam.ctx, &request), 0);
	bed_run(bed);
	rounds_settle(evil);
	assert_true(bed->calls[5].is_ended);
	assert_int_equal(bed->calls[5].failure_count, 2);
	assert_int_equal(bed->calls[5].failures[0].status, -EPERM);
	assert_int_equal(bed->calls[5].failures[1].status, -EPERM);
	assert_int_equal(bed->members[1].received_count, 0);
	medium_leave(take_ptr(bed->members[0].scoll));
	rounds_destroy(evil);
	bed_destroy(bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_gets_it_once_and_answers),
		cmocka_unit_test(a_group_is_made_once_and_used_by_some),
		cmocka_unit_test(a_list_that_does_not_fit_is_populated_first),
		cmocka_unit_test(a_command_that_does_not_fit_is_bulk_data),
		cmocka_unit_test(who_moved_is_reached_by_a_new_group),
		cmocka_unit_test(who_is_new_is_taken_into_the_group),
		cmocka_unit_test(who_is_dead_is_named_and_nobody_else),
		cmocka_unit_test(who_is_below_the_dead_is_named_with_him),
		cmocka_unit_test(
			one_dead_node_does_not_keep_a_large_group_from_the_others),
		cmocka_unit_test(no_node_is_between_in_a_flat_one),
		cmocka_unit_test(what_is_cancelled_has_no_events),
		cmocka_unit_test(
			a_group_that_is_dropped_while_it_is_made_serves_those_who_wait),
		cmocka_unit_test(
			a_new_manager_reaches_nodes_that_have_groups_of_the_old_one),
		cmocka_unit_test(groups_that_are_not_used_make_room),
		cmocka_unit_test(a_group_that_cannot_be_made_is_done_without),
		cmocka_unit_test(a_group_is_tried_again_after_a_while),
		cmocka_unit_test(groups_that_are_made_are_no_more_than_may_be),
		cmocka_unit_test(the_manager_takes_no_requests),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
