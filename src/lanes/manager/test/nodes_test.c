/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration, and confirmations that nobody asked for. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

static void a_node_registers_and_is_greeted(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_state(bed, "n3", "down");
	bed_node_up(bed, "n3", &node);
	bed_node_state(bed, "n3", "up");
	assert_false(bed_was_closed(&bed->nodes, node.peer));
}

static void a_node_with_the_wrong_key_is_refused(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct bed_node other;

	bed_node_connect(bed, "n1", &other);
	bed_node_connect(bed, "n0", &node);
	node.key = other.key;
	bed_node_send_register(&node);
	bed_node_refused(&node, "not signed with this node's key");
	bed_node_state(bed, "n0", "down");
	bed_node_reconnect(&other);
	other.key.id += 100;
	bed_node_send_register(&other);
	bed_node_refused(&other, "a key that the manager does not have");
}

static void refusals_do_not_fill_the_log(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	unsigned int before;

	bed_node_connect(bed, "x0", &node);
	bed_node_send_register(&node);
	before = bed->warning_count;
	assert_int_equal(before, 1);
	for (int i = 0; i < 100; i++) {
		engine_node_closed(bed->engine, node.peer);
		bed_node_reconnect(&node);
		bed_node_send_register(&node);
	}
	assert_true(bed->warning_count < 30);
	bed_advance(bed, 60000);
	before = bed->warning_count;
	engine_node_closed(bed->engine, node.peer);
	bed_node_reconnect(&node);
	bed_node_send_register(&node);
	/* How many there were, and the new one. */
	assert_int_equal(bed->warning_count, before + 2);
}

static void an_unknown_node_is_refused(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_connect(bed, "x0", &node);
	bed_node_send_register(&node);
	bed_node_refused(&node, "x0");
}

static void a_replayed_registration_fences_nothing(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct bed_node attacker;
	uint8_t *bytes;
	size_t size;

	bed_node_connect(bed, "n0", &node);
	bytes = bed_node_register_frame(&node, &size);
	bed_node_receive(&node, bytes, size);
	bed_commit(bed);
	/* Again on the same connection: its nonce was good once. */
	bed_node_receive(&node, bytes, size);
	assert_int_equal(bed->commit_count, 0);
	assert_int_equal(bed_node_frames(&node), 1);
	/* On another connection: that one has a nonce of its own. */
	bed_node_connect(bed, "n0", &attacker);
	bed_node_receive(&attacker, bytes, size);
	bed_node_refused(&attacker, "another challenge");
	bed_node_state(bed, "n0", "up");
	assert_false(bed_was_closed(&bed->nodes, node.peer));
	free(bytes);
}

static void the_second_connection_wins_when_it_has_proven_itself(void **state)
{
	struct bed *bed = *state;
	struct bed_node first;
	struct bed_node second;

	bed_node_up(bed, "n0", &first);
	second = first;
	bed_node_reconnect(&second);
	assert_false(bed_was_closed(&bed->nodes, first.peer));
	bed_node_register(&second);
	bed_node_refused(&first, "another connection");
	engine_node_closed(bed->engine, first.peer);
	bed_node_state(bed, "n0", "up");
	/* It is the one machine in the one place. */
	assert_int_equal(bed->address_count, 1);
	assert_int_equal(bed->forget_count, 0);
}

static void a_node_without_an_endpoint_is_refused(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_connect(bed, "n0", &node);
	node.registration.address_size = 0;
	bed_node_send_register(&node);
	bed_node_refused(&node, "no endpoint for collectives");
	bed_node_state(bed, "n0", "down");
	assert_int_equal(bed->address_count, 0);
}

static void a_registration_that_is_late_fences_nothing(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	struct bed_node older, newer;
	uint64_t grant_id;
	uint8_t *late;
	size_t size;

	/* It crashes with its REGISTER on the way, and the next boot is
	 * quicker than that. */
	bed_node_connect(bed, "n0", &older);
	late = bed_node_register_frame(&older, &size);
	bed_node_connect(bed, "n0", &newer);
	newer.incarnation[0] ^= 0xff;
	bed_node_register(&newer);
	grant_id = bed_reserve(bed, client, "slurm/1/0", "n0");
	bed_ask(bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	bed_node_obey(&newer, COMMAND_APPLY, 0);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	bed_node_receive(&older, late, size);
	free(late);
	bed_commit(bed);
	bed_node_refused(&older, "late");
	assert_false(bed_was_closed(&bed->nodes, newer.peer));
	/* The lane is still there to be revoked, and is. */
	bed_ask(bed, client, "release", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	assert_null(bed_answer(bed, client));
	bed_node_obey(&newer, COMMAND_REVOKE, 0);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
}

static void malformed_frames_cost_the_connection(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{ "\0", 1 },           { "\377", 1 },       { "\2", 1 },
		{ "\2\1\0\0\0\0", 6 }, { "\1", 1 },         { "\3abc", 4 },
		{ "\5x", 2 },          { "\7\0\0\0\0", 5 },
	};
	struct bed *bed = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bed_node node;

		bed_node_connect(bed, "n0", &node);
		bed_node_receive(&node, cases[i].bytes, cases[i].size);
		if (!bed_was_closed(&bed->nodes, node.peer))
			fail_msg("case %zu", i);
	}
}

