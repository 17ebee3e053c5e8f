/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: how members learn of them, and how they end. */
#include "cast.h"

#include <stdlib.h>

#define HOUR_NS UINT64_C(3600000000000)
#define TAGS    20

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

/* Members from..to-1 with so many entities each that no message has them. */
static int create_large(struct cast *cast, int root, int from, int to,
			bool is_now)
{
	static scoll_tag_t tags[TAGS];
	struct member *member = &cast->members[root];
	scoll_target_t targets[CAST_MEMBERS_MAX];
	struct core_callback callback = { 0 };
	int count = cast_targets(from, to, targets);
	int result;

	for (int i = 0; i < TAGS; i++)
		tags[i].bytes[3] = (uint8_t)i;
	for (int i = 0; i < count; i++) {
		targets[i].tags = tags;
		targets[i].count = TAGS;
	}
	member->group = NULL;
	member->group_status = 1;
	result = scoll_core_group_create(member->core, cast->now_ns,
					 CAST_SERVICE, "large", targets, count,
					 cast->tree, is_now, note_group, member,
					 &callback);
	if (result == 0 && !is_now)
		core_callback_call(&callback);
	return result;
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
	/* No service has heard of it, and nothing is carried any more. */
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
	assert_int_equal(create_large(&cast, 0, 0, 16, false), -EMSGSIZE);
	assert_int_equal(create_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].group_status, 0);
	group = cast.members[0].group;
	assert_int_equal(scoll_core_group_entities(group), 16 * TAGS);
	assert_true(cast.reads > 15);
	assert_groups(&cast, 0, 16, 1);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].sum, 16);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void large_group_B30_is_populated_again_before_the_next_request(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 16, SCOLL_TREE_BINOMIAL);
	assert_int_equal(create_large(&cast, 0, 0, 16, true), 0);
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
	assert_int_equal(create_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	group = cast.members[0].group;
	/* 8 is dead, and 12, below it in the tree of all, has forgotten. */
	cast_kill(&cast, 8);
	cast_tell_dead(&cast, 8);
	cast_kill(&cast, 12);
	cast_start(&cast, 12);
	given_dead(cast.members[12].given, cast_nid(8));
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
	given_dead(cast.members[0].given, cast_nid(2));
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
	scoll_group_t *group;

	cast_init(&cast, 4, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 4);
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

static void delayed_B15_is_carried_again_when_the_first_has_failed(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
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
	scoll_group_t *group;
	scoll_request_t *request;

	cast_init(&cast, 20, SCOLL_TREE_BINOMIAL);
	group = cast_group(&cast, 0, 0, 20);
	assert_int_equal(scoll_core_bcast_new(group, 1, bytes, 3700, NULL, 0, 0,
					      0, NULL, &request),
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
	assert_string_equal(scoll_core_group_name(group), "the cast");
	assert_ptr_equal(scoll_core_group_private(group), &cast.members[0]);
	assert_int_equal(scoll_core_get_nchildren(group), 7);
	assert_int_equal(scoll_core_get_nchildren(other), 3);
	cast.members[1].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	learned = scoll_core_request_group(cast.members[1].request);
	assert_string_equal(scoll_core_group_name(learned), "the cast");
	assert_null(scoll_core_group_private(learned));
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

/* --- out-of-band --- */

static const scoll_oobgrp_id_t oobid = { CAST_SERVICE, "a fid of lustre" };

static void oob_set(struct cast *cast, int index, int from, int to)
{
	cast->members[index].oob_count =
		cast_targets(from, to, cast->members[index].oob_targets);
}

static scoll_group_t *oob_create(struct cast *cast, int index)
{
	scoll_group_t *group;

	assert_int_equal(scoll_core_oob_group_create(
				 cast->members[index].core, CAST_SERVICE, "fid",
				 &oobid, cast->tree, cast, &group),
			 0);
	return group;
}

static void oob_G05_G06_F04_is_local_and_needs_a_callback(void **state)
{
	struct scoll_service_ops ops = cast_service_ops;
	scoll_oobgrp_id_t foreign = { CAST_SERVICE + 1, "" };
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	ops.oobgrp = NULL;
	assert_int_equal(scoll_core_service_register(cast.members[0].core, 8,
						     &ops, NULL),
			 0);
	assert_int_equal(scoll_core_oob_group_create(cast.members[0].core, 8,
						     "", &foreign, 0, NULL,
						     &group),
			 -EOPNOTSUPP);
	assert_int_equal(scoll_core_oob_group_create(cast.members[0].core,
						     CAST_SERVICE, "", &foreign,
						     0, NULL, &group),
			 -EINVAL);
	assert_int_equal(scoll_core_oob_group_create(cast.members[0].core, 9,
						     "", &foreign, 0, NULL,
						     &group),
			 -ENOENT);
	group = oob_create(&cast, 0);
	assert_int_equal(cast.members[0].oob_calls, 0);
	assert_int_equal(cast.sends, 0);
	assert_string_equal(scoll_core_group_name(group), "fid");
	assert_ptr_equal(scoll_core_group_private(group), &cast);
	cast_finish(&cast, group);
}

static void oob_G07_G08_G09_is_asked_for_at_each_message(void **state)
{
	struct cast cast;
	scoll_group_t *group, *other;
	struct wire_message message;
	const struct move *move;

	cast_init(&cast, 4, SCOLL_TREE_BINOMIAL);
	for (int i = 0; i < 4; i++)
		oob_set(&cast, i, 0, 4);
	group = oob_create(&cast, 0);
	other = oob_create(&cast, 2);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	assert_int_equal(cast.members[0].oob_calls, 1);
	assert_int_equal(cast.members[3].oob_calls, 0);
	move = cast_move(&cast, MOVE_SEND, 0, 0);
	assert_int_equal(wire_message_open(move->bytes, move->size, NULL,
					   &message),
			 WIRE_OK);
	assert_int_equal(message.bcast.params_size, 0);
	assert_memory_equal(message.bcast.oob, oobid.bytes, 16);
	assert_memory_equal(&message.bcast.members, &group->membership->digest,
			    16);
	cast_run(&cast);
	assert_int_equal(cast.members[3].oob_calls, 1);
	assert_int_equal(cast.members[0].sum, 4);
	/* Any member is a root, with a tree of its own. */
	cast_bcast(&cast, 2, other, "y");
	assert_int_equal(cast.members[2].sum, 4);
	assert_int_equal(cast.members[3].oob_calls, 2);
	scoll_core_group_destroy(other, cast.now_ns);
	cast_finish(&cast, group);
}

static void oob_G10_G11_of_other_members_is_not_passed_on(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 4, CAST_CHAIN);
	for (int i = 0; i < 4; i++)
		oob_set(&cast, i, 0, 4);
	oob_set(&cast, 2, 0, 3);
	group = oob_create(&cast, 0);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(DIGEST) post out");
	assert_string_equal(cast.members[2].script, "");
	assert_string_equal(cast.members[3].script, "");
	assert_string_equal(cast.members[0].failures, "02:DIGEST 03:DIGEST");
	/* When all see the new ones, it goes again. */
	for (int i = 0; i < 4; i++)
		oob_set(&cast, i, 0, 3);
	cast_bcast(&cast, 0, group, "y");
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 3);
	/* One that fails to say. */
	cast.members[1].oob_count = -ENOENT;
	cast_bcast(&cast, 0, group, "z");
	assert_string_equal(cast.members[0].failures,
			    "01:NO_GROUP 02:NO_GROUP");
	oob_set(&cast, 1, 0, 3);
	cast_finish(&cast, group);
}

/* --- the end --- */

static void last_L01_ends_the_group_when_the_reply_has_left(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *request;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast_bcast(&cast, 0, group, "x");
	cast_rule(&cast, MOVE_REPLY, 2, 0, FATE_HOLD, -1);
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, SCOLL_LAST, 0));
	assert_int_equal(scoll_core_bcast_new(group, 1, "z", 1, NULL, 0, 0, 0,
					      NULL, &request),
			 -ESHUTDOWN);
	cast_run(&cast);
	assert_groups(&cast, 1, 2, 0);
	assert_groups(&cast, 2, 3, 1);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_groups(&cast, 1, 3, 0);
	assert_int_equal(cast.members[0].sum, 3);
	cast.sends = 0;
	cast_finish(&cast, group);
	assert_int_equal(cast.sends, 0);
}

