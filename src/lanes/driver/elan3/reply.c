/* SPDX-License-Identifier: BSD-3-Clause */
/* A decoder takes only what would be encoded the same again. */
#include "lanes/driver/elan3/reply.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "elan/capability.h"

int elan3_reply_encode(const struct elan3_reply *reply, struct writer *writer)
{
	size_t start = writer->size;

	if (reply->cap_count == 0 || reply->cap_count > ELAN3_CAPS_MAX ||
	    reply->program == 0 || reply->program > INT32_MAX)
		return -EINVAL;
	write_u32(writer, ELAN3_REPLY_MAGIC);
	write_u32(writer, reply->program);
	write_u32(writer, reply->cap_count);
	for (uint32_t i = 0; i < reply->cap_count; i++) {
		write_u32(writer, (uint32_t)capability_size(&reply->caps[i]));
		capability_write(&reply->caps[i], writer);
	}
	if (writer->result == 0 && writer->size - start <= ELAN3_REPLY_MAX)
		return 0;
	writer->size = start;
	return writer->result < 0 ? writer->result : -E2BIG;
}

void elan3_reply_fini(struct elan3_reply *reply)
{
	if (reply->caps)
		explicit_bzero(reply->caps,
			       reply->cap_count * sizeof(*reply->caps));
	free(reply->caps);
	*reply = (struct elan3_reply){ 0 };
}

/* Bits behind those that mean something have no other encoding. */
static bool has_stray_bits(const struct elan_capability *cap)
{
	uint32_t bits =
		capability_context_count(cap) * capability_node_count(cap);

	return bits % 32 != 0 && cap->cap_bitmap[bits / 32] >> bits % 32 != 0;
}

/* What is wrong with capability i; NULL: nothing. */
static const char *cap_read(struct reader *reader, struct elan3_reply *reply,
			    uint32_t i)
{
	struct elan_capability *cap = &reply->caps[i];
	uint32_t size = read_u32(reader);

	capability_read(reader, cap);
	if (reader->failed)
		return "is cut";
	if (capability_check(cap) < 0 || capability_size(cap) != size ||
	    has_stray_bits(cap))
		return "is none that a program can have";
	for (uint32_t n = 0; n < i; n++)
		if (capability_overlaps(cap, &reply->caps[n]))
			return "overlaps another one";
	return NULL;
}

static int caps_read(struct reader *reader, struct elan3_reply *reply,
		     struct fairlead_error *ret_error)
{
	for (uint32_t i = 0; i < reply->cap_count; i++) {
		const char *flaw = cap_read(reader, reply, i);

		if (flaw)
			return error_set(ret_error, -EBADMSG,
					 "capability %u of the reply %s", i,
					 flaw);
	}
	if (!reader_is_done(reader))
		return error_set(ret_error, -EBADMSG,
				 "the reply is cut or too long");
	return 0;
}

int elan3_reply_decode(const void *bytes, size_t size,
		       struct elan3_reply *ret_reply,
		       struct fairlead_error *ret_error)
{
	struct reader reader = reader_of(bytes, size);
	struct elan3_reply reply = { 0 };
	uint32_t magic = read_u32(&reader);
	int result;

	reply.program = read_u32(&reader);
	reply.cap_count = read_u32(&reader);
	if (reader.failed || size > ELAN3_REPLY_MAX)
		return error_set(ret_error, -EBADMSG,
				 "the reply is cut or too long");
	if (magic != ELAN3_REPLY_MAGIC)
		return error_set(ret_error, -EBADMSG,
				 "the reply begins with %#x, which is not %#x",
				 magic, ELAN3_REPLY_MAGIC);
	if (reply.program == 0 || reply.program > INT32_MAX)
		return error_set(ret_error, -EBADMSG,
				 "the reply has program %u, which cannot be",
				 reply.program);
	if (reply.cap_count == 0 || reply.cap_count > ELAN3_CAPS_MAX)
		return error_set(ret_error, -EBADMSG,
				 "the reply has %u capabilities, and 1 to %d "
				 "can be",
				 reply.cap_count, ELAN3_CAPS_MAX);
	reply.caps = memory_array(reply.cap_count, sizeof(*reply.caps));
	result = caps_read(&reader, &reply, ret_error);
	if (result < 0)
		elan3_reply_fini(&reply);
	else
		*ret_reply = reply;
	return result;
}
