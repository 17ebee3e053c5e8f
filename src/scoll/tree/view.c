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
		ret_children[i] =
			(struct tree_child){ rank, node.size, node.depth };
		if (i > 0 &&
		    compare(&ret_children[i - 1], &ret_children[i]) > 0)
			is_sorted = false;
	}
	if (!is_sorted)
		qsort(ret_children, count, sizeof(*ret_children), compare);
	return count;
}

/* Does what a kind says of a node agree with what it says of its children? */
static bool is_tree(const struct tree_view *view, uint32_t node_count)
{
	uint64_t size = 1;
	uint32_t depth = 0;

	for (uint32_t i = 0; i < view->child_count; i++) {
		const struct tree_child *child = &view->children[i];

		if (child->size == 0 || child->depth >= node_count)
			return false;
		size += child->size;
		if (child->depth + 1 > depth)
			depth = child->depth + 1;
	}
	return size == view->node.size && size <= node_count &&
	       depth == view->node.depth;
}

static int children_fill(struct tree_view *view, const struct tree *tree,
			 enum scoll_order order)
{
	_auto_(freep) uint32_t *ranks =
		calloc(view->child_count, sizeof(*ranks));

	if (ranks == NULL)
		return -ENOMEM;
	return tree_children(tree, order, view->rank, view->child_count, ranks,
			     view->children) == view->child_count
		       ? 0
		       : -EINVAL;
}

int tree_view_create(const struct tree *tree, enum scoll_order order,
		     uint32_t rank, struct tree_view **ret_view)
{
	uint32_t node_count = tree->shape.node_count;
	struct scoll_tree_node node;
	struct tree_view *view;
	uint32_t child_count = 0;
	int result;

	if (rank >= node_count)
		return -EINVAL;
	node = tree_node(tree, rank);
	if (node.parent >= node_count)
		return -EINVAL;
	if (node.depth > 0)
		child_count = tree->ops->children(&tree->shape, rank, NULL, 0);
	if (child_count >= node_count)
		return -EINVAL;
	view = malloc(sizeof(*view) + child_count * sizeof(view->children[0]));
	if (view == NULL)
		return -ENOMEM;
	view->rank = rank;
	view->node = node;
	view->child_count = child_count;
	result = child_count > 0 ? children_fill(view, tree, order) : 0;
	if (result == 0 && !is_tree(view, node_count))
		result = -EINVAL;
	if (result < 0) {
		tree_view_destroy(view);
		return result;
	}
	*ret_view = view;
	return 0;
}

void tree_view_destroy(struct tree_view *view)
{
	free(view);
}
