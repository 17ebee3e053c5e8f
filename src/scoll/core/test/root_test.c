/* SPDX-License-Identifier: BSD-3-Clause */
/* A member has the key of all, and says what it likes as their root. */
#include "cast.h"

/* What a member makes of a broadcast that it has had. */
struct forgery {
	struct cast *cast;
	int by, to;
	uint8_t bytes[SCOLL_BCAST_MAX]; /* what it has had */
	size_t size;
};

/* Sealed for the present start of `to`. */
static void forge(struct forgery *forgery,
		  void (*change)(struct wire_bcast *wire))
{
	struct cast *cast = forgery->cast;
	const struct scoll_authenticator *auth = &cast->auths[forgery->by];
	struct wire_child child = {
		.nid = cast_nid(forgery->to),
		.tag = WIRE_TAG_PART_MASK + 1,
		.part_size = SCOLL_REPLY_PART_MAX,
		.part_count = 1,
		.start = cast->members[forgery->to].core->nonce,
	};
	uint8_t bytes[SCOLL_BCAST_MAX], head[WIRE_BCAST_HEAD_MAX];
	struct wire_message message;
	size_t body_size;
	int size;

	assert_int_equal(wire_message_open(forgery->bytes, forgery->size, auth,
					   &message),
			 WIRE_OK);
	body_size = message.bcast.params_size + message.bcast.choice_size +
		    message.bcast.payload_size;
	change(&message.bcast);
	size = wire_bcast_encode(&message.bcast, auth, head);
	assert_true(size > 0);
	assert_int_equal(
		wire_bcast_seal(head, (size_t)size, auth, &child, bytes), 0);
	memcpy(bytes + size, forgery->bytes + forgery->size - body_size,
	       body_size);
	cast_inject(cast, forgery->to, bytes, (size_t)size + body_size);
	cast_run(cast);
}

/* All know each other, and 2 has had one broadcast of 0 and keeps the next. */
static scoll_group_t *begin(struct cast *cast, struct forgery *ret_forgery)
{
	scoll_group_t *group;
	struct move *move;

	cast_init_sealed(cast, 3, SCOLL_TREE_FLAT);
	group = cast_group(cast, 0, 0, 3);
	cast_bcast(cast, 0, group, "w");
	cast_send(cast, cast_request(cast, 0, group, "x", 1, 0, 0));
	for (int i = 0; (move = cast_move(cast, MOVE_SEND, 0, i)) != NULL; i++)
		if (move->to == cast_nid(2))
			break;
	assert_non_null(move);
	*ret_forgery = (struct forgery){ .cast = cast, .by = 2, .to = 1 };
	memcpy(ret_forgery->bytes, move->bytes, move->size);
	ret_forgery->size = move->size;
	cast_run(cast);
	assert_int_equal(cast->members[1].request_count, 2);
	return group;
}

/* The next one of the root is run by all. */
static void assert_received(struct cast *cast, scoll_group_t *group)
{
	int count = cast->members[1].request_count;

	cast_bcast(cast, 0, group, "y");
	assert_string_equal(cast->members[0].failures, "");
	assert_int_equal(cast->members[1].request_count, count + 1);
}

static void number_raise(struct wire_bcast *wire)
{
	wire->number = UINT64_MAX - 1;
}

static void number_next(struct wire_bcast *wire)
{
	wire->number++;
}

static void start_raise(struct wire_bcast *wire)
{
	wire->root_nonce += UINT64_C(1) << 40;
}

static void last_set(struct wire_bcast *wire)
{
	wire->flags |= WIRE_LAST;
	wire->number++;
}

static void root_set(struct wire_bcast *wire)
{
	wire->root = cast_nid(2);
	wire->number = 1;
}

static void nothing(struct wire_bcast *wire)
{
}

static void forged_broadcast_S02_takes_no_number_of_its_root(void **state)
{
	struct forgery forgery;
	struct cast cast;
	scoll_group_t *group = begin(&cast, &forgery);

	for (int i = 0; i < 3; i++) {
		uint64_t refused = cast.members[1].core->stats.messages_refused;

		forge(&forgery, number_raise);
		forge(&forgery, number_next);
		assert_int_equal(cast.members[1].core->stats.messages_refused,
				 refused + 2);
		assert_received(&cast, group);
	}
	cast_finish(&cast, group);
}

static void forged_start_S02_is_none_of_its_root(void **state)
{
	struct forgery forgery;
	struct cast cast;
	scoll_group_t *group = begin(&cast, &forgery);

	forge(&forgery, start_raise);
	assert_received(&cast, group);
	cast_finish(&cast, group);
}

static void forged_last_ends_no_group(void **state)
{
	struct forgery forgery;
	struct cast cast;
	scoll_group_t *group = begin(&cast, &forgery);

	forge(&forgery, last_set);
	assert_int_equal(group_table_count(cast.members[1].core->groups), 1);
	assert_received(&cast, group);
	cast_finish(&cast, group);
}

/* What the root has signed says nothing of another root, or for others. */
static void signature_of_one_root_is_none_of_another(void **state)
{
	struct forgery forgery;
	struct cast cast;
	scoll_group_t *group = begin(&cast, &forgery);
	int count = cast.members[1].request_count;

	forge(&forgery, root_set);
	forge(&forgery, nothing); /* once more what was there */
	assert_int_equal(cast.members[1].request_count, count);
	assert_received(&cast, group);
	cast_finish(&cast, group);
}

static void member_that_signs_nothing_is_no_root(void **state)
{
	scoll_request_t *request;
	scoll_group_t *group;
	struct cast cast;

	cast_init_sealed(&cast, 3, SCOLL_TREE_FLAT);
	cast.members[1].is_no_root = true;
	group = cast_group(&cast, 1, 0, 3);
	request = cast_request(&cast, 1, group, "x", 1, 0, 0);
	assert_int_equal(scoll_core_bcast_send(request, cast.now_ns), -EPERM);
	assert_int_equal(cast.sends, 0);
	cast.members[1].is_no_root = false;
	cast_send(&cast, request);
	cast_run(&cast);
	assert_string_equal(cast.members[1].failures, "");
	cast_finish(&cast, group);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			forged_broadcast_S02_takes_no_number_of_its_root),
		cmocka_unit_test(forged_start_S02_is_none_of_its_root),
		cmocka_unit_test(forged_last_ends_no_group),
		cmocka_unit_test(signature_of_one_root_is_none_of_another),
		cmocka_unit_test(member_that_signs_nothing_is_no_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
