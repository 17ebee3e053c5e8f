/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * K-nomial trees, and the binomial one, which is K = 2. Ranks are read with
 * radix K: a node's parent has its least significant digit that is not zero
 * cleared. Its degree D is the number of zero digits behind that one, the
 * root's the least D with K^D >= N. Children are R + p * K^e for e in [0, D)
 * and p in [1, K), as far as they are below N.
 *
 * Subtrees are ranges: K^D ranks from R on, cut at N. A subtree of m nodes has
 * the shape of a tree of m nodes, so that its depth follows from m alone: the
 * most digits that are not zero which a number below m has.
 */
#include "scoll/tree/internal.h"

#define RADIX_MAX 4096

static uint64_t radix(const struct scoll_tree_shape *shape)
{
	return shape->option == 0 ? 2 : shape->option;
}

/* K^D, not cut. */
static uint64_t subtree_width(const struct scoll_tree_shape *shape,
			      uint32_t rank)
{
	uint64_t k = radix(shape);
	uint64_t width = 1;

	if (rank == 0) {
		while (width < shape->node_count)
			width *= k;
		return width;
	}
	while (rank % k == 0) {
		rank = (uint32_t)(rank / k);
		width *= k;
	}
	return width;
}

static uint32_t knomial_children(const struct scoll_tree_shape *shape,
				 uint32_t rank, uint32_t *ret_ranks,
				 uint32_t capacity)
{
	uint64_t k = radix(shape);
	uint64_t width = subtree_width(shape, rank);
	uint32_t count = 0;

	for (uint64_t step = 1; step < width; step *= k) {
		for (uint64_t p = 1; p < k; p++) {
			uint64_t child = rank + p * step;

			if (child >= shape->node_count)
				return count;
			if (count < capacity)
				ret_ranks[count] = (uint32_t)child;
			count++;
		}
	}
	return count;
}

/*
 * The best number below `size` is size - 1 itself, or one that takes over its
 * leading digits, has one less in the next place and K - 1 in all behind it.
 */
static uint32_t depth_of(uint64_t k, uint32_t size)
{
	uint32_t depth = 0; /* best of the digits seen, from the right */
	uint32_t place = 0;

	for (uint64_t rest = size - 1; rest > 0; rest /= k, place++) {
		uint64_t digit = rest % k;
		uint32_t lowered = place + (digit > 1);

		if (digit == 0)
			continue;
		depth = depth + 1 > lowered ? depth + 1 : lowered;
	}
	return depth;
}

static void knomial_node(const struct scoll_tree_shape *shape, uint32_t rank,
			 struct scoll_tree_node *ret_node)
{
	uint64_t k = radix(shape);
	uint64_t width = subtree_width(shape, rank);
	uint32_t behind = shape->node_count - rank;
	uint32_t size = width < behind ? (uint32_t)width : behind;

	ret_node->parent =
		rank == 0 ? 0 : (uint32_t)(rank - rank % (width * k));
	ret_node->size = size;
	ret_node->depth = depth_of(k, size);
}

const struct scoll_tree_ops tree_binomial = {
	.size = sizeof(tree_binomial),
	.name = "binomial",
	.node = knomial_node,
	.children = knomial_children,
};

const struct scoll_tree_ops tree_knomial = {
	.size = sizeof(tree_knomial),
	.name = "knomial",
	.option_min = 2,
	.option_max = RADIX_MAX,
	.node = knomial_node,
	.children = knomial_children,
};
