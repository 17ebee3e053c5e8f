/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes, against the specification's examples and formulas, and against trees
 * that are made from nothing but each node's parent.
 */
#include "scoll/tree/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/rng.h"

#define NODES_MAX 300

static const scoll_tree_type_t types[] = {
	SCOLL_TREE_FLAT,         SCOLL_TREE_BINOMIAL,
	SCOLL_TREE_KNOMIAL(2),   SCOLL_TREE_KNOMIAL(3),
	SCOLL_TREE_KNOMIAL(4),   SCOLL_TREE_KNOMIAL(7),
	SCOLL_TREE_KNOMIAL(16),  SCOLL_TREE_KNOMIAL(4096),
	SCOLL_TREE_KARY(2),      SCOLL_TREE_KARY(3),
	SCOLL_TREE_KARY(8),      SCOLL_TREE_KARY(4096),
	SCOLL_TREE_LOGP(1),      SCOLL_TREE(5, 300),
	SCOLL_TREE_LOGP(2),      SCOLL_TREE(5, 2 * 256 + 77),
	SCOLL_TREE_LOGP(4),      SCOLL_TREE(5, 8 * 256 + 128),
	SCOLL_TREE_LOGP(33),     SCOLL_TREE_LOGP(1000),
	SCOLL_TREE(5, 0xffffff),
};

#define TYPE_COUNT (sizeof(types) / sizeof(types[0]))

static struct tree make(scoll_tree_type_t type, uint32_t node_count)
{
	struct tree tree;

	assert_int_equal(tree_init(NULL, type, node_count, &tree), 0);
	return tree;
}

static struct scoll_tree_node node_of(const struct tree *tree, uint32_t rank)
{
	return tree_node(tree, rank);
}

/* Children of a node, rising; the caller frees them. */
/* Edges from the root down to the deepest node. */
static uint32_t depth_of(const struct tree *tree)
{
	return tree_node(tree, 0).depth;
}

static uint32_t *children_of(const struct tree *tree, uint32_t rank,
			     uint32_t *ret_count)
{
	uint32_t count = tree->ops->children(&tree->shape, rank, NULL, 0);
	uint32_t *ranks = calloc(count + 1, sizeof(*ranks));

	assert_non_null(ranks);
	ranks[count] = UINT32_MAX;
	assert_int_equal(tree->ops->children(&tree->shape, rank, ranks, count),
			 count);
	assert_int_equal(ranks[count], UINT32_MAX);
	for (uint32_t i = 1; i < count; i++)
		assert_true(ranks[i - 1] < ranks[i]);
	*ret_count = count;
	return ranks;
}

static void assert_children(const struct tree *tree, uint32_t rank,
			    const uint32_t *expected, uint32_t expected_count)
{
	uint32_t count;
	_auto_(freep) uint32_t *ranks = children_of(tree, rank, &count);

	assert_int_equal(count, expected_count);
	assert_memory_equal(ranks, expected, count * sizeof(*ranks));
}

#define RANKS(...)                         \
	(const uint32_t[]){ __VA_ARGS__ }, \
		sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t)

/* Is rank in the subtree of top? By parents alone. */
static int is_below(const uint32_t *parents, uint32_t rank, uint32_t top)
{
	while (rank > top)
		rank = parents[rank];
	return rank == top;
}

static void assert_ranges(const struct tree *tree, const uint32_t *parents,
			  uint32_t top)
{
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t count = tree_ranges(tree, top, ranges);
	uint32_t range = 0;

	for (uint32_t rank = 0; rank < tree->shape.node_count; rank++) {
		int is_listed;

		while (range < count &&
		       rank >= ranges[range].first + ranges[range].count)
			range++;
		is_listed = range < count && rank >= ranges[range].first;
		assert_int_equal(is_listed, is_below(parents, rank, top));
	}
}

/* Everything that is asked about a node, from all nodes' parents. */
static void check_all(const struct tree *tree)
{
	uint32_t n = tree->shape.node_count;
	uint32_t parents[NODES_MAX] = { 0 }, sizes[NODES_MAX];
	uint32_t depths[NODES_MAX] = { 0 }, found[NODES_MAX] = { 0 };

	for (uint32_t rank = 0; rank < n; rank++) {
		parents[rank] = node_of(tree, rank).parent;
		assert_true(rank == 0 || parents[rank] < rank);
		sizes[rank] = 1;
	}
	for (uint32_t rank = n; rank-- > 1;) {
		uint32_t parent = parents[rank];

		sizes[parent] += sizes[rank];
		if (depths[parent] < depths[rank] + 1)
			depths[parent] = depths[rank] + 1;
	}
	assert_int_equal(parents[0], 0);
	assert_int_equal(depth_of(tree), depths[0]);
	for (uint32_t rank = 0; rank < n; rank++) {
		struct scoll_tree_node node = node_of(tree, rank);
		uint32_t count;
		_auto_(freep) uint32_t *children =
			children_of(tree, rank, &count);

		assert_int_equal(node.size, sizes[rank]);
		assert_int_equal(node.depth, depths[rank]);
		for (uint32_t i = 0; i < count; i++) {
			assert_int_equal(parents[children[i]], rank);
			found[children[i]]++;
		}
	}
	for (uint32_t rank = 1; rank < n; rank++)
		assert_int_equal(found[rank], 1);
	/* The square of them: of some trees only. */
	for (uint32_t rank = 0; rank < n && (n < 40 || n % 37 == 0); rank++)
		assert_ranges(tree, parents, rank);
}

