/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The head of a reply, and reports. A reply is opened as from the child whose
 * buffer it came to, so that no other member can answer for it.
 */
#include "scoll/wire/internal.h"

#define REPLY_BASE      56
#define REPORT_BASE     32
#define FAILURE_SIZE    8
#define REPORT_LAST     1
#define REPLY_FLAGS_ALL (WIRE_REPLY_LAST | WIRE_REPLY_MORE | WIRE_REPLY_START)

_Static_assert(WIRE_REPLY_FAILURES_MAX ==
		       (WIRE_REPLY_HEAD - REPLY_BASE) / FAILURE_SIZE,
	       "a head without a seal");
_Static_assert(WIRE_REPORT_MAX ==
		       REPORT_BASE + WIRE_REPORT_FAILURES_MAX * FAILURE_SIZE +
			       SCOLL_SEAL_MAX,
	       "a full report with the longest seal");

unsigned int wire_reply_capacity(const struct scoll_authenticator *auth)
{
	return (unsigned int)((WIRE_REPLY_HEAD - REPLY_BASE -
			       wire_seal_size(auth)) /
			      FAILURE_SIZE);
}

static bool reply_is_valid(const struct wire_reply *reply, size_t payload_size,
			   const struct scoll_authenticator *auth)
{
	bool is_last = (reply->flags & WIRE_REPLY_LAST) != 0;
	bool has_more = (reply->flags & WIRE_REPLY_MORE) != 0;

	if ((reply->flags & ~REPLY_FLAGS_ALL) != 0 ||
	    !tag_is_valid(reply->tag) || !status_is_valid(reply->status) ||
	    reply->type >= SCOLL_ERROR_COUNT ||
	    (reply->status == 0) != (reply->type == SCOLL_ERROR_NONE) ||
	    reply->part >= SCOLL_REPLY_PARTS_MAX ||
	    reply->failure_count > wire_reply_capacity(auth) ||
	    reply->failure_total > RANK_COUNT_MAX)
		return false;
	if (reply->status < 0 && payload_size > 0)
		return false;
	if (reply->flags & WIRE_REPLY_START)
		return reply->flags == (WIRE_REPLY_LAST | WIRE_REPLY_START) &&
		       reply->status < 0 && reply->part == 0 &&
		       reply->failure_total == 0 && reply->failure_count == 0 &&
		       reply->start != 0;
	if (!is_last)
		return !has_more && reply->status == 0 &&
		       reply->failure_total == 0 && reply->failure_count == 0;
	return has_more ? reply->failure_total > reply->failure_count
			: reply->failure_total == reply->failure_count;
}

int wire_reply_encode(const struct wire_reply *reply, const void *payload,
		      size_t payload_size, scoll_nid_t to,
		      const struct scoll_authenticator *auth,
		      uint8_t ret_head[WIRE_REPLY_HEAD])
{
	struct writer writer = writer_over(ret_head, WIRE_REPLY_HEAD);
	size_t plain_size = WIRE_REPLY_HEAD - wire_seal_size(auth);
	struct wire_digest digest;

	if (payload_size > SCOLL_REPLY_PART_MAX)
		return -EMSGSIZE;
	if (!reply_is_valid(reply, payload_size, auth))
		return -EINVAL;
	for (unsigned int i = 0; i < reply->failure_count; i++)
		if (!wire_failure_is_valid(&reply->failures[i]))
			return -EINVAL;
	wire_prefix_write(&writer, WIRE_REPLY);
	write_u16(&writer, reply->flags);
	write_u16(&writer, reply->failure_count);
	write_u64(&writer, reply->tag);
	write_u64(&writer, reply->sender);
	write_u32(&writer, (uint32_t)reply->status);
	write_u8(&writer, reply->type);
	write_u8(&writer, 0);
	write_u16(&writer, reply->part);
	write_u32(&writer, (uint32_t)payload_size);
	wire_body_digest(auth, payload, payload_size, &digest);
	write_digest(&writer, &digest);
	write_u32(&writer, reply->failure_total);
	if (reply->flags & WIRE_REPLY_START)
		write_u64(&writer, reply->start);
	for (unsigned int i = 0; i < reply->failure_count; i++)
		wire_failure_write(&writer, &reply->failures[i]);
	memset(ret_head + writer.size, 0, WIRE_REPLY_HEAD - writer.size);
	wire_seal_write(auth, to, ret_head, plain_size);
	return 0;
}

/* The failures, and that the rest of the head is zero. */
static bool failures_read(struct reader *reader, struct wire_reply *ret_reply)
{
	for (unsigned int i = 0; i < ret_reply->failure_count; i++)
		if (!wire_failure_read(reader, &ret_reply->failures[i]))
			return false;
	while (reader->left > 0)
		if (read_u8(reader) != 0)
			return false;
	return true;
}

enum wire_result wire_reply_open(const uint8_t head[WIRE_REPLY_HEAD],
				 const void *payload, size_t size,
				 scoll_nid_t from, uint64_t tag,
				 const struct scoll_authenticator *auth,
				 struct wire_reply *ret_reply)
{
	size_t plain_size = WIRE_REPLY_HEAD - wire_seal_size(auth);
	struct wire_digest digest, expected;
	size_t payload_size;
	struct wire_reply reply;
	struct reader reader;
	enum wire_result result;
	uint8_t kind, zero;