static void last_B16_waits_for_the_earlier_ones(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *made;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	made = cast_request(&cast, 0, group, "w", 1, 0, 0);
	cast_bcast(&cast, 0, group, "x");
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, SCOLL_LAST, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[2].request_count, 1);
	/* One that was made before it, and not sent, is too late. */
	assert_int_equal(scoll_core_bcast_send(made, cast.now_ns), -ESHUTDOWN);
	cast_request_free(&cast, made);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_int_equal(cast.members[2].request_count, 2);
	assert_int_equal(cast.members[0].status, 0);
	assert_groups(&cast, 1, 3, 0);
	cast_finish(&cast, group);
}

static void last_B16_waits_for_those_that_wait_themselves(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *last;

	cast_init(&cast, 16, SCOLL_TREE_BINOMIAL);
	assert_int_equal(create_large(&cast, 0, 0, 16, true), 0);
	cast_run(&cast);
	group = cast.members[0].group;
	cast_kill(&cast, 12);
	cast_start(&cast, 12);
	cast_bcast(&cast, 0, group, "x");
	/* Made first, sent second: the other one is held for 12's sake. */
	last = cast_request(&cast, 0, group, "z", 1, SCOLL_LAST, 0);
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, 0, 0));
	cast_send(&cast, last);
	cast_run(&cast);
	assert_int_equal(cast.members[12].request_count, 2);
	assert_memory_equal(cast.members[12].payload, "z", 1);
	assert_int_equal(cast.members[0].status, 0);
	assert_groups(&cast, 1, 16, 0);
	cast_finish(&cast, group);
}

