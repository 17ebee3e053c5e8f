/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections. One that fails is marked, since a function that called us may
 * still use it, and closed at the end of progress.
 */
#include "scoll/transport/tcp/internal.h"

#include <errno.h>
#include <stdlib.h>

static int conn_open(struct transport_tcp *t, struct tcp_peer *peer,
		     enum conn_role role, struct tcp_conn **ret_conn)
{
	struct tcp_conn *conn = calloc(1, sizeof(*conn));
	int result;

	if (conn == NULL)
		return -ENOMEM;
	result = stream_connect(t->streams, peer->address, peer->address_size,
				conn, &conn->stream);
	if (result < 0) {
		free(conn);
		return result;
	}
	conn->role = role;
	peer_bind(conn, peer);
	conn->is_connecting = true;
	t->check_ns = 0;
	DL_APPEND(t->conns, conn);
	*ret_conn = conn;
	return 0;
}

/* It could not be connected: again soon, or not any more. */
static void retry(struct transport_tcp *t, struct tcp_peer *peer, int result)
{
	bool is_short = result == -EMFILE || result == -ENFILE ||
			result == -ENOBUFS || result == -ENOMEM ||
			result == -EAGAIN || result == -EADDRNOTAVAIL;

	if (peer->waiting == NULL || peer->address_size == 0 ||
	    (peer->was_connected && !is_short) ||
	    (peer->since_ns != 0 &&
	     t->now_ns - peer->since_ns >= TRANSPORT_TCP_CONNECT_NS)) {
		peer_unreachable(t, peer, -EHOSTUNREACH);
		return;
	}
	peer->retry_ns = t->now_ns + peer->backoff_ns;
	peer->backoff_ns *= 2;
	if (peer->backoff_ns > BACKOFF_MAX_NS)
		peer->backoff_ns = BACKOFF_MAX_NS;
	DL_APPEND(t->retrying, peer);
}

void conn_want(struct transport_tcp *t, struct tcp_peer *peer)
{
	int result;

	if (peer->out != NULL || peer->retry_ns != DEADLINE_NONE)
		return;
	if (peer->since_ns == 0)
		peer->backoff_ns = BACKOFF_MIN_NS;
	result = conn_open(t, peer, CONN_OUT, &peer->out);
	if (result < 0)
		retry(t, peer, result);
}

int conn_want_bulk(struct transport_tcp *t, struct tcp_peer *peer)
{
	return peer->bulk != NULL ? 0
				  : conn_open(t, peer, CONN_BULK, &peer->bulk);
}

void conn_connected(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_peer *peer = conn->peer;

	conn->is_connecting = false;
	conn->moved_ns = 0;
	if (conn->role == CONN_OUT) {
		peer->was_connected = true;
		peer->since_ns = 0;
		DL_CONCAT(conn->ops, peer->waiting);
		peer->waiting = NULL;
	}
	conn_write(t, conn);
}

void conn_confirm(struct transport_tcp *t, struct tcp_conn *conn)
{
	if (!conn->is_doubtful)
		return;
	conn->is_doubtful = false;
	DL_DELETE2(t->doubtful, conn, doubt_prev, doubt_next);
	t->doubtful_count--;
}

static void ops_end(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_op *op;

	while ((op = conn->ops) != NULL) {
		DL_DELETE(conn->ops, op);
		tcp_op_end(t, op, -ECONNRESET);
	}
}

void conn_break(struct transport_tcp *t, struct tcp_conn *conn, int result)
{
	struct tcp_peer *peer = conn->peer;
	bool was_connected = !conn->is_connecting;

	if (conn->is_broken)
		return;
	conn->is_broken = true;
	t->has_broken = true;
	conn_confirm(t, conn);
	ops_end(t, conn);
	jobs_refuse(t, conn);
	if (peer == NULL)
		return;
	if (peer->out == conn) {
		peer->out = NULL;
		if (was_connected)
			peer_lost(t, peer, -ECONNRESET);
		else
			retry(t, peer, result);
	} else if (peer->bulk == conn) {
		peer->bulk = NULL;
	} else {
		peer_reads_lost(t, peer, peer->in == conn ? NULL : conn);
		if (peer->in == conn)
			peer->in = NULL;
	}
}

static void conn_free(struct transport_tcp *t, struct tcp_conn *conn)
{
	DL_DELETE(t->conns, conn);
	peer_unbind(t, conn);
	stream_close(conn->stream);
	free(conn->body);
	free(conn);
}

void conns_close_broken(struct transport_tcp *t)
{
	struct tcp_conn *conn, *next;

	if (!t->has_broken)
		return;
	t->has_broken = false;
	DL_FOREACH_SAFE (t->conns, conn, next) {
		if (conn->is_broken)
			conn_free(t, conn);
	}
}

/* Output that does not move, and connections that do not come. */
static void overdue_break(struct transport_tcp *t)
{
	struct tcp_conn *conn, *next;

	t->check_ns = DEADLINE_NONE;
	DL_FOREACH_SAFE (t->conns, conn, next) {
		uint64_t due_ns;

		if (!conn->is_connecting && conn->ops == NULL &&
		    conn->jobs == NULL)
			continue;
		if (conn->moved_ns == 0)
			conn->moved_ns = t->now_ns;
		due_ns = conn->moved_ns + (conn->is_connecting
						   ? TRANSPORT_TCP_CONNECT_NS
						   : TRANSPORT_TCP_SEND_NS);
		if (due_ns <= t->now_ns)
			conn_break(t, conn, -ETIMEDOUT);
		else if (due_ns < t->check_ns)
			t->check_ns = due_ns;
	}
}

void conns_check(struct transport_tcp *t)
{
	struct tcp_peer *peer, *next;

	if (t->check_ns <= t->now_ns)
		overdue_break(t);
	DL_FOREACH_SAFE (t->retrying, peer, next) {
		if (peer->since_ns == 0)
			peer->since_ns = t->now_ns;
		if (peer->retry_ns > t->now_ns)
			continue;
		peer_retry_cancel(t, peer);
		conn_want(t, peer);
	}
}