static void each_small_tree_is_what_its_parents_make_it(void **state)
{
	for (size_t i = 0; i < TYPE_COUNT; i++)
		for (uint32_t n = 1; n <= NODES_MAX; n++) {
			struct tree tree = make(types[i], n);

			check_all(&tree);
		}
}

/* A node and its children agree, and their subtrees make up its own. */
static void check_node(const struct tree *tree, uint32_t rank)
{
	struct scoll_tree_node node = node_of(tree, rank);
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
	uint32_t range_count = tree_ranges(tree, rank, ranges);
	uint64_t size = 1, listed = 0;
	uint32_t depth = 0, count;
	_auto_(freep) uint32_t *children = children_of(tree, rank, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct scoll_tree_node child = node_of(tree, children[i]);

		assert_int_equal(child.parent, rank);
		size += child.size;
		if (child.depth + 1 > depth)
			depth = child.depth + 1;
	}
	assert_int_equal(size, node.size);
	assert_int_equal(depth, node.depth);
	for (uint32_t i = 0; i < range_count; i++)
		listed += ranges[i].count;
	assert_int_equal(listed, size);
	assert_int_equal(ranges[0].first, rank);
}

/* From a node up: each is among its parent's children, and in its ranges. */
static void check_path(const struct tree *tree, uint32_t rank)
{
	uint32_t steps = 0;

	while (rank != 0) {
		uint32_t parent = node_of(tree, rank).parent;
		uint32_t count, found = 0;
		_auto_(freep) uint32_t *children =
			children_of(tree, parent, &count);

		for (uint32_t i = 0; i < count; i++)
			found += children[i] == rank;
		assert_int_equal(found, 1);
		rank = parent;
		steps++;
	}
	assert_true(steps <= depth_of(tree));
}

static void large_trees_agree_with_themselves(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 1);
	for (size_t i = 0; i < TYPE_COUNT; i++) {
		for (int trial = 0; trial < 12; trial++) {
			uint64_t most = UINT64_C(1)
					<< (8 + sim_rng_below(&rng, 24));
			uint32_t n = (uint32_t)(1 + sim_rng_below(&rng, most));
			struct tree tree;

			if (trial == 0)
				n = TREE_NODES_MAX;
			/* Children of one node: all that this can list. */
			if (types[i] == SCOLL_TREE_FLAT ||
			    types[i] == SCOLL_TREE(5, 0xffffff) ||
			    types[i] == SCOLL_TREE_LOGP(1000))
				n = n % 3000 + 1;
			tree = make(types[i], n);
			assert_int_equal(node_of(&tree, 0).size, n);
			check_node(&tree, 0);
			check_node(&tree, n - 1);
			for (int j = 0; j < 10; j++) {
				uint32_t rank =
					(uint32_t)sim_rng_below(&rng, n);

				check_node(&tree, rank);
				check_path(&tree, rank);
			}
		}
	}
}

static void binomial_R02_parent_degree_size_and_children(void **state)
{
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 16);

	assert_int_equal(node_of(&tree, 8).parent, 0);
	assert_int_equal(node_of(&tree, 15).parent, 14);
	assert_int_equal(node_of(&tree, 0).parent, 0);
	assert_int_equal(node_of(&tree, 12).size, 4);
	assert_children(&tree, 12, RANKS(13, 14));
	assert_int_equal(node_of(&tree, 7).size, 1);
	assert_children(&tree, 0, RANKS(1, 2, 4, 8));
	tree = make(SCOLL_TREE_BINOMIAL, 4096);
	for (uint32_t r = 1; r < 4096; r++) {
		uint32_t p = r & (r - 1);
		uint32_t count;
		_auto_(freep) uint32_t *children =
			children_of(&tree, r, &count);

		assert_int_equal(node_of(&tree, r).parent, p);
		assert_int_equal(node_of(&tree, r).size, r - p);
		assert_int_equal(UINT32_C(1) << count, r - p);
		for (uint32_t e = 0; e < count; e++)
			assert_int_equal(children[e], r + (1u << e));
	}
}

