/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that have ended. The rail is locked. */
#pragma once

#include "link/clock.h"
#include "link/peer.h"

/*
 * What a core has for a peer, or from it, whose end it tells. The peer may have
 * ended, and the core not say so: then it ends for the program, and what the
 * core says later is for nobody.
 */
struct awaited {
	bool is_used;
	bool was_seen;   /* waits since before the last look */
	uint64_t number; /* of the peer's endpoint */
};

struct loss {
	unsigned int polls;
	uint64_t look_at_ns, patience_ns;
	struct peer *refused; /* to which the core could not send */
	int probe;            /* a socket, or -1 */
	struct peer *probed;  /* by that socket */
	struct peer *last;    /* probed before it */
};

/* What a send to it, or what it was about to send, ends with. */
#define LOSS_ERROR FI_ECONNABORTED
/* Each poll counts, so that the clock is looked at now and then only. */
static inline bool loss_is_due(struct loss *loss)
{
	return (++loss->polls & 255) == 0;
}
/* Checks peers that have not answered for long. */
void loss_look(struct rail *rail);
/* See struct awaited. */
typedef void loss_report(struct rail *rail, uint64_t number, void *arg);
static inline void awaited_report(struct rail *rail, struct awaited *awaited,
				  loss_report *report, void *arg)
{
	if (awaited->is_used && awaited->was_seen)
		report(rail, awaited->number, arg);
	awaited->was_seen = true;
}
static inline void peer_set_lost(struct peer *peer)
{
	peer->is_lost = true;
	peer->lost_ns = clock_now_ns();
}
/* A frame to it has failed with LOSS_ERROR, and there is no other way. */
void loss_reported(struct rail *rail, struct peer *peer);
/* Requests from and to it end; it is not checked again. */
void loss_end(struct rail *rail, struct peer *peer);
/* Nothing is to be asked of this peer any more. */
void loss_forget(struct rail *rail, const struct peer *peer);
