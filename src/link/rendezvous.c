/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A receiver reads a message from its sender's memory, and says so. The memory
 * that this takes comes with the message, before it is matched; and what cannot
 * be asked or answered for want of memory is tried again.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <utlist.h>

#include "link/rendezvous.h"
#include "link/iov.h"
#include "link/loss.h"
#include "link/push.h"
#include "link/stripes.h"
#include "link/unlisted.h"

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

/* 0: also where nobody can be answered. -FI_ENOMEM: not now. */
static int answer(struct rail *rail, const struct link_frame *of, int error,
		  uint64_t size)
{
	struct link_ep *ep = rail->ep;
	struct peer *peer;
	int result = ep_peer_or_unlisted(rail, of->sender, of->from, &peer);
	struct link_frame frame = {
		.kind = FRAME_DONE,
		.sender = ep->number,
		.request = of->request,
		.error = error,
		.size = size,
	};

	if (result == 0 && peer->is_lost)
		return 0;
	if (result == 0)
		result = rail_send_frame(rail, peer, &frame, NULL, 0, NULL,
					 true);
	if (result == -FI_ENOMEM)
		return result;
	if (result != 0)
		link_warn(EP_DATA, "a sender cannot be answered\n");
	return 0;
}

/* --- the memory of it: what its message was kept in --- */

_Static_assert(_Alignof(struct reading) <= _Alignof(struct arrival) &&
		       sizeof(struct reading) != LINK_INJECT_SIZE,
	       "a message to be read has memory for that behind it");

static struct reading *reading_make(struct arrival *arrival,
				    struct receive *receive)
{
	struct reading *reading = (struct reading *)arrival->data;

	*reading = (struct reading){
		.op.kind = OP_READ,
		.ep = arrival->ep,
		.rail = arrival->rail,
		.receive = receive,
		.source = source_address(arrival->match.source),
		.frame = arrival->frame,
		.size = arrival->size,
	};
	if (receive == NULL)
		reading->size = 0;
	else if (receive->size < arrival->size)
		reading->size = receive->size;
	return reading;
}

/* The core has it no more, and no piece comes for it. */
static void reading_leave(struct reading *reading)
{
	DL_DELETE2(reading->rail->issued, reading, before, after);
	rail_give_back(&reading->lent);
	push_forget(reading);
	reading->is_pushed = false;
}

/* --- what is to be done --- */

