/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Input. What is waited for is read to where it belongs; the rest goes through
 * one buffer of the instance, and a small frame that comes in pieces through
 * one of its own. A malformed frame closes the connection.
 */
#include "scoll/transport/tcp/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Its pieces from `done` on. */
static int op_pieces(const struct tcp_op *op, struct iovec *ret_pieces)
{
	if (op->kind == OP_READ)
		return read_pieces(op, ret_pieces);
	return pieces_skip(op->iov, op->count, op->done, ret_pieces);
}

static void op_copy(struct tcp_op *op, const uint8_t *bytes, size_t size)
{
	struct iovec pieces[SCOLL_BULK_IOVS_MAX];
	int count = op_pieces(op, pieces);

	op->done += size;
	for (int i = 0; i < count && size > 0; i++) {
		size_t part =
			pieces[i].iov_len < size ? pieces[i].iov_len : size;

		memcpy(pieces[i].iov_base, bytes, part);
		bytes += part;
		size -= part;
	}
}

/* All of a frame that was for an op has come. */
static void op_filled(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_op *op = conn->into;

	conn->into = NULL;
	if (op->kind == OP_READ && op->done < op->size)
		return;
	if (op->kind == OP_POST) {
		t->stats.received_count++;
		t->stats.received_bytes += op->done;
	}
	expected_end(t, op, 0);
}

/* -EPROTO: a frame that nobody may send here. */
static int reply_begin(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_op *op = expected_find(t, conn->tag);

	if (conn->role != CONN_OUT || conn->left > REPLY_FRAME_MAX)
		return -EPROTO;
	if (op == NULL || op->kind != OP_POST || op->peer != conn->peer ||
	    op->from != NULL) {
		t->stats.stale_count++;
		return 0;
	}
	if (conn->left > op->size) {
		expected_end(t, op, -EMSGSIZE);
		return 0;
	}
	op->from = conn;
	conn->into = op;
	return 0;
}

static int data_begin(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_op *op = expected_find(t, conn->tag);

	if (conn->role != CONN_ACCEPTED)
		return -EPROTO;
	if (op == NULL || op->kind != OP_READ ||
	    (op->from != NULL && op->from != conn))
		return 0;
	if (conn->left != op->size - op->done)
		return -EPROTO;
	conn_confirm(t, conn);
	if (conn->peer == NULL)
		peer_bind(conn, op->peer);
	op->from = conn;
	conn->into = op;
	return 0;
}

static int frame_begin(struct transport_tcp *t, struct tcp_conn *conn)
{
	conn->head_size = 0;
	conn->left = le_get32(conn->head);
	conn->kind = conn->head[4];
	conn->tag = le_get64(conn->head + 8);
	conn->body_size = 0;
	if (conn->head[5] != FRAME_VERSION || le_get16(conn->head + 6) != 0)
		return -EPROTO;
	switch (conn->kind) {
	case FRAME_MESSAGE:
		return conn->role == CONN_ACCEPTED && conn->left > 0 &&
				       conn->left <= SCOLL_BCAST_MAX
			       ? 0
			       : -EPROTO;
	case FRAME_REPLY:
		return reply_begin(t, conn);
	case FRAME_READ:
		return conn->role == CONN_OUT && conn->left == READ_BODY
			       ? 0
			       : -EPROTO;
	case FRAME_DATA:
		return data_begin(t, conn);
	case FRAME_REFUSED:
		return conn->role == CONN_ACCEPTED && conn->left == 0 ? 0
								      : -EPROTO;
	default:
		return -EPROTO;
	}
}

static bool has_body(const struct tcp_conn *conn)
{
	return conn->kind == FRAME_MESSAGE || conn->kind == FRAME_READ;
}

/* `bytes` are all of its body. */
static void frame_handle(struct transport_tcp *t, struct tcp_conn *conn,
			 const uint8_t *bytes, size_t size)
{
	struct tcp_op *op;

	switch (conn->kind) {
	case FRAME_MESSAGE:
		t->stats.received_count++;
		t->stats.received_bytes += size;
		t->delivers = conn;
		if (t->events != NULL)
			t->events->received(t->events_ctx, t->now_ns, bytes,
					    size);
		t->delivers = NULL;
		break;
	case FRAME_READ:
		job_start(t, conn, conn->tag, le_get64(bytes),
			  le_get64(bytes + 8), le_get64(bytes + 16));
		break;
	case FRAME_REFUSED:
		op = expected_find(t, conn->tag);
		if (op != NULL && op->kind == OP_READ && op->peer == conn->peer)
			expected_end(t, op, -EIO);
		break;
	}
}

