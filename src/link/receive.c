/* SPDX-License-Identifier: BSD-3-Clause */
/* Receives of the program's, and what came before them. */
#include <stdlib.h>
#include <string.h>

#include "link/receive.h"
#include "link/av.h"
#include "link/cntr.h"
#include "link/cq.h"
#include "link/endpoint.h"
#include "link/iov.h"
#include "link/many.h"
#include "link/matched.h"
#include "link/rendezvous.h"
#include "link/slab.h"

/* --- memory: matching is locked --- */

struct receive *receive_alloc(struct link_ep *ep)
{
	struct receive *receive = ep->free_receives;

	if (receive == NULL) {
		receive = calloc(1, sizeof(*receive));
		if (receive == NULL)
			return NULL;
		receive->ep = ep;
		receive->op.kind = OP_RECEIVE;
		return receive;
	}
	ep->free_receives = receive->next;
	receive->parent = NULL;
	receive->waiting = NULL;
	receive->slices = receive->holds = 0;
	receive->is_full = false;
	receive->match.stays = false;
	receive->op.kind = OP_RECEIVE;
	receive->is_cancelled = false;
	return receive;
}

void receive_free(struct link_ep *ep, struct receive *receive)
{
	receive->next = ep->free_receives;
	ep->free_receives = receive;
}

struct arrival *arrival_make(struct link_ep *ep, size_t capacity)
{
	struct arrival *arrival = calloc(1, sizeof(*arrival) + capacity);

	if (arrival == NULL)
		return NULL;
	arrival->op.kind = OP_ARRIVAL;
	arrival->ep = ep;
	arrival->capacity = capacity;
	arrival->data = (uint8_t *)(arrival + 1);
	return arrival;
}

/* The largest are those that a shared rail fills: they are used again. */
struct arrival *arrival_alloc(struct link_ep *ep, size_t capacity)
{
	struct arrival *arrival = ep->free_arrivals;

	if (capacity != LINK_INJECT_SIZE || arrival == NULL)
		return arrival_make(ep, capacity);
	ep->free_arrivals = arrival->next;
	arrival->receive = NULL;
	return arrival;
}

void arrival_free(struct link_ep *ep, struct arrival *arrival)
{
	if (arrival->capacity != LINK_INJECT_SIZE) {
		free(arrival);
		return;
	}
	arrival->next = ep->free_arrivals;
	ep->free_arrivals = arrival;
}

static bool all_receives(void *arg, const struct match_receive *match)
{
	return true;
}

struct receive *receive_of_match(struct match_receive *match)
{
	return (struct receive *)((char *)match -
				  offsetof(struct receive, match));
}

struct arrival *arrival_of_message(struct match_message *message)
{
	return (struct arrival *)((char *)message -
				  offsetof(struct arrival, match));
}

static void drop_all(struct match *match)
{
	struct match_receive *receive;

	while ((receive = match_search(match, all_receives, NULL)) != NULL) {
		match_remove(match, receive);
		free(receive_of_match(receive));
	}
	while (match->messages != NULL) {
		struct arrival *arrival = arrival_of_message(match->messages);
		match_take(match, match->messages);
		free(arrival);
	}
	match_fini(match);
}

void receive_drop_all(struct link_ep *ep)
{
	matched_drop_all(ep);
	drop_all(&ep->tagged);
	drop_all(&ep->untagged);
	for (struct receive *r = ep->free_receives, *next; r != NULL;
	     r = next) {
		next = r->next;
		free(r);
	}
	for (struct arrival *a = ep->free_arrivals, *next; a != NULL;
	     a = next) {
		next = a->next;
		free(a);
	}
}

/* --- the end of a receive --- */

static uint64_t kind_flags(const struct receive *receive)
{
	return FI_RECV | (receive->is_tagged ? FI_TAGGED : FI_MSG);
}

/* Gives a receive back; for a slice, true if it was its parent's last. */
static bool receive_put(struct link_ep *ep, struct receive *receive)
{
	struct receive *parent = receive->parent;
	bool is_last = false;

	link_lock(&ep->matching);
	if (parent != NULL)
		is_last = many_slice_ended(parent);
	if (receive->match.stays)
		many_let_go(receive);
	else
		receive_free(ep, receive);
	link_unlock(&ep->matching);
	return is_last;
}

