/* SPDX-License-Identifier: BSD-3-Clause */
/* The peers that an endpoint knows, and how each of its rails reaches them. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "link/peer.h"
#include "base/hash.h"
#include "link/av.h"
#include "link/flow.h"
#include "link/matched.h"
#include "link/pending.h"
#include "link/receive.h"
#include "link/remembered.h"
#include "link/slots.h"
#include "link/unlisted.h"

static struct peer *peer_at(const struct link_ep *ep, fi_addr_t address)
{
	struct peer *chunk;

	if (address >= (fi_addr_t)AV_CHUNK * AV_CHUNKS || ep->peers == NULL)
		return NULL;
	chunk = peek_at(ep->peers[address / AV_CHUNK]);
	return chunk == NULL ? NULL : &chunk[address % AV_CHUNK];
}

struct peer *ep_peer(const struct link_ep *ep, fi_addr_t address)
{
	struct peer *peer = peer_at(ep, address);

	return peer != NULL && peek_at(peer->is_known) ? peer : NULL;
}

uint64_t source_now(const struct link_ep *ep, uint64_t source, uint64_t number)
{
	const struct peer *peer;

	if ((source & SOURCE_BY_NUMBER) != 0)
		return source;
	peer = peer_at(ep, source);
	if (peer != NULL && peek_at(peer->is_known))
		return source;
	if (number == 0 && peer != NULL)
		number = peer->number;
	return number == 0 ? SOURCE_UNKNOWN : number | SOURCE_BY_NUMBER;
}

/*
 * The peer that messages from a core's address are from: of several addresses
 * of one peer, the first.
 */
static int source_set(struct rail *rail, fi_addr_t core, fi_addr_t address,
		      uint64_t number)
{
	fi_addr_t *source;

	if (core >= rail->source_count) {
		size_t count = (size_t)core + 64;
		fi_addr_t *grown =
			realloc(rail->sources, count * sizeof(*grown));
		if (grown == NULL)
			return -FI_ENOMEM;
		while (rail->source_count < count)
			grown[rail->source_count++] = FI_ADDR_NOTAVAIL;
		rail->sources = grown;
	}
	source = &rail->sources[core];
	if (*source == FI_ADDR_NOTAVAIL ||
	    *source == (number | SOURCE_BY_NUMBER))
		*source = address;
	return 0;
}

/* The rail is locked, here and below. */
static int insert_local(struct rail *rail, struct peer *peer, fi_addr_t address)
{
	int result = slot_take(rail, peer->number, &peer->cores[rail->index],
			       &peer->process);

	if (result != 0)
		link_info(AV, "shared memory of a peer: %s\n",
			  fi_strerror(-result));
	peer->is_lost = result == -ENOENT;
	return result == 0 ? source_set(rail, peer->cores[rail->index], address,
					peer->number)
			   : result;
}

static int insert_fabric(struct rail *rail, struct peer *peer,
			 fi_addr_t address, const struct rail_address *to)
{
	fi_addr_t *core = &peer->cores[rail->index];

	if (!peer_recall(rail, peer) &&
	    fi_av_insert(rail->av, to->bytes, 1, core, 0, NULL) != 1)
		return -FI_EADDRNOTAVAIL;
	if (address == FI_ADDR_NOTAVAIL)
		address = peer->number | SOURCE_BY_NUMBER;
	if (source_set(rail, *core, address, peer->number) == 0)
		return 0;
	fi_av_remove(rail->av, core, 1, 0);
	*core = FI_ADDR_NOTAVAIL;
	return -FI_ENOMEM;
}

int peer_insert_at(struct rail *rail, struct peer *peer, fi_addr_t address,
		   const struct link_address *to)
{
	unsigned int first = has_local(rail->ep) ? 1 : 0;

	peer->cores[rail->index] = FI_ADDR_NOTAVAIL;
	if (rail->way == RAIL_SHARED)
		return link_address_is_local(&rail->ep->address, to)
			       ? insert_local(rail, peer, address)
			       : -FI_EHOSTUNREACH;
	return rail->index - first < to->known_count
		       ? insert_fabric(rail, peer, address,
				       &to->rails[rail->index - first])
		       : -FI_EHOSTUNREACH;
}

