/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends, receives, reads and writes, as libfabric asks for them. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/test/core/testcore.h"

#define QUEUED_MAX 512 /* packets to one peer, before it is -FI_EAGAIN */

static struct tc_op *op_make(const struct iovec *iov, size_t count,
			     void *context, uint64_t flags)
{
	struct tc_op *op = calloc(1, sizeof(*op));

	if (op == NULL)
		return NULL;
	op->context = context;
	op->flags = flags;
	op->count = count;
	for (size_t i = 0; i < count; i++) {
		op->iov[i] = iov[i];
		op->size += iov[i].iov_len;
	}
	return op;
}

/* What is injected may change at once. */
static int op_copy(struct tc_op *op)
{
	op->copy = malloc(op->size + 1);
	if (op->copy == NULL)
		return -FI_ENOMEM;
	tc_iov_get(op, 0, op->copy, op->size);
	op->iov[0] = (struct iovec){ op->copy, op->size };
	op->count = 1;
	return 0;
}

static bool descs_are_good(const struct tc_ep *ep, const struct iovec *iov,
			   void **desc, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!tc_desc_is_good(ep->domain, desc == NULL ? NULL : desc[i],
				     iov[i].iov_base, iov[i].iov_len)) {
			tc_record(ep->domain, "no-desc size=%zu",
				  iov[i].iov_len);
			return false;
		}
	return true;
}

/* A peer that can be asked for something. */
static int peer_take(struct tc_ep *ep, fi_addr_t address, struct tc_peer **ret)
{
	uint64_t number = tc_av_number(ep->av, address);
	struct tc_peer *peer = number == 0 ? NULL : tc_peer_of(ep, number);

	if (peer == NULL)
		return number == 0 ? -FI_EINVAL : -FI_ENOMEM;
	if (peer->queued >= QUEUED_MAX) {
		tc_progress(ep);
		return -FI_EAGAIN;
	}
	*ret = peer;
	return 0;
}

/* --- messages that go --- */

static int message_start(struct tc_ep *ep, struct tc_op *op)
{
	uint8_t bytes[TC_PAYLOAD];
	bool is_small = op->size <= TC_PAYLOAD &&
			(op->flags & FI_DELIVERY_COMPLETE) == 0;
	struct tc_header header = {
		.kind = is_small ? TC_MESSAGE : TC_ASK,
		.flags = (op->is_tagged ? TC_TAGGED : 0) |
			 ((op->flags & FI_REMOTE_CQ_DATA) != 0 ? TC_WITH_DATA
							       : 0),
		.other_id = op->id = ++ep->next_id,
		.tag = op->tag,
		.data = op->data,
		.size = op->size,
		.payload = is_small ? (uint32_t)op->size : 0,
	};

	if (is_small)
		tc_iov_get(op, 0, bytes, op->size);
	if (!tc_packet_send(ep, op->peer, &header, bytes))
		return -FI_ENOMEM;
	op->flags &= FI_SEND | FI_TAGGED | FI_MSG;
	DL_APPEND(ep->active, op);
	if (op->peer->is_gone)
		tc_op_end(ep, op, FI_EHOSTUNREACH);
	else if (is_small)
		tc_op_end(ep, op, 0);
	return 0;
}

