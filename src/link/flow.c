/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames to a peer that several rails lead to: order.h says what is sent when.
 */
#include "link/flow.h"
#include "link/iov.h"
#include "link/loss.h"
#include "link/reach.h"
#include "link/rendezvous.h"
#include "link/send.h"
#include "link/unlisted.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* --- flows --- */

struct flow *flow_find(struct link_ep *ep, uint64_t number)
{
	struct flow *flow;

	HASH_FIND(hh, ep->flows->by_number, &number, sizeof(number), flow);
	return flow;
}

static bool insert_at(struct flow *flow, unsigned int place,
		      const struct rail_address *to)
{
	struct rail *rail = fabric_rail(flow->ep, place);

	if (fi_av_insert(rail->av, to->bytes, 1, &flow->cores[place], 0,
			 NULL) == 1)
		return true;
	flow->cores[place] = FI_ADDR_NOTAVAIL;
	return false;
}

/* Both sides have to come to the same. */
static uint64_t chance_of(uint64_t a, uint64_t b)
{
	uint64_t mixed = (a ^ b) * UINT64_C(0x9e3779b97f4a7c15);

	return mixed >> 32;
}

/* It is not in the table. */
static void flow_undo(struct flow *flow)
{
	for (unsigned int i = 0; i < flow->ep->flows->count; i++)
		if (flow->cores[i] != FI_ADDR_NOTAVAIL)
			fi_av_remove(fabric_rail(flow->ep, i)->av,
				     &flow->cores[i], 1, 0);
	free(flow);
}

int flow_get(struct link_ep *ep, const struct link_address *address,
	     struct flow **ret_flow)
{
	struct flow *flow = flow_find(ep, address->number);
	struct flows *flows = ep->flows;
	uint64_t speeds[RAILS_MAX];
	unsigned int rails = 0;

	if (flow != NULL) {
		*ret_flow = flow;
		return 0;
	}
	flow = calloc(1, sizeof(*flow));
	if (flow == NULL)
		return -FI_ENOMEM;
	flow->ep = ep;
	flow->number = address->number;
	flow->kept_end = &flow->kept;
	for (unsigned int i = 0; i < flows->count; i++) {
		flow->cores[i] = FI_ADDR_NOTAVAIL;
		speeds[i] = fabric_rail(ep, i)->speed;
		if (i < address->known_count &&
		    insert_at(flow, i, &address->rails[i]))
			rails |= 1U << i;
	}
	if (rails == 0) {
		free(flow);
		return -FI_EHOSTUNREACH;
	}
	flow->known = address->known_count;
	order_init(&flow->order, flows->count, rails, speeds,
		   chance_of(ep->number, address->number));
	HASH_ADD(hh, flows->by_number, number, sizeof(flow->number), flow);
	if (!hash_was_added(flow)) {
		flow_undo(flow);
		return -FI_ENOMEM;
	}
	*ret_flow = flow;
	return 0;
}

void flow_list(struct flow *flow)
{
	if (flow->is_listed)
		return;
	flow->is_listed = true;
	DL_APPEND2(flow->ep->flows->busy, flow, before, after);
}

/* --- slabs --- */

static void slab_done(struct slab *slab)
{
	if (!slab->is_kept && slab->at == NULL)
		slab_put(slab->rail, slab);
}

void flow_slab_back(struct slab *slab, int error)
{
	struct flow *flow = slab->flow;
	struct rail *rail = slab->at;

	slab->at = NULL;
	slab_done(slab);
	if (error != 0)
		flow_rail_failed(flow, rail, error);
}

/* A core that does not end with it keeps it: another one is sent. */
static struct slab *slab_twin(struct flow *flow, struct slab *slab)
{
	struct slab *twin = slab_take(slab->rail);
	struct slab **at = &flow->kept;

	if (twin == NULL)
		return NULL;
	twin->flow = flow;
	twin->peer = NULL;
	twin->at = NULL;
	twin->is_kept = true;
	twin->sequence = slab->sequence;
	twin->ends_send = slab->ends_send;
	twin->context = slab->context;
	twin->flags = slab->flags;
	twin->size = slab->size;
	memcpy(twin->bytes, slab->bytes, slab->size);
	while (*at != slab)
		at = &(*at)->next;
	*at = twin;
	twin->next = slab->next;
	if (flow->kept_end == &slab->next)
		flow->kept_end = &twin->next;
	slab->is_kept = false;
	return twin;
}

