/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/proto/test/golden.h"
#include "lanes/proto/test/samples.h"

#define MESSAGE "a message to n4"

static struct hop member(const char *name, const uint32_t *ids, size_t count)
{
	struct hop_keys keys = { .hop_count = count, .command_count = count };
	struct hop hop;

	hop_init(&hop, nid_of_node(name));
	for (size_t i = 0; i < count; i++) {
		uint8_t seed[KEY_SIZE];

		sample_fill(seed, sizeof(seed), 0xa0);
		seed[0] ^= (uint8_t)(ids[i] - SAMPLE_KEY_ID);
		hop_key_derive(ids[i], seed, &keys.hops[i]);
		command_public_derive(ids[i], seed, &keys.commands[i]);
	}
	hop_take(&hop, &keys);
	return hop;
}

/* It has the hop key, too. */
static struct hop manager(uint32_t id)
{
	struct hop_keys keys = { .is_manager = true };
	uint8_t seed[KEY_SIZE];
	struct hop hop;

	sample_fill(seed, sizeof(seed), 0xa0);
	seed[0] ^= (uint8_t)(id - SAMPLE_KEY_ID);
	command_key_derive(id, seed, &keys.command);
	hop_init(&hop, NID_MANAGER);
	hop_take(&hop, &keys);
	return hop;
}

static void seal(struct hop *from, struct hop *to, uint8_t *ret_seal)
{
	from->authenticator.seal(from, to->nid, MESSAGE, strlen(MESSAGE),
				 ret_seal);
}

static int verify(struct hop *to, struct hop *from, const uint8_t *seal)
{
	return to->authenticator.verify(to, from->nid, MESSAGE, strlen(MESSAGE),
					seal);
}

static const uint32_t sample_id[] = { SAMPLE_KEY_ID };

static void seal_has_its_golden_bytes(void **state)
{
	struct hop from = member("n3", sample_id, 1);
	struct hop to = member("n4", sample_id, 1);
	_auto_(freep) uint8_t *golden = NULL;
	uint8_t sealed[HOP_SEAL_SIZE];
	size_t size;

	golden = sample_unhex(golden_hop_seal, &size);
	assert_int_equal(size, HOP_SEAL_SIZE);
	assert_int_equal(from.authenticator.seal_size, HOP_SEAL_SIZE);
	assert_true(HOP_SEAL_SIZE <= SCOLL_SEAL_MAX);
	seal(&from, &to, sealed);
	assert_memory_equal(sealed, golden, size);
	assert_int_equal(verify(&to, &from, sealed), 0);
}

