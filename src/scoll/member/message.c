/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The header is fixed, the rest of a message is its signs. What a message says
 * twice (its part and how many signs there are) has to agree.
 */
#include "scoll/member/message.h"

#include <errno.h>
#include <string.h>

#include "scoll/member/age.h"

#define MAGIC        0x53534746u /* "FGSS" */
#define VERSION      2
#define FLAG_REQUEST 1u
#define FLAG_LEAVE   2u
#define SIGNS_MAX \
	((MESSAGE_SIZE_MAX - MESSAGE_HEADER_SIZE) / AGE_BLOCK * AGE_BLOCK)

struct message_parts message_parts_of(size_t node_count)
{
	size_t parts = (node_count + SIGNS_MAX - 1) / SIGNS_MAX;
	size_t nodes = (node_count + parts - 1) / parts;

	nodes = (nodes + AGE_BLOCK - 1) / AGE_BLOCK * AGE_BLOCK;
	return (struct message_parts){
		.node_count = (uint32_t)node_count,
		.part_count = (uint32_t)((node_count + nodes - 1) / nodes),
		.part_nodes = (uint32_t)nodes,
	};
}

uint32_t message_part_count(const struct message_parts *parts, uint32_t part)
{
	uint32_t left = parts->node_count - message_part_first(parts, part);

	return left < parts->part_nodes ? left : parts->part_nodes;
}

int message_encode(const struct member_message *message, struct writer *writer)
{
	write_u32(writer, MAGIC);
	write_u8(writer, VERSION);
	write_u8(writer, (message->is_request ? FLAG_REQUEST : 0) |
				 (message->is_leave ? FLAG_LEAVE : 0));
	write_u8(writer, message->listening_cycles);
	write_u8(writer, 0);
	write_bytes(writer, message->roster_digest, ROSTER_DIGEST_SIZE);
	write_u64(writer, message->nid);
	write_u64(writer, message->boot_nonce);
	write_u64(writer, message->cycle);
	write_u64(writer, message->asker_nonce);
	write_u32(writer, message->part);
	write_u32(writer, message->count);
	write_bytes(writer, message->signs, message->count);
	return writer->result;
}

int message_decode(const void *bytes, size_t size,
		   struct member_message *ret_message)
{
	struct reader reader = reader_of(bytes, size);
	struct member_message message = { 0 };
	const uint8_t *digest;
	uint8_t flags, zero;

	if (size > MESSAGE_SIZE_MAX || read_u32(&reader) != MAGIC)
		return -EBADMSG;
	if (read_u8(&reader) != VERSION)
		return reader.failed ? -EBADMSG : -EPROTONOSUPPORT;
	flags = read_u8(&reader);
	message.listening_cycles = read_u8(&reader);
	zero = read_u8(&reader);
	digest = read_bytes(&reader, ROSTER_DIGEST_SIZE);
	message.nid = read_u64(&reader);
	message.boot_nonce = read_u64(&reader);
	message.cycle = read_u64(&reader);
	message.asker_nonce = read_u64(&reader);
	message.part = read_u32(&reader);
	message.count = read_u32(&reader);
	message.signs = read_bytes(&reader, message.count);
	if (!reader_is_done(&reader) || zero != 0 || message.count == 0 ||
	    flags & ~(FLAG_REQUEST | FLAG_LEAVE) ||
	    flags == (FLAG_REQUEST | FLAG_LEAVE) ||
	    (flags != 0 && message.asker_nonce != 0) ||
	    message.cycle > MESSAGE_CYCLE_MAX)
		return -EBADMSG;
	memcpy(message.roster_digest, digest, ROSTER_DIGEST_SIZE);
	message.is_request = flags & FLAG_REQUEST;
	message.is_leave = flags & FLAG_LEAVE;
	*ret_message = message;
	return 0;
}

bool message_fits(const struct member_message *message,
		  const struct message_parts *parts)
{
	return message->part < parts->part_count &&
	       message->count == message_part_count(parts, message->part);
}
