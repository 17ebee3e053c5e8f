/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers known by name only. A HELLO asks the address in the name until a NAME
 * answers; then the peer is like any other. Until then sends return -FI_EAGAIN,
 * and after a while fail for good, though the HELLO is repeated: the peer may
 * start later.
 *
 * What an answer brings about needs rails that are not locked, so it is kept
 * until somebody makes progress.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/names.h"
#include "link/av.h"
#include "link/clock.h"
#include "link/endpoint.h"
#include "link/loss.h"
#include "link/pending.h"
#include "link/slots.h"
#include "link/unlisted.h"

#define AGAIN_MIN_NS UINT64_C(50000000)
#define AGAIN_MAX_NS UINT64_C(1000000000)

struct link_question {
	struct link_question *prev, *next;
	fi_addr_t address; /* in the vector */
	struct link_address name;
	struct peer place; /* as the rail knows it */
	uint64_t again_ns, pause_ns, late_ns;
	bool is_late;
};

/* A HELLO or NAME that came, for who makes progress. */
struct introduction {
	struct introduction *prev, *next;
	bool is_hello; /* to be answered by us; or: a NAME, for one of ours */
	uint32_t request;
	uint64_t sender;
	uint8_t from[LINK_ADDRESS_SIZE];
};

/* What node and service tell is a place of it. */
struct rail *name_rail(struct link_ep *ep)
{
	return &ep->rails[has_local(ep) && ep->domain->cores.count > 1 ? 1 : 0];
}

/* --- questions --- */

static struct link_question *question_of(struct link_ep *ep, fi_addr_t address)
{
	struct link_question *question;

	DL_SEARCH_SCALAR(ep->questions, question, address, address);
	return question;
}

/* The rail is locked. */
static void place_forget(struct rail *rail, struct link_question *question)
{
	fi_addr_t *core = &question->place.cores[rail->index];

	if (*core != FI_ADDR_NOTAVAIL && rail->way != RAIL_SHARED)
		fi_av_remove(rail->av, core, 1, 0);
	*core = FI_ADDR_NOTAVAIL;
}

/* Asking is locked, and no rail. */
static void question_drop(struct link_ep *ep, struct link_question *question)
{
	struct rail *rail = name_rail(ep);

	link_lock(&rail->lock);
	pending_drop(rail, &question->place, FI_ECANCELED);
	loss_forget(rail, &question->place);
	rail_forget(rail, &question->place);
	place_forget(rail, question);
	rail->expected--;
	link_unlock(&rail->lock);
	DL_DELETE(ep->questions, question);
	free(question);
}

/* Tells the core where it is, when it is there. The rail is locked. */
static bool place_find(struct rail *rail, struct link_question *question)
{
	fi_addr_t *core = &question->place.cores[rail->index];
	if (*core != FI_ADDR_NOTAVAIL)
		return true;
	if (rail->way == RAIL_SHARED)
		return slot_take(rail, question->name.number, core,
				 &question->place.process) == 0;
	return fi_av_insert(rail->av, question->name.rails[0].bytes, 1, core, 0,
			    NULL) == 1;
}

int name_ask(struct link_ep *ep, fi_addr_t address,
	     const struct link_address *name)
{
	struct rail *rail = name_rail(ep);
	struct link_question *question;

	if ((rail->way == RAIL_SHARED) != (name->rail_count == 0))
		return -FI_EADDRNOTAVAIL;
	question = calloc(1, sizeof(*question));
	if (question == NULL)
		return -FI_ENOMEM;
	question->address = address;
	question->name = *name;
	question->again_ns = clock_now_ns();
	question->pause_ns = AGAIN_MIN_NS;
	question->late_ns = question->again_ns + ep->domain->name_wait_ns;
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		question->place.cores[i] = FI_ADDR_NOTAVAIL;
	link_lock(&rail->lock);
	rail->expected++; /* it is polled at each call */
	link_unlock(&rail->lock);
	link_lock(&ep->asking);
	DL_APPEND(ep->questions, question);
	set_seen(ep->has_names, true);
	link_unlock(&ep->asking);
	return 0;
}

void name_forget(struct link_ep *ep, fi_addr_t address)
{
	struct link_question *question;

	link_lock(&ep->asking);
	question = question_of(ep, address);
	if (question != NULL)
		question_drop(ep, question);
	link_unlock(&ep->asking);
}

static void hello_send(struct link_ep *ep, struct link_question *question,
		       uint64_t now)
{
	struct rail *rail = name_rail(ep);
	struct link_frame frame = { .kind = FRAME_HELLO,
				    .sender = ep->number,
				    .request = (uint32_t)question->address };

	memcpy(frame.from, ep->address_bytes, sizeof(frame.from));
	if (!link_trylock(&rail->lock))
		return;
	if (place_find(rail, question) &&
	    rail_send_frame(rail, &question->place, &frame, NULL, 0, NULL,
			    false) == 0) {
		question->again_ns = now + question->pause_ns;
		if (question->pause_ns < AGAIN_MAX_NS)
			question->pause_ns *= 2;
	}
	link_unlock(&rail->lock);
}

