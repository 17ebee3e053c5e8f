/* SPDX-License-Identifier: BSD-3-Clause */
/* How long children are waited for, and what is left after that. */
#include "cast.h"

#include <stdlib.h>

#define P_NS UINT64_C(1000000000)

static void wait_O01_O04_is_depth_and_one_times_r_plus_p_once(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct scoll_core *core;
	uint64_t start_ns;

	/* The document's example: children 4, 2 and 1 of a binomial tree. */
	cast_init(&cast, 8, SCOLL_TREE_BINOMIAL);
	core = cast.members[0].core;
	group = cast_group(&cast, 0, 0, 8);
	cast_rule(&cast, MOVE_SEND, 0, -1, FATE_LOSE, -1);
	start_ns = cast.now_ns;
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, P_NS));
	cast_run(&cast);
	assert_int_equal(scoll_core_deadline_ns(core) - start_ns,
			 CAST_R_NS + P_NS);
	assert_true(cast_pass_deadline(&cast));
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:2(TIMEOUT)");
	assert_int_equal(scoll_core_deadline_ns(core) - start_ns,
			 2 * CAST_R_NS + P_NS);
	assert_true(cast_pass_deadline(&cast));
	cast_run(&cast);
	assert_int_equal(scoll_core_deadline_ns(core) - start_ns,
			 3 * CAST_R_NS + P_NS);
	assert_true(cast_pass_deadline(&cast));
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:2(TIMEOUT) reply:1(TIMEOUT) "
			    "reply:0(TIMEOUT) post");
	assert_int_equal(cast.members[0].sum, 1);
	cast_finish(&cast, group);
}

static void p_O02_T07_is_in_the_header(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	struct wire_message message;
	const struct move *move;

	cast_send(&cast,
		  cast_request(&cast, 0, group, "x", 1, SCOLL_LAST, 12345));
	move = cast_move(&cast, MOVE_SEND, 0, 0);
	assert_int_equal(wire_message_open(move->bytes, move->size, NULL,
					   &message),
			 WIRE_OK);
	assert_int_equal(message.bcast.service_timeout_ns, 12345);
	assert_int_equal(message.bcast.rtt_us, CAST_R_NS / 1000);
	assert_int_equal(message.bcast.service, CAST_SERVICE);
	assert_int_equal(message.bcast.root, cast_nid(0));
	assert_int_equal(message.bcast.sender, cast_nid(0));
	assert_int_equal(message.bcast.tree, SCOLL_TREE_FLAT);
	assert_true(message.bcast.flags & WIRE_LAST);
	assert_true(message.bcast.params_size > 0);
	assert_int_equal(message.bcast.part_size, 64);
	assert_int_equal(message.bcast.part_count, 1);
	cast_finish(&cast, group);
}

static void p_O03_is_lowered_by_a_node_for_those_below(void **state)
{
	static const struct {
		scoll_duration_t set;
		uint64_t used_ns;
	} cases[] = {
		{ 0, 0 },
		{ 5000, 5000 },
		{ (scoll_duration_t)P_NS * 2, P_NS },
		{ -1, P_NS },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cast cast;
		scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
		uint64_t start_ns;

		cast.members[1].timeout = cases[i].set;
		cast_rule(&cast, MOVE_SEND, 1, 2, FATE_LOSE, -1);
		start_ns = cast.now_ns;
		cast_send(&cast,
			  cast_request(&cast, 0, group, "x", 1, 0, P_NS));
		cast_run(&cast);
		assert_int_equal(scoll_core_deadline_ns(cast.members[1].core) -
					 start_ns,
				 CAST_R_NS + cases[i].used_ns);
		cast_pass(&cast, 3 * CAST_R_NS + 3 * P_NS);
		cast_finish(&cast, group);
	}
}

static void timeout_O05_still_leaves_a_reply_that_is_in_time(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 5, CAST_CHAIN);

	cast_rule(&cast, MOVE_SEND, 3, 4, FATE_LOSE, -1);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, P_NS));
	cast_run(&cast);
	while (cast.members[0].status == 0 && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[3].script,
			    "pre request reply:0(TIMEOUT) post out");
	/* Nobody above it has lost anything. */
	assert_string_equal(cast.members[2].script,
			    "pre request reply:0 post out");
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	assert_int_equal(cast.members[0].sum, 4);
	assert_string_equal(cast.members[0].failures, "04:TIMEOUT");
	cast_finish(&cast, group);
}

