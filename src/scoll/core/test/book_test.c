/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Members that know nobody but themselves: all that they need they learn from
 * the messages of the one who knows. A node without a known address it does
 * not reach, so that what arrives shows what was learned.
 */
#include "cast.h"

#include <sodium.h>

#include "scoll/core/addresses.h"
#include "sim/heap.h"

#define SHORT 8
#define LONG  60 /* so that what 64 members need does not fit in a message */

/* All that waits for time is over. */
static void settle(struct cast *cast)
{
	cast_run(cast);
	for (int i = 0; i < 200 && cast->members[0].request != NULL; i++) {
		assert_true(cast_pass_deadline(cast));
		cast_run(cast);
	}
}

static void assert_all_ran(struct cast *cast, int root, int from, int to,
			   int times)
{
	assert_string_equal(cast->members[root].failures, "");
	assert_int_equal(cast->members[root].status, 0);
	for (int i = from; i < to; i++)
		assert_int_equal(cast->members[i].request_count, times);
}

static void delayed_group_brings_the_addresses_that_are_needed(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init_placed(&cast, 20, SCOLL_TREE_BINOMIAL, SHORT);
	group = cast_group(&cast, 0, 0, 20);
	cast_bcast(&cast, 0, group, "hello");
	assert_all_ran(&cast, 0, 0, 20, 1);
	/* A parent, and its children; nobody else, and no more than that. */
	assert_int_equal(cast_place_count(&cast, 1), 1);
	assert_int_equal(cast_place_count(&cast, 16), 3);
	assert_int_equal(cast_place_count(&cast, 8), 4);
	cast_bcast(&cast, 0, group, "again");
	assert_all_ran(&cast, 0, 0, 20, 2);
	assert_int_equal(cast_place_count(&cast, 8), 4);
	cast_finish(&cast, group);
}

static void immediate_group_brings_them_too(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init_placed(&cast, 20, SCOLL_TREE_BINOMIAL, SHORT);
	group = cast_group_now(&cast, 0, 0, 20);
	assert_int_equal(cast.members[0].group_status, 0);
	assert_int_equal(cast.reads, 0);
	cast_bcast(&cast, 0, group, "hello");
	assert_all_ran(&cast, 0, 0, 20, 1);
	cast_finish(&cast, group);
}

static void root_that_is_no_member_is_answered(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init_placed(&cast, 10, SCOLL_TREE_KNOMIAL(4), SHORT);
	group = cast_group(&cast, 0, 3, 10);
	cast_bcast(&cast, 0, group, "hello");
	assert_all_ran(&cast, 0, 3, 10, 1);
	assert_int_equal(cast.members[0].sum, 7);
	cast_finish(&cast, group);
}

static void bulk_list_is_read_again_only_for_new_addresses(void **state)
{
	struct cast cast;
	scoll_group_t *first, *second, *third;
	int reads;

	cast_init_placed(&cast, 64, SCOLL_TREE_BINOMIAL, LONG);
	first = cast_group_now(&cast, 0, 0, 64);
	assert_int_equal(cast.members[0].group_status, 0);
	reads = cast.reads;
	assert_true(reads >= 63);
	cast_bcast(&cast, 0, first, "one");
	assert_all_ran(&cast, 0, 0, 64, 1);
	/* The same members where they were: nobody has to read anything. */
	second = cast_group_now(&cast, 0, 0, 64);
	assert_int_equal(cast.members[0].group_status, 0);
	assert_int_equal(cast.reads, reads);
	cast_bcast(&cast, 0, second, "two");
	assert_all_ran(&cast, 0, 0, 64, 2);
	/* A node in the middle of the tree has moved: its list is known. */
	cast_kill(&cast, 32);
	cast_start(&cast, 32);
	cast_place_tell(&cast, 0, 32);
	cast.members[32].request_count = 2;
	third = cast_group_now(&cast, 0, 0, 64);
	assert_int_equal(cast.members[0].group_status, 0);
	assert_int_equal(cast.reads, 2 * reads);
	cast_bcast(&cast, 0, third, "three");
	assert_all_ran(&cast, 0, 0, 64, 3);
	scoll_core_group_destroy(first, cast.now_ns);
	scoll_core_group_destroy(second, cast.now_ns);
	cast_finish(&cast, third);
}

