/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames that a core refused, by peer: a peer that receives nothing for a while
 * does not delay the frames of others.
 */
#include "link/pending.h"
#include "link/peer.h"

bool pending_has(const struct rail *rail, const struct peer *peer)
{
	const struct slab *first = rail->pending;

	while (first != NULL && first->peer != peer)
		first = first->next_peer;
	return first != NULL;
}

bool pending_accepts(const struct rail *rail, const struct peer *peer)
{
	const struct slab *slab = rail->pending;
	unsigned int count = 0;

	while (slab != NULL && slab->peer != peer)
		slab = slab->next_peer;
	for (; slab != NULL && count < LINK_SENDS_WAITING; slab = slab->next)
		count++;
	return count < LINK_SENDS_WAITING;
}

void pending_add(struct rail *rail, struct slab *slab)
{
	struct slab **at = &rail->pending;

	slab->next = slab->next_peer = NULL;
	slab->was_seen = false;
	while (*at != NULL && (*at)->peer != slab->peer)
		at = &(*at)->next_peer;
	if (*at == NULL) {
		slab->last = slab;
		*at = slab;
	} else {
		(*at)->last->next = slab;
		(*at)->last = slab;
	}
}

/* The next of the peer takes the place of its first. */
static void advance(struct slab **at)
{
	struct slab *first = *at, *next = first->next;

	if (next == NULL) {
		*at = first->next_peer;
		return;
	}
	next->last = first->last;
	next->next_peer = first->next_peer;
	*at = next;
}

/* What advance() did, once more. */
static void retreat(struct slab **at, struct slab *first)
{
	struct slab *next = first->next;

	first->last = next == NULL ? first : next->last;
	first->next_peer = next == NULL ? *at : next->next_peer;
	*at = first;
}

/* A frame that was taken may be in use again at once. */
void pending_flush(struct rail *rail)
{
	struct slab **at = &rail->pending;

	while (*at != NULL) {
		struct slab *slab = *at;
		advance(at);
		ssize_t result = rail_slab_send(rail, slab);
		if (result == -FI_EAGAIN) {
			retreat(at, slab);
			at = &slab->next_peer;
		} else if (result != 0) {
			rail_frame_gone(rail, slab, (int)-result);
		}
	}
}

/*
 * Answers that a peer awaits go on to the same one as another object; what is
 * the program's ends with an error.
 */
void pending_hand_over(struct rail *rail, const struct peer *peer,
		       struct peer *to)
{
	struct slab **at = &rail->pending, *first, *next;

	while (*at != NULL && (*at)->peer != peer)
		at = &(*at)->next_peer;
	first = *at;
	if (first == NULL)
		return;
	*at = first->next_peer;
	for (struct slab *slab = first; slab != NULL; slab = next) {
		next = slab->next;
		if (slab->ends_send) {
			rail_frame_gone(rail, slab, FI_ECANCELED);
			continue;
		}
		slab->peer = to;
		slab->to = to->cores[rail->index];
		pending_add(rail, slab);
	}
}

void pending_drop(struct rail *rail, const struct peer *peer, int error)
{
	struct slab **at = &rail->pending;

	while (*at != NULL && (*at)->peer != peer)
		at = &(*at)->next_peer;
	while (*at != NULL && (*at)->peer == peer) {
		struct slab *slab = *at;
		advance(at);
		rail_frame_gone(rail, slab, error);
	}
}
