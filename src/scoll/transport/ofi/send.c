/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and replies. A provider refuses a send with -FI_EAGAIN both when
 * its queues are full and while it connects, and goes on doing so for ever
 * when nobody listens; so what it refuses waits here, in order and for a
 * limited time, and a caller with too much of it for a peer gets -EBUSY.
 *
 * Times are looked at in progress only: a send may come long after the last
 * one, so 0 stands for "from when it is first seen".
 */
#include "scoll/transport/ofi/internal.h"

#include <string.h>

/* Register an op's memory, where that is wanted. */
static int op_register(struct transport_ofi *t, struct ofi_op *op,
		       uint64_t access)
{
	if (!t->has_local_memory)
		return 0;
	for (uint32_t i = 0; i < op->count; i++) {
		int result = 0;

		if (op->mr[i] == NULL && op->iov[i].iov_len > 0)
			result = memory_register(t, op->iov[i].iov_base,
						 op->iov[i].iov_len, access,
						 &op->mr[i]);
		if (result < 0)
			return result;
	}
	return 0;
}

static void describe(const struct ofi_op *op, void *desc[TRANSPORT_IOV_MAX])
{
	for (int i = 0; i < TRANSPORT_IOV_MAX; i++)
		desc[i] = op->mr[i] != NULL ? fi_mr_desc(op->mr[i]) : NULL;
}

/* 0, -EAGAIN, or why it cannot be sent at all. */
static int post(struct transport_ofi *t, struct ofi_op *op)
{
	void *desc[TRANSPORT_IOV_MAX];
	struct ofi_peer *peer = op->peer;
	ssize_t result = op_register(t, op, FI_SEND);

	if (result < 0)
		return (int)result;
	describe(op, desc);
	if (op->head.kind == OP_REPLY)
		result = fi_tsendv(t->ep, op->iov, desc, op->count, peer->at,
				   op->tag, &op->head.context);
	else
		result = fi_sendv(t->ep, op->iov, desc, op->count, peer->at,
				  &op->head.context);
	t->is_unread = true;
	if (result < 0)
		return result == -FI_EAGAIN ? -EAGAIN : errno_of(result);
	op->since_ns = 0;
	peer->is_connected = true;
	DL_APPEND(peer->posted, op);
	return 0;
}

/* It never came to libfabric, or has left it. */
static void drop(struct transport_ofi *t, struct ofi_op *op, int result)
{
	struct ofi_peer *peer = op->peer;

	peer_unuse(t, peer);
	op_end(t, op, result, 0);
}

static void pend(struct transport_ofi *t, struct ofi_op *op)
{
	struct ofi_peer *peer = op->peer;

	peer_refused(t, peer);
	DL_APPEND(peer->pending, op);
	peer->pending_count++;
	t->pending_count++;
}

static int start(struct transport_ofi *t, struct ofi_op *op,
		 struct ofi_peer *peer)
{
	int result = -EAGAIN;

	op->peer = peer;
	peer_use(t, peer);
	if (peer->pending == NULL)
		result = post(t, op);
	if (result == 0)
		return 0;
	if (result == -EAGAIN) {
		pend(t, op);
		return 0;
	}
	op->transfer = NULL;
	drop(t, op, result);
	return result;
}

static int start_pieces(struct transport_ofi *t, enum ofi_op_kind kind,
			scoll_nid_t to, uint64_t tag,
			const struct iovec *pieces, int count,
			struct transfer *transfer)
{
	struct ofi_peer *peer = peer_find(t, to);
	struct ofi_op *op;

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (count < 1 || count > TRANSPORT_IOV_MAX)
		return -EINVAL;
	if (peer == NULL)
		return -EHOSTUNREACH;
	if (peer->pending_count >= TRANSPORT_OFI_PENDING_MAX)
		return -EBUSY;
	op = op_alloc(t, kind);
	if (op == NULL)
		return -EAGAIN;
	op->transfer = transfer;
	op->tag = tag;
	op->count = (uint32_t)count;
	for (int i = 0; i < count; i++) {
		op->iov[i] = pieces[i];
		op->size += pieces[i].iov_len;
	}
	transfer->scratch[0] = 0;
	return start(t, op, peer);
}

static int message_send(void *ctx, scoll_nid_t to, const struct iovec *pieces,
			int count, struct transfer *transfer)
{
	struct transport_ofi *t = ctx;
	size_t size = 0;

	for (int i = 0; i < count; i++)
		size += pieces[i].iov_len;
	/* An empty one is a hello: see peer_connect. */
	if (size == 0)
		return -EINVAL;
	if (size > SCOLL_BCAST_MAX)
		return -EMSGSIZE;
	return start_pieces(t, OP_SEND, to, 0, pieces, count, transfer);
}

static int reply_send(void *ctx, scoll_nid_t to, uint64_t tag,
		      const struct iovec *pieces, int count,
		      struct transfer *transfer)
{
	if (tag > TRANSPORT_TAG_MAX)
		return -EINVAL;
	return start_pieces(ctx, OP_REPLY, to, tag, pieces, count, transfer);
}

