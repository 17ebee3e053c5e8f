/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: as the program's own message, as a frame, or to be read. */
#include <stdlib.h>
#include <string.h>

#include "link/send.h"
#include "link/cntr.h"
#include "link/cq.h"
#include "link/direct.h"
#include "link/flow.h"
#include "link/iov.h"
#include "link/matched.h"
#include "link/memory.h"
#include "link/names.h"
#include "link/pending.h"

/* --- the end of a send --- */

void send_completed(struct link_ep *ep, void *context, uint64_t flags)
{
	const struct cq_entry entry = {
		.tagged = { .op_context = context,
			    .flags = FI_SEND | (flags & (FI_TAGGED | FI_MSG)) },
		.source = FI_ADDR_NOTAVAIL,
	};

	cntr_count(ep->send_cntr, true);
	if ((flags & FI_COMPLETION) != 0 && ep->send_cq != NULL)
		cq_add(ep->send_cq, &entry);
}

void send_failed(struct link_ep *ep, void *context, uint64_t flags, int error)
{
	const struct fi_cq_err_entry entry = {
		.op_context = context,
		.flags = FI_SEND | (flags & (FI_TAGGED | FI_MSG)),
		.err = error,
		.prov_errno = -error,
	};

	cntr_count(ep->send_cntr, false);
	if (ep->send_cq != NULL)
		cq_fail(ep->send_cq, &entry);
}

/* --- the table of sends that wait for an answer --- */

static bool table_grow(struct link_ep *ep)
{
	size_t count = ep->send_count == 0 ? 64 : 2 * ep->send_count;
	struct send **grown = realloc(ep->sends, count * sizeof(*grown));

	if (grown == NULL)
		return false;
	ep->sends = grown;
	while (ep->send_count < count) {
		struct send *send = calloc(1, sizeof(*send));
		if (send == NULL)
			return ep->free_sends != NULL;
		send->request = (uint32_t)ep->send_count;
		send->op.kind = OP_SEND;
		send->ep = ep;
		send->next = ep->free_sends;
		ep->free_sends = send;
		ep->sends[ep->send_count] = send;
		set_seen(ep->send_count, ep->send_count + 1);
	}
	return true;
}

static struct send *send_take(struct link_ep *ep)
{
	struct send *send;

	link_lock(&ep->sending);
	if (ep->free_sends == NULL && !table_grow(ep)) {
		link_unlock(&ep->sending);
		return NULL;
	}
	send = ep->free_sends;
	ep->free_sends = send->next;
	send->is_used = true;
	send->was_seen = send->is_pushed = false;
	send->rail = NULL;
	send->turn++;
	link_unlock(&ep->sending);
	return send;
}

static void send_put(struct link_ep *ep, struct send *send)
{
	exposed_end(&send->exposed);
	link_lock(&ep->sending);
	send->is_used = false;
	send->next = ep->free_sends;
	ep->free_sends = send;
	link_unlock(&ep->sending);
}

struct send *send_find(struct link_ep *ep, uint32_t request, uint64_t number)
{
	struct send *send;

	if (request >= ep->send_count)
		return NULL;
	send = ep->sends[request];
	return send->is_used && send->number == number ? send : NULL;
}

bool send_answered(struct link_ep *ep, const struct link_frame *frame)
{
	struct send *send;

	link_lock(&ep->sending);
	send = send_find(ep, frame->request, frame->sender);
	link_unlock(&ep->sending);
	if (send == NULL) {
		link_info(EP_DATA, "an answer to what was not asked\n");
		return false;
	}
	void *context = send->context;
	uint64_t flags = send->flags;
	send_put(ep, send);
	if (frame->error == 0)
		send_completed(ep, context, flags);
	else
		send_failed(ep, context, flags, frame->error);
	return true;
}

/* One at a time: reporting it takes other locks. */
static uint64_t waits_since_before(struct rail *rail, size_t i)
{
	struct link_ep *ep = rail->ep;
	uint64_t number = 0;

	link_lock(&ep->sending);
	struct send *send = ep->sends[i];
	if (send->is_used && send->rail == rail_answering(rail)) {
		if (send->was_seen)
			number = send->number;
		send->was_seen = true;
	}
	link_unlock(&ep->sending);
	return number;
}

void send_each_old(struct rail *rail, loss_report *report, void *arg)
{
	for (size_t i = 0; i < peek_at(rail->ep->send_count); i++) {
		uint64_t number = waits_since_before(rail, i);
		if (number != 0)
			report(rail, number, arg);
	}
}

void send_drop_of(struct rail *rail, uint64_t number, int error)
{
	struct link_ep *ep = rail->ep;

	for (size_t i = 0; i < peek_at(ep->send_count); i++) {
		struct link_frame frame = { .sender = number,
					    .request = (uint32_t)i,
					    .error = error };
		link_lock(&ep->sending);
		bool is_it = ep->sends[i]->is_used &&
			     ep->sends[i]->rail == rail &&
			     ep->sends[i]->number == number;
		link_unlock(&ep->sending);
		if (is_it && send_answered(ep, &frame))
			rail_answered(rail);
	}
}

static struct send *send_to(struct link_ep *ep, uint64_t number)
{
	struct send *found = NULL;

	link_lock(&ep->sending);
	for (size_t i = 0; i < ep->send_count && found == NULL; i++)
		if (ep->sends[i]->is_used && ep->sends[i]->number == number)
			found = ep->sends[i];
	link_unlock(&ep->sending);
	return found;
}

