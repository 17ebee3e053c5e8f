/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The frame of every record, and the small ones: parts and tombstones.
 *
 *	part       u8 state, u32 serial
 *	tombstone  u8 is_trace, u32 uid, u32 gid
 */
#include "lanes/manager/core/record.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/core/record_frame.h"

#define HEAD_SIZE 4

static void digest(uint64_t id, const char *key, const void *bytes, size_t size,
		   uint8_t ret_digest[RECORD_DIGEST_SIZE])
{
	crypto_generichash_state state;
	uint8_t head[8];

	for (size_t i = 0; i < sizeof(head); i++)
		head[i] = (uint8_t)(id >> (8 * i));
	crypto_generichash_init(&state, NULL, 0, RECORD_DIGEST_SIZE);
	crypto_generichash_update(&state, head, sizeof(head));
	/* With its zero, so that key and body cannot be shifted. */
	crypto_generichash_update(&state, (const uint8_t *)key,
				  strlen(key) + 1);
	crypto_generichash_update(&state, bytes, size);
	crypto_generichash_final(&state, ret_digest, RECORD_DIGEST_SIZE);
}

void record_begin(struct writer *writer, enum record_kind kind)
{
	write_u16(writer, RECORD_VERSION);
	write_u8(writer, (uint8_t)kind);
	write_u8(writer, 0);
}

void record_end(struct writer *writer, uint64_t id, const char *key)
{
	uint8_t bytes[RECORD_DIGEST_SIZE];

	digest(id, key, writer->data, writer->size, bytes);
	write_bytes(writer, bytes, sizeof(bytes));
	memory_check(writer->result);
}

int record_open(enum record_kind kind, uint64_t id, const char *key,
		const void *body, size_t size, struct reader *ret_reader,
		struct fairlead_error *ret_error)
{
	uint8_t expected[RECORD_DIGEST_SIZE];
	const uint8_t *bytes = body;
	struct reader reader;
	uint16_t version;

	if (bytes == NULL || size < HEAD_SIZE + RECORD_DIGEST_SIZE)
		return error_set(ret_error, -EBADMSG, "the record is cut");
	size -= RECORD_DIGEST_SIZE;
	digest(id, key, bytes, size, expected);
	if (memcmp(bytes + size, expected, sizeof(expected)) != 0)
		return error_set(ret_error, -EBADMSG,
				 "the record does not fit its digest");
	reader = reader_of(bytes, size);
	version = read_u16(&reader);
	if (version != RECORD_VERSION)
		return error_set(ret_error, -EBADMSG,
				 "the record has version %u, which is not %u",
				 version, RECORD_VERSION);
	if (read_u8(&reader) != kind || read_u8(&reader) != 0)
		return error_set(ret_error, -EBADMSG,
				 "the record is of another kind");
	*ret_reader = reader;
	return 0;
}

int record_check(const struct reader *reader, bool is_good,
		 struct fairlead_error *ret_error)
{
	if (!reader_is_done(reader))
		return error_set(ret_error, -EBADMSG,
				 "the record is cut or too long");
	if (!is_good)
		return error_set(ret_error, -EBADMSG,
				 "a field of the record is out of range");
	return 0;
}

void record_encode_part(uint64_t grant_id, const struct part *part,
			struct writer *writer)
{
	record_begin(writer, RECORD_PART);
	write_u8(writer, part->state);
	write_u32(writer, part->serial);
	record_end(writer, grant_id, "");
}

int record_decode_part(uint64_t grant_id, const void *body, size_t size,
		       struct part *ret_part, struct fairlead_error *ret_error)
{
	struct reader reader;
	uint32_t state, serial;
	int result = record_open(RECORD_PART, grant_id, "", body, size, &reader,
				 ret_error);

	if (result < 0)
		return result;
	state = read_u8(&reader);
	serial = read_u32(&reader);
	result = record_check(
		&reader, state < PART_STATE_COUNT && serial <= JOB_SERIAL_MAX,
		ret_error);
	if (result < 0)
		return result;
	*ret_part = (struct part){ .node = NODE_NONE,
				   .serial = serial & JOB_SERIAL_MAX,
				   .state = state & 7u };
	return 0;
}

void record_encode_tombstone(uint64_t grant_id, const char *key,
			     const struct record_tombstone *tombstone,
			     struct writer *writer)
{
	record_begin(writer, RECORD_TOMBSTONE);
	write_u8(writer, tombstone->is_trace);
	write_u32(writer, tombstone->uid);
	write_u32(writer, tombstone->gid);
	record_end(writer, grant_id, key);
}

int record_decode_tombstone(uint64_t grant_id, const char *key,
			    const void *body, size_t size,
			    struct record_tombstone *ret_tombstone,
			    struct fairlead_error *ret_error)
{
	struct record_tombstone tombstone;
	struct reader reader;
	uint8_t is_trace;
	int result = record_open(RECORD_TOMBSTONE, grant_id, key, body, size,
				 &reader, ret_error);

	if (result < 0)
		return result;
	is_trace = read_u8(&reader);
	tombstone.is_trace = is_trace == 1;
	tombstone.uid = read_u32(&reader);
	tombstone.gid = read_u32(&reader);
	result = record_check(&reader, is_trace <= 1, ret_error);
	if (result == 0)
		*ret_tombstone = tombstone;
	return result;
}
