/* SPDX-License-Identifier: BSD-3-Clause */
/* Orders of the manager besides APPLY and REVOKE. */
#include "lanes/node/guard/core.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/node/guard/test/fake.h"

static int hello(struct world *world, const uint8_t nonce[NONCE_SIZE],
		 const char *node, uint8_t cluster)
{
	struct hello_body body = { .node = "" };
	struct writer writer = { 0 };
	int result;

	strcpy(body.node, node);
	memcpy(body.nonce, nonce, NONCE_SIZE);
	memset(body.cluster, cluster, CLUSTER_ID_SIZE);
	assert_int_equal(hello_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_HELLO, 0, &writer);
	writer_fini(&writer);
	assert_false(world->has_confirm);
	return result;
}

static void hello_has_to_answer_the_last_registration(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_REGISTER };
	struct registration first, second;

	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(registration_open(&world->master, 1, request.nonce,
					   world->reply.bytes,
					   world->reply.size, &first),
			 0);
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(registration_open(&world->master, 1, request.nonce,
					   world->reply.bytes,
					   world->reply.size, &second),
			 0);
	assert_int_equal(hello(world, first.node_nonce, FAKE_NODE, 9), -ESTALE);
	assert_int_equal(hello(world, second.node_nonce, "n2", 9), -EPERM);
	assert_int_equal(hello(world, second.node_nonce, FAKE_NODE, 8), -EPERM);
	assert_int_equal(hello(world, second.node_nonce, FAKE_NODE, 9), 0);
	assert_int_equal(world->reply.op, COMMAND_HELLO);
	assert_int_equal(hello(world, second.node_nonce, FAKE_NODE, 9),
			 -ESTALE);
	registration_fini(&first);
	registration_fini(&second);
}

static void query_is_answered_by_the_agent_with_the_guards_word(void **state)
{
	struct world *world = *state;
	struct query_body body = { .nodes = "n1", .what = QUERY_DEVICES };
	struct guard_request request = {
		.type = GUARD_ANSWER,
		.bytes = (const uint8_t *)"{}",
		.size = 2,
	};
	struct writer writer = { 0 };

	assert_int_equal(query_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_QUERY, 0, &writer), 0);
	writer_fini(&writer);
	assert_false(world->has_confirm);
	assert_int_equal(world->reply.op, COMMAND_QUERY);
	assert_int_equal(world->reply.what, QUERY_DEVICES);
	assert_int_equal(world->reply.sequence, world->sequence);
	request.number = world->sequence;
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->confirm.op, COMMAND_QUERY);
	assert_int_equal(world->confirm.sequence, world->sequence);
	assert_int_equal(world->confirm.answer_size, 2);
	assert_int_equal(world_ask(world, &request), -ENOENT);
}

static void answer_to_an_apply_cannot_be_made_up(void **state)
{
	struct world *world = *state;
	struct guard_request request = { .type = GUARD_ANSWER };

	assert_int_equal(world_apply(world, 7), 0);
	request.number = world->sequence;
	assert_int_equal(world_ask(world, &request), -ENOENT);
}

static void query_for_other_nodes_is_refused(void **state)
{
	struct world *world = *state;
	struct query_body body = { .nodes = "n2", .what = QUERY_DEVICES };
	struct writer writer = { 0 };

	assert_int_equal(query_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_QUERY, 0, &writer),
			 -EPERM);
	writer_fini(&writer);
	assert_true(world->has_confirm);
}

static void too_many_questions_forget_the_oldest(void **state)
{
	struct world *world = *state;
	struct clean_body body = { .nodes = "n[0-9]", .is_all = true };
	struct guard_request request = { .type = GUARD_ANSWER };
	struct writer writer = { 0 };

	assert_int_equal(clean_body_encode(&body, &writer), 0);
	for (int i = 0; i < 17; i++) {
		assert_int_equal(
			world_command(world, COMMAND_CLEAN, 0, &writer), 0);
		assert_true(world->reply.is_all);
		assert_false(world->reply.is_dry_run);
	}
	writer_fini(&writer);
	request.number = world->sequence - 16;
	assert_int_equal(world_ask(world, &request), -ENOENT);
	request.number++;
	assert_int_equal(world_ask(world, &request), 0);
	assert_int_equal(world->confirm.op, COMMAND_CLEAN);
}

static int drain(struct world *world, const char *node, bool is_drained)
{
	struct drain_body body = { .is_drained = is_drained, .reason = "why" };
	struct writer writer = { 0 };
	int result;

	strcpy(body.node, node);
	assert_int_equal(drain_body_encode(&body, &writer), 0);
	result = world_command(world, COMMAND_DRAIN, 0, &writer);
	writer_fini(&writer);
	return result;
}

static void drain_that_comes_late_is_ignored(void **state)
{
	struct world *world = *state;

	world->sequence = 10;
	assert_int_equal(drain(world, FAKE_NODE, true), 0);
	assert_true(world->reply.is_drained);
	assert_string_equal(world->reply.text, "why");
	world->sequence = 9;
	assert_int_equal(drain(world, FAKE_NODE, false), -ESTALE);
	world->sequence = 20;
	assert_int_equal(drain(world, "n2", false), -EPERM);
	assert_int_equal(drain(world, FAKE_NODE, false), 0);
	assert_false(world->reply.is_drained);
	/* Another manager counts from the start. */
	world->epoch++;
	world->sequence = 0;
	assert_int_equal(drain(world, FAKE_NODE, true), 0);
}