/* 12 is a child of 8, which the root does not send to by itself. */
static void node_that_moved_is_found_by_a_later_group(void **state)
{
	struct cast cast;
	scoll_group_t *old, *new;

	cast_init_placed(&cast, 16, SCOLL_TREE_BINOMIAL, SHORT);
	old = cast_group(&cast, 0, 0, 16);
	cast_bcast(&cast, 0, old, "one");
	assert_all_ran(&cast, 0, 0, 16, 1);
	cast_kill(&cast, 12);
	cast_start(&cast, 12);
	cast_place_tell(&cast, 0, 12);
	cast_tell_rebooted(&cast, 12);
	cast.members[12].request_count = 1;
	new = cast_group(&cast, 0, 0, 16);
	cast_bcast(&cast, 0, new, "two");
	assert_all_ran(&cast, 0, 0, 16, 2);
	/* What the older group has said does not come back with it. */
	cast_send(&cast, cast_request(&cast, 0, old, "three", 5, 0, 0));
	settle(&cast);
	assert_string_equal(cast.members[0].failures,
			    "12:NO_GROUP 13:NO_GROUP "
			    "14:NO_GROUP 15:NO_GROUP");
	cast_bcast(&cast, 0, new, "four");
	assert_string_equal(cast.members[0].failures, "");
	/* 12 has forgotten the older one: it learns the present one again. */
	cast_bcast(&cast, 0, old, "five");
	assert_string_equal(cast.members[0].failures, "");
	scoll_core_group_destroy(old, cast.now_ns);
	cast_finish(&cast, new);
}

static void older_message_that_comes_later_is_not_believed(void **state)
{
	struct cast cast;
	scoll_group_t *old, *new;
	scoll_request_t *request;

	cast_init_placed(&cast, 16, SCOLL_TREE_BINOMIAL, SHORT);
	old = cast_group(&cast, 0, 0, 16);
	cast_rule(&cast, MOVE_SEND, 0, 8, FATE_HOLD, -1);
	request = cast_request(&cast, 0, old, "late", 4, 0, 0);
	cast_send(&cast, request);
	cast_run(&cast);
	cast_kill(&cast, 12);
	cast_start(&cast, 12);
	cast_place_tell(&cast, 0, 12);
	cast_rules_clear(&cast);
	new = cast_group(&cast, 0, 0, 16);
	request = cast_request(&cast, 0, new, "new", 3, 0, 0);
	cast_rule(&cast, MOVE_SEND, 0, 8, FATE_HOLD, 1);
	cast_send(&cast, request);
	/* 8 gets the second one first. */
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 0, 1), FATE_PASS);
	cast_callbacks(&cast);
	cast_rules_clear(&cast);
	settle(&cast);
	assert_int_equal(cast.members[8].places[12], cast.members[12].place);
	cast_bcast(&cast, 0, new, "once more");
	assert_string_equal(cast.members[0].failures, "");
	scoll_core_group_destroy(old, cast.now_ns);
	cast_finish(&cast, new);
}

static void member_may_be_the_root_of_what_it_has_learned(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *pending;

	cast_init_placed(&cast, 13, SCOLL_TREE_KNOMIAL(4), SHORT);
	group = cast_group(&cast, 0, 0, 13);
	cast.members[5].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "first");
	pending = cast.members[5].request;
	assert_non_null(pending);
	cast_send(&cast, cast_request(&cast, 5, scoll_request_group(pending),
				      "second", 6, 0, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[5].sum, 13);
	assert_string_equal(cast.members[5].failures, "");
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "x", 1), 0);
	cast_finish(&cast, group);
}

static void sender_is_known_to_who_knows_no_group(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint32_t place;

	cast_init_placed(&cast, 8, SCOLL_TREE_BINOMIAL, SHORT);
	group = cast_group(&cast, 0, 0, 8);
	cast_bcast(&cast, 0, group, "one");
	/* It starts again at the same place, and knows nobody. */
	place = cast.members[6].place;
	cast_kill(&cast, 6);
	cast_start(&cast, 6);
	cast.members[6].place = place;
	cast_tell_rebooted(&cast, 6);
	cast_bcast(&cast, 0, group, "two");
	assert_string_equal(cast.members[0].failures,
			    "06:NO_GROUP 07:NO_GROUP");
	cast_bcast(&cast, 0, group, "three");
	assert_string_equal(cast.members[0].failures, "");
	cast_finish(&cast, group);
}

