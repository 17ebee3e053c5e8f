/* SPDX-License-Identifier: BSD-3-Clause */
/* The endpoint: what is bound to it, its rails, its peers, its progress. */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "link/api.h"
#include "link/endpoint.h"
#include "link/locality.h"

static struct link_ep *of(struct fid *fid)
{
	return (struct link_ep *)fid;
}

struct rail *rail_for(struct link_ep *ep, const struct peer *peer)
{
	return &ep->rails[peer->is_local || !has_local(ep) ? 0 : 1];
}

/* --- progress --- */

/* Threads count together, and may lose one now and then. */
static bool is_due(struct rail *rail)
{
	unsigned int calls = peek_at(rail->calls) + 1;

	set_seen(rail->calls, calls);
	return calls >= peek_at(rail->interval);
}

void ep_progress(struct link_ep *ep)
{
	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		if (rail->way != RAIL_SHARED && !is_due(rail))
			continue;
		if (!link_trylock(&rail->lock))
			continue;
		set_seen(rail->calls, 0);
		if (rail_poll(rail) || rail->owed > 0)
			set_seen(rail->interval, 1);
		else if (rail->interval < LINK_POLL_INTERVAL_MAX)
			set_seen(rail->interval, rail->interval + 1);
		link_unlock(&rail->lock);
	}
}

/* --- what is bound --- */

static int endpoints_add(struct endpoints *to, struct link_ep *ep)
{
	struct link_ep **grown;

	for (unsigned int i = 0; i < to->count; i++)
		if (to->list[i] == ep) {
			to->uses++;
			return 0;
		}
	grown = realloc(to->list, (to->count + 1) * sizeof(*grown));
	if (grown == NULL)
		return -FI_ENOMEM;
	to->list = grown;
	to->list[to->count++] = ep;
	to->uses++;
	return 0;
}

static void endpoints_remove(struct endpoints *from, struct link_ep *ep)
{
	from->uses--;
	for (unsigned int i = 0; i < from->count; i++)
		if (from->list[i] == ep) {
			from->list[i] = from->list[--from->count];
			return;
		}
}

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
	};
	const uint64_t known = FI_SEND | FI_RECV | FI_READ | FI_WRITE;

	if ((flags & ~known) != 0 || (flags & known) == 0)
		return -FI_EINVAL;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if ((flags & kinds[i].flag) == 0)
			continue;
		if (*kinds[i].place != NULL)
			return -FI_EINVAL;
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

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct link_ep *ep = of(fid);

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
		ep->next_in_av = ep->av->endpoints;
		ep->av->endpoints = ep;
		return 0;
	default:
		return -FI_EINVAL;
	}
}

/* --- enable --- */

static int address_take(struct link_ep *ep)
{
	unsigned int first = has_local(ep) ? 1 : 0;
	struct link_address *address = &ep->address;
	int told;

	address->digest = ep->domain->digest;
	address->number = ep->number;
	address->node = locality_node();
	address->flags = locality_flags() | (first == 1 ? LINK_HAS_LOCAL : 0);
	for (unsigned int i = first; i < ep->rail_count; i++) {
		struct rail_address *to = &address->rails[i - first];
		size_t size = sizeof(to->bytes);
		int result =
			fi_getname(&ep->rails[i].core->fid, to->bytes, &size);
		if (result != 0)
			return result;
		to->size = (uint8_t)size;
		address->rail_count++;
	}
	told = link_address_encode(address, ep->address_bytes);
	if (told < 0)
		link_warn(EP_CTRL, "the address of a rail is too long\n");
	address->told_count = told < 0 ? 0 : (unsigned int)told;
	return told < 0 ? told : 0;
}

static int peers_add(struct link_ep *ep)
{
	for (fi_addr_t i = 0; i < ep->av->count; i++) {
		struct av_entry *entry = av_entry_of(ep->av, i);
		struct link_address address;
		if (entry == NULL)
			continue;
		if (link_address_decode(entry->bytes, &address, NULL) == 0)
			ep_peer_add(ep, i, &address);
	}
	return 0;
}

static int ep_enable(struct link_ep *ep)
{
	struct link_domain *domain = ep->domain;
	int result = 0;

	if (ep->is_enabled)
		return 0;
	if (ep->av == NULL)
		return -FI_ENOAV;
	if ((ep->send_cq == NULL && ep->send_cntr == NULL &&
	     (ep->caps & FI_SEND) != 0) ||
	    (ep->receive_cq == NULL && ep->receive_cntr == NULL &&
	     (ep->caps & FI_RECV) != 0))
		return -FI_ENOCQ;
	while (ep->rail_count < domain->cores.count && result == 0) {
		struct rail *rail = &ep->rails[ep->rail_count];
		rail->ep = ep;
		rail->index = ep->rail_count++;
		result = rail_open(rail, &domain->cores.cores[rail->index],
				   domain->cores.cores[rail->index].fabric);
	}
	if (result == 0)
		result = address_take(ep);
	if (result == 0)
		result = peers_add(ep);
	if (result == 0)
		result = mr_endpoint_comes(ep);
	ep->is_enabled = result == 0;
	return result;
}

