/* SPDX-License-Identifier: BSD-3-Clause */
/* Bulk data on its way down: segment by segment, and when it breaks off. */
#include "cast.h"

#include <stdlib.h>

#define SIZE 1000 /* 15 segments of 64 bytes, and one of 40 */

static uint8_t source[SIZE];

static void source_fill(void)
{
	for (int i = 0; i < SIZE; i++)
		source[i] = (uint8_t)(i * 7 + i / 256);
}

static void check_bulk(struct member *member, scoll_request_t *request)
{
	assert_int_equal(request->srq_bulk_status, 0);
	assert_int_equal(request->srq_bulk_len, SIZE);
	if (!scoll_request_is_root(request))
		assert_memory_equal(request->srq_bulk_iovs->iov_base, source,
				    SIZE);
}

static void check_all(struct cast *cast)
{
	for (int i = 0; i < cast->count; i++)
		cast->members[i].on_request = check_bulk;
}

static struct iovec whole(void)
{
	return (struct iovec){ source, SIZE };
}

static void data_K01_K03_K04_T02_is_at_every_node_when_it_is_called(
	void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec pieces[] = {
		{ source, 100 },
		{ source + 100, 0 },
		{ source + 100, 1 },
		{ source + 101, SIZE - 101 },
	};
	struct iovec iov = whole();

	source_fill();
	cast_init(&cast, 9, SCOLL_TREE_BINOMIAL);
	check_all(&cast);
	group = cast_group(&cast, 0, 0, 9);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 9);
	assert_string_equal(cast.members[6].script,
			    "pre request reply:0 post out");
	cast_send(&cast, cast_bulk_request(&cast, 0, group, pieces, 4));
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	for (int i = 0; i < 9; i++)
		assert_null(cast.members[i].regions);
	for (int i = 0; i < 9; i++)
		cast.members[i].on_request = NULL;
	/* None at all. */
	cast_bcast(&cast, 0, group, "x");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void large_answer(struct member *member, scoll_request_t *request)
{
	struct work *work = request->srq_private;

	work->answer_len = SCOLL_REPLY_PART_MAX;
	work->answer = cast_alloc(work->answer_len);
	memset(work->answer, 0x5a, work->answer_len);
}

static void check_large(struct member *member, scoll_reply_t *reply)
{
	const uint8_t *bytes = reply->srp_buf;

	assert_int_equal(reply->srp_len, 1 << 20);
	for (size_t i = 0; i < reply->srp_len; i++)
		assert_int_equal(bytes[i], 0x5a);
}

static void message_S10_T08_has_a_mebibyte_and_memory_may_be_scattered(
	void **state)
{
	static uint8_t far[2][SIZE];
	struct cast cast;
	scoll_group_t *group;
	struct iovec pieces[] = { { far[1] + 300, 400 }, { far[0], 600 } };

	source_fill();
	memcpy(pieces[0].iov_base, source, 400);
	memcpy(pieces[1].iov_base, source + 400, 600);
	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	check_all(&cast);
	cast.members[0].buffer_len = SCOLL_REPLY_PART_MAX;
	cast.members[0].on_reply = check_large;
	cast.members[1].on_post = large_answer;
	group = cast_group(&cast, 0, 0, 2);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, pieces, 2));
	cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void data_K03_flows_on_before_it_is_complete(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec iov = whole();
	struct move *read;

	source_fill();
	cast_init(&cast, 3, CAST_CHAIN);
	check_all(&cast);
	group = cast_group(&cast, 0, 0, 3);
	cast_rule(&cast, MOVE_READ, -1, -1, FATE_HOLD, -1);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	/* The request is at both, and nothing of the data. */
	assert_string_equal(cast.members[2].script, "pre");
	assert_int_equal(cast_move_count(&cast, MOVE_READ, 1), BULK_READS);
	assert_int_equal(cast_move_count(&cast, MOVE_READ, 2), 0);
	/* The second segment alone is no use to 2. */
	cast_carry(&cast, cast_move(&cast, MOVE_READ, 1, 1), FATE_PASS);
	cast_run(&cast);
	assert_int_equal(cast_move_count(&cast, MOVE_READ, 2), 0);
	cast_carry(&cast, cast_move(&cast, MOVE_READ, 1, 0), FATE_PASS);
	cast_run(&cast);
	assert_int_equal(cast_move_count(&cast, MOVE_READ, 2), 2);
	read = cast_move(&cast, MOVE_READ, 2, 1);
	assert_int_equal(read->remote_offset, 64);
	assert_int_equal(read->size, 64);
	/* It reads from 1's own memory, not from the root's. */
	assert_int_equal(read->to, cast_nid(1));
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 3);
	assert_int_equal(cast.reads, 2 * 16);
	cast_finish(&cast, group);
}

static int bulk_notices(struct cast *cast, int from)
{
	struct move *move;
	int count = 0;

	DL_FOREACH (cast->moves, move)
		count += move->kind == MOVE_SEND &&
			 move->from == &cast->members[from] &&
			 move->transfer != NULL &&
			 move->bytes[3] == WIRE_BULK_READY;
	return count;
}

