/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receiving. Completions are taken from the queue in small batches, and a
 * limited number of them at a time, so that a busy peer does not keep the
 * owner from its deadlines; the rest stays in the queue.
 */
#include "scoll/transport/ofi/internal.h"

#define BATCH 16

static void completed(struct transport_ofi *t,
		      const struct fi_cq_tagged_entry *entry)
{
	struct op_head *head = entry->op_context;
	struct ofi_op *op = entry->op_context;

	if (head == NULL)
		return;
	switch (head->kind) {
	case OP_SEND:
	case OP_REPLY:
	case OP_HELLO:
		send_ended(t, op, 0);
		break;
	case OP_RECEIVE:
		receive_ended(t, op, 0, entry->len);
		break;
	case OP_READ:
		read_piece_ended(t, op, 0);
		break;
	case OP_PEEK:
		stale_peeked(t, 0, entry->tag);
		break;
	case OP_SINK:
		stale_sunk(t, op, 0);
		break;
	case OP_SLAB:
		pool_received(t, entry->op_context, entry);
		break;
	case OP_RETIRED:
		break;
	}
}

static void failed(struct transport_ofi *t, const struct fi_cq_err_entry *entry)
{
	int result = errno_of(-(int64_t)entry->err);
	struct op_head *head = entry->op_context;
	struct ofi_op *op = entry->op_context;

	/* A provider may know of no transfer to blame. */
	if (head == NULL)
		return;
	switch (head->kind) {
	case OP_SEND:
	case OP_REPLY:
	case OP_HELLO:
		send_ended(t, op, result);
		break;
	case OP_RECEIVE:
		receive_ended(t, op, result, 0);
		break;
	case OP_READ:
		read_piece_ended(t, op, result);
		break;
	case OP_PEEK:
		stale_peeked(t, result, 0);
		break;
	case OP_SINK:
		stale_sunk(t, op, result);
		break;
	case OP_SLAB:
		pool_failed(t, entry->op_context, entry);
		break;
	case OP_RETIRED:
		break;
	}
}

static bool error_take(struct transport_ofi *t)
{
	struct fi_cq_err_entry entry = { 0 };

	if (fi_cq_readerr(t->cq, &entry, 0) <= 0)
		return false;
	failed(t, &entry);
	return true;
}

/* How many entries there were. */
static int queue_read(struct transport_ofi *t)
{
	struct fi_cq_tagged_entry entries[BATCH];
	int count = 0;

	while (count < EVENTS_PER_PROGRESS) {
		ssize_t result = fi_cq_read(t->cq, entries, BATCH);

		if (result == -FI_EAVAIL && error_take(t)) {
			count++;
			continue;
		}
		if (result <= 0) {
			t->is_unread = false;
			pool_settle(t);
			ops_release_retired(t);
			break;
		}
		/* Else it has no more; what is done with these may add some. */
		t->is_unread = result == BATCH;
		for (ssize_t i = 0; i < result; i++)
			completed(t, &entries[i]);
		count += (int)result;
		pool_refill(t);
		if (!t->is_unread)
			break;
	}
	return count;
}

void ofi_progress(void *ctx, uint64_t now_ns)
{
	struct transport_ofi *t = ctx;
	int count;

	t->now_ns = now_ns;
	t->event_count = 0;
	if (t->is_stopped)
		return;
	count = queue_read(t);
	peers_check(t);
	pool_refill(t);
	/* What nobody waits for makes no completion. */
	t->is_sweep_due = true;
	stale_sweep(t);
	wait_active(t, count > 0);
}
