/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tree that is fastest for a given latency l and gap o <= l, but for 2 %,
 * and that loses little when these are wrong. Who has the message sends it
 * every o, it arrives l later, and everybody goes on sending until the end. By
 * the time t
 *
 *	N(t) = N(t - o) + N(t - l)
 *	     = sum over a of binomial(floor((t - a * l) / o) + a, a)
 *
 * nodes have it: a is how often it was passed on, and each way to wait b times
 * on a path of a edges is one node. No tree reaches n nodes before T(l), the
 * least t with N(t) >= n. The tree that does so takes 1.5 T if the true latency
 * is half of what was thought. Nodes here are those with
 *
 *	a * l + b * o <= 1.02 T(l)    a * 2l + b * o <= 0.96 x T(2l)
 *	                              a * l/2 + b * o <= x T(l/2)
 *
 * for the least x that leaves n of them. (0.96: jitter costs more where latency
 * is long.) So there are three clocks, one for each latency, and a node is in
 * the tree if none has run out. The sum above holds with what the least of them
 * allows.
 *
 * A node that the message reaches with some time left has children in slots
 * 0, 1, ...: child j with less by j * o and by each clock's latency. Ranks: the
 * children of the last slot come first, each with its subtree behind it, so
 * that a subtree is one range, and serving deeper ones and then higher ranks
 * first is the order of the slots. If more than n nodes fit, those that are
 * too many would all be gone if each clock had a tick less. They are missing
 * from slot 0 on: in slots before one the subtrees lack their last tick, behind
 * it nothing; in that one, `cut` nodes.
 */
#include <assert.h>
#include <stdbool.h>

#include "scoll/tree/internal.h"

#define UNIT 256 /* of the option: gap is 1 */

/* Above what a tree can have; N(t) is not counted further. */
#define MANY        (UINT64_C(1) << 32)
#define NEVER       (INT64_MAX / 2)

#define FACTOR_UNIT 1024 /* of x */
#define FACTOR_MAX  3    /* where GIVEN alone decides */

enum {
	GIVEN,
	DOUBLE,
	HALF,
	CLOCK_COUNT
};
enum {
	GAP,
	LATENCY,
	END = LATENCY + CLOCK_COUNT
}; /* shape->state, ticks */

/* Percent of T that a clock may take; x is left out. */
static const uint64_t shares[CLOCK_COUNT] = { 102, 96, 100 };

/* Time left, by each clock. */
struct left {
	int64_t ticks[CLOCK_COUNT];
};

struct tree_node {
	uint32_t rank;
	uint32_t size;
	uint32_t cut; /* nodes that it lacks, all of them of the last tick */
	struct left left;
};

static int64_t gap(const struct scoll_tree_shape *shape)
{
	return (int64_t)shape->state[GAP];
}

static int64_t latency(const struct scoll_tree_shape *shape, int clock)
{
	return (int64_t)shape->state[LATENCY + clock];
}

static int64_t least(struct left left)
{
	int64_t ticks = left.ticks[0];

	for (int i = 1; i < CLOCK_COUNT; i++)
		if (left.ticks[i] < ticks)
			ticks = left.ticks[i];
	return ticks;
}

static struct left waited(struct left left, int64_t ticks)
{
	for (int i = 0; i < CLOCK_COUNT; i++)
		left.ticks[i] -= ticks;
	return left;
}

static struct left passed_on(const struct scoll_tree_shape *shape,
			     struct left left)
{
	for (int i = 0; i < CLOCK_COUNT; i++)
		left.ticks[i] -= latency(shape, i);
	return left;
}

/*
 * binomial(a + b, a), or MANY; a < 32. Unrolled, the divisions are by constants
 * and cost little.
 */
static uint64_t paths(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b;
	uint64_t more = a < b ? b : a;
	uint64_t count = 1;

#pragma GCC unroll 32
	for (uint64_t i = 1; i < 32; i++) {
		if (i > less || count >= MANY)
			break;
		count = count * (more + i) / i;
	}
	return count < MANY ? count : MANY;
}

/* How many the message reaches in this time after a node: one less than N. */
static uint64_t reached(const struct scoll_tree_shape *shape, struct left left)
{
	uint64_t count = 0;
	uint64_t edges = 1;

	for (left = passed_on(shape, left); least(left) >= 0 && count < MANY;
	     left = passed_on(shape, left))
		count += paths(edges++, (uint64_t)(least(left) / gap(shape)));
	return count < MANY ? count : MANY;
}