void receive_done(struct receive *receive, const struct message_end *end)
{
	struct link_ep *ep = receive->ep;
	struct cq_entry entry = {
		.tagged = { .op_context = receive->context,
			    .flags = kind_flags(receive) |
				     (end->flags & FI_REMOTE_CQ_DATA),
			    .len = end->size,
			    .buf = receive->parent != NULL
					   ? receive->iov[0].iov_base
					   : NULL,
			    .data = end->data,
			    .tag = end->tag },
		.source = end->source,
	};
	bool is_wanted = (receive->flags & FI_COMPLETION) != 0;

	if (receive_put(ep, receive)) {
		entry.tagged.flags |= FI_MULTI_RECV;
		is_wanted = true;
	}
	cntr_count(ep->receive_cntr, true);
	if (is_wanted && ep->receive_cq != NULL)
		cq_add(ep->receive_cq, &entry);
}

void receive_failed(struct receive *receive, const struct message_end *end,
		    int error, size_t missing)
{
	struct link_ep *ep = receive->ep;
	struct fi_cq_err_entry entry = {
		.op_context = receive->context,
		.flags = kind_flags(receive) | (end->flags & FI_REMOTE_CQ_DATA),
		.len = end->size,
		.data = end->data,
		.tag = end->tag,
		.olen = missing,
		.err = error,
		.prov_errno = -error,
	};

	if (receive_put(ep, receive))
		entry.flags |= FI_MULTI_RECV;
	cntr_count(ep->receive_cntr, false);
	if (ep->receive_cq != NULL)
		cq_fail(ep->receive_cq, &entry);
}

void receive_copy(struct receive *receive, const void *data,
		  const struct message_end *end)
{
	size_t fitted = iov_put(receive->iov, receive->count, data, end->size);

	if (fitted == end->size) {
		receive_done(receive, end);
		return;
	}
	struct message_end cut = *end;
	cut.size = fitted;
	receive_failed(receive, &cut, FI_ETRUNC, end->size - fitted);
}

static struct message_end end_of(const struct arrival *arrival)
{
	return (struct message_end){
		.size = arrival->size,
		.tag = arrival->is_tagged ? arrival->match.tag : 0,
		.data = arrival->remote_data,
		.flags = arrival->flags,
		.source = source_address(arrival->match.source),
	};
}

void receive_take(struct receive *receive, struct arrival *arrival)
{
	struct link_ep *ep = receive->ep;
	bool is_ready;

	if (arrival->state == ARRIVAL_CLAIMED) {
		claim_take(receive, arrival);
		return;
	}
	is_ready = arrival->state == ARRIVAL_READY;
	if (!is_ready) {
		const struct message_end end = end_of(arrival);
		receive_copy(receive, arrival->data, &end);
	}
	link_lock(&ep->matching);
	ep->unexpected -= arrival_cost(arrival);
	if (!is_ready)
		arrival_free(ep, arrival);
	link_unlock(&ep->matching);
	if (is_ready)
		reading_start(receive, arrival);
}

void receive_give(struct receive *receive, struct arrival *arrival)
{
	struct link_ep *ep = receive->ep;
	bool is_here = false;

	if (receive->match.stays) {
		many_add(receive, arrival);
		many_drain(receive);
	} else if (arrival->state == ARRIVAL_PENDING) {
		arrival->receive = receive;
	} else {
		is_here = true;
	}
	link_unlock(&ep->matching);
	if (is_here)
		receive_take(receive, arrival);
}

/* --- senders that become known, or are no more --- */

struct renaming {
	uint64_t name;
	bool has_many;
	struct arrival *here, **end;
};

static void take_renamed(void *arg, struct match_receive *found,
			 struct match_message *message)
{
	struct renaming *renaming = arg;
	struct arrival *arrival = arrival_of_message(message);

	message->source = renaming->name;
	if (found->stays) {
		many_add(receive_of_match(found), arrival);
		renaming->has_many = true;
		return;
	}
	arrival->receive = receive_of_match(found);
	if (arrival->state == ARRIVAL_PENDING)
		return;
	arrival->next = NULL;
	*renaming->end = arrival;
	renaming->end = &arrival->next;
}

/* Matching is locked; it is not any more then. */
static void rename_all(struct link_ep *ep, uint64_t source, uint64_t name)
{
	struct renaming renaming = { .name = name, .end = &renaming.here };

	match_rename(&ep->tagged, source, name, take_renamed, &renaming);
	match_rename(&ep->untagged, source, name, take_renamed, &renaming);
	if (renaming.has_many)
		many_drain_all(ep);
	link_unlock(&ep->matching);
	for (struct arrival *a = renaming.here, *next; a != NULL; a = next) {
		next = a->next;
		receive_take(a->receive, a);
	}
}

void receive_name(struct link_ep *ep, struct peer *peer, fi_addr_t address)
{
	link_lock(&ep->matching);
	set_seen(peer->is_known, true);
	rename_all(ep, peer->number | SOURCE_BY_NUMBER, address);
}

