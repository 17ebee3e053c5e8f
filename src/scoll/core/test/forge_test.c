/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that nobody of the cast has sent, or not like that, or before. */
#include "cast.h"

#include <stdlib.h>

#include "scoll/member/discovery_internal.h"

static uint64_t refused(const struct cast *cast, int index)
{
	return cast->members[index].core->stats.messages_refused;
}

static size_t copy(const struct move *move, uint8_t bytes[SCOLL_BCAST_MAX])
{
	memcpy(bytes, move->bytes, move->size);
	return move->size;
}

static void altered_broadcast_P05_changes_nothing(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct move *move;
	size_t size;

	cast_init_sealed(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	move = cast_move(&cast, MOVE_SEND, 0, 0);
	size = copy(move, bytes);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		/* Another version is answered: see other_version_E01. */
		if (bit / 8 == 2)
			continue;
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cast_inject(&cast, 1, bytes, size);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (size_t cut = 0; cut < size; cut++)
		cast_inject(&cast, 1, bytes, cut);
	assert_int_equal(refused(&cast, 1), 8 * size - 8 + size);
	assert_string_equal(cast.members[1].script, "");
	assert_int_equal(cast.replies, 0);
	assert_int_equal(group_table_count(cast.members[1].core->groups), 0);
	assert_int_equal(replay_root_count(cast.members[1].core->replay), 0);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script, "pre request post out");
	cast_finish(&cast, group);
}

static void message_P05_to_another_member_is_not_ours(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

	cast_init_sealed(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	size = copy(cast_move(&cast, MOVE_SEND, 0, 0), bytes);
	cast_inject(&cast, 1, bytes, size);
	assert_int_equal(refused(&cast, 1), 1);
	assert_string_equal(cast.members[1].script, "");
	cast_finish(&cast, group);
}

static void replayed_broadcast_S02_is_run_once(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

	cast_init_sealed(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_bcast(&cast, 0, group, "w"); /* they know each other */
	cast.members[1].request_count = 0;
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	size = copy(cast_move(&cast, MOVE_SEND, 0, 0), bytes);
	cast_run(&cast);
	cast_inject(&cast, 1, bytes, size);
	assert_int_equal(cast.members[1].request_count, 1);
	assert_int_equal(refused(&cast, 1), 1);
	/* Nor when its root has started again. */
	cast_kill(&cast, 0);
	cast_start(&cast, 0);
	group = cast_group(&cast, 0, 0, 2);
	cast_bcast(&cast, 0, group, "y");
	assert_int_equal(cast.members[1].request_count, 2);
	cast_inject(&cast, 1, bytes, size);
	assert_int_equal(cast.members[1].request_count, 2);
	assert_int_equal(refused(&cast, 1), 2);
	cast_finish(&cast, group);
}

/*
 * Its window is empty, but the message is for its earlier start; and one that
 * is for none is taken from nobody.
 */
static void replayed_broadcast_S02_is_nothing_to_a_later_start(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t first[SCOLL_BCAST_MAX], second[SCOLL_BCAST_MAX];
	size_t first_size, second_size;

	cast_init_sealed(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, 0));
	first_size = copy(cast_move(&cast, MOVE_SEND, 0, 0), first);
	cast_run(&cast);
	cast_send(&cast, cast_request(&cast, 0, group, "y", 1, 0, 0));
	second_size = copy(cast_move(&cast, MOVE_SEND, 0, 0), second);
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 2);
	cast_kill(&cast, 1);
	cast_start(&cast, 1);
	cast.members[1].request_count = 0;
	cast_inject(&cast, 1, first, first_size);
	cast_inject(&cast, 1, second, second_size);
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 0);
	assert_int_equal(group_table_count(cast.members[1].core->groups), 0);
	assert_int_equal(replay_root_count(cast.members[1].core->replay), 0);
	/*
	 * Its root is not notified of the restart: what it sends may have
	 * been run by the earlier start, for all it knows.
	 */
	cast_bcast(&cast, 0, group, "z");
	assert_string_equal(cast.members[0].failures, "01:PEER_REBOOT");
	assert_int_equal(cast.members[1].request_count, 0);
	cast_bcast(&cast, 0, group, "z");
	assert_string_equal(cast.members[0].failures, "01:NO_GROUP");
	cast_bcast(&cast, 0, group, "z");
	assert_string_equal(cast.members[0].failures, "");
	assert_int_equal(cast.members[1].request_count, 1);
	cast_inject(&cast, 1, first, first_size);
	cast_inject(&cast, 1, second, second_size);
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 1);
	cast_finish(&cast, group);
}

