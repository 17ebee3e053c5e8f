/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the daemon of program descriptions has saved: a record is refused, or it
 * encodes to the same bytes. Input: its kind (one byte), then the record.
 */
#include "base/cleanup.h"
#include "fuzz.h"
#include "elan/core/registry.h"

static bool program_encode(const uint8_t *data, size_t size,
			   struct writer *writer)
{
	_auto_(program_destroyp) struct program *program = NULL;

	if (record_decode_program(data, size, &program) < 0)
		return false;
	record_encode_program(program, writer);
	return true;
}

static bool deposit_encode(const uint8_t *data, size_t size,
			   struct writer *writer)
{
	struct deposit deposit = { 0 };
	bool is_one = record_decode_deposit(data, size, &deposit) == 0;

	if (is_one)
		record_encode_deposit(&deposit, writer);
	free(deposit.routes);
	return is_one;
}

static bool node_encode(const uint8_t *data, size_t size, struct writer *writer)
{
	struct registry registry = { 0 };
	bool is_one = record_decode_node(data, size, &registry) == 0;

	if (is_one)
		record_encode_node(&registry, writer);
	free(registry.attachments);
	return is_one;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool (*const encode[RECORD_KIND_COUNT])(
		const uint8_t *data, size_t size, struct writer *writer) = {
		[RECORD_NODE] = node_encode,
		[RECORD_PROGRAM] = program_encode,
		[RECORD_DEPOSIT] = deposit_encode,
	};
	struct writer writer = { 0 };

	if (size == 0 || data[0] >= RECORD_KIND_COUNT)
		return 0;
	if (encode[data[0]](data + 1, size - 1, &writer))
		fuzz_check(writer.size == size - 1 &&
			   memcmp(writer.data, data + 1, size - 1) == 0);
	writer_fini(&writer);
	return 0;
}