static void altered_message_teaches_nothing(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init_placed(&cast, 2, SCOLL_TREE_FLAT, SHORT);
	group = cast_group(&cast, 0, 0, 2);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_ALTER, 1);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	settle(&cast);
	assert_string_equal(cast.members[0].failures, "01:TIMEOUT");
	assert_int_equal(cast.members[1].lessons, 0);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].failures, "");
	/* By the one that was for no start of it, and by the one that was. */
	assert_int_equal(cast.members[1].lessons, 2);
	cast_finish(&cast, group);
}

static void sender_add(struct wire_bcast *wire)
{
	wire->flags |= WIRE_SENDER;
	memset(wire->address, 1, SHORT);
	wire->address_size = SHORT;
}

static void nothing_is_believed_without_seals(void **state)
{
	struct core_options options;
	struct scoll_core *core;
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	cast_rewrite(cast_move(&cast, MOVE_SEND, 0, 0), sender_add);
	cast_run(&cast);
	assert_all_ran(&cast, 0, 0, 2, 1);
	assert_int_equal(cast.members[1].lessons, 0);
	/* Nor may one share what nobody would believe. */
	options = *scoll_core_options(cast.members[0].core);
	options.share_addresses = true;
	assert_int_equal(scoll_core_create(&options, &core), -EINVAL);
	cast_finish(&cast, group);
}

static void nobody_comes(int status, scoll_group_t *group, const void *private)
{
	fail_msg("a group was made, or not: %d", status);
}

static void address_that_is_too_long_makes_no_group(void **state)
{
	scoll_target_t targets[2];
	struct core_callback callback;
	struct cast cast;

	cast_init_placed(&cast, 2, SCOLL_TREE_FLAT, SHORT);
	cast.place_size = WIRE_ADDRESS_MAX + 1;
	cast_targets(0, 2, targets);
	for (int is_now = 0; is_now < 2; is_now++)
		assert_int_equal(
			scoll_core_group_create(cast.members[0].core,
						cast.now_ns, CAST_SERVICE, "",
						targets, 2, cast.tree, is_now,
						nobody_comes, NULL, &callback),
			-ENOSPC);
	cast.place_size = SHORT;
	cast_finish(&cast, NULL);
}

static int learn_all(void *ctx)
{
	struct cast *cast = ctx;
	struct member *root = &cast->members[0];
	int result = cast_group_try(cast, 0, 0, cast->count, true);

	if (result < 0)
		return result;
	cast_settle(cast);
	if (root->group_status < 0)
		return root->group_status;
	scoll_core_group_destroy(root->group, cast->now_ns);
	cast_settle(cast);
	return 0;
}

/* step: 1, or how many places are left out between two that are tried. */
static void memory_strike(int count, size_t place_size, uint32_t step)
{
	unsigned int failed = 0;
	bool was_hit = true;

	for (uint32_t n = 1; was_hit; n += step) {
		struct cast cast;
		int result = 0;

		cast_init_placed(&cast, count, SCOLL_TREE_BINOMIAL, place_size);
		was_hit = sim_heap_fails(n, &result, learn_all, &cast);
		failed += result < 0;
		cast_finish(&cast, NULL);
		if (!was_hit)
			assert_int_equal(result, 0);
	}
	assert_true(failed > 10);
}

static void no_memory_is_an_error_and_leaves_nothing(void **state)
{
	memory_strike(4, SHORT, 1);
	memory_strike(64, LONG, 67); /* as bulk data */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			delayed_group_brings_the_addresses_that_are_needed),
		cmocka_unit_test(immediate_group_brings_them_too),
		cmocka_unit_test(root_that_is_no_member_is_answered),
		cmocka_unit_test(
			bulk_list_is_read_again_only_for_new_addresses),
		cmocka_unit_test(node_that_moved_is_found_by_a_later_group),
		cmocka_unit_test(
			older_message_that_comes_later_is_not_believed),
		cmocka_unit_test(member_may_be_the_root_of_what_it_has_learned),
		cmocka_unit_test(sender_is_known_to_who_knows_no_group),
		cmocka_unit_test(altered_message_teaches_nothing),
		cmocka_unit_test(nothing_is_believed_without_seals),
		cmocka_unit_test(address_that_is_too_long_makes_no_group),
		cmocka_unit_test(no_memory_is_an_error_and_leaves_nothing),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_core_book", tests, NULL,
					   NULL);
}