void receive_unname(struct link_ep *ep, struct peer *peer, fi_addr_t address,
		    fi_addr_t twin)
{
	link_lock(&ep->matching);
	set_seen(peer->is_known, false);
	rename_all(ep, address, source_left(peer->number, twin));
}

/* --- messages by a fabric --- */

/*
 * What came, kept until its receive can have it. NULL when there is no memory
 * for it now, unless it has a receive. Matching is locked.
 */
static struct arrival *arrival_of(struct rail *rail,
				  const struct coming *coming, bool is_expected)
{
	struct link_ep *ep = rail->ep;
	const struct link_frame *ready = coming->ready;
	size_t capacity =
		ready != NULL ? reading_capacity(rail) : coming->end.size;
	struct arrival *arrival =
		ep->unexpected > ep->unexpected_max && !is_expected
			? NULL
			: arrival_alloc(ep, capacity);

	if (arrival == NULL)
		return NULL;
	arrival->rail = rail;
	arrival->is_tagged = coming->is_tagged;
	arrival->match.source = coming->source;
	arrival->match.tag = coming->end.tag;
	arrival->size = coming->end.size;
	arrival->flags = coming->end.flags;
	arrival->remote_data = coming->end.data;
	arrival->state = ready != NULL ? ARRIVAL_READY : ARRIVAL_HERE;
	if (ready != NULL)
		arrival->frame = *ready;
	else
		memcpy(arrival->data, coming->payload, capacity);
	ep->unexpected += arrival_cost(arrival);
	return arrival;
}

int receive_message(struct rail *rail, struct coming *coming)
{
	struct link_ep *ep = rail->ep;
	struct match *match = coming->is_tagged ? &ep->tagged : &ep->untagged;
	struct match_receive *found;
	struct arrival *arrival;

	link_lock(&ep->matching);
	coming->source = source_now(ep, coming->source, coming->number);
	coming->end.source = source_address(coming->source);
	found = ep->matched != NULL && coming->is_tagged
			? matched_first(ep, coming->source, coming->end.tag)
			: match_first(match, coming->source, coming->end.tag);
	if (found != NULL && !found->stays && coming->ready == NULL) {
		match_remove(match, found);
		link_unlock(&ep->matching);
		receive_copy(receive_of_match(found), coming->payload,
			     &coming->end);
		return 0;
	}
	arrival = arrival_of(rail, coming, found != NULL);
	if (arrival == NULL || found == NULL) {
		if (arrival != NULL)
			match_queue(match, &arrival->match);
		link_unlock(&ep->matching);
		return arrival == NULL ? -FI_ENOMEM : 0;
	}
	if (!found->stays)
		match_remove(match, found);
	receive_give(receive_of_match(found), arrival);
	return 0;
}

/* --- frames --- */

/*
 * Messages can go without a frame as soon as their sender knows that it is
 * known: the core's address then names it.
 */
static void tell_known(struct rail *rail, struct peer *peer)
{
	struct link_frame frame = { .kind = FRAME_KNOWN,
				    .sender = rail->ep->number };

	peer->knows_listed =
		rail_send_frame(rail, peer, &frame, NULL, 0, NULL, true) == 0;
}

/*
 * Whether it is to be notified of that. Not one that is where another was
 * before, for which its messages would be taken.
 */
static struct peer *needs_known(const struct rail *rail, fi_addr_t source)
{
	struct peer *peer = rail->direct_size > 0 || rail->way == RAIL_MATCHED
				    ? ep_peer(rail->ep, source)
				    : NULL;

	if (peer == NULL || peer->knows_listed ||
	    (rail->way == RAIL_FRAMED &&
	     rail_source(rail, peer->cores[rail->index]) != source))
		return NULL;
	return peer;
}

int receive_frame(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	bool is_tagged = (frame->flags & FRAME_UNTAGGED) == 0;
	fi_addr_t source = av_find(ep->av, frame->sender);
	struct coming coming = {
		.end = { .size = frame->size,
			 .tag = is_tagged ? frame->tag : 0,
			 .data = frame->data,
			 .flags = (frame->flags & FRAME_HAS_DATA) != 0
					  ? FI_REMOTE_CQ_DATA
					  : 0 },
		.source = source == FI_ADDR_NOTAVAIL
				  ? frame->sender | SOURCE_BY_NUMBER
				  : source,
		.number = frame->sender,
		.is_tagged = is_tagged,
		.payload = frame->payload,
		.ready = frame->kind == FRAME_READY ? frame : NULL,
	};
	struct peer *peer = needs_known(rail, source);

	if (peer != NULL)
		tell_known(rail, peer);
	return receive_message(rail, &coming);
}