/*
 * The earlier start has run it and gone, its root still waits, and somebody
 * replays it at the later one: the refusal does not bring it once more.
 */
static void replay_does_not_make_its_root_send_again(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

	cast_init_sealed(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_bcast(&cast, 0, group, "w");
	cast.members[1].keeps_quiet = true;
	cast.members[1].request_count = 0;
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, CAST_R_NS));
	size = copy(cast_move(&cast, MOVE_SEND, 0, 0), bytes);
	cast_run(&cast);
	assert_int_equal(cast.members[1].request_count, 1);
	cast_kill(&cast, 1);
	cast_start(&cast, 1);
	cast.members[1].keeps_quiet = false;
	cast_inject(&cast, 1, bytes, size);
	cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "01:PEER_REBOOT");
	assert_int_equal(cast.members[1].request_count, 1);
	cast_finish(&cast, group);
}

/* Of news it asks again, and nothing fails for the sake of the start. */
static void start_is_forgotten_when_discovery_has_news(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init_sealed(&cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 3);
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.sends, 2 * 2);
	cast_kill(&cast, 1);
	cast_start(&cast, 1);
	cast_tell_rebooted(&cast, 1);
	scoll_core_group_destroy(group, cast.now_ns);
	cast_settle(&cast);
	cast.sends = 0;
	group = cast_group(&cast, 0, 0, 3);
	cast_bcast(&cast, 0, group, "y");
	assert_string_equal(cast.members[0].failures, "");
	cast_finish(&cast, group);
}

/* One round trip more for each edge, once. */
static void receiver_tells_its_start_once(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init_sealed(&cast, 4, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 4);
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].failures, "");
	assert_int_equal(cast.sends, 2 * 3);
	assert_int_equal(cast.replies, 2 * 3);
	cast_bcast(&cast, 0, group, "y");
	assert_int_equal(cast.sends, 3 * 3);
	assert_int_equal(cast.replies, 3 * 3);
	for (int i = 1; i < 4; i++)
		assert_int_equal(cast.members[i].request_count, 2);
	cast_finish(&cast, group);
}

/* Bytes come into the first buffer that this member has posted. */
static void reply_inject(struct cast *cast, int to, const uint8_t *bytes,
			 size_t size)
{
	struct move *post = cast_move(cast, MOVE_POST, to, 0);
	struct move *reply = cast_alloc(sizeof(*reply));

	*reply = (struct move){
		.kind = MOVE_REPLY,
		.from = cast_find(cast, post->to),
		.to = post->from->nid,
		.tag = post->tag,
		.size = size,
	};
	reply->bytes = cast_alloc(size + 1);
	memcpy(reply->bytes, bytes, size);
	DL_APPEND(cast->moves, reply);
	cast_carry(cast, reply, FATE_PASS);
	cast_callbacks(cast);
}

/* An earlier refusal says nothing new, and is not taken for an answer. */
static void refusal_that_comes_again_sends_nothing_again(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct move *reply;
	uint8_t bytes[SCOLL_BCAST_MAX];
	size_t size;

	cast_init_sealed(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	cast_send(&cast, cast_request(&cast, 0, group, "x", 1, 0, CAST_R_NS));
	cast_run(&cast);
	reply = cast_move(&cast, MOVE_REPLY, 1, 0);
	size = copy(reply, bytes);
	cast_rules_clear(&cast);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_HOLD, -1);
	cast_run(&cast);
	assert_int_equal(cast.sends, 2);
	reply_inject(&cast, 0, bytes, size);
	cast_run(&cast);
	assert_int_equal(cast.sends, 2);
	assert_int_equal(refused(&cast, 0), 1);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "");
	assert_int_equal(cast.members[1].request_count, 1);
	cast_finish(&cast, group);
}

