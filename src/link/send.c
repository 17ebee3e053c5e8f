/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends: as the program's own message, as a frame, or to be read. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/endpoint.h"

/* Keys with this byte are the provider's own. */
#define KEY_OF_OURS (UINT64_C(0xff) << 56)

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
		ep->sends[ep->send_count++] = send;
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
	link_unlock(&ep->sending);
	return send;
}

static void send_put(struct link_ep *ep, struct send *send)
{
	if (send->mr != NULL)
		fi_close(&send->mr->fid);
	free(send->copy);
	link_lock(&ep->sending);
	send->mr = NULL;
	send->copy = NULL;
	send->is_used = false;
	send->next = ep->free_sends;
	ep->free_sends = send;
	link_unlock(&ep->sending);
}

void send_answered(struct link_ep *ep, const struct frame *frame)
{
	struct send *send = NULL;

	link_lock(&ep->sending);
	if (frame->request < ep->send_count)
		send = ep->sends[frame->request];
	if (send != NULL && (!send->is_used || send->number != frame->sender))
		send = NULL;
	link_unlock(&ep->sending);
	if (send == NULL) {
		link_info(EP_DATA, "an answer to what was not asked\n");
		return;
	}
	void *context = send->context;
	uint64_t flags = send->flags;
	send_put(ep, send);
	if (frame->error == 0)
		send_completed(ep, context, flags);
	else
		send_failed(ep, context, flags, frame->error);
}

void send_drop_all(struct link_ep *ep)
{
	for (size_t i = 0; i < ep->send_count; i++) {
		if (ep->sends[i]->mr != NULL)
			fi_close(&ep->sends[i]->mr->fid);
		free(ep->sends[i]->copy);
		free(ep->sends[i]);
	}
	free(ep->sends);
}

/* --- ways to send --- */

static void iov_get(const struct message *m, void *to)
{
	uint8_t *at = to;

	for (size_t i = 0; i < m->count; i++) {
		memcpy(at, m->iov[i].iov_base, m->iov[i].iov_len);
		at += m->iov[i].iov_len;
	}
}

static ssize_t send_direct(struct rail *rail, const struct peer *peer,
			   const struct message *m)
{
	uint8_t gathered[LINK_INJECT_SIZE];
	const void *data = gathered;
	fi_addr_t to = peer->cores[rail->index];

	if (m->count == 1)
		data = m->iov[0].iov_base;
	else
		iov_get(m, gathered);
	if ((m->flags & FI_REMOTE_CQ_DATA) != 0)
		return fi_tinjectdata(rail->core, data, m->size, m->data, to,
				      m->tag);
	return fi_tinject(rail->core, data, m->size, to, m->tag);
}

static struct frame frame_of(const struct link_ep *ep, enum frame_kind kind,
			     const struct message *m)
{
	bool is_tagged = (m->tag & LINK_UNTAGGED) == 0;

	return (struct frame){
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

static ssize_t send_eager(struct rail *rail, struct peer *peer,
			  const struct message *m)
{
	struct frame frame = frame_of(rail->ep, FRAME_EAGER, m);
	const struct frame_end end = { m->context, m->flags };

	return rail_send_frame(rail, peer, &frame, m->iov, m->count, &end,
			       false);
}

/* Where the receiver reads the message: the program's buffer, or a copy. */
static int expose(struct rail *rail, const struct message *m, struct send *send,
		  struct frame_rail *ret_where)
{
	const void *data = m->iov[0].iov_base;
	uint64_t key = KEY_OF_OURS |
		       __atomic_add_fetch(&rail->ep->key, 1, __ATOMIC_RELAXED);
	int result;

	if (m->size == 0)
		return 0;
	if (m->count > 1 || (m->flags & FI_INJECT) != 0) {
		send->copy = malloc(m->size);
		if (send->copy == NULL)
			return -FI_ENOMEM;
		iov_get(m, send->copy);
		data = send->copy;
	}
	if (rail->way == RAIL_SHARED) {
		*ret_where = (struct frame_rail){ (uintptr_t)data,
						  (uint64_t)getpid() };
		return 0;
	}
	result = fi_mr_reg(rail->domain, data, m->size, FI_REMOTE_READ, 0, key,
			   0, &send->mr, NULL);
	if (result != 0)
		return result;
	ret_where->address = rail->is_virtual ? (uintptr_t)data : 0;
	ret_where->key = fi_mr_key(send->mr);
	return 0;
}

static ssize_t send_ready(struct rail *rail, struct peer *peer,
			  const struct message *m)
{
	struct link_ep *ep = rail->ep;
	struct send *send = send_take(ep);
	struct frame frame = frame_of(ep, FRAME_READY, m);
	ssize_t result;

	if (send == NULL)
		return -FI_ENOMEM;
	send->context = m->context;
	send->flags = m->flags;
	send->number = peer->number;
	frame.request = send->request;
	frame.rail_count = 1;
	memcpy(frame.from, ep->address_bytes, sizeof(frame.from));
	result = expose(rail, m, send, &frame.rails[0]);
	if (result == 0)
		result = rail_send_frame(rail, peer, &frame, NULL, 0, NULL,
					 false);
	if (result != 0)
		send_put(ep, send);
	else
		rail->owed++;
	return result;
}

static bool is_direct(const struct rail *rail, const struct peer *peer,
		      const struct message *m)
{
	return rail->way == RAIL_SHARED && peer->is_direct &&
	       m->size <= rail->inject_size &&
	       (m->flags & FI_DELIVERY_COMPLETE) == 0;
}

/* What is to be read is answered when it is where it belongs. */
static bool is_eager(const struct rail *rail, const struct message *m)
{
	size_t max = rail->way == RAIL_SHARED
			     ? rail->inject_size - FRAME_EAGER_SIZE
			     : LINK_EAGER_SIZE;

	return m->size <= max && (m->flags & FI_DELIVERY_COMPLETE) == 0;
}

static ssize_t send_somehow(struct rail *rail, struct peer *peer,
			    const struct message *m)
{
	ssize_t result;

	if (rail->pending != NULL)
		return -FI_EAGAIN; /* what waits goes first */
	if (!is_direct(rail, peer, m))
		return is_eager(rail, m) ? send_eager(rail, peer, m)
					 : send_ready(rail, peer, m);
	result = send_direct(rail, peer, m);
	if (result == 0)
		send_completed(rail->ep, m->context, m->flags);
	return result;
}

ssize_t send_message(struct link_ep *ep, const struct message *m)
{
	struct peer *peer = ep_peer(ep, m->to);
	struct rail *rail;
	ssize_t result;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	if (peer == NULL || m->count > LINK_IOV_MAX)
		return -FI_EINVAL;
	rail = rail_for(ep, peer);
	link_lock(&rail->lock);
	result = send_somehow(rail, peer, m);
	link_unlock(&rail->lock);
	if (result == -FI_EAGAIN)
		ep_progress(ep);
	return result;
}
