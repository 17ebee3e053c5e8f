/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The broadcast. Encoder and decoder ask the same function whether the fields
 * are in range, so that nobody sends what others refuse. Of a received head
 * only what the lengths depend on is read before the seal is verified.
 */
#include "scoll/wire/internal.h"

#define OFFSET_SENDER      64
#define OFFSET_TAG         72
#define OFFSET_PART_SIZE   92
#define OFFSET_PIECE_COUNT 98
#define OFFSET_BULK_SIZE   100
#define OFFSET_ADDRESS     WIRE_BCAST_BASE /* if it is there */
#define OPTION_SIZE        16 /* of creator or OOB, and of digests */
#define START_SIZE         8  /* the last before the pieces */

/* Of what is signed: what differs from node to node is left out. */
#define STATEMENT_MAX  (WIRE_BCAST_BASE + 3 * OPTION_SIZE)
#define STATEMENT_LESS (WIRE_SENDER | WIRE_SIGNED | WIRE_START)

static size_t head_plain_size(uint16_t flags, uint8_t piece_count,
			      uint8_t address_size, size_t signature_size)
{
	size_t size = WIRE_BCAST_BASE;

	if (flags & WIRE_SENDER)
		size += 1 + (size_t)address_size;
	if (flags & (WIRE_CREATOR | WIRE_OOB))
		size += OPTION_SIZE;
	if (flags & WIRE_SUBSET)
		size += OPTION_SIZE;
	if (flags & WIRE_ADDRESSES)
		size += OPTION_SIZE;
	if (flags & WIRE_SIGNED)
		size += signature_size;
	if (flags & WIRE_START)
		size += START_SIZE;
	if (piece_count > 0)
		size += piece_count * (size_t)WIRE_PIECE_SIZE +
			sizeof(uint64_t);
	return size;
}

uint16_t wire_auth_flags(const struct scoll_authenticator *auth)
{
	uint16_t flags = 0;

	if (auth != NULL)
		flags |= WIRE_START;
	if (wire_signature_size(auth) > 0)
		flags |= WIRE_SIGNED;
	return flags;
}

static bool flags_are_valid(uint16_t flags)
{
	if (flags & ~WIRE_FLAGS_ALL)
		return false;
	if ((flags & WIRE_OOB) &&
	    (flags & (WIRE_CREATOR | WIRE_POPULATE | WIRE_MEMBERS_BULK |
		      WIRE_ADDRESSES)))
		return false;
	if ((flags & WIRE_ALIVE) && !(flags & WIRE_SUBSET))
		return false;
	return !(flags & WIRE_MEMBERS_BULK) || (flags & WIRE_POPULATE);
}

static bool bulk_is_valid(const struct wire_bcast *bcast)
{
	uint64_t size = 0;

	if (bcast->piece_count > SCOLL_BULK_IOVS_MAX ||
	    (bcast->piece_count > 0) != (bcast->bulk_size > 0) ||
	    bcast->bulk_there > bcast->bulk_size)
		return false;
	for (unsigned int i = 0; i < bcast->piece_count; i++)
		if (__builtin_add_overflow(size, bcast->pieces[i].size, &size))
			return false;
	return size >= bcast->bulk_size;
}

static bool reply_parts_are_valid(uint32_t part_size, uint16_t part_count)
{
	return part_size <= SCOLL_REPLY_PART_MAX &&
	       part_count <= SCOLL_REPLY_PARTS_MAX;
}

static bool address_is_valid(const struct wire_bcast *bcast)
{
	return bcast->address_size == 0 ||
	       ((bcast->flags & WIRE_SENDER) &&
		bcast->address_size <= WIRE_ADDRESS_MAX &&
		bcast->address[bcast->address_size - 1] != 0);
}

