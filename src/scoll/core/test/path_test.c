/* SPDX-License-Identifier: BSD-3-Clause */
/* The way down and up, callback by callback, when nothing fails. */
#include "cast.h"

#include <stdlib.h>

static void request_P10_P12_P14_S01_S03_runs_once_on_each_node(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 4, SCOLL_TREE_FLAT);

	cast_bcast(&cast, 0, group, "hello");
	assert_string_equal(cast.members[0].script,
			    "request reply:0 reply:1 reply:2 post");
	for (int i = 1; i < 4; i++) {
		assert_string_equal(cast.members[i].script,
				    "pre request post out");
		assert_int_equal(cast.members[i].payload_len, 5);
		assert_memory_equal(cast.members[i].payload, "hello", 5);
		assert_int_equal(cast.members[i].request_count, 1);
	}
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 4);
	cast_finish(&cast, group);
}

static void one_pass_P16_P17_S06_sends_2n_messages_and_no_more(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 16, SCOLL_TREE_BINOMIAL);

	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.sends, 15);
	assert_int_equal(cast.replies, 15);
	assert_int_equal(cast.members[0].sum, 16);
	assert_int_equal(cast.members[8].sum, 8);
	assert_int_equal(cast.members[12].sum, 4);
	cast_finish(&cast, group);
}

static void root_G08_G15_P15_may_be_any_member_at_the_same_time(void **state)
{
	struct cast cast;
	scoll_group_t *group, *other;
	scoll_request_t *pending;

	cast_init(&cast, 6, SCOLL_TREE_BINOMIAL);
	group = cast_group(&cast, 0, 0, 6);
	cast_bcast(&cast, 0, group, "first");
	/* A member learned the group, and begins with it as its root. */
	cast.members[3].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "second");
	pending = cast.members[3].request;
	other = scoll_request_group(pending);
	cast_script_clear(&cast);
	cast_send(&cast, cast_request(&cast, 3, other, "third", 5, 0, 0));
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "pre request post out");
	assert_int_equal(cast.members[3].sum, 6);
	assert_int_equal(cast.members[3].status, 0);
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "x", 1), 0);
	cast_finish(&cast, group);
}

static void payload_P03_P09_may_be_changed_by_each_service(void **state)
{
	static const char text[] = "all in one piece";
	struct cast cast;
	scoll_group_t *group;

	/* A chain: what the second node passes on, the service has spoilt. */
	cast_init(&cast, 4, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 4);
	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, text);
	assert_int_equal(cast.members[1].request_count, 1);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_memory_equal(cast.members[3].payload, text, strlen(text));
	assert_string_equal(text, "all in one piece");
	cast_finish(&cast, group);
}

static void buffers_P02_P06_M04_are_posted_before_a_child_is_sent_to(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *request;
	struct move *move;
	int posts = 0;

	cast_init(&cast, 5, SCOLL_TREE_FLAT);
	cast.members[0].buffer_count = 2;
	group = cast_group(&cast, 0, 0, 5);
	cast.members[0].posts_nothing = true;
	request = cast_request(&cast, 0, group, "x", 1, 0, 0);
	assert_int_equal(scoll_core_bcast_send(request, cast.now_ns), -EINVAL);
	cast.members[0].posts_nothing = false;
	assert_int_equal(cast_buffers_post(&cast.members[0], request), 0);
	cast_send(&cast, request);
	DL_FOREACH (cast.moves, move) {
		if (move->kind == MOVE_POST)
			posts++;
		else
			assert_true(posts % 2 == 0 && posts > 0);
	}
	assert_int_equal(posts, 8);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 5);
	cast_finish(&cast, group);
}

static void broadcast_P07_does_not_wait_for_the_service_nor_it_for_that(
	void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	struct core_callback callback;
	struct scoll_core *core;

	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	cast_callbacks(&cast);
	core = cast.members[1].core;
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 0, 0), FATE_PASS);
	assert_true(scoll_core_callback_take(core, &callback));
	assert_int_equal(callback.kind, CORE_CALLBACK_PRE_REQUEST);
	assert_null(cast_move(&cast, MOVE_SEND, 1, 0));
	scoll_core_callback_done(core, cast.now_ns, &callback,
				 core_callback_call(&callback));
	/* Sent on, while incoming_request still waits to be called. */
	assert_non_null(cast_move(&cast, MOVE_SEND, 1, 0));
	assert_string_equal(cast.members[1].script, "pre");
	/* And called, while nothing has left. */
	cast_callbacks(&cast);
	assert_string_equal(cast.members[1].script, "pre request");
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 3);
	cast_finish(&cast, group);
}

