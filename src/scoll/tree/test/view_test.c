/* SPDX-License-Identifier: BSD-3-Clause */
/* What each node knows of a tree, and the order in which it serves. */
#include "scoll/tree/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdbool.h>
#include <string.h>

#include "base/cleanup.h"
#include "scoll/tree/test/cost.h"
#include "scoll/tree/internal.h"
#include "sim/heap.h"
#include "sim/rng.h"

/* What one node knows. */
struct view {
	uint32_t rank;
	uint32_t child_count;
	struct scoll_tree_node node;
	struct tree_child children[];
};

static struct tree make(scoll_tree_type_t type, uint32_t node_count)
{
	struct tree tree;

	assert_int_equal(tree_init(NULL, type, node_count, &tree), 0);
	return tree;
}

static struct view *view_of(const struct tree *tree, enum scoll_order order,
			    uint32_t rank)
{
	struct scoll_tree_node node;
	uint32_t count;
	struct view *view;

	assert_int_equal(tree_view(tree, rank, &node, &count), 0);
	view = malloc(sizeof(*view) + count * sizeof(view->children[0]));
	assert_non_null(view);
	view->rank = rank;
	view->child_count = count;
	view->node = node;
	assert_int_equal(tree_view_children(tree, order, rank, &node, count,
					    view->children),
			 0);
	return view;
}

static void assert_order(scoll_tree_type_t type, uint32_t node_count,
			 enum scoll_order order, uint32_t rank,
			 const uint32_t *expected, uint32_t count)
{
	struct tree tree = make(type, node_count);
	_auto_(freep) struct view *view = view_of(&tree, order, rank);

	assert_int_equal(view->child_count, count);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(view->children[i].rank, expected[i]);
}