static bool bcast_is_valid(const struct wire_bcast *bcast)
{
	uint16_t flags = bcast->flags;

	if (!flags_are_valid(flags) || !bulk_is_valid(bcast) ||
	    !address_is_valid(bcast) || !tag_is_valid(bcast->tag) ||
	    !reply_parts_are_valid(bcast->part_size, bcast->part_count) ||
	    bcast->service_timeout_ns > INT64_MAX ||
	    bcast->order > SCOLL_ORDER_RANK || bcast->root == SCOLL_NID_ANY ||
	    bcast->sender == SCOLL_NID_ANY)
		return false;
	if ((flags & WIRE_OOB) && bcast->params_size > 0)
		return false;
	if ((flags & WIRE_ADDRESSES) && bcast->params_size == 0)
		return false;
	if ((flags & WIRE_MEMBERS_BULK) &&
	    (bcast->bulk_size == 0 || bcast->params_size == 0))
		return false;
	return ((flags & WIRE_SUBSET) && !(flags & WIRE_ALIVE)) ==
	       (bcast->choice_size > 0);
}

size_t wire_bcast_head_size(const struct wire_bcast *bcast,
			    const struct scoll_authenticator *auth)
{
	return head_plain_size(bcast->flags, bcast->piece_count,
			       bcast->address_size, wire_signature_size(auth)) +
	       wire_seal_size(auth);
}

/* The 128 bytes that are always there. */
static void base_write(struct writer *writer, const struct wire_bcast *bcast,
		       size_t head_size)
{
	wire_prefix_write(writer, WIRE_BCAST);
	write_u16(writer, bcast->flags);
	write_u16(writer, (uint16_t)head_size);
	write_u32(writer, bcast->service);
	write_u32(writer, bcast->tree);
	write_u64(writer, bcast->root);
	write_u64(writer, bcast->root_nonce);
	write_u64(writer, bcast->number);
	write_u64(writer, bcast->group_index);
	write_digest(writer, &bcast->members);
	write_u64(writer, bcast->sender);
	write_u64(writer, bcast->tag);
	write_u64(writer, bcast->service_timeout_ns);
	write_u32(writer, bcast->rtt_us);
	write_u32(writer, bcast->part_size);
	write_u16(writer, bcast->part_count);
	write_u8(writer, bcast->piece_count);
	write_u8(writer, bcast->order);
	write_u64(writer, bcast->bulk_size);
	write_u16(writer, bcast->params_size);
	write_u16(writer, bcast->choice_size);
	write_digest(writer, &bcast->body_digest);
}

static void options_write(struct writer *writer, const struct wire_bcast *bcast,
			  size_t signature_size)
{
	if (bcast->flags & WIRE_SENDER) {
		write_u8(writer, bcast->address_size);
		write_bytes(writer, bcast->address, bcast->address_size);
	}
	if (bcast->flags & WIRE_CREATOR) {
		write_u64(writer, bcast->creator);
		write_u64(writer, bcast->creator_nonce);
	}
	if (bcast->flags & WIRE_OOB)
		write_bytes(writer, bcast->oob, sizeof(bcast->oob));
	if (bcast->flags & WIRE_SUBSET)
		write_digest(writer, &bcast->choice_digest);
	if (bcast->flags & WIRE_ADDRESSES)
		write_digest(writer, &bcast->addresses);
	if (bcast->flags & WIRE_SIGNED)
		write_bytes(writer, bcast->signature, signature_size);
	if (bcast->flags & WIRE_START)
		write_u64(writer, bcast->start);
	for (unsigned int i = 0; i < bcast->piece_count; i++) {
		write_u64(writer, bcast->pieces[i].address);
		write_u64(writer, bcast->pieces[i].key);
		write_u64(writer, bcast->pieces[i].size);
	}
	if (bcast->piece_count > 0)
		write_u64(writer, bcast->bulk_there);
}

