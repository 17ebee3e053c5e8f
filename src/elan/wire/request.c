/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which operation has which fields is one table. A request with a byte too
 * many or too few is refused.
 */
#include "elan/wire/wire.h"

#include <errno.h>

#define HAS_ID     (1u << 0)
#define HAS_INDEX  (1u << 1)
#define HAS_VALUE  (1u << 2)
#define HAS_UID    (1u << 3)
#define HAS_GRANT  (1u << 4)
#define HAS_STATS  (1u << 5)
#define HAS_CAP    (1u << 6)
#define HAS_TEXT   (1u << 7)
#define HAS_ROUTES (1u << 8)

static const uint16_t fields_of[RMS_OP_COUNT] = {
	[RMS_PRGCREATE] = HAS_ID | HAS_VALUE | HAS_UID,
	[RMS_PRGDESTROY] = HAS_ID,
	[RMS_PRGINFO] = HAS_ID,
	[RMS_GETPRGID] = HAS_VALUE,
	[RMS_ADDPROC] = HAS_ID | HAS_VALUE,
	[RMS_REMOVEPROC] = HAS_ID | HAS_VALUE,
	[RMS_PRGSIGNAL] = HAS_ID | HAS_VALUE,
	[RMS_PRGSUSPEND] = HAS_ID,
	[RMS_PRGRESUME] = HAS_ID,
	[RMS_PRGADDCAP] = HAS_ID | HAS_INDEX | HAS_CAP,
	[RMS_SETCAP] = HAS_INDEX | HAS_VALUE,
	[RMS_GETCAP] = HAS_INDEX,
	[RMS_PREFCAP] = HAS_VALUE,
	[RMS_ELANINITDONE] = HAS_VALUE,
	[RMS_PRGELANPIDS] = HAS_ID,
	[RMS_PRGGETSTATS] = HAS_ID,
	[RMS_SETELANSTATS] = HAS_ID | HAS_STATS,
	[RMS_SETCOREPATH] = HAS_TEXT,
	[RMS_GETCOREPATH] = HAS_VALUE,
	[RMS_ATTACH] = HAS_INDEX | HAS_CAP,
	[RMS_DETACH] = HAS_INDEX | HAS_CAP,
	[RMS_DEPOSIT] = HAS_GRANT | HAS_UID | HAS_CAP,
	[RMS_DEPOSIT_NEXT] = HAS_GRANT,
	[RMS_RAIL] = HAS_INDEX | HAS_VALUE,
	[RMS_DEPOSIT_TAKE] = HAS_VALUE | HAS_GRANT,
	[RMS_PRGCLAIM] = HAS_ID,
	[RMS_DEPOSIT_IS] = HAS_UID | HAS_GRANT,
	[RMS_OPEN] = HAS_INDEX | HAS_CAP,
	[RMS_ROUTE] = HAS_VALUE | HAS_GRANT | HAS_ROUTES,
};

static void write_head(struct writer *writer, enum rms_op op)
{
	write_u8(writer, RMS_VERSION);
	write_u8(writer, (uint8_t)op);
	write_u16(writer, 0);
}

static int read_head(struct reader *reader, enum rms_op *ret_op)
{
	uint8_t version = read_u8(reader);
	uint8_t op = read_u8(reader);
	uint16_t reserved = read_u16(reader);

	if (reader->failed)
		return -EPROTO;
	if (version != RMS_VERSION)
		return -EPROTONOSUPPORT;
	if (op >= RMS_OP_COUNT || reserved != 0)
		return -EPROTO;
	*ret_op = op;
	return 0;
}

void rms_request_encode(const struct rms_request *request,
			struct writer *writer)
{
	unsigned int fields = fields_of[request->op];

