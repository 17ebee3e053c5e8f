/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk ready, abort, reports wanted: a broadcast's first 128 bytes, of which
 * only those that name the request and the sender are set, two more, and in the
 * place of the tag the receiver's start.
 */
#include "scoll/wire/internal.h"

static bool notice_is_valid(enum wire_kind kind,
			    const struct wire_notice *notice)
{
	if (notice->root == SCOLL_NID_ANY || notice->sender == SCOLL_NID_ANY ||
	    !status_is_valid(notice->status))
		return false;
	switch (kind) {
	case WIRE_BULK_READY:
		return true;
	case WIRE_ABORT:
		return notice->status < 0 && notice->amount == 0;
	case WIRE_REPORTS_WANTED:
		return notice->status == 0 && notice->amount > 0 &&
		       notice->amount <= WIRE_REPORTS_MAX;
	default:
		return false;
	}
}

static void zeros_write(struct writer *writer, size_t count)
{
	static const uint8_t zeros[32];

	write_bytes(writer, zeros, count);
}

int wire_notice_encode(enum wire_kind kind, const struct wire_notice *notice,
		       scoll_nid_t to, const struct scoll_authenticator *auth,
		       uint8_t ret_bytes[WIRE_NOTICE_MAX])
{
	struct writer writer = writer_over(ret_bytes, WIRE_NOTICE_MAX);
	size_t size = WIRE_BCAST_BASE + wire_seal_size(auth);

	if (!notice_is_valid(kind, notice))
		return -EINVAL;
	wire_prefix_write(&writer, kind);
	zeros_write(&writer, 2);
	write_u16(&writer, (uint16_t)size);
	zeros_write(&writer, 8);
	write_u64(&writer, notice->root);
	write_u64(&writer, notice->root_nonce);
	write_u64(&writer, notice->number);
	zeros_write(&writer, 24);
	write_u64(&writer, notice->sender);
	write_u64(&writer, notice->start);
	zeros_write(&writer, 12);
	write_u32(&writer, (uint32_t)-notice->status);
	zeros_write(&writer, 4);
	write_u64(&writer, notice->amount);
	zeros_write(&writer, 20);
	wire_seal_write(auth, to, ret_bytes, WIRE_BCAST_BASE);
	return (int)size;
}

static bool zeros_read(struct reader *reader, size_t count)
{
	const uint8_t *bytes = read_bytes(reader, count);
	uint8_t all = 0;

	for (size_t i = 0; bytes != NULL && i < count; i++)
		all |= bytes[i];
	return all == 0;
}

static bool fields_read(struct reader *reader, struct wire_notice *ret_notice)
{
	bool is_zero = zeros_read(reader, 8);
	uint32_t number;

	ret_notice->root = read_u64(reader);
	ret_notice->root_nonce = read_u64(reader);
	ret_notice->number = read_u64(reader);
	is_zero &= zeros_read(reader, 24);
	ret_notice->sender = read_u64(reader);
	ret_notice->start = read_u64(reader);
	is_zero &= zeros_read(reader, 12);
	number = read_u32(reader);
	ret_notice->status = number <= ERRNO_MAX ? -(int)number : 1;
	is_zero &= zeros_read(reader, 4);
	ret_notice->amount = read_u64(reader);
	is_zero &= zeros_read(reader, 20);
	return is_zero;
}

enum wire_result wire_notice_open(enum wire_kind kind, const uint8_t *bytes,
				  size_t size,
				  const struct scoll_authenticator *auth,
				  struct wire_notice *ret_notice)
{
	struct reader reader = reader_of(bytes, size);
	struct wire_notice notice;
	uint16_t flags, head_size;
	bool is_zero;

	if (size < WIRE_BCAST_BASE + wire_seal_size(auth))
		return WIRE_SHORT;
	read_bytes(&reader, PREFIX_SIZE);
	flags = read_u16(&reader);
	head_size = read_u16(&reader);
	if (size != WIRE_BCAST_BASE + wire_seal_size(auth) || head_size != size)
		return WIRE_LENGTH;
	is_zero = fields_read(&reader, &notice);
	if (!wire_seal_check(auth, notice.sender, bytes, WIRE_BCAST_BASE))
		return WIRE_SEAL;
	if (flags != 0 || !is_zero || !notice_is_valid(kind, &notice))
		return WIRE_FIELD;
	*ret_notice = notice;
	return WIRE_OK;
}
