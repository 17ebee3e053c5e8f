/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address book, and what a peer's connections are for. A peer without an
 * address is kept as long as a connection of its own serves it.
 */
#include "scoll/transport/tcp/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct tcp_peer *tcp_peer_find(const struct transport_tcp *t, scoll_nid_t nid)
{
	struct tcp_peer *peer;

	HASH_FIND(hh, t->peers, &nid, sizeof(nid), peer);
	return peer;
}

static struct tcp_peer *create(struct transport_tcp *t, scoll_nid_t nid)
{
	struct tcp_peer *peer = calloc(1, sizeof(*peer));

	if (peer == NULL)
		return NULL;
	peer->nid = nid;
	peer->retry_ns = DEADLINE_NONE;
	HASH_ADD(hh, t->peers, nid, sizeof(peer->nid), peer);
	if (!hash_was_added(peer)) {
		free(peer);
		return NULL;
	}
	return peer;
}

static void free_unused(struct transport_tcp *t, struct tcp_peer *peer)
{
	if (peer->conn_count > 0 || peer->address_size > 0 ||
	    peer->posted != NULL)
		return;
	HASH_DEL(t->peers, peer);
	free(peer);
}

/* Its connections, and all that needs them, end. */
static void leave(struct transport_tcp *t, struct tcp_peer *peer, int result)
{
	struct tcp_conn *conns[] = { peer->out, peer->bulk, peer->in };

	for (int i = 0; i < 3; i++) {
		if (conns[i] != NULL)
			conn_break(t, conns[i], result);
	}
	peer_unreachable(t, peer, result);
	peer_lost(t, peer, result);
	peer->was_connected = false;
}

/*
 * Those to it. Its requests come by one that it opened, which may be that of
 * its next start already: that one stays.
 */
static void connections_close(struct transport_tcp *t, struct tcp_peer *peer)
{
	peer->was_connected = false;
	if (peer->out != NULL)
		conn_break(t, peer->out, -ECONNRESET);
	if (peer->bulk != NULL)
		conn_break(t, peer->bulk, -ECONNRESET);
	peer_retry_cancel(t, peer);
	peer->since_ns = 0;
	if (peer->waiting != NULL)
		conn_want(t, peer);
}

static int put(struct transport_tcp *t, scoll_nid_t nid, const void *address,
	       size_t size, bool is_learned)
{
	struct tcp_peer *peer = tcp_peer_find(t, nid);

	if (!stream_address_is_valid(address, size))
		return -EINVAL;
	if (peer == NULL)
		peer = create(t, nid);
	if (peer == NULL)
		return -ENOMEM;
	peer->is_learned = is_learned;
	if (peer->address_size == size &&
	    memcmp(peer->address, address, size) == 0)
		return 0;
	memcpy(peer->address, address, size);
	peer->address_size = size;
	connections_close(t, peer);
	return 0;
}

static int forget(struct transport_tcp *t, scoll_nid_t nid)
{
	struct tcp_peer *peer = tcp_peer_find(t, nid);

	if (peer == NULL || peer->address_size == 0)
		return -ENOENT;
	peer->address_size = 0;
	leave(t, peer, -EHOSTUNREACH);
	free_unused(t, peer);
	return 0;
}

int tcp_peer_set(void *ctx, scoll_nid_t nid, const void *address, size_t size)
{
	struct transport_tcp *t = ctx;
	if (t->is_stopped)
		return -ESHUTDOWN;
	return size > 0 ? put(t, nid, address, size, false) : forget(t, nid);
}

int tcp_peer_learn(struct transport_tcp *t, scoll_nid_t nid,
		   const void *address, size_t size)
{
	const struct tcp_peer *peer = tcp_peer_find(t, nid);

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (peer != NULL && peer->address_size > 0 &&
	    (!peer->is_learned || (peer->address_size == size &&
				   memcmp(peer->address, address, size) == 0)))
		return 0;
	return size > 0 ? put(t, nid, address, size, true) : forget(t, nid);
}

int tcp_peer_refresh(void *ctx, scoll_nid_t nid)
{
	struct transport_tcp *t = ctx;
	struct tcp_peer *peer = tcp_peer_find(t, nid);

	if (peer == NULL)
		return -ENOENT;
	connections_close(t, peer);
	return 0;
}

void peer_sent_this(struct transport_tcp *t, scoll_nid_t nid)
{
	struct tcp_conn *conn = t->delivers;
	struct tcp_peer *peer;

	if (conn == NULL || conn->is_broken || conn->role != CONN_ACCEPTED ||
	    (conn->peer != NULL && conn->peer->nid == nid))
		return;
	peer = tcp_peer_find(t, nid);
	if (peer == NULL)
		peer = create(t, nid);
	if (peer == NULL)
		return;
	conn_confirm(t, conn);
	if (conn->peer != NULL) {
		if (conn->peer->in == conn)
			conn->peer->in = NULL;
		peer_unbind(t, conn);
	}
	if (peer->in != NULL)
		peer_reads_lost(t, peer, NULL);
	peer_bind(conn, peer);
	peer->in = conn;
}

void peer_bind(struct tcp_conn *conn, struct tcp_peer *peer)
{
	conn->peer = peer;
	peer->conn_count++;
}

void peer_unbind(struct transport_tcp *t, struct tcp_conn *conn)
{
	struct tcp_peer *peer = conn->peer;

	if (peer == NULL)
		return;
	conn->peer = NULL;
	peer->conn_count--;
	free_unused(t, peer);
}

void peer_reads_lost(struct transport_tcp *t, struct tcp_peer *peer,
		     const struct tcp_conn *by)
{
	struct tcp_op *op, *next;

	DL_FOREACH_SAFE (peer->posted, op, next) {
		if (op->kind == OP_READ && (by == NULL || op->from == by))
			expected_end(t, op, -EIO);
	}
}

void peer_lost(struct transport_tcp *t, struct tcp_peer *peer, int result)
{
	struct tcp_op *op, *next;

	DL_FOREACH_SAFE (peer->posted, op, next)
		expected_end(t, op, result);
}

void peer_retry_cancel(struct transport_tcp *t, struct tcp_peer *peer)
{
	if (peer->retry_ns == DEADLINE_NONE)
		return;
	peer->retry_ns = DEADLINE_NONE;
	DL_DELETE(t->retrying, peer);
}

void peer_unreachable(struct transport_tcp *t, struct tcp_peer *peer,
		      int result)
{
	struct tcp_op *op;

	peer_retry_cancel(t, peer);
	peer->since_ns = 0;
	while ((op = peer->waiting) != NULL) {
		DL_DELETE(peer->waiting, op);
		tcp_op_end(t, op, result);
	}
}

void peers_stop(struct transport_tcp *t)
{
	struct tcp_peer *peer, *next;

	HASH_ITER (hh, t->peers, peer, next)
		leave(t, peer, -ECANCELED);
}

void tcp_peers_fini(struct transport_tcp *t)
{
	struct tcp_peer *peer, *next;

	HASH_ITER (hh, t->peers, peer, next) {
		HASH_DEL(t->peers, peer);
		free(peer);
	}
}
