/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong with a request, who hears of it, and what is done next. */
#include "cast.h"
#include "scoll/core/test/fail.h"

#include <stdlib.h>

static void unserve(struct cast *cast, int index)
{
	assert_int_equal(scoll_core_service_unregister(
				 cast->members[index].core, CAST_SERVICE),
			 0);
}

/* --- E-01: before pre_request --- */

static void unknown_service_E01_is_reported_to_the_parent_alone(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, CAST_CHAIN);

	unserve(&cast, 2);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(NO_SERVICE) post out");
	assert_int_equal(cast.members[1].reply.srp_status, -ENOENT);
	assert_int_equal(cast.members[1].reply.srp_nodes_lost, 2);
	assert_string_equal(cast.members[2].script, "");
	assert_string_equal(cast.members[3].script, "");
	assert_int_equal(cast.members[0].status, -EREMOTEIO);
	assert_string_equal(cast.members[0].failures,
			    "02:NO_SERVICE 03:NO_SERVICE");
	cast_finish(&cast, group);
}

static void tree_change(struct wire_bcast *wire)
{
	wire->tree = SCOLL_TREE_FLAT;
}

static void wrong_parent_E01_P05_is_refused(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, CAST_CHAIN);

	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	/* In a flat tree the parent of 2 is 0, not 1. */
	cast_rewrite(cast_move(&cast, MOVE_SEND, 1, 0), tree_change);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(NOT_PARENT) post out");
	assert_string_equal(cast.members[2].script, "");
	assert_string_equal(cast.members[0].failures,
			    "02:NOT_PARENT 03:NOT_PARENT");
	cast_finish(&cast, group);
}

static void checks_P05_come_in_order_group_parent_service(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast_bcast(&cast, 0, group, "x");
	unserve(&cast, 2);
	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_rewrite(cast_move(&cast, MOVE_SEND, 1, 0), tree_change);
	cast_rules_clear(&cast);
	cast_run(&cast);
	/* Not the parent and no service: the parent is looked at first. */
	assert_string_equal(cast.members[0].failures, "02:NOT_PARENT");
	cast_kill(&cast, 2);
	cast_start(&cast, 2);
	unserve(&cast, 2);
	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_rewrite(cast_move(&cast, MOVE_SEND, 1, 0), tree_change);
	cast_rules_clear(&cast);
	cast_run(&cast);
	/* Not even the group. */
	assert_string_equal(cast.members[0].failures, "02:NO_GROUP");
	cast_finish(&cast, group);
}

static void other_version_E01_is_answered(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	struct move *move;

	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	move = cast_move(&cast, MOVE_SEND, 0, 0);
	move->bytes[2] = SCOLL_PROTOCOL_VERSION + 1;
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(PROTO_VERSION) post");
	assert_string_equal(cast.members[1].script, "");
	cast_finish(&cast, group);
}

static void forgotten_group_E01_B30_is_reported_and_carried_again(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);

	cast_bcast(&cast, 0, group, "x");
	cast_kill(&cast, 1);
	cast_start(&cast, 1);
	cast_bcast(&cast, 0, group, "y");
	assert_string_equal(cast.members[0].failures, "01:NO_GROUP");
	assert_string_equal(cast.members[1].script, "");
	cast_bcast(&cast, 0, group, "z");
	assert_int_equal(cast.members[0].status, 0);
	assert_string_equal(cast.members[1].script, "pre request post out");
	cast_finish(&cast, group);
}

static void member_E01_without_memory_says_so(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	/* For the request; then there is some for the answer. */
	scoll_core_fail_at(cast.members[1].core, 1);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(NOMEM) post");
	assert_int_equal(cast.members[0].reply.srp_status, -ENOMEM);
	assert_string_equal(cast.members[1].script, "");
	cast_finish(&cast, group);
}

static void limit_E01_of_requests_is_answered(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast.members[1].core->bcast_count += BCASTS_MAX;
	cast_bcast(&cast, 0, group, "x");
	cast.members[1].core->bcast_count -= BCASTS_MAX;
	assert_string_equal(cast.members[0].failures, "01:NOMEM");
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

/* --- E-02: pre_request refuses --- */

static void refusal_E02_ends_it_there(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, CAST_CHAIN);

	cast.members[2].pre_result = -EACCES;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(PRE_REQUEST) post out");
	assert_int_equal(cast.members[1].reply.srp_status, -EACCES);
	assert_int_equal(cast.members[1].reply.srp_entities_lost, 2);
	assert_string_equal(cast.members[2].script, "pre");
	assert_string_equal(cast.members[3].script, "");
	assert_string_equal(cast.members[0].failures,
			    "02:PRE_REQUEST 03:PRE_REQUEST");
	cast_finish(&cast, group);
}