static size_t statement_write(const struct wire_bcast *bcast,
			      uint8_t ret_bytes[STATEMENT_MAX])
{
	struct writer writer = writer_over(ret_bytes, STATEMENT_MAX);
	struct wire_bcast plain = *bcast;

	plain.flags &= (uint16_t)~STATEMENT_LESS;
	plain.sender = 0;
	plain.tag = 0;
	plain.service_timeout_ns = 0;
	plain.rtt_us = 0;
	plain.part_size = 0;
	plain.part_count = 0;
	plain.piece_count = 0;
	base_write(&writer, &plain, 0);
	options_write(&writer, &plain, 0);
	return writer.size;
}

int wire_bcast_sign(struct wire_bcast *bcast,
		    const struct scoll_authenticator *auth)
{
	uint8_t statement[STATEMENT_MAX];

	if (!(bcast->flags & WIRE_SIGNED))
		return 0;
	return auth->sign(auth->ctx, statement,
			  statement_write(bcast, statement), bcast->signature);
}

static bool signature_check(const struct wire_bcast *bcast,
			    const struct scoll_authenticator *auth)
{
	uint8_t statement[STATEMENT_MAX];

	if (wire_signature_size(auth) == 0)
		return !(bcast->flags & WIRE_SIGNED);
	return (bcast->flags & WIRE_SIGNED) &&
	       auth->check(auth->ctx, bcast->root, statement,
			   statement_write(bcast, statement),
			   bcast->signature) == 0;
}

int wire_bcast_encode(const struct wire_bcast *bcast,
		      const struct scoll_authenticator *auth,
		      uint8_t ret_head[WIRE_BCAST_HEAD_MAX])
{
	struct writer writer = writer_over(ret_head, WIRE_BCAST_HEAD_MAX);
	size_t head_size;

	if (!bcast_is_valid(bcast))
		return -EINVAL;
	head_size = wire_bcast_head_size(bcast, auth);
	if (bcast->payload_size > SCOLL_BCAST_MAX ||
	    head_size + bcast->params_size + bcast->choice_size +
			    bcast->payload_size >
		    SCOLL_BCAST_MAX)
		return -EMSGSIZE;
	base_write(&writer, bcast, head_size);
	options_write(&writer, bcast, wire_signature_size(auth));
	memset(ret_head + writer.size, 0, head_size - writer.size);
	return (int)head_size;
}

/* Where the start is in a head of so many bytes, without the seal. */
static size_t start_offset(size_t plain_size, uint8_t piece_count)
{
	if (piece_count > 0)
		plain_size -= piece_count * (size_t)WIRE_PIECE_SIZE +
			      sizeof(uint64_t);
	return plain_size - START_SIZE;
}

int wire_bcast_seal(const uint8_t *head, size_t head_size,
		    const struct scoll_authenticator *auth,
		    const struct wire_child *child, uint8_t *ret_head)
{
	struct reader bulk = reader_of(head + OFFSET_BULK_SIZE, 8);
	size_t plain_size = head_size - wire_seal_size(auth);
	struct reader flags = reader_of(head + PREFIX_SIZE, 2);
	struct writer writer;

	if (!tag_is_valid(child->tag) ||
	    !reply_parts_are_valid(child->part_size, child->part_count))
		return -EINVAL;
	if (head[OFFSET_PIECE_COUNT] > 0 && child->bulk_there > read_u64(&bulk))
		return -EINVAL;
	if (ret_head != head)
		memcpy(ret_head, head, head_size);
	writer = writer_over(ret_head + OFFSET_TAG, 8);
	write_u64(&writer, child->tag);
	writer = writer_over(ret_head + OFFSET_PART_SIZE, 6);
	write_u32(&writer, child->part_size);
	write_u16(&writer, child->part_count);
	if (head[OFFSET_PIECE_COUNT] > 0) {
		writer = writer_over(ret_head + plain_size - 8, 8);
		write_u64(&writer, child->bulk_there);
	}
	if (read_u16(&flags) & WIRE_START) {
		writer = writer_over(
			ret_head + start_offset(plain_size,
						head[OFFSET_PIECE_COUNT]),
			START_SIZE);
		write_u64(&writer, child->start);
	}
	wire_seal_write(auth, child->nid, ret_head, plain_size);
	return 0;
}