	write_head(writer, request->op);
	if (fields & HAS_ID)
		write_u32(writer, (uint32_t)request->id);
	if (fields & HAS_INDEX)
		write_u32(writer, (uint32_t)request->index);
	if (fields & HAS_VALUE)
		write_u32(writer, (uint32_t)request->value);
	if (fields & HAS_UID)
		write_u32(writer, request->uid);
	if (fields & HAS_GRANT)
		write_u64(writer, request->grant);
	if (fields & HAS_STATS) {
		write_u64(writer, request->stats.ebytes);
		write_u64(writer, request->stats.exfers);
	}
	if (fields & HAS_CAP)
		capability_write(&request->cap, writer);
	if (fields & HAS_TEXT)
		write_text(writer, request->text);
	if (fields & HAS_ROUTES)
		write_blob(writer, request->routes, request->routes_size);
}

int rms_request_decode(const void *bytes, size_t size,
		       struct rms_request *ret_request)
{
	struct reader reader = reader_of(bytes, size);
	struct rms_request request = { 0 };
	unsigned int fields;
	int result;

	result = read_head(&reader, &request.op);
	if (result < 0)
		return result;
	if (request.op == RMS_NONE)
		return -EPROTO;
	fields = fields_of[request.op];
	if (fields & HAS_ID)
		request.id = (int32_t)read_u32(&reader);
	if (fields & HAS_INDEX)
		request.index = (int32_t)read_u32(&reader);
	if (fields & HAS_VALUE)
		request.value = (int32_t)read_u32(&reader);
	if (fields & HAS_UID)
		request.uid = read_u32(&reader);
	if (fields & HAS_GRANT)
		request.grant = read_u64(&reader);
	if (fields & HAS_STATS) {
		request.stats.ebytes = read_u64(&reader);
		request.stats.exfers = read_u64(&reader);
	}
	if (fields & HAS_CAP)
		capability_read(&reader, &request.cap);
	if (fields & HAS_TEXT)
		read_text(&reader, request.text, sizeof(request.text));
	if (fields & HAS_ROUTES)
		request.routes =
			read_blob(&reader, ROUTES_SIZE, &request.routes_size);
	if (!reader_is_done(&reader))
		return -EPROTO;
	*ret_request = request;
	return 0;
}

void rms_reply_encode(enum rms_op op, int32_t result, struct writer *writer)
{
	write_head(writer, op);
	write_u32(writer, (uint32_t)result);
}

int rms_reply_decode(const void *bytes, size_t size,
		     struct rms_reply *ret_reply)
{
	struct reader reader = reader_of(bytes, size);
	struct rms_reply reply = { 0 };
	int result;

	result = read_head(&reader, &reply.op);
	if (result < 0)
		return result;
	reply.result = (int32_t)read_u32(&reader);
	if (reader.failed || reply.result > 0)
		return -EPROTO;
	reply.body = reader;
	*ret_reply = reply;
	return 0;
}

void rms_write_stats(struct writer *writer, const struct rms_prgstats *stats)
{
	write_u64(writer, stats->etime);
	write_u64(writer, stats->atime);
	write_u64(writer, stats->utime);
	write_u64(writer, stats->stime);
	write_u64(writer, stats->pageflts);
	write_u64(writer, stats->memint);
	write_u64(writer, stats->ebytes);
	write_u64(writer, stats->exfers);
	write_u64(writer, stats->mem);
	write_u32(writer, (uint32_t)stats->ncpus);
	write_u32(writer, (uint32_t)stats->flags);
}

void rms_read_stats(struct reader *reader, struct rms_prgstats *ret_stats)
{
	struct rms_prgstats stats = { 0 };

	stats.etime = read_u64(reader);
	stats.atime = read_u64(reader);
	stats.utime = read_u64(reader);
	stats.stime = read_u64(reader);
	stats.pageflts = read_u64(reader);
	stats.memint = read_u64(reader);
	stats.ebytes = read_u64(reader);
	stats.exfers = read_u64(reader);
	stats.mem = read_u64(reader);
	stats.ncpus = (int32_t)read_u32(reader);
	stats.flags = (int32_t)read_u32(reader);
	*ret_stats = stats;
}