/* Odd ranks are leaves, and with an odd number of nodes the last one, too. */
static void binomial_leaves_are_odd_ranks_B03(void **state)
{
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 14);

	for (uint32_t r = 0; r < 14; r++)
		assert_int_equal(node_of(&tree, r).size == 1, r % 2);
	tree = make(SCOLL_TREE_BINOMIAL, 13);
	assert_int_equal(node_of(&tree, 12).size, 1);
}

static void partial_binomial_R04_sizes_and_children(void **state)
{
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 14);

	assert_int_equal(node_of(&tree, 8).size, 6);
	assert_children(&tree, 12, RANKS(13));
	assert_children(&tree, 8, RANKS(9, 10, 12));
	for (uint32_t n = 2; n <= NODES_MAX; n++) {
		tree = make(SCOLL_TREE_BINOMIAL, n);
		for (uint32_t r = 1; r < n; r++) {
			uint32_t p = node_of(&tree, r).parent;
			uint32_t d = 2 * r - p - 1;

			assert_int_equal(node_of(&tree, r).size,
					 d < n ? r - p : n - r);
		}
	}
}

/* 9 nodes: the highest child of the root is a leaf, the next has depth 2. */
static void truncated_depth_is_exact_B04(void **state)
{
	struct tree tree = make(SCOLL_TREE_BINOMIAL, 9);

	assert_int_equal(node_of(&tree, 8).depth, 0);
	assert_int_equal(node_of(&tree, 4).depth, 2);
	tree = make(SCOLL_TREE_KNOMIAL(4), 1);
	assert_int_equal(node_of(&tree, 0).size, 1);
	assert_int_equal(depth_of(&tree), 0);
	assert_children(&tree, 0, NULL, 0);
}

static void knomial_R05_parent_degree_size_and_children(void **state)
{
	static const uint32_t radixes[] = { 2, 3, 4, 5, 10, 16 };
	struct tree tree = make(SCOLL_TREE_KNOMIAL(4), 16);

	assert_int_equal(node_of(&tree, 14).parent, 12);
	assert_int_equal(node_of(&tree, 12).parent, 0);
	assert_int_equal(node_of(&tree, 12).size, 4);
	assert_int_equal(node_of(&tree, 7).size, 1);
	assert_int_equal(node_of(&tree, 7).parent, 4);
	assert_children(&tree, 12, RANKS(13, 14, 15));
	for (size_t i = 0; i < sizeof(radixes) / sizeof(radixes[0]); i++) {
		uint32_t k = radixes[i], n = k * k * k;

		tree = make(SCOLL_TREE_KNOMIAL(k), n);
		for (uint32_t r = 1; r < n; r++) {
			uint32_t place = 1, degree = 0, count;
			_auto_(freep) uint32_t *children =
				children_of(&tree, r, &count);
			uint32_t *next = children;

			while (r / place % k == 0) {
				place *= k;
				degree++;
			}
			assert_int_equal(node_of(&tree, r).parent,
					 r - r / place % k * place);
			assert_int_equal(node_of(&tree, r).size, place);
			assert_int_equal(node_of(&tree, r).depth, degree);
			assert_int_equal(count, degree * (k - 1));
			for (uint32_t step = 1; step < place; step *= k)
				for (uint32_t p = 1; p < k; p++)
					assert_int_equal(*next++, r + p * step);
		}
	}
}

/* The root's degree is the least D with K^D >= N. */
static void knomial_R05_root_has_the_least_degree_that_covers(void **state)
{
	struct tree tree = make(SCOLL_TREE_KNOMIAL(4), 17);

	assert_children(&tree, 0, RANKS(1, 2, 3, 4, 8, 12, 16));
	tree = make(SCOLL_TREE_KNOMIAL(4), 16);
	assert_children(&tree, 0, RANKS(1, 2, 3, 4, 8, 12));
}

static void quadnomial_R06_against_binomial(void **state)
{
	struct tree binomial = make(SCOLL_TREE_BINOMIAL, 16);
	struct tree quadnomial = make(SCOLL_TREE_KNOMIAL(4), 16);

	assert_int_equal(depth_of(&binomial), 4);
	assert_int_equal(depth_of(&quadnomial), 2);
	assert_children(&binomial, 0, RANKS(1, 2, 4, 8));
	assert_children(&quadnomial, 0, RANKS(1, 2, 3, 4, 8, 12));
}

static void assert_same(const struct tree *left, const struct tree *right)
{
	for (uint32_t rank = 0; rank < left->shape.node_count; rank++) {
		struct scoll_tree_node a = node_of(left, rank);
		struct scoll_tree_node b = node_of(right, rank);

		assert_memory_equal(&a, &b, sizeof(a));
	}
}

