/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Replies that nobody waits for any more, or never did. They would stay with
 * the provider: in memory without bound (rxm), in the way of all that its
 * sender sends after it (net), in a slot of a queue that all peers share (shm).
 *
 * Where FI_PEEK works, what lies there is looked at now and then, and what has
 * the tag of no reply that is waited for is received into the sink, a buffer
 * that nobody reads. All parts of a reply have one tag but for its lower bits,
 * and a further part may come a moment before its buffer is posted: a tag
 * counts for TAG_GRACE_NS after its last buffer, unless that was given up.
 * Where it does not, each tag that is given up gets a receive into the sink,
 * up to SINKS_MAX of them, the oldest out first.
 */
#include "scoll/transport/ofi/internal.h"

#include <stdlib.h>
#include <string.h>

#define SINKS_PER_SWEEP 64

int stale_init(struct transport_ofi *t)
{
	t->sink = calloc(1, SINK_BYTES);
	if (t->sink == NULL)
		return -ENOMEM;
	t->peek.head.kind = OP_PEEK;
	if (!t->has_local_memory)
		return 0;
	return memory_register(t, t->sink, SINK_BYTES, FI_RECV, &t->sink_mr);
}

static struct tag_base *base_find(struct transport_ofi *t, uint64_t tag)
{
	uint64_t key = tag >> TRANSPORT_TAG_PART_BITS;
	struct tag_base *base;

	HASH_FIND(hh, t->bases, &key, sizeof(key), base);
	return base;
}

int stale_tag_add(struct transport_ofi *t, uint64_t tag)
{
	struct tag_base *base;

	if (!t->habits.has_peek)
		return 0;
	base = base_find(t, tag);
	if (base == NULL) {
		base = base_alloc(t);
		if (base == NULL)
			return -EAGAIN;
		base->base = tag >> TRANSPORT_TAG_PART_BITS;
		HASH_ADD(hh, t->bases, base, sizeof(base->base), base);
		if (base->hh.tbl == NULL) {
			base_release(t, base);
			return -EAGAIN;
		}
	} else if (base->posted_count == 0) {
		DL_DELETE(t->late_bases, base);
	}
	base->posted_count++;
	return 0;
}

static void base_remove(struct transport_ofi *t, struct tag_base *base)
{
	HASH_DEL(t->bases, base);
	base_release(t, base);
}

static void sink_post(struct transport_ofi *t, uint64_t tag)
{
	void *desc = t->sink_mr != NULL ? fi_mr_desc(t->sink_mr) : NULL;
	struct ofi_op *op = op_alloc(t, OP_SINK);

	if (op == NULL)
		return;
	t->is_unread = true;
	op->tag = tag;
	if (fi_trecv(t->ep, t->sink, SINK_BYTES, desc, FI_ADDR_UNSPEC, tag, 0,
		     &op->head.context) != 0) {
		op_release(t, op);
		return;
	}
	DL_APPEND(t->sinks, op);
	t->sink_count++;
}

void stale_tag_remove(struct transport_ofi *t, uint64_t tag, bool is_given_up)
{
	struct tag_base *base;

	if (is_given_up)
		t->late_until_ns = t->now_ns + SWEEP_LATE_NS;
	if (!t->habits.has_peek) {
		if (!is_given_up)
			return;
		sink_post(t, tag);
		if (t->sink_count > SINKS_MAX && !t->sinks->is_cancelled) {
			t->sinks->is_cancelled = true;
			fi_cancel(&t->ep->fid, &t->sinks->head.context);
		}
		return;
	}
	base = base_find(t, tag);
	if (base == NULL || --base->posted_count > 0)
		return;
	if (is_given_up) {
		base_remove(t, base);
		return;
	}
	base->until_ns = t->now_ns + TAG_GRACE_NS;
	DL_APPEND(t->late_bases, base);
}

static void peek(struct transport_ofi *t)
{
	struct fi_msg_tagged message = {
		.addr = FI_ADDR_UNSPEC,
		.ignore = UINT64_MAX,
		.context = &t->peek.head.context,
	};

	t->is_unread = true;
	if (fi_trecvmsg(t->ep, &message, FI_PEEK | FI_COMPLETION) == 0)
		t->is_peeking = true;
}

static uint64_t interval_ns(const struct transport_ofi *t)
{
	return t->now_ns < t->late_until_ns ? SWEEP_BUSY_NS : SWEEP_NS;
}

void stale_sweep(struct transport_ofi *t)
{
	if (!t->habits.has_peek)
		return;
	while (t->late_bases != NULL && t->late_bases->until_ns <= t->now_ns) {
		struct tag_base *base = t->late_bases;

		DL_DELETE(t->late_bases, base);
		base_remove(t, base);
	}
	if (!t->is_sweep_due || t->is_peeking ||
	    t->now_ns - t->swept_ns < interval_ns(t))
		return;
	t->is_sweep_due = false;
	t->swept_ns = t->now_ns;
	peek(t);
}

uint64_t stale_deadline_ns(const struct transport_ofi *t)
{
	if (!t->habits.has_peek || !t->is_sweep_due || t->is_peeking)
		return DEADLINE_NONE;
	return t->swept_ns + interval_ns(t);
}

void stale_peeked(struct transport_ofi *t, int result, uint64_t tag)
{
	t->is_peeking = false;
	if (result < 0)
		return;
	t->is_sweep_due = true;
	if (base_find(t, tag & TRANSPORT_TAG_MAX) == NULL &&
	    t->sink_count < SINKS_MAX)
		sink_post(t, tag);
}

void stale_sunk(struct transport_ofi *t, struct ofi_op *op, int result)
{
	if (result != -ECANCELED)
		t->stats.stale_count++;
	DL_DELETE(t->sinks, op);
	t->sink_count--;
	op_release(t, op);
	if (t->habits.has_peek && !t->is_peeking)
		peek(t);
}

void stale_close(struct transport_ofi *t)
{
	HASH_CLEAR(hh, t->bases);
	if (t->sink_mr != NULL)
		fi_close(&t->sink_mr->fid);
}