static void missing_buffer_E02_B36_is_a_refusal(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[1].posts_nothing = true;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(PRE_REQUEST) post");
	assert_int_equal(cast.members[0].reply.srp_status, -EINVAL);
	/* It had accepted it, and can let go of what it has for it. */
	assert_string_equal(cast.members[1].script, "pre out");
	assert_string_equal(cast.members[2].script, "");
	cast_finish(&cast, group);
}

/* --- E-03: after it --- */

static void failed_child_E03_leaves_the_others(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_SEND, 0, 2, FATE_FAIL, -1);
	cast_bcast(&cast, 0, group, "x");
	while (cast_pass_deadline(&cast) && cast.members[0].status == 0)
		cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0 reply:2 reply:1(NET_SEND) post");
	assert_int_equal(cast.members[0].reply.srp_src, cast_nid(2));
	assert_int_equal(cast.members[0].sum, 3);
	assert_string_equal(cast.members[0].failures, "02:NET_SEND");
	cast_finish(&cast, group);
}

static void failed_request_E03_P08_T05_is_reported_by_the_library(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[1].request_result = -EDOM;
	cast_bcast(&cast, 0, group, "x");
	/* What is below it has run, and is not lost. */
	assert_string_equal(cast.members[2].script, "pre request post out");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0 post out");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(REQUEST) post");
	assert_int_equal(cast.members[0].reply.srp_status, -EDOM);
	assert_string_equal(cast.members[0].failures, "01:REQUEST+");
	cast_finish(&cast, group);
}

static void root_E03_that_fails_itself_knows_it(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast.members[0].request_result = -EDOM;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	assert_string_equal(cast.members[0].failures, "00:REQUEST+");
	assert_int_equal(cast.members[0].status, -EREMOTEIO);
	cast_finish(&cast, group);
}

static void reply_too_large(struct member *member, scoll_request_t *request)
{
	static const uint8_t bytes[100];

	assert_int_equal(scoll_core_reply(request, member->cast->now_ns, bytes,
					  sizeof(bytes)),
			 -EMSGSIZE);
	assert_int_equal(scoll_core_reply(request, member->cast->now_ns, bytes,
					  1),
			 -EALREADY);
	member->keeps_quiet = true;
}

static void large_reply_B36_E03_is_an_error_without_data(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[1].on_post = reply_too_large;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(REPLY_SIZE) post");
	assert_int_equal(cast.members[0].reply.srp_status, -EMSGSIZE);
	assert_int_equal(cast.members[0].reply.srp_len, 0);
	assert_string_equal(cast.members[0].failures, "01:REPLY_SIZE+");
	cast_finish(&cast, group);
}

/* --- E-04: three detectors --- */

static void local_failure_E04_is_tried_again(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_FAIL, ACTION_TRIES - 1);
	cast_bcast(&cast, 0, group, "x");
	for (int i = 1; i < ACTION_TRIES; i++) {
		assert_int_equal(cast.sends, i);
		cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
		cast_run(&cast);
	}
	assert_int_equal(cast.members[0].status, 0);
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	cast_finish(&cast, group);
}

static void refused_call_E04_is_a_local_failure_too(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast.members[0].refusal = -EIO;
	cast_bcast(&cast, 0, group, "x");
	while (cast.members[0].status == 0 && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(NET_SEND) post");
	assert_int_equal(cast.members[0].reply.srp_status, -EIO);
	assert_true(cast.now_ns < CAST_R_NS);
	cast.members[0].refusal = 0;
	cast_finish(&cast, group);
}

/* The transport has tried by itself, for longer than R. */
static void absent_node_E04_is_not_tried_again(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	uint64_t before_ns;

	cast.members[0].refusal = -EHOSTUNREACH;
	before_ns = cast.now_ns;
	cast_bcast(&cast, 0, group, "x");
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(NET_SEND) post");
	assert_int_equal(cast.members[0].reply.srp_status, -EHOSTUNREACH);
	assert_int_equal(cast.now_ns, before_ns);
	cast.members[0].refusal = 0;
	cast_finish(&cast, group);
}

static void denied_send_E04_S02_runs_once_all_the_same(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[1].keeps_quiet = true;
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_DENY, 2);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 1000000000));
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 1);
	assert_int_equal(cast.members[1].core->stats.messages_refused, 2);
	assert_int_equal(scoll_core_reply(cast.members[1].request, cast.now_ns,
					  "x", 1),
			 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast.members[1].keeps_quiet = false;
	cast_finish(&cast, group);
}

