/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Buffers for unexpected messages. With FI_MULTI_RECV a slab takes many
 * and comes back when the next one might not fit; without, it takes one. What
 * has come is handed on before its slab is posted again, so a slow owner has
 * fewer slabs posted and then none, and the provider holds its peers back.
 *
 * A message that is cut off in the middle (its sender died) ends with an error
 * that does not say whether the slab is still posted. So it is cancelled: then
 * either its end comes, or it was not posted any more.
 */
#include "scoll/transport/ofi/internal.h"

#include <stdlib.h>

int pool_init(struct transport_ofi *t)
{
	t->slab_count = t->has_multi_recv ? POOL_SLABS : POOL_PLAIN_COUNT;
	t->slab_bytes = t->has_multi_recv ? POOL_SLAB_BYTES : SCOLL_BCAST_MAX;
	t->pool = calloc((size_t)t->slab_count, t->slab_bytes);
	if (t->pool == NULL)
		return -ENOMEM;
	if (t->has_local_memory) {
		int result =
			memory_register(t, t->pool,
					(size_t)t->slab_count * t->slab_bytes,
					FI_RECV, &t->pool_mr);

		if (result < 0)
			return result;
	}
	for (int i = 0; i < t->slab_count; i++) {
		t->slabs[i].head.kind = OP_SLAB;
		t->slabs[i].bytes = t->pool + (size_t)i * t->slab_bytes;
	}
	pool_refill(t);
	return t->posted_count > 0 ? 0 : -EIO;
}

static ssize_t post(struct transport_ofi *t, struct ofi_slab *slab)
{
	struct iovec iov = { slab->bytes, t->slab_bytes };
	void *desc = t->pool_mr != NULL ? fi_mr_desc(t->pool_mr) : NULL;
	struct fi_msg message = {
		.msg_iov = &iov,
		.desc = &desc,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.context = &slab->head.context,
	};

	t->is_unread = true;
	return fi_recvmsg(t->ep, &message,
			  FI_COMPLETION |
				  (t->has_multi_recv ? FI_MULTI_RECV : 0));
}

void pool_refill(struct transport_ofi *t)
{
	if (t->posted_count > t->slab_count / 2)
		return;
	for (int i = 0; i < t->slab_count; i++) {
		struct ofi_slab *slab = &t->slabs[i];

		if (slab->is_posted || slab->is_doubtful)
			continue;
		slab->is_posted = true;
		t->posted_count++;
		if (post(t, slab) == 0)
			continue;
		/* It is full: at the next progress. */
		slab->is_posted = false;
		t->posted_count--;
		break;
	}
}

static void is_back(struct transport_ofi *t, struct ofi_slab *slab)
{
	slab->is_doubtful = false;
	if (slab->is_posted)
		t->posted_count--;
	slab->is_posted = false;
}

void pool_received(struct transport_ofi *t, struct ofi_slab *slab,
		   const struct fi_cq_tagged_entry *entry)
{
	const uint8_t *bytes = t->has_multi_recv ? entry->buf : slab->bytes;
	size_t size = entry->len;

	/* A provider may give a slab back without a message. */
	if ((entry->flags & FI_RECV) == 0)
		size = 0;
	if (size > SCOLL_BCAST_MAX) {
		t->stats.refused_count++;
	} else if (size > 0) { /* else a hello: it did its work */
		t->stats.received_count++;
		t->stats.received_bytes += size;
		t->event_count++;
		t->events->received(t->events_ctx, t->now_ns, bytes, size);
	}
	if (!t->has_multi_recv || (entry->flags & FI_MULTI_RECV) != 0)
		is_back(t, slab);
}

void pool_failed(struct transport_ofi *t, struct ofi_slab *slab,
		 const struct fi_cq_err_entry *entry)
{
	if (entry->err == FI_ETRUNC)
		t->stats.refused_count++;
	if (!t->has_multi_recv || (entry->flags & FI_MULTI_RECV) != 0 ||
	    slab->is_doubtful) {
		is_back(t, slab);
		return;
	}
	slab->is_doubtful = true;
	fi_cancel(&t->ep->fid, &slab->head.context);
}

void pool_settle(struct transport_ofi *t)
{
	if (!t->habits.cancel_is_done)
		return;
	for (int i = 0; i < t->slab_count; i++) {
		if (t->slabs[i].is_doubtful)
			is_back(t, &t->slabs[i]);
	}
}

void pool_close(struct transport_ofi *t)
{
	if (t->pool_mr != NULL)
		fi_close(&t->pool_mr->fid);
}
