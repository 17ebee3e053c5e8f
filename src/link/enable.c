/* SPDX-License-Identifier: BSD-3-Clause */
/* What an endpoint opens when it is enabled, and its way back. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "link/av.h"
#include "link/flow.h"
#include "link/locality.h"
#include "link/mr.h"
#include "link/names.h"
#include "link/presence.h"
#include "link/progress.h"
#include "link/reach.h"
#include "link/send.h"

int ep_number(struct link_ep *ep)
{
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -FI_ENOMEM;
	ep->number = number & ~SOURCE_BY_NUMBER;
	return 0;
}

static int address_take(struct link_ep *ep)
{
	unsigned int first = has_local(ep) ? 1 : 0;
	struct link_address *address = &ep->address;
	int encoded;

	address->digest = ep->domain->digest;
	address->number = ep->number;
	address->node = locality_node();
	address->flags = locality_flags() | (first == 1 ? LINK_HAS_LOCAL : 0);
	if ((ep->caps & FI_RMA_EVENT) != 0)
		address->flags |= LINK_WANTS_EVENTS;
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
	encoded = link_address_encode(address, ep->address_bytes);
	if (encoded < 0)
		link_warn(EP_CTRL, "the address of a rail is too long\n");
	address->known_count = encoded < 0 ? 0 : (unsigned int)encoded;
	return encoded < 0 ? encoded : 0;
}

/*
 * Those that were inserted before. The vector is not changed meanwhile. An
 * address that no rail leads to is refused when it is sent to: other endpoints
 * may reach it.
 */
static int peers_add(struct link_ep *ep)
{
	int result = 0;

	for (fi_addr_t i = 0; i < ep->av->count && result != -FI_ENOMEM; i++) {
		struct link_address address;
		if (av_address(ep->av, i, &address) != 0)
			continue;
		result = (address.flags & LINK_NAMED) != 0
				 ? name_ask(ep, i, &address)
				 : ep_peer_add(ep, i, &address);
		if (result != 0)
			link_warn(EP_CTRL, "address %llu: %s\n",
				  (unsigned long long)i, fi_strerror(-result));
	}
	return result == -FI_ENOMEM ? result : 0;
}

/* Lets who polls in, or waits until nobody is, and will be. */
static void rails_show(struct link_ep *ep, bool is_open)
{
	link_lock(&ep->asking);
	for (unsigned int i = 0; i < ep->rail_count; i++) {
		struct rail *rail = &ep->rails[i];
		link_lock(&rail->lock);
		set_seen(rail->is_open, is_open);
		link_unlock(&rail->lock);
	}
	link_unlock(&ep->asking);
}

/* What is left is what stays: see ep_progress(). */
static void rails_clear(struct link_ep *ep)
{
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		memset(&ep->rails[i].mr_mode, 0,
		       sizeof(struct rail) - offsetof(struct rail, mr_mode));
	set_seen(ep->rail_count, 0);
	set_seen(ep->has_names, false);
}

void rails_close(struct link_ep *ep)
{
	rails_show(ep, false);
	presence_leave(ep->presence);
	sends_unregister(ep);
	asks_unregister(ep);
	for (unsigned int i = 0; i < ep->rail_count; i++)
		rail_unregister(&ep->rails[i]);
	/* The first of several has what others may send. */
	for (unsigned int i = ep->rail_count; i > 0; i--)
		rail_close(&ep->rails[i - 1]);
	flows_close(ep);
	presence_close(ep->presence);
	names_drop(ep);
	for (size_t i = 0; ep->peers != NULL && i < AV_CHUNKS; i++) {
		free(ep->peers[i]);
		ep->peers[i] = NULL;
	}
	rails_clear(ep);
}

/*
 * It may be tried again, and finds nothing of this time. shm of 1.17 never
 * forgets the shared memory of this process by its name: so there is another
 * one then.
 */
static void enable_undo(struct link_ep *ep)
{
	mr_endpoint_goes(ep);
	rails_close(ep);
	ep->flows = NULL;
	ep->presence = NULL;
	ep->matched = NULL;
	ep->address = (struct link_address){ 0 };
	ep->questions = NULL;
	ep->introductions = NULL;
	if (!ep->is_numbered)
		(void)ep_number(ep);
}

