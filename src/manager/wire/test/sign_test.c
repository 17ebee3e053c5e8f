/* SPDX-License-Identifier: BSD-3-Clause */
#include "manager/wire/sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "manager/wire/test/golden.h"
#include "manager/wire/test/samples.h"

#define VERSION 1

/* The sample command of an op, as bytes. */
static void seal(enum command_op op, struct writer *writer)
{
	enum sample sample = SAMPLE_HELLO + (op - COMMAND_HELLO);
	struct writer body = { 0 };
	struct command command;
	struct sample_keys keys;

	sample_keys_init(&keys);
	assert_int_equal(sample_encode(sample, VERSION, &body), 0);
	sample_command(op, VERSION, &command);
	command.body = body.data;
	command.body_size = body.size;
	assert_int_equal(command_seal(&keys.command, &command, writer), 0);
	writer_fini(&body);
}

static int verify(const uint8_t *bytes, size_t size)
{
	struct command command;
	struct sample_keys keys;

	sample_keys_init(&keys);
	return command_verify(bytes, size, &keys.public, 1, &command);
}

static void keys_are_derived_as_the_document_says(void **state)
{
	struct sample_keys keys;
	_auto_(freep) uint8_t *public = NULL;
	_auto_(freep) uint8_t *node = NULL;
	size_t size;

	sample_keys_init(&keys);
	public = sample_unhex(golden_public, &size);
	assert_int_equal(size, KEY_SIZE);
	assert_memory_equal(keys.public.bytes, public, KEY_SIZE);
	node = sample_unhex(golden_node_key, &size);
	assert_int_equal(size, KEY_SIZE);
	assert_memory_equal(keys.node.bytes, node, KEY_SIZE);
	assert_int_equal(keys.node.id, SAMPLE_KEY_ID);
	assert_int_equal(keys.public.id, SAMPLE_KEY_ID);
}

static void nodes_have_different_keys(void **state)
{
	struct sample_keys keys;
	struct node_key other;

	sample_keys_init(&keys);
	node_key_derive(&keys.master, "n4", &other);
	assert_memory_not_equal(keys.node.bytes, other.bytes, KEY_SIZE);
}

static void secrets_are_wiped(void **state)
{
	static const struct sample_keys wiped;
	struct sample_keys keys;

	sample_keys_init(&keys);
	command_key_fini(&keys.command);
	node_master_fini(&keys.master);
	node_key_fini(&keys.node);
	assert_memory_equal(&keys.command, &wiped.command,
			    sizeof(wiped.command));
	assert_memory_equal(&keys.master, &wiped.master, sizeof(wiped.master));
	assert_memory_equal(&keys.node, &wiped.node, sizeof(wiped.node));
}

static void commands_have_the_golden_bytes(void **state)
{
	for (enum command_op op = COMMAND_HELLO; op <= COMMAND_OP_MAX; op++) {
		struct writer writer = { 0 };
		_auto_(freep) uint8_t *golden = NULL;
		size_t size;

		seal(op, &writer);
		golden = sample_unhex(golden_commands_v1[op - COMMAND_HELLO],
				      &size);
		assert_int_equal(writer.size, size);
		assert_memory_equal(writer.data, golden, size);
		assert_int_equal(verify(golden, size), 0);
		writer_fini(&writer);
	}
}

static void command_comes_back_as_it_was(void **state)
{
	struct command sent, got;
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_command(COMMAND_APPLY, VERSION, &sent);
	sent.body = (const uint8_t *)"body";
	sent.body_size = 4;
	assert_int_equal(command_seal(&keys.command, &sent, &writer), 0);
	assert_int_equal(writer.size, COMMAND_HEADER_SIZE + 4);
	assert_int_equal(command_verify(writer.data, writer.size, &keys.public,
					1, &got),
			 0);
	assert_int_equal(got.version, VERSION);
	assert_int_equal(got.op, COMMAND_APPLY);
	assert_int_equal(got.key_id, SAMPLE_KEY_ID);
	assert_int_equal(got.epoch, sent.epoch);
	assert_int_equal(got.life, sent.life);
	assert_int_equal(got.sequence, sent.sequence);
	assert_int_equal(got.grant_id, sent.grant_id);
	assert_int_equal(got.apply_floor, sent.apply_floor);
	assert_int_equal(got.body_size, 4);
	assert_ptr_equal(got.body, writer.data + COMMAND_HEADER_SIZE);
	writer_fini(&writer);
}

