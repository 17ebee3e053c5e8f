/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cores that choose keys, or want virtual addresses, while the program has one
 * key for a region and offsets in it (or the other way round). The initiator
 * asks the owner once for the core's key and address, and the owner notifies it
 * when the region is closed. Until the answer arrives an access returns
 * -FI_EAGAIN. An access that fails is tried once more if the owner has another
 * key by then.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/keys.h"
#include "base/hash.h"
#include "link/mr.h"
#include "link/reach.h"
#include "link/slab.h"
#include "link/unlisted.h"
#include "base/le.h"

enum link_key_state {
	KEY_ASKED,
	KEY_KNOWN,
	KEY_REFUSED, /* which the next access says, and then it is forgotten */
};

/* What one core of a peer has for a key. */
struct known_key {
	struct key_id {
		uint64_t number, key; /* of the peer; the program's */
	} id;
	enum link_key_state state;
	int error;
	uint64_t core, base; /* the core's key; where the region is there */
	UT_hash_handle hh;
};

static struct known_key *key_find(struct rail *rail, uint64_t number,
				  uint64_t key)
{
	const struct key_id id = { number, key };
	struct known_key *found;

	HASH_FIND(hh, rail->keys, &id, sizeof(id), found);
	return found;
}

static void key_drop(struct rail *rail, struct known_key *key)
{
	HASH_DEL(rail->keys, key);
	free(key);
}

void keys_drop(struct rail *rail)
{
	struct known_key *key, *next;

	HASH_ITER (hh, rail->keys, key, next)
		key_drop(rail, key);
}

/* Requests for keys that did not fit are made now. */
static void keys_bound(struct rail *rail)
{
	struct known_key *key, *next;

	if (HASH_COUNT(rail->keys) < LINK_KEYS_KNOWN)
		return;
	HASH_ITER (hh, rail->keys, key, next)
		if (key->state != KEY_ASKED)
			key_drop(rail, key);
}

static ssize_t key_ask(struct rail *rail, struct peer *peer, uint64_t key)
{
	struct known_key *asked;
	ssize_t result;

	keys_bound(rail);
	asked = calloc(1, sizeof(*asked));
	if (asked == NULL)
		return -FI_ENOMEM;
	asked->id = (struct key_id){ peer->number, key };
	HASH_ADD(hh, rail->keys, id, sizeof(asked->id), asked);
	if (!hash_was_added(asked)) {
		free(asked);
		return -FI_ENOMEM;
	}
	result = reach_key(rail, peer, key);
	if (result != 0)
		key_drop(rail, asked);
	return result != 0 ? result : -FI_EAGAIN;
}

static ssize_t range_translate(struct rail *rail, struct peer *peer,
			       const struct fi_rma_iov *from,
			       struct fi_rma_iov *ret_to)
{
	struct known_key *known = key_find(rail, peer->number, from->key);
	uint64_t address;
	int error;

	if (known == NULL)
		return key_ask(rail, peer, from->key);
	switch (known->state) {
	case KEY_KNOWN:
		address = from->addr;
		if (rail->ep->domain->is_virtual)
			address -= known->base;
		if (rail->is_virtual)
			address += known->base;
		*ret_to =
			(struct fi_rma_iov){ address, from->len, known->core };
		return 0;
	case KEY_REFUSED:
		error = known->error;
		key_drop(rail, known);
		return -error;
	default:
		return -FI_EAGAIN;
	}
}

ssize_t keys_translate(struct rail *rail, struct peer *peer,
		       const struct fi_rma_iov *from, size_t count,
		       struct fi_rma_iov *ret_to)
{
	ssize_t result = 0;

	for (size_t i = 0; i < count && result == 0; i++)
		result = range_translate(rail, peer, &from[i], &ret_to[i]);
	return result;
}

void key_answered(struct rail *rail, uint64_t number, uint64_t key, int error,
		  const uint8_t *answer)
{
	struct known_key *known = key_find(rail, number, key);

	if (known == NULL || known->state != KEY_ASKED)
		return;
	known->state = error == 0 ? KEY_KNOWN : KEY_REFUSED;
	/* Want of memory is the owner's: it is not asked for ever. */
	known->error = error == FI_ENOMEM || error == FI_EAGAIN
			       ? FI_EKEYREJECTED
			       : error;
	if (error == 0) {
		known->core = le_get64(answer);
		known->base = le_get64(answer + 8);
	}
}