static void altered_reply_M03_is_as_if_it_had_not_come(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t bytes[SCOLL_BCAST_MAX];
	struct move *reply;
	size_t size;
	uint64_t count = 0;

	cast_init_sealed(&cast, 2, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 2);
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	reply = cast_move(&cast, MOVE_REPLY, 1, 0);
	size = copy(reply, bytes);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		reply_inject(&cast, 0, bytes, size);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(refused(&cast, 0), ++count);
	}
	for (size_t cut = 0; cut < size; cut += 13, count++)
		reply_inject(&cast, 0, bytes, cut);
	/* Larger than its buffer: nothing is known of it. */
	memset(bytes, 0, sizeof(bytes));
	reply_inject(&cast, 0, bytes, WIRE_REPLY_HEAD + 65);
	assert_int_equal(refused(&cast, 0), count + 1);
	assert_string_equal(cast.members[0].script, "request");
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void liar_E03_blames_only_those_below_it(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t head[WIRE_REPLY_HEAD];
	struct wire_reply reply = {
		.flags = WIRE_REPLY_LAST,
		.status = -EIO,
		.type = SCOLL_ERROR_REQUEST,
		.failure_total = 1,
		.failure_count = 1,
	};
	const struct move *post;

	cast_init_sealed(&cast, 4, SCOLL_TREE_BINOMIAL);
	group = cast_group(&cast, 0, 0, 4);
	cast_rule(&cast, MOVE_REPLY, 2, 0, FATE_HOLD, -1);
	cast_bcast(&cast, 0, group, "x");
	post = cast_move(&cast, MOVE_POST, 0, 0);
	assert_int_equal(post->to, cast_nid(2));
	reply.tag = post->tag;
	reply.sender = post->to;
	/* 2 has only 3 below it. */
	for (uint32_t rank = 0; rank < 6; rank++) {
		if (rank == 2 || rank == 3)
			continue;
		reply.failures[0] = (struct wire_failure){
			.rank = rank,
			.status = -EIO,
			.type = SCOLL_ERROR_REQUEST,
		};
		assert_int_equal(wire_reply_encode(&reply, NULL, 0, cast_nid(0),
						   &cast.auths[2], head),
				 0);
		reply_inject(&cast, 0, head, sizeof(head));
	}
	assert_int_equal(refused(&cast, 0), 4);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void notice_B23_is_taken_from_the_parent_only(void **state)
{
	static const enum wire_kind kinds[] = { WIRE_ABORT, WIRE_BULK_READY,
						WIRE_REPORTS_WANTED };
	struct cast cast;
	scoll_group_t *group;
	const struct bcast *bcast;
	struct wire_notice notice;
	uint8_t bytes[WIRE_NOTICE_MAX];
	int size;

	cast_init_sealed(&cast, 3, CAST_CHAIN);
	group = cast_group(&cast, 0, 0, 3);
	cast.members[2].keeps_quiet = true;
	cast_bcast(&cast, 0, group, "x");
	bcast = bcast_of(cast.members[2].request);
	for (int i = 0; i < 3; i++) {
		notice = (struct wire_notice){
			.root = bcast->root,
			.root_nonce = bcast->root_nonce,
			.number = bcast->number,
			.sender = cast_nid(0),
			.status = kinds[i] == WIRE_REPORTS_WANTED ? 0
								  : -ECANCELED,
			.amount = kinds[i] == WIRE_REPORTS_WANTED,
			.start = cast.members[2].core->nonce,
		};
		/* From the root, which is not its parent. */
		size = wire_notice_encode(kinds[i], &notice, cast_nid(2),
					  &cast.auths[0], bytes);
		assert_int_equal(size, sizeof(bytes));
		cast_inject(&cast, 2, bytes, sizeof(bytes));
		/* From its parent, says somebody. */
		notice.sender = cast_nid(1);
		size = wire_notice_encode(kinds[i], &notice, cast_nid(2), NULL,
					  bytes);
		assert_int_equal(size, WIRE_BCAST_BASE);
		cast_inject(&cast, 2, bytes, sizeof(bytes));
	}
	assert_int_equal(refused(&cast, 2), 6);
	assert_string_equal(cast.members[2].script, "pre request post");
	assert_int_equal(scoll_core_reply(cast.members[2].request, cast.now_ns,
					  "x", 1),
			 0);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast.members[2].keeps_quiet = false;
	cast_finish(&cast, group);
}

static void early_notices_S04_have_a_limit(void **state)
{
	struct cast cast;
	struct wire_notice notice = {
		.root = cast_nid(1),
		.root_nonce = 1,
		.sender = cast_nid(1),
		.status = -ECANCELED,
	};
	uint8_t bytes[WIRE_NOTICE_MAX];

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	for (uint64_t i = 0; i < 10 * EARLY_MAX; i++) {
		notice.number = i;
		assert_int_equal(wire_notice_encode(WIRE_ABORT, &notice,
						    cast_nid(0), NULL, bytes),
				 WIRE_BCAST_BASE);
		cast_inject(&cast, 0, bytes, WIRE_BCAST_BASE);
	}
	assert_int_equal(cast.members[0].core->stats.allocations, 1);
	cast_finish(&cast, NULL);
}

static void notice_S04_that_nothing_can_follow_is_not_kept(void **state)
{
	struct cast cast;
	struct scoll_core *core;
	struct wire_notice notice = {
		.root = cast_nid(1),
		.root_nonce = 1,
		.number = 1,
		.sender = cast_nid(1),
		.status = -ECANCELED,
	};
	uint8_t bytes[WIRE_NOTICE_MAX];

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	core = cast.members[0].core;
	/* Its broadcast is below the window by now. */
	assert_true(replay_enter(core->replay, notice.root, notice.root_nonce,
				 0, 2 * REPLAY_WINDOW) >= 0);
	assert_int_equal(wire_notice_encode(WIRE_ABORT, &notice, cast_nid(0),
					    NULL, bytes),
			 WIRE_BCAST_BASE);
	cast_inject(&cast, 0, bytes, WIRE_BCAST_BASE);
	assert_null(core->early);
	cast_finish(&cast, NULL);
}

static void refusals_E01_have_a_limit(void **state)
{
	struct cast cast;
	uint8_t bytes[WIRE_BCAST_BASE] = { 0x73, 0x6c, 99, WIRE_BCAST };

	cast_init(&cast, 1, SCOLL_TREE_FLAT);
	bytes[80] = 1;
	for (int i = 0; i < 2 * REFUSALS_MAX; i++) {
		bytes[73] = 16;
		cast_inject(&cast, 0, bytes, sizeof(bytes));
	}
	assert_int_equal(cast_move_count(&cast, MOVE_REPLY, 0), REFUSALS_MAX);
	assert_int_equal(refused(&cast, 0), 2 * REFUSALS_MAX);
	cast_finish(&cast, NULL);
}

/* --- more failures than fit beside a reply --- */

static void reports_E06_S03_bring_the_exact_set(void **state)
{
	char want[512] = "";
	struct cast cast;
	scoll_group_t *group;

	/* 1 has twenty children; 17 failures fit beside a seal. */
	cast_init_sealed(&cast, 42, SCOLL_TREE_KARY(20));
	group = cast_group(&cast, 0, 0, 42);
	cast_rule(&cast, MOVE_SEND, 1, -1, FATE_LOSE, -1);
	for (int i = 21; i < 41; i++)
		sprintf(want + strlen(want), "%s%d:TIMEOUT", i > 21 ? " " : "",
			i);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS);
	/* The root says that it wants them, and only then they come. */
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_HOLD, -1);
	cast_run(&cast);
	assert_null(strstr(cast.members[0].script, "post"));
	assert_int_equal(cast_move_count(&cast, MOVE_REPLY, 1), 0);
	assert_int_equal(cast_move_count(&cast, MOVE_POST, 0), 1);
	assert_non_null(strstr(cast.members[1].script, "post out"));
	cast.rule_count = 1;
	cast_run(&cast);
	assert_non_null(strstr(cast.members[0].script, "post"));
	assert_string_equal(cast.members[0].failures, want);
	assert_int_equal(cast.members[0].sum, 22);
	assert_int_equal(cast.lost_replies, 0);
	cast_finish(&cast, group);
}