static void base_read(struct reader *reader, struct wire_bcast *ret_bcast)
{
	read_u32(reader); /* prefix, flags and length were read before */
	read_u32(reader);
	ret_bcast->service = read_u32(reader);
	ret_bcast->tree = read_u32(reader);
	ret_bcast->root = read_u64(reader);
	ret_bcast->root_nonce = read_u64(reader);
	ret_bcast->number = read_u64(reader);
	ret_bcast->group_index = read_u64(reader);
	read_digest(reader, &ret_bcast->members);
	ret_bcast->sender = read_u64(reader);
	ret_bcast->tag = read_u64(reader);
	ret_bcast->service_timeout_ns = read_u64(reader);
	ret_bcast->rtt_us = read_u32(reader);
	ret_bcast->part_size = read_u32(reader);
	ret_bcast->part_count = read_u16(reader);
	ret_bcast->piece_count = read_u8(reader);
	ret_bcast->order = read_u8(reader);
	ret_bcast->bulk_size = read_u64(reader);
	ret_bcast->params_size = read_u16(reader);
	ret_bcast->choice_size = read_u16(reader);
	read_digest(reader, &ret_bcast->body_digest);
}

/* Its length was checked. */
static void address_read(struct reader *reader, struct wire_bcast *ret_bcast)
{
	const uint8_t *bytes;

	ret_bcast->address_size = 0;
	if (!(ret_bcast->flags & WIRE_SENDER))
		return;
	ret_bcast->address_size = read_u8(reader);
	bytes = read_bytes(reader, ret_bcast->address_size);
	if (bytes != NULL)
		memcpy(ret_bcast->address, bytes, ret_bcast->address_size);
}

static void signature_read(struct reader *reader, size_t size,
			   struct wire_bcast *ret_bcast)
{
	const uint8_t *bytes;

	if (!(ret_bcast->flags & WIRE_SIGNED))
		return;
	bytes = read_bytes(reader, size);
	if (bytes != NULL)
		memcpy(ret_bcast->signature, bytes, size);
}

static void options_read(struct reader *reader, size_t signature_size,
			 struct wire_bcast *ret_bcast)
{
	const uint8_t *oob;

	address_read(reader, ret_bcast);
	ret_bcast->creator = ret_bcast->root;
	ret_bcast->creator_nonce = ret_bcast->root_nonce;
	memset(ret_bcast->oob, 0, sizeof(ret_bcast->oob));
	if (ret_bcast->flags & WIRE_CREATOR) {
		ret_bcast->creator = read_u64(reader);
		ret_bcast->creator_nonce = read_u64(reader);
	} else if (ret_bcast->flags & WIRE_OOB) {
		oob = read_bytes(reader, sizeof(ret_bcast->oob));
		if (oob != NULL)
			memcpy(ret_bcast->oob, oob, sizeof(ret_bcast->oob));
	}
	ret_bcast->choice_digest = (struct wire_digest){ 0 };
	if (ret_bcast->flags & WIRE_SUBSET)
		read_digest(reader, &ret_bcast->choice_digest);
	ret_bcast->addresses = (struct wire_digest){ 0 };
	if (ret_bcast->flags & WIRE_ADDRESSES)
		read_digest(reader, &ret_bcast->addresses);
	signature_read(reader, signature_size, ret_bcast);
	ret_bcast->start = ret_bcast->flags & WIRE_START ? read_u64(reader) : 0;
	for (unsigned int i = 0; i < ret_bcast->piece_count; i++) {
		ret_bcast->pieces[i].address = read_u64(reader);
		ret_bcast->pieces[i].key = read_u64(reader);
		ret_bcast->pieces[i].size = read_u64(reader);
	}
	ret_bcast->bulk_there =
		ret_bcast->piece_count > 0 ? read_u64(reader) : 0;
}