static void broadcasts_S04_may_overtake_each_other(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);

	cast_send(&cast, cast_request(&cast, 0, group, "first", 5, 0, 0));
	cast_send(&cast, cast_request(&cast, 0, group, "second", 6, 0, 0));
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 0, 1), FATE_PASS);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_HOLD, -1);
	cast_run(&cast);
	assert_memory_equal(cast.members[2].payload, "second", 6);
	assert_string_equal(cast.members[2].script, "pre request post out");
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_memory_equal(cast.members[2].payload, "first", 5);
	assert_int_equal(cast.members[2].request_count, 2);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

/* A request whose last message waits while so many later ones pass it. */
static void overtake(struct cast *cast, int count)
{
	scoll_nid_t nids[] = { cast_nid(0), cast_nid(2) };
	scoll_group_t *group;

	cast_init(cast, 3, CAST_CHAIN);
	group = cast_group(cast, 0, 0, 3);
	cast_bcast(cast, 0, group, "all have it");
	cast_rule(cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_send(cast, cast_request(cast, 0, group, "slow", 4, 0, 0));
	cast_run(cast);
	for (int i = 0; i < count; i++) {
		cast_script_clear(cast);
		cast_send(cast, cast_request_of(cast, 0, group, nids, 2));
		cast_run(cast);
		assert_int_equal(cast->members[0].status, 0);
	}
	cast_script_clear(cast);
	cast_rules_clear(cast);
	cast_run(cast);
}

static void overtaken_S04_request_is_run_or_its_root_is_notified_at_once(
	void **state)
{
	static struct cast cast;
	scoll_group_t *group;

	overtake(&cast, REPLAY_WINDOW - 1);
	group = cast.members[0].group;
	assert_string_equal(cast.members[2].script, "pre request post out");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
	overtake(&cast, REPLAY_WINDOW);
	group = cast.members[0].group;
	assert_string_equal(cast.members[2].script, "");
	assert_string_equal(cast.members[0].failures, "02:NOMEM");
	cast_finish(&cast, group);
}

static void old_S02_message_of_a_request_at_work_does_not_end_it(void **state)
{
	static struct cast cast;
	scoll_group_t *group;
	struct move *move;
	scoll_request_t *pending;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast.members[1].keeps_quiet = true;
	cast_send(&cast, cast_request(&cast, 0, group, "long", 4, 0, 0));
	move = cast_move(&cast, MOVE_SEND, 0, 0);
	size = move->size;
	memcpy(bytes, move->bytes, size);
	cast_run(&cast);
	pending = cast.members[1].request;
	cast.members[1].keeps_quiet = false;
	for (int i = 0; i <= REPLAY_WINDOW; i++) {
		cast_script_clear(&cast);
		cast_bcast(&cast, 0, group, "x");
	}
	cast_inject(&cast, 1, bytes, size);
	cast_run(&cast);
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "", 0), 0);
	cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void order_R09_P19_is_deepest_first_and_before_other_traffic(
	void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 9, SCOLL_TREE_BINOMIAL);
	const struct move *move;
	scoll_request_t *pending;
	int sends = 0;

	/* A reply is stuck at node 0, as a member of another tree. */
	cast_bcast(&cast, 0, group, "x");
	cast.members[2].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "y");
	pending = cast.members[2].request;
	cast.members[2].keeps_quiet = false;
	cast_send(&cast, cast_request(&cast, 2, scoll_request_group(pending),
				      "z", 1, 0, 0));
	cast.members[0].is_full = true;
	cast_run(&cast);
	assert_null(cast_move(&cast, MOVE_REPLY, 0, 0));
	cast_send(&cast, cast_request(&cast, 0, group, "w", 1, 0, 0));
	assert_null(cast_move(&cast, MOVE_SEND, 0, 0));
	cast.members[0].is_full = false;
	scoll_core_tick(cast.members[0].core, cast.now_ns);
	DL_FOREACH (cast.moves, move) {
		if (move->from != &cast.members[0])
			continue;
		if (move->kind == MOVE_REPLY)
			assert_int_equal(sends, 4);
		/* Depths 2, 1, 0 and 0: of these two the higher one first. */
		if (move->kind == MOVE_SEND)
			assert_int_equal(
				move->to,
				cast_nid((int[]){ 4, 2, 8, 1 }[sends++]));
	}
	assert_int_equal(sends, 4);
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "x", 1), 0);
	cast_finish(&cast, group);
}

static void root_B13_S07_that_is_no_member_has_no_entity(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 5, SCOLL_TREE_BINOMIAL);
	group = cast_group(&cast, 0, 1, 5);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].request_count, 0);
	assert_int_equal(cast.members[0].sum, 4);
	assert_int_equal(cast.members[0].status, 0);
	assert_null(strstr(cast.members[0].script, "request"));
	cast_finish(&cast, group);
}

