/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers that are not in the address vector but have to be answered, by the
 * address in their frames. Any process can send one, so there are few: the one
 * that has sent nothing for the longest time is replaced by a new one, unless
 * answers to it wait.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/unlisted.h"
#include "base/hash.h"
#include "link/av.h"
#include "link/flow.h"
#include "link/loss.h"
#include "link/pending.h"

#define TRIES 8 /* of the oldest, before a new one is refused */

struct unlisted {
	uint64_t number;
	struct link_address address;
	struct peer peer;
	struct unlisted *before, *after; /* the most recent: last */
	UT_hash_handle hh;
};

/* Several fabric rails have theirs together. */
static struct unlisted_peers *unlisted_of(struct rail *rail)
{
	return has_flows(rail) ? &fabric_rail(rail->ep, 0)->unlisted
			       : &rail->unlisted;
}

static struct unlisted *unlisted_find(struct rail *rail, uint64_t number)
{
	struct unlisted *unlisted;

	HASH_FIND(hh, unlisted_of(rail)->by_number, &number, sizeof(number),
		  unlisted);
	return unlisted;
}

struct peer *unlisted_peer(struct rail *rail, uint64_t number)
{
	struct unlisted *unlisted = unlisted_find(rail, number);

	return unlisted == NULL ? NULL : &unlisted->peer;
}

/* --- those that are forgotten --- */

static bool awaits_answer(struct rail *rail, const struct unlisted *unlisted)
{
	struct link_ep *ep = rail->ep;

	for (unsigned int i = 0; i < ep->rail_count; i++)
		if (is_answered_by(&ep->rails[i], rail) &&
		    pending_has(&ep->rails[i], &unlisted->peer))
			return true;
	return false;
}

static void unlisted_forget(struct rail *rail, struct unlisted *unlisted)
{
	struct unlisted_peers *all = unlisted_of(rail);
	struct link_ep *ep = rail->ep;

	for (unsigned int i = 0; i < ep->rail_count; i++)
		if (is_answered_by(&ep->rails[i], rail)) {
			pending_drop(&ep->rails[i], &unlisted->peer,
				     FI_ECANCELED);
			loss_forget(&ep->rails[i], &unlisted->peer);
			rail_forget(&ep->rails[i], &unlisted->peer);
		}
	/* Several rails have it for the flow, and shm has slots. */
	if (!has_flows(rail) && rail->way != RAIL_SHARED)
		core_release(rail, &unlisted->peer,
			     unlisted->number | SOURCE_BY_NUMBER,
			     FI_ADDR_NOTAVAIL);
	HASH_DEL(all->by_number, unlisted);
	DL_DELETE2(all->oldest, unlisted, before, after);
	free(unlisted);
}

void unlisted_drop(struct rail *rail, uint64_t number)
{
	struct unlisted *unlisted = unlisted_find(rail, number);

	if (unlisted != NULL)
		unlisted_forget(rail, unlisted);
}

static void used_now(struct unlisted_peers *all, struct unlisted *unlisted)
{
	DL_DELETE2(all->oldest, unlisted, before, after);
	DL_APPEND2(all->oldest, unlisted, before, after);
}

static bool has_capacity(struct rail *rail)
{
	struct unlisted_peers *all = unlisted_of(rail);

	if (HASH_COUNT(all->by_number) < LINK_UNLISTED_MAX)
		return true;
	for (unsigned int i = 0; i < TRIES; i++) {
		struct unlisted *oldest = all->oldest;
		if (!awaits_answer(rail, oldest)) {
			unlisted_forget(rail, oldest);
			return true;
		}
		used_now(all, oldest);
	}
	link_warn(EP_DATA, "too many peers outside the address vector wait "
			   "for answers: another one is not answered\n");
	return false;
}

/* --- those that come --- */

static int unlisted_make(struct rail *rail, uint64_t number,
			 const uint8_t from[LINK_ADDRESS_SIZE],
			 struct unlisted **ret_unlisted)
{
	struct unlisted_peers *all = unlisted_of(rail);
	struct link_address address;
	struct unlisted *unlisted;

