/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames to and from one core, and the buffers that they are in. */
#include <stdlib.h>
#include <string.h>

#include "link/slab.h"
#include "link/av.h"
#include "link/direct.h"
#include "link/flow.h"
#include "link/iov.h"
#include "link/keys.h"
#include "link/matched.h"
#include "link/names.h"
#include "link/pending.h"
#include "link/push.h"
#include "link/reach.h"

/* --- frames that go --- */

struct slab *slab_take(struct rail *rail)
{
	struct slab *slab = rail->free_slabs;

	if (slab != NULL) {
		rail->free_slabs = slab->next;
		return slab;
	}
	slab = malloc(sizeof(*slab) + LINK_FRAME_SIZE);
	if (slab == NULL)
		return NULL;
	slab->op.kind = OP_SEND;
	slab->rail = rail;
	slab->flow = NULL;
	slab->at = NULL;
	memset(slab->mrs, 0, sizeof(slab->mrs));
	slab->next_made = rail->made_slabs;
	rail->made_slabs = slab;
	return slab;
}

void slab_put(struct rail *rail, struct slab *slab)
{
	slab->next = rail->free_slabs;
	rail->free_slabs = slab;
}

void rail_frame_gone(struct rail *rail, struct slab *slab, int error)
{
	struct link_ep *ep = rail->ep;

	if (slab->flow != NULL) {
		flow_slab_back(slab, error);
		return;
	}
	if (slab->ends_send && error == 0)
		send_completed(ep, slab->context, slab->flags);
	else if (slab->ends_send)
		send_failed(ep, slab->context, slab->flags, error);
	slab_put(rail, slab);
}

/*
 * Some cores take frames without end, and keep them: so they are counted. The
 * end of the one of many small ones is the end of those before it.
 */
void slab_taken(struct rail *rail, struct slab *slab)
{
	struct peer *peer = slab->peer;

	rail->expected++;
	if (peer == NULL)
		return;
	peer->under_way++;
	slab->ends = peer->unreported + 1;
	peer->unreported = 0;
}

static ssize_t slab_inject(struct rail *rail, struct slab *slab)
{
	struct peer *peer = slab->peer;
	ssize_t result =
		fi_inject(rail->core, slab->bytes, slab->size, slab->to);

	if (result != 0)
		return result;
	if (peer != NULL && rail->way != RAIL_SHARED) {
		peer->under_way++;
		peer->unreported++;
	}
	rail_frame_gone(rail, slab, 0);
	return 0;
}

/* Small frames need no buffer any more when the core has taken them. */
ssize_t rail_slab_send(struct rail *rail, struct slab *slab)
{
	struct peer *peer = slab->peer;
	void *desc;
	ssize_t result;

	if (slab->size <= rail->inject_size && !slab->needs_completion &&
	    (peer == NULL || peer->unreported < LINK_SENDS_UNREPORTED))
		return slab_inject(rail, slab);
	result = rail_slab_desc(rail, slab, &desc);
	if (result == 0)
		result = fi_send(rail->core, slab->bytes, slab->size, desc,
				 slab->to, &slab->op);
	if (result == 0)
		slab_taken(rail, slab);
	return result;
}

void slab_sent(struct rail *rail, struct slab *slab, int error)
{
	struct peer *peer = slab->peer;

	rail->expected--;
	if (peer != NULL)
		peer->under_way -= slab->ends;
	rail_frame_gone(rail, slab, error);
	if (error == LOSS_ERROR && peer != NULL)
		loss_reported(rail, peer);
}

/* What is answered by the peer is lost where the core loses it silently. */
static bool needs_completion(const struct rail *rail, enum frame_kind kind)
{
	return rail->way != RAIL_SHARED &&
	       (kind == FRAME_READY || kind == FRAME_PUSH ||
		kind == FRAME_REACH || kind == FRAME_KNOWN ||
		kind == FRAME_FORGET);
}

void rail_forget(struct rail *rail, const struct peer *peer)
{
	for (struct slab *slab = rail->made_slabs; slab != NULL;
	     slab = slab->next_made)
		if (slab->peer == peer)
			slab->peer = NULL;
}

int rail_send_frame(struct rail *rail, struct peer *peer,
		    struct link_frame *frame, const struct iovec *iov,
		    size_t count, const struct frame_end *with, bool must)
{
	struct slab *slab;
	ssize_t result;

	if (peer->flow != NULL && frame_is_counted(frame->kind))
		return flow_send(peer->flow, frame, iov, count, with, must);
	if (peer->under_way >= LINK_SENDS_MAX && !must)
		return -FI_EAGAIN;
	slab = slab_take(rail);
	if (slab == NULL)
		return -FI_ENOMEM;
	frame->sequence = 0;
	if (frame_is_counted(frame->kind))
		frame->sequence = peer->sequence = order_after(peer->sequence);
	slab->size = frame_encode(frame, slab->bytes);
	slab->size += iov_flatten(iov, count, slab->bytes + slab->size);
	slab->flow = NULL;
	slab->peer = peer;
	slab->needs_completion = needs_completion(rail, frame->kind);
	slab->to = peer->cores[rail->index];
	slab->ends_send = with != NULL;
	if (with != NULL) {
		slab->context = with->context;
		slab->flags = with->flags;
	}
	/* Within a callback of the core it waits, too. */
	if (rail->is_polling ||
	    (rail->pending != NULL && pending_has(rail, peer)))
		result = -FI_EAGAIN;
	else
		result = rail_slab_send(rail, slab);
	if (result == 0)
		return 0;
	if (result == -FI_EAGAIN && must) {
		pending_add(rail, slab);
		return 0;
	}
	if (frame->sequence != 0)
		peer->sequence--;
	slab_put(rail, slab);
	return (int)result;
}

