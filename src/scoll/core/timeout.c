/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a child is waited for: (depth + 1) R + P, and for each level what
 * the bulk data takes over a link that as many share as the root has children
 * (O-04, B-20). The time of all children begins when the
 * request is passed on, so that the root's end does not depend on how long the
 * transport was full. And what discovery says (E-04): the counter of each child
 * is compared with what it was when the child was sent to.
 */
#include "scoll/core/internal.h"

uint64_t bcast_wait_ns(const struct bcast *bcast, uint32_t depth)
{
	uint64_t readers = bcast->tree != NULL && bcast->tree->width > 0
				   ? bcast->tree->width
				   : 1;
	uint64_t bulk_ns, levels_ns;

	if (__builtin_mul_overflow(bcast->bulk_ns, readers, &bulk_ns) ||
	    __builtin_mul_overflow(deadline_after(bcast->rtt_ns, bulk_ns),
				   (uint64_t)depth + 1, &levels_ns))
		return DEADLINE_NONE;
	return deadline_after(levels_ns, bcast->timeout_ns);
}

static uint64_t child_due_ns(const struct child *child)
{
	const struct bcast *bcast = child->bcast;

	return deadline_after(bcast->started_ns,
			      bcast_wait_ns(bcast, child->node->depth));
}

/* Until when bulk data is waited for: as long as the parent waits for us. */
static uint64_t bulk_due_ns(const struct bcast *bcast)
{
	return deadline_after(bcast->started_ns,
			      bcast_wait_ns(bcast, bcast->tree->node.depth));
}

static bool bulk_is_awaited(const struct bcast *bcast)
{
	return bcast->bulk != NULL && !bcast->bulk->is_settled;
}

void bcast_due_update(struct bcast *bcast)
{
	uint64_t due_ns = DEADLINE_NONE;

	if (bulk_is_awaited(bcast))
		due_ns = bulk_due_ns(bcast);
	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		const struct child *child = &bcast->children[i];

		if (child->state < CHILD_ENDED && child_due_ns(child) < due_ns)
			due_ns = child_due_ns(child);
	}
	bcast_due_set(bcast, due_ns);
}

static void expire_run(struct bcast *bcast, uint64_t now_ns)
{
	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		struct child *child = &bcast->children[i];

		if (child_due_ns(child) <= now_ns)
			child_fail(child, now_ns, -ETIMEDOUT,
				   SCOLL_ERROR_TIMEOUT);
	}
	if (bulk_is_awaited(bcast) && bulk_due_ns(bcast) <= now_ns)
		bulk_fail(bcast, now_ns, -ETIMEDOUT);
	bcast_due_update(bcast);
}

void bcast_expire(struct bcast *bcast, uint64_t now_ns)
{
	switch ((enum scoll_phase)bcast->phase) {
	case PHASE_RUN:
		expire_run(bcast, now_ns);
		break;
	case PHASE_PARKED:
		bcast_park_expire(bcast, now_ns);
		break;
	default:
		bcast->is_reporting = false;
		break;
	}
}

/* --- discovery --- */

static bool has_changed(const struct scoll_core *core, scoll_nid_t nid,
			uint32_t counter)
{
	return discovery_counter(core->options.discovery, nid) != counter;
}

static void children_check(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_core *core = bcast->core;

	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		struct child *child = &bcast->children[i];
		scoll_nid_t nid = child->node->nid;

		if (child->state == CHILD_NEW || child->state >= CHILD_ENDED ||
		    !has_changed(core, nid, child->counter))
			continue;
		if (discovery_is_alive(core->options.discovery, nid))
			child_fail(child, now_ns, -ECONNRESET,
				   SCOLL_ERROR_PEER_REBOOT);
		else
			child_fail(child, now_ns, -EHOSTDOWN,
				   SCOLL_ERROR_PEER_DEAD);
	}
}

void scoll_core_peers_check(struct scoll_core *core, uint64_t now_ns)
{
	uint64_t epoch = discovery_epoch(core->options.discovery);
	struct bcast *bcast;

	if (epoch == core->epoch)
		return;
	core->epoch = epoch;
	DL_FOREACH (core->bcasts, bcast) {
		bcast->is_stirred = bcast->phase == PHASE_PARKED;
		if (bcast->phase == PHASE_RUN)
			children_check(bcast, now_ns);
		if (!bcast->is_root && bcast->bulk != NULL &&
		    !bcast->bulk->is_settled &&
		    has_changed(core, bcast->parent, bcast->parent_counter))
			bulk_fail(bcast, now_ns, -EHOSTDOWN);
		bcast_touch(bcast);
	}
	group_table_peers_check(core->groups);
}