static void group_B34_of_one_node_needs_no_message(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 1, SCOLL_TREE_BINOMIAL);

	assert_int_equal(scoll_core_get_nchildren(group), 0);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script, "request post");
	assert_int_equal(cast.members[0].sum, 1);
	assert_int_equal(cast.sends, 0);
	cast_finish(&cast, group);
}

static void request_T02_S05_P04_has_its_limits(void **state)
{
	static uint8_t bytes[SCOLL_BCAST_MAX + 1];
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	scoll_request_t *request;
	int largest = SCOLL_BCAST_MAX;
	int result;

	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, bytes, -1,
					      NULL, 0, 0, 0, NULL, &request),
			 -EINVAL);
	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, NULL, 1, NULL,
					      0, 0, 0, NULL, &request),
			 -EINVAL);
	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, bytes, 1, NULL,
					      0, 64, 0, NULL, &request),
			 -EINVAL);
	assert_int_equal(scoll_core_bcast_new(group, 1, NULL, 0, bytes, 1, NULL,
					      0, 0, -1, NULL, &request),
			 -EINVAL);
	while ((result = scoll_core_bcast_new(group, 1, NULL, 0, bytes, largest,
					      NULL, 0, 0, 0, NULL, &request)) ==
	       -EMSGSIZE)
		largest--;
	assert_int_equal(result, 0);
	assert_int_equal(request->srq_len, largest);
	assert_int_equal(request->srq_bulk_len, 0);
	assert_int_equal(request->srq_service_timeout, 0);
	scoll_core_request_free(request, 1);
	cast_send(&cast, cast_request(&cast, 0, group, bytes, largest, 0, 0));
	assert_int_equal(cast_move(&cast, MOVE_SEND, 0, 0)->size,
			 SCOLL_BCAST_MAX);
	cast_finish(&cast, group);
}

static void full_transport_P19_M01_only_delays(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 6, SCOLL_TREE_BINOMIAL);

	for (int i = 0; i < 6; i++)
		cast.members[i].is_full = true;
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.sends, 0);
	/* Room for one thing at a time. */
	for (int round = 0; round < 1000; round++) {
		for (int i = 0; i < 6; i++) {
			cast.members[i].is_full = false;
			scoll_core_tick(cast.members[i].core, cast.now_ns);
			cast.members[i].is_full = true;
		}
		cast_run(&cast);
	}
	assert_int_equal(cast.members[0].sum, 6);
	assert_int_equal(cast.members[0].status, 0);
	for (int i = 0; i < 6; i++)
		cast.members[i].is_full = false;
	cast_finish(&cast, group);
}

static void full_peer_P19_delays_nobody_else(void **state)
{
	struct cast cast;
	struct member *root = &cast.members[0];
	scoll_group_t *both, *one;

	cast_init(&cast, 3, SCOLL_TREE_FLAT);
	both = cast_group(&cast, 0, 0, 3);
	one = cast_group(&cast, 0, 2, 3);
	root->busy = cast_nid(1);
	cast_send(&cast, cast_request(&cast, 0, both, "x", 1, 0, 1000000000));
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 0);
	assert_int_equal(cast.members[2].request_count, 1);
	/* Also later, and also after more than a few refusals. */
	for (int i = 0; i < 2 * ACTION_TRIES; i++)
		cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	cast_bcast(&cast, 0, one, "x");
	assert_int_equal(cast.members[2].request_count, 2);
	assert_int_equal(root->sum, 1);
	root->busy = 0;
	cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 1);
	assert_int_equal(root->sum, 3);
	assert_int_equal(root->status, 0);
	scoll_core_group_destroy(one, cast.now_ns);
	cast_finish(&cast, both);
}

static void full_of_buffers_P19_delays_no_send(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	scoll_request_t *pending;

	cast.members[1].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	pending = cast.members[1].request;
	group = cast_group(&cast, 1, 0, 2);
	/* It has no memory for its own request, but has to reply. */
	cast.members[1].has_no_room = true;
	cast_bcast(&cast, 1, group, "x");
	assert_int_equal(cast.members[0].request_count, 1);
	assert_int_equal(scoll_core_reply(pending, cast.now_ns, "x", 1), 0);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	cast.members[1].has_no_room = false;
	cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	cast_run(&cast);
	assert_int_equal(cast.members[0].request_count, 2);
	cast_fini(&cast);
}

