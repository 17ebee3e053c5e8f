/* SPDX-License-Identifier: BSD-3-Clause */
/* Who takes part in a request over a group, and its trees. */
#include "scoll/core/test/group_bed.h"

#include <sodium.h>

#include "sim/heap.h"

static struct group_bed bed;

static int child_index(const struct group_tree *tree, scoll_nid_t nid)
{
	for (uint32_t i = 0; i < tree->child_count; i++)
		if (tree->children[i].nid == nid)
			return (int)i;
	return -1;
}

static int setup(void **state)
{
	group_bed_init(&bed);
	return 0;
}

static int teardown(void **state)
{
	group_bed_fini(&bed);
	return 0;
}

/* --- choices --- */

static void choice_is_everybody_unless_the_message_says_else(void **state)
{
	const scoll_nid_t nids[] = { 3, 4, 17 };
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct wire_bcast bcast = { 0 };
	struct choice *all, *some, *got;
	uint8_t bytes[64];

	assert_int_equal(group_choice(group, &bcast, &all), 0);
	assert_true(choice_is_all(all));
	assert_int_equal(choice_of_nids(group->membership, nids, 3, &some), 0);
	choice_encode(some, bytes);
	bcast.flags = WIRE_SUBSET;
	bcast.choice_digest = some->digest;
	bcast.choice = bytes;
	bcast.choice_size = (uint16_t)choice_encoded_size(some);
	assert_int_equal(group_choice(group, &bcast, &got), 0);
	assert_ptr_equal(got, some);
	choice_unref(got);
	bcast.choice_digest = all->digest;
	bcast.choice_digest.bytes[0] ^= 1;
	assert_int_equal(group_choice(group, &bcast, &got), -ESTALE);
	choice_unref(all);
	choice_unref(some);
}

static void choice_G16_of_the_living_is_agreed_upon_by_digest(void **state)
{
	const scoll_nid_t nids[] = { 1, 2, 3 };
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct wire_bcast bcast = { .flags = WIRE_SUBSET | WIRE_ALIVE };
	struct choice *living, *again, *within;

	given_set(bed.given, 2, SCOLL_DEAD);
	given_set(bed.given, 30, SCOLL_DEAD);
	assert_int_equal(group_alive(group, NULL, &living), 0);
	assert_int_equal(living->count, COUNT - 2);
	assert_int_equal(choice_position(living, 30), -ENOENT);
	bcast.choice_digest = living->digest;
	assert_int_equal(group_choice(group, &bcast, &again), 0);
	assert_ptr_equal(again, living);
	choice_unref(again);
	/* Part of a choice. */
	assert_int_equal(choice_of_nids(group->membership, nids, 3, &within),
			 0);
	assert_int_equal(group_alive(group, within, &again), 0);
	assert_int_equal(again->count, 2);
	choice_unref(again);
	choice_unref(within);
	/* Somebody else is dead, or nobody: the views differ. */
	given_set(bed.given, 5, SCOLL_DEAD);
	assert_int_equal(group_choice(group, &bcast, &again), -EAGAIN);
	given_set(bed.given, 5, SCOLL_ALIVE);
	assert_int_equal(group_choice(group, &bcast, &again), 0);
	choice_unref(again);
	for (scoll_nid_t nid = 0; nid < COUNT; nid++)
		given_set(bed.given, nid, SCOLL_DEAD);
	assert_int_equal(group_alive(group, NULL, &again), -EHOSTDOWN);
	assert_int_equal(group_choice(group, &bcast, &again), -EAGAIN);
	choice_unref(living);
}

/* --- trees --- */

static struct group_tree *tree_at(struct group_table *table,
				  struct scoll_group *group,
				  struct choice *choice, scoll_nid_t root,
				  scoll_tree_type_t type)
{
	struct group_message message;
	struct scoll_group *known = NULL;
	struct group_tree *tree = NULL;

	group_message_of(&message, group, 0);
	assert_int_equal(group_resolve(table, &message.bcast, &group_no_oob, 1,
				       &known),
			 0);
	assert_int_equal(group_tree_get(known, choice, root, type,
					SCOLL_ORDER_DEPTH, &tree),
			 0);
	group_unref(known, 1);
	return tree;
}

/*
 * All members compute the same tree: each one's parent has it as a child, with
 * as many nodes and entities below as it counts itself.
 */
