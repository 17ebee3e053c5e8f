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

#define NODES_OF(name, body_bytes, body_size)                                  \
	do {                                                                   \
		struct name##_body body;                                       \
		int result = name##_body_decode(body_bytes, body_size, &body); \
                                                                               \
		if (result < 0)                                                \
			return result == -ENOMEM ? -ENOMEM : -EBADMSG;         \
		*ret_nodes = strdup(body.nodes);                               \
		name##_body_fini(&body);                                       \
		return *ret_nodes == NULL ? -ENOMEM : 0;                       \
	} while (0)

int command_nodes_read(const void *bytes, size_t size, char **ret_nodes)
{
	struct command command;
	const uint8_t *at;

	if (size < COMMAND_HEADER_SIZE ||
	    command_header_read(bytes, &command) < 0)
		return -EBADMSG;
	at = (const uint8_t *)bytes + COMMAND_HEADER_SIZE;
	size -= COMMAND_HEADER_SIZE;
	switch (command.op) {
	case COMMAND_APPLY:
		NODES_OF(apply, at, size);
	case COMMAND_REVOKE:
		NODES_OF(revoke, at, size);
	case COMMAND_QUERY:
		NODES_OF(query, at, size);
	case COMMAND_CLEAN:
		NODES_OF(clean, at, size);
	case COMMAND_LEASE:
		NODES_OF(lease, at, size);
	}
	return -EBADMSG;
}