static void an_own_confirmation_is_acknowledged(void **state)
{
	struct bed *bed = *state;
	struct confirm confirm = { .version = WIRE_VERSION };
	struct command command;
	union command_body body;
	struct bed_node node;
	uint8_t *bytes;

	bed_node_up(bed, "n0", &node);
	strcpy(confirm.node, "n0");
	memcpy(confirm.incarnation, node.incarnation, INCARNATION_SIZE);
	confirm.grant_id = 17;
	confirm.sequence = 4711;
	bed_node_confirm(&node, &confirm);
	bed_commit(bed);
	assert_true(bed_node_command(&node, &command, &bytes));
	assert_int_equal(command.op, COMMAND_ACK);
	assert_int_equal(command_body_decode(COMMAND_ACK, command.body,
					     command.body_size, &body),
			 0);
	assert_int_equal(body.ack.sequence, 4711);
	assert_string_equal(body.ack.node, "n0");
	free(bytes);
}

static void a_forged_confirmation_is_not_acknowledged(void **state)
{
	struct bed *bed = *state;
	struct confirm confirm = { .version = WIRE_VERSION };
	struct bed_node node;
	struct bed_node other;

	bed_node_up(bed, "n0", &node);
	bed_node_up(bed, "n1", &other);
	strcpy(confirm.node, "n0");
	memcpy(confirm.incarnation, node.incarnation, INCARNATION_SIZE);
	confirm.grant_id = 17;
	confirm.sequence = 4711;
	/* n1 speaks for n0, with its own key. */
	bed_node_confirm(&other, &confirm);
	bed_commit(bed);
	assert_int_equal(bed_node_frames(&node), 0);
	assert_int_equal(bed_node_frames(&other), 0);
	assert_false(bed_was_closed(&bed->nodes, other.peer));
}

static void other_keys_of_the_cluster_are_taken_live(void **state)
{
	struct bed *bed = *state;
	struct rng_seam rng = sim_rng_seam(&bed->rng);
	struct manager_keys foreign;
	struct fairlead_error error;
	struct bed_node old;
	struct bed_node new;

	bed_node_connect(bed, "n0", &old);
	assert_int_equal(manager_keys_rotate(&bed->keys, &rng, &error), 0);
	assert_int_equal(manager_keys_activate(&bed->keys, &error), 0);
	bed_node_connect(bed, "n1", &new);
	assert_int_equal(engine_rekey(bed->engine, &bed->keys, &error), 1);
	bed_node_register(&new);
	bed_node_register(&old);
	assert_int_equal(manager_keys_retire(&bed->keys, &error), 0);
	assert_int_equal(engine_rekey(bed->engine, &bed->keys, &error), 1);
	assert_int_equal(engine_rekey(bed->engine, &bed->keys, &error), 0);
	bed_node_reconnect(&old);
	bed_node_send_register(&old);
	bed_node_refused(&old, "a key that the manager does not have");
	manager_keys_create(&rng, &foreign);
	assert_int_equal(engine_rekey(bed->engine, &foreign, &error), -EINVAL);
	manager_keys_fini(&foreign);
}

static void reconfigure(struct bed *bed, const char *nodes)
{
	uint64_t client = bed_client(bed, BED_ROOT);

	bed->reconfigure_nodes = nodes;
	bed_ask(bed, client, "reconfigure", NULL);
	bed_commit(bed);
	bed_expect_done(bed, client, 0);
	engine_client_closed(bed->engine, client);
}

static void a_node_that_left_registers_when_it_is_back(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	struct bed_node other;

	bed_node_up(bed, "n3", &node);
	bed_node_up(bed, "n4", &other);
	reconfigure(bed, "n[0-2,4-9]");
	bed_node_refused(&node, "left the manager's configuration");
	assert_false(bed_was_closed(&bed->nodes, other.peer));
	engine_node_closed(bed->engine, node.peer);
	reconfigure(bed, "n[0-9]");
	bed_node_state(bed, "n3", "down");
	bed_node_reconnect(&node);
	bed_node_register(&node);
	bed_node_state(bed, "n3", "up");
	bed_node_state(bed, "n4", "up");
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_node_registers_and_is_greeted),
		TEST(a_node_with_the_wrong_key_is_refused),
		TEST(refusals_do_not_fill_the_log),
		TEST(an_unknown_node_is_refused),
		TEST(a_replayed_registration_fences_nothing),
		TEST(the_second_connection_wins_when_it_has_proven_itself),
		TEST(a_node_without_an_endpoint_is_refused),
		TEST(a_registration_that_is_late_fences_nothing),
		TEST(malformed_frames_cost_the_connection),
		TEST(an_own_confirmation_is_acknowledged),
		TEST(a_forged_confirmation_is_not_acknowledged),
		TEST(other_keys_of_the_cluster_are_taken_live),
		TEST(a_node_that_left_registers_when_it_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
