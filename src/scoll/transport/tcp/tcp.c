/* SPDX-License-Identifier: BSD-3-Clause */
/* The instance: its opening and end, events, ends of transfers. */
#include "scoll/transport/tcp/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void frame_head(uint8_t head[FRAME_HEAD], enum tcp_frame_kind kind,
		uint64_t tag, size_t size)
{
	le_put32(head, (uint32_t)size);
	head[4] = (uint8_t)kind;
	head[5] = FRAME_VERSION;
	le_put16(head + 6, 0);
	le_put64(head + 8, tag);
}

int pieces_skip(const struct iovec *pieces, int count, size_t done,
		struct iovec *ret_pieces)
{
	int left = 0;

	for (int i = 0; i < count; i++) {
		if (done >= pieces[i].iov_len) {
			done -= pieces[i].iov_len;
			continue;
		}
		ret_pieces[left].iov_base =
			(uint8_t *)pieces[i].iov_base + done;
		ret_pieces[left++].iov_len = pieces[i].iov_len - done;
		done = 0;
	}
	return left;
}

int pieces_limit(struct iovec *pieces, int count, size_t size)
{
	int i = 0;

	for (; i < count && size > 0; i++) {
		if (pieces[i].iov_len > size)
			pieces[i].iov_len = size;
		size -= pieces[i].iov_len;
	}
	return i;
}

void tcp_op_end(struct transport_tcp *t, struct tcp_op *op, int result)
{
	if (op->is_counted)
		op->peer->queue_count--;
	op->is_counted = false;
	op->result = t->is_stopped && result < 0 ? -ECANCELED : result;
	DL_APPEND(t->ended, op);
}

static void report(struct transport_tcp *t)
{
	struct tcp_op *op;

	while ((op = t->ended) != NULL) {
		size_t size =
			op->kind == OP_POST && op->result == 0 ? op->done : 0;

		DL_DELETE(t->ended, op);
		if (op->kind == OP_CONTROL)
			free(op);
		else if (t->events != NULL)
			t->events->done(t->events_ctx, t->now_ns,
					transfer_of_op(op), op->result, size);
	}
}

static void accepted(void *ctx, struct tcp_stream *stream)
{
	struct transport_tcp *t = ctx;
	struct tcp_conn *conn = calloc(1, sizeof(*conn));

	if (conn == NULL) {
		stream_close(stream);
		return;
	}
	conn->stream = stream;
	conn->role = CONN_ACCEPTED;
	conn->is_doubtful = true;
	stream_own(stream, conn);
	DL_APPEND(t->conns, conn);
	DL_APPEND2(t->doubtful, conn, doubt_prev, doubt_next);
	if (++t->doubtful_count > TRANSPORT_TCP_DOUBTFUL_MAX)
		conn_break(t, t->doubtful, -ECONNABORTED);
}

static void ready(void *ctx, void *owner, bool is_readable, bool is_writable)
{
	struct transport_tcp *t = ctx;
	struct tcp_conn *conn = owner;
	int result;

	if (conn->is_broken)
		return;
	if (conn->is_connecting) {
		result = stream_error(conn->stream);
		if (result < 0)
			conn_break(t, conn, result);
		else if (is_writable)
			conn_connected(t, conn);
	} else if (is_writable) {
		conn_write(t, conn);
	}
	if (is_readable && !conn->is_broken && !conn->is_connecting)
		conn_read(t, conn);
}

static const struct stream_events stream_events = {
	.accepted = accepted,
	.ready = ready,
};

int tcp_open(const struct transport_options *options, void **ret_ctx,
	     struct fairlead_error *ret_error)
{
	struct transport_tcp *t = calloc(1, sizeof(*t));
	int result;

