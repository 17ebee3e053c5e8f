/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: how members learn of them. */
#include "cast.h"

#include <stdlib.h>

static uint64_t groups_of(struct cast *cast, int index)
{
	struct scoll_stats stats = { .size = sizeof(stats) };

	scoll_core_stats(cast->members[index].core, &stats);
	return stats.groups;
}

static void assert_groups(struct cast *cast, int from, int to, uint64_t count)
{
	for (int i = from; i < to; i++)
		assert_int_equal(groups_of(cast, i), count);
}

/* The parameters that the n-th message of this member carries. */
static int params_of(struct cast *cast, int from, int n)
{
	const struct move *move = cast_move(cast, MOVE_SEND, from, n);
	struct wire_message message;

	assert_int_equal(wire_message_open(move->bytes, move->size, NULL,
					   &message),
			 WIRE_OK);
	return message.bcast.params_size;
}

static void note_group(int status, scoll_group_t *group, const void *private)
{
	struct member *member = (struct member *)private;

	member->group_status = status;
	member->group = group;
}

/* --- immediate --- */

static void immediate_G01_G03_F03_tells_when_all_have_it(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 6, SCOLL_TREE_BINOMIAL);
	cast_rule(&cast, MOVE_REPLY, 5, -1, FATE_HOLD, -1);
	assert_null(cast_group_now(&cast, 0, 0, 6));
	/* One is missing: no handle, and so no broadcast. */
	assert_int_equal(cast.members[0].group_status, 1);
	assert_groups(&cast, 0, 6, 1);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "group");
	assert_int_equal(cast.members[0].group_status, 0);
	group = cast.members[0].group;
	/* No service has seen it, and no parameters are carried any more. */
	for (int i = 1; i < 6; i++)
		assert_string_equal(cast.members[i].script, "");
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	assert_int_equal(params_of(&cast, 0, 0), 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 6);
	cast_finish(&cast, group);
}

static void immediate_B14_G01_carries_many_members_as_bulk_data(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 16, SCOLL_TREE_BINOMIAL);
	assert_int_equal(cast_group_large(&cast, 0, 0, 16, false), -EMSGSIZE);
	assert_int_equal(cast_group_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].group_status, 0);
	group = cast.members[0].group;
	assert_int_equal(scoll_core_group_entities(group),
			 16 * CAST_LARGE_TAGS);
	assert_true(cast.reads > 15);
	assert_groups(&cast, 0, 16, 1);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].sum, 16);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void send_over_new_group(struct member *member)
{
	cast_send(member->cast,
		  cast_request(member->cast, 0, member->group, "x", 1, 0, 0));
}

static void immediate_G01_can_be_used_when_its_callback_is_called(void **state)
{
	struct cast cast;

	cast_init(&cast, 16, SCOLL_TREE_BINOMIAL);
	cast.members[0].on_group = send_over_new_group;
	assert_int_equal(cast_group_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 16);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, cast.members[0].group);
}

static void large_group_B30_is_populated_again_before_the_next_request(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 16, SCOLL_TREE_BINOMIAL);
	assert_int_equal(cast_group_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	group = cast.members[0].group;
	cast_kill(&cast, 12);
	cast_start(&cast, 12);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].failures,
			    "12:NO_GROUP 13:NO_GROUP 14:NO_GROUP 15:NO_GROUP");
	cast_bcast(&cast, 0, group, "y");
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 16);
	assert_memory_equal(cast.members[12].payload, "y", 1);
	cast_finish(&cast, group);
}

static void large_group_B30_is_populated_again_around_the_dead(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	int sends;

	cast_init(&cast, 16, SCOLL_TREE_BINOMIAL);
	assert_int_equal(cast_group_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	group = cast.members[0].group;
	/* 8 is dead, and 12, below it in the tree of all, has forgotten. */
	cast_kill(&cast, 8);
	cast_tell_dead(&cast, 8);
	cast_kill(&cast, 12);
	cast_start(&cast, 12);
	given_set(cast.members[12].given, cast_nid(8), SCOLL_DEAD);
	for (int i = 0; i < 2; i++) {
		cast_send(&cast, cast_request(&cast, 0, group, "x", 1,
					      SCOLL_ALIVE_ONLY, 0));
		cast_run(&cast);
	}
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 15);
	/* And is not populated for each request. */
	sends = cast.sends;
	cast_send(&cast,
		  cast_request(&cast, 0, group, "x", 1, SCOLL_ALIVE_ONLY, 0));
	cast_run(&cast);
	assert_int_equal(cast.sends, sends + 14);
	cast_finish(&cast, group);
}

static char unmade[64]; /* "3:TIMEOUT": the number and type of each */

static void note_unmade(struct member *member)
{
	struct scoll_failure failure;
	uint64_t cursor = 0;
	int at = 0;

	unmade[0] = '\0';
	while (scoll_core_group_failure_next(member->core, &cursor, &failure) >
	       0)
		at += snprintf(unmade + at, sizeof(unmade) - (size_t)at,
			       "%d:%d ", (int)(failure.nid - cast_nid(0)),
			       failure.type);
}