void send_peer_failed(struct link_ep *ep, uint64_t number, int error)
{
	struct send *send;

	while ((send = send_to(ep, number)) != NULL) {
		const struct link_frame failed = { .sender = number,
						   .request = send->request,
						   .error = error };
		if (send_answered(ep, &failed))
			rail_answered(fabric_rail(ep, 0));
	}
}

void sends_unregister(struct link_ep *ep)
{
	for (size_t i = 0; i < ep->send_count; i++)
		exposed_hide(&ep->sends[i]->exposed);
}

void send_drop_all(struct link_ep *ep)
{
	for (size_t i = 0; i < ep->send_count; i++) {
		exposed_end(&ep->sends[i]->exposed);
		free(ep->sends[i]);
	}
	free(ep->sends);
}

/* --- ways to send --- */

ssize_t send_injected(struct rail *rail, const struct peer *peer,
		      const struct link_message *m)
{
	uint8_t buffer[LINK_INJECT_SIZE];
	const void *data = iov_one(m->iov, m->count, buffer);
	fi_addr_t to = peer->cores[rail->index];

	if ((m->flags & FI_REMOTE_CQ_DATA) != 0)
		return fi_tinjectdata(rail->core, data, m->size, m->data, to,
				      m->tag);
	return fi_tinject(rail->core, data, m->size, to, m->tag);
}

static struct link_frame frame_of(const struct link_ep *ep,
				  enum frame_kind kind,
				  const struct link_message *m)
{
	bool is_tagged = (m->tag & LINK_UNTAGGED) == 0;

	return (struct link_frame){
		.kind = kind,
		.flags = (is_tagged ? 0 : FRAME_UNTAGGED) |
			 ((m->flags & FI_REMOTE_CQ_DATA) != 0 ? FRAME_HAS_DATA
							      : 0),
		.sender = ep->number,
		.tag = is_tagged ? m->tag : 0,
		.data = m->data,
		.size = m->size,
	};
}

/* A few go as soon as the core has got to know the peer. */
static bool may_wait(const struct rail *rail, const struct peer *peer)
{
	return peer->flow == NULL && peer->under_way < LINK_SENDS_MAX &&
	       pending_accepts(rail, peer);
}

static ssize_t send_eager(struct rail *rail, struct peer *peer,
			  const struct link_message *m)
{
	struct link_frame frame = frame_of(rail->ep, FRAME_EAGER, m);
	const struct frame_end end = { m->context, m->flags };

	return rail_send_frame(rail, peer, &frame, m->iov, m->count, &end,
			       may_wait(rail, peer));
}

static ssize_t send_ready(struct rail *rail, struct peer *peer,
			  const struct link_message *m)
{
	struct link_ep *ep = rail->ep;
	struct send *send = send_take(ep);
	struct link_frame frame = frame_of(ep, FRAME_READY, m);
	ssize_t result;

	if (send == NULL)
		return -FI_ENOMEM;
	send->context = m->context;
	send->flags = m->flags;
	send->number = peer->number;
	send->rail = rail_answering(rail);
	send->size = m->size;
	frame.request = send->request;
	memcpy(frame.from, ep->address_bytes, sizeof(frame.from));
	frame.rail_count = peer->flow == NULL ? 1 : ep->flows->count;
	result = expose(rail, frame.rail_count, m->iov, m->count, m->flags,
			frame.rails, &send->exposed);
	if (result == 0)
		result = rail_send_frame(rail, peer, &frame, NULL, 0, NULL,
					 may_wait(rail, peer));
	if (result != 0)
		send_put(ep, send);
	else
		rail_asked(rail);
	return result;
}

/* What is to be read is answered when it is where it belongs. */
static bool is_eager(const struct rail *rail, const struct link_message *m)
{
	return m->size <= rail->eager_size &&
	       (m->flags & FI_DELIVERY_COMPLETE) == 0;
}

/* Without a frame, where the core takes it so. */
static bool is_direct(const struct rail *rail, const struct peer *peer,
		      const struct link_message *m)
{
	return peer->knows_us && rail->way != RAIL_MATCHED &&
	       m->size <= rail->direct_size &&
	       (m->flags & FI_DELIVERY_COMPLETE) == 0 &&
	       (rail->way == RAIL_SHARED || direct_takes(m));
}

static ssize_t send_somehow(struct rail *rail, struct peer *peer,
			    const struct link_message *m)
{
	bool is_behind = rail->pending != NULL && pending_has(rail, peer);
	ssize_t result;

	if (peer->is_lost)
		return -FI_EHOSTUNREACH;
	if (is_behind && !may_wait(rail, peer))
		return -FI_EAGAIN; /* what waits goes first */
	if (is_behind || !is_direct(rail, peer, m)) {
		if (rail->way == RAIL_MATCHED && (m->tag & LINK_UNTAGGED) == 0)
			return is_behind ? -FI_EAGAIN
					 : passed_send(rail, peer, m);
		return is_eager(rail, m) ? send_eager(rail, peer, m)
					 : send_ready(rail, peer, m);
	}
	if (rail->way != RAIL_SHARED)
		return direct_send(rail, peer, m);
	result = send_injected(rail, peer, m);
	if (result == 0)
		send_completed(rail->ep, m->context, m->flags);
	return result;
}

ssize_t send_message(struct link_ep *ep, const struct link_message *m)
{
	struct peer *peer = ep_peer(ep, m->to);
	struct rail *rail;
	ssize_t result;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	if (peer == NULL)
		return name_refusal(ep, m->to);
	rail = rail_for(ep, peer);
	link_lock(&rail->lock);
	result = send_somehow(rail, peer, m);
	if (result == 0)
		rail_used(rail, m->size);
	return rail_tried(rail, peer, result);
}