static struct peer *peer_place(struct link_ep *ep, fi_addr_t address)
{
	struct peer *chunk;

	/* Addresses are inserted, and names answered, at once. */
	link_lock(&ep->av->lock);
	chunk = ep->peers[address / AV_CHUNK];
	if (chunk == NULL) {
		chunk = calloc(AV_CHUNK, sizeof(*chunk));
		set_seen(ep->peers[address / AV_CHUNK], chunk);
	}
	link_unlock(&ep->av->lock);
	return chunk == NULL ? NULL : &chunk[address % AV_CHUNK];
}

/* A peer that several rails lead to is reached by any of them. */
static int flow_join(struct link_ep *ep, struct peer *peer, fi_addr_t address,
		     const struct link_address *to)
{
	struct rail *rail = fabric_rail(ep, 0);
	int result;

	link_lock(&rail->lock);
	result = flow_get(ep, to, &peer->flow);
	for (unsigned int i = 0; result == 0 && i < ep->flows->count; i++) {
		fi_addr_t core = peer->flow->cores[i];
		peer->cores[rail->index + i] = core;
		if (core != FI_ADDR_NOTAVAIL)
			source_set(rail + i, core, address, peer->number);
	}
	link_unlock(&rail->lock);
	return result;
}

/*
 * The core knows it already, and may have named it as a sender: it goes on as
 * the one in the vector.
 */
static bool unlisted_adopt(struct rail *rail, struct peer *peer,
			   fi_addr_t address)
{
	struct peer *unlisted = unlisted_peer(rail, peer->number);
	fi_addr_t *core;

	if (rail->way == RAIL_SHARED || unlisted == NULL)
		return false;
	core = &unlisted->cores[rail->index];
	if (*core == FI_ADDR_NOTAVAIL)
		return false;
	peer->cores[rail->index] = *core;
	peer->knows_listed = unlisted->knows_listed;
	peer->knows_us = unlisted->knows_us;
	(void)source_set(rail, *core, address, peer->number); /* it fits */
	*core = FI_ADDR_NOTAVAIL;
	return true;
}

/*
 * Who is removed may wait for answers: it goes on as its twin, or as an
 * unlisted peer that takes its place in the core. 0, and who that is (or NULL);
 * -FI_ENOMEM.
 */
static int heir_of(struct rail *rail, struct peer *peer, fi_addr_t address,
		   fi_addr_t twin, struct peer **ret_heir)
{
	struct link_ep *ep = rail->ep;
	const struct av_entry *entry = av_entry_of(ep->av, address);
	struct peer *heir = ep_peer(ep, twin);
	int result = 0;

	*ret_heir = NULL;
	if (!pending_has(rail, peer))
		return 0;
	if (heir == NULL && entry != NULL &&
	    peer->cores[rail->index] != FI_ADDR_NOTAVAIL)
		result = unlisted_take(rail, peer->number, entry->bytes, &heir);
	*ret_heir = heir;
	return result == -FI_ENOMEM ? result : 0;
}

static void hand_over(struct rail *rail, struct peer *peer, fi_addr_t address,
		      fi_addr_t twin)
{
	fi_addr_t *core = &peer->cores[rail->index];
	struct peer *to;

	if (heir_of(rail, peer, address, twin, &to) != 0 || to == NULL)
		return;
	if (to->cores[rail->index] == FI_ADDR_NOTAVAIL) {
		to->cores[rail->index] = *core;
		to->knows_listed |= peer->knows_listed;
		to->knows_us |= peer->knows_us;
		if (rail_source(rail, *core) == address)
			rail->sources[*core] = source_left(peer->number, twin);
		*core = FI_ADDR_NOTAVAIL;
	}
	pending_hand_over(rail, peer, to);
}

/* Makes those who will have what it leaves, so that nothing is lost then. */
static int heirs_make(struct link_ep *ep, struct peer *peer, fi_addr_t address)
{
	fi_addr_t twin = av_twin(ep->av, peer->number, address);
	int result = 0;

	for (unsigned int i = 0; i < ep->rail_count && result == 0; i++) {
		struct peer *heir;
		link_lock(&ep->rails[i].lock);
		result = heir_of(&ep->rails[i], peer, address, twin, &heir);
		link_unlock(&ep->rails[i].lock);
	}
	return result;
}

