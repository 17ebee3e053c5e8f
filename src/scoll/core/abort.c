/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Abort (B-23): missing replies become -ECANCELED, and the remaining callbacks
 * follow. The root's abort goes down the tree, best effort; a member's abort
 * stays local, and its parent learns of it from the reply.
 */
#include "scoll/core/internal.h"

static void children_abort(struct bcast *bcast, uint64_t now_ns, int status,
			   bool goes_down)
{
	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		struct child *child = &bcast->children[i];

		if (child->state >= CHILD_ENDED)
			continue;
		if (goes_down && child->state >= CHILD_SENT)
			bcast_notice_send(child, now_ns, WIRE_ABORT, status, 0,
					  NULL);
		child_fail(child, now_ns, status, SCOLL_ERROR_ABORTED);
	}
}

void bcast_abort(struct bcast *bcast, uint64_t now_ns, int status,
		 bool goes_down)
{
	if (bcast->is_aborted || bcast->phase == PHASE_NEW ||
	    bcast->phase >= PHASE_OUT)
		return;
	bcast->is_aborted = true;
	bcast->abort_status = status_clamp(status);
	switch ((enum scoll_phase)bcast->phase) {
	case PHASE_HELD:
		bcast_root_fail(bcast, now_ns, bcast->abort_status,
				SCOLL_ERROR_ABORTED);
		break;
	case PHASE_PARKED:
	case PHASE_RUN:
		if (bcast->bulk != NULL)
			bulk_fail(bcast, now_ns, bcast->abort_status);
		if (bcast->tree != NULL)
			children_abort(bcast, now_ns, bcast->abort_status,
				       goes_down);
		break;
	default:
		break;
	}
	bcast_touch(bcast);
}

void scoll_core_bcast_abort(scoll_request_t *request, uint64_t now_ns)
{
	struct bcast *bcast = bcast_of(request);
	struct scoll_core *core = bcast->core;

	bcast_abort(bcast, now_ns, -ECANCELED, bcast->is_root);
	scoll_core_run(core, now_ns);
}
