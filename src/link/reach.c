/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What peers are asked to do to their memory by frames, and what comes back:
 * atomic operations, and all reads and writes over shared memory or several
 * fabric rails. Each is answered, so that one with a wrong key ends, too.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/reach.h"
#include "link/iov.h"
#include "link/keys.h"
#include "link/memory.h"
#include "link/pending.h"
#include "link/rma.h"
#include "link/stripes.h"
#include "base/le.h"

/* One that waits for its result. */
struct link_ask {
	struct link_ask *next;
	bool is_used;
	bool was_seen;     /* waits since before the last look: loss.c */
	struct rail *rail; /* by which it went */
	uint32_t request;  /* its place in the table */
	uint64_t number;   /* of the endpoint that has to answer */
	void *context;
	uint64_t flags;
	struct iovec result[LINK_IOV_MAX];
	size_t count, size;
	struct exposed exposed; /* what it writes */
	struct fetch *fetch;    /* asks where that is to be read, or NULL */
	bool is_of_key; /* asks for what the core of the peer has for it: */
	uint64_t key;
};

/* --- large reads over several rails --- */

struct fetch {
	struct stripes stripes;
	struct stripes_part parts[REACH_RANGES_MAX];
	unsigned int part_count;
	struct iovec iov[LINK_IOV_MAX];
	size_t count;
	void *context;
	uint64_t flags;
	fi_addr_t from;
	uint64_t key;
};

static int fetch_put(struct stripes *stripes, uint64_t offset,
		     const uint8_t *bytes, size_t size)
{
	const struct fetch *fetch = container(stripes, struct fetch, stripes);

	iov_put_at(fetch->iov, fetch->count, offset, bytes, size);
	return 0;
}

static int fetch_end(struct stripes *stripes)
{
	struct fetch *fetch = container(stripes, struct fetch, stripes);
	struct link_ep *ep = stripes->ep;

	if (stripes->error == 0 &&
	    access_notify(fabric_rail(ep, 0), fetch->from, fetch->key,
			  fetch->flags) != 0)
		return -FI_ENOMEM;
	access_completed(ep, fetch->context, fetch->flags, stripes->error);
	free(fetch);
	return 0;
}

static void fetch_drop(struct stripes *stripes)
{
	free(container(stripes, struct fetch, stripes));
}

static struct fetch *fetch_make(struct link_ep *ep, const struct peer *peer,
				const struct reach_call *call)
{
	static const struct stripes_use use = { fetch_put, fetch_end,
						fetch_drop };
	struct fetch *fetch = calloc(1, sizeof(*fetch));

	if (fetch == NULL)
		return NULL;
	fetch->part_count = (unsigned int)call->range_count;
	for (unsigned int i = 0; i < fetch->part_count; i++)
		fetch->parts[i].size = call->ranges[i].count;
	fetch->count = call->count;
	memcpy(fetch->iov, call->iov, call->count * sizeof(fetch->iov[0]));
	fetch->context = call->context;
	fetch->flags = call->flags;
	fetch->from = call->to;
	fetch->key = call->ranges[0].key;
	fetch->stripes = (struct stripes){ .use = &use,
					   .ep = ep,
					   .number = peer->number,
					   .parts = fetch->parts,
					   .size = call->size };
	return fetch;
}

/* The owner has answered where it is, or why not. */
static void fetch_start(struct fetch *fetch, const uint8_t *where, int error)
{
	unsigned int rails = fetch->stripes.ep->flows->count;

	fetch->stripes.error = error;
	for (unsigned int i = 0; error == 0 && i < fetch->part_count; i++)
		for (unsigned int k = 0; k < rails; k++) {
			fetch->parts[i].rails[k] =
				(struct frame_rail){ le_get64(where),
						     le_get64(where + 8) };
			where += REACH_WHERE_SIZE;
		}
	stripes_start(&fetch->stripes);
}

/* --- the table --- */

static bool table_grow(struct link_ep *ep)
{
	size_t count = ep->ask_count == 0 ? 64 : 2 * ep->ask_count;
	struct link_ask **grown;

	if (ep->ask_count >= LINK_ASKS)
		return false;
	grown = realloc(ep->asks, count * sizeof(struct link_ask *));
	if (grown == NULL)
		return false;
	ep->asks = grown;
	while (ep->ask_count < count) {
		struct link_ask *ask = calloc(1, sizeof(*ask));
		if (ask == NULL)
			break;
		ask->request = (uint32_t)ep->ask_count;
		ask->next = ep->free_asks;
		ep->free_asks = ask;
		ep->asks[ep->ask_count] = ask;
		set_seen(ep->ask_count, ep->ask_count + 1);
	}
	return ep->free_asks != NULL;
}

static struct link_ask *ask_take(struct link_ep *ep)
{
	struct link_ask *ask = NULL;