static ssize_t slab_give(struct flow *flow, struct rail *rail,
			 struct slab *slab)
{
	fi_addr_t to = flow->cores[fabric_place(rail)];
	void *desc;
	ssize_t result;

	if (slab->size <= rail->inject_size) {
		result = fi_inject(rail->core, slab->bytes, slab->size, to);
	} else {
		result = rail_slab_desc(rail, slab, &desc);
		if (result == 0)
			result = fi_send(rail->core, slab->bytes, slab->size,
					 desc, to, &slab->op);
		if (result == 0) {
			slab->at = rail;
			rail->expected++;
		}
	}
	if (result == 0)
		rail_carried(rail, slab->size);
	return result;
}

/* --- what is kept --- */

static void seek(struct flow *flow)
{
	struct slab *slab = flow->kept;

	while (slab != NULL &&
	       !order_is_later(slab->sequence, flow->order.sent))
		slab = slab->next;
	flow->next_slab = slab;
}

static struct slab *kept_pop(struct flow *flow)
{
	struct slab *slab = flow->kept;

	flow->kept = slab->next;
	if (flow->kept == NULL)
		flow->kept_end = &flow->kept;
	slab->is_kept = false;
	return slab;
}

static void kept_drop(struct flow *flow)
{
	while (flow->kept != NULL &&
	       !order_is_later(flow->kept->sequence, flow->order.acked)) {
		struct slab *slab = kept_pop(flow);
		if (slab->ends_send)
			send_completed(flow->ep, slab->context, slab->flags);
		slab_done(slab);
	}
}

/* --- what is not kept --- */

static struct link_frame frame_of(const struct flow *flow,
				  const struct order_control *control)
{
	const struct link_ep *ep = flow->ep;
	struct link_frame frame = {
		.kind = control->is_probe ? FRAME_RAILS : FRAME_ACK,
		.flags = control->is_missing ? FRAME_MISSING : 0,
		.sender = ep->number,
		.up_to = control->up_to,
		.probe = control->probe,
	};

	if (control->is_probe) {
		frame.rail_count =
			ep->address.rail_count - ep->address.known_count;
		memcpy(frame.from, ep->address_bytes, sizeof(frame.from));
	}
	return frame;
}

ssize_t flow_send_control(struct flow *flow,
			  const struct order_control *control)
{
	const struct link_address *address = &flow->ep->address;
	struct rail *rail = fabric_rail(flow->ep, control->rail);
	struct link_frame frame = frame_of(flow, control);
	struct slab *slab = slab_take(rail);
	ssize_t result;

	if (slab == NULL)
		return -FI_EAGAIN;
	slab->flow = flow;
	slab->peer = NULL;
	slab->at = NULL;
	slab->is_kept = slab->ends_send = false;
	slab->size = frame_encode(&frame, slab->bytes);
	for (unsigned int i = 0; i < frame.rail_count; i++) {
		frame_put_rail(&address->rails[address->known_count + i],
			       slab->bytes + slab->size);
		slab->size += FRAME_RAIL_SIZE;
	}
	result = slab_give(flow, rail, slab);
	slab_done(slab);
	return result;
}

/* It takes it later: a full core says nothing of the way to a peer. */
static bool is_for_later(ssize_t result)
{
	return result == -FI_EAGAIN || result == -FI_ENOMEM;
}

/* Returns the rails whose cores did not take all, a bit each. */
static unsigned int words_say(struct flow *flow, uint64_t now_us)
{
	struct order_control control;
	unsigned int refused = 0;

	while (order_next_control(&flow->order, refused, &control)) {
		ssize_t result = flow_send_control(flow, &control);
		if (result == 0) {
			order_control_sent(&flow->order, &control, now_us);
			continue;
		}
		refused |= 1U << control.rail;
		if (!is_for_later(result))
			flow_rail_failed(flow,
					 fabric_rail(flow->ep, control.rail),
					 (int)-result);
	}
	return refused;
}

/* --- frames that go --- */