static void report_E06_that_does_not_come_costs_the_subtree(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	scoll_request_t *request;

	cast_init_sealed(&cast, 42, SCOLL_TREE_KARY(20));
	group = cast_group(&cast, 0, 0, 42);
	cast_rule(&cast, MOVE_SEND, 1, -1, FATE_LOSE, -1);
	request = cast_request(&cast, 0, group, "x", 1, 0, 0);
	cast_send(&cast, request);
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_LOSE, -1);
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS);
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 22); /* its answer is good */
	assert_memory_equal(cast.members[0].failures, "01:TIMEOUT 21:TIMEOUT",
			    21);
	/* And the child does not wait for ever. */
	cast_settle(&cast);
	cast_finish(&cast, group);
}

static void altered_report_M03_is_posted_again(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	uint8_t bytes[WIRE_REPORT_MAX];
	size_t size;

	cast_init_sealed(&cast, 42, SCOLL_TREE_KARY(20));
	group = cast_group(&cast, 0, 0, 42);
	cast_rule(&cast, MOVE_SEND, 1, -1, FATE_LOSE, -1);
	cast_bcast(&cast, 0, group, "x");
	cast_pass(&cast, CAST_R_NS);
	cast_rule(&cast, MOVE_SEND, 0, 1, FATE_HOLD, -1);
	cast_run(&cast);
	cast_rule(&cast, MOVE_REPLY, 1, 0, FATE_HOLD, -1);
	cast.rules[1].times = 0;
	cast_run(&cast);
	size = copy(cast_move(&cast, MOVE_REPLY, 1, 0), bytes);
	for (size_t bit = 0; bit < 8 * size; bit += 7) {
		uint64_t count = refused(&cast, 0);

		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		reply_inject(&cast, 0, bytes, size);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(refused(&cast, 0), count + 1);
	}
	cast.rule_count = 1;
	cast_run(&cast);
	assert_int_equal(cast.members[0].sum, 22);
	assert_memory_equal(cast.members[0].failures, "21:TIMEOUT 22:TIMEOUT",
			    21);
	cast_finish(&cast, group);
}

