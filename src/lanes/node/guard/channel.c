/* SPDX-License-Identifier: BSD-3-Clause */
/* The field lists of the channel's two messages. */
#include "lanes/node/guard/channel.h"

#include <errno.h>
#include <string.h>

#include "lanes/proto/layout.h"

static const struct layout_field request_fields[] = {
	LAYOUT_NUMBER(struct guard_request, type, GUARD_COMMAND, GUARD_OBJECTS),
	LAYOUT_NUMBER(struct guard_request, number, 0, UINT64_MAX),
	LAYOUT_NUMBER(struct guard_request, is_dry_run, 0, 1),
	LAYOUT_NUMBER(struct guard_request, is_last, 0, 1),
	LAYOUT_NUMBER(struct guard_request, is_clean, 0, 1),
	LAYOUT_BYTES(struct guard_request, nonce),
	LAYOUT_PROSE(struct guard_request, object.driver),
	LAYOUT_PROSE(struct guard_request, object.device),
	LAYOUT_NUMBER(struct guard_request, object.id, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct guard_request, object.uid, 0, UINT32_MAX),
	LAYOUT_IDS(struct guard_request, object.ids, object.id_count),
	LAYOUT_RESULT(struct guard_request, result),
	LAYOUT_BLOB(struct guard_request, bytes, size, COMMAND_SIZE_MAX),
};

static const struct layout request_layout =
	LAYOUT(struct guard_request, request_fields);

static const struct layout_field grant_fields[] = {
	LAYOUT_NUMBER(struct guard_grant, grant_id, 1, UINT64_MAX),
	LAYOUT_NUMBER(struct guard_grant, state, 0, GRANT_REVOKING),
	LAYOUT_PROSE(struct guard_grant, key),
	LAYOUT_PROSE(struct guard_grant, driver),
	LAYOUT_NUMBER(struct guard_grant, uid, 0, UINT32_MAX),
	LAYOUT_IDS(struct guard_grant, ids, id_count),
	LAYOUT_PROSE(struct guard_grant, text),
};

static const struct layout grant_layout =
	LAYOUT(struct guard_grant, grant_fields);

static const struct layout_field object_fields[] = {
	LAYOUT_PROSE(struct guard_object, object.driver),
	LAYOUT_PROSE(struct guard_object, object.device),
	LAYOUT_NUMBER(struct guard_object, object.id, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct guard_object, object.flags, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct guard_object, object.uid, 0, UINT32_MAX),
	LAYOUT_IDS(struct guard_object, object.ids, object.id_count),
	LAYOUT_PROSE(struct guard_object, detail),
};

static const struct layout object_layout =
	LAYOUT(struct guard_object, object_fields);

static const struct layout_field reply_fields[] = {
	LAYOUT_NUMBER(struct guard_reply, type, 0, GUARD_OBJECTS),
	LAYOUT_RESULT(struct guard_reply, result),
	LAYOUT_PROSE(struct guard_reply, text),
	LAYOUT_NUMBER(struct guard_reply, epoch, 0, UINT64_MAX),
	LAYOUT_IDS(struct guard_reply, key_ids, key_count),
	LAYOUT_NUMBER(struct guard_reply, pending_count, 0, UINT32_MAX),
	LAYOUT_NUMBER(struct guard_reply, op, 0, COMMAND_OP_MAX),
	LAYOUT_NUMBER(struct guard_reply, sequence, 0, UINT64_MAX),
	LAYOUT_NUMBER(struct guard_reply, what, 0, QUERY_INVENTORY),
	LAYOUT_NUMBER(struct guard_reply, is_all, 0, 1),
	LAYOUT_NUMBER(struct guard_reply, is_dry_run, 0, 1),
	LAYOUT_NUMBER(struct guard_reply, is_drained, 0, 1),
	LAYOUT_NUMBER(struct guard_reply, lease_s, 0, LEASE_S_MAX),
	LAYOUT_NUMBER(struct guard_reply, has_moved, 0, 1),
	LAYOUT_NUMBER(struct guard_reply, has_more, 0, 1),
	LAYOUT_LIST(struct guard_reply, grants, grant_count, &grant_layout,
		    GUARD_PAGE_MAX),
	LAYOUT_LIST(struct guard_reply, objects, object_count, &object_layout,
		    GUARD_OBJECTS_MAX),
	LAYOUT_BLOB(struct guard_reply, bytes, size, FRAME_SIZE_MAX),
};

static const struct layout reply_layout =
	LAYOUT(struct guard_reply, reply_fields);

int guard_request_encode(const struct guard_request *request,
			 struct writer *writer)
{
	return layout_encode(&request_layout, request, writer);
}

int guard_request_decode(const void *bytes, size_t size,
			 struct guard_request *ret_request)
{
	return layout_decode(&request_layout, bytes, size, ret_request);
}

void guard_request_fini(struct guard_request *request)
{
	layout_fini(&request_layout, request);
}

int guard_reply_encode(const struct guard_reply *reply, struct writer *writer)
{
	return layout_encode(&reply_layout, reply, writer);
}

int guard_reply_decode(const void *bytes, size_t size,
		       struct guard_reply *ret_reply)
{
	return layout_decode(&reply_layout, bytes, size, ret_reply);
}

void guard_reply_fini(struct guard_reply *reply)
{
	layout_fini(&reply_layout, reply);
}

static void key_write(struct writer *writer, uint32_t id,
		      const uint8_t bytes[KEY_SIZE])
{
	write_u32(writer, id);
	write_bytes(writer, bytes, KEY_SIZE);
}

static void key_read(struct reader *reader, uint32_t *ret_id,
		     uint8_t ret_bytes[KEY_SIZE])
{
	const uint8_t *bytes;

	*ret_id = read_u32(reader);
	bytes = read_bytes(reader, KEY_SIZE);
	if (bytes != NULL)
		memcpy(ret_bytes, bytes, KEY_SIZE);
}

int guard_hops_encode(const struct hop_keys *keys, struct writer *writer)
{
	write_u8(writer, (uint8_t)keys->hop_count);
	for (size_t i = 0; i < keys->hop_count; i++)
		key_write(writer, keys->hops[i].id, keys->hops[i].bytes);
	write_u8(writer, (uint8_t)keys->command_count);
	for (size_t i = 0; i < keys->command_count; i++)
		key_write(writer, keys->commands[i].id,
			  keys->commands[i].bytes);
	return writer->result;
}

int guard_hops_decode(const void *bytes, size_t size, struct hop_keys *ret_keys)
{
	struct reader reader = reader_of(bytes, size);

	*ret_keys = (struct hop_keys){ .hop_count = read_u8(&reader) };
	if (ret_keys->hop_count > KEYS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < ret_keys->hop_count; i++)
		key_read(&reader, &ret_keys->hops[i].id,
			 ret_keys->hops[i].bytes);
	ret_keys->command_count = read_u8(&reader);
	if (ret_keys->command_count > KEYS_MAX)
		return -EBADMSG;
	for (size_t i = 0; i < ret_keys->command_count; i++)
		key_read(&reader, &ret_keys->commands[i].id,
			 ret_keys->commands[i].bytes);
	return reader_is_done(&reader) ? 0 : -EBADMSG;
}
