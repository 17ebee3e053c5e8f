/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tagged messages to a core that matches tags: passed on as they are, of any
 * size. They do not name their sender, so its peer has to know it before.
 */
#include <stdlib.h>
#include <string.h>

#include "link/iov.h"
#include "link/matched.h"
#include "link/send.h"
#include "link/slab.h"
#include "link/unlisted.h"

/* A send that the core has not completed. */
struct passed {
	struct link_op op;
	struct rail *rail;
	struct passed *next;      /* of those that are free */
	struct passed *next_made; /* of all */
	struct awaited awaited;
	bool is_left; /* its peer has ended, and it for the program */
	void *context, *copy;
	uint64_t flags;
};

static struct passed *passed_take(struct rail *rail)
{
	struct matched *matched = &rail->matched;
	struct passed *passed = matched->free_passed;

	if (passed != NULL) {
		matched->free_passed = passed->next;
		passed->is_left = false;
		return passed;
	}
	passed = calloc(1, sizeof(*passed));
	if (passed == NULL)
		return NULL;
	passed->op.kind = OP_PASSED;
	passed->rail = rail;
	passed->next_made = matched->made_passed;
	matched->made_passed = passed;
	return passed;
}

static void passed_put(struct rail *rail, struct passed *passed)
{
	free(passed->copy);
	passed->copy = NULL;
	passed->awaited.is_used = false;
	passed->next = rail->matched.free_passed;
	rail->matched.free_passed = passed;
}

void passed_drop(struct rail *rail)
{
	for (struct passed *p = rail->matched.made_passed, *next; p != NULL;
	     p = next) {
		next = p->next_made;
		free(p->copy);
		free(p);
	}
}

void passed_ended(struct passed *passed, int error)
{
	struct rail *rail = passed->rail;
	void *context = passed->context;
	uint64_t flags = passed->flags;

	if (passed->is_left) {
		passed_put(rail, passed);
		return;
	}
	rail->expected--;
	passed_put(rail, passed);
	if (error == 0)
		send_completed(rail->ep, context, flags);
	else
		send_failed(rail->ep, context, flags, error);
}

/* --- peers that have ended --- */

void passed_each_old(struct rail *rail, loss_report *report, void *arg)
{
	for (struct passed *p = rail->matched.made_passed; p != NULL;
	     p = p->next_made)
		awaited_report(rail, &p->awaited, report, arg);
}

void passed_drop_of(struct rail *rail, uint64_t number, int error)
{
	for (struct passed *p = rail->matched.made_passed; p != NULL;
	     p = p->next_made) {
		if (!p->awaited.is_used || p->awaited.number != number)
			continue;
		rail->expected--;
		p->awaited.is_used = false;
		p->is_left = true;
		send_failed(rail->ep, p->context, p->flags, error);
	}
}

/* --- known peers --- */

static ssize_t greet(struct rail *rail, struct peer *peer)
{
	struct link_ep *ep = rail->ep;
	struct link_frame frame = { .kind = FRAME_GREET, .sender = ep->number };
	int result;

	rail->loss.refused = peer;
	if (peer->was_greeted)
		return -FI_EAGAIN;
	memcpy(frame.from, ep->address_bytes, sizeof(frame.from));
	result = rail_send_frame(rail, peer, &frame, NULL, 0, NULL, true);
	if (result != 0)
		return result;
	peer->was_greeted = true;
	rail->expected++;
	rail_poll_soon(rail);
	return -FI_EAGAIN;
}

int passed_greeted(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct link_frame answer = { .kind = FRAME_KNOWN,
				     .sender = ep->number };
	struct peer *peer;
	int result;

	if (rail->way != RAIL_MATCHED) {
		link_warn(EP_DATA,
			  "a greeting that this rail has no use for\n");
		return 0;
	}
	result = ep_peer_or_unlisted(rail, frame->sender, frame->from, &peer);
	if (result == 0)
		result = rail_send_frame(rail, peer, &answer, NULL, 0, NULL,
					 true);
	if (result == 0)
		peer->knows_listed = true;
	else if (result != -FI_ENOMEM)
		link_warn(EP_DATA, "a sender cannot be answered\n");
	return result == -FI_ENOMEM ? result : 0;
}

/* --- messages --- */

static ssize_t issue(struct rail *rail, const struct peer *peer,
		     const struct link_message *m, struct passed *passed)
{
	void *descs[LINK_IOV_MAX] = { NULL };
	struct iovec copied;
	struct fi_msg_tagged msg = { .msg_iov = m->iov,
				     .desc = descs,
				     .iov_count = m->count,
				     .addr = peer->cores[rail->index],
				     .tag = m->tag,
				     .context = &passed->op,
				     .data = m->data };
	uint64_t flags = FI_COMPLETION |
			 (m->flags & (FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE |
				      FI_TRANSMIT_COMPLETE));

	if ((m->flags & FI_INJECT) != 0 || m->count > rail->matched.iov_limit) {
		passed->copy = malloc(m->size + 1);
		if (passed->copy == NULL)
			return -FI_ENOMEM;
		iov_flatten(m->iov, m->count, passed->copy);
		copied = (struct iovec){ passed->copy, m->size };
		msg.msg_iov = &copied;
		msg.iov_count = 1;
	}
	return fi_tsendmsg(rail->core, &msg, flags);
}

ssize_t passed_send(struct rail *rail, struct peer *peer,
		    const struct link_message *m)
{
	size_t inject = rail->inject_size < LINK_INJECT_SIZE ? rail->inject_size
							     : LINK_INJECT_SIZE;
	struct passed *passed;
	ssize_t result;

	if (!peer->knows_us)
		return greet(rail, peer);
	if ((m->tag & ~rail->matched.tag_mask) != 0)
		return -FI_EINVAL;
	if (m->size <= inject && (m->flags & FI_DELIVERY_COMPLETE) == 0) {
		result = send_injected(rail, peer, m);
		if (result == 0)
			send_completed(rail->ep, m->context, m->flags);
		return result;
	}
	passed = passed_take(rail);
	if (passed == NULL)
		return -FI_ENOMEM;
	passed->context = m->context;
	passed->flags = m->flags;
	passed->awaited =
		(struct awaited){ .is_used = true, .number = peer->number };
	result = issue(rail, peer, m, passed);
	if (result == 0)
		rail->expected++;
	else
		passed_put(rail, passed);
	return result;
}
