/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our position in a tree: the parent, the children, and how much is below each.
 * It depends on root, choice, kind of tree and order alone, so it is computed
 * once and kept with the group; the ones used last stay. Ranks are those of the
 * ranking, in which the root has 0.
 */
#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "scoll/core/group_internal.h"

static size_t tree_size(const struct group_tree *tree)
{
	return sizeof(*tree) + tree->child_count * sizeof(tree->children[0]);
}

static void tree_drop(struct scoll_group *group, struct group_tree *tree)
{
	DL_DELETE(group->trees, tree);
	group->tree_count--;
	group->table->size -= tree_size(tree);
	group_tree_unref(tree);
}

void group_trees_drop(struct scoll_group *group)
{
	while (group->trees != NULL)
		tree_drop(group, group->trees);
}

struct group_tree *group_tree_ref(struct group_tree *tree)
{
	tree->reference_count++;
	return tree;
}

void group_tree_unref(struct group_tree *tree)
{
	if (tree == NULL || --tree->reference_count > 0)
		return;
	choice_unref(tree->choice);
	free(tree);
}

/* Entities in the subtree of a rank. -EINVAL: it is not of so many nodes. */
static int entities_below(const struct group_tree *tree, uint32_t rank,
			  uint32_t nodes, uint32_t *ret_entities)
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t count = tree_ranges(&tree->tree, rank, ranges);
	uint64_t covered = 0;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		covered += ranges[i].count;
		sum += ranking_entities(&tree->ranking, ranges[i].first,
					ranges[i].count);
	}
	if (covered != nodes)
		return -EINVAL;
	*ret_entities = sum;
	return 0;
}

/* With the group's members in the place of ranks. */
static int members_fill(struct group_tree *tree)
{
	int result = entities_below(tree, tree->rank, tree->node.size,
				    &tree->entities);

	tree->parent = ranking_nid(&tree->ranking, tree->node.parent);
	for (uint32_t i = 0; i < tree->child_count && result == 0; i++) {
		struct tree_child *child = &tree->children[i];

		child->nid = ranking_nid(&tree->ranking, child->rank);
		result = entities_below(tree, child->rank, child->size,
					&child->entities);
	}
	return result;
}

static int tree_create(const struct group_options *options,
		       struct choice *choice, const struct ranking *ranking,
		       scoll_tree_type_t type, enum scoll_order order,
		       struct group_tree **ret_tree)
{
	_auto_(group_tree_unrefp) struct group_tree *made = NULL;
	int rank = ranking_rank(ranking, options->nid);
	struct scoll_tree_node node;
	uint32_t child_count;
	struct tree tree;
	int result;

	if (rank < 0)
		return rank;
	if (tree_init(options->tree_types, type, ranking->count, &tree) < 0)
		return -EINVAL;
	result = tree_view(&tree, (uint32_t)rank, &node, &child_count);
	if (result < 0)
		return result;
	made = calloc(1,
		      sizeof(*made) + child_count * sizeof(made->children[0]));
	if (made == NULL)
		return -ENOMEM;
	made->reference_count = 1;
	made->order = order;
	made->choice = choice_ref(choice);
	made->ranking = *ranking;
	made->tree = tree;
	made->rank = (uint32_t)rank;
	made->node = node;
	made->width = tree_width(&tree);
	made->child_count = child_count;
	result = tree_view_children(&tree, order, made->rank, &node,
				    child_count, made->children);
	if (result == 0)
		result = members_fill(made);
	if (result < 0)
		return result;
	*ret_tree = take_ptr(made);
	return 0;
}

static struct group_tree *tree_find(struct scoll_group *group,
				    const struct choice *choice,
				    scoll_nid_t root, scoll_tree_type_t type,
				    enum scoll_order order)
{
	struct group_tree *tree;

	DL_FOREACH (group->trees, tree) {
		if (tree->choice != choice || tree->ranking.root != root ||
		    tree->tree.type != type || tree->order != order)
			continue;
		if (tree != group->trees) {
			DL_DELETE(group->trees, tree);
			DL_PREPEND(group->trees, tree);
		}
		return tree;
	}
	return NULL;
}

int group_tree_get(struct scoll_group *group, struct choice *choice,
		   scoll_nid_t root, scoll_tree_type_t type,
		   enum scoll_order order, struct group_tree **ret_tree)
{
	struct group_tree *tree;
	struct ranking ranking;
	int result;

	tree = tree_find(group, choice, root, type, order);
	if (tree != NULL) {
		*ret_tree = group_tree_ref(tree);
		return 0;
	}
	if (order != SCOLL_ORDER_DEPTH && order != SCOLL_ORDER_RANK)
		return -EINVAL;
	ranking_init(choice, root, &ranking);
	result = tree_create(&group->table->options, choice, &ranking, type,
			     order, &tree);
	if (result < 0)
		return result;
	DL_PREPEND(group->trees, tree);
	group->table->size += tree_size(tree);
	if (++group->tree_count > GROUP_TREES_MAX)
		tree_drop(group, group->trees->prev);
	*ret_tree = group_tree_ref(tree);
	return 0;
}