/* The same. */
static unsigned int flow_push(struct flow *flow, uint64_t now_us)
{
	unsigned int refused = words_say(flow, now_us);
	uint32_t number;

	while ((number = order_next(&flow->order)) != 0) {
		struct rail *rail = flow_rail(flow);
		struct slab *slab = flow->next_slab;
		ssize_t result;
		if (slab->at != NULL)
			slab = slab_twin(flow, slab);
		if (slab == NULL)
			return refused | 1U << fabric_place(rail);
		flow->next_slab = slab;
		result = slab_give(flow, rail, slab);
		if (is_for_later(result))
			return refused | 1U << fabric_place(rail);
		if (result != 0) {
			flow_rail_failed(flow, rail, (int)-result);
			continue;
		}
		order_sent(&flow->order, number);
		flow->next_slab = slab->next;
	}
	return refused;
}

int flow_send(struct flow *flow, struct link_frame *frame,
	      const struct iovec *iov, size_t count,
	      const struct frame_end *with, bool must)
{
	struct order *order = &flow->order;
	bool is_late = with != NULL && (with->flags & FI_TRANSMIT_COMPLETE);
	struct slab *slab;
	uint64_t now_us;

	if (order->is_lost)
		return -FI_EHOSTUNREACH;
	if (!must && (order->last - order->sent >= LINK_SENDS_WAITING ||
		      !order_accepts(order)))
		return -FI_EAGAIN;
	slab = slab_take(fabric_rail(flow->ep, 0));
	if (slab == NULL)
		return -FI_ENOMEM;
	now_us = flow_now_us();
	if (is_late && frame->kind == FRAME_EAGER)
		frame->flags |= FRAME_URGENT;
	frame->sequence = slab->sequence = order_number(order, now_us);
	slab->size = frame_encode(frame, slab->bytes);
	slab->size += iov_flatten(iov, count, slab->bytes + slab->size);
	slab->flow = flow;
	slab->peer = NULL;
	slab->at = NULL;
	slab->is_kept = true;
	slab->ends_send = is_late;
	slab->next = NULL;
	if (is_late) {
		slab->context = with->context;
		slab->flags = with->flags;
	}
	*flow->kept_end = slab;
	flow->kept_end = &slab->next;
	if (flow->next_slab == NULL)
		flow->next_slab = slab;
	flow_list(flow);
	flow_push(flow, now_us);
	/* It is kept until it is there: the program needs it no more. */
	if (with != NULL && !is_late)
		send_completed(flow->ep, with->context, with->flags);
	return 0;
}

/* --- frames that come --- */

/* Who sends, and by which ways it is reached. */
static struct flow *take_rails(struct rail *by, const struct link_frame *frame)
{
	struct link_ep *ep = by->ep;
	struct flow *flow = flow_find(ep, frame->sender);
	struct link_address address;
	struct rail_address rail;
	struct peer *peer;

	if (flow == NULL &&
	    (link_address_decode(frame->from, &address, NULL) != 0 ||
	     address.number != frame->sender ||
	     address.digest != ep->domain->digest ||
	     flows_admit(ep, &address, &flow) != 0))
		return NULL;
	for (unsigned int i = 0; i < frame->rail_count; i++) {
		unsigned int place = flow->known + i;
		if (place >= ep->flows->count ||
		    flow->cores[place] != FI_ADDR_NOTAVAIL ||
		    frame_get_rail(frame, i, &rail) != 0)
			continue;
		if (!insert_at(flow, place, &rail))
			continue;
		order_add_rail(&flow->order, place);
		ep->flows->can_read = true;
	}
	/* Who is not in the vector may end, too: loss.c asks for peers. */
	(void)ep_peer_or_unlisted(by, frame->sender, frame->from, &peer);
	return flow;
}

static void take_ack(struct flow *flow, unsigned int place,
		     const struct link_frame *frame)
{
	uint32_t turn = flow->order.turn, sent = flow->order.sent;
	bool had_failed = flow->order.rails[place].has_failed;

	if (order_acked(&flow->order, place, frame->up_to, frame->probe,
			(frame->flags & FRAME_MISSING) != 0,
			flow_now_us()) != 0) {
		link_warn(EP_DATA, "an ack of what was not sent: left out\n");
		return;
	}
	if (turn != flow->order.turn || sent != flow->order.sent)
		seek(flow);
	kept_drop(flow);
	if (!had_failed || flow->order.rails[place].has_failed)
		return;
	link_warn(EP_DATA, "%s: leads to a peer again\n",
		  fabric_rail(flow->ep, place)->name);
	flow->ep->flows->can_read = true;
}

