/* SPDX-License-Identifier: BSD-3-Clause */
/* The network: what cores ask of it, and how that is carried out. */
#include "cast.h"

#include <stdlib.h>

static struct move *move_create(struct member *member, enum move_kind kind,
				scoll_nid_t to, uint64_t tag,
				struct transfer *transfer)
{
	struct move *move = cast_alloc(sizeof(*move));

	move->kind = kind;
	move->from = member;
	move->to = to;
	move->tag = tag;
	move->transfer = transfer;
	DL_APPEND(member->cast->moves, move);
	return move;
}

void cast_move_destroy(struct cast *cast, struct move *move)
{
	DL_DELETE(cast->moves, move);
	free(move->bytes);
	free(move);
}

static void gather(struct move *move, const struct iovec *pieces, int count)
{
	size_t size = 0;

	for (int i = 0; i < count; i++)
		size += pieces[i].iov_len;
	move->bytes = cast_alloc(size + 1);
	for (int i = 0; i < count; i++) {
		memcpy(move->bytes + move->size, pieces[i].iov_base,
		       pieces[i].iov_len);
		move->size += pieces[i].iov_len;
	}
}

static int refusal(const struct member *member)
{
	return member->is_full ? -EAGAIN : member->refusal;
}

/* The same of what goes to somebody. */
static int refusal_to(const struct member *member, scoll_nid_t to)
{
	if (refusal(member) < 0)
		return refusal(member);
	if (!cast_place_reaches(member, to))
		return -EHOSTUNREACH;
	return member->busy != 0 && to == member->busy ? -EBUSY : 0;
}

static int net_send(void *ctx, scoll_nid_t to, const struct iovec *pieces,
		    int count, struct transfer *transfer)
{
	struct member *member = ctx;

	if (refusal_to(member, to) < 0)
		return refusal_to(member, to);
	gather(move_create(member, MOVE_SEND, to, 0, transfer), pieces, count);
	member->cast->sends++;
	return 0;
}

static int net_post(void *ctx, scoll_nid_t from, uint64_t tag,
		    const struct iovec *pieces, int count,
		    struct transfer *transfer)
{
	struct member *member = ctx;
	struct move *move;

	if (refusal(member) < 0)
		return refusal(member);
	if (member->has_no_room)
		return -EAGAIN;
	assert_true(tag <= TRANSPORT_TAG_MAX && count <= TRANSPORT_IOV_MAX);
	move = move_create(member, MOVE_POST, from, tag, transfer);
	memcpy(move->pieces, pieces, (size_t)count * sizeof(*pieces));
	move->piece_count = count;
	return 0;
}

static int net_reply(void *ctx, scoll_nid_t to, uint64_t tag,
		     const struct iovec *pieces, int count,
		     struct transfer *transfer)
{
	struct member *member = ctx;

	if (refusal_to(member, to) < 0)
		return refusal_to(member, to);
	gather(move_create(member, MOVE_REPLY, to, tag, transfer), pieces,
	       count);
	member->cast->replies++;
	return 0;
}

static void net_cancel(void *ctx, struct transfer *transfer)
{
	struct member *member = ctx;
	struct move *move;

	member->cancels++;
	DL_FOREACH (member->cast->moves, move) {
		if (move->transfer == transfer) {
			assert_int_equal(move->kind, MOVE_POST);
			move->is_cancelled = true;
			return;
		}
	}
	fail_msg("cancelled, but not under way");
}

static int net_region_open(void *ctx, const struct iovec *pieces, int count,
			   struct region *ret_region,
			   struct remote_piece *ret_pieces)
{
	struct member *member = ctx;
	struct cast_region *region;

	if (member->region_result < 0)
		return member->region_result;
	assert_in_range(count, 1, SCOLL_BULK_IOVS_MAX);
	region = cast_alloc(sizeof(*region));
	region->owner = member;
	region->key = ++member->next_key;
	region->count = count;
	memcpy(region->pieces, pieces, (size_t)count * sizeof(*pieces));
	DL_APPEND(member->regions, region);
	ret_region->handle = region;
	ret_region->size = 0;
	for (int i = 0; i < count; i++) {
		ret_region->size += pieces[i].iov_len;
		if (ret_pieces != NULL)
			ret_pieces[i] = (struct remote_piece){
				.address = (uint64_t)i,
				.key = region->key,
				.size = pieces[i].iov_len,
			};
	}
	return 0;
}