static void knomial_of_radix_two_R06_is_binomial(void **state)
{
	for (uint32_t n = 1; n <= NODES_MAX; n++) {
		struct tree binomial = make(SCOLL_TREE_BINOMIAL, n);
		struct tree knomial = make(SCOLL_TREE_KNOMIAL(2), n);

		assert_same(&binomial, &knomial);
	}
}

static void kary_R07_parent_children_and_size(void **state)
{
	struct tree tree = make(SCOLL_TREE_KARY(3), 12);

	assert_children(&tree, 0, RANKS(1, 2, 3));
	assert_children(&tree, 1, RANKS(4, 5, 6));
	assert_children(&tree, 2, RANKS(7, 8, 9));
	assert_children(&tree, 3, RANKS(10, 11));
	assert_children(&tree, 4, NULL, 0);
	assert_int_equal(node_of(&tree, 3).size, 3);
	assert_int_equal(node_of(&tree, 1).size, 4);
	for (uint32_t k = 2; k <= 9; k++)
		for (uint32_t n = 1; n <= NODES_MAX; n++) {
			uint64_t width = 1, full = 1;
			uint32_t depth = 0;

			tree = make(SCOLL_TREE_KARY(k), n);
			for (uint32_t r = 1; r < n; r++)
				assert_int_equal(node_of(&tree, r).parent,
						 (r - 1) / k);
			while (full < n) {
				width *= k;
				full += width;
				depth++;
			}
			assert_int_equal(depth_of(&tree), depth);
		}
}

static void kary_subtrees_have_a_range_on_each_level(void **state)
{
	struct tree tree = make(SCOLL_TREE_KARY(3), 12);
	struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];

	assert_int_equal(tree_ranges(&tree, 1, ranges), 2);
	assert_int_equal(ranges[0].first, 1);
	assert_int_equal(ranges[0].count, 1);
	assert_int_equal(ranges[1].first, 4);
	assert_int_equal(ranges[1].count, 3);
	tree = make(SCOLL_TREE_KARY(2), TREE_NODES_MAX);
	assert_int_equal(tree_ranges(&tree, 0, ranges), 32);
}

static void flat_trees_have_one_level(void **state)
{
	struct tree tree = make(SCOLL_TREE_FLAT, 5);

	assert_children(&tree, 0, RANKS(1, 2, 3, 4));
	assert_int_equal(depth_of(&tree), 1);
	assert_int_equal(node_of(&tree, 3).parent, 0);
	tree = make(SCOLL_TREE_FLAT, TREE_NODES_MAX);
	assert_int_equal(node_of(&tree, TREE_NODES_MAX - 1).size, 1);
	assert_int_equal(node_of(&tree, 0).size, TREE_NODES_MAX);
}

/* Latency and gap are the same: nothing is faster than a binomial tree. */
static void logp_of_one_is_binomial_where_that_is_full(void **state)
{
	for (uint32_t n = 1; n <= 4096; n *= 2) {
		struct tree binomial = make(SCOLL_TREE_BINOMIAL, n);
		struct tree logp = make(SCOLL_TREE_LOGP(1), n);

		assert_same(&binomial, &logp);
	}
}

static void bad_types_and_counts_are_refused(void **state)
{
	struct tree tree;

	assert_int_equal(tree_init(NULL, SCOLL_TREE_KARY(4), 0, &tree),
			 -ERANGE);
	assert_int_equal(tree_init(NULL, SCOLL_TREE_KARY(4), TREE_NODES_MAX + 1,
				   &tree),
			 -ERANGE);
	assert_int_equal(tree_init(NULL, SCOLL_TREE_KARY(1), 8, &tree),
			 -EINVAL);
	assert_int_equal(tree_init(NULL, SCOLL_TREE(77, 0), 8, &tree), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_small_tree_is_what_its_parents_make_it),
		cmocka_unit_test(large_trees_agree_with_themselves),
		cmocka_unit_test(binomial_R02_parent_degree_size_and_children),
		cmocka_unit_test(binomial_leaves_are_odd_ranks_B03),
		cmocka_unit_test(partial_binomial_R04_sizes_and_children),
		cmocka_unit_test(truncated_depth_is_exact_B04),
		cmocka_unit_test(knomial_R05_parent_degree_size_and_children),
		cmocka_unit_test(
			knomial_R05_root_has_the_least_degree_that_covers),
		cmocka_unit_test(quadnomial_R06_against_binomial),
		cmocka_unit_test(knomial_of_radix_two_R06_is_binomial),
		cmocka_unit_test(kary_R07_parent_children_and_size),
		cmocka_unit_test(kary_subtrees_have_a_range_on_each_level),
		cmocka_unit_test(flat_trees_have_one_level),
		cmocka_unit_test(logp_of_one_is_binomial_where_that_is_full),
		cmocka_unit_test(bad_types_and_counts_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
