/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Little-endian: u8 1, u8 flags (1: separate, 2: bulk), u32 ms, u32 bytes of a
 * part, and but for bulk u32 length of the command and its bytes.
 */
#include "lanes/proto/parcel.h"

#include <errno.h>
#include <string.h>

#define PARCEL_VERSION  1

#define PARCEL_SEPARATE (1u << 0)
#define PARCEL_BULK     (1u << 1)

static bool part_is_valid(uint32_t part_bytes)
{
	return part_bytes >= PARCEL_PART_MIN && part_bytes <= PARCEL_PART_MAX;
}

int parcel_encode(const struct parcel *parcel, struct writer *writer)
{
	uint8_t flags = 0;
	size_t start = writer->size;

	if (!part_is_valid(parcel->part_bytes))
		return -EINVAL;
	if (parcel->is_separate)
		flags |= PARCEL_SEPARATE;
	if (parcel->is_bulk)
		flags |= PARCEL_BULK;
	write_u8(writer, PARCEL_VERSION);
	write_u8(writer, flags);
	write_u32(writer, parcel->patience_ms);
	write_u32(writer, parcel->part_bytes);
	if (!parcel->is_bulk)
		write_blob(writer, parcel->command, parcel->command_size);
	if (writer->result < 0)
		writer->size = start;
	return writer->result;
}

int parcel_decode(const void *bytes, size_t size, struct parcel *ret_parcel)
{
	struct reader reader = reader_of(bytes, size);
	struct parcel parcel = { 0 };
	uint8_t version = read_u8(&reader);
	uint8_t flags = read_u8(&reader);

	if (version != PARCEL_VERSION ||
	    (flags & ~(PARCEL_SEPARATE | PARCEL_BULK)) != 0)
		return -EBADMSG;
	parcel.is_separate = (flags & PARCEL_SEPARATE) != 0;
	parcel.is_bulk = (flags & PARCEL_BULK) != 0;
	parcel.patience_ms = read_u32(&reader);
	parcel.part_bytes = read_u32(&reader);
	if (!parcel.is_bulk)
		parcel.command = read_blob(&reader, FRAME_SIZE_MAX,
					   &parcel.command_size);
	if (!reader_is_done(&reader) || !part_is_valid(parcel.part_bytes))
		return -EBADMSG;
	*ret_parcel = parcel;
	return 0;
}

/* Most confirmations are "done", and make up one set; others have a reason. */
#define OTHERS_BYTES 4096

int parcel_parts(const struct parcel *parcel, int node_count)
{
	uint64_t bytes = (uint64_t)node_count * OTHERS_BYTES;
	uint64_t count = 1 + bytes / parcel->part_bytes;

	if (count > (uint64_t)node_count)
		count = (uint64_t)node_count;
	return count > PARCEL_PARTS_MAX ? PARCEL_PARTS_MAX : (int)count;
}

int command_nodes_read(const void *bytes, size_t size, char **ret_nodes)
{
	union command_body body;
	struct command command;
	int result;

	if (size < COMMAND_HEADER_SIZE ||
	    command_header_read(bytes, &command) < 0 ||
	    command.op == COMMAND_HELLO || command.op == COMMAND_ACK ||
	    command.op == COMMAND_DRAIN)
		return -EBADMSG;
	result = command_body_decode(
		command.op, (const uint8_t *)bytes + COMMAND_HEADER_SIZE,
		size - COMMAND_HEADER_SIZE, &body);
	if (result < 0)
		return result == -ENOMEM ? -ENOMEM : -EBADMSG;
	*ret_nodes = strdup(command_body_nodes(command.op, &body));
	command_body_fini(command.op, &body);
	return *ret_nodes == NULL ? -ENOMEM : 0;
}