static void net_region_close(void *ctx, struct region *region)
{
	struct member *member = ctx;
	struct cast_region *open = region->handle;
	struct move *move;

	DL_FOREACH (member->cast->moves, move) {
		if (move->kind == MOVE_READ && move->transfer != NULL)
			assert_ptr_not_equal(move->region->handle, open);
	}
	DL_DELETE(member->regions, open);
	free(open);
	region->handle = NULL;
}

static void net_disconnect(void *ctx, scoll_nid_t from)
{
	struct member *member = ctx;
	char word[8];

	snprintf(word, sizeof(word), "%s%02d",
		 member->disconnected[0] != '\0' ? " " : "",
		 (int)(from - cast_nid(0)));
	strncat(member->disconnected, word,
		sizeof(member->disconnected) - strlen(member->disconnected) -
			1);
}

static int net_read(void *ctx, scoll_nid_t from,
		    const struct remote_piece *remote, int remote_count,
		    uint64_t remote_offset, const struct region *region,
		    uint64_t local_offset, size_t size,
		    struct transfer *transfer)
{
	struct member *member = ctx;
	struct move *move;

	if (refusal_to(member, from) < 0)
		return refusal_to(member, from);
	move = move_create(member, MOVE_READ, from, 0, transfer);
	memcpy(move->remote, remote, (size_t)remote_count * sizeof(*remote));
	move->remote_count = remote_count;
	move->remote_offset = remote_offset;
	move->region = region;
	move->local_offset = local_offset;
	move->size = size;
	member->cast->reads++;
	return 0;
}

static void net_connect(void *ctx, scoll_nid_t to)
{
	struct member *member = ctx;

	member->connects++;
}

const struct transport_ops cast_net_ops = {
	.send = net_send,
	.reply_post = net_post,
	.reply_send = net_reply,
	.cancel = net_cancel,
	.region_open = net_region_open,
	.region_close = net_region_close,
	.disconnect = net_disconnect,
	.read = net_read,
	.connect = net_connect,
	.address_get = cast_place_get,
	.address_learn = cast_place_learn,
};

/* --- carrying out --- */

static void end_move(struct cast *cast, struct move *move, int result,
		     size_t size)
{
	struct member *member = move->from;
	struct transfer *transfer = take_ptr(move->transfer);

	if (transfer != NULL && member->core != NULL)
		scoll_core_events.done(member->core, cast->now_ns, transfer,
				       result, size);
	cast_move_destroy(cast, move);
}

static struct move *post_find(struct cast *cast, const struct move *reply)
{
	struct move *move;

	DL_FOREACH (cast->moves, move) {
		if (move->kind == MOVE_POST && move->transfer != NULL &&
		    !move->is_cancelled && move->from->nid == reply->to &&
		    move->tag == reply->tag && move->to == reply->from->nid)
			return move;
	}
	return NULL;
}

static size_t scatter(const struct move *post, const uint8_t *bytes,
		      size_t size)
{
	size_t done = 0;

	for (int i = 0; i < post->piece_count && done < size; i++) {
		size_t part = post->pieces[i].iov_len;

		if (part > size - done)
			part = size - done;
		memcpy(post->pieces[i].iov_base, bytes + done, part);
		done += part;
	}
	return done;
}

static void deliver_reply(struct cast *cast, const struct move *reply)
{
	struct move *post = post_find(cast, reply);
	size_t done;

	if (post == NULL) {
		cast->lost_replies++;
		return;
	}
	done = scatter(post, reply->bytes, reply->size);
	end_move(cast, post, done == reply->size ? 0 : -EMSGSIZE, done);
}

