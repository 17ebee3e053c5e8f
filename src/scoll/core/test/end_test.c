/* SPDX-License-Identifier: BSD-3-Clause */
/* How groups end. */
#include "cast.h"

#define HOUR_NS UINT64_C(3600000000000)

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

static void last_L01_ends_the_group_when_the_reply_has_left(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);
	scoll_request_t *request;

	cast_bcast(&cast, 0, group, "x");
	cast_rule(&cast, MOVE_REPLY, 2, 0, FATE_HOLD, -1);
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, SCOLL_LAST, 0));
	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, "z", 1, NULL,
					      0, 0, 0, NULL, &request),
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
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);
	scoll_request_t *made;

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
	assert_int_equal(cast_group_large(&cast, 0, 0, 16, true), 0);
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
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);
	scoll_request_t *pending;

	cast.members[1].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	pending = cast.members[1].request;
	cast.members[1].keeps_quiet = false;
	cast_send(&cast, cast_request(&cast, 1, scoll_request_group(pending),
				      "y", 1, SCOLL_LAST, 0));
	cast_run(&cast);
	assert_int_equal(cast.members[1].sum, 3);
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "x", 1), 0);
	cast_run(&cast);
	assert_groups(&cast, 1, 3, 0);
	/* Its maker has its handle, and is notified. */
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
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	scoll_request_t *last;

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
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);
	struct move *late;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

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
	scoll_group_t *group = cast_init_group(&cast, 4, CAST_CHAIN);
	struct wire_message message;
	const struct move *move;

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
	/* Never sent: no node needs a notice. */
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
	scoll_group_t *group = cast_init_group(&cast, 5, CAST_CHAIN);

	cast_bcast(&cast, 0, group, "x");
	given_set(cast.members[0].given, cast_nid(2), SCOLL_DEAD);
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
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);

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
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);

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
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

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