static void tree_F06_F07_F08_B40_is_the_requests_own(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *request;
	scoll_nid_t nids[] = { cast_nid(1), cast_nid(2), cast_nid(7) };

	cast_init(&cast, 8, SCOLL_TREE_BINOMIAL);
	group = cast_group(&cast, 0, 0, 8);
	assert_int_equal(scoll_core_group_nodes(group), 8);
	assert_int_equal(scoll_core_group_entities(group), 8);
	assert_int_equal(scoll_core_get_nchildren(group), 3);
	assert_int_equal(scoll_core_get_childtree_nodes(group, 0), 4);
	assert_int_equal(scoll_core_get_childtree_entities(group, 1), 2);
	assert_int_equal(scoll_core_get_childtree_nodes(group, 3), -EINVAL);
	assert_int_equal(scoll_core_bcast_new(group, 1, nids, 3, "x", 1, NULL,
					      0, 0, 0, NULL, &request),
			 0);
	/* The root is not among them, and joins: four nodes. */
	assert_int_equal(scoll_request_nchildren(request), 2);
	assert_int_equal(scoll_request_child_nid(request, 0), cast_nid(2));
	assert_int_equal(scoll_request_childtree_nodes(request, 0), 2);
	assert_int_equal(scoll_request_childtree_entities(request, 1), 1);
	assert_int_equal(scoll_request_childtree_nodes(request, 2), -EINVAL);
	assert_int_equal(scoll_request_depth(request), 2);
	assert_true(scoll_request_is_root(request));
	assert_int_equal(scoll_request_root(request), cast_nid(0));
	assert_ptr_equal(scoll_request_group(request), group);
	scoll_core_request_free(request, 1);
	cast_finish(&cast, group);
}

static void subset_G16_runs_on_the_chosen_nodes_only(void **state)
{
	scoll_nid_t nids[] = { cast_nid(5), cast_nid(1), cast_nid(0) };
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *request;

	cast_init(&cast, 7, SCOLL_TREE_BINOMIAL);
	group = cast_group_now(&cast, 0, 0, 7);
	assert_non_null(group);
	cast_script_clear(&cast);
	request = cast_request_of(&cast, 0, group, nids, 3);
	cast_send(&cast, request);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 3);
	for (int i = 0; i < 7; i++)
		assert_int_equal(cast.members[i].request_count,
				 i == 0 || i == 1 || i == 5);
	nids[0] = cast_nid(40);
	assert_int_equal(scoll_core_bcast_new(group, 1, nids, 3, "x", 1, NULL,
					      0, 0, 0, NULL, &request),
			 -ENOENT);
	cast_finish(&cast, group);
}

static void times_R10_of_a_request_are_kept(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	scoll_request_t *request;
	struct scoll_request_times times;

	request = cast_request(&cast, 0, group, "x", 1, 0, 1000000000);
	cast.members[0].is_full = true;
	cast_send(&cast, request);
	scoll_core_request_times(request, &times);
	assert_int_equal(times.received, cast.now_ns);
	assert_int_equal(times.sent, 0);
	cast.members[0].is_full = false;
	cast_pass(&cast, 500);
	scoll_core_request_times(request, &times);
	assert_int_equal(times.sent, times.received + 500);
	assert_int_equal(times.replied, 0);
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			request_P10_P12_P14_S01_S03_runs_once_on_each_node),
		cmocka_unit_test(
			one_pass_P16_P17_S06_sends_2n_messages_and_no_more),
		cmocka_unit_test(
			root_G08_G15_P15_may_be_any_member_at_the_same_time),
		cmocka_unit_test(
			payload_P03_P09_may_be_changed_by_each_service),
		cmocka_unit_test(
			buffers_P02_P06_M04_are_posted_before_a_child_is_sent_to),
		cmocka_unit_test(
			broadcast_P07_does_not_wait_for_the_service_nor_it_for_that),
		cmocka_unit_test(broadcasts_S04_may_overtake_each_other),
		cmocka_unit_test(
			overtaken_S04_request_is_run_or_its_root_is_notified_at_once),
		cmocka_unit_test(
			old_S02_message_of_a_request_at_work_does_not_end_it),
		cmocka_unit_test(
			order_R09_P19_is_deepest_first_and_before_other_traffic),
		cmocka_unit_test(root_B13_S07_that_is_no_member_has_no_entity),
		cmocka_unit_test(group_B34_of_one_node_needs_no_message),
		cmocka_unit_test(request_T02_S05_P04_has_its_limits),
		cmocka_unit_test(full_transport_P19_M01_only_delays),
		cmocka_unit_test(full_peer_P19_delays_nobody_else),
		cmocka_unit_test(full_of_buffers_P19_delays_no_send),
		cmocka_unit_test(tree_F06_F07_F08_B40_is_the_requests_own),
		cmocka_unit_test(subset_G16_runs_on_the_chosen_nodes_only),
		cmocka_unit_test(times_R10_of_a_request_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
