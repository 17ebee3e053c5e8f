/* SPDX-License-Identifier: BSD-3-Clause */
/* The endpoint: how it is opened and closed, its options, its progress. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/endpoint.h"
#include "link/api.h"
#include "link/av.h"
#include "link/clock.h"
#include "link/flow.h"
#include "link/format.h"
#include "link/mr.h"
#include "link/names.h"
#include "link/progress.h"
#include "link/reach.h"
#include "link/rendezvous.h"
#include "link/rma.h"
#include "link/send.h"
#include "link/ticks.h"

#define FINISH_NS UINT64_C(1000000000)

static struct link_ep *of(struct fid *fid)
{
	return ep_of((struct fid_ep *)fid);
}

struct rail *rail_for(struct link_ep *ep, const struct peer *peer)
{
	if (peer->is_local)
		return &ep->rails[0];
	if (peer->flow != NULL)
		return fabric_rail(ep, 0);
	return &ep->rails[has_local(ep) ? 1 : 0];
}

struct rail *rail_answering(struct rail *rail)
{
	return has_flows(rail) ? fabric_rail(rail->ep, 0) : rail;
}

/* --- progress --- */

/*
 * The longer nothing came by a fabric rail, the later it is looked at again:
 * what comes then waits for a small part of the time that it took. Calls are no
 * measure, since who shares its processor may be away for long between two.
 * Many rails together cost what one does.
 */
static void rail_polled(struct rail *rail, bool is_awaited, uint64_t now)
{
	const struct link_ep *ep = rail->ep;
	uint64_t pause;

	if (is_awaited)
		rail->woke = now;
	if (ep->rail_count == 1)
		return; /* nobody else has to wait for it */
	pause = (now - rail->woke) / LINK_POLL_PART;
	if (pause > LINK_POLL_PAUSE_MAX)
		pause = LINK_POLL_PAUSE_MAX;
	set_seen(rail->due,
		 now + pause * (ep->rail_count - (has_local(ep) ? 1 : 0)));
}

static bool is_expecting(const struct rail *rail)
{
	const struct flows *flows = rail->ep->flows;

	return rail->expected > 0 || (flows != NULL && flows->expected > 0);
}

static bool rail_progress(struct rail *rail, uint64_t now)
{
	unsigned int taken = rail->taken;
	bool has_happened = rail_poll(rail);

	if (rail->way != RAIL_SHARED)
		rail_polled(rail, has_happened || is_expecting(rail), now);
	return has_happened || rail->taken != taken;
}

/*
 * Not if another thread has it. It may have been closed, and laid again with
 * another lock.
 */
static bool rail_enter(struct rail *rail)
{
	struct link_lock *lock = &rail->lock;
	pthread_mutex_t *held = peek_at(lock->held);

	if (!lock->is_real)
		return rail->is_open;
	if (pthread_mutex_trylock(held) != 0)
		return false;
	if (peek_at(rail->is_open) && peek_at(lock->held) == held)
		return true;
	pthread_mutex_unlock(held);
	return false;
}

/*
 * Who polls finds an endpoint by a queue, without a lock, and it may be closed
 * by then, or another one be in its place, which is polled as well. So what is
 * looked at here stays as long as the domain, and the rest is there when a rail
 * that is locked is open.
 */
bool ep_progress(struct link_ep *ep)
{
	unsigned int count = peek_at(ep->rail_count);
	uint64_t now = ticks_now();
	bool has_happened = false;

	for (unsigned int i = 0; i < count; i++) {
		struct rail *rail = &ep->rails[i];
		if (peek_at(rail->way) != RAIL_SHARED &&
		    now < peek_at(rail->due))
			continue;
		if (!rail_enter(rail))
			continue;
		has_happened |= rail_progress(rail, now);
		link_unlock(&rail->lock);
	}
	if (peek_at(ep->has_names))
		names_progress(ep);
	return has_happened;
}

ssize_t rail_tried(struct rail *rail, struct peer *peer, ssize_t result)
{
	struct link_ep *ep = rail->ep;

	if (result == -FI_EAGAIN)
		rail->loss.refused = peer;
	link_unlock(&rail->lock);
	if (result == -FI_EAGAIN)
		ep_progress(ep);
	return result;
}