void key_forget(struct link_ep *ep, uint64_t number, uint64_t key)
{
	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		struct known_key *known = rail->way == RAIL_SHARED
						  ? NULL
						  : key_find(rail, number, key);
		/* A request in progress is answered by what there is then. */
		if (known != NULL && known->state != KEY_ASKED)
			key_drop(rail, known);
	}
}

void key_doubt(struct rail *rail, uint64_t number, uint64_t key, uint64_t core)
{
	struct known_key *known = key_find(rail, number, key);

	if (known != NULL && known->state == KEY_KNOWN && known->core == core)
		key_drop(rail, known);
}

/* --- at the owner's --- */

int key_answer(struct rail *rail, const struct link_frame *frame,
	       const struct reach *reach, uint8_t *ret_answer)
{
	struct link_domain *domain = rail->ep->domain;
	uint64_t place = reach->ranges[0].address;
	uint64_t core, base;
	int error;

	if (place >= rail->ep->rail_count)
		return FI_EINVAL;
	link_lock(&domain->reaching);
	error = mr_key_at(mr_of_key(domain, reach->ranges[0].key),
			  &rail->ep->rails[place], frame->sender, reach->from,
			  &core, &base);
	link_unlock(&domain->reaching);
	if (error != 0)
		return error;
	le_put64(ret_answer, core);
	le_put64(ret_answer + 8, base);
	return 0;
}

/* --- peers to notify that a key is no longer valid --- */

struct asker {
	uint64_t number, key;
	uint8_t from[LINK_ADDRESS_SIZE];
	struct asker *next; /* of those that are to be notified */
	UT_hash_handle hh;
};

int asker_add(struct asker **askers, uint64_t number,
	      const uint8_t from[LINK_ADDRESS_SIZE])
{
	struct asker *asker;

	HASH_FIND(hh, *askers, &number, sizeof(number), asker);
	if (asker != NULL)
		return 0;
	if (HASH_COUNT(*askers) >= LINK_ASKERS)
		return FI_ENOMEM;
	asker = malloc(sizeof(*asker));
	if (asker == NULL)
		return FI_ENOMEM;
	asker->number = number;
	memcpy(asker->from, from, sizeof(asker->from));
	HASH_ADD(hh, *askers, number, sizeof(number), asker);
	if (hash_was_added(asker))
		return 0;
	free(asker);
	return FI_ENOMEM;
}

void askers_withdraw(struct rail *rail, struct asker **askers, uint64_t key)
{
	struct asker *asker, *next;

	HASH_ITER (hh, *askers, asker, next) {
		HASH_DEL(*askers, asker);
		asker->key = key;
		LL_PREPEND(rail->forgets, asker);
	}
	forgets_send(rail);
}

/* Answers with that key go before it. */
static bool are_answered(struct rail *rail)
{
	struct link_ep *ep = rail->ep;

	for (unsigned int i = 0; i < ep->rail_count; i++) {
		if (!is_answered_by(&ep->rails[i], rail))
			continue;
		reached_answer(&ep->rails[i]);
		if (ep->rails[i].answers != NULL)
			return false;
	}
	return true;
}

void forgets_send(struct rail *rail)
{
	struct asker *asker;

	while ((asker = rail->forgets) != NULL && are_answered(rail)) {
		struct peer *peer;
		struct link_frame frame = { .kind = FRAME_FORGET,
					    .sender = rail->ep->number,
					    .key = asker->key };
		int result = ep_peer_or_unlisted(rail, asker->number,
						 asker->from, &peer);
		if (result == 0)
			result = peer->is_lost
					 ? -FI_EHOSTUNREACH
					 : rail_send_frame(rail, peer, &frame,
							   NULL, 0, NULL, true);
		if (result == -FI_ENOMEM)
			return;
		if (result != 0)
			link_warn(EP_DATA,
				  "a peer cannot be notified that a key "
				  "is no longer valid\n");
		LL_DELETE(rail->forgets, asker);
		free(asker);
	}
}

void forgets_drop(struct rail *rail)
{
	struct asker *asker, *next;

	LL_FOREACH_SAFE (rail->forgets, asker, next)
		free(asker);
}