ssize_t tc_send(struct tc_ep *ep, const struct fi_msg_tagged *m, uint64_t flags)
{
	struct tc_peer *peer;
	struct tc_op *op;
	int result = tc_fault(ep->domain, "send");

	if (result == 0)
		result = peer_take(ep, m->addr, &peer);
	if (result != 0)
		return result;
	if (m->iov_count > TC_IOV_MAX ||
	    ((flags & FI_INJECT) == 0 &&
	     !descs_are_good(ep, m->msg_iov, m->desc, m->iov_count)))
		return -FI_EINVAL;
	op = op_make(m->msg_iov, m->iov_count, m->context, flags | FI_SEND);
	if (op == NULL)
		return -FI_ENOMEM;
	op->kind = TC_OP_SEND;
	op->peer = peer;
	op->is_tagged = (flags & FI_TAGGED) != 0;
	op->is_silent = (flags & FI_COMPLETION) == 0;
	op->tag = m->tag;
	op->data = m->data;
	if ((flags & FI_INJECT) != 0 && op->size > TC_INJECT)
		result = -FI_EINVAL;
	else if ((flags & FI_INJECT) != 0)
		result = op_copy(op);
	if (op->is_tagged && result == 0)
		tc_record(ep->domain, "tsend tag=%llx size=%zu",
			  (unsigned long long)m->tag, op->size);
	if (result == 0)
		result = message_start(ep, op);
	if (result != 0) {
		free(op->copy);
		free(op);
	}
	return result;
}

/* --- reads and writes --- */

ssize_t tc_access(struct tc_ep *ep, const struct fi_msg_rma *m, uint64_t flags)
{
	bool is_read = (flags & FI_READ) != 0;
	struct tc_peer *peer;
	struct tc_op *op;
	int result = tc_fault(ep->domain, is_read ? "read" : "write");

	if (result == 0)
		result = peer_take(ep, m->addr, &peer);
	if (result != 0)
		return result;
	if (m->iov_count > TC_IOV_MAX || m->rma_iov_count != 1 ||
	    ((flags & FI_INJECT) == 0 &&
	     !descs_are_good(ep, m->msg_iov, m->desc, m->iov_count)))
		return -FI_EINVAL;
	op = op_make(m->msg_iov, m->iov_count, m->context,
		     FI_RMA | (flags &
			       (FI_READ | FI_WRITE | FI_REMOTE_CQ_DATA)));
	if (op == NULL)
		return -FI_ENOMEM;
	op->kind = is_read ? TC_OP_READ : TC_OP_WRITE;
	op->peer = peer;
	op->is_silent = (flags & FI_COMPLETION) == 0;
	op->id = ++ep->next_id;
	op->address = m->rma_iov[0].addr;
	op->key = m->rma_iov[0].key;
	op->data = m->data;
	op->limit = op->total = op->size;
	op->is_flowing = !is_read;
	if ((flags & FI_INJECT) != 0 && op_copy(op) != 0) {
		free(op);
		return -FI_ENOMEM;
	}
	DL_APPEND(ep->active, op);
	if (is_read)
		tc_packet_send(ep, peer,
			       &(struct tc_header){ .kind = TC_READ,
						    .other_id = op->id,
						    .key = op->key,
						    .offset = op->address,
						    .size = op->size },
			       NULL);
	if (peer->is_gone)
		tc_op_end(ep, op, FI_EHOSTUNREACH);
	return 0;
}

/* --- messages that come --- */

static int peek(struct tc_ep *ep, const struct fi_msg_tagged *m, uint64_t flags,
		const struct tc_op *want)
{
	struct tc_unexpected **list = &ep->unexpected[want->is_tagged], *kept;
	struct fi_context *context = m->context;

	tc_progress(ep);
	DL_FOREACH (*list, kept)
		if (tc_fits(want, kept->peer, &kept->header))
			break;
	tc_record(ep->domain, "peek tag=%llx ignore=%llx found=%d",
		  (unsigned long long)m->tag, (unsigned long long)m->ignore,
		  kept != NULL);
	if (kept == NULL) {
		tc_cq_fail(ep->receive_cq, &(struct fi_cq_err_entry){
						   .op_context = context,
						   .flags = want->flags,
						   .tag = m->tag,
						   .err = FI_ENOMSG,
						   .prov_errno = -FI_ENOMSG });
		return 0;
	}
	tc_cq_add(ep->receive_cq,
		  &(struct fi_cq_tagged_entry){
			  .op_context = context,
			  .flags = want->flags |
				   ((kept->header.flags & TC_WITH_DATA) != 0
					    ? FI_REMOTE_CQ_DATA
					    : 0),
			  .len = kept->header.size,
			  .data = kept->header.data,
			  .tag = kept->header.tag },
		  tc_av_find(ep->av, kept->peer->number));
	if ((flags & FI_CLAIM) != 0) {
		DL_DELETE(*list, kept);
		context->internal[0] = kept;
	} else if ((flags & FI_DISCARD) != 0) {
		DL_DELETE(*list, kept);
		if (kept->header.kind == TC_ASK)
			tc_tell_end(ep, kept->peer, kept->header.other_id, 0);
		free(kept);
	}
	return 0;
}