void domain_progress(struct link_domain *domain)
{
	struct link_ep *ep;

	link_lock(&domain->memory);
	DL_FOREACH2(domain->endpoints, ep, next_in_domain)
	ep_progress(ep);
	link_unlock(&domain->memory);
}

/* --- options --- */

static int ep_getopt(struct fid *fid, int level, int name, void *value,
		     size_t *size)
{
	struct link_ep *ep = of(fid);

	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (*size < sizeof(size_t))
		return -FI_ETOOSMALL;
	*(size_t *)value = ep->min_multi_recv;
	*size = sizeof(size_t);
	return 0;
}

static int ep_setopt(struct fid *fid, int level, int name, const void *value,
		     size_t size)
{
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
		return -FI_ENOPROTOOPT;
	if (size != sizeof(size_t))
		return -FI_EINVAL;
	of(fid)->min_multi_recv = *(const size_t *)value;
	return 0;
}

static int no_context(struct fid_ep *ep, int index, struct fi_tx_attr *attr,
		      struct fid_ep **ret_ep, void *context)
{
	return -FI_ENOSYS;
}

static int no_receive_context(struct fid_ep *ep, int index,
			      struct fi_rx_attr *attr, struct fid_ep **ret_ep,
			      void *context)
{
	return -FI_ENOSYS;
}

static ssize_t no_size(struct fid_ep *ep)
{
	return -FI_ENOSYS;
}

static struct fi_ops_ep ep_ops = {
	.size = sizeof(ep_ops),
	.cancel = link_cancel,
	.getopt = ep_getopt,
	.setopt = ep_setopt,
	.tx_ctx = no_context,
	.rx_ctx = no_receive_context,
	.rx_size_left = no_size,
	.tx_size_left = no_size,
};

static struct fi_ops_msg msg_ops = {
	.size = sizeof(msg_ops),
	.recv = link_recv,
	.recvv = link_recvv,
	.recvmsg = link_recvmsg,
	.send = link_send,
	.sendv = link_sendv,
	.sendmsg = link_sendmsg,
	.inject = link_inject,
	.senddata = link_senddata,
	.injectdata = link_injectdata,
};

static struct fi_ops_tagged tagged_ops = {
	.size = sizeof(tagged_ops),
	.recv = link_trecv,
	.recvv = link_trecvv,
	.recvmsg = link_trecvmsg,
	.send = link_tsend,
	.sendv = link_tsendv,
	.sendmsg = link_tsendmsg,
	.inject = link_tinject,
	.senddata = link_tsenddata,
	.injectdata = link_tinjectdata,
};

/* --- open and close --- */

static struct link_ep *ep_make(struct link_domain *domain)
{
	struct link_ep *ep = calloc(1, sizeof(*ep));

	if (ep == NULL)
		return NULL;
	ep->domain = domain;
	link_lock_init(&ep->matching, domain->is_threaded);
	link_lock_init(&ep->sending, domain->is_threaded);
	link_lock_init(&ep->asking, domain->is_threaded);
	link_lock_init(&ep->naming, domain->is_threaded);
	for (unsigned int i = 0; i < RAILS_MAX; i++) {
		ep->rails[i].ep = ep;
		link_lock_init(&ep->rails[i].lock, domain->is_threaded);
		link_lock_init(&ep->rails[i].working, domain->is_threaded);
	}
	return ep;
}

static void ep_destroy(struct link_ep *ep)
{
	for (unsigned int i = 0; i < RAILS_MAX; i++) {
		link_lock_fini(&ep->rails[i].lock);
		link_lock_fini(&ep->rails[i].working);
	}
	link_lock_fini(&ep->matching);
	link_lock_fini(&ep->sending);
	link_lock_fini(&ep->asking);
	link_lock_fini(&ep->naming);
	free(ep);
}

void eps_destroy(struct link_domain *domain)
{
	for (struct link_ep *ep = domain->spare, *next; ep != NULL; ep = next) {
		next = ep->next_in_domain;
		ep_destroy(ep);
	}
}

static struct link_ep *ep_take(struct link_domain *domain)
{
	struct link_ep *ep;

	link_lock(&domain->memory);
	ep = domain->spare;
	if (ep != NULL)
		domain->spare = ep->next_in_domain;
	link_unlock(&domain->memory);
	return ep == NULL ? ep_make(domain) : ep;
}

