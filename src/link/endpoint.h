/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint.
 *
 * Locks are taken in this order: an address vector's changing; a domain's
 * memory; an endpoint's asking; a rail's, never two; a domain's reaching; an
 * endpoint's matching. Within any of these, and none within another: an
 * endpoint's sending and naming, a rail's working, an address vector's, a
 * queue's list of endpoints. No core is called while matching is
 * locked.
 */
#pragma once

#include "link/domain.h"
#include "link/match/offload.h"
#include "link/peer.h"
#include "link/rail.h"

/*
 * What programs call: an endpoint, or another way to it with flags of its own.
 */
struct ep_face {
	struct fid_ep fid;
	struct link_ep *ep;
	uint64_t send_flags, receive_flags; /* of operations without flags */
};

struct link_ep {
	struct ep_face face;
	/* What stays when it is closed: see ep_progress(). */
	struct link_domain *domain;
	unsigned int rail_count;
	bool has_names; /* questions or introductions */
	struct link_lock matching, sending, asking, naming;
	/* What does not, with much of the rails; the first of it: */
	struct link_av *av;
	struct link_ep *next_in_av;
	int aliases; /* that are open */
	struct link_ep *prev_in_domain, *next_in_domain;
	struct link_cq *send_cq, *receive_cq;
	struct link_cntr *send_cntr, *receive_cntr, *read_cntr, *write_cntr;
	struct link_cntr *remote_read_cntr, *remote_write_cntr;
	bool send_selective, receive_selective, is_enabled;
	uint64_t caps;
	size_t min_multi_recv;
	uint64_t number;
	bool is_numbered;          /* by its name */
	struct rail_address place; /* of its name; size 0: none */
	bool may_move;             /* if another endpoint is there already */
	struct link_address address;
	uint8_t address_bytes[LINK_ADDRESS_SIZE];
	struct presence *presence; /* with a local rail */
	struct rail *matched;      /* that of the rails, or NULL */
	/* By matching: */
	struct match tagged, untagged;
	struct offload offload; /* of the tagged ones */
	struct peek *peeks, **peeks_end;
	struct receive *free_receives;
	struct arrival *free_arrivals;
	uint64_t unexpected, unexpected_max; /* bytes */
	/* By sending: the table of sends, */
	struct send **sends;
	size_t send_count;
	struct send *free_sends;
	struct link_ask *
		*asks; /* and its like for what peers are asked to do */
	size_t ask_count;
	struct link_ask *free_asks;
	uint64_t key;        /* that was given to memory of ours last */
	struct peer **peers; /* chunks, as those of the vector */
	/* Who is known by name only; see names.c. */
	struct link_question *questions;    /* by asking */
	struct introduction *introductions; /* by naming */
	struct flows *flows; /* with several fabric rails; else NULL */
	struct rail rails[RAILS_MAX];
};

static inline struct link_ep *ep_of(const struct fid_ep *fid)
{
	return ((const struct ep_face *)fid)->ep;
}

/* Whether the first rail is shared memory. */
static inline bool has_local(const struct link_ep *ep)
{
	return ep->rails[0].way == RAIL_SHARED;
}

/* Whether it is one of several fabric rails: see flow.h. */
static inline bool has_flows(const struct rail *rail)
{
	return rail->ep->flows != NULL && rail->way == RAIL_FRAMED;
}

/* Polls the rails that are due; whether anything happened. Any thread. */
bool ep_progress(struct link_ep *ep);
/*
 * The end of a call of the program's by a rail that is locked, and is unlocked:
 * returns `result`. Who is refused makes progress, and is looked after
 * (loss.c).
 */
ssize_t rail_tried(struct rail *rail, struct peer *peer, ssize_t result);

/* Our address of a peer by the core's; NOTAVAIL: unknown. */
static inline fi_addr_t rail_source(const struct rail *rail, fi_addr_t core)
{
	return core < rail->source_count ? rail->sources[core]
					 : FI_ADDR_NOTAVAIL;
}

/*
 * A message or access went by a rail, which is locked; logged when it is
 * closed. Of several fabric rails it is a frame or a piece (rail_carried): the
 * rail of a message is their first.
 */
static inline void rail_carried(struct rail *rail, size_t size)
{
	rail->messages++;
	rail->bytes += size;
}
static inline void rail_used(struct rail *rail, size_t size)
{
	if (!has_flows(rail))
		rail_carried(rail, size);
}

/* It is polled at the next call, however long nothing came by it. */
static inline void rail_poll_soon(struct rail *rail)
{
	set_seen(rail->due, 0);
}

/*
 * The rail by which a peer is sent to: of several, which share a lock, the
 * first.
 */
struct rail *rail_for(struct link_ep *ep, const struct peer *peer);
/* Of several, any may bring an answer: the first stands for all. */
struct rail *rail_answering(struct rail *rail);
/* Whether what went by one may be answered by the other. */
static inline bool is_answered_by(const struct rail *sent,
				  const struct rail *rail)
{
	return sent == rail || (has_flows(sent) && has_flows(rail));
}

/* What is set once it is open: its flags, its aliases. As fi_control(). */
int ep_control(struct fid *fid, int command, void *arg);

/* Gives it a number that no other has; 0 or a negative errno. */
int ep_number(struct link_ep *ep);
/* 0 or a negative errno: then nothing is open, and it may be tried again. */
int ep_enable(struct link_ep *ep);
/* Closes what was opened, and forgets its peers. */
void rails_close(struct link_ep *ep);

int link_ep_open(struct fid_domain *domain, struct fi_info *info,
		 struct fid_ep **ret_ep, void *context);
/* The memory of endpoints that were closed: with their domain. */
void eps_destroy(struct link_domain *domain);
