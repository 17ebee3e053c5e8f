/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bulk data: read from the parent in segments, BULK_READS of them under way,
 * never beyond what the parent has; the children may read what is here from
 * the start. So data flows through the tree as through a pipe, and a level
 * costs a segment (K-03). Reads end in any order: what is here is everything
 * before the first segment that is still missing.
 *
 * When it fails, nobody below can have all of it: the whole subtree has failed,
 * the children are notified, and the library replies (K-06).
 */
#include "scoll/core/internal.h"

#define NS_PER_S UINT64_C(1000000000)

static uint64_t duration_ns(const struct scoll_core *core, uint64_t size)
{
	unsigned __int128 duration = (unsigned __int128)size * NS_PER_S /
				     core->options.bulk_bandwidth;

	return duration < UINT64_MAX ? (uint64_t)duration : UINT64_MAX;
}

int bulk_create(struct bcast *bcast, uint64_t size,
		const struct wire_bcast *wire)
{
	struct scoll_core *core = bcast->core;
	struct bulk *bulk = scoll_core_zalloc(core, sizeof(*bulk));

	if (bulk == NULL)
		return -ENOMEM;
	bulk->size = size;
	if (wire != NULL) {
		bulk->parent_there = wire->bulk_there;
		bulk->remote_count = wire->piece_count;
		memcpy(bulk->remote, wire->pieces,
		       wire->piece_count * sizeof(wire->pieces[0]));
	} else {
		bulk->there = size;
		bulk->asked = size;
		bulk->is_settled = true;
	}
	bcast->bulk = bulk;
	bcast->bulk_ns = duration_ns(core, size);
	return 0;
}

int bulk_open(struct bcast *bcast, const struct iovec *iovs, int count)
{
	const struct transport_seam *net = &bcast->core->options.transport;
	struct bulk *bulk = bcast->bulk;
	bool is_for_peers = bcast->tree != NULL && bcast->tree->child_count > 0;
	struct iovec pieces[SCOLL_BULK_IOVS_MAX];
	uint64_t left = bulk->size;
	int piece_count = 0, result;

	if (bulk->is_settled && !is_for_peers)
		return 0;
	for (int i = 0; i < count && left > 0; i++) {
		struct iovec *piece = &pieces[piece_count];

		*piece = iovs[i];
		if (piece->iov_len > left)
			piece->iov_len = left;
		left -= piece->iov_len;
		if (piece->iov_len > 0)
			piece_count++;
	}
	result = net->ops->region_open(net->ctx, pieces, piece_count,
				       &bulk->region,
				       is_for_peers ? bulk->pieces : NULL);
	if (result < 0)
		return result;
	bulk->piece_count = piece_count;
	bulk->is_open = true;
	return 0;
}

/* A child replies when its reads have ended; the others may go on reading. */
void bulk_close(struct bcast *bcast)
{
	const struct transport_seam *net = &bcast->core->options.transport;
	struct bulk *bulk = bcast->bulk;

	if (bulk == NULL || !bulk->is_open)
		return;
	bulk->is_open = false;
	for (uint32_t i = 0;
	     net->ops->disconnect != NULL && bcast->children != NULL &&
	     i < bcast->tree->child_count;
	     i++) {
		const struct child *child = &bcast->children[i];

		if (child->was_sent && !child->has_last)
			net->ops->disconnect(net->ctx, child->node->nid);
	}
	net->ops->region_close(net->ctx, &bulk->region);
}

bool bulk_is_active(const struct bcast *bcast)
{
	return bcast->bulk != NULL && bcast->bulk->reads_active > 0;
}

/* --- from the parent --- */

static struct bulk_read *read_free(struct bulk *bulk)
{
	for (int i = 0; i < BULK_READS; i++) {
		if (action_is_idle(&bulk->reads[i].action))
			return &bulk->reads[i];
	}
	return NULL;
}

