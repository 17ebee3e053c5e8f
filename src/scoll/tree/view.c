/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which children are served: the deepest subtree first, since
 * what takes longest should start first; of equals the higher rank, which
 * has the larger subtree where subtrees are ranges.
 */
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"
#include "scoll/tree/internal.h"

static int by_rank(const void *left, const void *right)
{
	const struct tree_child *a = left, *b = right;

	return a->rank > b->rank ? -1 : a->rank < b->rank;
}

static int by_depth(const void *left, const void *right)
{
	const struct tree_child *a = left, *b = right;

	if (a->depth != b->depth)
		return a->depth > b->depth ? -1 : 1;
	return by_rank(left, right);
}

int64_t tree_children(const struct tree *tree, enum scoll_order order,
		      uint32_t parent, uint32_t capacity, uint32_t *ranks,
		      struct tree_child *ret_children)
{
	int (*compare)(const void *, const void *) =
		order == SCOLL_ORDER_DEPTH ? by_depth : by_rank;
	const struct scoll_tree_shape *shape = &tree->shape;
	uint32_t count = tree->ops->children(shape, parent, ranks, capacity);
	bool is_sorted = true;

	if (count > capacity)
		return -EINVAL;
	/* Most types list them rising: backwards is often right already. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t rank = ranks[count - 1 - i];
		struct scoll_tree_node node;

		if (rank >= shape->node_count)
			return -EINVAL;
		tree->ops->node(shape, rank, &node);
		if (node.parent != parent)
			return -EINVAL;
		ret_children[i] = (struct tree_child){ .rank = rank,
						       .size = node.size,
						       .depth = node.depth };
		if (i > 0 &&
		    compare(&ret_children[i - 1], &ret_children[i]) > 0)
			is_sorted = false;
	}
	if (!is_sorted)
		qsort(ret_children, count, sizeof(*ret_children), compare);
	return count;
}

/* Does what a kind says of a node agree with what it says of its children? */
static bool is_tree(const struct scoll_tree_node *node, uint32_t node_count,
		    const struct tree_child *children, uint32_t child_count)
{
	uint64_t size = 1;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < child_count; i++) {
		if (children[i].size == 0 || children[i].depth >= node_count)
			return false;
		size += children[i].size;
		if (children[i].depth + 1 > depth)
			depth = children[i].depth + 1;
	}
	return size == node->size && size <= node_count && depth == node->depth;
}

int tree_view(const struct tree *tree, uint32_t rank,
	      struct scoll_tree_node *ret_node, uint32_t *ret_child_count)
{
	uint32_t node_count = tree->shape.node_count;
	struct scoll_tree_node node;
	uint32_t child_count = 0;

	if (rank >= node_count)
		return -EINVAL;
	node = tree_node(tree, rank);
	if (node.parent >= node_count)
		return -EINVAL;
	if (node.depth > 0)
		child_count = tree->ops->children(&tree->shape, rank, NULL, 0);
	if (child_count >= node_count)
		return -EINVAL;
	*ret_node = node;
	*ret_child_count = child_count;
	return 0;
}

int tree_view_children(const struct tree *tree, enum scoll_order order,
		       uint32_t rank, const struct scoll_tree_node *node,
		       uint32_t child_count, struct tree_child *ret_children)
{
	_auto_(freep) uint32_t *ranks = NULL;

	if (child_count > 0) {
		ranks = calloc(child_count, sizeof(*ranks));
		if (ranks == NULL)
			return -ENOMEM;
		if (tree_children(tree, order, rank, child_count, ranks,
				  ret_children) != child_count)
			return -EINVAL;
	}
	return is_tree(node, tree->shape.node_count, ret_children, child_count)
		       ? 0
		       : -EINVAL;
}
