/* SPDX-License-Identifier: BSD-3-Clause */
/* Which receive gets which message, by two lists; and the end of requests. */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/test/core/testcore.h"

/* --- buffers --- */

static size_t iov_copy(const struct tc_op *op, size_t offset, uint8_t *out,
		       const uint8_t *in, size_t size)
{
	size_t done = 0;

	for (size_t i = 0; i < op->count && done < size; i++) {
		size_t length = op->iov[i].iov_len;
		if (offset >= length) {
			offset -= length;
			continue;
		}
		size_t part = length - offset < size - done ? length - offset
							    : size - done;
		uint8_t *here = (uint8_t *)op->iov[i].iov_base + offset;
		if (out != NULL)
			memcpy(out + done, here, part);
		else
			memcpy(here, in + done, part);
		done += part;
		offset = 0;
	}
	return done;
}

size_t tc_iov_get(const struct tc_op *op, size_t offset, void *to, size_t size)
{
	return iov_copy(op, offset, to, NULL, size);
}

size_t tc_iov_put(const struct tc_op *op, size_t offset, const void *from,
		  size_t size)
{
	return iov_copy(op, offset, NULL, from, size);
}

/* --- the end --- */

static void completion_add(struct tc_ep *ep, const struct tc_op *op, int error)
{
	struct tc_cq *cq =
		op->kind == TC_OP_RECEIVE ? ep->receive_cq : ep->send_cq;
	const struct fi_cq_tagged_entry entry = {
		.op_context = op->context,
		.flags = op->flags,
		.len = op->kind == TC_OP_RECEIVE ? op->done : 0,
		.data = op->data,
		.tag = op->tag,
	};

	if (error == 0) {
		fi_addr_t source =
			op->kind == TC_OP_RECEIVE
				? tc_av_find(ep->av, op->peer->number)
				: FI_ADDR_NOTAVAIL;
		tc_cq_add(cq, &entry, source);
		return;
	}
	tc_cq_fail(cq, &(struct fi_cq_err_entry){
			       .op_context = op->context,
			       .flags = op->flags,
			       .len = entry.len,
			       .data = op->data,
			       .tag = op->tag,
			       .olen = error == FI_ETRUNC ? op->total - op->done
							  : 0,
			       .err = error,
			       .prov_errno = -error });
}

/* A receive is in no list any more, all else is among the active. */
void tc_op_end(struct tc_ep *ep, struct tc_op *op, int error)
{
	if (op->prev != NULL)
		DL_DELETE(ep->active, op);
	if (op->kind != TC_OP_SERVE && (!op->is_silent || error != 0))
		completion_add(ep, op, error);
	free(op->copy);
	free(op);
}

/* --- matching --- */

bool tc_fits(const struct tc_op *receive, const struct tc_peer *peer,
	     const struct tc_header *header)
{
	return (receive->peer == NULL || receive->peer == peer) &&
	       ((receive->tag ^ header->tag) & ~receive->ignore) == 0;
}

void tc_deliver(struct tc_ep *ep, struct tc_op *op, struct tc_peer *peer,
		const struct tc_header *header, const uint8_t *bytes)
{
	op->peer = peer;
	op->tag = header->tag;
	op->data = header->data;
	op->total = header->size;
	if ((header->flags & TC_WITH_DATA) != 0)
		op->flags |= FI_REMOTE_CQ_DATA;
	op->limit = op->total < op->size ? op->total : op->size;
	if (header->kind == TC_MESSAGE) {
		op->done = tc_iov_put(op, 0, bytes, op->limit);
		tc_op_end(ep, op, op->total > op->limit ? FI_ETRUNC : 0);
		return;
	}
	if (op->limit == 0) {
		tc_tell_end(ep, peer, header->other_id, 0);
		tc_op_end(ep, op, op->total > 0 ? FI_ETRUNC : 0);
		return;
	}
	op->id = ++ep->next_id;
	op->other_id = header->other_id;
	DL_APPEND(ep->active, op);
	tc_packet_send(ep, peer,
		       &(struct tc_header){ .kind = TC_COME,
					    .id = header->other_id,
					    .other_id = op->id,
					    .size = op->limit },
		       NULL);
}

void tc_arrive(struct tc_ep *ep, struct tc_peer *peer,
	       const struct tc_header *header, const uint8_t *bytes)
{
	unsigned int tagged = header->flags & TC_TAGGED;
	struct tc_unexpected *kept;
	struct tc_op *op;

	DL_FOREACH (ep->posted[tagged], op)
		if (tc_fits(op, peer, header))
			break;
	if (tagged != 0)
		tc_record(ep->domain, "%s tag=%llx size=%llu",
			  op == NULL ? "kept" : "took",
			  (unsigned long long)header->tag,
			  (unsigned long long)header->size);
	if (op != NULL) {
		DL_DELETE(ep->posted[tagged], op);
		op->prev = NULL;
		tc_deliver(ep, op, peer, header, bytes);
		return;
	}
	kept = malloc(sizeof(*kept) + header->payload);
	if (kept == NULL)
		abort();
	kept->peer = peer;
	kept->header = *header;
	kept->bytes = (uint8_t *)(kept + 1);
	memcpy(kept->bytes, bytes, header->payload);
	DL_APPEND(ep->unexpected[tagged], kept);
}