int flow_take(struct rail *rail, const struct link_frame *frame,
	      int (*take)(struct rail *rail, const struct link_frame *frame))
{
	struct link_ep *ep = rail->ep;
	unsigned int place = fabric_place(rail);
	struct flow *flow;
	int result;

	/* A place is asked for its name before anything is known of it. */
	if (frame->kind == FRAME_HELLO || frame->kind == FRAME_NAME)
		return take(rail, frame);
	flow = frame->kind == FRAME_RAILS ? take_rails(rail, frame)
					  : flow_find(ep, frame->sender);
	if (flow == NULL) {
		/* What introduces it was lost: it says so again. */
		link_info(EP_DATA, "a frame of somebody unknown: left out\n");
		return 0;
	}
	flow_list(flow);
	if (frame->kind == FRAME_RAILS) {
		order_probed(&flow->order, place, frame->probe);
		return 0;
	}
	if (frame->kind == FRAME_ACK) {
		take_ack(flow, place, frame);
		return 0;
	}
	if (order_came(&flow->order, place, frame->sequence) != ORDER_TAKE)
		return 0;
	result = take(rail, frame);
	if (result == 0)
		order_taken(&flow->order, place, frame->sequence,
			    (frame->flags & FRAME_URGENT) != 0);
	return result;
}

/* --- rails that fail --- */

void flow_rail_failed(struct flow *flow, struct rail *rail, int error)
{
	unsigned int place = fabric_place(rail);
	bool was_usable = order_is_usable(&flow->order, place);

	order_rail_failed(&flow->order, place, flow_now_us());
	if (!was_usable)
		return;
	link_warn(EP_DATA, "%s: does not lead to a peer any more (%s)%s\n",
		  rail->name, fi_strerror(error),
		  order_is_usable(&flow->order, flow->order.rail)
			  ? ": it is reached by another"
			  : "");
	pieces_take_back(flow, rail);
	seek(flow);
	flow_list(flow);
}

/* Nothing leads there any more: what waits for it ends. */
static void flow_lose(struct flow *flow)
{
	struct link_ep *ep = flow->ep;
	struct peer *peer = ep_peer_by_number(fabric_rail(ep, 0), flow->number);

	flow->was_lost = true;
	if (peer != NULL)
		peer_set_lost(peer);
	link_warn(EP_DATA, "a peer is not reached by any rail any more\n");
	while (flow->kept != NULL) {
		struct slab *slab = kept_pop(flow);
		if (slab->ends_send)
			send_failed(ep, slab->context, slab->flags, LOSS_ERROR);
		slab_done(slab);
	}
	flow->next_slab = NULL;
	stripes_fail(flow, LOSS_ERROR);
	reading_drop_of(fabric_rail(ep, 0), flow->number, LOSS_ERROR);
	send_peer_failed(ep, flow->number, LOSS_ERROR);
	asks_drop_of(fabric_rail(ep, 0), flow->number, LOSS_ERROR);
}

bool flow_refused(struct flow *flow, struct rail *rail)
{
	flow_rail_failed(flow, rail, FI_ECONNREFUSED);
	flow_list(flow);
	return order_rail_refused(&flow->order, fabric_place(rail));
}

bool flow_look(struct flow *flow, uint64_t now_us)
{
	uint32_t turn = flow->order.turn;
	unsigned int failed = order_tick(&flow->order, now_us);
	unsigned int refused;

	for (unsigned int i = 0; i < flow->order.count; i++) {
		if ((failed >> i & 1) == 0)
			continue;
		link_warn(EP_DATA,
			  "%s: a peer does not answer by it, but by another\n",
			  fabric_rail(flow->ep, i)->name);
		pieces_take_back(flow, fabric_rail(flow->ep, i));
	}
	if (turn != flow->order.turn)
		seek(flow);
	if (flow->order.is_lost && !flow->was_lost)
		flow_lose(flow);
	refused = flow_push(flow, now_us);
	if (refused == 0 && !order_is_busy(&flow->order)) {
		flow->is_listed = false;
		DL_DELETE2(flow->ep->flows->busy, flow, before, after);
	}
	/* One that has failed may refuse for long. */
	for (unsigned int i = 0; i < flow->order.count; i++)
		if ((refused >> i & 1) != 0 && order_is_usable(&flow->order, i))
			return false;
	return true;
}
