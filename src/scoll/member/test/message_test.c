/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/member/message.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "scoll/member/age.h"

#define SIZE (MESSAGE_HEADER_SIZE + 3)

static const uint8_t golden[SIZE] = {
	'F',  'G',  'S',  'S',  2,    1,    9,    0,    /* head */
	1,    2,    3,    4,    5,    6,    7,    8,    /* digest */
	9,    10,   11,   12,   13,   14,   15,   16,   /* digest */
	0x0a, 0,    0,    0,    0,    0,    2,    0,    /* nid */
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11, /* nonce */
	0x34, 0x12, 0,    0,    0,    0,    0,    0,    /* cycle */
	0,    0,    0,    0,    0,    0,    0,    0,    /* asker */
	2,    0,    0,    0,    3,    0,    0,    0,    /* part, count */
	1,    7,    255,
};

static struct member_message sample(void)
{
	struct member_message message = {
		.is_request = true,
		.listening_cycles = 9,
		.nid = UINT64_C(0x000200000000000a),
		.boot_nonce = UINT64_C(0x1122334455667788),
		.cycle = 0x1234,
		.part = 2,
		.count = 3,
		.signs = golden + MESSAGE_HEADER_SIZE,
	};

	for (uint8_t i = 0; i < ROSTER_DIGEST_SIZE; i++)
		message.roster_digest[i] = i + 1;
	return message;
}

static void encode_has_the_golden_bytes(void **state)
{
	struct member_message message = sample();
	struct writer writer = { 0 };

	assert_int_equal(message_encode(&message, &writer), 0);
	assert_int_equal(writer.size, SIZE);
	assert_memory_equal(writer.data, golden, SIZE);
	writer_fini(&writer);
}

static void decode_gives_back_what_was_encoded(void **state)
{
	struct member_message expected = sample();
	struct member_message message;

	assert_int_equal(message_decode(golden, SIZE, &message), 0);
	assert_true(message.is_request);
	assert_false(message.is_leave);
	assert_int_equal(message.listening_cycles, 9);
	assert_memory_equal(message.roster_digest, expected.roster_digest,
			    ROSTER_DIGEST_SIZE);
	assert_int_equal(message.nid, expected.nid);
	assert_int_equal(message.boot_nonce, expected.boot_nonce);
	assert_int_equal(message.cycle, expected.cycle);
	assert_int_equal(message.part, 2);
	assert_int_equal(message.count, 3);
	assert_memory_equal(message.signs, expected.signs, 3);
}

static void decode_rejects_every_other_length(void **state)
{
	uint8_t bytes[SIZE + 1] = { 0 };
	struct member_message message;

	memcpy(bytes, golden, SIZE);
	for (size_t size = 0; size <= SIZE + 1; size++)
		assert_int_equal(message_decode(bytes, size, &message),
				 size == SIZE ? 0 : -EBADMSG);
}

static void assert_bad(size_t at, uint8_t byte, int result)
{
	uint8_t bytes[SIZE];
	struct member_message message;

	memcpy(bytes, golden, SIZE);
	bytes[at] = byte;
	assert_int_equal(message_decode(bytes, SIZE, &message), result);
}

static void decode_rejects_what_is_out_of_range(void **state)
{
	assert_bad(0, 'X', -EBADMSG);
	assert_bad(4, 1, -EPROTONOSUPPORT);
	assert_bad(5, 3, -EBADMSG); /* a request of one who leaves */
	assert_bad(5, 4, -EBADMSG);
	assert_bad(7, 1, -EBADMSG);
	assert_bad(47, 0x40, -EBADMSG); /* the cycle is too large */
	assert_bad(48, 1, -EBADMSG);    /* a request that answers */
	assert_bad(60, 0, -EBADMSG);
	assert_bad(63, 0xff, -EBADMSG);
	assert_bad(5, 2, 0);
}

static void parts_cover_every_node_once(void **state)
{
	for (size_t nodes = 1; nodes <= ROSTER_NODE_MAX;
	     nodes = nodes * 5 / 4 + 1) {
		struct message_parts parts = message_parts_of(nodes);
		size_t next = 0;

		for (uint32_t i = 0; i < parts.part_count; i++) {
			uint32_t count = message_part_count(&parts, i);
			struct member_message message = { .part = i,
							  .count = count };

			assert_int_equal(message_part_first(&parts, i), next);
			assert_true(count > 0);
			assert_true(MESSAGE_HEADER_SIZE + count <=
				    MESSAGE_SIZE_MAX);
			assert_true(message_fits(&message, &parts));
			message.count++;
			assert_false(message_fits(&message, &parts));
			next += count;
		}
		assert_int_equal(next, nodes);
		assert_int_equal(parts.part_nodes % AGE_BLOCK, 0);
	}
	assert_int_equal(message_parts_of(10000).part_count, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encode_has_the_golden_bytes),
		cmocka_unit_test(decode_gives_back_what_was_encoded),
		cmocka_unit_test(decode_rejects_every_other_length),
		cmocka_unit_test(decode_rejects_what_is_out_of_range),
		cmocka_unit_test(parts_cover_every_node_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
