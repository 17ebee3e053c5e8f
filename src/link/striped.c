/* SPDX-License-Identifier: BSD-3-Clause */
/* A message that is read from its sender by several rails; see rendezvous.c. */
#include <stdlib.h>
#include <string.h>

#include "link/iov.h"
#include "link/loss.h"
#include "link/rendezvous.h"
#include "link/stripes.h"

struct striped {
	struct stripes stripes;
	struct stripes_part part;
	struct receive *receive;
	fi_addr_t source;
	struct link_frame frame;
};

static int striped_put(struct stripes *stripes, uint64_t offset,
		       const uint8_t *bytes, size_t size)
{
	const struct striped *s = container(stripes, struct striped, stripes);

	iov_put_at(s->receive->iov, s->receive->count, offset, bytes, size);
	return 0;
}

static int striped_answer(const struct striped *s)
{
	struct flow *flow = s->stripes.flow;
	struct link_frame frame = {
		.kind = FRAME_DONE,
		.sender = s->stripes.ep->number,
		.request = s->frame.request,
		.error = s->stripes.error,
		.size = s->stripes.error == 0 ? s->stripes.size : 0,
	};

	int result = flow == NULL || flow->order.is_lost
			     ? -FI_EHOSTUNREACH
			     : flow_send(flow, &frame, NULL, 0, NULL, true);

	if (result != 0 && result != -FI_ENOMEM)
		link_warn(EP_DATA, "a sender cannot be answered\n");
	return result;
}

/* It is asked for in pieces: the memory is that of its reading then. */
static bool push_instead(struct striped *s)
{
	struct flow *flow = s->stripes.flow;
	int error = s->stripes.error;

	if (error == 0 || error == LOSS_ERROR || !s->stripes.has_other_way ||
	    flow == NULL)
		return false;
	flow->unread++;
	reading_push(s->receive, arrival_around(s), error);
	return true;
}

static int striped_end(struct stripes *stripes)
{
	struct striped *s = container(stripes, struct striped, stripes);
	const struct message_end end = {
		.size = stripes->error == 0 ? stripes->size : 0,
		.tag = s->receive->is_tagged ? s->frame.tag : 0,
		.data = s->frame.data,
		.flags = (s->frame.flags & FRAME_HAS_DATA) != 0
				 ? FI_REMOTE_CQ_DATA
				 : 0,
		.source = s->source,
	};
	uint64_t missing = s->frame.size - stripes->size;

	if (push_instead(s))
		return 0;
	if (striped_answer(s) == -FI_ENOMEM)
		return -FI_ENOMEM;
	if (stripes->error != 0)
		receive_failed(s->receive, &end, stripes->error, 0);
	else if (missing > 0)
		receive_failed(s->receive, &end, FI_ETRUNC, missing);
	else
		receive_done(s->receive, &end);
	free(arrival_around(s));
	return 0;
}

static void striped_drop(struct stripes *stripes)
{
	struct striped *s = container(stripes, struct striped, stripes);

	free(s->receive);
	free(arrival_around(s));
}

_Static_assert(_Alignof(struct striped) <= _Alignof(struct arrival) &&
		       sizeof(struct striped) != LINK_INJECT_SIZE,
	       "a message to be read has memory for that behind it");

size_t striped_capacity(void)
{
	return sizeof(struct striped);
}

void striped_start(struct receive *receive, struct arrival *arrival)
{
	static const struct stripes_use use = { striped_put, striped_end,
						striped_drop };
	struct link_ep *ep = arrival->ep;
	struct striped *s = (struct striped *)arrival->data;
	size_t size =
		arrival->size < receive->size ? arrival->size : receive->size;
	bool is_whole = arrival->frame.rail_count == ep->flows->count;

	memset(s, 0, sizeof(*s));
	s->receive = receive;
	s->source = source_address(arrival->match.source);
	s->frame = arrival->frame;
	s->part.size = arrival->size;
	memcpy(s->part.rails, s->frame.rails, sizeof(s->part.rails));
	s->stripes = (struct stripes){
		.use = &use,
		.ep = ep,
		.number = s->frame.sender,
		.parts = &s->part,
		.size = size,
		.has_other_way = is_whole && size > 0,
		/* No peer of this link says so. */
		.error = is_whole ? 0 : FI_EIO,
	};
	stripes_start(&s->stripes);
}