/* Bytes of a small frame; how many of them were its. -ENOMEM. */
static ssize_t body_take(struct transport_tcp *t, struct tcp_conn *conn,
			 const uint8_t *bytes, size_t size)
{
	if (size > conn->left)
		size = conn->left;
	if (conn->body_size == 0 && size == conn->left) {
		conn->left = 0;
		frame_handle(t, conn, bytes, size);
		return (ssize_t)size;
	}
	if (conn->body == NULL) {
		t->stats.allocation_count++;
		conn->body = malloc(conn->left);
		if (conn->body == NULL)
			return -ENOMEM;
	}
	memcpy(conn->body + conn->body_size, bytes, size);
	conn->body_size += size;
	conn->left -= size;
	if (conn->left == 0) {
		uint8_t *body = conn->body;

		conn->body = NULL;
		frame_handle(t, conn, body, conn->body_size);
		free(body);
	}
	return (ssize_t)size;
}

static ssize_t head_take(struct transport_tcp *t, struct tcp_conn *conn,
			 const uint8_t *bytes, size_t size)
{
	size_t part = FRAME_HEAD - conn->head_size;
	int result;

	if (size < part)
		part = size;
	memcpy(conn->head + conn->head_size, bytes, part);
	conn->head_size += part;
	if (conn->head_size < FRAME_HEAD)
		return (ssize_t)part;
	result = frame_begin(t, conn);
	if (result < 0)
		return result;
	if (conn->left == 0 && conn->into != NULL)
		op_filled(t, conn);
	else if (conn->left == 0)
		frame_handle(t, conn, NULL, 0);
	return (ssize_t)part;
}

/* What was read to where it belongs, or is skipped. */
static size_t payload_take(struct transport_tcp *t, struct tcp_conn *conn,
			   const uint8_t *bytes, size_t size)
{
	if (size > conn->left)
		size = conn->left;
	if (conn->into != NULL && bytes != NULL)
		op_copy(conn->into, bytes, size);
	else if (conn->into != NULL)
		conn->into->done += size;
	conn->left -= size;
	if (conn->left == 0 && conn->into != NULL)
		op_filled(t, conn);
	return size;
}

static void bytes_take(struct transport_tcp *t, struct tcp_conn *conn,
		       const uint8_t *bytes, size_t size)
{
	while (size > 0 && !conn->is_broken) {
		ssize_t taken;

		if (conn->left == 0)
			taken = head_take(t, conn, bytes, size);
		else if (has_body(conn))
			taken = body_take(t, conn, bytes, size);
		else
			taken = (ssize_t)payload_take(t, conn, bytes, size);
		if (taken < 0) {
			t->stats.refused_count += taken == -EPROTO;
			conn_break(t, conn, (int)taken);
			return;
		}
		bytes += taken;
		size -= (size_t)taken;
	}
}

void conn_read(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct iovec pieces[SCOLL_BULK_IOVS_MAX + 1];

	for (int i = 0; i < INPUT_ROUNDS && !conn->is_broken; i++) {
		size_t direct = 0, wanted;
		ssize_t size;
		int count = 0;

		if (conn->into != NULL) {
			count = op_pieces(conn->into, pieces);
			count = pieces_limit(pieces, count, conn->left);
			direct = conn->left;
		}
		pieces[count++] = (struct iovec){ t->input, INPUT_BYTES };
		wanted = direct + INPUT_BYTES;
		size = stream_read(conn->stream, pieces, count);
		if (size == -EAGAIN)
			return;
		if (size <= 0) {
			conn_break(t, conn, size < 0 ? (int)size : -ECONNRESET);
			return;
		}
		if (direct > 0) {
			size_t part =
				(size_t)size < direct ? (size_t)size : direct;

			payload_take(t, conn, NULL, part);
			bytes_take(t, conn, t->input, (size_t)size - part);
		} else {
			bytes_take(t, conn, t->input, (size_t)size);
		}
		if ((size_t)size < wanted)
			return;
	}
}