#define RANKS(...)                         \
	(const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

static const scoll_tree_type_t types[] = {
	SCOLL_TREE_FLAT,       SCOLL_TREE_BINOMIAL, SCOLL_TREE_KNOMIAL(4),
	SCOLL_TREE_KARY(3),    SCOLL_TREE_LOGP(1),  SCOLL_TREE(5, 1000),
	SCOLL_TREE_KNOMIAL(5), SCOLL_TREE_KARY(8),
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

/* Each node on its own finds a parent that has it among its children. */
static void ranks_R01_alone_are_enough(void **state)
{
	const uint32_t n = 997;

	for (size_t i = 0; i < TYPE_COUNT; i++) {
		uint32_t parents[997], found[997] = { 0 };

		for (uint32_t rank = 0; rank < n; rank++) {
			struct tree tree = make(types[i], n);
			_auto_(freep) struct view *view =
				view_of(&tree, SCOLL_ORDER_DEPTH, rank);

			for (uint32_t c = 0; c < view->child_count; c++) {
				parents[view->children[c].rank] = rank;
				found[view->children[c].rank]++;
			}
		}
		for (uint32_t rank = 0; rank < n; rank++) {
			struct tree tree = make(types[i], n);
			struct scoll_tree_node node = tree_node(&tree, rank);

			assert_int_equal(found[rank], rank != 0);
			assert_int_equal(node.parent,
					 rank == 0 ? 0 : parents[rank]);
		}
	}
}

/* knomial:4 that counts what it is asked. */
static struct {
	uint32_t node;
	uint32_t children;
} asked;

static void counted_node(const struct scoll_tree_shape *shape, uint32_t rank,
			 struct scoll_tree_node *ret_node)
{
	asked.node++;
	tree_knomial.node(shape, rank, ret_node);
}

static uint32_t counted_children(const struct scoll_tree_shape *shape,
				 uint32_t rank, uint32_t *ret_ranks,
				 uint32_t capacity)
{
	asked.children++;
	return tree_knomial.children(shape, rank, ret_ranks, capacity);
}

static const struct scoll_tree_ops counted = {
	.size = sizeof(counted),
	.name = "counted",
	.option_min = 2,
	.option_max = 8,
	.node = counted_node,
	.children = counted_children,
};

/*
 * Of a tree of 2^31 nodes the root asks about itself and its children, and a
 * leaf about itself; the view answers from then on.
 */
static void view_R01_R08_asks_once_for_each_child_and_keeps_it(void **state)
{
	struct tree_types own = { 0 };
	struct tree tree;
	_auto_(freep) struct view *root = NULL;
	_auto_(freep) struct view *leaf = NULL;
	uint64_t size = 1;
	uint32_t depth = 0;

	assert_int_equal(tree_types_add(&own, 128, &counted), 0);
	assert_int_equal(
		tree_init(&own, SCOLL_TREE(128, 4), TREE_NODES_MAX, &tree), 0);
	asked.node = asked.children = 0;
	root = view_of(&tree, SCOLL_ORDER_DEPTH, 0);
	assert_int_equal(root->child_count, 46); /* 15 * 3 + 1 */
	assert_int_equal(asked.node, 1 + root->child_count);
	assert_int_equal(asked.children, 2);
	for (uint32_t i = 0; i < root->child_count; i++) {
		size += root->children[i].size;
		if (root->children[i].depth + 1 > depth)
			depth = root->children[i].depth + 1;
	}
	assert_int_equal(size, root->node.size);
	assert_int_equal(depth, root->node.depth);
	assert_int_equal(asked.node, 1 + root->child_count);
	asked.node = asked.children = 0;
	leaf = view_of(&tree, SCOLL_ORDER_DEPTH, 1);
	assert_int_equal(asked.node, 1);
	assert_int_equal(asked.children, 0);
}

/* Senders and receivers in the specification's first figure. */
static void binomial_R03_schedule_of_sixteen(void **state)
{
	static const uint32_t steps[] = { 1, 2, 2, 3, 3, 3, 3, 4,
					  4, 4, 4, 4, 4, 4, 4 };
	static const uint32_t from[] = { 0, 0, 8,  0, 8,  4, 12, 0,
					 8, 4, 12, 2, 10, 6, 14 };
	static const uint32_t to[] = { 8, 4, 12, 2, 10, 6, 14, 1,
				       9, 5, 13, 3, 11, 7, 15 };
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 16);
	struct cost_model model = { .latency = 1, .gap = 1 };
	double times[16], last;

	assert_int_equal(
		cost_broadcast(&tree, COST_DEPTH, &model, &last, times), 0);
	assert_true(last == 4);
	for (int i = 0; i < 15; i++) {
		struct scoll_tree_node node = tree_node(&tree, to[i]);

		assert_int_equal(node.parent, from[i]);
		assert_true(times[to[i]] == steps[i]);
		/* Replies go the other way, in reverse: leaves first. */
		assert_int_equal(node.depth + 1, 5 - steps[i]);
	}
}

/* Node 12 of 14 has only 13, to which it sends in the step after its own. */
static void binomial_R04_missing_step_is_skipped(void **state)
{
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 14);
	struct cost_model model = { .latency = 1, .gap = 1 };
	double times[14], last;

	assert_order(SCOLL_TREE_BINOMIAL, 14, SCOLL_ORDER_DEPTH, 12, RANKS(13));
	assert_int_equal(
		cost_broadcast(&tree, COST_DEPTH, &model, &last, times), 0);
	assert_true(times[13] == times[12] + 1);
	assert_true(last <= 4);
}

static void full_trees_R09_are_served_by_decreasing_rank(void **state)
{
	static const enum scoll_order orders[] = { SCOLL_ORDER_DEPTH,
						   SCOLL_ORDER_RANK };

	for (int i = 0; i < 2; i++) {
		assert_order(SCOLL_TREE_BINOMIAL, 16, orders[i], 0,
			     RANKS(8, 4, 2, 1));
		assert_order(SCOLL_TREE_KNOMIAL(4), 16, orders[i], 0,
			     RANKS(12, 8, 4, 3, 2, 1));
		assert_order(SCOLL_TREE_KNOMIAL(4), 16, orders[i], 12,
			     RANKS(15, 14, 13));
		assert_order(SCOLL_TREE_KARY(3), 13, orders[i], 0,
			     RANKS(3, 2, 1));
		assert_order(SCOLL_TREE_FLAT, 4, orders[i], 0, RANKS(3, 2, 1));
	}
}

static void k_ary_B01_has_its_deeper_children_first(void **state)
{
	assert_order(SCOLL_TREE_KARY(3), 5, SCOLL_ORDER_DEPTH, 0,
		     RANKS(1, 3, 2));
	assert_order(SCOLL_TREE_KARY(3), 5, SCOLL_ORDER_RANK, 0,
		     RANKS(3, 2, 1));
}

static void partial_binomial_B01_serves_a_lone_leaf_later(void **state)
{
	assert_order(SCOLL_TREE_BINOMIAL, 9, SCOLL_ORDER_DEPTH, 0,
		     RANKS(4, 2, 8, 1));
	assert_order(SCOLL_TREE_BINOMIAL, 9, SCOLL_ORDER_RANK, 0,
		     RANKS(8, 4, 2, 1));
}

