/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages whose memory the receiver cannot read: it asks the sender for them
 * in pieces. Pieces go as fast as the core accepts them, directly into the
 * receive's buffers, so that only the sender keeps data. A core may complete a
 * short piece before a long one that was sent first.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/push.h"
#include "link/iov.h"
#include "link/send.h"
#include "link/slab.h"
#include "link/unlisted.h"

#define PIECES 8 /* of one message, before it is the next one's turn */

/* --- the receiver --- */

int push_ask(struct reading *reading)
{
	struct rail *rail = reading->rail;
	struct link_ep *ep = rail->ep;
	struct peer *peer;
	int result = ep_peer_or_unlisted(rail, reading->frame.sender,
					 reading->frame.from, &peer);
	struct link_frame frame = { .kind = FRAME_PUSH,
				    .sender = ep->number,
				    .request = reading->frame.request,
				    .reader = ++rail->last_reader,
				    .size = reading->size };
	struct reading *other;

	if (result != 0)
		return result;
	HASH_FIND(hh, rail->readers, &frame.reader, sizeof(frame.reader),
		  other);
	if (peer->is_lost || other != NULL)
		return -FI_EHOSTUNREACH;
	reading->reader = frame.reader;
	HASH_ADD(hh, rail->readers, reader, sizeof(reading->reader), reading);
	if (!hash_was_added(reading))
		return -FI_ENOMEM;
	result = rail_send_frame(rail, peer, &frame, NULL, 0, NULL, true);
	if (result != 0) {
		HASH_DEL(rail->readers, reading);
		return result;
	}
	link_info(EP_DATA, "memory that cannot be read: it is sent in "
			   "pieces\n");
	reading->is_pushed = true;
	return 0;
}

void push_forget(struct reading *reading)
{
	if (reading->is_pushed)
		HASH_DEL(reading->rail->readers, reading);
}

void push_take_piece(struct rail *rail, const struct link_frame *frame)
{
	const struct receive *receive;
	struct reading *reading;

	rail = rail_answering(rail);
	HASH_FIND(hh, rail->readers, &frame->reader, sizeof(frame->reader),
		  reading);
	if (reading == NULL || reading->frame.sender != frame->sender ||
	    frame->offset > reading->size ||
	    frame->size > reading->size - frame->offset) {
		link_info(EP_DATA, "a piece of what was not asked for\n");
		return;
	}
	receive = reading->receive;
	iov_put_at(receive->iov, receive->count, frame->offset, frame->payload,
		   (size_t)frame->size);
	reading->got += (size_t)frame->size;
	if (reading->got >= reading->size)
		reading_ended(reading, 0);
}

/* --- the sender --- */

struct push {
	struct push *next;
	uint32_t request, turn, reader;
	uint64_t number; /* of the endpoint that gets it */
	size_t at, size;
};

int push_take_push(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct push *push = calloc(1, sizeof(*push));
	struct send *send;

	if (push == NULL)
		return -FI_ENOMEM;
	link_lock(&ep->sending);
	send = send_find(ep, frame->request, frame->sender);
	if (send == NULL || send->is_pushed || send->exposed.data == NULL) {
		link_unlock(&ep->sending);
		free(push);
		link_info(EP_DATA, "a message that is not there is asked "
				   "for\n");
		return 0;
	}
	send->is_pushed = true;
	*push = (struct push){ .request = frame->request,
			       .turn = send->turn,
			       .reader = frame->reader,
			       .number = frame->sender,
			       .size = send->size };
	link_unlock(&ep->sending);
	if (frame->size < push->size)
		push->size = (size_t)frame->size;
	LL_APPEND(rail->pushes, push);
	return 0;
}

/*
 * The next piece. Returns 0, -FI_EAGAIN, or another error when there is none.
 * Who answers frees the memory: not before it is copied.
 */
static int piece_send(struct rail *rail, struct push *push)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer_by_number(rail, push->number);
	size_t max = (rail->way == RAIL_SHARED ? rail->inject_size
					       : LINK_FRAME_SIZE) -
		     FRAME_PIECE_SIZE;
	size_t size = push->size - push->at < max ? push->size - push->at : max;
	struct link_frame frame = { .kind = FRAME_PIECE,
				    .sender = ep->number,
				    .reader = push->reader,
				    .offset = push->at,
				    .size = size };
	int result = -FI_ENOENT;
	struct send *send;

	if (peer == NULL || peer->is_lost || size == 0)
		return -FI_ENOENT;
	link_lock(&ep->sending);
	send = send_find(ep, push->request, push->number);
	if (send != NULL && send->turn == push->turn) {
		const struct iovec iov = {
			(uint8_t *)send->exposed.data + push->at, size
		};
		result = rail_send_frame(rail, peer, &frame, &iov, 1, NULL,
					 false);
	}
	link_unlock(&ep->sending);
	if (result == 0)
		push->at += size;
	else if (result == -FI_EAGAIN)
		rail->loss.refused = peer;
	return result == -FI_ENOMEM ? -FI_EAGAIN : result;
}

void push_work(struct rail *rail)
{
	struct push *push, *next;

	LL_FOREACH_SAFE (rail->pushes, push, next) {
		int result = 0;
		for (unsigned int i = 0; i < PIECES && result == 0; i++)
			result = piece_send(rail, push);
		if (result != 0 && result != -FI_EAGAIN) {
			LL_DELETE(rail->pushes, push);
			free(push);
		}
	}
}

void push_drop_all(struct rail *rail)
{
	struct push *push, *next;

	LL_FOREACH_SAFE (rail->pushes, push, next)
		free(push);
	HASH_CLEAR(hh, rail->readers);
}
