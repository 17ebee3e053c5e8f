/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies: when they come, in how many parts, and whose buffers are whose. */
#include "cast.h"

static void buffers_M03_F09_take_the_reply_of_one_child_only(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);
	scoll_request_t *request;
	uint64_t tags[3];
	uint8_t byte;

	request = cast_request(&cast, 0, group, "x", 1, 0, 0);
	assert_int_equal(scoll_core_reply_buffer_post(3, &byte, 1, request,
						      NULL),
			 -EINVAL);
	assert_int_equal(scoll_core_reply_buffer_post(-1, &byte, 1, request,
						      NULL),
			 -EINVAL);
	cast_send(&cast, request);
	assert_int_equal(scoll_core_reply_buffer_post(0, &byte, 1, request,
						      NULL),
			 -EINVAL);
	for (int i = 0; i < 3; i++) {
		tags[i] = cast_move(&cast, MOVE_POST, 0, i)->tag;
		assert_int_equal(tags[i] & 4095, 0);
		for (int k = 0; k < i; k++)
			assert_int_not_equal(tags[i], tags[k]);
	}
	cast_run(&cast);
	assert_int_equal(cast.lost_replies, 0);
	/* The next request has other tags. */
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	for (int i = 0; i < 3; i++)
		for (int k = 0; k < 3; k++)
			assert_int_not_equal(
				cast_move(&cast, MOVE_POST, 0, i)->tag,
				tags[k]);
	cast_finish(&cast, group);
}

static void buffers_M05_may_be_larger_than_the_reply(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	cast.members[0].buffer_len = 5000;
	group = cast_group(&cast, 0, 0, 2);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].reply.srp_len, 4);
	assert_int_equal(cast.members[0].sum, 2);
	cast_finish(&cast, group);
}

static void on_reply_spoil(struct member *member, scoll_reply_t *reply)
{
	/*
	 * The address sanitizer would tell of a buffer that is written later.
	 */
	memset(reply->srp_buf, 0xee, member->buffer_len);
}

static void buffers_M07_are_free_at_incoming_reply(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	cast.members[0].buffer_count = 3;
	cast.members[0].on_reply = on_reply_spoil;
	group = cast_group(&cast, 0, 0, 3);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script, "request reply:0");
	/* The two that were not used were taken back before. */
	assert_int_equal(cast_move_count(&cast, MOVE_POST, 0), 3);
	assert_int_equal(cast.members[0].cancels, 2);
	cast_pass(&cast, CAST_R_NS);
	assert_string_equal(cast.members[0].script, "request reply:0");
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0 reply:1(TIMEOUT) post");
	assert_int_equal(cast_move_count(&cast, MOVE_POST, 0), 0);
	cast_finish(&cast, group);
}

static void reply_P11_before_the_request_returns_is_reported_after_it(
	void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	struct core_callback callback;

	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	assert_true(scoll_core_callback_take(cast.members[0].core, &callback));
	assert_int_equal(callback.kind, CORE_CALLBACK_INCOMING_REQUEST);
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 0, 0), FATE_PASS);
	for (int i = 0; i < 3; i++) {
		struct core_callback other;

		assert_true(
			scoll_core_callback_take(cast.members[1].core, &other));
		scoll_core_callback_done(cast.members[1].core, cast.now_ns,
					 &other, core_callback_call(&other));
	}
	cast_carry(&cast, cast_move(&cast, MOVE_REPLY, 1, 0), FATE_PASS);
	scoll_core_callback_done(cast.members[0].core, cast.now_ns, &callback,
				 core_callback_call(&callback));
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	cast_finish(&cast, group);
}

static void service_P11_may_have_no_incoming_reply_T03_status_remains(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct scoll_service_ops ops = cast_service_ops;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	ops.incoming_reply = NULL;
	assert_int_equal(scoll_core_service_unregister(cast.members[0].core,
						       CAST_SERVICE),
			 0);
	assert_int_equal(scoll_core_service_register(cast.members[0].core,
						     CAST_SERVICE, &ops,
						     &cast.members[0]),
			 0);
	group = cast_group(&cast, 0, 0, 3);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request post");
	assert_string_equal(cast.members[0].failures, "01:TIMEOUT");
	cast_finish(&cast, group);
}

static void reply_P13_B10_may_be_given_long_after_post_reply(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	scoll_request_t *request;

	cast.members[1].keeps_quiet = true;
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 1000000000));
	cast_run(&cast);
	assert_string_equal(cast.members[1].script, "pre request post");
	request = cast.members[1].request;
	assert_null(cast_move(&cast, MOVE_REPLY, 1, 0));
	assert_int_equal(scoll_core_reply(request, cast.now_ns, "late", 4), 0);
	assert_int_equal(scoll_core_reply(request, cast.now_ns, "more", 4),
			 -EALREADY);
	assert_string_equal(cast.members[1].script, "pre request post");
	cast_run(&cast);
	assert_string_equal(cast.members[1].script, "pre request post out");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void reply_early(struct member *member, scoll_request_t *request)
{
	assert_int_equal(
		scoll_core_reply(request, member->cast->now_ns, "now!", 4), 0);
	member->keeps_quiet = true;
}

