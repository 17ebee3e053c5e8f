/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What all messages have in common: prefix, seal, digest, failures. The seal is
 * checked with the sender that the message names (for a reply, the sender that
 * we expected) before anything else in the message is believed.
 */
#include <sodium.h>

#include "scoll/wire/internal.h"

enum failure_flag {
	FAILURE_SUBTREE = 1u << 0,
	FAILURE_REACHED = 1u << 1,
	FAILURE_FLAGS_ALL = (1u << 2) - 1,
};

void wire_digest_of(const void *data, size_t size, struct wire_digest *ret)
{
	crypto_generichash(ret->bytes, sizeof(ret->bytes), data, size, NULL, 0);
}

bool wire_digest_equals(const struct wire_digest *a,
			const struct wire_digest *b)
{
	return memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

void wire_body_digest(const struct scoll_authenticator *auth, const void *data,
		      size_t size, struct wire_digest *ret)
{
	if (auth != NULL)
		wire_digest_of(data, size, ret);
	else
		*ret = (struct wire_digest){ 0 };
}

size_t wire_seal_size(const struct scoll_authenticator *auth)
{
	return auth != NULL ? auth->seal_size : 0;
}

size_t wire_signature_size(const struct scoll_authenticator *auth)
{
	return auth != NULL ? auth->signature_size : 0;
}

void wire_prefix_write(struct writer *writer, enum wire_kind kind)
{
	write_u16(writer, MAGIC);
	write_u8(writer, SCOLL_PROTOCOL_VERSION);
	write_u8(writer, (uint8_t)kind);
}

enum wire_result wire_prefix_read(const void *bytes, size_t size,
				  uint8_t *ret_kind)
{
	struct reader reader = reader_of(bytes, size);

	if (size < PREFIX_SIZE)
		return WIRE_SHORT;
	if (read_u16(&reader) != MAGIC)
		return WIRE_MAGIC;
	if (read_u8(&reader) != SCOLL_PROTOCOL_VERSION)
		return WIRE_VERSION;
	*ret_kind = read_u8(&reader);
	return WIRE_OK;
}

void wire_seal_write(const struct scoll_authenticator *auth, scoll_nid_t to,
		     uint8_t *bytes, size_t size)
{
	if (auth != NULL)
		auth->seal(auth->ctx, to, bytes, size, bytes + size);
}

bool wire_seal_check(const struct scoll_authenticator *auth, scoll_nid_t from,
		     const uint8_t *bytes, size_t size)
{
	return auth == NULL ||
	       auth->verify(auth->ctx, from, bytes, size, bytes + size) == 0;
}

bool wire_failure_is_valid(const struct wire_failure *failure)
{
	return failure->rank < RANK_COUNT_MAX && failure->status < 0 &&
	       status_is_valid(failure->status) &&
	       failure->type > SCOLL_ERROR_NONE &&
	       failure->type < SCOLL_ERROR_COUNT &&
	       !(failure->is_subtree && failure->is_reached);
}

void wire_failure_write(struct writer *writer,
			const struct wire_failure *failure)
{
	write_u32(writer, failure->rank);
	write_u16(writer, (uint16_t)failure->status);
	write_u8(writer, failure->type);
	write_u8(writer,
		 (uint8_t)((failure->is_subtree ? FAILURE_SUBTREE : 0) |
			   (failure->is_reached ? FAILURE_REACHED : 0)));
}

bool wire_failure_read(struct reader *reader, struct wire_failure *ret_failure)
{
	uint8_t flags;

	ret_failure->rank = read_u32(reader);
	ret_failure->status = (int16_t)read_u16(reader);
	ret_failure->type = read_u8(reader);
	flags = read_u8(reader);
	ret_failure->is_subtree = (flags & FAILURE_SUBTREE) != 0;
	ret_failure->is_reached = (flags & FAILURE_REACHED) != 0;
	return !reader->failed && (flags & ~FAILURE_FLAGS_ALL) == 0 &&
	       wire_failure_is_valid(ret_failure);
}

enum wire_result wire_message_open(const void *bytes, size_t size,
				   const struct scoll_authenticator *auth,
				   struct wire_message *ret)
{
	enum wire_result result;
	uint8_t kind;

	result = wire_prefix_read(bytes, size, &kind);
	if (result != WIRE_OK)
		return result;
	switch (kind) {
	case WIRE_BCAST:
		result = wire_bcast_open(bytes, size, auth, &ret->bcast);
		break;
	case WIRE_BULK_READY:
	case WIRE_ABORT:
	case WIRE_REPORTS_WANTED:
		result =
			wire_notice_open(kind, bytes, size, auth, &ret->notice);
		break;
	default:
		return WIRE_KIND;
	}
	if (result == WIRE_OK)
		ret->kind = kind;
	return result;
}
