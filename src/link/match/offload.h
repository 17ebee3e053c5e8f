/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which receives a core has that matches tags itself, and which are matched
 * here: pure. A message of the core's goes to the receive that the program
 * posted first of those that fit it, wherever that is; messages of one sender
 * are taken in their order. The rules:
 *
 * - A receive is *given* to the core when it can take none but the core's
 *   messages, and no receive that is kept here and was posted before it could
 *   take one of those (such a one *shadows* it).
 * - While a receive is kept here that could take a message of the core's (it is
 *   *watched*), whatever nobody expects there is *claimed*, the oldest first: so
 *   claimed messages are older than all that their senders have in the core,
 *   and match.h decides about them. What a claim under way will bring is not
 *   known, so nothing is given meanwhile.
 * - When the core says that it has nothing, receives that nothing shadows any
 *   more are given to it, the oldest first.
 * - When messages may come from elsewhere that did not before, receives from any
 *   source have to come back: all are cancelled that were given. Until each of
 *   them came back, or was matched after all, nothing is matched here.
 *
 * The caller locks, and does what the rules say in the order in which they say
 * so: what is given reaches the core before a claim does that began later.
 */
#pragma once

#include "link/match/match.h"

struct offload {
	struct match *match; /* what is matched here */
	bool has_others;     /* other messages than the core's may come */
	bool is_claiming;    /* a claim is under way */
	struct match_receive *given;         /* in the order of posting */
	unsigned int given_count, returning; /* of these, being cancelled */
};

enum offload_verdict {
	OFFLOAD_HERE,  /* posted, and matched here */
	OFFLOAD_GIVEN, /* the core is to have it */
	OFFLOAD_TAKEN, /* not posted: a message is there for it */
};

/*
 * Posts a receive. It is_watched: messages of the core's fit it. `is_for_core`:
 * no others do, but from any source, and the core can have it.
 */
enum offload_verdict offload_post(struct offload *o, struct match_receive *r,
				  bool is_for_core,
				  struct match_message **ret_message);

/* The receive for a message that comes now, or NULL: it is to be queued. */
struct match_receive *offload_first(const struct offload *o, uint64_t source,
				    uint64_t tag);

/* Whether a claim is to be begun; `is_asked`: also if no receive needs it. */
bool offload_must_claim(const struct offload *o, bool is_asked);

/*
 * A receive that is to be given to the core now, or NULL. To be asked when a
 * claim has found nothing. `can_go` says whether the core can have it.
 */
struct match_receive *offload_give(
	struct offload *o, bool (*can_go)(const struct match_receive *r));

/* The core is done with a receive that was given to it. */
void offload_done(struct offload *o, struct match_receive *r);

/*
 * Messages come from elsewhere now. When it returns true, each receive that is
 * given is to be cancelled, the last one first: so an older one is still there
 * for what fits both.
 */
bool offload_recall(struct offload *o);
/* One of these was cancelled: it is matched here again. */
void offload_returned(struct offload *o, struct match_receive *r);
/*
 * What was not matched meanwhile: a receive and its message, both taken out
 * (but for a receive that `stays`). NULL: nothing more, or not yet.
 */
struct match_receive *offload_settle(struct offload *o,
				     struct match_message **ret_message);
