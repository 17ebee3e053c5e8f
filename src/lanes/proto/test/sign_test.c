/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/sign.h"

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
#include "lanes/proto/test/golden.h"
#include "lanes/proto/test/samples.h"

/* The sample command of an op, as bytes. */
static void seal(enum command_op op, struct writer *writer)
{
	enum sample sample = SAMPLE_HELLO + (op - COMMAND_HELLO);
	struct writer body = { 0 };
	struct command command;
	struct sample_keys keys;

	sample_keys_init(&keys);
	assert_int_equal(sample_encode(sample, &body), 0);
	sample_command(op, &command);
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
	_auto_(freep) uint8_t *hop = NULL;
	struct hop_key hop_key;
	size_t size;

	sample_keys_init(&keys);
	public = sample_unhex(golden_public, &size);
	assert_int_equal(size, KEY_SIZE);
	assert_memory_equal(keys.public.bytes, public, KEY_SIZE);
	node = sample_unhex(golden_node_key, &size);
	assert_int_equal(size, KEY_SIZE);
	assert_memory_equal(keys.node.bytes, node, KEY_SIZE);
	hop = sample_unhex(golden_hop_key, &size);
	assert_int_equal(size, KEY_SIZE);
	hop_key_derive(SAMPLE_KEY_ID, keys.seed, &hop_key);
	assert_memory_equal(hop_key.bytes, hop, KEY_SIZE);
	assert_int_equal(hop_key.id, SAMPLE_KEY_ID);
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
		golden = sample_unhex(golden_commands[op - COMMAND_HELLO],
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
	sample_command(COMMAND_APPLY, &sent);
	sent.body = (const uint8_t *)"body";
	sent.body_size = 4;
	assert_int_equal(command_seal(&keys.command, &sent, &writer), 0);
	assert_int_equal(writer.size, COMMAND_HEADER_SIZE + 4);
	assert_int_equal(command_verify(writer.data, writer.size, &keys.public,
					1, &got),
			 0);
	assert_int_equal(got.version, WIRE_VERSION);
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
	sample_command(COMMAND_QUERY, &sent);
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
	sample_command(COMMAND_APPLY, &command);
	command.grant_id = 0;
	assert_int_equal(command_seal(&keys.command, &command, &writer),
			 -EINVAL);
	sample_command(COMMAND_OP_MAX + 1, &command);
	assert_int_equal(command_seal(&keys.command, &command, &writer),
			 -EINVAL);
	sample_command(COMMAND_QUERY, &command);
	command.version++;
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
		{ 4, 2, -EPROTONOSUPPORT },
		{ 6, 0, -EOPNOTSUPP }, /* op */
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
	assert_string_equal(command_op_name(COMMAND_LEASE), "LEASE");
	assert_string_equal(command_op_name(0), "?");
	assert_string_equal(command_op_name(COMMAND_OP_MAX + 1), "?");
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
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