/* As many of them as it reaches in the last tick. */
static uint64_t reached_last(const struct scoll_tree_shape *shape,
			     struct left left)
{
	return reached(shape, left) - reached(shape, waited(left, 1));
}

/* T of one clock's latency. */
static int64_t end_by(const struct scoll_tree_shape *shape, int clock)
{
	struct left left = { { NEVER, NEVER, NEVER } };
	int64_t low = -1, high = 0;

	/* A binomial tree doubles at least every l. */
	for (uint64_t count = 1; count < shape->node_count; count *= 2)
		high += latency(shape, clock);
	while (high - low > 1) {
		left.ticks[clock] = low + (high - low) / 2;
		if (reached(shape, left) + 1 < shape->node_count)
			low = left.ticks[clock];
		else
			high = left.ticks[clock];
	}
	return high;
}

/* Time of the whole tree, by each clock, with this x. */
static struct left left_with(const struct scoll_tree_shape *shape,
			     uint64_t factor)
{
	struct left left;

	for (int i = 0; i < CLOCK_COUNT; i++) {
		uint64_t ticks = shape->state[END + i] * shares[i] / 100;

		if (i != GIVEN)
			ticks = ticks * factor / FACTOR_UNIT;
		left.ticks[i] = (int64_t)ticks;
	}
	return left;
}

static bool has_room(const struct scoll_tree_shape *shape, struct left left)
{
	return least(left) >= 0 &&
	       reached(shape, left) + 1 >= shape->node_count;
}

/* The least x, and then the least time on all clocks. */
static struct left left_for_all(const struct scoll_tree_shape *shape)
{
	uint64_t low = 0, high = FACTOR_MAX * FACTOR_UNIT;
	int64_t spare = 0, lacking;
	struct left left;

	while (high - low > 1) {
		uint64_t middle = low + (high - low) / 2;

		if (has_room(shape, left_with(shape, middle)))
			high = middle;
		else
			low = middle;
	}
	left = left_with(shape, high);
	assert(has_room(shape, left));
	lacking = left.ticks[GIVEN] + 1;
	while (lacking - spare > 1) {
		int64_t middle = spare + (lacking - spare) / 2;

		if (has_room(shape, waited(left, middle)))
			spare = middle;
		else
			lacking = middle;
	}
	return waited(left, spare);
}

static void logp_prepare(struct scoll_tree_shape *shape)
{
	uint64_t *latencies = &shape->state[LATENCY];
	uint32_t ticks = UNIT; /* greatest common divisor of option and UNIT */
	struct left left;

	while (shape->option % ticks != 0)
		ticks /= 2;
	/* Twice as many ticks, so that there is half the latency. */
	shape->state[GAP] = 2 * UNIT / ticks;
	latencies[GIVEN] = 2 * (uint64_t)shape->option / ticks;
	latencies[DOUBLE] = 2 * latencies[GIVEN];
	latencies[HALF] = latencies[GIVEN] / 2;
	if (latencies[HALF] < shape->state[GAP])
		latencies[HALF] = shape->state[GAP];
	for (int i = 0; i < CLOCK_COUNT; i++)
		shape->state[END + i] = (uint64_t)end_by(shape, i);
	left = left_for_all(shape);
	for (int i = 0; i < CLOCK_COUNT; i++)
		shape->state[END + i] = (uint64_t)left.ticks[i];
}

static struct tree_node top(const struct scoll_tree_shape *shape)
{
	struct tree_node node = { .size = shape->node_count };

	for (int i = 0; i < CLOCK_COUNT; i++)
		node.left.ticks[i] = (int64_t)shape->state[END + i];
	node.cut =
		(uint32_t)(reached(shape, node.left) + 1 - shape->node_count);
	return node;
}

static uint32_t slot_count(const struct scoll_tree_shape *shape,
			   const struct tree_node *node)
{
	int64_t rest = least(passed_on(shape, node->left));

	return rest < 0 ? 0 : (uint32_t)(rest / gap(shape)) + 1;
}

/* What is left when the child in this slot is sent to. */
static struct left left_at(const struct scoll_tree_shape *shape,
			   const struct tree_node *node, uint64_t slot)
{
	return waited(node->left, (int64_t)slot * gap(shape));
}

/* What a node lacks of the child in one slot. */
enum lack {
	NOTHING,
	SOME,
	LAST_TICK
};