static void silence_E04_O05_is_a_timeout(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS - 1);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:0");
	cast_pass(&cast, 1);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0 reply:1(TIMEOUT) post");
	assert_int_equal(cast.members[0].reply.srp_status, -ETIMEDOUT);
	cast_finish(&cast, group);
}

/* --- E-05, E-06 --- */

static void reply_E05_that_cannot_be_sent_is_given_up(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_FAIL, -1);
	cast_bcast(&cast, 0, group, "x");
	while (cast.members[0].status == 0 && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[1].script, "pre request post out");
	assert_string_equal(cast.members[0].failures, "01:TIMEOUT");
	cast_finish(&cast, group);
}

static void subtree_E06_B19_that_is_not_reached_is_counted(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 16, SCOLL_TREE_BINOMIAL);

	cast_rule(&cast, MOVE_SEND, 8, 12, FATE_FAIL, -1);
	cast_bcast(&cast, 0, group, "x");
	while (cast.members[0].status == 0 && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[8].script,
			    "pre request reply:2 reply:1 reply:0(NET_SEND) "
			    "post out");
	assert_int_equal(cast.members[8].reply.srp_nodes_lost, 4);
	assert_int_equal(cast.members[8].reply.srp_entities_lost, 4);
	assert_int_equal(cast.members[0].sum, 12);
	assert_string_equal(cast.members[0].failures,
			    "12:NET_SEND 13:NET_SEND 14:NET_SEND 15:NET_SEND");
	cast_finish(&cast, group);
}

/* --- E-07, E-08 --- */

static void service_E07_stops_in_three_steps(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	scoll_request_t *active;

	cast_rule(&cast, MOVE_REPLY, 2, 1, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script, "pre request");
	active = cast.members[1].request;
	/* New ones are refused. */
	cast.members[1].pre_result = -ESHUTDOWN;
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, 0, 0));
	cast_run(&cast);
	assert_string_equal(cast.members[0].failures,
			    "01:PRE_REQUEST 02:PRE_REQUEST");
	/* The active one is aborted; its buffers wait for its callbacks. */
	scoll_core_bcast_abort(active, cast.now_ns);
	assert_string_equal(cast.members[1].script, "pre request pre");
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request pre reply:0(ABORTED) post out");
	assert_string_equal(cast.members[0].failures, "02:ABORTED");
	cast.members[1].pre_result = 0;
	cast_finish(&cast, group);
}

static void versions_E08_are_the_services_while_the_request_goes_on(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;

	/* 1 does not know this version: it fails, its child is asked. */
	cast_init(&cast, 3, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 3);
	cast.members[1].request_result = -EPROTONOSUPPORT;
	cast_bcast(&cast, 0, group, "version 2");
	assert_int_equal(cast.members[2].request_count, 1);
	assert_int_equal(cast.members[0].reply.srp_status, -EPROTONOSUPPORT);
	assert_string_equal(cast.members[0].failures, "01:REQUEST+");
	cast.members[1].request_result = 0;
	cast_bcast(&cast, 0, group, "version 1");
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 3);
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			unknown_service_E01_is_reported_to_the_parent_alone),
		cmocka_unit_test(wrong_parent_E01_P05_is_refused),
		cmocka_unit_test(checks_P05_come_in_order_group_parent_service),
		cmocka_unit_test(other_version_E01_is_answered),
		cmocka_unit_test(
			forgotten_group_E01_B30_is_reported_and_carried_again),
		cmocka_unit_test(member_E01_without_memory_says_so),
		cmocka_unit_test(limit_E01_of_requests_is_answered),
		cmocka_unit_test(refusal_E02_ends_it_there),
		cmocka_unit_test(missing_buffer_E02_B36_is_a_refusal),
		cmocka_unit_test(failed_child_E03_leaves_the_others),
		cmocka_unit_test(
			failed_request_E03_P08_T05_is_reported_by_the_library),
		cmocka_unit_test(root_E03_that_fails_itself_knows_it),
		cmocka_unit_test(large_reply_B36_E03_is_an_error_without_data),
		cmocka_unit_test(local_failure_E04_is_tried_again),
		cmocka_unit_test(refused_call_E04_is_a_local_failure_too),
		cmocka_unit_test(absent_node_E04_is_not_tried_again),
		cmocka_unit_test(denied_send_E04_S02_runs_once_all_the_same),
		cmocka_unit_test(silence_E04_O05_is_a_timeout),
		cmocka_unit_test(reply_E05_that_cannot_be_sent_is_given_up),
		cmocka_unit_test(
			subtree_E06_B19_that_is_not_reached_is_counted),
		cmocka_unit_test(service_E07_stops_in_three_steps),
		cmocka_unit_test(
			versions_E08_are_the_services_while_the_request_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