static bool is_served_first(enum scoll_order order, const struct view *view,
			    uint32_t i)
{
	const struct tree_child *a = &view->children[i], *b = a + 1;

	if (order == SCOLL_ORDER_DEPTH && a->depth != b->depth)
		return a->depth > b->depth;
	return a->rank > b->rank;
}

static void views_R08_R09_hold_sizes_and_depths_in_order(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 2);
	for (int trial = 0; trial < 2000; trial++) {
		uint32_t n = (uint32_t)(1 + sim_rng_below(&rng, 5000));
		uint32_t rank = (uint32_t)sim_rng_below(&rng, n);
		enum scoll_order order =
			trial % 2 == 0 ? SCOLL_ORDER_DEPTH : SCOLL_ORDER_RANK;
		struct tree tree =
			make(types[sim_rng_below(&rng, TYPE_COUNT)], n);
		_auto_(freep) struct view *view =
			view_of(&tree, order, rank % 3 == 0 ? 0 : rank);

		for (uint32_t i = 0; i < view->child_count; i++) {
			struct scoll_tree_node node =
				tree_node(&tree, view->children[i].rank);

			assert_int_equal(node.parent, view->rank);
			assert_int_equal(node.size, view->children[i].size);
			assert_int_equal(node.depth, view->children[i].depth);
			if (i + 1 < view->child_count)
				assert_true(is_served_first(order, view, i));
		}
	}
}

/* The ranges of all children and the node's own rank are the node's ranges. */
static void ranges_of_children_make_up_the_nodes(void **state)
{
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		struct tree tree = make(types[i], 100);
		struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
		bool is_seen[100] = { false };
		_auto_(freep) struct view *view =
			view_of(&tree, SCOLL_ORDER_DEPTH, 0);

		for (uint32_t c = 0; c < view->child_count; c++) {
			uint32_t count = tree_ranges(
				&tree, view->children[c].rank, ranges);
			uint32_t size = 0;

			for (uint32_t r = 0; r < count; r++)
				for (uint32_t j = 0; j < ranges[r].count;
				     j++, size++) {
					uint32_t rank = ranges[r].first + j;

					assert_true(rank < 100);
					assert_false(is_seen[rank]);
					is_seen[rank] = true;
				}
			assert_int_equal(size, view->children[c].size);
		}
		for (uint32_t rank = 0; rank < 100; rank++)
			assert_int_equal(is_seen[rank], rank != 0);
	}
}

static void ranks_outside_are_refused(void **state)
{
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 8);
	struct scoll_tree_node node;
	uint32_t count;

	assert_int_equal(tree_view(&tree, 8, &node, &count), -EINVAL);
}

struct making {
	struct tree tree;
	uint32_t rank;
};

static int make_view(void *ctx)
{
	struct making *making = ctx;
	struct tree_child children[6];
	struct scoll_tree_node node;
	uint32_t count;
	int result = tree_view(&making->tree, making->rank, &node, &count);

	return result < 0 ? result
			  : tree_view_children(&making->tree, SCOLL_ORDER_DEPTH,
					       making->rank, &node, count,
					       children);
}

static void views_of_inner_nodes_need_memory(void **state)
{
	struct making making = { make(SCOLL_TREE_BINOMIAL, 64), 0 };
	int result;

	assert_true(sim_heap_fails(1, &result, make_view, &making));
	assert_int_equal(result, -ENOMEM);
	assert_false(sim_heap_fails(2, &result, make_view, &making));
	assert_int_equal(result, 0);
	making.rank = 63; /* a leaf */
	assert_false(sim_heap_fails(1, &result, make_view, &making));
	assert_int_equal(result, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_R01_alone_are_enough),
		cmocka_unit_test(
			view_R01_R08_asks_once_for_each_child_and_keeps_it),
		cmocka_unit_test(binomial_R03_schedule_of_sixteen),
		cmocka_unit_test(binomial_R04_missing_step_is_skipped),
		cmocka_unit_test(full_trees_R09_are_served_by_decreasing_rank),
		cmocka_unit_test(k_ary_B01_has_its_deeper_children_first),
		cmocka_unit_test(partial_binomial_B01_serves_a_lone_leaf_later),
		cmocka_unit_test(views_R08_R09_hold_sizes_and_depths_in_order),
		cmocka_unit_test(ranges_of_children_make_up_the_nodes),
		cmocka_unit_test(ranks_outside_are_refused),
		cmocka_unit_test(views_of_inner_nodes_need_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