static void peer_connect(void *ctx, scoll_nid_t to)
{
	struct transport_ofi *t = ctx;
	struct ofi_peer *peer = peer_find(t, to);
	struct ofi_op *op;

	if (t->is_stopped || peer == NULL || peer->is_connected ||
	    peer->pending != NULL)
		return;
	op = op_alloc(t, OP_HELLO);
	if (op == NULL)
		return;
	op->count = 1;
	op->iov[0].iov_base = op;
	start(t, op, peer);
}

static int reply_post(void *ctx, scoll_nid_t from, uint64_t tag,
		      const struct iovec *pieces, int count,
		      struct transfer *transfer)
{
	struct transport_ofi *t = ctx;
	void *desc[TRANSPORT_IOV_MAX];
	struct ofi_op *op;
	ssize_t result;

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (count < 1 || count > TRANSPORT_IOV_MAX || tag > TRANSPORT_TAG_MAX)
		return -EINVAL;
	op = op_alloc(t, OP_RECEIVE);
	if (op == NULL)
		return -EAGAIN;
	op->transfer = transfer;
	op->tag = tag;
	op->count = (uint32_t)count;
	memcpy(op->iov, pieces, (size_t)count * sizeof(pieces[0]));
	result = op_register(t, op, FI_RECV);
	if (result == 0)
		result = stale_tag_add(t, tag);
	if (result < 0) {
		op_release(t, op);
		return (int)result;
	}
	describe(op, desc);
	result = fi_trecvv(t->ep, op->iov, desc, op->count, FI_ADDR_UNSPEC, tag,
			   0, &op->head.context);
	if (result < 0) {
		stale_tag_remove(t, tag, false);
		op_release(t, op);
		/* What a provider has too little of is free again later. */
		return result == -FI_EAGAIN || result == -FI_ENOMEM
			       ? -EAGAIN
			       : errno_of(result);
	}
	t->is_unread = true;
	transfer->scratch[0] = (uint64_t)(uintptr_t)op;
	return 0;
}

static void cancel(void *ctx, struct transfer *transfer)
{
	struct transport_ofi *t = ctx;
	struct ofi_op *op = (struct ofi_op *)(uintptr_t)transfer->scratch[0];

	if (t->is_stopped || op == NULL || op->head.kind != OP_RECEIVE)
		return;
	op->is_cancelled = true;
	t->is_unread = true;
	fi_cancel(&t->ep->fid, &op->head.context);
}

void peer_push(struct transport_ofi *t, struct ofi_peer *peer)
{
	bool was_taken = false;
	int result = 0;

	peer_use(t, peer);
	while (result != -EAGAIN && peer->pending != NULL) {
		struct ofi_op *op = peer->pending;

		DL_DELETE(peer->pending, op);
		result = post(t, op);
		if (result == -EAGAIN) {
			DL_PREPEND(peer->pending, op);
			break;
		}
		peer->pending_count--;
		t->pending_count--;
		was_taken = true;
		if (result < 0)
			drop(t, op, result);
	}
	while (result != -EAGAIN && peer->reads != NULL) {
		struct ofi_read *read = peer->reads;

		result = read_push(t, read);
		was_taken |= result != -EAGAIN;
	}
	if (peer->pending == NULL && peer->reads == NULL) {
		peer->retry_ns = DEADLINE_NONE;
		peer->refused_ns = DEADLINE_NONE;
	} else {
		if (was_taken) {
			peer->refused_ns = t->now_ns;
			peer->backoff_ns = BACKOFF_MIN_NS;
		}
		peer->retry_ns = t->now_ns + peer->backoff_ns;
		peer->backoff_ns *= 2;
		if (t->now_ns - peer->refused_ns > UINT64_C(1000000000))
			peer->backoff_ns = BACKOFF_LATE_NS;
		else if (peer->backoff_ns > BACKOFF_MAX_NS)
			peer->backoff_ns = BACKOFF_MAX_NS;
	}
	peer_unuse(t, peer);
}

void send_ended(struct transport_ofi *t, struct ofi_op *op, int result)
{
	if (op->peer == NULL) { /* given up before */
		op_release(t, op);
		return;
	}
	DL_DELETE(op->peer->posted, op);
	if (result < 0) {
		op->peer->is_connected = false;
		/* libfabric ends what was on a connection that is lost. */
		if (result == -ECANCELED)
			result = -ECONNRESET;
	} else if (op->head.kind != OP_HELLO) {
		t->stats.sent_count++;
		t->stats.sent_bytes += op->size;
	}
	drop(t, op, result);
}

void receive_ended(struct transport_ofi *t, struct ofi_op *op, int result,
		   size_t size)
{
	if (result == -ECANCELED && !op->is_cancelled)
		result = -ECONNRESET;
	if (result == 0) {
		t->stats.received_count++;
		t->stats.received_bytes += size;
	}
	stale_tag_remove(t, op->tag, result == -ECANCELED);
	op_end(t, op, result, result == 0 ? size : 0);
}

const struct transport_ops transport_ofi_ops = {
	.send = message_send,
	.reply_post = reply_post,
	.reply_send = reply_send,
	.cancel = cancel,
	.region_open = region_open,
	.region_close = region_close,
	.read = read_start,
	.connect = peer_connect,
	.address_get = address_get,
	.address_learn = address_learn,
};
