/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Complete K-ary trees, filled level by level from the left, and the flat one,
 * which is K = N - 1. Children of R are R * K + 1 ... R * K + K as far as they
 * are below N.
 *
 * On each level a subtree is one range: from the leftmost child of the range
 * above to the rightmost, cut at N. There are at most log2 N of them.
 */
#include "scoll/tree/internal.h"

#define BRANCHES_MAX 4096

static uint64_t branches(const struct scoll_tree_shape *shape)
{
	return shape->option == 0 ? shape->node_count - 1 : shape->option;
}

/* Leftmost and rightmost rank of one level; the latter is not cut. */
struct tree_level {
	uint64_t first;
	uint64_t last;
};

static struct tree_level level_below(const struct scoll_tree_shape *shape,
				     struct tree_level level)
{
	uint64_t k = branches(shape);

	return (struct tree_level){ level.first * k + 1, level.last * k + k };
}

static uint32_t level_count(const struct scoll_tree_shape *shape,
			    struct tree_level level)
{
	uint64_t end = shape->node_count;

	return (uint32_t)((level.last < end ? level.last + 1 : end) -
			  level.first);
}

static uint32_t kary_children(const struct scoll_tree_shape *shape,
			      uint32_t rank, uint32_t *ret_ranks,
			      uint32_t capacity)
{
	struct tree_level below =
		level_below(shape, (struct tree_level){ rank, rank });
	uint32_t count;

	if (below.first >= shape->node_count)
		return 0;
	count = level_count(shape, below);
	for (uint32_t i = 0; i < count && i < capacity; i++)
		ret_ranks[i] = (uint32_t)(below.first + i);
	return count;
}

static uint32_t kary_ranges(const struct scoll_tree_shape *shape, uint32_t rank,
			    struct scoll_tree_range *ret_ranges)
{
	struct tree_level level = { rank, rank };
	uint32_t count = 0;

	while (level.first < shape->node_count) {
		ret_ranges[count++] =
			(struct scoll_tree_range){ (uint32_t)level.first,
						   level_count(shape, level) };
		level = level_below(shape, level);
	}
	return count;
}

static void kary_node(const struct scoll_tree_shape *shape, uint32_t rank,
		      struct scoll_tree_node *ret_node)
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t levels = kary_ranges(shape, rank, ranges);

	ret_node->parent =
		rank == 0 ? 0 : (uint32_t)((rank - 1) / branches(shape));
	ret_node->depth = levels - 1;
	ret_node->size = 0;
	for (uint32_t i = 0; i < levels; i++)
		ret_node->size += ranges[i].count;
}

const struct scoll_tree_ops tree_flat = {
	.size = sizeof(tree_flat),
	.name = "flat",
	.node = kary_node,
	.children = kary_children,
	.ranges = kary_ranges,
};

const struct scoll_tree_ops tree_kary = {
	.size = sizeof(tree_kary),
	.name = "kary",
	.option_min = 2,
	.option_max = BRANCHES_MAX,
	.node = kary_node,
	.children = kary_children,
	.ranges = kary_ranges,
};