void bulk_read_start(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_core *core = bcast->core;
	struct bulk *bulk = bcast->bulk;
	struct bulk_read *read;

	if (bulk == NULL || !bulk->is_open)
		return;
	while (!bulk->is_settled && bulk->asked < bulk->size &&
	       (read = read_free(bulk)) != NULL) {
		uint64_t size = bulk->size - bulk->asked;

		if (size > core->options.bulk_segment)
			size = core->options.bulk_segment;
		if (bulk->parent_there < bulk->asked + size)
			return;
		read->offset = bulk->asked;
		read->size = size;
		bulk->asked += size;
		bulk->reads_active++;
		action_start(core, &read->action, bcast, ACTION_READ, now_ns);
	}
}

static void announce_all(struct bcast *bcast, uint64_t now_ns)
{
	for (uint32_t i = 0;
	     bcast->tree != NULL && i < bcast->tree->child_count; i++)
		bulk_announce(&bcast->children[i], now_ns);
}

void bulk_read_ended(struct bulk_read *read, uint64_t now_ns, int result)
{
	struct bcast *bcast = read->action.bcast;
	struct bulk *bulk = bcast->bulk;

	bulk->reads_active--;
	if (bulk->is_settled)
		return;
	if (result < 0) {
		bulk_fail(bcast, now_ns, result);
		return;
	}
	bulk->there = bulk->asked;
	for (int i = 0; i < BULK_READS; i++) {
		const struct bulk_read *other = &bulk->reads[i];

		if (!action_is_idle(&other->action) &&
		    other->offset < bulk->there)
			bulk->there = other->offset;
	}
	bulk->is_settled = bulk->there == bulk->size;
	announce_all(bcast, now_ns);
	bulk_read_start(bcast, now_ns);
}

void bulk_parent_has(struct bcast *bcast, uint64_t now_ns, uint64_t there,
		     int status)
{
	struct bulk *bulk = bcast->bulk;

	if (bulk == NULL || bulk->is_settled)
		return;
	if (status < 0) {
		bulk_fail(bcast, now_ns, status);
		return;
	}
	if (there > bulk->parent_there)
		bulk->parent_there = there < bulk->size ? there : bulk->size;
	bulk_read_start(bcast, now_ns);
}

/* --- to the children --- */

void bulk_announce(struct child *child, uint64_t now_ns)
{
	struct bcast *bcast = child->bcast;
	const struct bulk *bulk = bcast->bulk;
	int result;

	if (bulk == NULL || child->state != CHILD_SENT ||
	    child->bulk_notice != NULL || bulk->there <= child->bulk_announced)
		return;
	result = bcast_notice_send(child, now_ns, WIRE_BULK_READY, 0,
				   bulk->there, &child->bulk_notice);
	if (result < 0)
		child_fail(child, now_ns, result, SCOLL_ERROR_NOMEM);
	else
		child->bulk_announced = bulk->there;
}

void bulk_spread_failure(struct bcast *bcast, uint64_t now_ns)
{
	int status = bcast->bulk->status;
	enum scoll_error_type type =
		bcast->is_aborted ? SCOLL_ERROR_ABORTED : SCOLL_ERROR_BULK;
	struct wire_failure failure = {
		.rank = bcast->tree->rank,
		.status = (int16_t)status,
		.type = (uint8_t)type,
		.is_subtree = true,
	};

	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		struct child *child = &bcast->children[i];

		if (child->state == CHILD_SENT)
			bcast_notice_send(child, now_ns, WIRE_BULK_READY,
					  status, 0, NULL);
		child_fail(child, now_ns, status, type);
	}
	bcast->failure_count = 0;
	bcast->is_overflown = false;
	bcast_failure_add(bcast, &failure);
	bcast_error(bcast, status, type);
}

void bulk_fail(struct bcast *bcast, uint64_t now_ns, int status)
{
	struct bulk *bulk = bcast->bulk;

	if (bulk->is_settled)
		return;
	status = status_clamp(status);
	bulk->is_settled = true;
	bulk->status = status;
	for (int i = 0; i < BULK_READS; i++) {
		struct bulk_read *read = &bulk->reads[i];

		if (!action_is_idle(&read->action) &&
		    action_cancel(bcast->core, &read->action))
			bulk->reads_active--;
	}
	bcast->public.srq_bulk_status = status;
	if (bcast->phase == PHASE_RUN)
		bulk_spread_failure(bcast, now_ns);
	bcast_touch(bcast);
}
