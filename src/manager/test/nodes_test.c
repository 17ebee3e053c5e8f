/* SPDX-License-Identifier: BSD-3-Clause */
/* Registration, leases, epochs, and confirmations that nobody asked for. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "manager/wire/client.h"

/* The node was told why, and its connection was closed. */
static void assert_refused(struct bed_node *node, const char *words)
{
	struct refuse refuse;
	size_t size;
	uint8_t *bytes = bed_node_take(node, FRAME_REFUSE, &size);

	assert_non_null(bytes);
	assert_int_equal(refuse_decode(bytes, size, &refuse), 0);
	if (strstr(refuse.text, words) == NULL)
		fail_msg("'%s' has no '%s'", refuse.text, words);
	assert_true(bed_was_closed(&node->bed->nodes, node->peer));
	free(bytes);
}

static void assert_node_state(struct bed *bed, const char *name,
			      const char *state)
{
	json_t *node = bed_node_shown(bed, name);

	assert_string_equal(json_string_value(json_object_get(node, "state")),
			    state);
	json_decref(node);
}

static void a_node_registers_and_is_greeted(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	assert_node_state(bed, "n3", "down");
	bed_node_up(bed, "n3", &node);
	assert_node_state(bed, "n3", "up");
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
	assert_refused(&node, "not signed with this node's key");
	assert_node_state(bed, "n0", "down");
	bed_node_reconnect(&other);
	other.key.id += 100;
	bed_node_send_register(&other);
	assert_refused(&other, "a key that the manager does not have");
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
	assert_refused(&node, "x0");
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
	assert_refused(&attacker, "another challenge");
	assert_node_state(bed, "n0", "up");
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
	assert_refused(&first, "another connection");
	engine_node_closed(bed->engine, first.peer);
	assert_node_state(bed, "n0", "up");
	engine_node_closed(bed->engine, second.peer);
	assert_node_state(bed, "n0", "down");
}

static void a_node_that_closes_is_down(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_up(bed, "n0", &node);
	engine_node_closed(bed->engine, node.peer);
	assert_node_state(bed, "n0", "down");
	bed_node_reconnect(&node);
	bed_node_register(&node);
	assert_node_state(bed, "n0", "up");
}

static void a_silent_node_is_pinged_and_then_down(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;
	size_t size;

	bed_node_up(bed, "n0", &node);
	bed_advance(bed, ENGINE_PING_MS + 1000);
	free(bed_node_take(&node, FRAME_PING, &size));
	assert_int_equal(size, 0);
	bed_advance(bed, ENGINE_LEASE_MS - ENGINE_PING_MS - 2000);
	assert_false(bed_was_closed(&bed->nodes, node.peer));
	assert_node_state(bed, "n0", "up");
	bed_advance(bed, 2000);
	assert_true(bed_was_closed(&bed->nodes, node.peer));
	assert_node_state(bed, "n0", "down");
}

static void a_node_that_answers_pings_stays_up(void **state)
{
	static const uint8_t pong = FRAME_PONG;
	struct bed *bed = *state;
	struct bed_node node;
	size_t size;

	bed_node_up(bed, "n0", &node);
	for (int i = 0; i < 10; i++) {
		uint8_t *bytes;

		bed_advance(bed, ENGINE_PING_MS + 1000);
		bytes = bed_node_take(&node, FRAME_PING, &size);
		assert_non_null(bytes);
		free(bytes);
		bed_node_receive(&node, &pong, 1);
	}
	assert_node_state(bed, "n0", "up");
}