void core_release(struct rail *rail, struct peer *peer, uint64_t source,
		  fi_addr_t twin)
{
	fi_addr_t *core = &peer->cores[rail->index];
	bool is_its_own = rail_source(rail, *core) == source;
	bool stays = rail->way == RAIL_SHARED || peer->knows_listed ||
		     peer->knows_us;

	if (*core == FI_ADDR_NOTAVAIL)
		return;
	if (is_its_own)
		rail->sources[*core] =
			stays ? source_left(peer->number, twin) : twin;
	if (rail->way == RAIL_SHARED) {
		if (twin == FI_ADDR_NOTAVAIL)
			slot_leave(rail, *core);
		return;
	}
	/* What was sent is still to arrive: a flow stays. */
	if (peer->flow != NULL)
		return;
	if (is_its_own && stays && twin == FI_ADDR_NOTAVAIL)
		peer_remember(rail, peer);
	else
		fi_av_remove(rail->av, core, 1, 0);
}

static void peer_leave(struct link_ep *ep, struct peer *peer, fi_addr_t address)
{
	fi_addr_t twin = av_twin(ep->av, peer->number, address);

	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		link_lock(&rail->lock);
		hand_over(rail, peer, address, twin);
		pending_drop(rail, peer, FI_ECANCELED);
		loss_forget(rail, peer);
		rail_forget(rail, peer);
		core_release(rail, peer, address, twin);
		link_unlock(&rail->lock);
	}
}

/* --- who comes and goes --- */

/*
 * By each of the rails that can. Where memory is short by none: the peer would
 * take another way to us than we to it.
 */
static int peer_insert(struct link_ep *ep, struct peer *peer, fi_addr_t address,
		       const struct link_address *to)
{
	int result = -FI_EHOSTUNREACH;

	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		int inserted = 0;
		if (has_flows(rail))
			break;
		link_lock(&rail->lock);
		if (!unlisted_adopt(rail, peer, address))
			inserted = peer_insert_at(rail, peer, address, to);
		link_unlock(&rail->lock);
		if (inserted == -FI_ENOMEM)
			return inserted;
		if (inserted == 0) {
			result = 0;
			peer->is_local |= rail->way == RAIL_SHARED;
		}
	}
	return ep->flows != NULL && !peer->is_local
		       ? flow_join(ep, peer, address, to)
		       : result;
}

int ep_peer_add(struct link_ep *ep, fi_addr_t address,
		const struct link_address *to)
{
	struct peer *peer = peer_place(ep, address);
	int result;

	if (peer == NULL)
		return -FI_ENOMEM;
	/* Who gets a message from it just now may look whether it is_known. */
	memset(&peer->is_local, 0,
	       sizeof(*peer) - offsetof(struct peer, is_local));
	peer->number = to->number;
	peer->wants_events = (to->flags & LINK_WANTS_EVENTS) != 0;
	for (unsigned int i = 0; i < ep->rail_count; i++)
		peer->cores[i] = FI_ADDR_NOTAVAIL;
	result = peer_insert(ep, peer, address, to);
	if (result == -FI_ENOMEM) {
		peer_leave(ep, peer, address);
		return result;
	}
	/*
	 * A fabric may know better; without one it is lost, and sends say so.
	 */
	if (result == 0)
		peer->is_lost = false;
	else if (peer->is_lost)
		result = 0;
	if (result == 0)
		receive_name(ep, peer, address);
	if (result == 0 && peer->is_local && ep->matched != NULL) {
		link_lock(&ep->matching);
		matched_recall(ep);
		link_unlock(&ep->matching);
	}
	return result;
}

int ep_peer_prepare(struct link_ep *ep, fi_addr_t address)
{
	struct peer *peer = ep_peer(ep, address);

	return peer == NULL ? 0 : heirs_make(ep, peer, address);
}

void ep_peer_remove(struct link_ep *ep, fi_addr_t address)
{
	struct peer *peer = ep_peer(ep, address);

	if (peer == NULL)
		return;
	/* Who polls answers it as an unlisted peer from now on. */
	receive_unname(ep, peer, address,
		       av_twin(ep->av, peer->number, address));
	peer_leave(ep, peer, address);
}
