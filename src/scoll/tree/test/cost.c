/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A walk of the whole tree, and the recurrence as it stands: on purpose not
 * what logp.c does, which is measured by it.
 */
#include "scoll/tree/test/cost.h"

#include <assert.h>

#include "base/cleanup.h"
#include "scoll/tree/internal.h"

struct tree_walk {
	const struct tree *tree;
	enum cost_order order;
	const struct cost_model *model;
	uint32_t *ranks;             /* scratch */
	struct tree_child *children; /* of one node */
	uint32_t *queue;             /* tree ranks that have it and children */
	uint32_t queued;
	uint32_t served; /* how many have been sent to */
	double *times;   /* of each tree rank's arrival */
	double last;
};

/* Evenly from 1 - jitter to 1 + jitter. */
static double noise(const struct cost_model *model)
{
	double draw;

	if (model->jitter <= 0)
		return 1;
	draw = (double)(rng_u64(model->rng) >> 11) / 0x1p53; /* [0, 1) */
	return 1 - model->jitter + 2 * model->jitter * draw;
}

/* Serve a node's children. */
static void serve(struct tree_walk *walk, uint32_t rank)
{
	const struct cost_model *model = walk->model;
	int64_t count =
		tree_children(walk->tree,
			      walk->order == COST_DEPTH ? SCOLL_ORDER_DEPTH
							: SCOLL_ORDER_RANK,
			      rank, walk->tree->shape.node_count, walk->ranks,
			      walk->children);
	double now = walk->times[rank];

	for (int64_t i = 0; i < count; i++) {
		int64_t place =
			walk->order == COST_ASCENDING ? count - 1 - i : i;
		const struct tree_child *child = &walk->children[place];
		double arrival = now + model->latency * noise(model);

		now += model->gap * noise(model);
		walk->times[child->rank] = arrival;
		if (arrival > walk->last)
			walk->last = arrival;
		if (child->depth > 0)
			walk->queue[walk->queued++] = child->rank;
	}
	assert(count >= 0);
	walk->served += (uint32_t)count;
}

int cost_broadcast(const struct tree *tree, enum cost_order order,
		   const struct cost_model *model, double *ret_last,
		   double *ret_times)
{
	uint32_t node_count = tree->shape.node_count;
	_auto_(freep) uint32_t *ranks = calloc(node_count, sizeof(*ranks));
	_auto_(freep) uint32_t *queue = calloc(node_count, sizeof(*queue));
	_auto_(freep) struct tree_child *children =
		calloc(node_count, sizeof(*children));
	_auto_(freep) double *times = calloc(node_count, sizeof(*times));
	struct tree_walk walk = {
		.tree = tree,
		.order = order,
		.model = model,
		.ranks = ranks,
		.children = children,
		.queue = queue,
		.queued = 1,
		.times = ret_times == NULL ? times : ret_times,
	};

	if (ranks == NULL || queue == NULL || children == NULL || times == NULL)
		return -ENOMEM;
	walk.times[0] = 0;
	for (uint32_t i = 0; i < walk.queued; i++)
		serve(&walk, queue[i]);
	assert(walk.served == node_count - 1);
	*ret_last = walk.last;
	return 0;
}

int cost_optimum(uint64_t latency, uint64_t gap, uint32_t node_count,
		 uint64_t *ret_time)
{
	_auto_(freep) uint64_t *counts = NULL;
	size_t capacity = 0;

	assert(latency > 0 && gap > 0);
	for (uint64_t t = 0;; t++) {
		if (t == capacity) {
			uint64_t *larger;

			capacity = capacity * 2 + 64;
			larger =
				reallocarray(counts, capacity, sizeof(*counts));
			if (larger == NULL)
				return -ENOMEM;
			counts = larger;
		}
		counts[t] = t < latency
				    ? 1
				    : counts[t - latency] +
					      (t < gap ? 0 : counts[t - gap]);
		if (counts[t] >= node_count) {
			*ret_time = t;
			return 0;
		}
	}
}