	if (t == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	t->rng = options->rng;
	t->check_ns = DEADLINE_NONE;
	t->anchor.kind = OP_CONTROL;
	t->anchor.tag = UINT64_MAX;
	HASH_ADD(hh, t->expected, tag, sizeof(t->anchor.tag), &t->anchor);
	result = stream_set_open(options->node, options->service,
				 &stream_events, t, &t->streams, t->address,
				 &t->address_size, ret_error);
	if (result < 0) {
		HASH_CLEAR(hh, t->expected);
		free(t);
		return result;
	}
	*ret_ctx = t;
	return 0;
}

void tcp_stop(void *ctx)
{
	struct transport_tcp *t = ctx;
	struct tcp_conn *conn, *next;

	if (t->is_stopped)
		return;
	t->is_stopped = true;
	stream_set_stop(t->streams);
	DL_FOREACH_SAFE (t->conns, conn, next)
		conn_break(t, conn, -ECANCELED);
	peers_stop(t);
	conns_close_broken(t);
	report(t);
}

void tcp_close(void *ctx)
{
	struct transport_tcp *t = ctx;
	if (t == NULL)
		return;
	t->events = NULL;
	tcp_stop(t);
	report(t);
	tcp_peers_fini(t);
	regions_fini(t);
	HASH_CLEAR(hh, t->expected);
	stream_set_close(t->streams);
	free(t);
}

void tcp_listen(void *ctx, const struct transport_events *events,
		void *events_ctx)
{
	struct transport_tcp *t = ctx;
	t->events = events;
	t->events_ctx = events_ctx;
}

int tcp_fd(void *ctx)
{
	struct transport_tcp *t = ctx;
	return stream_set_fd(t->streams);
}

void tcp_progress(void *ctx, uint64_t now_ns)
{
	struct transport_tcp *t = ctx;
	t->now_ns = now_ns;
	if (t->is_stopped)
		return;
	stream_set_run(t->streams, now_ns);
	conns_check(t);
	tcp_settle(t, now_ns);
}

bool tcp_settle(void *ctx, uint64_t now_ns)
{
	struct transport_tcp *t = ctx;
	bool has_news = t->ended != NULL;

	t->now_ns = now_ns;
	while (t->has_broken || t->ended != NULL) {
		conns_close_broken(t);
		report(t);
	}
	return has_news;
}

uint64_t tcp_deadline_ns(void *ctx)
{
	struct transport_tcp *t = ctx;
	uint64_t deadline_ns = stream_set_deadline_ns(t->streams);
	const struct tcp_peer *peer;

	if (t->has_broken || t->ended != NULL)
		return 0;
	if (t->check_ns < deadline_ns)
		deadline_ns = t->check_ns;
	DL_FOREACH (t->retrying, peer) {
		if (peer->retry_ns < deadline_ns)
			deadline_ns = peer->retry_ns;
	}
	return deadline_ns;
}

int tcp_address(void *ctx, void *ret_address, size_t *size)
{
	struct transport_tcp *t = ctx;
	size_t capacity = *size;

	if (t->is_stopped)
		return -ESHUTDOWN;
	*size = t->address_size;
	if (capacity < t->address_size)
		return -ENOSPC;
	memcpy(ret_address, t->address, t->address_size);
	return 0;
}

int tcp_resolve(void *ctx, const char *node, const char *service,
		void *ret_address, size_t *size,
		struct fairlead_error *ret_error)
{
	return stream_resolve(node, service, ret_address, size, ret_error);
}

void tcp_stats(void *ctx, struct transport_stats *ret_stats)
{
	struct transport_tcp *t = ctx;
	const struct tcp_peer *peer;
	const struct tcp_op *op;
	int count;

	*ret_stats = t->stats;
	for (peer = t->peers; peer != NULL; peer = peer->hh.next) {
		DL_COUNT(peer->waiting, op, count);
		ret_stats->waiting_count += (uint64_t)count;
	}
}

const struct transport_kind transport_tcp_kind = {
	.version = TRANSPORT_VERSION,
	.open = tcp_open,
	.stop = tcp_stop,
	.close = tcp_close,
	.listen = tcp_listen,
	.ops = &transport_tcp_ops,
	.progress = tcp_progress,
	.settle = tcp_settle,
	.fd = tcp_fd,
	.deadline_ns = tcp_deadline_ns,
	.address = tcp_address,
	.peer_set = tcp_peer_set,
	.resolve = tcp_resolve,
	.peer_refresh = tcp_peer_refresh,
	.stats = tcp_stats,
};