static int ep_control(struct fid *fid, int command, void *arg)
{
	struct link_ep *ep = of(fid);

	switch (command) {
	case FI_ENABLE:
		return ep_enable(ep);
	case FI_GETOPSFLAG:
		if ((*(uint64_t *)arg & FI_TRANSMIT) != 0)
			*(uint64_t *)arg = ep->send_flags;
		else
			*(uint64_t *)arg = ep->receive_flags;
		return 0;
	case FI_SETOPSFLAG:
		if ((*(uint64_t *)arg & FI_TRANSMIT) != 0)
			ep->send_flags = *(uint64_t *)arg & ~FI_TRANSMIT;
		else
			ep->receive_flags = *(uint64_t *)arg & ~FI_RECV;
		return 0;
	default:
		return -FI_ENOSYS;
	}
}

/* --- names and options --- */

static int ep_getname(struct fid *fid, void *bytes, size_t *size)
{
	struct link_ep *ep = of(fid);
	size_t room = *size;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	*size = LINK_ADDRESS_SIZE;
	if (bytes != NULL)
		memcpy(bytes, ep->address_bytes,
		       room < LINK_ADDRESS_SIZE ? room : LINK_ADDRESS_SIZE);
	return room < LINK_ADDRESS_SIZE ? -FI_ETOOSMALL : 0;
}

static int no_name(struct fid *fid, void *bytes, size_t size)
{
	return -FI_ENOSYS;
}

static struct fi_ops_cm cm_ops = {
	.size = sizeof(cm_ops),
	.setname = no_name,
	.getname = ep_getname,
};

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

static void ep_free(struct link_ep *ep)
{
	for (unsigned int i = 0; i < ep->rail_count; i++)
		rail_close(&ep->rails[i]);
	receive_drop_all(ep);
	send_drop_all(ep);
	ep_strangers_drop(ep);
	for (size_t i = 0; ep->peers != NULL && i < AV_CHUNKS; i++)
		free(ep->peers[i]);
	free(ep->peers);
	link_lock_fini(&ep->matching);
	link_lock_fini(&ep->sending);
	free(ep);
}

static int ep_close(struct fid *fid)
{
	struct link_ep *ep = of(fid), **at;

	mr_endpoint_goes(ep);
	if (ep->send_cq != NULL)
		endpoints_remove(&ep->send_cq->endpoints, ep);
	if (ep->receive_cq != NULL)
		endpoints_remove(&ep->receive_cq->endpoints, ep);
	if (ep->send_cntr != NULL)
		endpoints_remove(&ep->send_cntr->endpoints, ep);
	if (ep->receive_cntr != NULL)
		endpoints_remove(&ep->receive_cntr->endpoints, ep);
	if (ep->read_cntr != NULL)
		endpoints_remove(&ep->read_cntr->endpoints, ep);
	if (ep->write_cntr != NULL)
		endpoints_remove(&ep->write_cntr->endpoints, ep);
	if (ep->av != NULL)
		for (at = &ep->av->endpoints; *at != NULL;
		     at = &(*at)->next_in_av)
			if (*at == ep) {
				*at = ep->next_in_av;
				break;
			}
	domain_hold(ep->domain, -1);
	ep_free(ep);
	return 0;
}

static struct fi_ops ep_fid_ops = {
	.size = sizeof(ep_fid_ops),
	.close = ep_close,
	.bind = ep_bind,
	.control = ep_control,
	.ops_open = no_ops_open,
};

int link_ep_open(struct fid_domain *domain_fid, struct fi_info *info,
		 struct fid_ep **ret_ep, void *context)
{
	struct link_domain *domain = (struct link_domain *)domain_fid;
	struct link_ep *ep = calloc(1, sizeof(*ep));

	if (ep == NULL)
		return -FI_ENOMEM;
	ep->domain = domain;
	link_lock_init(&ep->matching, domain->is_threaded);
	link_lock_init(&ep->sending, domain->is_threaded);
	ep->peers = calloc(AV_CHUNKS, sizeof(*ep->peers));
	if (ep->peers == NULL || match_init(&ep->tagged) != 0 ||
	    match_init(&ep->untagged) != 0 ||
	    getrandom(&ep->number, sizeof(ep->number), 0) !=
		    sizeof(ep->number)) {
		ep_free(ep);
		return -FI_ENOMEM;
	}
	ep->number &= ~SOURCE_BY_NUMBER;
	ep->fid.fid.fclass = FI_CLASS_EP;
	ep->fid.fid.context = context;
	ep->fid.fid.ops = &ep_fid_ops;
	ep->fid.ops = &ep_ops;
	ep->fid.cm = &cm_ops;
	ep->fid.msg = &msg_ops;
	ep->fid.tagged = &tagged_ops;
	ep->fid.rma = &link_rma_ops;
	ep->caps = info->caps;
	ep->send_flags = info->tx_attr->op_flags;
	ep->receive_flags = info->rx_attr->op_flags;
	ep->min_multi_recv = LINK_INJECT_SIZE;
	ep->unexpected_max = LINK_UNEXPECTED_MAX;
	domain_hold(domain, 1);
	*ret_ep = &ep->fid;
	return 0;
}
