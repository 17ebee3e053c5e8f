/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address book, and how long a peer is believed in. libfabric says little
 * about a dead peer: what it has not taken is refused for ever, and some of
 * what it has taken never ends. Both have a limit here. At the second one the
 * connection is closed by taking the address out of the address vector, where
 * that does it; what is still not ended after that is forgotten, but for
 * reads, whose memory libfabric may still write to.
 */
#include "scoll/transport/ofi/internal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>

struct ofi_peer *peer_find(struct transport_ofi *t, scoll_nid_t nid)
{
	struct ofi_peer *peer;

	HASH_FIND(hh, t->peers, &nid, sizeof(nid), peer);
	return peer != NULL && peer->at != FI_ADDR_NOTAVAIL ? peer : NULL;
}

void peer_use(struct transport_ofi *t, struct ofi_peer *peer)
{
	if (peer->use_count++ == 0) {
		DL_APPEND(t->busy, peer);
		if (t->check_ns > t->now_ns + CHECK_NS)
			t->check_ns = t->now_ns + CHECK_NS;
	}
}

void peer_unuse(struct transport_ofi *t, struct ofi_peer *peer)
{
	if (--peer->use_count > 0)
		return;
	DL_DELETE(t->busy, peer);
	if (peer->at == FI_ADDR_NOTAVAIL) {
		HASH_DEL(t->peers, peer);
		free(peer);
	}
}

void peer_refused(struct transport_ofi *t, struct ofi_peer *peer)
{
	if (peer->retry_ns != DEADLINE_NONE)
		return;
	peer->retry_ns = 0;
	peer->refused_ns = 0;
	peer->backoff_ns = BACKOFF_MIN_NS;
	t->check_ns = 0;
}

/* Is it something that fi_av_insert can read? */
static bool is_address(const struct transport_ofi *t, const void *address,
		       size_t size)
{
	sa_family_t family;

	if (size > TRANSPORT_ADDRESS_MAX)
		return false;
	switch (t->info->addr_format) {
	case FI_SOCKADDR:
	case FI_SOCKADDR_IN:
	case FI_SOCKADDR_IN6:
		if (size < sizeof(family))
			return false;
		memcpy(&family, address, sizeof(family));
		if (family == AF_INET)
			return size == sizeof(struct sockaddr_in) &&
			       t->info->addr_format != FI_SOCKADDR_IN6;
		return family == AF_INET6 &&
		       size == sizeof(struct sockaddr_in6) &&
		       t->info->addr_format != FI_SOCKADDR_IN;
	case FI_ADDR_STR:
		return size > 1 && memchr(address, '\0', size) ==
					   (const uint8_t *)address + size - 1;
	default:
		return size == t->info->src_addrlen;
	}
}

static int insert(struct transport_ofi *t, const void *address, fi_addr_t *ret)
{
	fi_addr_t at = FI_ADDR_NOTAVAIL;
	int count = fi_av_insert(t->av, address, 1, &at, 0, NULL);

	if (count < 0)
		return errno_of(count);
	if (count != 1 || at == FI_ADDR_NOTAVAIL)
		return -EINVAL;
	*ret = at;
	return 0;
}

/* Its old address is no more; what was sent there ends as libfabric has it. */
static void leave(struct transport_ofi *t, struct ofi_peer *peer)
{
	fi_addr_t at = peer->at;

	peer->at = FI_ADDR_NOTAVAIL;
	peer->is_connected = false;
	t->is_unread = true;
	fi_av_remove(t->av, &at, 1, 0);
}

static int peer_create(struct transport_ofi *t, scoll_nid_t nid,
		       struct ofi_peer **ret_peer)
{
	struct ofi_peer *peer;

	if (HASH_COUNT(t->peers) >= TRANSPORT_OFI_PEERS_MAX)
		return -ENOSPC;
	peer = calloc(1, sizeof(*peer));
	if (peer == NULL)
		return -ENOMEM;
	peer->nid = nid;
	peer->at = FI_ADDR_NOTAVAIL;
	peer->retry_ns = DEADLINE_NONE;
	HASH_ADD(hh, t->peers, nid, sizeof(peer->nid), peer);
	if (peer->hh.tbl == NULL) {
		free(peer);
		return -ENOMEM;
	}
	*ret_peer = peer;
	return 0;
}

static int peer_forget(struct transport_ofi *t, scoll_nid_t nid)
{
	struct ofi_peer *peer = peer_find(t, nid);

	if (peer == NULL)
		return -ENOENT;
	peer_use(t, peer);
	leave(t, peer);
	/* What waits finds out at the next look. */
	if (peer->retry_ns != DEADLINE_NONE)
		t->check_ns = 0;
	peer_unuse(t, peer);
	return 0;
}

static int peer_put(struct transport_ofi *t, scoll_nid_t nid,
		    const void *address, size_t size, bool is_learned)
{
	struct ofi_peer *peer;
	fi_addr_t at = FI_ADDR_NOTAVAIL;
	int result;

	if (!is_address(t, address, size))
		return -EINVAL;
	HASH_FIND(hh, t->peers, &nid, sizeof(nid), peer);
	if (peer == NULL) {
		result = peer_create(t, nid, &peer);
		if (result < 0)
			return result;
	}
	peer_use(t, peer);
	/* First, so that one that is set again has its connection closed. */
	if (peer->at != FI_ADDR_NOTAVAIL)
		leave(t, peer);
	result = insert(t, address, &at);
	if (result == 0) {
		peer->at = at;
		memcpy(peer->address, address, size);
		peer->address_size = size;
		peer->is_learned = is_learned;
	}
	if (peer->retry_ns != DEADLINE_NONE)
		t->check_ns = 0;
	peer_unuse(t, peer);
	return result;
}

