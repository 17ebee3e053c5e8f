/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Output, and the calls of the seam. A transfer is written at once when
 * nothing waits before it; what the stream does not take waits for it.
 */
#include "scoll/transport/tcp/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WRITE_BYTES_MAX (1 << 20) /* of one connection at a time */

static void sent(struct transport_tcp *t, struct tcp_conn *conn,
		 struct tcp_op *op)
{
	DL_DELETE(conn->ops, op);
	if (op->kind != OP_CONTROL) {
		t->stats.sent_count++;
		t->stats.sent_bytes += op->size;
	}
	tcp_op_end(t, op, 0);
}

/* Bytes, -EAGAIN. */
static ssize_t op_write(struct tcp_conn *conn, struct tcp_op *op)
{
	struct iovec all[1 + TRANSPORT_IOV_MAX], left[1 + TRANSPORT_IOV_MAX];
	ssize_t result;

	all[0] = (struct iovec){ op->head, FRAME_HEAD };
	memcpy(all + 1, op->iov, op->count * sizeof(op->iov[0]));
	result = stream_write(conn->stream, left,
			      pieces_skip(all, 1 + op->count, op->done, left));
	if (result > 0)
		op->done += (size_t)result;
	return result;
}

static ssize_t job_write(struct tcp_conn *conn, struct tcp_job *job)
{
	struct iovec all[1 + SCOLL_BULK_IOVS_MAX],
		left[1 + SCOLL_BULK_IOVS_MAX];
	int count = job_pieces(job, all);
	ssize_t result;

	result = stream_write(conn->stream, left,
			      pieces_skip(all, count, job->done, left));
	if (result > 0)
		job->done += (size_t)result;
	return result;
}

/* The one at the head. Bytes; 0: there is none. */
static ssize_t write_next(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_op *op = conn->ops;
	struct tcp_job *job = conn->jobs;
	ssize_t result = 0;

	if (op != NULL) {
		result = op_write(conn, op);
		if (op->done == FRAME_HEAD + op->size)
			sent(t, conn, op);
	} else if (job != NULL) {
		result = job_write(conn, job);
		if (job->done == FRAME_HEAD + job->size)
			job_end(conn, job);
	}
	return result;
}

void conn_write(struct transport_tcp *t, struct tcp_conn *conn)
{
	ssize_t result = 1;
	size_t bytes = 0;

	while (result > 0 && bytes < WRITE_BYTES_MAX) {
		result = write_next(t, conn);
		if (result > 0) {
			bytes += (size_t)result;
			conn->moved_ns = 0;
		}
	}
	if (result < 0 && result != -EAGAIN) {
		conn_break(t, conn, (int)result);
		return;
	}
	stream_watch(conn->stream, conn->ops != NULL || conn->jobs != NULL);
	if ((conn->ops != NULL || conn->jobs != NULL) &&
	    t->check_ns == DEADLINE_NONE)
		t->check_ns = 0;
}

static void conn_queue(struct transport_tcp *t, struct tcp_conn *conn,
		       struct tcp_op *op)
{
	bool is_first = conn->ops == NULL;

	DL_APPEND(conn->ops, op);
	if (is_first && !conn->is_connecting)
		conn_write(t, conn);
}

static int pieces_take(struct tcp_op *op, enum tcp_op_kind kind, uint64_t tag,
		       const struct iovec *pieces, int count)
{
	if (count < 0 || count > TRANSPORT_IOV_MAX)
		return -EINVAL;
	op->kind = (uint8_t)kind;
	op->tag = tag;
	op->count = (uint8_t)count;
	op->size = 0;
	op->done = 0;
	op->from = NULL;
	op->is_counted = false;
	for (int i = 0; i < count; i++) {
		op->iov[i] = pieces[i];
		op->size += pieces[i].iov_len;
	}
	return 0;
}

static int send_message(void *ctx, scoll_nid_t to, const struct iovec *pieces,
			int count, struct transfer *transfer)
{
	struct transport_tcp *t = ctx;
	struct tcp_peer *peer = tcp_peer_find(t, to);
	struct tcp_op *op = op_of(transfer);
	int result = pieces_take(op, OP_SEND, 0, pieces, count);

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (result < 0 || op->size == 0)
		return -EINVAL;
	if (op->size > SCOLL_BCAST_MAX)
		return -EMSGSIZE;
	if (peer == NULL || peer->address_size == 0)
		return -EHOSTUNREACH;
	if (peer->queue_count >= TRANSPORT_TCP_QUEUE_MAX)
		return -EBUSY;
	frame_head(op->head, FRAME_MESSAGE, 0, op->size);
	op->peer = peer;
	op->is_counted = true;
	peer->queue_count++;
	if (peer->out != NULL && !peer->out->is_connecting) {
		conn_queue(t, peer->out, op);
	} else {
		DL_APPEND(peer->waiting, op);
		conn_want(t, peer);
	}
	return 0;
}