/* --- frames that come --- */

void rail_asked(struct rail *rail)
{
	if (has_flows(rail))
		rail->ep->flows->expected++;
	else
		rail->expected++;
}

void rail_answered(struct rail *rail)
{
	unsigned int *expected =
		has_flows(rail) ? &rail->ep->flows->expected : &rail->expected;

	if (*expected > 0)
		--*expected;
}

/* From now on it can tell by itself whose messages are ours. */
static void take_known(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer(ep, av_find(ep->av, frame->sender));

	if (peer == NULL || peer->knows_us)
		return;
	peer->knows_us = rail->way != RAIL_FRAMED || rail->direct_size > 0;
	if (peer->was_greeted)
		rail->expected--;
}

static int take_frame(struct rail *rail, const struct link_frame *frame)
{
	switch (frame->kind) {
	case FRAME_EAGER:
	case FRAME_READY:
		return receive_frame(rail, frame);
	case FRAME_DONE:
		if (send_answered(rail->ep, frame))
			rail_answered(rail);
		break;
	case FRAME_PUSH:
		return push_take_push(rail, frame);
	case FRAME_PIECE:
		push_take_piece(rail, frame);
		break;
	case FRAME_KNOWN:
		take_known(rail, frame);
		break;
	case FRAME_REACH:
		return reached(rail, frame);
	case FRAME_RESULT:
		reach_answered(rail, frame);
		break;
	case FRAME_TOUCHED:
		touched(rail, frame);
		break;
	case FRAME_HELLO:
	case FRAME_NAME:
		name_take(rail, frame);
		break;
	case FRAME_GREET:
		return passed_greeted(rail, frame);
	case FRAME_FORGET:
		key_forget(rail->ep, frame->sender, frame->key);
		break;
	default:
		link_warn(EP_DATA,
			  "a frame of a kind that was not asked for\n");
	}
	return 0;
}

int rail_take_frame(struct rail *rail, const uint8_t *bytes, size_t size)
{
	struct link_frame frame;

	if (frame_decode(bytes, size, false, &frame) != 0) {
		link_warn(EP_DATA, "%zu bytes that are no frame: left out\n",
			  size);
		return 0;
	}
	if (has_flows(rail))
		return flow_take(rail, &frame, take_frame);
	return take_frame(rail, &frame);
}

static int slab_post(struct rail *rail, struct slab *slab)
{
	void *desc = rail->slabs_mr == NULL ? NULL : fi_mr_desc(rail->slabs_mr);

	return (int)fi_recv(rail->core, slab->bytes, rail->slab_size, desc,
			    FI_ADDR_UNSPEC, &slab->op);
}

void slabs_post(struct rail *rail)
{
	while (rail->to_post != NULL) {
		struct slab *slab = rail->to_post;
		if (slab_post(rail, slab) != 0)
			return;
		rail->to_post = slab->next;
	}
}

void slab_used(struct rail *rail, struct slab *slab)
{
	slab->next = rail->to_post;
	rail->to_post = slab;
}

static int slab_take_in(struct rail *rail, const struct slab *slab)
{
	return slab->is_direct ? direct_take(rail, slab)
			       : rail_take_frame(rail, slab->bytes, slab->size);
}

void slabs_take(struct rail *rail)
{
	while (rail->came != NULL) {
		struct slab *slab = rail->came;
		if (slab_take_in(rail, slab) != 0)
			return;
		rail->came = slab->next;
		slab_used(rail, slab);
	}
}

void slab_came(struct rail *rail, struct slab *slab,
	       const struct fi_cq_tagged_entry *entry, fi_addr_t source)
{
	slab->size = entry->len;
	slab->is_direct = (entry->flags & FI_REMOTE_CQ_DATA) != 0 &&
			  rail->direct_size > 0;
	slab->tag = entry->data;
	slab->core = source;
	slab->next = NULL;
	if (rail->came == NULL)
		rail->came = slab;
	else
		rail->came_last->next = slab;
	rail->came_last = slab;
	slabs_take(rail);
}

/* --- open --- */

int slabs_open(struct rail *rail)
{
	const size_t stride = sizeof(struct slab) + rail->slab_size,
		     count = LINK_BUFFERS_SIZE / rail->slab_size;

	rail->slabs = calloc(count, stride);
	if (rail->slabs == NULL)
		return -FI_ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		struct slab *slab = (struct slab *)(rail->slabs + i * stride);
		slab->op.kind = OP_SLAB;
		slab->rail = rail;
		slab_used(rail, slab);
	}
	return (rail->mr_mode & FI_MR_LOCAL) == 0
		       ? 0
		       : rail_register_own(rail, rail->slabs, count * stride,
					   FI_RECV, &rail->slabs_mr);
}