static void copy_out(const struct iovec *pieces, int count, uint64_t offset,
		     uint8_t *bytes, size_t size, bool is_write)
{
	for (int i = 0; i < count && size > 0; i++) {
		size_t part = pieces[i].iov_len;
		uint8_t *at = pieces[i].iov_base;

		if (offset >= part) {
			offset -= part;
			continue;
		}
		part -= offset;
		if (part > size)
			part = size;
		if (is_write)
			memcpy(at + offset, bytes, part);
		else
			memcpy(bytes, at + offset, part);
		bytes += part;
		size -= part;
		offset = 0;
	}
	assert_int_equal(size, 0);
}

static int deliver_read(struct cast *cast, const struct move *move)
{
	struct member *owner = cast_find(cast, move->to);
	const struct cast_region *local = move->region->handle;
	struct cast_region *region = NULL;
	uint8_t *bytes;

	if (owner != NULL)
		DL_SEARCH_SCALAR(owner->regions, region, key,
				 move->remote[0].key);
	if (region == NULL)
		return -EACCES;
	bytes = cast_alloc(move->size);
	copy_out(region->pieces, region->count, move->remote_offset, bytes,
		 move->size, false);
	copy_out(local->pieces, local->count, move->local_offset, bytes,
		 move->size, true);
	free(bytes);
	return 0;
}

static void deliver_message(struct cast *cast, const struct move *move)
{
	struct member *member = cast_find(cast, move->to);

	if (member != NULL && member->core != NULL)
		scoll_core_events.received(member->core, cast->now_ns,
					   move->bytes, move->size);
}

void cast_carry(struct cast *cast, struct move *move, enum move_fate fate)
{
	bool is_delivered =
		fate == FATE_PASS || fate == FATE_DENY || fate == FATE_ALTER;
	int result = fate == FATE_FAIL || fate == FATE_DENY ? -EIO : 0;

	assert_int_not_equal(fate, FATE_HOLD);
	if (fate == FATE_ALTER && move->bytes != NULL)
		move->bytes[move->size / 2] ^= 4;
	switch (move->kind) {
	case MOVE_SEND:
		if (is_delivered)
			deliver_message(cast, move);
		break;
	case MOVE_REPLY:
		if (is_delivered)
			deliver_reply(cast, move);
		break;
	case MOVE_READ:
		if (is_delivered)
			result = deliver_read(cast, move);
		break;
	case MOVE_POST:
		result = -ECANCELED;
		break;
	}
	end_move(cast, move, result, 0);
}

struct move *cast_move(struct cast *cast, enum move_kind kind, int from, int n)
{
	struct move *move;

	DL_FOREACH (cast->moves, move) {
		if (move->kind == kind && move->transfer != NULL &&
		    (from < 0 || move->from == &cast->members[from]) &&
		    n-- == 0)
			return move;
	}
	return NULL;
}

int cast_move_count(struct cast *cast, enum move_kind kind, int from)
{
	int count = 0;

	while (cast_move(cast, kind, from, count) != NULL)
		count++;
	return count;
}

void cast_rewrite(struct move *move, void (*change)(struct wire_bcast *wire))
{
	const struct scoll_authenticator *auth =
		scoll_core_options(move->from->core)->authenticator;
	struct wire_message message;
	struct wire_child child = { .nid = move->to };
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	size_t body_size;
	uint8_t *bytes;
	int size;

	/* What is sealed for another node is opened without its seal. */
	assert_null(auth);
	assert_int_equal(wire_message_open(move->bytes, move->size, NULL,
					   &message),
			 WIRE_OK);
	body_size = message.bcast.params_size + message.bcast.choice_size +
		    message.bcast.payload_size;
	change(&message.bcast);
	child.tag = message.bcast.tag;
	child.part_size = message.bcast.part_size;
	child.part_count = message.bcast.part_count;
	child.bulk_there = message.bcast.bulk_there;
	size = wire_bcast_encode(&message.bcast, NULL, head);
	assert_true(size > 0);
	assert_int_equal(
		wire_bcast_seal(head, (size_t)size, NULL, &child, head), 0);
	bytes = cast_alloc((size_t)size + body_size);
	memcpy(bytes, head, (size_t)size);
	memcpy(bytes + size, move->bytes + move->size - body_size, body_size);
	free(move->bytes);
	move->bytes = bytes;
	move->size = (size_t)size + body_size;
}
