/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order in which children are served: the deepest subtree first, since
 * what takes longest should start first; of equals the higher tree rank, which
 * has the larger subtree where subtrees are ranges.
 */
#include <assert.h>
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

uint32_t tree_children(const struct tree *tree, enum scoll_order order,
		       uint32_t tree_rank, uint32_t capacity, uint32_t *ranks,
		       struct tree_child *ret_children)
{
	int (*compare)(const void *, const void *) =
		order == SCOLL_ORDER_DEPTH ? by_depth : by_rank;
	const struct scoll_tree_shape *shape = &tree->shape;
	uint32_t count = tree->ops->children(shape, tree_rank, ranks, capacity);
	bool is_sorted = true;

	assert(count <= capacity);
	/* Most types list them rising: backwards is often right already. */
	for (uint32_t i = 0; i < count; i++) {
		uint32_t rank = ranks[count - 1 - i];

		struct scoll_tree_node node;

		tree->ops->node(shape, rank, &node);
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

int tree_view_create(const struct tree *tree, enum scoll_order order,
		     uint32_t root, uint32_t rank, struct tree_view **ret_view)
{
	uint32_t node_count = tree->shape.node_count;
	_auto_(freep) uint32_t *ranks = NULL;
	struct scoll_tree_node node;
	struct tree_view *view;
	uint32_t at, child_count = 0;

	if (root >= node_count || rank >= node_count)
		return -EINVAL;
	at = tree_rank_from(rank, root, node_count);
	node = tree_node(tree, root, rank);
	if (node.depth > 0) {
		child_count = tree->ops->children(&tree->shape, at, NULL, 0);
		assert(child_count > 0);
		ranks = calloc(child_count, sizeof(*ranks));
		if (ranks == NULL)
			return -ENOMEM;
	}
	view = malloc(sizeof(*view) + child_count * sizeof(view->children[0]));
	if (view == NULL)
		return -ENOMEM;
	view->rank = rank;
	view->root = root;
	view->node = node;
	view->child_count = child_count;
	if (child_count > 0)
		tree_children(tree, order, at, child_count, ranks,
			      view->children);
	for (uint32_t i = 0; i < child_count; i++)
		view->children[i].rank =
			tree_rank_to(view->children[i].rank, root, node_count);
	*ret_view = view;
	return 0;
}

void tree_view_destroy(struct tree_view *view)
{
	free(view);
}