static void tree_check(struct scoll_group *group, struct choice *choice,
		       scoll_nid_t root, scoll_tree_type_t type)
{
	struct group_tree *trees[COUNT + 1] = { NULL };
	struct group_table *tables[COUNT + 1];
	uint32_t nodes = 0, entities = 0;
	struct ranking ranking;

	ranking_init(choice, root, &ranking);
	for (uint32_t rank = 0; rank < ranking.count; rank++) {
		tables[rank] =
			group_bed_table(&bed, ranking_nid(&ranking, rank), 0);
		trees[rank] = tree_at(tables[rank], group, choice, root, type);
	}
	for (uint32_t rank = 0; rank < ranking.count; rank++) {
		const struct group_tree *tree = trees[rank], *parent;
		struct scoll_tree_range ranges[SCOLL_TREE_RANGES_MAX];
		uint32_t below = 0;
		int child;

		assert_int_equal(tree->rank, rank);
		nodes += tree->rank == 0 ? tree->node.size : 0;
		entities += tree->rank == 0 ? tree->entities : 0;
		for (uint32_t i = tree_ranges(&tree->tree, rank, ranges);
		     i-- > 0;)
			below += ranges[i].count;
		assert_int_equal(below, tree->node.size);
		if (rank == 0)
			continue;
		parent = trees[tree->node.parent];
		assert_int_equal(tree->parent,
				 ranking_nid(&ranking, tree->node.parent));
		child = child_index(parent, ranking_nid(&ranking, rank));
		assert_true(child >= 0);
		assert_int_equal(parent->children[child].rank, rank);
		assert_int_equal(parent->children[child].size, tree->node.size);
		assert_int_equal(parent->children[child].entities,
				 tree->entities);
		assert_int_equal(parent->children[child].depth,
				 tree->node.depth);
		assert_int_equal(child_index(tree, tree->parent), -1);
	}
	assert_int_equal(nodes, ranking.count);
	assert_int_equal(entities, choice->entity_count);
	for (uint32_t rank = 0; rank < ranking.count; rank++) {
		group_tree_unref(trees[rank]);
		group_table_destroy(tables[rank]);
	}
}

static void trees_G15_over_one_group_have_any_root(void **state)
{
	static const scoll_tree_type_t types[] = {
		SCOLL_TREE_FLAT, SCOLL_TREE_BINOMIAL, SCOLL_TREE_KNOMIAL(4),
		SCOLL_TREE_KARY(3), SCOLL_TREE_LOGP(4)
	};
	uint64_t words[1] = { 0xf0f0f0f0ff };
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct choice *all, *some;

	assert_int_equal(choice_all(group->membership, &all), 0);
	assert_int_equal(choice_of_bits(group->membership, words, NULL, &some),
			 0);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		tree_check(group, all, 0, types[i]);
		tree_check(group, all, 23, types[i]);
		tree_check(group, all, 4711, types[i]); /* no member */
		tree_check(group, some, 7, types[i]);
		tree_check(group, some, 8, types[i]); /* not chosen */
	}
	choice_unref(all);
	choice_unref(some);
}

static int tree_get_again(void *ctx)
{
	struct scoll_group *group = ctx;
	struct group_tree *tree;
	struct choice *all;
	int result = choice_all(group->membership, &all);

	if (result < 0)
		return result;
	result = group_tree_get(group, all, 9, SCOLL_TREE_BINOMIAL,
				SCOLL_ORDER_DEPTH, &tree);
	choice_unref(all);
	if (result == 0)
		group_tree_unref(tree);
	return result;
}

static void tree_that_is_kept_costs_no_memory(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
	int result;

	assert_int_equal(tree_get_again(group), 0);
	assert_false(sim_heap_fails(1, &result, tree_get_again, group));
	assert_int_equal(result, 0);
	assert_int_equal(group->tree_count, 1);
}

static void trees_used_last_are_kept(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct group_tree *tree, *first = NULL;
	struct choice *all;

	assert_int_equal(choice_all(group->membership, &all), 0);
	for (scoll_nid_t root = 0; root <= GROUP_TREES_MAX; root++) {
		assert_int_equal(group_tree_get(group, all, root,
						SCOLL_TREE_BINOMIAL,
						SCOLL_ORDER_DEPTH, &tree),
				 0);
		if (root == 0)
			first = group_tree_ref(tree);
		group_tree_unref(tree);
		assert_int_equal(group_tree_get(group, all, 0,
						SCOLL_TREE_BINOMIAL,
						SCOLL_ORDER_DEPTH, &tree),
				 0);
		assert_ptr_equal(tree, first);
		group_tree_unref(tree);
	}
	assert_int_equal(group->tree_count, GROUP_TREES_MAX);
	/* Another order is another tree. */
	assert_int_equal(group_tree_get(group, all, 0, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_RANK, &tree),
			 0);
	assert_ptr_not_equal(tree, first);
	assert_int_equal(group->tree_count, GROUP_TREES_MAX);
	group_tree_unref(tree);
	group_tree_unref(first);
	choice_unref(all);
}