static void work_add(struct rail *rail, struct reading *reading)
{
	reading->next = NULL;
	link_lock(&rail->working);
	set_seen(*rail->work_end, reading);
	rail->work_end = &reading->next;
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

/* --- its end --- */

/* It has ended for the program, and for the core. */
static void reading_answer(struct reading *reading)
{
	struct rail *rail = reading->rail;

	reading->receive = NULL;
	if (answer(rail, &reading->frame, reading->error,
		   reading->error == 0 ? reading->size : 0) == -FI_ENOMEM)
		work_return(rail, reading);
	else
		free(arrival_around(reading));
}

static void reading_end(struct reading *reading, int error)
{
	struct rail *rail = reading->rail;
	struct receive *receive = reading->receive;
	const struct message_end end = end_of(reading);
	uint64_t missing = reading->frame.size - reading->size;
	int asked = -FI_EHOSTUNREACH;

	/* Another way may be left. */
	if (error != 0 && error != LOSS_ERROR && !reading->is_pushed)
		asked = push_ask(reading);
	if (asked == 0)
		return;
	rail->expected--;
	reading->error = error;
	reading_leave(reading);
	if (asked == -FI_ENOMEM) {
		work_return(rail, reading);
		return;
	}
	if (error != 0)
		receive_failed(receive, &end, error, 0);
	else if (missing > 0)
		receive_failed(receive, &end, FI_ETRUNC, missing);
	else
		receive_done(receive, &end);
	reading_answer(reading);
}

void reading_ended(struct reading *reading, int error)
{
	if (reading->receive != NULL) {
		reading_end(reading, error);
		return;
	}
	reading_leave(reading);
	free(arrival_around(reading));
}

/* It has not begun, or is over; and its sender cannot be answered. */
static void reading_fail(struct reading *reading, int error)
{
	if (reading->receive != NULL) {
		struct message_end end = end_of(reading);
		end.size = 0;
		receive_failed(reading->receive, &end, error, 0);
	}
	free(arrival_around(reading));
}

void reading_refuse(struct arrival *arrival)
{
	struct rail *rail = arrival->rail;

	work_add(rail, reading_make(arrival, NULL));
	rail_poll_soon(rail);
}

size_t reading_capacity(const struct rail *rail)
{
	size_t striped = has_flows(rail) ? striped_capacity() : 0;

	return striped > sizeof(struct reading) ? striped
						: sizeof(struct reading);
}

void reading_start(struct receive *receive, struct arrival *arrival)
{
	struct rail *rail = arrival->rail;

	if (has_flows(rail)) {
		striped_start(receive, arrival);
		return;
	}
	work_add(rail, reading_make(arrival, receive));
	/* Not within a callback of the core: who polls goes on with it. */
	if (!peek_at(rail->is_polling) && link_trylock(&rail->lock)) {
		reading_work(rail);
		link_unlock(&rail->lock);
	}
}

void reading_push(struct receive *receive, struct arrival *arrival, int error)
{
	struct reading *reading = reading_make(arrival, receive);

	reading->rail = rail_answering(arrival->rail);
	reading->error = error;
	work_add(reading->rail, reading);
	rail_poll_soon(reading->rail);
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
	struct peer *peer;

	result = ep_peer_or_unlisted(rail, reading->frame.sender,
				     reading->frame.from, &peer);
	if (result != 0)
		return result == -FI_ENOMEM ? -FI_EAGAIN : result;
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

#define OLD_MAX 64 /* of those that have not begun; others have their turn */

void reading_each_old(struct rail *rail, loss_report *report, void *arg)
{
	uint64_t old[OLD_MAX];
	unsigned int count = 0;

	rail = rail_answering(rail);
	for (struct reading *r = rail->issued; r != NULL; r = r->after) {
		if (r->was_seen)
			report(rail, r->frame.sender, arg);
		r->was_seen = true;
	}
	link_lock(&rail->working);
	for (struct reading *r = rail->work; r != NULL && count < OLD_MAX;
	     r = r->next) {
		if (r->was_seen)
			old[count++] = r->frame.sender;
		r->was_seen = true;
	}
	link_unlock(&rail->working);
	while (count > 0)
		report(rail, old[--count], arg);
}

void reading_leave_of(struct rail *rail, uint64_t number, int error)
{
	struct reading *reading;

	DL_FOREACH2(rail->issued, reading, after)
	if (reading->frame.sender == number && reading->receive != NULL) {
		struct message_end end = end_of(reading);
		end.size = 0;
		rail->expected--;
		receive_failed(reading->receive, &end, error, 0);
		reading->receive = NULL;
	}
}

/*
 * What the core reads already ends by itself, as a rule: its connection is
 * gone.
 */
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
		work_add(rail, reading);
	}
}

/* 0; -FI_EAGAIN: not now. */
static int reading_go_on(struct rail *rail, struct reading *reading)
{
	int result;

	if (reading->receive == NULL) {
		reading_answer(reading);
		return 0;
	}
	result = reading->error != 0 ? -reading->error
				     : reading_issue(rail, reading);
	if (result == -FI_EAGAIN) {
		work_return(rail, reading);
		return result;
	}
	rail->expected++;
	DL_APPEND2(rail->issued, reading, before, after);
	if (result != 0)
		reading_ended(reading, result < 0 ? -result : 0);
	return 0;
}

void reading_work(struct rail *rail)
{
	struct reading *reading;

	/* What is the first again is for later. */
	while ((reading = work_take(rail)) != NULL)
		if (reading_go_on(rail, reading) != 0 ||
		    peek_at(rail->work) == reading)
			return;
}

bool reading_is_unanswered(struct rail *rail)
{
	bool is_expecting = false;

	link_lock(&rail->working);
	for (struct reading *r = rail->work; r != NULL; r = r->next)
		is_expecting |= r->receive == NULL;
	link_unlock(&rail->working);
	return is_expecting;
}

void readings_drop(struct rail *rail)
{
	struct reading *next;

	for (struct reading *r = rail->work; r != NULL; r = next) {
		next = r->next;
		free(r->receive);
		free(arrival_around(r));
	}
	for (struct reading *r = rail->issued; r != NULL; r = next) {
		next = r->after;
		free(r->receive);
		free(arrival_around(r));
	}
}
