/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a broadcast costs in the postal model (LogP without processing): a node
 * that has the message at time t sends it to its children one after the other,
 * child i has it at t + i * gap + latency. For tests and benchmarks: takes
 * O(n log n).
 */
#pragma once

#include "base/seam.h"
#include "scoll/tree/tree.h"

struct cost_model {
	double latency;
	double gap;
	/*
	 * Each latency and each gap is scaled by a number drawn evenly from
	 * 1 - jitter to 1 + jitter; rng is not used when jitter is 0.
	 */
	double jitter;
	const struct rng_seam *rng;
};

enum cost_order {
	COST_DEPTH,     /* SCOLL_ORDER_DEPTH */
	COST_RANK,      /* SCOLL_ORDER_RANK */
	COST_ASCENDING, /* the lowest rank first: the other way round */
};

/*
 * Time from the first send to the last arrival. ret_times has room for each
 * tree rank's arrival, or is NULL. -ENOMEM.
 */
int cost_broadcast(const struct tree *tree, enum cost_order order,
		   const struct cost_model *model, double *ret_last,
		   double *ret_times);
/*
 * T*: the least time in which any tree reaches node_count nodes, by
 * N(t) = N(t - gap) + N(t - latency), counted up tick by tick; gap > 0 and
 * latency > 0, in ticks. -ENOMEM.
 */
int cost_optimum(uint64_t latency, uint64_t gap, uint32_t node_count,
		 uint64_t *ret_time);