static void tree_that_cannot_be_is_refused(void **state)
{
	const scoll_nid_t nids[] = { 3, 4 };
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct group_tree *tree;
	struct choice *choice;

	assert_int_equal(choice_of_nids(group->membership, nids, 2, &choice),
			 0);
	assert_int_equal(group_tree_get(group, choice, 3, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree),
			 -ENOENT); /* node 0 is not in it */
	assert_int_equal(group_tree_get(group, choice, 0, SCOLL_TREE(99, 1),
					SCOLL_ORDER_DEPTH, &tree),
			 -EINVAL);
	assert_int_equal(group_tree_get(group, choice, 0, SCOLL_TREE_BINOMIAL,
					2, &tree),
			 -EINVAL);
	choice_unref(choice);
}

/* A flat tree, but for the ranges, which have nobody. */
static void empty_node(const struct scoll_tree_shape *shape, uint32_t rank,
		       struct scoll_tree_node *ret_node)
{
	*ret_node = (struct scoll_tree_node){
		.size = rank == 0 ? shape->node_count : 1, .depth = rank == 0
	};
}

static uint32_t empty_children(const struct scoll_tree_shape *shape,
			       uint32_t rank, uint32_t *ret_ranks,
			       uint32_t capacity)
{
	for (uint32_t i = 0; i < capacity; i++)
		ret_ranks[i] = i + 1;
	return rank == 0 ? shape->node_count - 1 : 0;
}

static uint32_t empty_ranges(const struct scoll_tree_shape *shape,
			     uint32_t rank, struct scoll_tree_range *ret_ranges)
{
	return 0;
}

static void tree_whose_ranges_are_not_its_nodes_is_refused(void **state)
{
	struct scoll_tree_ops ops = { .size = sizeof(ops),
				      .name = "empty",
				      .node = empty_node,
				      .children = empty_children,
				      .ranges = empty_ranges };
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct wire_bcast bcast = { 0 };
	struct group_tree *tree;
	struct choice *all;

	assert_int_equal(tree_types_add(&bed.tree_types, 128, &ops), 0);
	assert_int_equal(group_choice(group, &bcast, &all), 0);
	assert_int_equal(group_tree_get(group, all, 0, SCOLL_TREE(128, 0),
					SCOLL_ORDER_DEPTH, &tree),
			 -EINVAL);
	ops.ranges = NULL; /* then they are [rank, rank + size) */
	assert_int_equal(group_tree_get(group, all, 0, SCOLL_TREE(128, 0),
					SCOLL_ORDER_DEPTH, &tree),
			 0);
	group_tree_unref(tree);
	choice_unref(all);
}

static int group_lives(void *ctx)
{
	const struct group_message *message = ctx;
	struct scoll_group *group;
	struct choice *living;
	int result;

	result = group_resolve(bed.theirs, &message->bcast, &group_no_oob, 1,
			       &group);
	if (result < 0)
		return result;
	result = group_alive(group, NULL, &living);
	if (result == 0) {
		struct group_tree *tree;

		result = group_tree_get(group, living, 0, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree);
		if (result == 0)
			group_tree_unref(tree);
		choice_unref(living);
	}
	group_unref(group, 1);
	return result;
}

static void end_of_memory_leaves_no_group_half_made(void **state)
{
	struct scoll_group *group = group_bed_made(&bed, OSS);
	struct group_message message;
	unsigned int n = 1;
	int result;

	group_message_of(&message, group, 0);
	group_end(group, 0);
	for (; sim_heap_fails(n, &result, group_lives, &message); n++) {
		assert_int_equal(result, -ENOMEM);
		group_table_tick(bed.theirs, 1 + LIFETIME);
		assert_int_equal(group_table_count(bed.theirs), 0);
		assert_int_equal(group_table_size(bed.theirs), 0);
		assert_int_equal(memberships_count(bed.memberships), 0);
	}
	assert_int_equal(result, 0);
	assert_true(n > 8);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		test_of(choice_is_everybody_unless_the_message_says_else),
		test_of(choice_G16_of_the_living_is_agreed_upon_by_digest),
		test_of(trees_G15_over_one_group_have_any_root),
		test_of(tree_that_is_kept_costs_no_memory),
		test_of(trees_used_last_are_kept),
		test_of(tree_that_cannot_be_is_refused),
		test_of(tree_whose_ranges_are_not_its_nodes_is_refused),
		test_of(end_of_memory_leaves_no_group_half_made),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_group_tree", tests, NULL,
					   NULL);
}