static int reply_send(void *ctx, scoll_nid_t to, uint64_t tag,
		      const struct iovec *pieces, int count,
		      struct transfer *transfer)
{
	struct transport_tcp *t = ctx;
	struct tcp_peer *peer = tcp_peer_find(t, to);
	struct tcp_op *op = op_of(transfer);
	int result = pieces_take(op, OP_SEND, tag, pieces, count);

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (result < 0 || tag > TRANSPORT_TAG_MAX)
		return -EINVAL;
	if (op->size > REPLY_FRAME_MAX)
		return -EMSGSIZE;
	if (peer == NULL || peer->in == NULL)
		return -EHOSTUNREACH;
	frame_head(op->head, FRAME_REPLY, tag, op->size);
	op->peer = peer;
	conn_queue(t, peer->in, op);
	return 0;
}

void control_send(struct transport_tcp *t, struct tcp_conn *conn,
		  enum tcp_frame_kind kind, uint64_t tag, const uint8_t *body,
		  size_t size)
{
	struct tcp_op *op = calloc(1, sizeof(*op) + size);

	t->stats.allocation_count++;
	if (op == NULL) {
		conn_break(t, conn, -ENOMEM);
		return;
	}
	op->kind = OP_CONTROL;
	op->size = size;
	if (size > 0) {
		op->count = 1;
		op->iov[0] = (struct iovec){ memcpy(op + 1, body, size), size };
	}
	frame_head(op->head, kind, tag, size);
	conn_queue(t, conn, op);
}

/* --- what is expected --- */

int expected_add(struct transport_tcp *t, struct tcp_op *op)
{
	struct tcp_op *other;

	HASH_FIND(hh, t->expected, &op->tag, sizeof(op->tag), other);
	if (other != NULL)
		return -EEXIST;
	HASH_ADD(hh, t->expected, tag, sizeof(op->tag), op);
	if (!hash_was_added(op))
		return -ENOMEM;
	DL_APPEND(op->peer->posted, op);
	return 0;
}

struct tcp_op *expected_find(const struct transport_tcp *t, uint64_t tag)
{
	struct tcp_op *op;

	HASH_FIND(hh, t->expected, &tag, sizeof(tag), op);
	return op;
}

void expected_end(struct transport_tcp *t, struct tcp_op *op, int result)
{
	HASH_DEL(t->expected, op);
	DL_DELETE(op->peer->posted, op);
	/* What is still to come of it goes nowhere. */
	if (op->from != NULL && op->from->into == op)
		op->from->into = NULL;
	tcp_op_end(t, op, result);
}

static int reply_post(void *ctx, scoll_nid_t from, uint64_t tag,
		      const struct iovec *pieces, int count,
		      struct transfer *transfer)
{
	struct transport_tcp *t = ctx;
	struct tcp_op *op = op_of(transfer);
	int result = pieces_take(op, OP_POST, tag, pieces, count);

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (result < 0 || tag > TRANSPORT_TAG_MAX)
		return -EINVAL;
	op->peer = tcp_peer_find(t, from);
	if (op->peer == NULL || op->peer->address_size == 0)
		return -EHOSTUNREACH;
	return expected_add(t, op);
}

static void cancel(void *ctx, struct transfer *transfer)
{
	struct transport_tcp *t = ctx;
	struct tcp_op *op = op_of(transfer);

	/* An end that is not reported yet stays as it is. */
	if (expected_find(t, op->tag) == op)
		expected_end(t, op, -ECANCELED);
}

static void want(void *ctx, scoll_nid_t to)
{
	struct transport_tcp *t = ctx;
	struct tcp_peer *peer = tcp_peer_find(t, to);

	if (!t->is_stopped && peer != NULL && peer->address_size > 0)
		conn_want(t, peer);
}

static int address_get(void *ctx, scoll_nid_t nid, void *ret_bytes,
		       size_t *size)
{
	const struct transport_tcp *t = ctx;
	const struct tcp_peer *peer;

	if (nid == SCOLL_NID_ANY)
		return tcp_address(ctx, ret_bytes, size);
	peer = tcp_peer_find(t, nid);
	if (peer == NULL || peer->address_size == 0)
		return -ENOENT;
	if (*size < peer->address_size)
		return -ENOSPC;
	memcpy(ret_bytes, peer->address, peer->address_size);
	*size = peer->address_size;
	return 0;
}

static int address_learn(void *ctx, scoll_nid_t nid, const void *bytes,
			 size_t size)
{
	uint8_t address[TRANSPORT_TCP_ADDRESS_MAX] = { 0 };
	struct transport_tcp *t = ctx;
	size_t whole;

	if (size == 0)
		return tcp_peer_learn(t, nid, NULL, 0);
	whole = stream_address_size(bytes, size);
	if (whole == 0)
		return -EINVAL;
	memcpy(address, bytes, size);
	return tcp_peer_learn(t, nid, address, whole);
}

static void sent_by(void *ctx, scoll_nid_t nid)
{
	peer_sent_this(ctx, nid);
}

const struct transport_ops transport_tcp_ops = {
	.send = send_message,
	.reply_post = reply_post,
	.reply_send = reply_send,
	.cancel = cancel,
	.region_open = tcp_region_open,
	.region_close = tcp_region_close,
	.read = tcp_read,
	.connect = want,
	.address_get = address_get,
	.address_learn = address_learn,
	.sent_by = sent_by,
};