/* What the lengths depend on. */
static enum wire_result lengths_read(const uint8_t *bytes, size_t size,
				     const struct scoll_authenticator *auth,
				     uint16_t *ret_flags, size_t *ret_head_size)
{
	size_t seal_size = wire_seal_size(auth);
	struct reader reader = reader_of(bytes, size);
	size_t expected, head_size;
	uint8_t address_size = 0;
	uint16_t flags;

	if (size < WIRE_BCAST_BASE + seal_size)
		return WIRE_SHORT;
	read_u32(&reader);
	flags = read_u16(&reader);
	head_size = read_u16(&reader);
	if (size > SCOLL_BCAST_MAX ||
	    bytes[OFFSET_PIECE_COUNT] > SCOLL_BULK_IOVS_MAX)
		return WIRE_LENGTH;
	if (flags & WIRE_SENDER) {
		if (size == OFFSET_ADDRESS ||
		    bytes[OFFSET_ADDRESS] > WIRE_ADDRESS_MAX)
			return WIRE_LENGTH;
		address_size = bytes[OFFSET_ADDRESS];
	}
	expected = head_plain_size(flags, bytes[OFFSET_PIECE_COUNT],
				   address_size, wire_signature_size(auth)) +
		   seal_size;
	if (head_size != expected || head_size > size)
		return WIRE_LENGTH;
	*ret_flags = flags;
	*ret_head_size = head_size;
	return WIRE_OK;
}

enum wire_result wire_bcast_open(const uint8_t *bytes, size_t size,
				 const struct scoll_authenticator *auth,
				 struct wire_bcast *ret_bcast)
{
	size_t seal_size = wire_seal_size(auth);
	struct reader reader = reader_of(bytes, size);
	size_t head_size, body_size;
	struct wire_digest digest;
	struct wire_bcast bcast;
	enum wire_result result;

	result = lengths_read(bytes, size, auth, &bcast.flags, &head_size);
	if (result != WIRE_OK)
		return result;
	body_size = size - head_size;
	base_read(&reader, &bcast);
	if (!wire_seal_check(auth, bcast.sender, bytes, head_size - seal_size))
		return WIRE_SEAL;
	if (bcast.params_size + (size_t)bcast.choice_size > body_size)
		return WIRE_LENGTH;
	wire_body_digest(auth, bytes + head_size, body_size, &digest);
	if (!wire_digest_equals(&digest, &bcast.body_digest))
		return WIRE_DIGEST;
	options_read(&reader, wire_signature_size(auth), &bcast);
	bcast.params = bytes + head_size;
	bcast.choice = bcast.params + bcast.params_size;
	bcast.payload = bcast.choice + bcast.choice_size;
	bcast.payload_size = body_size - bcast.params_size - bcast.choice_size;
	if (reader.failed || !bcast_is_valid(&bcast))
		return WIRE_FIELD;
	if (!signature_check(&bcast, auth))
		return WIRE_SIGN;
	*ret_bcast = bcast;
	return WIRE_OK;
}

bool wire_bcast_origin(const void *bytes, size_t size, scoll_nid_t *ret_sender,
		       uint64_t *ret_tag)
{
	struct reader reader = reader_of(bytes, size);
	uint64_t sender, tag;
	uint8_t kind;

	if (wire_prefix_read(bytes, size, &kind) != WIRE_VERSION ||
	    ((const uint8_t *)bytes)[PREFIX_SIZE - 1] != WIRE_BCAST)
		return false;
	read_bytes(&reader, OFFSET_SENDER);
	sender = read_u64(&reader);
	tag = read_u64(&reader);
	if (reader.failed || sender == SCOLL_NID_ANY || !tag_is_valid(tag))
		return false;
	*ret_sender = sender;
	*ret_tag = tag;
	return true;
}
