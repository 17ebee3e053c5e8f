/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Heads of packets, and the bodies of requests: which operation has which
 * fields is one table. A request with a byte too many or too few, or with a
 * reserved byte that is not zero, is refused.
 */
#include "emu/cxi/wire/wire.h"

#include <errno.h>
#include <string.h>

#define HAS_ID    (1u << 0)
#define HAS_VALUE (1u << 1)
#define HAS_LAST  (1u << 2)
#define HAS_DESC  (1u << 3)
#define HAS_TEXT  (1u << 4)

static const uint8_t fields_of[WIRE_OP_COUNT] = {
	[WIRE_OPEN_DEVICE] = HAS_ID,
	[WIRE_ALLOC_SVC] = HAS_DESC,
	[WIRE_DESTROY_SVC] = HAS_ID,
	[WIRE_UPDATE_SVC] = HAS_DESC,
	[WIRE_GET_SVC] = HAS_ID,
	[WIRE_GET_SVC_RSRC_USE] = HAS_ID,
	[WIRE_SVC_ENABLE] = HAS_ID | HAS_VALUE,
	[WIRE_SET_SVC_LPR] = HAS_ID | HAS_VALUE,
	[WIRE_GET_SVC_LPR] = HAS_ID,
	[WIRE_SVC_SET_EXCLUSIVE_CP] = HAS_ID | HAS_VALUE,
	[WIRE_SVC_GET_EXCLUSIVE_CP] = HAS_ID,
	[WIRE_SVC_SET_VNI_RANGE] = HAS_ID | HAS_VALUE | HAS_LAST,
	[WIRE_SVC_GET_VNI_RANGE] = HAS_ID,
	[WIRE_SVC_SET_NETNS] = HAS_ID | HAS_VALUE,
	[WIRE_SVC_GET_NETNS] = HAS_ID,
	[WIRE_ALLOC_LNI] = HAS_ID,
	[WIRE_DESTROY_LNI] = HAS_ID,
	[WIRE_CONTROL] = HAS_TEXT,
};

static void write_head(struct writer *writer, enum wire_op op)
{
	write_u8(writer, SOFTNIC_VERSION);
	write_u8(writer, (uint8_t)op);
	write_u16(writer, 0);
}

static int read_head(struct reader *reader, enum wire_op *ret_op)
{
	uint8_t version = read_u8(reader);
	uint8_t op = read_u8(reader);
	uint16_t reserved = read_u16(reader);

	if (reader->failed)
		return -EPROTO;
	if (version != SOFTNIC_VERSION)
		return -EPROTONOSUPPORT;
	if (op >= WIRE_OP_COUNT || reserved != 0)
		return -EPROTO;
	*ret_op = op;
	return 0;
}

void wire_read(struct reader *reader, void *ret_structure, size_t size)
{
	const uint8_t *bytes = read_bytes(reader, size);

	if (bytes != NULL)
		memcpy(ret_structure, bytes, size);
}

/* Of its fields only these cannot have all values of their bytes. */
static void read_desc(struct reader *reader, struct cxi_svc_desc *ret_desc)
{
	const uint8_t *tcs = (const uint8_t *)ret_desc->tcs;

	wire_read(reader, ret_desc, sizeof(*ret_desc));
	for (unsigned int i = 0; i < CXI_TC_MAX; i++)
		reader->failed |= tcs[i] > 1;
}

void wire_request_encode(const struct wire_request *request,
			 struct writer *writer)
{
	unsigned int fields = fields_of[request->op];

	write_head(writer, request->op);
	if (fields & HAS_ID)
		write_u32(writer, request->id);
	if (fields & HAS_VALUE)
		write_u32(writer, request->value);
	if (fields & HAS_LAST)
		write_u32(writer, request->last);
	if (fields & HAS_DESC)
		write_bytes(writer, &request->desc, sizeof(request->desc));
	if (fields & HAS_TEXT)
		write_text(writer, request->text);
}

int wire_request_decode(const void *bytes, size_t size,
			struct wire_request *ret_request)
{
	struct reader reader = reader_of(bytes, size);
	struct wire_request request = { 0 };
	unsigned int fields;
	int result;

	result = read_head(&reader, &request.op);
	if (result < 0)
		return result;
	if (request.op == WIRE_NONE)
		return -EPROTO;
	fields = fields_of[request.op];
	if (fields & HAS_ID)
		request.id = read_u32(&reader);
	if (fields & HAS_VALUE)
		request.value = read_u32(&reader);
	if (fields & HAS_LAST)
		request.last = read_u32(&reader);
	if (fields & HAS_DESC)
		read_desc(&reader, &request.desc);
	if (fields & HAS_TEXT)
		read_text(&reader, request.text, sizeof(request.text));
	if (!reader_is_done(&reader))
		return -EPROTO;
	*ret_request = request;
	return 0;
}

void wire_reply_encode(enum wire_op op, int32_t result, struct writer *writer)
{
	write_head(writer, op);
	write_u32(writer, (uint32_t)result);
}

int wire_reply_decode(const void *bytes, size_t size,
		      struct softnic_wire_reply *ret_reply)
{
	struct reader reader = reader_of(bytes, size);
	struct softnic_wire_reply reply = { 0 };
	int result;

	result = read_head(&reader, &reply.op);
	if (result < 0)
		return result;
	reply.result = (int32_t)read_u32(&reader);
	if (reader.failed)
		return -EPROTO;
	reply.body = reader;
	*ret_reply = reply;
	return 0;
}