static void stealthy_member_D03_does_no_collective_work(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 2, SCOLL_TREE_FLAT);
	scoll_request_t *request;
	scoll_target_t targets[2];
	struct core_callback callback;
	struct discovery *discovery;

	discovery = scoll_core_options(cast.members[1].core)->discovery;
	discovery->is_stealthy = true;
	cast_bcast(&cast, 0, group, "x");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(STEALTH) post");
	assert_int_equal(cast.members[0].reply.srp_status, -EAGAIN);
	assert_int_equal(scoll_core_group_create(cast.members[1].core, 1,
						 CAST_SERVICE, "", targets,
						 cast_targets(0, 2, targets), 0,
						 false, NULL, NULL, &callback),
			 -EINVAL);
	discovery->is_stealthy = false;
	discovery = scoll_core_options(cast.members[0].core)->discovery;
	request = cast_request(&cast, 0, group, "y", 1, 0, 0);
	discovery->is_stealthy = true;
	assert_int_equal(scoll_core_bcast_send(request, cast.now_ns), -EAGAIN);
	discovery->is_stealthy = false;
	cast_send(&cast, request);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(altered_broadcast_P05_changes_nothing),
		cmocka_unit_test(message_P05_to_another_member_is_not_ours),
		cmocka_unit_test(
			replayed_broadcast_S02_is_nothing_to_a_later_start),
		cmocka_unit_test(receiver_tells_its_start_once),
		cmocka_unit_test(replay_does_not_make_its_root_send_again),
		cmocka_unit_test(start_is_forgotten_when_discovery_has_news),
		cmocka_unit_test(refusal_that_comes_again_sends_nothing_again),
		cmocka_unit_test(replayed_broadcast_S02_is_run_once),
		cmocka_unit_test(altered_reply_M03_is_as_if_it_had_not_come),
		cmocka_unit_test(liar_E03_blames_only_those_below_it),
		cmocka_unit_test(notice_B23_is_taken_from_the_parent_only),
		cmocka_unit_test(early_notices_S04_have_a_limit),
		cmocka_unit_test(
			notice_S04_that_nothing_can_follow_is_not_kept),
		cmocka_unit_test(refusals_E01_have_a_limit),
		cmocka_unit_test(reports_E06_S03_bring_the_exact_set),
		cmocka_unit_test(
			report_E06_that_does_not_come_costs_the_subtree),
		cmocka_unit_test(altered_report_M03_is_posted_again),
		cmocka_unit_test(stealthy_member_D03_does_no_collective_work),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