	link_lock(&ep->sending);
	if (ep->free_asks != NULL || table_grow(ep)) {
		ask = ep->free_asks;
		ep->free_asks = ask->next;
		ask->is_used = true;
		ask->was_seen = false;
	}
	link_unlock(&ep->sending);
	return ask;
}

static void ask_put(struct link_ep *ep, struct link_ask *ask)
{
	exposed_end(&ask->exposed);
	free(ask->fetch);
	link_lock(&ep->sending);
	ask->fetch = NULL;
	ask->is_used = false;
	ask->next = ep->free_asks;
	ep->free_asks = ask;
	link_unlock(&ep->sending);
}

void asks_unregister(struct link_ep *ep)
{
	for (size_t i = 0; i < ep->ask_count; i++)
		exposed_hide(&ep->asks[i]->exposed);
}

void asks_drop(struct link_ep *ep)
{
	for (size_t i = 0; i < ep->ask_count; i++) {
		exposed_end(&ep->asks[i]->exposed);
		free(ep->asks[i]->fetch);
		free(ep->asks[i]);
	}
	free(ep->asks);
}

/* --- asking --- */

/* What is injected may change at once, and does not fit in a frame. */
static int place_copied(struct link_ask *ask, const struct reach_call *call,
			struct reach *reach)
{
	uint8_t *copy = ask->exposed.copy = malloc(call->size);

	if (copy == NULL)
		return -FI_ENOMEM;
	iov_flatten(call->iov, call->count, copy);
	reach->place_count = 1;
	reach->places[0] = (struct reach_place){ (uintptr_t)copy, call->size };
	return 0;
}

/* Near the peer, which copies from or to it. */
static int places_fill(struct link_ask *ask, const struct reach_call *call,
		       struct reach *reach)
{
	reach->process = (uint64_t)getpid();
	if (call->kind == REACH_WRITE && (call->flags & FI_INJECT) != 0)
		return place_copied(ask, call, reach);
	reach->place_count = (unsigned int)call->count;
	for (size_t i = 0; i < call->count; i++)
		reach->places[i] =
			(struct reach_place){ (uintptr_t)call->iov[i].iov_base,
					      call->iov[i].iov_len };
	return 0;
}

/* Who wants it reads it by all rails. */
static int rails_fill(struct rail *rail, const struct peer *peer,
		      struct link_ask *ask, const struct reach_call *call,
		      struct reach *reach)
{
	reach->rail_count = rail->ep->flows->count;
	if (call->kind == REACH_WRITE)
		return expose(rail, reach->rail_count, call->iov, call->count,
			      call->flags, reach->rails, &ask->exposed);
	ask->fetch = fetch_make(rail->ep, peer, call);
	return ask->fetch == NULL ? -FI_ENOMEM : 0;
}

/* Where data is that is too much for a frame. */
static int data_fill(struct rail *rail, const struct peer *peer,
		     struct link_ask *ask, const struct reach_call *call,
		     struct reach *reach)
{
	if (call->kind > REACH_WRITE || call->size <= REACH_DATA_MAX)
		return 0;
	return rail->way == RAIL_SHARED
		       ? places_fill(ask, call, reach)
		       : rails_fill(rail, peer, ask, call, reach);
}

static void ask_fill(struct link_ask *ask, const struct reach_call *call,
		     const struct reach *reach)
{
	bool is_read = call->kind == REACH_READ;
	const struct iovec *result = is_read ? call->iov : call->result;

	ask->is_of_key = call->kind == REACH_KEY;
	ask->key = call->ranges[0].key;
	ask->context = call->context;
	ask->flags = call->flags;
	ask->size = reach_result_size(reach);
	ask->count = is_read ? call->count : call->result_count;
	if (ask->size == 0 || ask->is_of_key || ask->fetch != NULL)
		ask->count = 0;
	for (size_t i = 0; i < ask->count; i++)
		ask->result[i] = result[i];
}

static ssize_t ask_send(struct rail *rail, struct peer *peer,
			struct link_ask *ask, const struct reach_call *call,
			struct reach *reach)
{
	uint8_t head[REACH_HEAD_MAX];
	struct iovec iov[1 + 2 * LINK_IOV_MAX];
	size_t count = 1;
	struct link_frame frame = { .kind = FRAME_REACH,
				    .sender = rail->ep->number,
				    .request = ask->request };
	bool has_operands =
		call->kind != REACH_READ &&
		reach->place_count + reach->rail_count == 0 &&
		!(call->kind == REACH_FETCH && call->op == ATOMIC_READ);

	iov[0] = (struct iovec){ head, reach_encode(reach, head) };
	for (size_t i = 0; has_operands && i < call->count; i++)
		iov[count++] = call->iov[i];
	for (size_t i = 0; i < call->compare_count; i++)
		iov[count++] = call->compare[i];
	frame.size = iov_size(iov, count);
	return rail_send_frame(rail, peer, &frame, iov, count, NULL, false);
}

