/* SPDX-License-Identifier: BSD-3-Clause */
/* What an endpoint completes to, counts in, and has its addresses from. */
#include <stdlib.h>

#include "link/bind.h"
#include "link/av.h"
#include "link/cntr.h"
#include "link/cq.h"
#include "link/endpoint.h"

/* --- endpoints bound to a queue or counter --- */

void endpoints_init(struct endpoints *all, const struct link_domain *domain)
{
	link_lock_init(&all->lock, domain->is_threaded);
}

void endpoints_fini(struct endpoints *all)
{
	for (struct bound *b = all->first, *next; b != NULL; b = next) {
		next = b->next;
		free(b);
	}
	link_lock_fini(&all->lock);
}

bool endpoints_progress(const struct endpoints *all)
{
	const struct bound *bound = peek_at(all->first);
	bool has_happened = false;

	for (; bound != NULL; bound = peek_at(bound->next)) {
		struct link_ep *ep = peek_at(bound->ep);
		if (ep != NULL)
			has_happened |= ep_progress(ep);
	}
	return has_happened;
}

/* The place of an endpoint; NULL: one that is free. The list is locked. */
static struct bound *place_of(const struct endpoints *all,
			      const struct link_ep *ep)
{
	struct bound *bound = all->first;

	while (bound != NULL && bound->ep != ep)
		bound = bound->next;
	return bound;
}

int endpoints_add(struct endpoints *all, struct link_ep *ep)
{
	struct bound *place;

	link_lock(&all->lock);
	place = place_of(all, ep);
	if (place == NULL)
		place = place_of(all, NULL);
	if (place == NULL) {
		place = calloc(1, sizeof(*place));
		if (place != NULL) {
			place->next = all->first;
			set_seen(all->first, place);
		}
	}
	if (place != NULL)
		set_seen(place->ep, ep);
	link_unlock(&all->lock);
	if (place == NULL)
		return -FI_ENOMEM;
	endpoints_hold(all, 1);
	return 0;
}

void endpoints_remove(struct endpoints *all, const struct link_ep *ep)
{
	struct bound *place;

	link_lock(&all->lock);
	place = place_of(all, ep);
	if (place != NULL)
		set_seen(place->ep, NULL);
	link_unlock(&all->lock);
	endpoints_hold(all, -1);
}

/* --- an endpoint's --- */

static int bind_cntr(struct link_ep *ep, struct link_cntr *cntr, uint64_t flags)
{
	const struct {
		uint64_t flag;
		struct link_cntr **place;
	} kinds[] = {
		{ FI_SEND, &ep->send_cntr },
		{ FI_RECV, &ep->receive_cntr },
		{ FI_READ, &ep->read_cntr },
		{ FI_WRITE, &ep->write_cntr },
		{ FI_REMOTE_READ, &ep->remote_read_cntr },
		{ FI_REMOTE_WRITE, &ep->remote_write_cntr },
	};
	const uint64_t remote = FI_REMOTE_READ | FI_REMOTE_WRITE;
	const uint64_t known = FI_SEND | FI_RECV | FI_READ | FI_WRITE | remote;

	if ((flags & ~known) != 0)
		return -FI_EINVAL;
	/*
	 * Programs ask for all that there is; without this nothing is counted.
	 */
	if ((ep->caps & FI_RMA_EVENT) == 0)
		flags &= ~remote;
	if (flags == 0) {
		link_warn(EP_CTRL, "a counter of what peers do needs an "
				   "endpoint with FI_RMA_EVENT\n");
		return -FI_EINVAL;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if ((flags & kinds[i].flag) != 0 && *kinds[i].place != NULL)
			return -FI_EINVAL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if ((flags & kinds[i].flag) == 0)
			continue;
		int result = endpoints_add(&cntr->endpoints, ep);
		if (result != 0)
			return result;
		*kinds[i].place = cntr;
	}
	return 0;
}

static int bind_cq(struct link_ep *ep, struct link_cq *cq, uint64_t flags)
{
	const uint64_t known = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
	bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
	int result = 0;

	if ((flags & ~known) != 0 || (flags & (FI_TRANSMIT | FI_RECV)) == 0)
		return -FI_EINVAL;
	if (((flags & FI_TRANSMIT) != 0 && ep->send_cq != NULL) ||
	    ((flags & FI_RECV) != 0 && ep->receive_cq != NULL))
		return -FI_EINVAL;
	if ((flags & FI_TRANSMIT) != 0) {
		result = endpoints_add(&cq->endpoints, ep);
		if (result != 0)
			return result;
		ep->send_cq = cq;
		ep->send_selective = selective;
	}
	if ((flags & FI_RECV) != 0) {
		result = endpoints_add(&cq->endpoints, ep);
		if (result != 0)
			return result;
		ep->receive_cq = cq;
		ep->receive_selective = selective;
	}
	return 0;
}

int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct link_ep *ep = ep_of((struct fid_ep *)fid);

	if (ep->is_enabled)
		return -FI_EOPBADSTATE;
	switch (other->fclass) {
	case FI_CLASS_CQ:
		return bind_cq(ep, (struct link_cq *)other, flags);
	case FI_CLASS_CNTR:
		return bind_cntr(ep, (struct link_cntr *)other, flags);
	case FI_CLASS_AV:
		if (ep->av != NULL)
			return -FI_EINVAL;
		ep->av = (struct link_av *)other;
		link_lock(&ep->av->changing);
		ep->next_in_av = ep->av->endpoints;
		ep->av->endpoints = ep;
		link_unlock(&ep->av->changing);
		return 0;
	case FI_CLASS_EQ:
		return 0; /* nothing happens to endpoints that do not connect */
	default:
		return -FI_EINVAL;
	}
}

void ep_unbind(struct link_ep *ep)
{
	struct link_cq *cqs[] = { ep->send_cq, ep->receive_cq };
	struct link_cntr *cntrs[] = {
		ep->send_cntr,  ep->receive_cntr,     ep->read_cntr,
		ep->write_cntr, ep->remote_read_cntr, ep->remote_write_cntr
	};

	for (size_t i = 0; i < sizeof(cqs) / sizeof(cqs[0]); i++)
		if (cqs[i] != NULL)
			endpoints_remove(&cqs[i]->endpoints, ep);
	for (size_t i = 0; i < sizeof(cntrs) / sizeof(cntrs[0]); i++)
		if (cntrs[i] != NULL)
			endpoints_remove(&cntrs[i]->endpoints, ep);
	if (ep->av == NULL)
		return;
	link_lock(&ep->av->changing);
	for (struct link_ep **at = &ep->av->endpoints; *at != NULL;
	     at = &(*at)->next_in_av)
		if (*at == ep) {
			*at = ep->next_in_av;
			break;
		}
	link_unlock(&ep->av->changing);
}