static void notices_K03_are_one_at_a_time_to_a_child(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec iov = whole();
	int sends;

	source_fill();
	cast_init(&cast, 3, CAST_CHAIN);
	check_all(&cast);
	group = cast_group(&cast, 0, 0, 3);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_run(&cast);
	assert_int_equal(bulk_notices(&cast, 1), 1);
	sends = cast.sends;
	cast_rules_clear(&cast);
	cast_run(&cast);
	/* When its end was reported, the next notice said everything. */
	assert_int_equal(cast.sends, sends + 1);
	assert_int_equal(cast.members[0].status, 0);
	cast_finish(&cast, group);
}

static void notice_S04_K03_that_overtakes_its_broadcast_is_kept(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec iov = whole();

	source_fill();
	cast_init(&cast, 3, CAST_CHAIN);
	check_all(&cast);
	group = cast_group(&cast, 0, 0, 3);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_HOLD, -1);
	cast_run(&cast);
	assert_int_equal(cast_move_count(&cast, MOVE_SEND, 1), 2);
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 1, 1), FATE_PASS);
	cast_callbacks(&cast);
	/* There is a second one now; it is lost for good. */
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 1, 1), FATE_PASS);
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 3);
	cast_finish(&cast, group);
}

static void buffer_K02_B22_must_be_given(void **state)
{
	static const struct {
		bool has_none;
		size_t is_short;
		int status;
	} cases[] = { { true, 0, -EINVAL }, { false, 1, -EMSGSIZE } };

	for (int i = 0; i < 2; i++) {
		struct cast cast;
		scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
		struct iovec iov = whole();

		cast.members[1].no_bulk_buffer = cases[i].has_none;
		cast.members[1].bulk_short = cases[i].is_short;
		cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
		cast_run(&cast);
		assert_string_equal(cast.members[0].script,
				    "request reply:0(PRE_REQUEST) post");
		assert_int_equal(cast.members[0].reply.srp_status,
				 cases[i].status);
		assert_string_equal(cast.members[1].script, "pre out");
		assert_string_equal(cast.members[2].script, "");
		cast_finish(&cast, group);
	}
}

static void region_open(struct member *member, scoll_request_t *request)
{
	assert_null(member->regions);
}

static void memory_K05_P04_is_closed_to_others_before_post_reply(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec iov = whole();

	source_fill();
	cast_init(&cast, 7, SCOLL_TREE_BINOMIAL);
	for (int i = 0; i < 7; i++)
		cast.members[i].on_post = region_open;
	group = cast_group(&cast, 0, 0, 7);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	/* Also when a child never came to read it. */
	cast_rule(&cast, MOVE_SEND, 4, 6, FATE_LOSE, -1);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	while (cast.members[0].status == 0 && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "06:TIMEOUT");
	cast_finish(&cast, group);
}

static void reply_not_wanted(struct member *member, scoll_request_t *request)
{
	if (request->srq_bulk_status == 0)
		return;
	assert_int_equal(scoll_core_reply(request, member->cast->now_ns, "x",
					  1),
			 -EALREADY);
}

static void broken_read_K06_B22_fails_the_subtree_in_order(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec iov = whole();

	source_fill();
	cast_init(&cast, 5, CAST_CHAIN);
	for (int i = 0; i < 5; i++)
		cast.members[i].on_request = reply_not_wanted;
	group = cast_group(&cast, 0, 0, 5);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_rule(&cast, MOVE_READ, 2, 1, FATE_PASS, 5);
	cast_rule(&cast, MOVE_READ, 2, 1, FATE_FAIL, -1);
	cast_run(&cast);
	while (cast.members[0].status == 0 && cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[0].script, "request reply:0 post");
	assert_string_equal(cast.members[1].script,
			    "pre request reply:0(BULK) post out");
	assert_int_equal(cast.members[1].reply.srp_status, -EIO);
	assert_string_equal(cast.members[2].script,
			    "pre request! reply:0(BULK) post out");
	assert_string_equal(cast.members[3].script,
			    "pre request! reply:0(BULK) post out");
	assert_string_equal(cast.members[4].script, "pre request! post out");
	assert_string_equal(cast.members[0].failures,
			    "02:BULK 03:BULK 04:BULK");
	cast_finish(&cast, group);
}

static void broken_read_K03_is_tried_again(void **state)
{
	struct cast cast;
	scoll_group_t *group;
	struct iovec iov = whole();

	source_fill();
	cast_init(&cast, 2, SCOLL_TREE_FLAT);
	check_all(&cast);
	group = cast_group(&cast, 0, 0, 2);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_rule(&cast, MOVE_READ, 1, 0, FATE_FAIL, 3);
	cast_run(&cast);
	cast_pass(&cast, CAST_R_NS / RETRY_PARTS);
	cast_run(&cast);
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 2);
	assert_int_equal(cast.reads, 16 + 3);
	cast_finish(&cast, group);
}

