/* SPDX-License-Identifier: BSD-3-Clause */
/* A receiver reads a message from its sender's memory, and says so. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <utlist.h>

#include "link/stripes.h"

static struct message_end end_of(const struct reading *reading)
{
	return (struct message_end){
		.size = reading->size,
		.tag = reading->receive->is_tagged ? reading->frame.tag : 0,
		.data = reading->frame.data,
		.flags = (reading->frame.flags & FRAME_HAS_DATA) != 0
				 ? FI_REMOTE_CQ_DATA
				 : 0,
		.source = reading->source,
	};
}

static void answer(struct rail *rail, const struct frame *of, int error,
		   uint64_t size)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer = ep_peer_or_stranger(rail, of->sender, of->from);
	struct frame frame = {
		.kind = FRAME_DONE,
		.sender = ep->number,
		.request = of->request,
		.error = error,
		.size = size,
	};

	if (peer != NULL && peer->is_lost)
		return;
	if (peer == NULL ||
	    rail_send_frame(rail, peer, &frame, NULL, 0, NULL, true) != 0)
		link_warn(EP_DATA, "a sender cannot be answered\n");
}

static void reading_free(struct reading *reading)
{
	DL_DELETE2(reading->rail->issued, reading, before, after);
	rail_give_back(&reading->lent);
	push_forget(reading);
	free(reading);
}

static void reading_end(struct reading *reading, int error)
{
	struct rail *rail = reading->rail;
	struct receive *receive = reading->receive;
	const struct message_end end = end_of(reading);
	uint64_t missing = reading->frame.size - reading->size;

	/* Another way may be left. */
	if (error != 0 && error != LOSS_ERROR && !reading->is_pushed &&
	    push_ask(reading) == 0)
		return;
	rail->owed--;
	answer(rail, &reading->frame, error, error == 0 ? reading->size : 0);
	if (error != 0)
		receive_failed(receive, &end, error, 0);
	else if (missing > 0)
		receive_failed(receive, &end, FI_ETRUNC, missing);
	else
		receive_done(receive, &end);
	reading_free(reading);
}

void reading_ended(struct reading *reading, int error)
{
	if (reading->receive == NULL)
		reading_free(reading);
	else
		reading_end(reading, error);
}

/* It has not begun, and its sender cannot be answered. */
static void reading_fail(struct reading *reading, int error)
{
	struct message_end end = end_of(reading);

	end.size = 0;
	receive_failed(reading->receive, &end, error, 0);
	free(reading);
}

void reading_refuse(struct arrival *arrival)
{
	struct rail *rail = arrival->rail;

	link_lock(&rail->lock);
	answer(rail, &arrival->frame, 0, 0);
	link_unlock(&rail->lock);
}

/* --- by several rails --- */

struct striped {
	struct stripes stripes;
	struct stripes_part part;
	struct receive *receive;
	fi_addr_t source;
	struct frame frame;
};

static int striped_put(struct stripes *stripes, uint64_t offset,
		       const uint8_t *bytes, size_t size)
{
	const struct striped *s = container(stripes, struct striped, stripes);

	iov_put_at(s->receive->iov, s->receive->count, offset, bytes, size);
	return 0;
}

static void striped_answer(const struct striped *s)
{
	struct flow *flow = s->stripes.flow;
	struct frame frame = {
		.kind = FRAME_DONE,
		.sender = s->stripes.ep->number,
		.request = s->frame.request,
		.error = s->stripes.error,
		.size = s->stripes.error == 0 ? s->stripes.size : 0,
	};

	if (flow == NULL || flow->order.is_lost ||
	    flow_send(flow, &frame, NULL, 0, NULL, true) != 0)
		link_warn(EP_DATA, "a sender cannot be answered\n");
}

static void striped_end(struct stripes *stripes)
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

	striped_answer(s);
	if (stripes->error != 0)
		receive_failed(s->receive, &end, stripes->error, 0);
	else if (missing > 0)
		receive_failed(s->receive, &end, FI_ETRUNC, missing);
	else
		receive_done(s->receive, &end);
	free(s);
}

static void striped_drop(struct stripes *stripes)
{
	struct striped *s = container(stripes, struct striped, stripes);

	free(s->receive);
	free(s);
}

static bool striped_start(struct rail *rail, struct receive *receive,
			  const struct arrival *arrival)
{
	static const struct stripes_use use = { striped_put, striped_end,
						striped_drop };
	struct link_ep *ep = rail->ep;
	struct striped *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return false;
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
		.size = arrival->size < receive->size ? arrival->size
						      : receive->size,
		/* No peer of this link says so. */
		.error = s->frame.rail_count == ep->flows->count ? 0 : FI_EIO,
	};
	stripes_start(&s->stripes);
	return true;
}

void reading_start(struct rail *rail, struct receive *receive,
		   const struct arrival *arrival)
{
	struct reading *reading;
	const struct message_end end = { .tag = arrival->frame.tag,
					 .source = source_address(
						 arrival->match.source) };

	if (has_flows(rail) && striped_start(rail, receive, arrival))
		return;
	reading = has_flows(rail) ? NULL : calloc(1, sizeof(*reading));
	if (reading == NULL) {
		receive_failed(receive, &end, FI_ENOMEM, 0);
		return;
	}
	reading->op.kind = OP_READ;
	reading->ep = rail->ep;
	reading->rail = rail;
	reading->receive = receive;
	reading->frame = arrival->frame;
	reading->source = source_address(arrival->match.source);
	reading->size =
		arrival->size < receive->size ? arrival->size : receive->size;
	link_lock(&rail->working);
	set_seen(*rail->work_end, reading);
	rail->work_end = &reading->next;
	link_unlock(&rail->working);
	/* Not within a callback of the core: who polls goes on with it. */
	if (!peek_at(rail->is_polling) && link_trylock(&rail->lock)) {
		reading_work(rail);
		link_unlock(&rail->lock);
	}
}