static void command_may_have_an_empty_body(void **state)
{
	struct command sent, got;
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_command(COMMAND_QUERY, VERSION, &sent);
	assert_int_equal(command_seal(&keys.command, &sent, &writer), 0);
	assert_int_equal(command_verify(writer.data, writer.size, &keys.public,
					1, &got),
			 0);
	assert_int_equal(got.body_size, 0);
	writer_fini(&writer);
}

static void every_bit_flip_of_a_command_is_refused(void **state)
{
	struct writer writer = { 0 };

	seal(COMMAND_APPLY, &writer);
	assert_int_equal(verify(writer.data, writer.size), 0);
	for (size_t bit = 0; bit < 8 * writer.size; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (verify(writer.data, writer.size) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(verify(writer.data, writer.size), 0);
	writer_fini(&writer);
}

static void every_truncation_of_a_command_is_refused(void **state)
{
	struct writer writer = { 0 };

	seal(COMMAND_APPLY, &writer);
	for (size_t size = 0; size < writer.size; size++)
		assert_int_equal(verify(writer.data, size), -EBADMSG);
	write_u8(&writer, 0);
	assert_int_equal(verify(writer.data, writer.size), -EBADMSG);
	writer_fini(&writer);
}

static void command_of_another_key_is_refused(void **state)
{
	struct command_public others[3];
	struct writer writer = { 0 };
	uint8_t seed[KEY_SIZE];
	struct command got;

	sample_fill(seed, sizeof(seed), 1);
	for (uint32_t i = 0; i < 3; i++)
		command_public_derive(SAMPLE_KEY_ID + 1 + i, seed, &others[i]);
	seal(COMMAND_APPLY, &writer);
	assert_int_equal(command_verify(writer.data, writer.size, others, 3,
					&got),
			 -ENOKEY);
	assert_int_equal(command_verify(writer.data, writer.size, NULL, 0,
					&got),
			 -ENOKEY);
	/* The right id with another key behind it. */
	others[1].id = SAMPLE_KEY_ID;
	assert_int_equal(command_verify(writer.data, writer.size, others, 3,
					&got),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

static void command_is_verified_with_any_accepted_key(void **state)
{
	struct command_public keys[2];
	struct writer writer = { 0 };
	struct sample_keys ours;
	uint8_t seed[KEY_SIZE];
	struct command got;

	sample_keys_init(&ours);
	sample_fill(seed, sizeof(seed), 1);
	command_public_derive(1, seed, &keys[0]);
	keys[1] = ours.public;
	seal(COMMAND_REVOKE, &writer);
	assert_int_equal(
		command_verify(writer.data, writer.size, keys, 2, &got), 0);
	writer_fini(&writer);
}

static void header_alone_proves_epoch_and_life(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct command got;

	sample_keys_init(&keys);
	seal(COMMAND_APPLY, &writer);
	assert_int_equal(command_proof_verify(writer.data, COMMAND_HEADER_SIZE,
					      &keys.public, 1, &got),
			 0);
	assert_int_equal(got.epoch, 3);
	assert_int_equal(got.life, 0x1122334455667788);
	assert_null(got.body);
	assert_int_equal(command_proof_verify(writer.data, writer.size,
					      &keys.public, 1, &got),
			 -EBADMSG);
	for (size_t bit = 0; bit < 8 * COMMAND_HEADER_SIZE; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (command_proof_verify(writer.data, COMMAND_HEADER_SIZE,
					 &keys.public, 1, &got) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	writer_fini(&writer);
}

static void senseless_commands_are_not_signed(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct command command;

	sample_keys_init(&keys);
	sample_command(COMMAND_APPLY, VERSION, &command);
	command.grant_id = 0;
	assert_int_equal(command_seal(&keys.command, &command, &writer),
			 -EINVAL);
	sample_command(COMMAND_OP_MAX + 1, VERSION, &command);
	assert_int_equal(command_seal(&keys.command, &command, &writer),
			 -EINVAL);
	sample_command(COMMAND_QUERY, WIRE_VERSION + 1, &command);
	assert_int_equal(command_seal(&keys.command, &command, &writer),
			 -EINVAL);
	assert_int_equal(writer.size, 0);
	writer_fini(&writer);
}

/* Sign whatever stands in the first 84 bytes. */
static void resign(struct writer *writer)
{
	uint8_t message[16 + 84];
	struct sample_keys keys;

	sample_keys_init(&keys);
	memcpy(message, "fairlead command", 16);
	memcpy(message + 16, writer->data, 84);
	crypto_sign_detached(writer->data + 84, NULL, message, sizeof(message),
			     keys.command.secret);
}

static void signed_nonsense_is_refused(void **state)
{
	static const struct {
		size_t offset;
		uint8_t byte;
		int result;
	} cases[] = {
		{ 0, 'f', -EBADMSG },       /* magic */
		{ 4, 0, -EPROTONOSUPPORT }, /* version */
		{ 6, 0, -EOPNOTSUPP },      /* op */
		{ 6, COMMAND_OP_MAX + 1, -EOPNOTSUPP },
		{ 7, 1, -EBADMSG },  /* reserved */
		{ 36, 0, -EBADMSG }, /* grant id 42 */
		{ 52, 0, -EBADMSG }, /* digest */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct writer writer = { 0 };

		seal(COMMAND_APPLY, &writer);
		resign(&writer);
		assert_int_equal(verify(writer.data, writer.size), 0);
		assert_int_not_equal(writer.data[cases[i].offset],
				     cases[i].byte);
		writer.data[cases[i].offset] = cases[i].byte;
		resign(&writer);
		assert_int_equal(verify(writer.data, writer.size),
				 cases[i].result);
		writer_fini(&writer);
	}
}

static void ops_have_names(void **state)
{
	assert_string_equal(command_op_name(COMMAND_HELLO), "HELLO");
	assert_string_equal(command_op_name(COMMAND_DRAIN), "DRAIN");
	assert_string_equal(command_op_name(0), "?");
	assert_string_equal(command_op_name(COMMAND_OP_MAX + 1), "?");
}

/* --- tags --- */

static void sample_tagged(bool is_confirm, struct writer *writer)
{
	assert_int_equal(sample_encode(is_confirm ? SAMPLE_CONFIRM
						  : SAMPLE_REGISTER,
				       VERSION, writer),
			 0);
}

static int open_confirm(const struct node_master *master, const uint8_t *bytes,
			size_t size)
{
	struct confirm confirm;
	int result = confirm_open(master, 1, bytes, size, &confirm);

	if (result == 0)
		confirm_fini(&confirm);
	return result;
}

static void every_bit_flip_of_a_confirm_is_refused(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_tagged(true, &writer);
	for (size_t bit = 0; bit < 8 * writer.size; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (open_confirm(&keys.master, writer.data, writer.size) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	assert_int_equal(open_confirm(&keys.master, writer.data, writer.size),
			 0);
	writer_fini(&writer);
}

static void every_bit_flip_of_a_registration_is_refused(void **state)
{
	struct writer writer = { 0 };

	sample_tagged(false, &writer);
	for (size_t bit = 0; bit < 8 * writer.size; bit++) {
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		if (sample_open(SAMPLE_REGISTER, VERSION, writer.data,
				writer.size) >= 0)
			fail_msg("a flip of bit %zu was taken", bit);
		writer.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	writer_fini(&writer);
}

static void confirm_of_another_key_is_refused(void **state)
{
	struct writer writer = { 0 };
	struct node_master other;
	uint8_t seed[KEY_SIZE];

	sample_fill(seed, sizeof(seed), 1);
	sample_tagged(true, &writer);
	node_master_derive(SAMPLE_KEY_ID + 1, seed, &other);
	assert_int_equal(open_confirm(&other, writer.data, writer.size),
			 -ENOKEY);
	node_master_derive(SAMPLE_KEY_ID, seed, &other);
	assert_int_equal(open_confirm(&other, writer.data, writer.size),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

static void confirm_is_taken_under_each_of_the_masters(void **state)
{
	struct node_master masters[2];
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct confirm confirm;
	uint8_t seed[KEY_SIZE];

	sample_keys_init(&keys);
	sample_fill(seed, sizeof(seed), 1);
	node_master_derive(1, seed, &masters[0]);
	masters[1] = keys.master;
	sample_tagged(true, &writer);
	assert_int_equal(confirm_open(masters, 2, writer.data, writer.size,
				      &confirm),
			 0);
	confirm_fini(&confirm);
	writer_fini(&writer);
}

static void node_cannot_answer_for_another_one(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;
	struct confirm confirm;

	sample_keys_init(&keys);
	sample_confirm(VERSION, &confirm);
	strcpy(confirm.node, "n4");
	assert_int_equal(confirm_encode(&confirm, &keys.node, &writer), 0);
	assert_int_equal(open_confirm(&keys.master, writer.data, writer.size),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

static void tag_of_one_domain_is_none_of_another(void **state)
{
	struct sample_keys keys;
	uint8_t confirm[MAC_SIZE], registration[MAC_SIZE];

	sample_keys_init(&keys);
	mac_make(MAC_DOMAIN_CONFIRM, &keys.node, "x", 1, confirm);
	mac_make(MAC_DOMAIN_REGISTER, &keys.node, "x", 1, registration);
	assert_int_equal(
		mac_verify(MAC_DOMAIN_CONFIRM, &keys.node, "x", 1, confirm), 0);
	assert_int_equal(mac_verify(MAC_DOMAIN_CONFIRM, &keys.node, "x", 1,
				    registration),
			 -EKEYREJECTED);
	assert_int_equal(mac_verify(MAC_DOMAIN_REGISTER, &keys.node, "x", 1,
				    confirm),
			 -EKEYREJECTED);
}

static void registration_is_no_confirm(void **state)
{
	struct writer writer = { 0 };
	struct sample_keys keys;

	sample_keys_init(&keys);
	sample_tagged(false, &writer);
	assert_int_equal(open_confirm(&keys.master, writer.data, writer.size),
			 -EKEYREJECTED);
	writer.size = 0;
	sample_tagged(true, &writer);
	assert_int_equal(sample_open(SAMPLE_REGISTER, VERSION, writer.data,
				     writer.size),
			 -EKEYREJECTED);
	writer_fini(&writer);
}

/* --- combined tags --- */

#define NODES 5

struct tree {
	struct node_key keys[NODES];
	struct writer messages[NODES]; /* with their tags */
	struct mac_part parts[NODES + 1];
	uint8_t combined[MAC_SIZE];
};

static void tree_init(struct tree *tree)
{
	struct sample_keys keys;
	struct confirm confirm;

	*tree = (struct tree){ 0 };
	sample_keys_init(&keys);
	for (size_t i = 0; i < NODES; i++) {
		struct writer *writer = &tree->messages[i];

		sample_confirm(VERSION, &confirm);
		snprintf(confirm.node, sizeof(confirm.node), "n%zu", i);
		node_key_derive(&keys.master, confirm.node, &tree->keys[i]);
		assert_int_equal(
			confirm_encode(&confirm, &tree->keys[i], writer), 0);
		tree->parts[i] = (struct mac_part){
			.key = &tree->keys[i],
			.bytes = writer->data,
			.size = writer->size - MAC_SIZE,
		};
		mac_combine(tree->combined,
			    writer->data + writer->size - MAC_SIZE);
	}
}

static void tree_fini(struct tree *tree)
{
	for (size_t i = 0; i < NODES; i++)
		writer_fini(&tree->messages[i]);
}

static int tree_verify(const struct tree *tree, size_t count)
{
	return mac_verify_combined(MAC_DOMAIN_CONFIRM, tree->parts, count,
				   tree->combined);
}

static void combined_tags_verify_at_once(void **state)
{
	struct tree tree;

	tree_init(&tree);
	assert_int_equal(tree_verify(&tree, NODES), 0);
	assert_int_equal(mac_verify_combined(MAC_DOMAIN_REGISTER, tree.parts,
					     NODES, tree.combined),
			 -EKEYREJECTED);
	tree_fini(&tree);
}

static void combined_tag_misses_no_message(void **state)
{
	struct tree tree;

	tree_init(&tree);
	assert_int_equal(tree_verify(&tree, NODES - 1), -EKEYREJECTED);
	for (size_t i = 0; i < NODES; i++) {
		tree.messages[i].data[tree.parts[i].size / 2] ^= 1;
		assert_int_equal(tree_verify(&tree, NODES), -EKEYREJECTED);
		tree.messages[i].data[tree.parts[i].size / 2] ^= 1;
	}
	tree.combined[0] ^= 0x80;
	assert_int_equal(tree_verify(&tree, NODES), -EKEYREJECTED);
	tree_fini(&tree);
}

static void message_twice_cannot_cancel_itself(void **state)
{
	struct mac_part forged[NODES + 2];
	struct tree tree;

	tree_init(&tree);
	/* Nothing was ever tagged for this text, and XOR would not show it. */
	memcpy(forged, tree.parts, sizeof(tree.parts[0]) * NODES);
	forged[NODES] = (struct mac_part){ &tree.keys[0], "forged", 6 };
	forged[NODES + 1] = forged[NODES];
	assert_int_equal(mac_verify_combined(MAC_DOMAIN_CONFIRM, forged,
					     NODES + 2, tree.combined),
			 -EINVAL);
	tree_fini(&tree);
}

static void combination_of_nothing_proves_nothing(void **state)
{
	static const uint8_t zero[MAC_SIZE];

	assert_int_equal(mac_verify_combined(MAC_DOMAIN_CONFIRM, NULL, 0, zero),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_are_derived_as_the_document_says),
		cmocka_unit_test(nodes_have_different_keys),
		cmocka_unit_test(secrets_are_wiped),
		cmocka_unit_test(commands_have_the_golden_bytes),
		cmocka_unit_test(command_comes_back_as_it_was),
		cmocka_unit_test(command_may_have_an_empty_body),
		cmocka_unit_test(every_bit_flip_of_a_command_is_refused),
		cmocka_unit_test(every_truncation_of_a_command_is_refused),
		cmocka_unit_test(command_of_another_key_is_refused),
		cmocka_unit_test(command_is_verified_with_any_accepted_key),
		cmocka_unit_test(header_alone_proves_epoch_and_life),
		cmocka_unit_test(senseless_commands_are_not_signed),
		cmocka_unit_test(signed_nonsense_is_refused),
		cmocka_unit_test(ops_have_names),
		cmocka_unit_test(every_bit_flip_of_a_confirm_is_refused),
		cmocka_unit_test(every_bit_flip_of_a_registration_is_refused),
		cmocka_unit_test(confirm_of_another_key_is_refused),
		cmocka_unit_test(confirm_is_taken_under_each_of_the_masters),
		cmocka_unit_test(node_cannot_answer_for_another_one),
		cmocka_unit_test(tag_of_one_domain_is_none_of_another),
		cmocka_unit_test(registration_is_no_confirm),
		cmocka_unit_test(combined_tags_verify_at_once),
		cmocka_unit_test(combined_tag_misses_no_message),
		cmocka_unit_test(message_twice_cannot_cancel_itself),
		cmocka_unit_test(combination_of_nothing_proves_nothing),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