static void immediate_E06_that_fails_names_who_has_it_not(void **state)
{
	struct scoll_failure failure;
	uint64_t cursor = 0;
	struct cast cast;
	char expected[64];

	cast_init(&cast, 8, CAST_CHAIN);
	cast.members[0].on_group = note_unmade;
	cast_rule(&cast, MOVE_SEND, 5, 6, FATE_FAIL, -1);
	assert_null(cast_group_now(&cast, 0, 0, 8));
	cast_settle(&cast);
	snprintf(expected, sizeof(expected), "6:%d 7:%d ", SCOLL_ERROR_NET_SEND,
		 SCOLL_ERROR_NET_SEND);
	assert_string_equal(unmade, expected);
	/* Not from anywhere else. */
	assert_int_equal(scoll_core_group_failure_next(cast.members[0].core,
						       &cursor, &failure),
			 -EINVAL);
	cast_rules_clear(&cast);
	assert_non_null(cast_group_now(&cast, 0, 0, 8));
	assert_string_equal(unmade, "");
	cast_finish(&cast, cast.members[0].group);
}

static void immediate_B33_that_fails_is_taken_back(void **state)
{
	struct cast cast;

	cast_init(&cast, 6, SCOLL_TREE_FLAT);
	cast_rule(&cast, MOVE_SEND, 0, 3, FATE_LOSE, 1);
	assert_null(cast_group_now(&cast, 0, 0, 6));
	assert_groups(&cast, 1, 3, 1);
	cast_pass(&cast, CAST_R_NS);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "group!");
	assert_int_equal(cast.members[0].group_status, -ETIMEDOUT);
	assert_null(cast.members[0].group);
	assert_groups(&cast, 0, 6, 0);
	/* And with it what it had of its service. */
	assert_int_equal(scoll_core_service_unregister(cast.members[0].core,
						       CAST_SERVICE),
			 0);
	cast_finish(&cast, NULL);
}

static void immediate_P01_G03_of_a_dead_member_fails_by_the_callback(
	void **state)
{
	struct cast cast;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	given_set(cast.members[0].given, cast_nid(2), SCOLL_DEAD);
	assert_null(cast_group_now(&cast, 0, 0, 3));
	assert_string_equal(cast.members[0].script, "group!");
	assert_int_equal(cast.members[0].group_status, -EHOSTDOWN);
	assert_int_equal(cast.sends, 0);
	assert_groups(&cast, 0, 3, 0);
	cast_finish(&cast, NULL);
}

/* --- delayed --- */

static void delayed_G02_B15_is_carried_until_all_have_it(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);

	assert_int_equal(cast.sends, 0);
	/* But the way is prepared. */
	assert_int_equal(cast.members[0].connects, 3);
	assert_groups(&cast, 1, 4, 0);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	assert_true(params_of(&cast, 0, 0) > 4 * 24);
	/* Before it has ended nobody knows who has it. */
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, 0, 0));
	assert_true(params_of(&cast, 0, 3) > 4 * 24);
	cast_run(&cast);
	cast_send(&cast, cast_request(&cast, 0, group, "z", 1, 0, 0));
	assert_int_equal(params_of(&cast, 0, 0), 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	assert_groups(&cast, 0, 4, 1);
	cast_finish(&cast, group);
}