static ssize_t reach_by(struct rail *rail, struct peer *peer,
			const struct reach_call *call)
{
	struct link_ep *ep = rail->ep;
	struct reach reach = {
		.kind = call->kind,
		.type = call->type,
		.op = call->op,
		.flags = (call->flags & FI_REMOTE_CQ_DATA) != 0 ? REACH_HAS_DATA
								: 0,
		.data = call->data,
		.range_count = (unsigned int)call->range_count,
	};
	struct link_ask *ask = ask_take(ep);
	ssize_t result;

	if (ask == NULL)
		return -FI_EAGAIN;
	ask->number = peer->number;
	ask->rail = rail;
	memcpy(reach.from, ep->address_bytes, sizeof(reach.from));
	memcpy(reach.ranges, call->ranges,
	       call->range_count * sizeof(reach.ranges[0]));
	result = data_fill(rail, peer, ask, call, &reach);
	if (result == 0) {
		ask_fill(ask, call, &reach);
		result = ask_send(rail, peer, ask, call, &reach);
	}
	if (result != 0) {
		ask_put(ep, ask);
		return result;
	}
	rail_asked(rail);
	rail_used(rail, call->size);
	return 0;
}

ssize_t reach_key(struct rail *rail, struct peer *peer, uint64_t key)
{
	const struct reach_range range = { .address = rail->index, .key = key };
	const struct reach_call call = { .kind = REACH_KEY,
					 .ranges = &range,
					 .range_count = 1 };

	return reach_by(rail, peer, &call);
}

ssize_t reach_peer(struct link_ep *ep, const struct reach_call *call)
{
	struct peer *peer = ep_peer(ep, call->to);
	struct rail *rail = rail_for(ep, peer);
	ssize_t result = -FI_EAGAIN;

	link_lock(&rail->lock);
	if (peer->is_lost)
		result = -FI_EHOSTUNREACH;
	else if (rail->pending == NULL || !pending_has(rail, peer))
		result = reach_by(rail, peer, call);
	return rail_tried(rail, peer, result);
}

/* --- what comes back --- */

static struct link_ask *ask_find(struct link_ep *ep,
				 const struct link_frame *frame)
{
	struct link_ask *ask = NULL;

	link_lock(&ep->sending);
	if (frame->request < ep->ask_count)
		ask = ep->asks[frame->request];
	if (ask != NULL && (!ask->is_used || ask->number != frame->sender))
		ask = NULL;
	link_unlock(&ep->sending);
	return ask;
}

void reach_answered(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct link_ask *ask = ask_find(ep, frame);
	int error = frame->error;

	if (ask == NULL) {
		link_info(EP_DATA, "a result of what was not asked\n");
		return;
	}
	rail_answered(rail);
	if (error == 0 && frame->size != ask->size)
		error = FI_EIO;
	if (ask->is_of_key) {
		uint64_t key = ask->key;
		struct rail *of = ask->rail;
		ask_put(ep, ask);
		key_answered(of, frame->sender, key, error, frame->payload);
		return;
	}
	if (ask->fetch != NULL) {
		struct fetch *fetch = ask->fetch;
		ask->fetch = NULL;
		ask_put(ep, ask);
		fetch_start(fetch, frame->payload, error);
		return;
	}
	if (error == 0)
		iov_put(ask->result, ask->count, frame->payload, ask->size);
	void *context = ask->context;
	uint64_t flags = ask->flags;
	ask_put(ep, ask);
	access_completed(ep, context, flags, error);
}

/* --- peers that have ended --- */

static uint64_t waits_since_before(struct rail *rail, size_t i)
{
	struct link_ep *ep = rail->ep;
	uint64_t number = 0;

	link_lock(&ep->sending);
	struct link_ask *ask = ep->asks[i];
	if (ask->is_used && ask->rail == rail_answering(rail)) {
		if (ask->was_seen)
			number = ask->number;
		ask->was_seen = true;
	}
	link_unlock(&ep->sending);
	return number;
}

void asks_each_old(struct rail *rail, loss_report *report, void *arg)
{
	for (size_t i = 0; i < peek_at(rail->ep->ask_count); i++) {
		uint64_t number = waits_since_before(rail, i);
		if (number != 0)
			report(rail, number, arg);
	}
}

void asks_drop_of(struct rail *rail, uint64_t number, int error)
{
	struct link_ep *ep = rail->ep;

	for (size_t i = 0; i < peek_at(ep->ask_count); i++) {
		const struct link_frame frame = { .sender = number,
						  .request = (uint32_t)i,
						  .error = error };
		const struct link_ask *ask = ask_find(ep, &frame);
		if (ask != NULL && ask->rail == rail)
			reach_answered(rail, &frame);
	}
}
