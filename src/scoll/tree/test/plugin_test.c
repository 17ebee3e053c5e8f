/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A tree type of one's own: a chain that is cut into `option` chains below the
 * root. Two functions suffice, and a third one because a subtree is no range.
 */
#include "scoll/tree/tree.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "scoll/tree/test/cost.h"

/* A node of at most 40, and its children. */
static int look(const struct tree *tree, uint32_t rank,
		struct tree_child children[40], uint32_t *ret_count,
		struct scoll_tree_node *ret_node)
{
	int result = tree_view(tree, rank, ret_node, ret_count);

	return result < 0 ? result
			  : tree_view_children(tree, SCOLL_ORDER_DEPTH, rank,
					       ret_node, *ret_count, children);
}

static void chains_node(const struct scoll_tree_shape *shape, uint32_t rank,
			struct scoll_tree_node *ret_node)
{
	uint32_t below = (shape->node_count - 1 - rank) / shape->option;

	if (rank == 0) {
		*ret_node = (struct scoll_tree_node){ 0, shape->node_count,
						      (shape->node_count - 1 +
						       shape->option - 1) /
							      shape->option };
		return;
	}
	ret_node->parent = rank <= shape->option ? 0 : rank - shape->option;
	ret_node->size = below + 1;
	ret_node->depth = below;
}

static uint32_t chains_children(const struct scoll_tree_shape *shape,
				uint32_t rank, uint32_t *ret_ranks,
				uint32_t capacity)
{
	uint32_t first = rank == 0 ? 1 : rank + shape->option;
	uint32_t last = rank + shape->option;
	uint32_t count = 0;

	for (uint32_t child = last; child >= first; child--) {
		if (child >= shape->node_count)
			continue;
		if (count < capacity)
			ret_ranks[count] = child;
		count++;
	}
	return count;
}

static uint32_t chains_ranges(const struct scoll_tree_shape *shape,
			      uint32_t rank,
			      struct scoll_tree_range *ret_ranges)
{
	uint32_t count = 0;

	if (rank == 0) {
		ret_ranges[0] =
			(struct scoll_tree_range){ 0, shape->node_count };
		return 1;
	}
	for (; rank < shape->node_count; rank += shape->option)
		ret_ranges[count++] = (struct scoll_tree_range){ rank, 1 };
	return count;
}

static const struct scoll_tree_ops chains = {
	.size = sizeof(chains),
	.name = "chains",
	.option_min = 1,
	.option_max = 16,
	.node = chains_node,
	.children = chains_children,
	.ranges = chains_ranges,
};

static void one_table_adds_a_type(void **state)
{
	struct tree_types types = { 0 };
	char text[SCOLL_TREE_TEXT];
	struct fairlead_error error;
	scoll_tree_type_t type;
	struct tree tree;
	struct tree_child children[40];
	struct scoll_tree_node node;
	uint32_t count;

	assert_int_equal(tree_types_add(&types, SCOLL_TREE_USER + 3, &chains),
			 0);
	assert_int_equal(tree_type_parse(&types, "chains:3", &type, &error), 0);
	assert_int_equal(type, SCOLL_TREE(SCOLL_TREE_USER + 3, 3));
	assert_string_equal(tree_type_format(&types, type, text), "chains:3");
	assert_int_equal(tree_init(&types, type, 9, &tree), 0);
	/* 0 -> 1 4 7, 2 5 8, 3 6. */
	assert_int_equal(look(&tree, 0, children, &count, &node), 0);
	assert_int_equal(count, 3);
	assert_int_equal(children[0].rank, 2);
	assert_int_equal(children[1].rank, 1);
	assert_int_equal(children[2].rank, 3);
	assert_int_equal(children[2].size, 2);
	assert_int_equal(node.depth, 3);
}

static void a_type_of_ones_own_is_walked_as_any_other(void **state)
{
	struct tree_types types = { 0 };
	struct cost_model model = { .latency = 1, .gap = 1 };
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	struct tree tree;
	double last;

	assert_int_equal(tree_types_add(&types, 255, &chains), 0);
	assert_int_equal(tree_init(&types, SCOLL_TREE(255, 2), 101, &tree), 0);
	assert_int_equal(cost_broadcast(&tree, COST_DEPTH, &model, &last, NULL),
			 0);
	assert_true(last == 51);
	/* Ranks 2, 4, ... 100: no two are next to each other. */
	assert_int_equal(tree_ranges(&tree, 2, ranges), 50);
	assert_int_equal(ranges[0].first, 2);
	assert_int_equal(ranges[49].first, 100);
}