static void last_L01_of_a_root_that_has_not_made_the_group(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *owed;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast.members[1].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	owed = cast.members[1].request;
	cast.members[1].keeps_quiet = false;
	cast_send(&cast, cast_request(&cast, 1, scoll_core_request_group(owed),
				      "y", 1, SCOLL_LAST, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[1].sum, 3);
	assert_int_equal(scoll_core_reply(owed, cast.now_ns, "x", 1), 0);
	cast_run(&cast);
	assert_groups(&cast, 1, 3, 0);
	/* Its maker has its handle, and is told. */
	assert_groups(&cast, 0, 1, 1);
	cast_bcast(&cast, 0, group, "z");
	assert_int_equal(cast.members[0].reply.srp_status, -ESHUTDOWN);
	assert_string_equal(cast.members[0].failures,
			    "01:NO_GROUP 02:NO_GROUP");
	cast_finish(&cast, group);
}

static void held_last_B23_can_be_aborted(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *last;

	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_script_clear(&cast);
	last = cast_request(&cast, 0, group, "y", 1, SCOLL_LAST, 0);
	cast_send(&cast, last);
	scoll_core_bcast_abort(last, cast.now_ns);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "reply:0(ABORTED) post");
	assert_string_equal(cast.members[0].failures, "00:ABORTED+ 01:ABORTED");
	assert_int_equal(cast.members[1].request_count, 1);
	cast_finish(&cast, group);
}

static void ended_group_B16_is_not_made_again_by_a_late_message(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct move *late;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	/* The first one, with the parameters, is on its way for long. */
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	late = cast_move(&cast, MOVE_SEND, 0, 1);
	assert_int_equal(late->to, cast_nid(1));
	size = late->size;
	memcpy(bytes, late->bytes, size);
	cast_carry(&cast, late, FATE_LOSE);
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS);
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, SCOLL_LAST, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast_inject(&cast, 1, bytes, size);
	assert_int_equal(cast.members[1].request_count, 1);
	assert_groups(&cast, 1, 3, 0);
	cast_finish(&cast, group);
}