static void questions_ask(struct link_ep *ep)
{
	struct link_question *question;
	uint64_t now = clock_now_ns();

	DL_FOREACH (ep->questions, question) {
		if (now >= question->again_ns)
			hello_send(ep, question, now);
		if (now < question->late_ns || question->is_late)
			continue;
		question->is_late = true;
		link_warn(AV,
			  "nobody answers where address %llu leads: is the "
			  "other side there, and its "
			  "FI_FAIRLEAD_LINKS the same?\n",
			  (unsigned long long)question->address);
	}
}

ssize_t name_refusal(struct link_ep *ep, fi_addr_t address)
{
	struct link_question *question;
	/* What is in the vector led nowhere when the endpoint was enabled. */
	ssize_t result = av_entry_of(ep->av, address) == NULL
				 ? -FI_EINVAL
				 : -FI_EHOSTUNREACH;

	if (ep_peer(ep, address) != NULL)
		return -FI_EAGAIN; /* just now */
	if (!peek_at(ep->has_names))
		return result;
	ep_progress(ep);
	link_lock(&ep->asking);
	question = question_of(ep, address);
	if (question != NULL)
		result = question->is_late ? -FI_EHOSTUNREACH : -FI_EAGAIN;
	else if (ep_peer(ep, address) != NULL)
		result = -FI_EAGAIN;
	link_unlock(&ep->asking);
	return result;
}

/* --- who says who it is --- */

void name_take(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct introduction *one = malloc(sizeof(*one));

	if (one == NULL)
		return; /* the peer will ask again */
	one->is_hello = frame->kind == FRAME_HELLO;
	one->request = frame->request;
	one->sender = frame->sender;
	memcpy(one->from, frame->from, sizeof(one->from));
	link_lock(&ep->naming);
	DL_APPEND(ep->introductions, one);
	set_seen(ep->has_names, true);
	link_unlock(&ep->naming);
}

static void hello_answer(struct link_ep *ep, const struct introduction *to)
{
	struct rail *rail = name_rail(ep);
	struct link_frame frame = { .kind = FRAME_NAME,
				    .sender = ep->number,
				    .request = to->request };
	struct peer *peer = NULL;

	memcpy(frame.from, ep->address_bytes, sizeof(frame.from));
	link_lock(&rail->lock);
	(void)ep_peer_or_unlisted(rail, to->sender, to->from, &peer);
	if (peer != NULL && pending_has(rail, peer)) {
		link_unlock(&rail->lock);
		return; /* who takes nothing in will ask again */
	}
	if (peer == NULL ||
	    rail_send_frame(rail, peer, &frame, NULL, 0, NULL, true) != 0)
		link_info(EP_CTRL, "a request for a name cannot be answered\n");
	link_unlock(&rail->lock);
}

static void name_use(struct link_ep *ep, const struct introduction *answer)
{
	struct link_question *question = question_of(ep, answer->request);
	struct link_address address;
	int result;

	if (question == NULL)
		return; /* it was asked twice */
	if (link_address_decode(answer->from, &address, NULL) != 0 ||
	    address.number != answer->sender ||
	    address.digest != ep->domain->digest ||
	    (address.flags & LINK_NAMED) != 0) {
		link_warn(AV, "an answer that is no address of this link\n");
		return;
	}
	result = av_settle(ep->av, answer->request, answer->from, &address);
	if (result == 0)
		result = ep_peer_add(ep, answer->request, &address);
	if (result == -FI_ENOMEM)
		return; /* it is asked again */
	if (result != 0)
		link_warn(AV, "a name is answered, and leads nowhere: %s\n",
			  fi_strerror(-result));
	question_drop(ep, question);
}

void names_progress(struct link_ep *ep)
{
	struct introduction *due, *one, *next;

	if (!link_trylock(&ep->asking))
		return;
	if (!ep->rails[0].is_open) {
		link_unlock(&ep->asking);
		return;
	}
	link_lock(&ep->naming);
	due = ep->introductions;
	ep->introductions = NULL;
	link_unlock(&ep->naming);
	DL_FOREACH_SAFE (due, one, next) {
		if (one->is_hello)
			hello_answer(ep, one);
		else
			name_use(ep, one);
		free(one);
	}
	questions_ask(ep);
	link_lock(&ep->naming);
	set_seen(ep->has_names,
		 ep->questions != NULL || ep->introductions != NULL);
	link_unlock(&ep->naming);
	link_unlock(&ep->asking);
}

void names_drop(struct link_ep *ep)
{
	struct link_question *question, *q;
	struct introduction *one, *next;

	DL_FOREACH_SAFE (ep->questions, question, q)
		free(question);
	DL_FOREACH_SAFE (ep->introductions, one, next)
		free(one);
}
