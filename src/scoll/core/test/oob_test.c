/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups that the service knows, and the library asks for. */
#include "cast.h"

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
	assert_string_equal(scoll_group_name(group), "fid");
	assert_ptr_equal(scoll_group_private(group), &cast);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oob_G05_G06_F04_is_local_and_needs_a_callback),
		cmocka_unit_test(oob_G07_G08_G09_is_asked_for_at_each_message),
		cmocka_unit_test(oob_G10_G11_of_other_members_is_not_passed_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
