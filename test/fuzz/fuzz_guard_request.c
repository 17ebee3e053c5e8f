/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the agent may send to the guard: a whole guard answers each request or
 * refuses it, and its answers can be read.
 *
 * Input: requests, each after its length (u16). The guard has no driver that
 * is open, and a journal in memory.
 */
#include <errno.h>
#include <sodium.h>

#include "fuzz.h"
#include "lanes/node/guard/test/handle.h"

#define NODE "n1"

static int file_read(void *ctx, uint8_t **ret_bytes, size_t *ret_size)
{
	*ret_bytes = malloc(1);
	*ret_size = 0;
	return *ret_bytes ? 0 : -ENOMEM;
}

static int file_write(void *ctx, size_t offset, const void *bytes, size_t size)
{
	return 0;
}

static int file_replace(void *ctx, const void *bytes, size_t size)
{
	return 0;
}

static int keys_load(void *ctx, struct node_keys *ret_keys,
		     struct fairlead_error *ret_error)
{
	static const uint8_t seed[KEY_SIZE] = { 1 };
	struct node_master master;

	*ret_keys = (struct node_keys){
		.name = NODE,
		.command_count = 1,
		.confirm_count = 1,
	};
	command_public_derive(1, seed, &ret_keys->commands[0]);
	node_master_derive(1, seed, &master);
	node_key_derive(&master, NODE, &ret_keys->confirms[0]);
	return 0;
}

static int environment_write(void *ctx, const struct request_key *key,
			     uid_t uid, gid_t gid, const void *bytes,
			     size_t size)
{
	fuzz_check(!"a lane was made that nobody signed");
	return -EIO;
}

static int environment_remove(void *ctx, const struct request_key *key)
{
	return 0;
}

static void rng_zero(void *ctx, void *bytes, size_t size)
{
	memset(bytes, 0, size);
}

static const struct journal_file_ops file_ops = {
	.read = file_read,
	.write = file_write,
	.replace = file_replace,
};

static const struct guard_ops guard_ops = {
	.load_keys = keys_load,
	.write_environment = environment_write,
	.remove_environment = environment_remove,
};

static const struct rng_ops rng_ops = { .fill = rng_zero };

static void reply_check(const struct writer *bytes)
{
	struct guard_reply reply;

	fuzz_check(guard_reply_decode(bytes->data, bytes->size, &reply) == 0);
	/* Nobody has signed anything. */
	fuzz_check(reply.op == 0 && reply.epoch == 0 &&
		   reply.pending_count == 0 && reply.grant_count <= 1);
	guard_reply_fini(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct guard_config config = {
		.name = NODE,
		.software = "fuzz",
		.journal = { .ops = &file_ops },
		.rng = { .ops = &rng_ops },
		.ops = &guard_ops,
	};
	struct reader input = reader_of(data, size);
	struct fairlead_error error;
	struct guard *guard;

	fuzz_check(sodium_init() >= 0);
	fuzz_check(guard_create(&config, &guard, &error) == 0);
	while (input.left > 0) {
		struct writer reply = { 0 };
		size_t length = read_u16(&input);
		const uint8_t *request;
		int result;

		if (length > input.left)
			length = input.left;
		request = read_bytes(&input, length);
		if (!request)
			break;
		result = guard_handle(guard, request, length, &reply);
		fuzz_check(result == 0 || result == -EBADMSG);
		if (result == 0)
			reply_check(&reply);
		writer_fini(&reply);
	}
	guard_destroy(guard);
	return 0;
}