static void dead_parent_K06_leaves_no_one_reading(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	struct iovec iov = whole();

	source_fill();
	cast_rule(&cast, MOVE_READ, 1, 0, FATE_HOLD, -1);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	assert_string_equal(cast.members[2].script, "pre");
	cast_kill(&cast, 1);
	cast_tell_dead(&cast, 1);
	cast_run(&cast);
	assert_string_equal(cast.members[2].script, "pre request! post out");
	assert_string_equal(cast.members[0].failures,
			    "01:PEER_DEAD 02:PEER_DEAD");
	cast_finish(&cast, group);
}

static void region_K06_that_cannot_be_opened_is_no_fault_of_the_service(
	void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	struct iovec iov = whole();

	cast.members[1].region_result = -ENOSPC;
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request! reply:0(BULK) post out");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(BULK) post");
	assert_int_equal(cast.members[0].reply.srp_status, -ENOSPC);
	assert_string_equal(cast.members[2].script, "");
	cast.members[1].region_result = 0;
	cast_finish(&cast, group);
}

static void abort_K06_B23_in_the_middle_waits_for_its_own_reads(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	struct iovec iov = whole();

	source_fill();
	cast_rule(&cast, MOVE_READ, 1, 0, FATE_HOLD, -1);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	scoll_core_bcast_abort(cast.members[1].request, cast.now_ns);
	cast_run(&cast);
	/* Its memory is still being written to. */
	assert_string_equal(cast.members[1].script,
			    "pre request! reply:0(ABORTED)");
	cast_rules_clear(&cast);
	cast_run(&cast);
	assert_string_equal(cast.members[1].script,
			    "pre request! reply:0(ABORTED) post out");
	assert_string_equal(cast.members[0].script,
			    "request reply:0(ABORTED) post");
	cast_finish(&cast, group);
}

static void child_K06_that_is_given_up_while_it_reads_is_disconnected(
	void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, SCOLL_TREE_FLAT);
	struct iovec iov = whole();

	source_fill();
	cast_rule(&cast, MOVE_READ, 1, 0, FATE_HOLD, -1);
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	cast_run(&cast);
	assert_string_equal(cast.members[0].disconnected, "");
	scoll_core_bcast_abort(cast.members[0].request, cast.now_ns);
	cast_run(&cast);
	assert_string_equal(cast.members[0].failures, "01:ABORTED");
	/* Only it: 2 has replied, and so has ended its reads. */
	assert_string_equal(cast.members[0].disconnected, "01");
	assert_null(cast.members[0].regions);
	cast_rules_clear(&cast);
	cast_run(&cast);
	cast_finish(&cast, group);
}

static void wait_K06_O04_for_data_that_never_comes_ends(void **state)
{
	struct cast cast;
	scoll_group_t *group = cast_init_group(&cast, 3, CAST_CHAIN);
	struct iovec iov = whole();

	source_fill();
	cast_send(&cast, cast_bulk_request(&cast, 0, group, &iov, 1));
	/* 2 never gets a notice that there is something to read. */
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 0, 0), FATE_PASS);
	cast_callbacks(&cast);
	cast_carry(&cast, cast_move(&cast, MOVE_SEND, 1, 0), FATE_PASS);
	cast_rule(&cast, MOVE_SEND, 1, 2, FATE_LOSE, -1);
	cast_run(&cast);
	assert_string_equal(cast.members[2].script, "pre");
	while (strstr(cast.members[2].script, "out") == NULL &&
	       cast_pass_deadline(&cast))
		cast_run(&cast);
	assert_string_equal(cast.members[2].script, "pre request! post out");
	assert_string_equal(cast.members[0].failures, "02:TIMEOUT");
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			data_K01_K03_K04_T02_is_at_every_node_when_it_is_called),
		cmocka_unit_test(
			message_S10_T08_has_a_mebibyte_and_memory_may_be_scattered),
		cmocka_unit_test(data_K03_flows_on_before_it_is_complete),
		cmocka_unit_test(notices_K03_are_one_at_a_time_to_a_child),
		cmocka_unit_test(
			notice_S04_K03_that_overtakes_its_broadcast_is_kept),
		cmocka_unit_test(buffer_K02_B22_must_be_given),
		cmocka_unit_test(
			memory_K05_P04_is_closed_to_others_before_post_reply),
		cmocka_unit_test(
			broken_read_K06_B22_fails_the_subtree_in_order),
		cmocka_unit_test(broken_read_K03_is_tried_again),
		cmocka_unit_test(dead_parent_K06_leaves_no_one_reading),
		cmocka_unit_test(
			region_K06_that_cannot_be_opened_is_no_fault_of_the_service),
		cmocka_unit_test(
			abort_K06_B23_in_the_middle_waits_for_its_own_reads),
		cmocka_unit_test(
			child_K06_that_is_given_up_while_it_reads_is_disconnected),
		cmocka_unit_test(wait_K06_O04_for_data_that_never_comes_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
