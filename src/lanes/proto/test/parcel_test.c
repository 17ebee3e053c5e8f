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
#include "lanes/proto/test/samples.h"

static void parcel_has_its_golden_bytes(void **state)
{
	static const uint8_t golden[] = { 1, 1, 0x88, 0x13, 0, 0, 0, 0x20, 0,
					  0, 3, 0,    0,    0, 7, 8, 9 };
	static const uint8_t golden_bulk[] = { 1, 2, 1, 0, 0, 0, 0, 0, 16, 0 };
	const struct parcel parcel = {
		.is_separate = true,
		.patience_ms = 5000,
		.part_bytes = PARCEL_PART_MIN,
		.command = (const uint8_t[]){ 7, 8, 9 },
		.command_size = 3,
	};
	const struct parcel bulk = {
		.is_bulk = true,
		.patience_ms = 1,
		.part_bytes = PARCEL_PART_MAX,
	};
	struct writer writer = { 0 };

	assert_int_equal(parcel_encode(&parcel, &writer), 0);
	assert_int_equal(writer.size, sizeof(golden));
	assert_memory_equal(writer.data, golden, sizeof(golden));
	writer.size = 0;
	assert_int_equal(parcel_encode(&bulk, &writer), 0);
	assert_int_equal(writer.size, sizeof(golden_bulk));
	assert_memory_equal(writer.data, golden_bulk, sizeof(golden_bulk));
	writer_fini(&writer);
}

static void parcel_comes_back_as_it_was(void **state)
{
	const struct parcel sent = {
		.patience_ms = 5000,
		.part_bytes = 65536,
		.command = (const uint8_t *)"command",
		.command_size = 7,
	};
	struct writer writer = { 0 };
	struct parcel got;

	assert_int_equal(parcel_encode(&sent, &writer), 0);
	assert_int_equal(parcel_decode(writer.data, writer.size, &got), 0);
	assert_false(got.is_separate);
	assert_false(got.is_bulk);
	assert_int_equal(got.patience_ms, 5000);
	assert_int_equal(got.part_bytes, 65536);
	assert_int_equal(got.command_size, 7);
	assert_memory_equal(got.command, "command", 7);
	writer_fini(&writer);
}

static void malformed_parcels_are_refused(void **state)
{
	static const uint8_t good[] = { 1, 0, 0, 0, 0, 0, 0, 0x20,
					0, 0, 2, 0, 0, 0, 7, 8 };
	static const struct {
		size_t offset;
		uint8_t byte;
	} changes[] = {
		{ 0, 2 },    /* version */
		{ 1, 4 },    /* flags */
		{ 1, 2 },    /* bulk, and a command */
		{ 7, 0x1f }, /* a part too small */
		{ 8, 0x11 }, /* a part too large */
		{ 10, 1 },   /* a byte behind the command */
		{ 10, 3 },   /* a command that is not all there */
		{ 13, 1 },
	};
	struct parcel parcel;

	assert_int_equal(parcel_decode(good, sizeof(good), &parcel), 0);
	for (size_t size = 0; size < sizeof(good); size++) {
		_auto_(freep) uint8_t *cut = malloc(size + 1);

		memcpy(cut, good, size);
		assert_int_equal(parcel_decode(cut, size, &parcel), -EBADMSG);
	}
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
		uint8_t bytes[sizeof(good)];

		memcpy(bytes, good, sizeof(good));
		bytes[changes[i].offset] = changes[i].byte;
		assert_int_equal(parcel_decode(bytes, sizeof(bytes), &parcel),
				 -EBADMSG);
	}
}

static void parts_too_small_or_large_are_not_sent(void **state)
{
	struct parcel parcel = { .part_bytes = PARCEL_PART_MIN - 1 };
	struct writer writer = { 0 };

	assert_int_equal(parcel_encode(&parcel, &writer), -EINVAL);
	parcel.part_bytes = PARCEL_PART_MAX + 1;
	assert_int_equal(parcel_encode(&parcel, &writer), -EINVAL);
	assert_int_equal(writer.size, 0);
	writer_fini(&writer);
}

/* A sample's command, whole. */
static struct writer command_make(enum command_op op, enum sample sample)
{
	struct writer body = { 0 }, bytes = { 0 };
	struct sample_keys keys;
	struct command command;

	sample_keys_init(&keys);
	assert_int_equal(sample_encode(sample, &body), 0);
	sample_command(op, &command);
	command.body = body.data;
	command.body_size = body.size;
	assert_int_equal(command_seal(&keys.command, &command, &bytes), 0);
	writer_fini(&body);
	return bytes;
}

static void nodes_of_a_command_are_read(void **state)
{
	static const struct {
		enum command_op op;
		enum sample sample;
		const char *nodes;
	} cases[] = {
		{ COMMAND_HELLO, SAMPLE_HELLO, NULL },
		{ COMMAND_APPLY, SAMPLE_APPLY, "n[0-3]" },
		{ COMMAND_REVOKE, SAMPLE_REVOKE, "n[0-3]" },
		{ COMMAND_QUERY, SAMPLE_QUERY, "n3" },
		{ COMMAND_CLEAN, SAMPLE_CLEAN, "n3" },
		{ COMMAND_ACK, SAMPLE_ACK, NULL },
		{ COMMAND_DRAIN, SAMPLE_DRAIN, NULL },
		{ COMMAND_LEASE, SAMPLE_LEASE, "n[0-3]" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct writer bytes =
			command_make(cases[i].op, cases[i].sample);
		_auto_(freep) char *nodes = NULL;
		int result = command_nodes_read(bytes.data, bytes.size, &nodes);

		if (cases[i].nodes == NULL) {
			assert_int_equal(result, -EBADMSG);
		} else {
			assert_int_equal(result, 0);
			assert_string_equal(nodes, cases[i].nodes);
		}
		writer_fini(&bytes);
	}
}

static void nodes_of_what_is_no_command_are_not_read(void **state)
{
	struct writer bytes = command_make(COMMAND_QUERY, SAMPLE_QUERY);
	char *nodes = NULL;

	for (size_t size = 0; size < bytes.size; size++) {
		_auto_(freep) uint8_t *cut = malloc(size + 1);

		memcpy(cut, bytes.data, size);
		assert_int_equal(command_nodes_read(cut, size, &nodes),
				 -EBADMSG);
	}
	/* Who passes it on has verified no op. */
	for (unsigned int op = 0; op <= UINT8_MAX; op++) {
		if (op >= COMMAND_HELLO && op <= COMMAND_OP_MAX)
			continue;
		bytes.data[6] = (uint8_t)op;
		assert_int_equal(command_nodes_read(bytes.data, bytes.size,
						    &nodes),
				 -EBADMSG);
	}
	bytes.data[6] = COMMAND_QUERY;
	bytes.data[0] ^= 1;
	assert_int_equal(command_nodes_read(bytes.data, bytes.size, &nodes),
			 -EBADMSG);
	assert_null(nodes);
	writer_fini(&bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parcel_has_its_golden_bytes),
		cmocka_unit_test(parcel_comes_back_as_it_was),
		cmocka_unit_test(malformed_parcels_are_refused),
		cmocka_unit_test(parts_too_small_or_large_are_not_sent),
		cmocka_unit_test(nodes_of_a_command_are_read),
		cmocka_unit_test(nodes_of_what_is_no_command_are_not_read),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