static void lease_body(const char *nodes, uint32_t lease_s,
		       struct writer *ret_writer)
{
	struct lease_body body = { .nodes = nodes, .lease_s = lease_s };

	*ret_writer = (struct writer){ 0 };
	assert_int_equal(lease_body_encode(&body, ret_writer), 0);
}

static int lease(struct world *world, const char *nodes)
{
	struct writer writer;
	int result;

	lease_body(nodes, 30, &writer);
	result = world_command(world, COMMAND_LEASE, 0, &writer);
	writer_fini(&writer);
	return result;
}

static void lease_is_answered_and_its_length_shown(void **state)
{
	struct world *world = *state;

	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_int_equal(world->reply.op, COMMAND_LEASE);
	assert_int_equal(world->reply.lease_s, 30);
	assert_true(world->has_confirm);
	assert_int_equal(world->confirm.op, COMMAND_LEASE);
	assert_int_equal(world->confirm.result, 0);
	assert_int_equal(world->confirm.answer_size, 0);
}

/* So that no user reaches a lane for longer than to the next lease. */
static void lease_has_drivers_look_after_their_lanes(void **state)
{
	struct world *world = *state;

	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_string_equal(world->reply.text, "");
	world->tend_result = 1;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_string_equal(world->reply.text, "it had gone, and is back");
	/* Logged here; the manager's answer is combined with others. */
	assert_string_equal(world->confirm.reason, "");
	world->tend_result = -EIO;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_string_equal(world->reply.text, "it cannot be made");
}

static void lease_shows_that_the_node_has_moved(void **state)
{
	struct registration registration;
	struct world *world = *state;

	world->place = (struct fairlead_place){ .size = 2, .bytes = "a" };
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
	world->place.bytes[0] = 'b';
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_true(world->reply.has_moved);
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
}

/* The manager counts nodes by it. */
static void lease_shows_that_the_level_has_changed(void **state)
{
	struct registration registration;
	struct guard_request look = { .type = GUARD_DRIVERS };
	struct world *world = *state;

	world->summary = "enforcement nft+bpf, refused nothing";
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	world->summary = "enforcement nft+bpf, refused: send 1";
	world->tend_result = 1;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
	world->summary = "enforcement nft, refused: send 1";
	world->tend_result = -EIO;
	/* Whoever looks at the node tells no manager. */
	assert_int_equal(world_ask(world, &look), 0);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_true(world->reply.has_moved);
	assert_int_equal(world_register(world, &registration), 0);
	registration_fini(&registration);
	assert_int_equal(lease(world, "n[0-9]"), 0);
	assert_false(world->reply.has_moved);
}

/* Whoever plays an old one back cannot make a manager seem alive. */
static void lease_that_comes_late_is_stale(void **state)
{
	struct world *world = *state;
	struct writer body, first, second;

	lease_body("n[0-9]", 30, &body);
	world_seal(world, COMMAND_LEASE, 0, &body, &first);
	world_seal(world, COMMAND_LEASE, 0, &body, &second);
	assert_int_equal(world_replay(world, second.data, second.size), 0);
	assert_int_equal(world_replay(world, first.data, first.size), -ESTALE);
	assert_int_equal(world->reply.lease_s, 0);
	assert_int_equal(world->confirm.result, -ESTALE);
	/* The answer to it was lost. */
	assert_int_equal(world_replay(world, second.data, second.size), 0);
	assert_int_equal(world->reply.lease_s, 30);
	/* Another manager counts from the start. */
	world->epoch++;
	world->sequence = 0;
	assert_int_equal(lease(world, "n[0-9]"), 0);
	writer_fini(&body);
	writer_fini(&first);
	writer_fini(&second);
}

static void lease_for_other_nodes_is_refused(void **state)
{
	struct world *world = *state;

	assert_int_equal(lease(world, "n[2-9]"), -EPERM);
	assert_int_equal(world->reply.lease_s, 0);
	assert_int_equal(world->confirm.result, -EPERM);
}

static void acknowledgement_for_another_node_is_refused(void **state)
{
	struct world *world = *state;
	struct ack_body body = { .node = "n2" };
	struct writer writer = { 0 };

	assert_int_equal(world_apply(world, 7), 0);
	assert_int_equal(world_request(world, GUARD_REVOKE, 7), 0);
	world_request(world, GUARD_PENDING, 0);
	body.sequence = world->reply.sequence;
	assert_int_equal(ack_body_encode(&body, &writer), 0);
	assert_int_equal(world_command(world, COMMAND_ACK, 0, &writer), -EPERM);
	writer_fini(&writer);
	assert_int_equal(world->reply.pending_count, 1);
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		TEST(hello_has_to_answer_the_last_registration),
		TEST(query_is_answered_by_the_agent_with_the_guards_word),
		TEST(answer_to_an_apply_cannot_be_made_up),
		TEST(query_for_other_nodes_is_refused),
		TEST(too_many_questions_forget_the_oldest),
		TEST(drain_that_comes_late_is_ignored),
		TEST(lease_is_answered_and_its_length_shown),
		TEST(lease_has_drivers_look_after_their_lanes),
		TEST(lease_shows_that_the_node_has_moved),
		TEST(lease_shows_that_the_level_has_changed),
		TEST(lease_that_comes_late_is_stale),
		TEST(lease_for_other_nodes_is_refused),
		TEST(acknowledgement_for_another_node_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