static void give(struct tc_ep *ep, struct tc_op *op, struct tc_unexpected *kept)
{
	tc_deliver(ep, op, kept->peer, &kept->header, kept->bytes);
	free(kept);
}

static void post(struct tc_ep *ep, struct tc_op *op)
{
	struct tc_unexpected *kept;

	if (op->is_tagged)
		tc_record(ep->domain, "post tag=%llx ignore=%llx %s size=%zu",
			  (unsigned long long)op->tag,
			  (unsigned long long)op->ignore,
			  op->peer == NULL ? "any" : "directed", op->size);
	DL_FOREACH (ep->unexpected[op->is_tagged], kept)
		if (tc_fits(op, kept->peer, &kept->header)) {
			DL_DELETE(ep->unexpected[op->is_tagged], kept);
			give(ep, op, kept);
			return;
		}
	DL_APPEND(ep->posted[op->is_tagged], op);
}

ssize_t tc_receive(struct tc_ep *ep, const struct fi_msg_tagged *m,
		   uint64_t flags)
{
	bool is_peek = (flags & FI_PEEK) != 0;
	uint64_t number = tc_av_number(ep->av, m->addr);
	struct tc_op *op;
	int result = tc_fault(ep->domain, is_peek ? "peek" : "receive");

	if (result != 0)
		return result;
	if (m->iov_count > TC_IOV_MAX ||
	    (m->addr != FI_ADDR_UNSPEC && number == 0) ||
	    (!is_peek &&
	     !descs_are_good(ep, m->msg_iov, m->desc, m->iov_count)))
		return -FI_EINVAL;
	op = op_make(m->msg_iov, is_peek ? 0 : m->iov_count, m->context,
		     FI_RECV | (flags & (FI_TAGGED | FI_MSG)));
	if (op == NULL)
		return -FI_ENOMEM;
	op->kind = TC_OP_RECEIVE;
	op->is_tagged = (flags & FI_TAGGED) != 0;
	op->is_silent = (flags & FI_COMPLETION) == 0;
	op->tag = m->tag;
	op->ignore = op->is_tagged ? m->ignore : UINT64_MAX;
	op->peer = m->addr == FI_ADDR_UNSPEC ? NULL : tc_peer_of(ep, number);
	if (is_peek) {
		result = peek(ep, m, flags, op);
		free(op);
	} else if ((flags & FI_CLAIM) != 0) {
		struct fi_context *context = m->context;
		tc_record(ep->domain, "claim size=%zu", op->size);
		give(ep, op, context->internal[0]);
	} else {
		post(ep, op);
	}
	return result;
}

ssize_t tc_cancel(struct fid *fid, void *context)
{
	struct tc_ep *ep = (struct tc_ep *)fid;
	int result = tc_fault(ep->domain, "cancel");

	for (unsigned int i = 0; i < 2 && result == 0; i++) {
		struct tc_op *op;
		DL_SEARCH_SCALAR(ep->posted[i], op, context, context);
		if (op == NULL)
			continue;
		tc_record(ep->domain, "cancel tag=%llx",
			  (unsigned long long)op->tag);
		DL_DELETE(ep->posted[i], op);
		op->prev = NULL;
		tc_op_end(ep, op, FI_ECANCELED);
		return 0;
	}
	return result != 0 ? result : -FI_ENOENT;
}