static void reply_P10_given_in_incoming_request_waits_for_the_children(
	void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[1].on_request = reply_early;
	cast_rule(&cast, MOVE_REPLY, 2, 1, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script, "pre request");
	assert_null(cast_move(&cast, MOVE_REPLY, 1, 0));
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0 post out");
	cast_finish(&cast, group);
}

static void reply_parts(struct member *member, scoll_request_t *request)
{
	struct cast *cast = member->cast;

	assert_int_equal(
		scoll_core_reply_part(request, cast->now_ns, "part 0", 6), 0);
	assert_int_equal(
		scoll_core_reply_part(request, cast->now_ns, "part 1", 6), 0);
	assert_int_equal(scoll_core_reply_part(request, cast->now_ns, "part 2",
					       6),
			 -E2BIG);
	assert_int_equal(scoll_core_reply_part(request, cast->now_ns,
					       member->payload, 65),
			 -EMSGSIZE);
}

static void reply_P18_T08_comes_in_parts_each_as_soon_as_it_is_ready(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;
	char late;

	cast_init(&cast, 3, CAST_CHAIN);
	cast.members[0].buffer_count = 3;
	group = cast_group(&cast, 0, 0, 3);
	cast.members[1].on_request = reply_parts;
	cast_rule(&cast, MOVE_REPLY, 2, 1, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	/* Two are there, and its own child has not even replied. */
	assert_string_equal(cast.members[0].script,
			    "request part:0.0 part:0.1");
	assert_int_equal(cast.members[0].reply.srp_len, 6);
	assert_memory_equal(cast.members[0].reply.srp_buf, "part 1", 6);
	/* It is too late for more room. */
	assert_int_equal(scoll_core_reply_buffer_post(
				 0, &late, 1, cast.members[0].reply.srp_request,
				 NULL),
			 -EINVAL);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request part:0.0 part:0.1 reply:0 post");
	assert_int_equal(cast.members[0].reply.srp_part, 2);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0 post out");
	cast_finish(&cast, group);
}

static void parts_P18_S04_are_delivered_in_order_however_they_arrive(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	cast.members[0].buffer_count = 3;
	group = cast_group(&cast, 0, 0, 2);
	cast.members[1].on_request = reply_parts;
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast_move_count(&cast, MOVE_REPLY, 1), 3);
	cast_carry(&cast, cast_move(&cast, MOVE_REPLY, 1, 2), FATE_PASS);
	cast_carry(&cast, cast_move(&cast, MOVE_REPLY, 1, 1), FATE_PASS);
	cast_callbacks(&cast);
	assert_string_equal(cast.members[0].script, "request");
	cast_carry(&cast, cast_move(&cast, MOVE_REPLY, 1, 0), FATE_PASS);
	cast_callbacks(&cast);
	assert_string_equal(cast.members[0].script,
			    "request part:0.0 part:0.1 reply:0 post");
	cast_finish(&cast, group);
}

#define LOST_PARTS 3

static void give_parts(struct member *member, scoll_request_t *request)
{
	for (int i = 0; i < LOST_PARTS; i++)
		assert_int_equal(scoll_core_reply_part(request,
						       member->cast->now_ns,
						       "part", 4),
				 0);
	member->keeps_quiet = true;
}

/* They are lost while the node below is still awaited. */
static void lost_parts_P18_E06_are_one_failure(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint64_t begun_ns;

	cast_init(&cast, 3, CAST_CHAIN);
	cast.members[0].buffer_count = LOST_PARTS + 1;
	cast.members[1].on_request = give_parts;
	group = cast_group(&cast, 0, 0, 3);
	cast_rule(&cast, MOVE_REPLY, 2, 1, FATE_HOLD, -1);
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_FAIL,
		  LOST_PARTS * ACTION_TRIES);
	begun_ns = cast.now_ns;
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 30000000000));
	for (int i = 0; i < ACTION_TRIES; i++) {
		cast_run(&cast);
		cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	}
	cast_rules_clear(&cast);
	cast_settle(&cast);
	assert_string_equal(cast.members[0].failures, "01:NET_SEND+");
	assert_in_range(cast.now_ns - begun_ns, 0, CAST_R_NS);
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			reply_P11_before_the_request_returns_is_reported_after_it),
		cmocka_unit_test(
			service_P11_may_have_no_incoming_reply_T03_status_remains),
		cmocka_unit_test(
			reply_P13_B10_may_be_given_long_after_post_reply),
		cmocka_unit_test(
			reply_P10_given_in_incoming_request_waits_for_the_children),
		cmocka_unit_test(
			reply_P18_T08_comes_in_parts_each_as_soon_as_it_is_ready),
		cmocka_unit_test(
			parts_P18_S04_are_delivered_in_order_however_they_arrive),
		cmocka_unit_test(
			buffers_M03_F09_take_the_reply_of_one_child_only),
		cmocka_unit_test(buffers_M05_may_be_larger_than_the_reply),
		cmocka_unit_test(buffers_M07_are_free_at_incoming_reply),
		cmocka_unit_test(lost_parts_P18_E06_are_one_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