static enum lack lack_in(const struct scoll_tree_shape *shape,
			 const struct tree_node *node, uint64_t slot,
			 uint32_t *ret_cut)
{
	uint64_t kept, kept_from_here;

	*ret_cut = 0;
	if (node->cut == 0)
		return NOTHING;
	kept = reached_last(shape, node->left) - node->cut;
	if (kept <= reached_last(shape, left_at(shape, node, slot + 1)))
		return LAST_TICK;
	kept_from_here = reached_last(shape, left_at(shape, node, slot));
	if (kept >= kept_from_here)
		return NOTHING;
	*ret_cut = (uint32_t)(kept_from_here - kept);
	return SOME;
}

/* Rank of the child in a slot: behind the node come those of later slots. */
static uint32_t child_rank(const struct scoll_tree_shape *shape,
			   const struct tree_node *node, uint64_t slot,
			   enum lack lack)
{
	struct left behind = left_at(shape, node, slot + 1);

	if (lack != LAST_TICK)
		return (uint32_t)(node->rank + 1 + reached(shape, behind));
	/* All before have lost their last tick; count from the other end. */
	return (uint32_t)(node->rank + node->size -
			  (reached(shape, waited(node->left, 1)) -
			   reached(shape, waited(behind, 1))));
}

/* The child in a slot. Its size is 0 if there is none. */
static struct tree_node child(const struct scoll_tree_shape *shape,
			      const struct tree_node *node, uint64_t slot)
{
	struct tree_node result;
	enum lack lack = lack_in(shape, node, slot, &result.cut);

	result.rank = child_rank(shape, node, slot, lack);
	result.left = passed_on(shape, left_at(shape, node, slot));
	if (lack == LAST_TICK)
		result.left = waited(result.left, 1);
	result.size = 0;
	if (least(result.left) >= 0)
		result.size = (uint32_t)(reached(shape, result.left) + 1 -
					 result.cut);
	return result;
}

/* The child whose subtree has `rank`, which is not the node's own. */
static struct tree_node child_with(const struct scoll_tree_shape *shape,
				   const struct tree_node *node, uint32_t rank)
{
	uint32_t low = 0, high = slot_count(shape, node) - 1;

	/* The first slot whose child's rank is not above it. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint32_t cut;
		enum lack lack = lack_in(shape, node, middle, &cut);

		if (child_rank(shape, node, middle, lack) <= rank)
			high = middle;
		else
			low = middle + 1;
	}
	return child(shape, node, low);
}

/* The node of this rank; *ret_parent is set unless it is the root. */
static struct tree_node node_at(const struct scoll_tree_shape *shape,
				uint32_t rank, uint32_t *ret_parent)
{
	struct tree_node node = top(shape);

	while (node.rank != rank) {
		*ret_parent = node.rank;
		node = child_with(shape, &node, rank);
		assert(node.rank <= rank && rank - node.rank < node.size);
	}
	return node;
}

/* What the first child, its first child ... is, while the clocks allow. */
static uint32_t depth_of(const struct scoll_tree_shape *shape,
			 const struct tree_node *node)
{
	struct left left = waited(node->left, node->cut > 0);
	int64_t depth = INT64_MAX;

	for (int i = 0; i < CLOCK_COUNT; i++)
		if (left.ticks[i] / latency(shape, i) < depth)
			depth = left.ticks[i] / latency(shape, i);
	return (uint32_t)depth;
}

static void logp_node(const struct scoll_tree_shape *shape, uint32_t rank,
		      struct scoll_tree_node *ret_node)
{
	uint32_t parent = 0;
	struct tree_node node = node_at(shape, rank, &parent);

	ret_node->parent = parent;
	ret_node->size = node.size;
	ret_node->depth = depth_of(shape, &node);
}

static uint32_t logp_children(const struct scoll_tree_shape *shape,
			      uint32_t rank, uint32_t *ret_ranks,
			      uint32_t capacity)
{
	uint32_t parent;
	struct tree_node node = node_at(shape, rank, &parent);
	uint32_t count = 0;

	for (uint32_t slot = slot_count(shape, &node); slot-- > 0;) {
		struct tree_node below = child(shape, &node, slot);

		if (below.size == 0)
			continue;
		if (count < capacity)
			ret_ranks[count] = below.rank;
		count++;
	}
	return count;
}

const struct scoll_tree_ops tree_logp = {
	.size = sizeof(tree_logp),
	.name = "logp",
	.option_min = UNIT,
	.option_max = TREE_OPTION_MAX,
	.option_unit = UNIT,
	.prepare = logp_prepare,
	.node = logp_node,
	.children = logp_children,
};