int ofi_peer_set(void *ctx, scoll_nid_t nid, const void *address, size_t size)
{
	struct transport_ofi *t = ctx;
	if (t->is_stopped)
		return -ESHUTDOWN;
	return size > 0 ? peer_put(t, nid, address, size, false)
			: peer_forget(t, nid);
}

int peer_learn(struct transport_ofi *t, scoll_nid_t nid, const void *address,
	       size_t size)
{
	const struct ofi_peer *peer = peer_find(t, nid);

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (peer != NULL &&
	    (!peer->is_learned || (peer->address_size == size &&
				   memcmp(peer->address, address, size) == 0)))
		return 0;
	return size > 0 ? peer_put(t, nid, address, size, true)
			: peer_forget(t, nid);
}

int ofi_peer_refresh(void *ctx, scoll_nid_t nid)
{
	struct transport_ofi *t = ctx;
	struct ofi_peer *peer = peer_find(t, nid);
	uint8_t address[TRANSPORT_ADDRESS_MAX];

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (peer == NULL)
		return -ENOENT;
	memcpy(address, peer->address, sizeof(address));
	return peer_put(t, nid, address, peer->address_size, peer->is_learned);
}

/* End what waits. */
static void give_up(struct transport_ofi *t, struct ofi_peer *peer)
{
	while (peer->pending != NULL) {
		struct ofi_op *op = peer->pending;

		DL_DELETE(peer->pending, op);
		peer->pending_count--;
		t->pending_count--;
		DL_APPEND(peer->posted, op);
		send_ended(t, op, -EHOSTUNREACH);
	}
	while (peer->reads != NULL)
		read_fail(t, peer->reads, -EHOSTUNREACH);
	peer->retry_ns = DEADLINE_NONE;
}

/* libfabric has closed the connection, and has not ended these. */
static void forget_posted(struct transport_ofi *t, struct ofi_peer *peer)
{
	struct ofi_op *op, *next;

	DL_FOREACH_SAFE (peer->posted, op, next) {
		struct transfer *transfer = op->transfer;

		if (op->since_ns == 0)
			continue; /* of the new connection */
		if (op->head.kind == OP_READ) {
			op->since_ns = t->now_ns;
			continue;
		}
		DL_DELETE(peer->posted, op);
		op->transfer = NULL;
		op->peer = NULL;
		peer_unuse(t, peer);
		transfer_end(t, transfer, -ETIMEDOUT, 0);
	}
	peer->reset_ns = 0;
}

static void check_posted(struct transport_ofi *t, struct ofi_peer *peer)
{
	struct ofi_op *op = peer->posted;

	if (peer->reset_ns != 0) {
		if (t->now_ns - peer->reset_ns >= RESET_GRACE_NS)
			forget_posted(t, peer);
		return;
	}
	if (op == NULL)
		return;
	if (op->since_ns == 0)
		op->since_ns = t->now_ns;
	if (t->now_ns - op->since_ns < TRANSPORT_OFI_SEND_NS ||
	    !t->habits.removal_ends || peer->at == FI_ADDR_NOTAVAIL)
		return;
	peer->reset_ns = t->now_ns;
	DL_FOREACH (peer->posted, op)
		op->since_ns = t->now_ns;
	ofi_peer_refresh(t, peer->nid);
}

static void check(struct transport_ofi *t, struct ofi_peer *peer)
{
	if (peer->retry_ns != DEADLINE_NONE) {
		if (peer->refused_ns == 0)
			peer->refused_ns = t->now_ns;
		if (peer->at == FI_ADDR_NOTAVAIL ||
		    t->now_ns - peer->refused_ns >= TRANSPORT_OFI_CONNECT_NS)
			give_up(t, peer);
		else if (t->now_ns >= peer->retry_ns)
			peer_push(t, peer);
	}
	check_posted(t, peer);
}

void peers_check(struct transport_ofi *t)
{
	struct ofi_peer *peer, *next;
	uint64_t at_ns = DEADLINE_NONE;

	if (t->now_ns < t->check_ns)
		return;
	t->check_ns = DEADLINE_NONE;
	DL_FOREACH_SAFE (t->busy, peer, next) {
		peer_use(t, peer);
		check(t, peer);
		if (peer->retry_ns < at_ns)
			at_ns = peer->retry_ns;
		if (peer->use_count > 1 && at_ns > t->now_ns + CHECK_NS)
			at_ns = t->now_ns + CHECK_NS;
		peer_unuse(t, peer);
	}
	if (t->check_ns > at_ns)
		t->check_ns = at_ns;
}

void peers_fini(struct transport_ofi *t)
{
	struct ofi_peer *peer, *next;

	HASH_ITER (hh, t->peers, peer, next) {
		HASH_DEL(t->peers, peer);
		free(peer);
	}
}
