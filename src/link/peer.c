/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom an endpoint knows, and how each of its rails reaches them. */
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "link/endpoint.h"

struct peer *ep_peer(const struct link_ep *ep, fi_addr_t address)
{
	struct peer *chunk, *peer;

	if (address >= (fi_addr_t)AV_CHUNK * AV_CHUNKS || ep->peers == NULL)
		return NULL;
	chunk = peek_at(ep->peers[address / AV_CHUNK]);
	if (chunk == NULL)
		return NULL;
	peer = &chunk[address % AV_CHUNK];
	return peek_at(peer->is_known) ? peer : NULL;
}

static int rail_name(struct rail *rail, fi_addr_t core, fi_addr_t address)
{
	if (core >= rail->name_count) {
		size_t count = (size_t)core + 64;
		fi_addr_t *grown = realloc(rail->names, count * sizeof(*grown));
		if (grown == NULL)
			return -FI_ENOMEM;
		while (rail->name_count < count)
			grown[rail->name_count++] = FI_ADDR_NOTAVAIL;
		rail->names = grown;
	}
	rail->names[core] = address;
	return 0;
}

/*
 * Shared memory is reached by the name that follows from the number. The rail is
 * locked, here and below.
 */
static int insert_local(struct rail *rail, struct peer *peer, fi_addr_t address)
{
	char name[64];

	snprintf(name, sizeof(name), "fairlead-%016llx",
		 (unsigned long long)peer->number);
	if (fi_av_insert(rail->av, name, 1, &peer->cores[rail->index], 0,
			 NULL) != 1)
		return -FI_ENOSPC; /* it has room for 256 */
	return rail_name(rail, peer->cores[rail->index], address);
}

static int insert_fabric(struct rail *rail, struct peer *peer,
			 fi_addr_t address, const struct rail_address *to)
{
	if (fi_av_insert(rail->av, to->bytes, 1, &peer->cores[rail->index], 0,
			 NULL) != 1)
		return -FI_EADDRNOTAVAIL;
	return rail_name(rail, peer->cores[rail->index], address);
}

/* Makes a peer known to one rail, if that rail can reach it. */
static int insert_at(struct rail *rail, struct peer *peer, fi_addr_t address,
		     const struct link_address *to)
{
	unsigned int first = has_local(rail->ep) ? 1 : 0;

	peer->cores[rail->index] = FI_ADDR_NOTAVAIL;
	if (rail->way == RAIL_SHARED)
		return link_address_is_local(&rail->ep->address, to)
			       ? insert_local(rail, peer, address)
			       : -FI_EHOSTUNREACH;
	return rail->index - first < to->told_count
		       ? insert_fabric(rail, peer, address,
				       &to->rails[rail->index - first])
		       : -FI_EHOSTUNREACH;
}

static struct peer *peer_place(struct link_ep *ep, fi_addr_t address)
{
	struct peer *chunk = ep->peers[address / AV_CHUNK];

	if (chunk == NULL) {
		chunk = calloc(AV_CHUNK, sizeof(*chunk));
		set_seen(ep->peers[address / AV_CHUNK], chunk);
	}
	return chunk == NULL ? NULL : &chunk[address % AV_CHUNK];
}

int ep_peer_add(struct link_ep *ep, fi_addr_t address,
		const struct link_address *to)
{
	struct peer *peer = peer_place(ep, address);
	int result = -FI_EHOSTUNREACH;

	if (peer == NULL)
		return -FI_ENOMEM;
	*peer = (struct peer){ .number = to->number };
	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		link_lock(&rail->lock);
		if (insert_at(rail, peer, address, to) == 0) {
			result = 0;
			peer->is_local |= rail->way == RAIL_SHARED;
		}
		link_unlock(&rail->lock);
	}
	set_seen(peer->is_known, result == 0);
	if (result == 0)
		receive_rename(ep, to->number, address);
	return result;
}

/* --- who is not in the vector --- */

struct stranger {
	uint64_t number;
	struct link_address address;
	struct peer peer;
	UT_hash_handle hh;
};

static struct stranger *stranger_find(struct link_ep *ep, uint64_t number)
{
	struct stranger *stranger;

	HASH_FIND(hh, ep->strangers, &number, sizeof(number), stranger);
	return stranger;
}

static struct stranger *stranger_make(struct link_ep *ep, uint64_t number,
				      const uint8_t *from)
{
	struct stranger *stranger = calloc(1, sizeof(*stranger));

	if (stranger == NULL)
		return NULL;
	if (link_address_decode(from, &stranger->address, NULL) != 0 ||
	    stranger->address.number != number ||
	    stranger->address.digest != ep->domain->digest) {
		free(stranger);
		return NULL;
	}
	stranger->number = stranger->peer.number = number;
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		stranger->peer.cores[i] = FI_ADDR_NOTAVAIL;
	HASH_ADD(hh, ep->strangers, number, sizeof(number), stranger);
	return stranger;
}

struct peer *ep_peer_or_stranger(struct rail *rail, uint64_t number,
				 const uint8_t from[LINK_ADDRESS_SIZE])
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, number));
	struct stranger *stranger;

	if (peer != NULL)
		return peer;
	link_lock(&ep->matching);
	stranger = stranger_find(ep, number);
	if (stranger == NULL)
		stranger = stranger_make(ep, number, from);
	link_unlock(&ep->matching);
	if (stranger == NULL)
		return NULL;
	peer = &stranger->peer;
	if (peer->cores[rail->index] == FI_ADDR_NOTAVAIL &&
	    insert_at(rail, peer, FI_ADDR_NOTAVAIL, &stranger->address) != 0)
		return NULL;
	return peer;
}

void ep_strangers_drop(struct link_ep *ep)
{
	struct stranger *stranger, *next;

	HASH_ITER (hh, ep->strangers, stranger, next) {
		HASH_DEL(ep->strangers, stranger);
		free(stranger);
	}
}

void ep_peer_remove(struct link_ep *ep, fi_addr_t address)
{
	struct peer *peer = ep_peer(ep, address);
	unsigned int first = has_local(ep) ? 1 : 0;

	if (peer == NULL)
		return;
	for (unsigned int i = peer->is_local ? 0 : first; i < ep->rail_count;
	     i++) {
		struct rail *rail = &ep->rails[i];
		link_lock(&rail->lock);
		if (peer->cores[i] != FI_ADDR_NOTAVAIL)
			rail_name(rail, peer->cores[i], FI_ADDR_NOTAVAIL);
		fi_av_remove(rail->av, &peer->cores[i], 1, 0);
		link_unlock(&rail->lock);
	}
	set_seen(peer->is_known, false);
}
