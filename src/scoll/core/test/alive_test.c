/* SPDX-License-Identifier: BSD-3-Clause */
/* What discovery says, before a request and while it is under way. */
#include "cast.h"

static void death_E04_D02_is_reported_at_once(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, CAST_CHAIN);
	uint64_t start_ns;

	cast.members[2].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	start_ns = cast.now_ns;
	cast_kill(&cast, 2);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script, "pre request");
	cast_tell_dead(&cast, 2);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(PEER_DEAD) post out");
	assert_int_equal(cast.now_ns, start_ns);
	/* 3 has run, but nobody can say so. */
	assert_string_equal(cast.members[0].failures,
			    "02:PEER_DEAD 03:PEER_DEAD");
	cast_finish(&cast, group);
}

static void reboot_E04_T03_is_reported_as_one(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);

	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_kill(&cast, 1);
	cast_start(&cast, 1);
	cast_tell_rebooted(&cast, 1);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:0(PEER_REBOOT) post");
	cast_finish(&cast, group);
}

static void orphan_E05_B37_finishes_and_drops_its_reply(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast.members[2].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	cast_kill(&cast, 1);
	cast_tell_dead(&cast, 1);
	assert_int_equal(scoll_core_reply(cast.members[2].request, cast.now_ns,
					  "x", 1),
			 0);
	cast_run(&cast);
	assert_string_equal(cast.members[2].script, "pre request post out");
	assert_int_equal(cast.lost_replies, 1);
	assert_string_equal(cast.members[0].failures,
			    "01:PEER_DEAD 02:PEER_DEAD");
	cast_finish(&cast, group);
}

static void dead_member_P01_B26_stops_it_before_any_message(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);
	scoll_request_t *request;

	request = cast_request(&cast, 0, group, "x", 1, 0, 0);
	cast_kill(&cast, 2);
	cast_tell_dead(&cast, 2);
	assert_int_equal(scoll_core_bcast_send(request, cast.now_ns),
			 -EHOSTDOWN);
	assert_int_equal(cast.sends, 0);
	cast_request_free(&cast, request);
	request = cast_request(&cast, 0, group, "x", 1, SCOLL_ALIVE_ONLY, 0);
	assert_int_equal(scoll_request_nchildren(request), 2);
	cast_send(&cast, request);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 3);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void living_B39_are_those_of_the_making_or_it_is_made_again(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);
	scoll_request_t *request;

	request = cast_request(&cast, 0, group, "x", 1, SCOLL_ALIVE_ONLY, 0);
	given_set(cast.members[0].given, cast_nid(2), SCOLL_DEAD);
	assert_int_equal(scoll_core_bcast_send(request, cast.now_ns), -EAGAIN);
	given_set(cast.members[0].given, cast_nid(2), SCOLL_ALIVE);
	cast_send(&cast, request);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 4);
	for (int i = 0; i < 4; i++)
		given_set(cast.members[0].given, cast_nid(i), SCOLL_DEAD);
	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, "x", 1, NULL,
					      0, SCOLL_ALIVE_ONLY, 0, NULL,
					      &request),
			 -EHOSTDOWN);
	for (int i = 0; i < 4; i++)
		given_set(cast.members[0].given, cast_nid(i), SCOLL_ALIVE);
	cast_finish(&cast, group);
}

static void views_B27_that_differ_are_waited_for_a_little(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);

	cast_bcast(&cast, 0, group, "x");
	cast_script_clear(&cast);
	given_set(cast.members[0].given, cast_nid(3), SCOLL_DEAD);
	given_set(cast.members[1].given, cast_nid(3), SCOLL_DEAD);
	/* 2 does not know of it; then it does. */
	cast_send(&cast,
		  cast_request(&cast, 0, group, "x", 1, SCOLL_ALIVE_ONLY, 0));
	cast_run(&cast);
	assert_string_equal(cast.members[2].script, "");
	assert_string_equal(cast.members[0].script, "request reply:1");
	given_set(cast.members[2].given, cast_nid(3), SCOLL_DEAD);
	cast_pass(&cast, 1);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script,
			    "request reply:1 reply:0 post");
	assert_int_equal(cast.members[0].status, 0);
	/* And if it does not, that is an error at the root. */
	given_set(cast.members[2].given, cast_nid(3), SCOLL_ALIVE);
	cast_send(&cast,
		  cast_request(&cast, 0, group, "x", 1, SCOLL_ALIVE_ONLY, 0));
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS / 2);
	cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "02:DIGEST");
	assert_int_equal(cast.members[0].reply.srp_status, -EAGAIN);
	for (int i = 0; i < 3; i++)
		given_set(cast.members[i].given, cast_nid(3), SCOLL_ALIVE);
	cast_finish(&cast, group);
}

static void child_B26_that_is_dead_to_its_parent_fails_at_once(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	given_set(cast.members[1].given, cast_nid(2), SCOLL_DEAD);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(PEER_DEAD) post out");
	assert_string_equal(cast.members[0].failures, "02:PEER_DEAD");
	given_set(cast.members[1].given, cast_nid(2), SCOLL_ALIVE);
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			dead_member_P01_B26_stops_it_before_any_message),
		cmocka_unit_test(
			living_B39_are_those_of_the_making_or_it_is_made_again),
		cmocka_unit_test(views_B27_that_differ_are_waited_for_a_little),
		cmocka_unit_test(
			child_B26_that_is_dead_to_its_parent_fails_at_once),
		cmocka_unit_test(death_E04_D02_is_reported_at_once),
		cmocka_unit_test(reboot_E04_T03_is_reported_as_one),
		cmocka_unit_test(orphan_E05_B37_finishes_and_drops_its_reply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