static void ep_free(struct link_ep *ep)
{
	struct link_domain *domain = ep->domain;

	rails_close(ep);
	receive_drop_all(ep);
	send_drop_all(ep);
	asks_drop(ep);
	free(ep->peers);
	memset(&ep->av, 0,
	       offsetof(struct link_ep, rails) - offsetof(struct link_ep, av));
	link_lock(&domain->memory);
	ep->next_in_domain = domain->spare;
	domain->spare = ep;
	link_unlock(&domain->memory);
}

static bool has_unsent(struct link_ep *ep)
{
	bool has = false;

	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		link_lock(&rail->lock);
		has |= rail->pending != NULL || rail->answers != NULL ||
		       rail->forgets != NULL || reading_is_unanswered(rail) ||
		       (has_flows(rail) && flows_have_unsent(ep->flows));
		link_unlock(&rail->lock);
	}
	return has;
}

/* What no core has taken is given a moment to go. */
static void finish(struct link_ep *ep, uint64_t end_ns)
{
	while (has_unsent(ep) && clock_now_ns() < end_ns) {
		for (unsigned int i = 0; i < ep->rail_count; i++)
			rail_poll_soon(&ep->rails[i]);
		ep_progress(ep);
	}
}

static int ep_close(struct fid *fid)
{
	struct link_ep *ep = of(fid);
	struct link_domain *domain = ep->domain;
	uint64_t end_ns = clock_now_ns() + FINISH_NS;

	if (peek_at(ep->aliases) > 0)
		return -FI_EBUSY;
	finish(ep, end_ns);
	mr_endpoint_goes(ep);
	finish(ep, end_ns); /* notifies peers that asked for its keys */
	if (ep->flows != NULL)
		flows_finish(ep);
	if (ep->is_enabled)
		progress_leave(ep);
	ep_unbind(ep);
	ep_free(ep);
	domain_hold(domain, -1);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = no_ops_open,
};

/* Where the program wants to be found. */
static void name_take_over(struct link_ep *ep, const struct fi_info *info)
{
	uint8_t bytes[LINK_ADDRESS_SIZE];
	struct link_address name;

	if (info->src_addr == NULL ||
	    format_read(info->addr_format, ep->domain->digest, info->src_addr,
			info->src_addrlen, bytes) != 0 ||
	    link_address_decode(bytes, &name, NULL) != 0)
		return;
	ep->may_move = (name.flags & LINK_ANY_NODE) != 0;
	if (name.known_count > 0) {
		ep->place = name.rails[0];
	} else if ((name.flags & LINK_NAMED) != 0 && name.number != 0) {
		ep->number = name.number;
		ep->is_numbered = true;
	}
}

int link_ep_open(struct fid_domain *domain_fid, struct fi_info *info,
		 struct fid_ep **ret_ep, void *context)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_ep *ep = ep_take(domain);

	if (ep == NULL)
		return -FI_ENOMEM;
	ep->peers = calloc(AV_CHUNKS, sizeof(*ep->peers));
	if (ep->peers == NULL || match_init(&ep->tagged) != 0 ||
	    match_init(&ep->untagged) != 0 || ep_number(ep) != 0) {
		ep_free(ep);
		return -FI_ENOMEM;
	}
	name_take_over(ep, info);
	ep->face.fid.fid.fclass = FI_CLASS_EP;
	ep->face.fid.fid.context = context;
	ep->face.fid.fid.ops = &ep_fid_ops;
	ep->face.fid.ops = &ep_ops;
	ep->face.fid.cm = &link_cm_ops;
	ep->face.fid.msg = &msg_ops;
	ep->face.fid.tagged = &tagged_ops;
	ep->face.fid.rma = &link_rma_ops;
	ep->face.fid.atomic = &link_atomic_ops;
	ep->caps = info->caps;
	ep->face.ep = ep;
	ep->face.send_flags = info->tx_attr->op_flags;
	ep->face.receive_flags = info->rx_attr->op_flags;
	ep->min_multi_recv = LINK_INJECT_SIZE;
	ep->unexpected_max = setting_number("FI_FAIRLEAD_UNEXPECTED_MAX",
					    LINK_UNEXPECTED_MAX);
	domain_hold(domain, 1);
	*ret_ep = &ep->face.fid;
	return 0;
}