/*
 * From the sender's memory, at once: what shm would do, without asking it to
 * register the memory and to send a command. Returns 1, or a negative errno.
 */
static int read_here(const struct frame_rail *from, struct iovec *iov,
		     size_t count, size_t size)
{
	struct iovec remote = { (void *)(uintptr_t)from->address, size };

	while (remote.iov_len > 0) {
		ssize_t got = process_vm_readv((pid_t)from->key, iov, count,
					       &remote, 1, 0);
		if (got <= 0)
			return got == 0         ? -FI_EIO
			       : errno == ESRCH ? -LOSS_ERROR
						: -errno;
		remote.iov_base = (uint8_t *)remote.iov_base + got;
		remote.iov_len -= (size_t)got;
		iov_skip(&iov, &count, (size_t)got);
	}
	return 1;
}

static int reading_issue(struct rail *rail, struct reading *reading)
{
	const struct receive *receive = reading->receive;
	struct iovec iov[LINK_IOV_MAX];
	void *descs[LINK_IOV_MAX];
	int result;
	size_t count =
		iov_slice(receive->iov, receive->count, 0, reading->size, iov);
	const struct peer *peer = ep_peer_or_stranger(
		rail, reading->frame.sender, reading->frame.from);

	if (peer == NULL)
		return -FI_EADDRNOTAVAIL;
	if (peer->is_lost)
		return -LOSS_ERROR;
	if (count == 0)
		return 1;
	if (rail->way == RAIL_SHARED)
		return read_here(&reading->frame.rails[0], iov, count,
				 reading->size);
	result = rail_lend(rail, iov, count, FI_READ, NULL, descs,
			   &reading->lent);
	if (result != 0)
		return result;
	result = (int)fi_readv(rail->core, iov, descs, count,
			       peer->cores[rail->index],
			       reading->frame.rails[0].address,
			       reading->frame.rails[0].key, &reading->op);
	if (result != 0)
		rail_give_back(&reading->lent);
	return result;
}

/* --- senders that have ended --- */

static void tell_old(struct rail *rail, struct reading *reading,
		     void (*tell)(struct rail *rail, uint64_t number,
				  void *arg),
		     void *arg)
{
	if (reading->was_seen)
		tell(rail, reading->frame.sender, arg);
	reading->was_seen = true;
}

void reading_each_old(struct rail *rail,
		      void (*tell)(struct rail *rail, uint64_t number,
				   void *arg),
		      void *arg)
{
	for (struct reading *r = rail->issued; r != NULL; r = r->after)
		tell_old(rail, r, tell, arg);
	link_lock(&rail->working);
	for (struct reading *r = rail->work; r != NULL; r = r->next)
		tell_old(rail, r, tell, arg);
	link_unlock(&rail->working);
}

static struct reading *work_take(struct rail *rail)
{
	struct reading *reading;

	if (peek_at(rail->work) == NULL)
		return NULL; /* each poll asks, and seldom there is some */
	link_lock(&rail->working);
	reading = rail->work;
	if (reading != NULL) {
		set_seen(rail->work, reading->next);
		if (rail->work == NULL)
			rail->work_end = &rail->work;
	}
	link_unlock(&rail->working);
	return reading;
}

static void work_return(struct rail *rail, struct reading *reading)
{
	link_lock(&rail->working);
	reading->next = rail->work;
	if (rail->work == NULL)
		rail->work_end = &reading->next;
	set_seen(rail->work, reading);
	link_unlock(&rail->working);
}

void reading_leave_of(struct rail *rail, uint64_t number, int error)
{
	struct reading *reading;

	DL_FOREACH2(rail->issued, reading, after)
	if (reading->frame.sender == number && reading->receive != NULL) {
		struct message_end end = end_of(reading);
		end.size = 0;
		rail->owed--;
		receive_failed(reading->receive, &end, error, 0);
		reading->receive = NULL;
	}
}

/* What the core reads already ends by itself, as a rule: its connection is gone. */
void reading_drop_of(struct rail *rail, uint64_t number, int error)
{
	struct reading *list, *next, *reading;

	for (reading = rail->issued; reading != NULL; reading = next) {
		next = reading->after;
		if (reading->is_pushed && reading->frame.sender == number)
			reading_ended(reading, error);
	}
	link_lock(&rail->working);
	list = rail->work;
	set_seen(rail->work, NULL);
	rail->work_end = &rail->work;
	link_unlock(&rail->working);
	for (reading = list; reading != NULL; reading = next) {
		next = reading->next;
		if (reading->frame.sender == number) {
			reading_fail(reading, error);
			continue;
		}
		reading->next = NULL;
		link_lock(&rail->working);
		set_seen(*rail->work_end, reading);
		rail->work_end = &reading->next;
		link_unlock(&rail->working);
	}
}

void reading_work(struct rail *rail)
{
	struct reading *reading;

	while ((reading = work_take(rail)) != NULL) {
		int result = reading_issue(rail, reading);
		if (result == -FI_EAGAIN) {
			work_return(rail, reading);
			return;
		}
		rail->owed++;
		DL_APPEND2(rail->issued, reading, before, after);
		if (result != 0)
			reading_ended(reading, result < 0 ? -result : 0);
	}
}