	if (link_address_decode(from, &address, NULL) != 0 ||
	    address.number != number ||
	    address.digest != rail->ep->domain->digest || !has_capacity(rail))
		return -FI_EADDRNOTAVAIL;
	unlisted = calloc(1, sizeof(*unlisted));
	if (unlisted == NULL)
		return -FI_ENOMEM;
	unlisted->address = address;
	unlisted->number = unlisted->peer.number = number;
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		unlisted->peer.cores[i] = FI_ADDR_NOTAVAIL;
	HASH_ADD(hh, all->by_number, number, sizeof(number), unlisted);
	if (!hash_was_added(unlisted)) {
		free(unlisted);
		return -FI_ENOMEM;
	}
	DL_APPEND2(all->oldest, unlisted, before, after);
	*ret_unlisted = unlisted;
	return 0;
}

static int unlisted_get(struct rail *rail, uint64_t number,
			const uint8_t from[LINK_ADDRESS_SIZE],
			struct unlisted **ret_unlisted)
{
	struct unlisted *unlisted = unlisted_find(rail, number);

	if (unlisted == NULL)
		return unlisted_make(rail, number, from, ret_unlisted);
	used_now(unlisted_of(rail), unlisted);
	*ret_unlisted = unlisted;
	return 0;
}

int unlisted_take(struct rail *rail, uint64_t number,
		  const uint8_t from[LINK_ADDRESS_SIZE], struct peer **ret_peer)
{
	struct unlisted *unlisted;
	int result = unlisted_get(rail, number, from, &unlisted);

	if (result == 0)
		*ret_peer = &unlisted->peer;
	return result;
}

struct peer *ep_peer_by_number(struct rail *rail, uint64_t number)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, number));

	return peer != NULL ? peer : unlisted_peer(rail, number);
}

/* Has the core know it. */
static int unlisted_insert(struct rail *rail, struct unlisted *unlisted)
{
	const struct link_ep *ep = rail->ep;
	struct peer *peer = &unlisted->peer;
	int result = 0;

	if (!has_flows(rail))
		return peer->cores[rail->index] != FI_ADDR_NOTAVAIL
			       ? 0
			       : peer_insert_at(rail, peer, FI_ADDR_NOTAVAIL,
						&unlisted->address);
	if (peer->flow == NULL)
		result = flows_admit(rail->ep, &unlisted->address, &peer->flow);
	if (result == 0)
		memcpy(&peer->cores[ep->flows->first], peer->flow->cores,
		       ep->flows->count * sizeof(peer->cores[0]));
	return result;
}

int ep_peer_or_unlisted(struct rail *rail, uint64_t number,
			const uint8_t from[LINK_ADDRESS_SIZE],
			struct peer **ret_peer)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, number));
	struct unlisted *unlisted;
	int result = 0;

	if (peer == NULL) {
		result = unlisted_get(rail, number, from, &unlisted);
		if (result == 0)
			result = unlisted_insert(rail, unlisted);
		if (result == 0)
			peer = &unlisted->peer;
	}
	if (result == 0)
		*ret_peer = peer;
	return result == 0 || result == -FI_ENOMEM ? result : -FI_EADDRNOTAVAIL;
}

void unlisted_gone(struct rail *rail, uint64_t number)
{
	struct peer *peer = unlisted_peer(rail, number);

	if (peer == NULL)
		return;
	loss_end(rail, peer);
	rail_forget(rail, peer);
	peer->cores[rail->index] = FI_ADDR_NOTAVAIL;
}

void unlisted_drop_all(struct rail *rail)
{
	struct unlisted_peers *all = &rail->unlisted;
	struct unlisted *unlisted, *next;

	HASH_ITER (hh, all->by_number, unlisted, next) {
		HASH_DEL(all->by_number, unlisted);
		free(unlisted);
	}
}