static void a_ping_is_answered(void **state)
{
	static const uint8_t ping = FRAME_PING;
	struct bed *bed = *state;
	struct bed_node node;
	uint8_t *bytes;
	size_t size;

	bed_node_connect(bed, "n0", &node);
	bed_node_receive(&node, &ping, 1);
	bytes = bed_node_take(&node, FRAME_PONG, &size);
	assert_non_null(bytes);
	free(bytes);
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
	assert_refused(&older, "late");
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

static void who_does_not_register_in_time_is_let_go(void **state)
{
	struct bed *bed = *state;
	struct bed_node node;

	bed_node_connect(bed, "n0", &node);
	bed_advance(bed, ENGINE_CHALLENGE_MS - 1000);
	assert_false(bed_was_closed(&bed->nodes, node.peer));
	bed_advance(bed, 2000);
	assert_refused(&node, "took too long");
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

/* An epoch proof under the manager's own key. */
static void make_proof(struct bed *bed, const struct command_key *key,
		       uint64_t epoch, uint64_t life,
		       uint8_t ret_proof[COMMAND_HEADER_SIZE])
{
	struct command command = {
		.version = WIRE_VERSION,
		.op = COMMAND_HELLO,
		.epoch = epoch,
		.life = life,
		.sequence = 1,
	};
	struct writer writer = { 0 };

	assert_int_equal(command_seal(key, &command, &writer), 0);
	memcpy(ret_proof, writer.data, COMMAND_HEADER_SIZE);
	writer_fini(&writer);
}

static void register_with_proof(struct bed_node *node,
				const uint8_t proof[COMMAND_HEADER_SIZE])
{
	node->registration.proof = proof;
	node->registration.proof_size = COMMAND_HEADER_SIZE;
	bed_node_send_register(node);
	bed_commit(node->bed);
}

static void assert_halted(struct bed *bed)
{
	uint64_t root = bed_client(bed, BED_ROOT);
	json_t *answer;
	struct bed_node node = { .bed = bed };

	assert_true(engine_is_halted(bed->engine));
	bed_ask(bed, root, "reserve", "{s:{s:s, s:i, s:i, s:s}}", "request",
		"key", "slurm/1/0", "uid", BED_USER, "gid", BED_USER, "nodes",
		"n0");
	answer = bed_expect(bed, root, -ESTALE);
	assert_non_null(strstr(
		json_string_value(json_object_get(answer, "hint")), "recover"));
	json_decref(answer);
	bed_ask(bed, root, "status", NULL);
	answer = bed_expect(bed, root, 0);
	assert_true(json_is_true(json_object_get(answer, "halted")));
	json_decref(answer);
	node.peer = ++bed->peer_last;
	engine_node_opened(bed->engine, node.peer, "test");
	assert_refused(&node, "stopped");
}

static void a_proven_higher_epoch_stops_the_manager(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_SUBMITTER);
	uint8_t proof[COMMAND_HEADER_SIZE];
	struct command_key key;
	struct bed_node node;
	struct bed_node other;
	uint64_t grant_id;

	bed_node_up(bed, "n1", &other);
	grant_id = bed_reserve(bed, client, "slurm/7/0", "n1");
	bed_ask(bed, client, "apply", "{s:I}", "grant_id",
		(json_int_t)grant_id);
	bed_commit(bed);
	manager_keys_command(&bed->keys, &key);
	make_proof(bed, &key, BED_EPOCH + 5, 99, proof);
	bed_node_connect(bed, "n0", &node);
	register_with_proof(&node, proof);
	bed_expect_done(bed, client, -ESTALE);
	assert_refused(&node, "stopped");
	assert_halted(bed);
	/* It is remembered, or each start would come closer to that epoch. */
	bed_crash(bed);
	bed_start(bed, BED_EPOCH + 1, false);
	assert_halted(bed);
}

static void a_recovery_overcomes_the_halt(void **state)
{
	struct bed *bed = *state;
	uint8_t proof[COMMAND_HEADER_SIZE];
	struct command_key key;
	struct bed_node node;

	manager_keys_command(&bed->keys, &key);
	make_proof(bed, &key, BED_EPOCH + 5, 99, proof);
	bed_node_connect(bed, "n0", &node);
	register_with_proof(&node, proof);
	assert_true(engine_is_halted(bed->engine));
	bed_crash(bed);
	bed_start(bed, BED_EPOCH + 6, true);
	assert_false(engine_is_halted(bed->engine));
	bed_node_reconnect(&node);
	bed_node_register(&node);
	bed_crash(bed);
	bed_start(bed, BED_EPOCH + 7, false);
	assert_false(engine_is_halted(bed->engine));
}

static void another_life_of_the_same_epoch_stops_the_manager(void **state)
{
	struct bed *bed = *state;
	uint8_t proof[COMMAND_HEADER_SIZE];
	struct command_key key;
	struct bed_node node;

	manager_keys_command(&bed->keys, &key);
	make_proof(bed, &key, BED_EPOCH, 99, proof);
	bed_node_connect(bed, "n0", &node);
	register_with_proof(&node, proof);
	assert_halted(bed);
}

static void a_lower_epoch_and_our_own_are_no_news(void **state)
{
	struct bed *bed = *state;
	uint8_t proof[COMMAND_HEADER_SIZE];
	struct command command;
	struct command_key key;
	struct bed_node node;
	uint8_t *bytes;

	manager_keys_command(&bed->keys, &key);
	make_proof(bed, &key, BED_EPOCH - 1, 99, proof);
	bed_node_connect(bed, "n0", &node);
	register_with_proof(&node, proof);
	assert_true(bed_node_command(&node, &command, &bytes));
	memcpy(proof, bytes, COMMAND_HEADER_SIZE);
	free(bytes);
	bed_node_reconnect(&node);
	register_with_proof(&node, proof);
	assert_false(engine_is_halted(bed->engine));
	assert_node_state(bed, "n0", "up");
}

static void a_claim_without_a_proof_is_ignored(void **state)
{
	struct bed *bed = *state;
	uint8_t seed[KEY_SIZE] = { 1 };
	uint8_t proof[COMMAND_HEADER_SIZE];
	struct command_key key;
	struct bed_node node;

	manager_keys_command(&bed->keys, &key);
	command_key_derive(key.id, seed, &key);
	make_proof(bed, &key, BED_EPOCH + 1000000, 99, proof);
	bed_node_connect(bed, "n0", &node);
	register_with_proof(&node, proof);
	assert_false(engine_is_halted(bed->engine));
	assert_node_state(bed, "n0", "up");
}

static void an_own_confirmation_is_acknowledged(void **state)
{
	struct bed *bed = *state;
	struct confirm confirm = { .version = WIRE_VERSION };
	struct command command;
	struct ack_body body;
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
	assert_int_equal(ack_body_decode(command.body, command.body_size,
					 command.version, &body),
			 0);
	assert_int_equal(body.sequence, 4711);
	assert_string_equal(body.node, "n0");
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
	assert_refused(&old, "a key that the manager does not have");
	manager_keys_create(&rng, &foreign);
	assert_int_equal(engine_rekey(bed->engine, &foreign, &error), -EINVAL);
	manager_keys_fini(&foreign);
}

static void node_list_says_when_a_node_was_heard(void **state)
{
	struct bed *bed = *state;
	uint64_t client = bed_client(bed, BED_ROOT);
	struct bed_node node;
	json_t *answer;
	json_t *first;
	json_t *second;

	bed_node_up(bed, "n0", &node);
	bed_advance(bed, 1234);
	bed_ask(bed, client, "node-list", NULL);
	answer = bed_expect(bed, client, 0);
	first = json_array_get(json_object_get(answer, "nodes"), 0);
	second = json_array_get(json_object_get(answer, "nodes"), 1);
	assert_int_equal(json_integer_value(json_object_get(first, "heard_ms")),
			 1234);
	assert_null(json_object_get(second, "heard_ms"));
	json_decref(answer);
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
	assert_refused(&node, "left the manager's configuration");
	assert_false(bed_was_closed(&bed->nodes, other.peer));
	engine_node_closed(bed->engine, node.peer);
	reconfigure(bed, "n[0-9]");
	assert_node_state(bed, "n3", "down");
	bed_node_reconnect(&node);
	bed_node_register(&node);
	assert_node_state(bed, "n3", "up");
	assert_node_state(bed, "n4", "up");
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
		TEST(a_node_that_closes_is_down),
		TEST(a_silent_node_is_pinged_and_then_down),
		TEST(a_node_that_answers_pings_stays_up),
		TEST(a_ping_is_answered),
		TEST(a_registration_that_is_late_fences_nothing),
		TEST(who_does_not_register_in_time_is_let_go),
		TEST(malformed_frames_cost_the_connection),
		TEST(a_proven_higher_epoch_stops_the_manager),
		TEST(a_recovery_overcomes_the_halt),
		TEST(another_life_of_the_same_epoch_stops_the_manager),
		TEST(a_lower_epoch_and_our_own_are_no_news),
		TEST(a_claim_without_a_proof_is_ignored),
		TEST(an_own_confirmation_is_acknowledged),
		TEST(a_forged_confirmation_is_not_acknowledged),
		TEST(other_keys_of_the_cluster_are_taken_live),
		TEST(node_list_says_when_a_node_was_heard),
		TEST(a_node_that_left_registers_when_it_is_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