static void destroy_L02_F14_is_an_empty_last_broadcast(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct wire_message message;
	const struct move *move;

	cast_init(&cast, 4, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 4);
	cast_bcast(&cast, 0, group, "x");
	cast_script_clear(&cast);
	assert_int_equal(scoll_core_service_unregister(cast.members[0].core,
						       CAST_SERVICE),
			 -EBUSY);
	scoll_core_group_destroy(group, cast.now_ns);
	move = cast_move(&cast, MOVE_SEND, 0, 0);
	assert_int_equal(wire_message_open(move->bytes, move->size, NULL,
					   &message),
			 WIRE_OK);
	assert_int_equal(message.bcast.payload_size, 0);
	assert_true(message.bcast.flags & WIRE_LAST);
	cast_run(&cast);
	assert_groups(&cast, 0, 4, 0);
	for (int i = 0; i < 4; i++)
		assert_string_equal(cast.members[i].script, "");
	/* B-32: nothing is left of the service. */
	assert_int_equal(scoll_core_service_unregister(cast.members[0].core,
						       CAST_SERVICE),
			 0);
	/* Never sent: nobody has to be told. */
	assert_int_equal(scoll_core_service_register(
				 cast.members[0].core, CAST_SERVICE,
				 &cast_service_ops, &cast.members[0]),
			 0);
	cast.sends = 0;
	group = cast_group(&cast, 0, 0, 4);
	cast_finish(&cast, group);
	assert_int_equal(cast.sends, 0);
}

static void destroy_L02_L06_leaves_out_the_dead(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 5, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 5);
	cast_bcast(&cast, 0, group, "x");
	given_dead(cast.members[0].given, cast_nid(2));
	scoll_core_group_destroy(group, cast.now_ns);
	cast_run(&cast);
	assert_groups(&cast, 0, 2, 0);
	assert_groups(&cast, 3, 5, 0);
	assert_groups(&cast, 2, 3, 1);
	/* It goes with its lifetime. */
	cast_pass(&cast, HOUR_NS);
	assert_groups(&cast, 2, 3, 0);
	cast_finish(&cast, NULL);
}

