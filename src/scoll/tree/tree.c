/* SPDX-License-Identifier: BSD-3-Clause */
/* Questions about a tree, to the kind that it is of. */
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

struct scoll_tree_node tree_node(const struct tree *tree, uint32_t rank)
{
	struct scoll_tree_node node;

	assert(rank < tree->shape.node_count);
	tree->ops->node(&tree->shape, rank, &node);
	return node;
}

uint32_t tree_width(const struct tree *tree)
{
	return tree->ops->children(&tree->shape, 0, NULL, 0);
}

uint32_t tree_ranges(const struct tree *tree, uint32_t rank,
		     struct scoll_tree_range ret_ranges[SCOLL_TREE_RANGES_MAX])
{
	uint32_t count;

	if (tree->ops->ranges == NULL) {
		ret_ranges[0] =
			(struct scoll_tree_range){ rank,
						   tree_node(tree, rank).size };
		count = 1;
	} else {
		count = tree->ops->ranges(&tree->shape, rank, ret_ranges);
	}
	if (count > SCOLL_TREE_RANGES_MAX)
		return 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct scoll_tree_range *range = &ret_ranges[i];

		if (range->first >= tree->shape.node_count ||
		    range->count > tree->shape.node_count - range->first)
			return 0;
	}
	return count;
}