/* Whether there is memory to share with others. */
static int local_open(struct link_ep *ep, bool is_only)
{
	int result =
		ep->domain->cores.cores[0].info != NULL && locality_has_memory()
			? presence_open(ep->number, locality_node(), is_only,
					&ep->presence)
			: -FI_ENOSPC;

	if (result != 0)
		link_info(EP_CTRL, "no shared memory here: %s\n",
			  fi_strerror(-result));
	return result;
}

/*
 * Which rail of the link it is. With another number than before, it may have
 * another lock.
 */
static void rail_lay(struct rail *rail, unsigned int which)
{
	struct link_ep *ep = rail->ep;
	const struct link_core *core = &ep->domain->cores.cores[which];
	unsigned int first = ep->rails[0].way == RAIL_SHARED ? 1 : 0;

	rail->index = ep->rail_count;
	rail->text = &ep->domain->text.rails[which];
	set_seen(rail->way, core->way);
	/* A frame may go on by any of those of fabrics: see flow.h. */
	if (rail->index > first)
		link_lock_share(&rail->lock, &ep->rails[first].lock);
	else
		link_lock_alone(&rail->lock);
}

static int rails_open(struct link_ep *ep)
{
	const struct core_set *cores = &ep->domain->cores;
	unsigned int next = 0;
	int result = 0;

	if (cores->cores[0].way == RAIL_SHARED) {
		bool is_only = cores->count == 1;
		result = local_open(ep, is_only);
		/*
		 * All are reached by the fabric then; not for want of memory.
		 */
		if (result != 0 && result != -FI_ENOMEM && !is_only) {
			next = 1;
			result = 0;
		}
	}
	for (; next < cores->count && result == 0; next++) {
		struct rail *rail = &ep->rails[ep->rail_count];
		rail_lay(rail, next);
		set_seen(ep->rail_count, ep->rail_count + 1);
		result = rail_open(rail, &cores->cores[next],
				   cores->cores[next].fabric);
	}
	if (result == 0 && ep->presence != NULL)
		presence_show(ep->presence);
	return result;
}

/*
 * From now on it is notified of what is inserted and registered, as of what was
 * before, and polled.
 */
static int ep_join(struct link_ep *ep)
{
	int result;

	link_lock(&ep->av->changing);
	result = peers_add(ep);
	if (result == 0)
		result = mr_endpoint_comes(ep);
	ep->is_enabled = result == 0;
	link_unlock(&ep->av->changing);
	if (result == 0)
		rails_show(ep, true);
	return result;
}

static int open_all(struct link_ep *ep)
{
	int result = rails_open(ep);

	if (result == 0)
		result = address_take(ep);
	if (result == 0)
		result = flows_open(ep);
	if (result == 0)
		result = ep_join(ep);
	if (result != 0)
		enable_undo(ep);
	return result;
}

/*
 * Who said a service only, and no node, is somewhere else when the place is
 * taken: programs that exchange addresses by other ways, all with one service,
 * do so.
 */
static bool moves(struct link_ep *ep, int result)
{
	if (!ep->may_move || (result != -FI_EADDRINUSE && result != -EEXIST))
		return false;
	link_warn(EP_CTRL, "another endpoint is at this service already: "
			   "this one cannot be found by it\n");
	ep->place = (struct rail_address){ 0 };
	ep->is_numbered = false;
	return ep_number(ep) == 0;
}

static int open_somewhere(struct link_ep *ep)
{
	int result = open_all(ep);

	return moves(ep, result) ? open_all(ep) : result;
}

int ep_enable(struct link_ep *ep)
{
	int result;

	if (ep->is_enabled)
		return 0;
	if (ep->av == NULL)
		return -FI_ENOAV;
	if ((ep->send_cq == NULL && ep->send_cntr == NULL &&
	     (ep->caps & FI_SEND) != 0) ||
	    (ep->receive_cq == NULL && ep->receive_cntr == NULL &&
	     (ep->caps & FI_RECV) != 0))
		return -FI_ENOCQ;
	result = progress_join(ep);
	if (result != 0)
		return result;
	result = open_somewhere(ep);
	if (result != 0)
		progress_leave(ep);
	return result;
}
