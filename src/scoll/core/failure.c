/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who failed or was not reached: the library's own account, exact whatever the
 * service aggregates (E-06, B-19). A node's list has each rank of its subtree
 * at most once; an entry may stand for the whole subtree of its rank. It goes
 * up with the reply, and the parent adds it to its own.
 */
#include "scoll/core/internal.h"

static bool grow(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;
	uint32_t capacity = 4 * bcast->failure_capacity;
	struct wire_failure *failures;

	failures = scoll_core_alloc(core, capacity * sizeof(*failures));
	if (failures == NULL)
		return false;
	memcpy(failures, bcast->failures,
	       bcast->failure_count * sizeof(*failures));
	if (bcast->failures != bcast->inline_failures)
		scoll_core_release(core, bcast->failures);
	bcast->failures = failures;
	bcast->failure_capacity = capacity;
	return true;
}

/* Never claim too little: without memory the whole subtree has failed. */
static void overflow(struct bcast *bcast)
{
	bcast->is_overflown = true;
	bcast->failure_count = 1;
	bcast->failures[0] = (struct wire_failure){
		.rank = bcast->tree->rank,
		.status = -ENOMEM,
		.type = SCOLL_ERROR_NOMEM,
		.is_subtree = true,
	};
}

void bcast_failure_add(struct bcast *bcast, const struct wire_failure *failure)
{
	if (bcast->is_overflown)
		return;
	if (bcast->failure_count == bcast->failure_capacity && !grow(bcast)) {
		overflow(bcast);
		return;
	}
	bcast->failures[bcast->failure_count++] = *failure;
}

void bcast_failure_self(struct bcast *bcast, int status,
			enum scoll_error_type type)
{
	struct wire_failure failure = {
		.rank = bcast->tree->rank,
		.status = (int16_t)status_clamp(status),
		.type = (uint8_t)type,
		.is_reached = true,
	};

	bcast_failure_add(bcast, &failure);
}

void bcast_fail_self(struct bcast *bcast, int status,
		     enum scoll_error_type type)
{
	if (bcast->error != 0)
		return;
	bcast_failure_self(bcast, status, type);
	bcast_error(bcast, status, type);
}

bool child_covers(const struct child *child, uint32_t rank)
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t count = tree_ranges(&child->bcast->tree->tree,
				     child->node->rank, ranges);

	for (uint32_t i = 0; i < count; i++) {
		if (rank - ranges[i].first < ranges[i].count)
			return true;
	}
	return false;
}

void bcast_failure_child(struct bcast *bcast, const struct child *child,
			 int status, enum scoll_error_type type)
{
	struct wire_failure failure = {
		.rank = child->node->rank,
		.status = (int16_t)status_clamp(status),
		.type = (uint8_t)type,
		.is_subtree = true,
	};
	uint32_t kept = 0;

	if (child->failure_total > 0 && !bcast->is_overflown) {
		for (uint32_t i = 0; i < bcast->failure_count; i++) {
			if (!child_covers(child, bcast->failures[i].rank))
				bcast->failures[kept++] = bcast->failures[i];
		}
		bcast->failure_count = kept;
	}
	bcast_failure_add(bcast, &failure);
}

/* --- what the user sees --- */

static void failure_fill(const struct bcast *bcast,
			 const struct wire_failure *failure, uint32_t rank,
			 struct scoll_failure *ret_failure)
{
	*ret_failure = (struct scoll_failure){
		.nid = ranking_nid(&bcast->tree->ranking, rank),
		.status = failure->status,
		.type = (enum scoll_error_type)failure->type,
		.is_reached = failure->is_reached,
	};
}

/* The at-th rank of a subtree; false: it has not so many. */
static bool subtree_rank(const struct bcast *bcast, uint32_t top, uint32_t at,
			 uint32_t *ret_rank)
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t count = tree_ranges(&bcast->tree->tree, top, ranges);

	for (uint32_t i = 0; i < count; i++) {
		if (at < ranges[i].count) {
			*ret_rank = ranges[i].first + at;
			return true;
		}
		at -= ranges[i].count;
	}
	return false;
}

int scoll_core_request_failure_next(const scoll_request_t *request,
				    uint64_t *cursor,
				    struct scoll_failure *ret_failure)
{
	const struct bcast *bcast = bcast_of(request);
	uint32_t at = (uint32_t)(*cursor >> 32);
	uint32_t step = (uint32_t)*cursor;
	uint32_t rank;

	for (; at < bcast->failure_count; at++, step = 0) {
		const struct wire_failure *failure = &bcast->failures[at];

		if (failure->is_subtree) {
			if (!subtree_rank(bcast, failure->rank, step, &rank))
				continue;
		} else if (step > 0) {
			continue;
		} else {
			rank = failure->rank;
		}
		failure_fill(bcast, failure, rank, ret_failure);
		*cursor = (uint64_t)at << 32 | (step + 1);
		return 1;
	}
	*cursor = (uint64_t)at << 32;
	return 0;
}

int scoll_core_group_failure_next(const struct scoll_core *core,
				  uint64_t *cursor,
				  struct scoll_failure *ret_failure)
{
	const struct bcast *bcast = core->called;

	if (bcast == NULL || bcast->callback != CORE_CALLBACK_GROUP)
		return -EINVAL;
	return scoll_core_request_failure_next(&bcast->public, cursor,
					       ret_failure);
}

int scoll_core_request_status(const scoll_request_t *request)
{
	return bcast_of(request)->failure_count == 0 ? 0 : -EREMOTEIO;
}
