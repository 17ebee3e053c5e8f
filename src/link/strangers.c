/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who is not in the vector, and is to be answered: by what they say of themselves.
 * Anybody can say that, so there are few: the one that was not heard of for the
 * longest time is forgotten for a new one, unless answers wait for it.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/strangers.h"
#include "base/hash.h"
#include "link/av.h"
#include "link/flow.h"
#include "link/loss.h"
#include "link/pending.h"

#define TRIES 8 /* of the oldest, before a new one is refused */

struct stranger {
	uint64_t number;
	struct link_address address;
	struct peer peer;
	struct stranger *before,
		*after; /* the one that was heard of last: last */
	UT_hash_handle hh;
};

/* Several fabric rails have theirs together. */
static struct strangers *strangers_of(struct rail *rail)
{
	return has_flows(rail) ? &fabric_rail(rail->ep, 0)->strangers
			       : &rail->strangers;
}

static struct stranger *stranger_find(struct rail *rail, uint64_t number)
{
	struct stranger *stranger;

	HASH_FIND(hh, strangers_of(rail)->by_number, &number, sizeof(number),
		  stranger);
	return stranger;
}

struct peer *stranger_known(struct rail *rail, uint64_t number)
{
	struct stranger *stranger = stranger_find(rail, number);

	return stranger == NULL ? NULL : &stranger->peer;
}

/* --- those that are forgotten --- */

static bool is_owed(struct rail *rail, const struct stranger *stranger)
{
	struct link_ep *ep = rail->ep;

	for (unsigned int i = 0; i < ep->rail_count; i++)
		if (is_answered_by(&ep->rails[i], rail) &&
		    pending_has(&ep->rails[i], &stranger->peer))
			return true;
	return false;
}

static void stranger_forget(struct rail *rail, struct stranger *stranger)
{
	struct strangers *strangers = strangers_of(rail);
	struct link_ep *ep = rail->ep;

	for (unsigned int i = 0; i < ep->rail_count; i++)
		if (is_answered_by(&ep->rails[i], rail)) {
			pending_drop(&ep->rails[i], &stranger->peer,
				     FI_ECANCELED);
			loss_forget(&ep->rails[i], &stranger->peer);
			rail_forget(&ep->rails[i], &stranger->peer);
		}
	/* Several rails have it for the flow, and shm has seats. */
	if (!has_flows(rail) && rail->way != RAIL_SHARED)
		core_release(rail, &stranger->peer,
			     stranger->number | SOURCE_BY_NUMBER,
			     FI_ADDR_NOTAVAIL);
	HASH_DEL(strangers->by_number, stranger);
	DL_DELETE2(strangers->oldest, stranger, before, after);
	free(stranger);
}

void stranger_drop(struct rail *rail, uint64_t number)
{
	struct stranger *stranger = stranger_find(rail, number);

	if (stranger != NULL)
		stranger_forget(rail, stranger);
}

static void heard_of(struct strangers *strangers, struct stranger *stranger)
{
	DL_DELETE2(strangers->oldest, stranger, before, after);
	DL_APPEND2(strangers->oldest, stranger, before, after);
}

static bool has_room(struct rail *rail)
{
	struct strangers *strangers = strangers_of(rail);

	if (HASH_COUNT(strangers->by_number) < LINK_STRANGERS)
		return true;
	for (unsigned int i = 0; i < TRIES; i++) {
		struct stranger *oldest = strangers->oldest;
		if (!is_owed(rail, oldest)) {
			stranger_forget(rail, oldest);
			return true;
		}
		heard_of(strangers, oldest);
	}
	link_warn(EP_DATA, "too many who are not in the address vector wait "
			   "for answers: one more is not answered\n");
	return false;
}

/* --- those that come --- */

static int stranger_make(struct rail *rail, uint64_t number,
			 const uint8_t from[LINK_ADDRESS_SIZE],
			 struct stranger **ret_stranger)
{
	struct strangers *strangers = strangers_of(rail);
	struct link_address address;
	struct stranger *stranger;

	if (link_address_decode(from, &address, NULL) != 0 ||
	    address.number != number ||
	    address.digest != rail->ep->domain->digest || !has_room(rail))
		return -FI_EADDRNOTAVAIL;
	stranger = calloc(1, sizeof(*stranger));
	if (stranger == NULL)
		return -FI_ENOMEM;
	stranger->address = address;
	stranger->number = stranger->peer.number = number;
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		stranger->peer.cores[i] = FI_ADDR_NOTAVAIL;
	HASH_ADD(hh, strangers->by_number, number, sizeof(number), stranger);
	if (!hash_was_added(stranger)) {
		free(stranger);
		return -FI_ENOMEM;
	}
	DL_APPEND2(strangers->oldest, stranger, before, after);
	*ret_stranger = stranger;
	return 0;
}

static int stranger_get(struct rail *rail, uint64_t number,
			const uint8_t from[LINK_ADDRESS_SIZE],
			struct stranger **ret_stranger)
{
	struct stranger *stranger = stranger_find(rail, number);

	if (stranger == NULL)
		return stranger_make(rail, number, from, ret_stranger);
	heard_of(strangers_of(rail), stranger);
	*ret_stranger = stranger;
	return 0;
}

int stranger_take(struct rail *rail, uint64_t number,
		  const uint8_t from[LINK_ADDRESS_SIZE], struct peer **ret_peer)
{
	struct stranger *stranger;
	int result = stranger_get(rail, number, from, &stranger);

	if (result == 0)
		*ret_peer = &stranger->peer;
	return result;
}

struct peer *ep_peer_by_number(struct rail *rail, uint64_t number)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, number));

	return peer != NULL ? peer : stranger_known(rail, number);
}

/* Has the core know it. */
static int stranger_insert(struct rail *rail, struct stranger *stranger)
{
	const struct link_ep *ep = rail->ep;
	struct peer *peer = &stranger->peer;
	int result = 0;

	if (!has_flows(rail))
		return peer->cores[rail->index] != FI_ADDR_NOTAVAIL
			       ? 0
			       : peer_insert_at(rail, peer, FI_ADDR_NOTAVAIL,
						&stranger->address);
	if (peer->flow == NULL)
		result = flows_admit(rail->ep, &stranger->address, &peer->flow);
	if (result == 0)
		memcpy(&peer->cores[ep->flows->first], peer->flow->cores,
		       ep->flows->count * sizeof(peer->cores[0]));
	return result;
}

int ep_peer_or_stranger(struct rail *rail, uint64_t number,
			const uint8_t from[LINK_ADDRESS_SIZE],
			struct peer **ret_peer)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, number));
	struct stranger *stranger;
	int result = 0;

	if (peer == NULL) {
		result = stranger_get(rail, number, from, &stranger);
		if (result == 0)
			result = stranger_insert(rail, stranger);
		if (result == 0)
			peer = &stranger->peer;
	}
	if (result == 0)
		*ret_peer = peer;
	return result == 0 || result == -FI_ENOMEM ? result : -FI_EADDRNOTAVAIL;
}

void ep_stranger_gone(struct rail *rail, uint64_t number)
{
	struct peer *peer = stranger_known(rail, number);

	if (peer == NULL)
		return;
	loss_end(rail, peer);
	rail_forget(rail, peer);
	peer->cores[rail->index] = FI_ADDR_NOTAVAIL;
}

void strangers_drop(struct rail *rail)
{
	struct strangers *strangers = &rail->strangers;
	struct stranger *stranger, *next;

	HASH_ITER (hh, strangers->by_number, stranger, next) {
		HASH_DEL(strangers->by_number, stranger);
		free(stranger);
	}
}