static void bad_tables_are_refused(void **state)
{
	struct tree_types types = { 0 };
	struct {
		struct scoll_tree_ops ops;
		int is_unknown;
	} later = { .ops = chains, .is_unknown = 1 };
	struct scoll_tree_ops bad = chains;
	struct scoll_tree_ops named = chains;

	assert_int_equal(tree_types_add(&types, SCOLL_TREE_USER - 1, &chains),
			 -EINVAL);
	assert_int_equal(tree_types_add(&types, 5, &chains), -EINVAL);
	assert_int_equal(tree_types_add(&types, 256, &chains), -EINVAL);
	bad.size--;
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	later.ops.size = sizeof(later);
	assert_int_equal(tree_types_add(&types, 130, &later.ops), -EINVAL);
	bad = chains;
	bad.option_unit = 18447; /* of a text with many digits it is too much */
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad = chains;
	bad.node = NULL;
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad = chains;
	bad.children = NULL;
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad = chains;
	bad.option_max = 1 << 24;
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad.option_max = 0;
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad = chains;
	bad.name = NULL;
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad.name = "";
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad.name = "a:b";
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad.name = "abcdefghijklmnopqrstuvwxy";
	assert_int_equal(tree_types_add(&types, 130, &bad), -EINVAL);
	bad.name = "kary";
	assert_int_equal(tree_types_add(&types, 130, &bad), -EEXIST);
	assert_int_equal(tree_types_add(&types, 130, &chains), 0);
	assert_int_equal(tree_types_add(&types, 131, &chains), -EEXIST);
	named.name = "other";
	assert_int_equal(tree_types_add(&types, 130, &named), -EEXIST);
	assert_int_equal(tree_types_add(&types, 131, &named), 0);
}

/* --- a kind that answers what is no tree: a chain, but for one answer --- */

enum wrong {
	WRONG_PARENT,
	WRONG_SIZE,
	WRONG_DEPTH,
	WRONG_CHILD,
	WRONG_CHILD_OF_ANOTHER,
	WRONG_CHILD_COUNT,
	WRONG_CHILD_COUNT_LATER,
	WRONG_NO_CHILD,
	WRONG_RANGE,
	WRONG_RANGE_COUNT,
	WRONG_NOT,
};

static enum wrong wrong;

static void wrong_node(const struct scoll_tree_shape *shape, uint32_t rank,
		       struct scoll_tree_node *ret_node)
{
	assert_in_range(rank, 0, shape->node_count - 1);
	*ret_node = (struct scoll_tree_node){
		.parent = rank == 0 ? 0 : rank - 1,
		.size = shape->node_count - rank,
		.depth = shape->node_count - rank - 1,
	};
	if (wrong == WRONG_PARENT)
		ret_node->parent = UINT32_MAX;
	if (wrong == WRONG_SIZE)
		ret_node->size = UINT32_MAX;
	if (wrong == WRONG_DEPTH)
		ret_node->depth = UINT32_MAX;
}

static uint32_t wrong_children(const struct scoll_tree_shape *shape,
			       uint32_t rank, uint32_t *ret_ranks,
			       uint32_t capacity)
{
	if (wrong == WRONG_CHILD_COUNT)
		return UINT32_MAX;
	if (wrong == WRONG_NO_CHILD || rank + 1 == shape->node_count)
		return 0;
	if (capacity == 0)
		return 1;
	ret_ranks[0] = wrong == WRONG_CHILD              ? shape->node_count
		       : wrong == WRONG_CHILD_OF_ANOTHER ? rank + 2
							 : rank + 1;
	return wrong == WRONG_CHILD_COUNT_LATER ? 2 : 1;
}

static uint32_t wrong_ranges(const struct scoll_tree_shape *shape,
			     uint32_t rank, struct scoll_tree_range *ret_ranges)
{
	ret_ranges[0] = (struct scoll_tree_range){
		rank, shape->node_count - rank + (wrong == WRONG_RANGE)
	};
	return wrong == WRONG_RANGE_COUNT ? SCOLL_TREE_RANGES_MAX + 1 : 1;
}

static const struct scoll_tree_ops wrong_ops = {
	.size = sizeof(wrong_ops),
	.name = "wrong",
	.node = wrong_node,
	.children = wrong_children,
	.ranges = wrong_ranges,
};

static void what_is_no_tree_is_refused(void **state)
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	struct tree_types types = { 0 };
	struct tree_child children[40];
	struct scoll_tree_node node;
	struct tree tree;
	uint32_t count;

	assert_int_equal(tree_types_add(&types, 128, &wrong_ops), 0);
	assert_int_equal(tree_init(&types, SCOLL_TREE(128, 0), 40, &tree), 0);
	for (wrong = 0; wrong < WRONG_RANGE; wrong++)
		assert_int_equal(look(&tree, 7, children, &count, &node),
				 -EINVAL);
	for (; wrong < WRONG_NOT; wrong++)
		assert_int_equal(tree_ranges(&tree, 7, ranges), 0);
	assert_int_equal(look(&tree, 7, children, &count, &node), 0);
	assert_int_equal(tree_ranges(&tree, 7, ranges), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_table_adds_a_type),
		cmocka_unit_test(a_type_of_ones_own_is_walked_as_any_other),
		cmocka_unit_test(bad_tables_are_refused),
		cmocka_unit_test(what_is_no_tree_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