static void p_O06_does_not_matter_when_discovery_knows(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	uint64_t start_ns;

	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, INT64_MAX));
	cast_run(&cast);
	start_ns = cast.now_ns;
	assert_int_equal(scoll_core_deadline_ns(cast.members[0].core),
			 (uint64_t)INT64_MAX + CAST_R_NS + start_ns);
	cast_tell_dead(&cast, 1);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(PEER_DEAD) post");
	assert_int_equal(cast.now_ns, start_ns);
	cast_tell_rebooted(&cast, 1);
	cast_finish(&cast, group);
}

static void root_O04_S02_ends_in_time_whatever_is_full(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 8, SCOLL_TREE_BINOMIAL);

	cast.members[0].is_full = true;
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, P_NS));
	cast_run(&cast);
	cast_pass(&cast, 3 * CAST_R_NS + P_NS);
	assert_true(strstr(cast.members[0].script, "post") != NULL);
	assert_int_equal(cast.members[0].status, -EREMOTEIO);
	assert_int_equal(cast.sends, 0);
	cast.members[0].is_full = false;
	cast_finish(&cast, group);
}

static void bulk_B20_O01_adds_its_time_for_each_level(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *request;
	size_t size = 10 << 20;
	struct iovec iov = { malloc(size), size };
	uint64_t level_ns = CAST_R_NS + size * 10, start_ns;

	cast_init(&cast, 3, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 3);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	request = cast_bulk_request(&cast, 0, group, &iov, 1);
	start_ns = cast.now_ns;
	cast_send(&cast, request);
	cast_run(&cast);
	assert_int_equal(scoll_core_deadline_ns(cast.members[0].core) -
				 start_ns,
			 2 * level_ns);
	assert_true(cast_pass_deadline(&cast));
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(TIMEOUT) post");
	free(iov.iov_base);
	cast_finish(&cast, group);
}

static void bulk_B20_O01_has_time_for_all_who_share_a_link(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	size_t size = 10 << 20;
	struct iovec iov = { malloc(size), size };
	uint64_t start_ns;

	cast_init(&cast, 5, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 5);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	start_ns = cast.now_ns;
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	assert_int_equal(scoll_core_deadline_ns(cast.members[0].core) -
				 start_ns,
			 CAST_R_NS + 4 * size * 10);
	assert_true(cast_pass_deadline(&cast));
	cast_run(&cast);
	free(iov.iov_base);
	cast_finish(&cast, group);
}

static void late_reply_B21_M03_meets_no_buffer(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(TIMEOUT) post");
	/* It did run there. */
	assert_int_equal(cast.members[1].request_count, 1);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_int_equal(cast.lost_replies, 1);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void silent_service_O05_E04_only_costs_its_parent_a_timeout(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	scoll_request_t *pending;

	cast.members[2].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	pending = cast.members[2].request;
	while (cast.members[0].failures[0] == '\0' && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "02:TIMEOUT");
	/* Its handle is as good as ever. */
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "x", 1), 0);
	cast_run(&cast);
	assert_string_equal(cast.members[2].script, "pre request post out");
	cast_finish(&cast, group);
}

/* --- abort --- */

static void abort_B23_F12_of_the_root_goes_down_the_tree(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, CAST_CHAIN);
	scoll_request_t *request;

	for (int i = 1; i < 4; i++)
		cast.members[i].keeps_quiet = true;
	request = cast_request(&cast, 0, group, "x", 1, 0, P_NS);
	cast_send(&cast, request);
	cast_run(&cast);
	assert_string_equal(cast.members[3].script, "pre request post");
	scoll_core_bcast_abort(request, cast.now_ns);
	assert_string_equal(cast.members[0].script, "request");
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(ABORTED) post");
	assert_int_equal(cast.members[0].reply.srp_status, -ECANCELED);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(ABORTED) post out");
	assert_string_equal(cast.members[3].script, "pre request post out");
	assert_string_equal(cast.members[0].failures,
			    "01:ABORTED 02:ABORTED 03:ABORTED");
	cast_finish(&cast, group);
}

static void abort_inside(struct member *member, scoll_request_t *request)
{
	scoll_core_bcast_abort(request, member->cast->now_ns);
}

