/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions about a tree, with ranks turned into tree ranks and back. A range
 * of tree ranks that goes past the last rank becomes two; ranges of a subtree
 * do not overlap, so that this happens to one at most.
 */
#include "scoll/tree/tree.h"

#include <assert.h>

#include "scoll/tree/internal.h"

int tree_init(const struct tree_types *types, scoll_tree_type_t type,
	      uint32_t node_count, struct tree *ret_tree)
{
	int result = tree_type_check(types, type);

	if (result < 0)
		return result;
	if (node_count == 0 || node_count > TREE_NODES_MAX)
		return -ERANGE;
	*ret_tree = (struct tree){
		.ops = tree_type_ops(types, type >> TREE_OPTION_BITS),
		.type = type,
		.shape = {
			.option = type & TREE_OPTION_MAX,
			.node_count = node_count,
		},
	};
	if (ret_tree->ops->prepare != NULL)
		ret_tree->ops->prepare(&ret_tree->shape);
	return 0;
}

static uint32_t from(const struct tree *tree, uint32_t root, uint32_t rank)
{
	assert(root < tree->shape.node_count && rank < tree->shape.node_count);
	return tree_rank_from(rank, root, tree->shape.node_count);
}

struct scoll_tree_node tree_node(const struct tree *tree, uint32_t root,
				 uint32_t rank)
{
	struct scoll_tree_node node;

	tree->ops->node(&tree->shape, from(tree, root, rank), &node);
	node.parent = tree_rank_to(node.parent, root, tree->shape.node_count);
	return node;
}

uint32_t tree_width(const struct tree *tree)
{
	return tree->ops->children(&tree->shape, 0, NULL, 0);
}

uint32_t tree_ranges(const struct tree *tree, uint32_t root, uint32_t rank,
		     struct scoll_tree_range ret_ranges[TREE_RANGES_MAX])
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t tree_rank = from(tree, root, rank);
	uint32_t range_count = 1, count = 0;

	if (tree->ops->ranges != NULL)
		range_count =
			tree->ops->ranges(&tree->shape, tree_rank, ranges);
	else
		ranges[0] = (struct scoll_tree_range){
			tree_rank, tree_node(tree, root, rank).size
		};
	if (range_count > SCOLL_TREE_RANGES_MAX)
		return 0;
	for (uint32_t i = 0; i < range_count; i++) {
		struct scoll_tree_range range = ranges[i];
		uint32_t first, to_end;

		if (range.first >= tree->shape.node_count ||
		    range.count > tree->shape.node_count - range.first)
			return 0;
		first = tree_rank_to(range.first, root, tree->shape.node_count);
		to_end = tree->shape.node_count - first;
		if (range.count > to_end) {
			ret_ranges[count++] =
				(struct scoll_tree_range){ first, to_end };
			range.count -= to_end;
			first = 0;
		}
		if (count >= TREE_RANGES_MAX)
			return 0; /* they overlap */
		ret_ranges[count++] =
			(struct scoll_tree_range){ first, range.count };
	}
	return count;
}
