/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a caller's targets to a membership. Those of one node are merged: the
 * node stands where its first target does, with the tags of all of them in
 * their order. Then the hook may put the nodes in another order. The order is
 * part of what a group is, so it is settled here, before anybody learns of it.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "scoll/core/membership_internal.h"

/* Targets on their way to be nodes. */
struct merge {
	const scoll_target_t *targets;
	uint32_t target_count;
	uint32_t *node_of;  /* of each target */
	scoll_nid_t *nids;  /* of each node */
	uint32_t *entities; /* on each node */
	uint32_t node_count;
	uint32_t entity_count;
};

static void merge_fini(struct merge *merge)
{
	free(merge->node_of);
	free(merge->nids);
	free(merge->entities);
}

static int targets_check(const scoll_target_t *targets, int count)
{
	uint64_t sum = 0;

	if (count <= 0 || targets == NULL)
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		if (targets[i].nid == SCOLL_NID_ANY || targets[i].count <= 0 ||
		    targets[i].tags == NULL)
			return -EINVAL;
		sum += (uint64_t)targets[i].count;
	}
	return sum > MEMBERSHIP_ENTITIES_MAX ? -E2BIG : 0;
}

static int compare_target(const void *left, const void *right, void *ctx)
{
	const scoll_target_t *targets = ctx;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	if (targets[a].nid != targets[b].nid)
		return targets[a].nid < targets[b].nid ? -1 : 1;
	return a < b ? -1 : a > b;
}

/* In node_of: for each target the first one of its node. */
static int firsts_find(struct merge *merge)
{
	_auto_(freep) uint32_t *sorted =
		malloc(merge->target_count * sizeof(*sorted));
	uint32_t first = 0;

	if (sorted == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < merge->target_count; i++)
		sorted[i] = i;
	qsort_r(sorted, merge->target_count, sizeof(*sorted), compare_target,
		(void *)merge->targets);
	for (uint32_t i = 0; i < merge->target_count; i++) {
		if (i == 0 ||
		    merge->targets[sorted[i]].nid != merge->targets[first].nid)
			first = sorted[i];
		merge->node_of[sorted[i]] = first;
	}
	return 0;
}

/* Number the nodes in the order of their first targets, and count. */
static int nodes_number(struct merge *merge)
{
	for (uint32_t i = 0; i < merge->target_count; i++) {
		const scoll_target_t *target = &merge->targets[i];
		uint32_t first = merge->node_of[i], node;

		/* The first one's number is there already. */
		node = first == i ? merge->node_count++ : merge->node_of[first];
		merge->node_of[i] = node;
		merge->nids[node] = target->nid;
		merge->entities[node] += (uint32_t)target->count;
		merge->entity_count += (uint32_t)target->count;
		if (merge->entities[node] > SCOLL_ENTITIES_MAX)
			return -E2BIG;
	}
	return merge->node_count > SCOLL_NODES_MAX ? -E2BIG : 0;
}

static int merge_init(const scoll_target_t *targets, int count,
		      struct merge *merge)
{
	int result = targets_check(targets, count);

	*merge = (struct merge){ .targets = targets };
	if (result < 0)
		return result;
	merge->target_count = (uint32_t)count;
	merge->node_of = calloc(merge->target_count, sizeof(*merge->node_of));
	merge->nids = calloc(merge->target_count, sizeof(*merge->nids));
	merge->entities = calloc(merge->target_count, sizeof(*merge->entities));
	if (merge->node_of == NULL || merge->nids == NULL ||
	    merge->entities == NULL)
		return -ENOMEM;
	result = firsts_find(merge);
	return result < 0 ? result : nodes_number(merge);
}

/*
 * Ask the hook. *ret_position has each node's position in the order, to be
 * freed; -EINVAL: that is none.
 */
static int positions_ask(const struct merge *merge, scoll_permute_cb_t permute,
			 void *ctx, uint32_t **ret_position)
{
	uint32_t count = merge->node_count;
	_auto_(freep) int *order = malloc(count * sizeof(*order));
	_auto_(freep) uint32_t *position = malloc(count * sizeof(*position));

	if (order == NULL || position == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		order[i] = (int)i;
		position[i] = UINT32_MAX;
	}
	if (permute != NULL)
		permute(ctx, merge->nids, (int)count, order);
	for (uint32_t i = 0; i < count; i++) {
		if (order[i] < 0 || (uint32_t)order[i] >= count ||
		    position[order[i]] != UINT32_MAX)
			return -EINVAL;
		position[order[i]] = i;
	}
	*ret_position = take_ptr(position);
	return 0;
}

/* cursors count the entities of each position first, and are summed up then. */
static void draft_fill(const struct merge *merge, const uint32_t *position,
		       uint32_t *cursors, struct membership_draft *draft)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < merge->node_count; i++) {
		draft->nids[position[i]] = merge->nids[i];
		cursors[position[i]] = merge->entities[i];
	}
	for (uint32_t i = 0; i < merge->node_count; i++) {
		uint32_t count = cursors[i];

		cursors[i] = sum;
		if (draft->sums != NULL)
			draft->sums[i] = sum;
		sum += count;
	}
	if (draft->sums != NULL)
		draft->sums[merge->node_count] = sum;
	for (uint32_t i = 0; i < merge->target_count; i++) {
		const scoll_target_t *target = &merge->targets[i];
		uint32_t *cursor = &cursors[position[merge->node_of[i]]];

		memcpy(draft->tags + *cursor, target->tags,
		       (size_t)target->count * sizeof(*target->tags));
		*cursor += (uint32_t)target->count;
	}
}

static bool is_rising(const struct merge *merge, const uint32_t *position,
		      scoll_nid_t *scratch)
{
	for (uint32_t i = 0; i < merge->node_count; i++)
		scratch[position[i]] = merge->nids[i];
	return membership_is_rising(scratch, merge->node_count);
}

static int merge_finish(struct memberships *memberships,
			const struct merge *merge, const uint32_t *position,
			struct membership **ret_membership)
{
	/* First NIDs, then cursors. */
	_auto_(freep) scoll_nid_t *scratch =
		malloc(merge->node_count * sizeof(*scratch));
	struct membership_draft draft;
	int result;

	if (scratch == NULL)
		return -ENOMEM;
	result = membership_draft(merge->node_count, merge->entity_count,
				  is_rising(merge, position, scratch), &draft);
	if (result < 0)
		return result;
	draft_fill(merge, position, (uint32_t *)scratch, &draft);
	return membership_finish(memberships, &draft, NULL, ret_membership);
}

int memberships_from_targets(struct memberships *memberships,
			     const scoll_target_t *targets, int count,
			     scoll_permute_cb_t permute, void *permute_ctx,
			     struct membership **ret_membership)
{
	_auto_(merge_fini) struct merge merge;
	_auto_(freep) uint32_t *position = NULL;
	int result = merge_init(targets, count, &merge);

	if (result == 0)
		result = positions_ask(&merge, permute, permute_ctx, &position);
	if (result < 0)
		return result;
	return merge_finish(memberships, &merge, position, ret_membership);
}