static void delayed_G02_that_its_parts_have_is_not_carried_any_more(
	void **state)
{
	scoll_nid_t halves[2][3];
	struct cast cast;
	scoll_group_t *group;

	for (int i = 0; i < 3; i++) {
		halves[0][i] = cast_nid(i);
		halves[1][i] = cast_nid(3 + i);
	}
	cast_init(&cast, 6, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 6);
	for (int i = 0; i < 6; i++) {
		cast_send(&cast,
			  cast_request_of(&cast, 0, group, halves[i % 2], 3));
		if (i < 2)
			assert_true(params_of(&cast, 0, 0) > 6 * 24);
		else
			assert_int_equal(params_of(&cast, 0, 0), 0);
		cast_run(&cast);
		assert_int_equal(cast.members[0].status, 0);
	}
	/* All have it, then. */
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	assert_int_equal(params_of(&cast, 0, 0), 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void delayed_B15_is_carried_again_when_the_first_has_failed(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, 1);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS);
	cast_run(&cast);
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, 0, 0));
	assert_true(params_of(&cast, 0, 0) > 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void delayed_G04_F05_leaves_less_room_for_the_payload(void **state)
{
	static uint8_t bytes[SCOLL_BCAST_MAX];
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 20, SCOLL_TREE_BINOMIAL);
	scoll_request_t *request;

	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, bytes, 3700,
					      NULL, 0, 0, 0, NULL, &request),
			 -EMSGSIZE);
	cast_bcast(&cast, 0, group, "small");
	cast_send(&cast, cast_request(&cast, 0, group, bytes, 3700, 0, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void handle_T06_G18_has_name_private_and_its_tree(void **state)
{
	struct cast cast;
	scoll_group_t *group, *other;
	scoll_group_t *learned;

	cast_init(&cast, 8, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 8);
	cast.tree = SCOLL_TREE_BINOMIAL;
	other = cast_group(&cast, 0, 0, 8);
	assert_string_equal(scoll_group_name(group), "the cast");
	assert_ptr_equal(scoll_group_private(group), &cast.members[0]);
	assert_int_equal(scoll_core_get_nchildren(group), 7);
	assert_int_equal(scoll_core_get_nchildren(other), 3);
	cast.members[1].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	learned = scoll_request_group(cast.members[1].request);
	assert_string_equal(scoll_group_name(learned), "the cast");
	assert_null(scoll_group_private(learned));
	assert_int_equal(scoll_core_reply(cast.members[1].request, cast.now_ns,
					  NULL, 0),
			 0);
	cast.members[1].keeps_quiet = false;
	cast_run(&cast);
	cast_bcast(&cast, 0, other, "x");
	assert_int_equal(cast.members[0].sum, 8);
	scoll_core_group_destroy(other, cast.now_ns);
	cast_finish(&cast, group);
}

static void id_G13_G14_B25_is_one_group_at_every_member(void **state)
{
	struct cast cast;
	scoll_group_t *groups[3];
	scoll_target_t targets[3];
	scoll_target_t swap;
	struct core_callback callback;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	groups[0] = cast_group(&cast, 0, 0, 3);
	groups[1] = cast_group(&cast, 0, 0, 3);
	cast_targets(0, 3, targets);
	swap = targets[1];
	targets[1] = targets[2];
	targets[2] = swap;
	assert_int_equal(scoll_core_group_create(cast.members[0].core, 1,
						 CAST_SERVICE, "", targets, 3,
						 0, false, note_group,
						 &cast.members[0], &callback),
			 0);
	groups[2] = callback.group;
	assert_int_not_equal(groups[0]->id.index, groups[1]->id.index);
	assert_memory_equal(&groups[0]->id.members, &groups[1]->id.members, 16);
	assert_memory_not_equal(&groups[0]->id.members, &groups[2]->id.members,
				16);
	for (int i = 0; i < 3; i++)
		cast_bcast(&cast, 0, groups[i], "x");
	assert_groups(&cast, 0, 3, 3);
	scoll_core_group_destroy(groups[1], cast.now_ns);
	cast_run(&cast);
	assert_groups(&cast, 0, 3, 2);
	scoll_core_group_destroy(groups[2], cast.now_ns);
	cast_finish(&cast, groups[0]);
}

static void backwards(void *ctx, const scoll_nid_t *nids, int count, int *order)
{
	for (int i = 0; i < count; i++)
		order[i] = count - 1 - i;
}

static void order_G12_G17_is_what_the_hook_makes_of_it(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 4, CAST_CHAIN);
	cast.members[0].core->options.permute = backwards;
	group = cast_group(&cast, 0, 0, 4);
	cast_rule(&cast, MOVE_REPLY, -1, -1, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	/* 0 is the last of the list; around its end comes 3, then 2. */
	assert_int_equal(cast_move(&cast, MOVE_POST, 0, 0)->to, cast_nid(3));
	assert_int_equal(cast_move(&cast, MOVE_POST, 3, 0)->to, cast_nid(2));
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(immediate_G01_G03_F03_tells_when_all_have_it),
		cmocka_unit_test(
			immediate_B14_G01_carries_many_members_as_bulk_data),
		cmocka_unit_test(
			immediate_G01_can_be_used_when_its_callback_is_called),
		cmocka_unit_test(
			large_group_B30_is_populated_again_before_the_next_request),
		cmocka_unit_test(
			large_group_B30_is_populated_again_around_the_dead),
		cmocka_unit_test(immediate_E06_that_fails_names_who_has_it_not),
		cmocka_unit_test(immediate_B33_that_fails_is_taken_back),
		cmocka_unit_test(
			immediate_P01_G03_of_a_dead_member_fails_by_the_callback),
		cmocka_unit_test(delayed_G02_B15_is_carried_until_all_have_it),
		cmocka_unit_test(
			delayed_G02_that_its_parts_have_is_not_carried_any_more),
		cmocka_unit_test(
			delayed_B15_is_carried_again_when_the_first_has_failed),
		cmocka_unit_test(
			delayed_G04_F05_leaves_less_room_for_the_payload),
		cmocka_unit_test(handle_T06_G18_has_name_private_and_its_tree),
		cmocka_unit_test(id_G13_G14_B25_is_one_group_at_every_member),
		cmocka_unit_test(order_G12_G17_is_what_the_hook_makes_of_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
