/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Commands: bytes that the manager did not sign are refused, and a body that
 * it did sign is refused, or says the same when it is encoded again.
 *
 * Input: one byte for the op, then the body; and all of it once more as a
 * whole command.
 */
#include <errno.h>
#include <sodium.h>

#include "fuzz.h"
#include "lanes/proto/message.h"

#define VERSION WIRE_VERSION

static const uint8_t seed[KEY_SIZE] = { 1 };

/*
 * The same bytes, but for texts for people: these may have been made clean.
 */
static void same_check(const struct command *command, bool has_prose,
		       struct writer *again)
{
	fuzz_check(again->result == 0 && again->size == command->body_size);
	if (!has_prose && again->size > 0)
		fuzz_check(memcmp(again->data, command->body, again->size) ==
			   0);
	writer_fini(again);
}

static int body_encode(enum command_op op, const union command_body *body,
		       struct writer *writer)
{
	switch (op) {
	case COMMAND_HELLO:
		return hello_body_encode(&body->hello, writer);
	case COMMAND_APPLY:
		return apply_body_encode(&body->apply, writer);
	case COMMAND_REVOKE:
		return revoke_body_encode(&body->revoke, writer);
	case COMMAND_QUERY:
		return query_body_encode(&body->query, writer);
	case COMMAND_CLEAN:
		return clean_body_encode(&body->clean, writer);
	case COMMAND_ACK:
		return ack_body_encode(&body->ack, writer);
	case COMMAND_DRAIN:
		return drain_body_encode(&body->drain, writer);
	case COMMAND_LEASE:
		break;
	}
	return lease_body_encode(&body->lease, writer);
}

static void body_check(const struct command *command)
{
	struct writer again = { 0 };
	union command_body body;
	int result = command_body_decode(command->op, command->body,
					 command->body_size, &body);

	fuzz_check(result == 0 || result == -EBADMSG);
	if (result < 0)
		return;
	fuzz_check(body_encode(command->op, &body, &again) == 0);
	same_check(command, command->op == COMMAND_DRAIN, &again);
	command_body_fini(command->op, &body);
}

static void signed_check(uint8_t op, const uint8_t *body, size_t size)
{
	struct command command = {
		.version = VERSION,
		.op = (uint8_t)(COMMAND_HELLO + op % COMMAND_OP_MAX),
		.grant_id = 1,
		.body = body,
		.body_size = size,
	};
	struct writer writer = { 0 };
	struct command_public public;
	struct command_key key;

	command_key_derive(1, seed, &key);
	command_public_derive(1, seed, &public);
	fuzz_check(command_seal(&key, &command, &writer) == 0);
	fuzz_check(command_verify(writer.data, writer.size, &public, 1,
				  &command) == 0);
	body_check(&command);
	writer_fini(&writer);
}

static void unsigned_check(const uint8_t *data, size_t size)
{
	struct command_public public;
	struct command command;
	int result;

	command_public_derive(1, seed, &public);
	result = command_verify(data, size, &public, 1, &command);
	fuzz_check(result == -EBADMSG || result == -ENOKEY ||
		   result == -EKEYREJECTED || result == -EPROTONOSUPPORT);
	if (size >= COMMAND_HEADER_SIZE)
		fuzz_check(command_proof_verify(data, COMMAND_HEADER_SIZE,
						&public, 1, &command) < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_check(sodium_init() >= 0);
	if (size > 0)
		signed_check(data[0], data + 1, size - 1);
	unsigned_check(data, size);
	return 0;
}