static void creator_L03_that_is_dead_takes_its_groups_along(void **state)
{
	struct cast cast;
	scoll_group_t *mine, *other;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	mine = cast_group(&cast, 0, 0, 3);
	other = cast_group(&cast, 1, 0, 3);
	cast_bcast(&cast, 0, mine, "x");
	cast_bcast(&cast, 1, other, "x");
	assert_groups(&cast, 0, 3, 2);
	cast_kill(&cast, 0);
	cast_tell_dead(&cast, 0);
	assert_groups(&cast, 1, 3, 1);
	/* The one of 1 is as good as before, among those who live. */
	cast_send(&cast,
		  cast_request(&cast, 1, other, "y", 1, SCOLL_ALIVE_ONLY, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[1].sum, 2);
	cast_finish(&cast, other);
}

static void reboot_L04_D07_ends_groups_of_earlier_starts_only(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast_bcast(&cast, 0, group, "x");
	cast_kill(&cast, 0);
	cast_start(&cast, 0);
	/* A message of the new start is enough, before discovery says so. */
	group = cast_group(&cast, 0, 0, 3);
	cast_bcast(&cast, 0, group, "y");
	assert_int_equal(cast.members[0].status, 0);
	assert_groups(&cast, 1, 3, 1);
	/* And what discovery says then is about the earlier one. */
	cast_tell_rebooted(&cast, 0);
	assert_groups(&cast, 1, 3, 1);
	cast_bcast(&cast, 0, group, "z");
	assert_int_equal(cast.members[0].status, 0);
	/* Now it is about this one. */
	cast_kill(&cast, 0);
	cast_tell_dead(&cast, 0);
	assert_groups(&cast, 1, 3, 0);
	cast_finish(&cast, NULL);
}

static void member_L05_that_dies_leaves_the_group_as_it_is(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast_bcast(&cast, 0, group, "x");
	cast_tell_dead(&cast, 2);
	assert_groups(&cast, 0, 3, 1);
	cast_tell_rebooted(&cast, 2);
	cast_bcast(&cast, 0, group, "y");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void lifetime_L06_ends_what_nobody_uses(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, HOUR_NS - 1);
	cast_bcast(&cast, 0, group, "y");
	cast_pass(&cast, HOUR_NS - 1);
	assert_groups(&cast, 1, 2, 1);
	cast_pass(&cast, 1);
	assert_groups(&cast, 1, 2, 0);
	/* Its handle stays, and the next but one carries it again. */
	cast_bcast(&cast, 0, group, "z");
	assert_string_equal(cast.members[0].failures, "01:NO_GROUP");
	cast_bcast(&cast, 0, group, "z");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void services_F01_F02_B32_S08_are_many_and_apart(void **state)
{
	struct scoll_service_ops ops = cast_service_ops;
	struct cast cast;
	struct scoll_core *core;

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	core = cast.members[0].core;
	assert_int_equal(scoll_core_service_register(core, CAST_SERVICE, &ops,
						     NULL),
			 -EEXIST);
	assert_int_equal(scoll_core_service_register(core, 0, &ops, NULL),
			 -EINVAL);
	assert_int_equal(scoll_core_service_register(core, 8, &ops, NULL), 0);
	ops.post_reply = NULL;
	assert_int_equal(scoll_core_service_register(core, 9, &ops, NULL),
			 -EINVAL);
	assert_int_equal(scoll_core_service_unregister(core, 8), 0);
	assert_int_equal(scoll_core_service_unregister(core, 8), -ENOENT);
	cast_finish(&cast, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(immediate_G01_G03_F03_tells_when_all_have_it),
		cmocka_unit_test(
			immediate_B14_G01_carries_many_members_as_bulk_data),
		cmocka_unit_test(
			large_group_B30_is_populated_again_before_the_next_request),
		cmocka_unit_test(
			large_group_B30_is_populated_again_around_the_dead),
		cmocka_unit_test(immediate_B33_that_fails_is_taken_back),
		cmocka_unit_test(
			immediate_P01_G03_of_a_dead_member_fails_by_the_callback),
		cmocka_unit_test(delayed_G02_B15_is_carried_until_all_have_it),
		cmocka_unit_test(
			delayed_B15_is_carried_again_when_the_first_has_failed),
		cmocka_unit_test(
			delayed_G04_F05_leaves_less_room_for_the_payload),
		cmocka_unit_test(handle_T06_G18_has_name_private_and_its_tree),
		cmocka_unit_test(id_G13_G14_B25_is_one_group_at_every_member),
		cmocka_unit_test(order_G12_G17_is_what_the_hook_makes_of_it),
		cmocka_unit_test(oob_G05_G06_F04_is_local_and_needs_a_callback),
		cmocka_unit_test(oob_G07_G08_G09_is_asked_for_at_each_message),
		cmocka_unit_test(oob_G10_G11_of_other_members_is_not_passed_on),
		cmocka_unit_test(
			last_L01_ends_the_group_when_the_reply_has_left),
		cmocka_unit_test(last_B16_waits_for_the_earlier_ones),
		cmocka_unit_test(last_B16_waits_for_those_that_wait_themselves),
		cmocka_unit_test(
			last_L01_of_a_root_that_has_not_made_the_group),
		cmocka_unit_test(held_last_B23_can_be_aborted),
		cmocka_unit_test(
			ended_group_B16_is_not_made_again_by_a_late_message),
		cmocka_unit_test(destroy_L02_F14_is_an_empty_last_broadcast),
		cmocka_unit_test(destroy_L02_L06_leaves_out_the_dead),
		cmocka_unit_test(
			creator_L03_that_is_dead_takes_its_groups_along),
		cmocka_unit_test(
			reboot_L04_D07_ends_groups_of_earlier_starts_only),
		cmocka_unit_test(
			member_L05_that_dies_leaves_the_group_as_it_is),
		cmocka_unit_test(lifetime_L06_ends_what_nobody_uses),
		cmocka_unit_test(services_F01_F02_B32_S08_are_many_and_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
