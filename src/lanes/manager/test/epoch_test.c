/* SPDX-License-Identifier: BSD-3-Clause */
/* Proofs of another epoch, and the end that they put to a manager. */
#include "bed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

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
	bed_node_refused(&node, "stopped");
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
	bed_node_refused(&node, "stopped");
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
	bed_node_state(bed, "n0", "up");
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
	bed_node_state(bed, "n0", "up");
}

int main(void)
{
#define TEST(name) \
	cmocka_unit_test_setup_teardown(name, bed_set_up, bed_tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_proven_higher_epoch_stops_the_manager),
		TEST(a_recovery_overcomes_the_halt),
		TEST(another_life_of_the_same_epoch_stops_the_manager),
		TEST(a_lower_epoch_and_our_own_are_no_news),
		TEST(a_claim_without_a_proof_is_ignored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