	result = wire_prefix_read(head, size, &kind);
	if (result != WIRE_OK)
		return result;
	if (kind != WIRE_REPLY)
		return WIRE_KIND;
	if (size < WIRE_REPLY_HEAD)
		return WIRE_SHORT;
	reader = reader_of(head + PREFIX_SIZE, plain_size - PREFIX_SIZE);
	reply.flags = read_u16(&reader);
	reply.failure_count = read_u16(&reader);
	reply.tag = read_u64(&reader);
	reply.sender = read_u64(&reader);
	reply.status = (int32_t)read_u32(&reader);
	reply.type = read_u8(&reader);
	zero = read_u8(&reader);
	reply.part = read_u16(&reader);
	payload_size = read_u32(&reader);
	read_digest(&reader, &expected);
	reply.failure_total = read_u32(&reader);
	reply.start = reply.flags & WIRE_REPLY_START ? read_u64(&reader) : 0;
	if (payload_size != size - WIRE_REPLY_HEAD ||
	    payload_size > SCOLL_REPLY_PART_MAX)
		return WIRE_LENGTH;
	if (!wire_seal_check(auth, from, head, plain_size))
		return WIRE_SEAL;
	wire_body_digest(auth, payload, payload_size, &digest);
	if (!wire_digest_equals(&digest, &expected))
		return WIRE_DIGEST;
	if (zero != 0 || reply.sender != from || reply.tag != tag ||
	    !reply_is_valid(&reply, payload_size, auth) ||
	    !failures_read(&reader, &reply))
		return WIRE_FIELD;
	*ret_reply = reply;
	return WIRE_OK;
}

/* --- reports --- */

static bool report_is_valid(const struct wire_report *report)
{
	return tag_is_valid(report->tag) && report->number < WIRE_REPORTS_MAX &&
	       report->failure_count > 0 &&
	       report->failure_count <= WIRE_REPORT_FAILURES_MAX;
}

int wire_report_encode(const struct wire_report *report,
		       const struct wire_failure *failures, scoll_nid_t to,
		       const struct scoll_authenticator *auth,
		       uint8_t ret_bytes[WIRE_REPORT_MAX])
{
	struct writer writer = writer_over(ret_bytes, WIRE_REPORT_MAX);

	if (!report_is_valid(report))
		return -EINVAL;
	for (unsigned int i = 0; i < report->failure_count; i++)
		if (!wire_failure_is_valid(&failures[i]))
			return -EINVAL;
	wire_prefix_write(&writer, WIRE_REPORT);
	write_u16(&writer, report->is_last ? REPORT_LAST : 0);
	write_u16(&writer, report->failure_count);
	write_u64(&writer, report->tag);
	write_u64(&writer, report->sender);
	write_u16(&writer, report->number);
	write_u16(&writer, 0);
	write_u32(&writer, 0);
	for (unsigned int i = 0; i < report->failure_count; i++)
		wire_failure_write(&writer, &failures[i]);
	wire_seal_write(auth, to, ret_bytes, writer.size);
	return (int)(writer.size + wire_seal_size(auth));
}

static bool report_failures_are_valid(const struct wire_report *report)
{
	struct reader reader = reader_of(
		report->failures, report->failure_count * (size_t)FAILURE_SIZE);
	struct wire_failure failure;

	for (unsigned int i = 0; i < report->failure_count; i++)
		if (!wire_failure_read(&reader, &failure))
			return false;
	return true;
}

enum wire_result wire_report_open(const void *bytes, size_t size,
				  scoll_nid_t from, uint64_t tag,
				  const struct scoll_authenticator *auth,
				  struct wire_report *ret_report)
{
	struct reader reader = reader_of(bytes, size);
	struct wire_report report;
	enum wire_result result;
	size_t plain_size;
	uint16_t flags;
	uint32_t zero;
	uint8_t kind;

	result = wire_prefix_read(bytes, size, &kind);
	if (result != WIRE_OK)
		return result;
	if (kind != WIRE_REPORT)
		return WIRE_KIND;
	if (size < REPORT_BASE + wire_seal_size(auth))
		return WIRE_SHORT;
	read_bytes(&reader, PREFIX_SIZE);
	flags = read_u16(&reader);
	report.failure_count = read_u16(&reader);
	report.tag = read_u64(&reader);
	report.sender = read_u64(&reader);
	report.number = read_u16(&reader);
	zero = read_u16(&reader);
	zero |= read_u32(&reader);
	report.is_last = flags == REPORT_LAST;
	report.failures = reader.at;
	plain_size = REPORT_BASE + report.failure_count * (size_t)FAILURE_SIZE;
	if (size > WIRE_REPORT_MAX || size != plain_size + wire_seal_size(auth))
		return WIRE_LENGTH;
	if (!wire_seal_check(auth, from, bytes, plain_size))
		return WIRE_SEAL;
	if ((flags & ~REPORT_LAST) != 0 || zero != 0 || report.sender != from ||
	    report.tag != tag || !report_is_valid(&report) ||
	    !report_failures_are_valid(&report))
		return WIRE_FIELD;
	*ret_report = report;
	return WIRE_OK;
}

void wire_failure_at(const struct wire_report *report, unsigned int index,
		     struct wire_failure *ret_failure)
{
	struct reader reader = reader_of(
		report->failures + index * (size_t)FAILURE_SIZE, FAILURE_SIZE);

	wire_failure_read(&reader, ret_failure);
}