static void every_bit_flip_is_refused(void **state)
{
	struct hop from = member("n3", sample_id, 1);
	struct hop to = member("n4", sample_id, 1);
	uint8_t sealed[HOP_SEAL_SIZE];

	seal(&from, &to, sealed);
	for (size_t bit = 0; bit < 8 * sizeof(sealed); bit++) {
		sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(verify(&to, &from, sealed), -EPERM);
		sealed[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t i = 0; i < strlen(MESSAGE); i++) {
		char message[] = MESSAGE;

		message[i] ^= 1;
		assert_int_equal(to.authenticator.verify(&to, from.nid, message,
							 strlen(message),
							 sealed),
				 -EPERM);
	}
}

static void message_is_no_other_members_and_for_no_other(void **state)
{
	struct hop from = member("n3", sample_id, 1);
	struct hop to = member("n4", sample_id, 1);
	struct hop other = member("n5", sample_id, 1);
	uint8_t sealed[HOP_SEAL_SIZE];

	seal(&from, &to, sealed);
	assert_int_equal(verify(&to, &other, sealed), -EPERM);
	assert_int_equal(verify(&other, &from, sealed), -EPERM);
	assert_int_equal(verify(&from, &to, sealed), -EPERM);
}

static void members_of_two_steps_of_a_rotation_hear_each_other(void **state)
{
	static const uint32_t before[] = { SAMPLE_KEY_ID, SAMPLE_KEY_ID + 1 };
	static const uint32_t after[] = { SAMPLE_KEY_ID + 1, SAMPLE_KEY_ID };
	struct hop one = member("n3", before, 2);
	struct hop two = member("n4", after, 2);
	struct hop late = member("n5", &after[0], 1);
	uint8_t sealed[HOP_SEAL_SIZE];

	seal(&one, &two, sealed);
	assert_int_equal(sealed[0], SAMPLE_KEY_ID);
	assert_int_equal(verify(&two, &one, sealed), 0);
	seal(&two, &one, sealed);
	assert_int_equal(sealed[0], SAMPLE_KEY_ID + 1);
	assert_int_equal(verify(&one, &two, sealed), 0);
	/* A key that is gone is taken no more. */
	seal(&one, &late, sealed);
	assert_int_equal(verify(&late, &one, sealed), -EPERM);
}

static void without_keys_nothing_is_believed(void **state)
{
	struct hop from = member("n3", sample_id, 0);
	struct hop to = member("n4", sample_id, 1);
	uint8_t sealed[HOP_SEAL_SIZE];

	seal(&from, &to, sealed);
	assert_int_equal(verify(&to, &from, sealed), -EPERM);
	seal(&to, &from, sealed);
	assert_int_equal(verify(&from, &to, sealed), -EPERM);
}

static void keys_are_wiped(void **state)
{
	struct hop hop = member("n3", sample_id, 1);

	hop_fini(&hop);
	assert_true(
		sodium_is_zero((const uint8_t *)&hop.keys, sizeof(hop.keys)));
}

static int sign(struct hop *root, uint8_t *ret_signature)
{
	return root->authenticator.sign(root, MESSAGE, strlen(MESSAGE),
					ret_signature);
}

static int check(struct hop *node, uint64_t root, const uint8_t *signature)
{
	return node->authenticator.check(node, root, MESSAGE, strlen(MESSAGE),
					 signature);
}

static void only_the_manager_is_a_root(void **state)
{
	uint8_t signature[ROOT_SIGNATURE_SIZE] = { 0 };
	struct hop node = member("n3", sample_id, 1);
	struct hop other = member("n4", sample_id, 1);
	struct hop root = manager(SAMPLE_KEY_ID);

	assert_int_equal(root.authenticator.signature_size,
			 ROOT_SIGNATURE_SIZE);
	assert_true(ROOT_SIGNATURE_SIZE <= SCOLL_SIGNATURE_MAX);
	assert_int_equal(sign(&node, signature), -EPERM);
	assert_int_equal(check(&other, NID_MANAGER, signature), -EPERM);
	assert_int_equal(sign(&root, signature), 0);
	assert_int_equal(check(&node, NID_MANAGER, signature), 0);
	assert_int_equal(check(&node, other.nid, signature), -EPERM);
	/* The manager itself obeys nobody, and its own word least. */
	assert_int_equal(check(&root, NID_MANAGER, signature), -EPERM);
}

static void every_bit_flip_of_a_signature_is_refused(void **state)
{
	struct hop node = member("n3", sample_id, 1);
	struct hop root = manager(SAMPLE_KEY_ID);
	uint8_t signature[ROOT_SIGNATURE_SIZE];

	assert_int_equal(sign(&root, signature), 0);
	for (size_t bit = 0; bit < 8 * sizeof(signature); bit++) {
		signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(check(&node, NID_MANAGER, signature), -EPERM);
		signature[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t i = 0; i < strlen(MESSAGE); i++) {
		char message[] = MESSAGE;

		message[i] ^= 1;
		assert_int_equal(
			node.authenticator.check(&node, NID_MANAGER, message,
						 strlen(message), signature),
			-EPERM);
	}
}

static void root_is_known_while_its_key_changes(void **state)
{
	static const uint32_t before[] = { SAMPLE_KEY_ID, SAMPLE_KEY_ID + 1 };
	struct hop node = member("n3", before, 2);
	struct hop late = member("n4", &before[1], 1);
	struct hop old = manager(SAMPLE_KEY_ID);
	struct hop new = manager(SAMPLE_KEY_ID + 1);
	uint8_t signature[ROOT_SIGNATURE_SIZE];

	assert_int_equal(sign(&old, signature), 0);
	assert_int_equal(check(&node, NID_MANAGER, signature), 0);
	assert_int_equal(check(&late, NID_MANAGER, signature), -EPERM);
	assert_int_equal(sign(&new, signature), 0);
	assert_int_equal(check(&node, NID_MANAGER, signature), 0);
	assert_int_equal(check(&late, NID_MANAGER, signature), 0);
}

/* What a root says stands for no command, nor the other way. */
static void signature_of_a_root_is_none_of_a_command(void **state)
{
	struct hop root = manager(SAMPLE_KEY_ID);
	struct hop node = member("n3", sample_id, 1);
	const struct command lease = { .version = WIRE_VERSION,
				       .op = COMMAND_LEASE };
	_auto_(writer_fini) struct writer writer = { 0 };
	uint8_t signature[ROOT_SIGNATURE_SIZE];
	struct command command;

	assert_int_equal(command_seal(&root.keys.command, &lease, &writer), 0);
	assert_int_equal(
		root.authenticator.sign(&root, writer.data, 84, signature), 0);
	memcpy(writer.data + 84, signature + 4, 64);
	assert_int_equal(command_verify(writer.data, writer.size,
					node.keys.commands, 1, &command),
			 -EKEYREJECTED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seal_has_its_golden_bytes),
		cmocka_unit_test(every_bit_flip_is_refused),
		cmocka_unit_test(message_is_no_other_members_and_for_no_other),
		cmocka_unit_test(
			members_of_two_steps_of_a_rotation_hear_each_other),
		cmocka_unit_test(without_keys_nothing_is_believed),
		cmocka_unit_test(keys_are_wiped),
		cmocka_unit_test(only_the_manager_is_a_root),
		cmocka_unit_test(every_bit_flip_of_a_signature_is_refused),
		cmocka_unit_test(root_is_known_while_its_key_changes),
		cmocka_unit_test(signature_of_a_root_is_none_of_a_command),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