static void abort_B23_may_come_from_any_callback(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[1].on_pre = abort_inside;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(ABORTED) post out");
	assert_string_equal(cast.members[2].script, "");
	assert_string_equal(cast.members[0].failures, "02:ABORTED");
	cast_script_clear(&cast);
	cast.members[1].on_pre = NULL;
	cast.members[1].on_post = abort_inside;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0 post out");
	assert_int_equal(cast.members[0].status, 0);
	cast.members[1].on_post = NULL;
	cast.members[0].on_request = abort_inside;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].failures, "01:ABORTED 02:ABORTED");
	cast.members[0].on_request = NULL;
	cast_finish(&cast, group);
}

static void abort_B23_that_overtakes_its_request_finds_it(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	scoll_request_t *request;

	cast_bcast(&cast, 0, group, "x");
	cast_script_clear(&cast);
	request = cast_request(&cast, 0, group, "y", 1, 0, P_NS);
	cast_send(&cast, request);
	scoll_core_bcast_abort(request, cast.now_ns);
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 0, 1), FATE_PASS);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(ABORTED) post out");
	assert_string_equal(cast.members[2].script, "");
	cast_finish(&cast, group);
}

static void stop_E07_ends_what_a_core_has_and_answers_what_comes(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	struct scoll_core *core;

	core = cast.members[1].core;
	cast.members[1].keeps_quiet = true;
	cast_rule(&cast, MOVE_REPLY, 2, 1, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	assert_false(scoll_core_is_idle(core));
	scoll_core_stop(core, cast.now_ns);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(ABORTED) post out");
	assert_int_equal(cast.members[0].reply.srp_status, -ESHUTDOWN);
	cast_bcast(&cast, 0, group, "y");
	assert_string_equal(cast.members[0].failures, "01:ABORTED 02:ABORTED");
	assert_true(scoll_core_is_idle(core));
	cast_finish(&cast, group);
}

/* As bulk data of that size over so slow a network would. */
static void take_for_ever(struct member *member, scoll_request_t *request)
{
	bcast_of(request)->bulk_ns = DEADLINE_NONE / 2;
}

static void reports_E06_O04_without_a_deadline_are_not_late(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	/* 1 has twenty children; 17 failures fit beside a seal. */
	cast_init_sealed(&cast, 42, SCOLL_TREE_KARY(20));
	group = cast_group(&cast, 0, 0, 42);
	cast_rule(&cast, MOVE_SEND, 1, -1, FATE_LOSE, -1);
	cast.members[1].on_post = take_for_ever;
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS);
	/* Until the root says that it wants them. */
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_HOLD, -1);
	cast_run(&cast);
	cast_pass(&cast, 1);
	cast.rule_count = 1;
	cast_run(&cast);
	assert_non_null(strstr(cast.members[0].failures, "21:TIMEOUT "));
	assert_non_null(strstr(cast.members[0].failures, "40:TIMEOUT"));
	assert_null(strstr(cast.members[0].failures, "01:"));
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			wait_O01_O04_is_depth_and_one_times_r_plus_p_once),
		cmocka_unit_test(p_O02_T07_is_in_the_header),
		cmocka_unit_test(p_O03_is_lowered_by_a_node_for_those_below),
		cmocka_unit_test(
			timeout_O05_still_leaves_a_reply_that_is_in_time),
		cmocka_unit_test(p_O06_does_not_matter_when_discovery_knows),
		cmocka_unit_test(root_O04_S02_ends_in_time_whatever_is_full),
		cmocka_unit_test(bulk_B20_O01_adds_its_time_for_each_level),
		cmocka_unit_test(
			bulk_B20_O01_has_time_for_all_who_share_a_link),
		cmocka_unit_test(late_reply_B21_M03_meets_no_buffer),
		cmocka_unit_test(
			silent_service_O05_E04_only_costs_its_parent_a_timeout),
		cmocka_unit_test(abort_B23_F12_of_the_root_goes_down_the_tree),
		cmocka_unit_test(abort_B23_may_come_from_any_callback),
		cmocka_unit_test(abort_B23_that_overtakes_its_request_finds_it),
		cmocka_unit_test(
			stop_E07_ends_what_a_core_has_and_answers_what_comes),
		cmocka_unit_test(
			reports_E06_O04_without_a_deadline_are_not_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
