/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment tree over the positions, whose nodes are made when they are
 * needed. A node has two bitmaps of identifiers: *whole*, busy on all of its
 * positions by an area that was split at this node, and *some*, busy on some of
 * them by an area that was split further down. No two areas that meet have an
 * identifier in common, so that a bit of *whole* is one area's, and need not be
 * counted.
 */
#include "lanes/manager/core/run_set.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

struct run_set_node {
	struct run_set_node *halves[2]; /* NULL: nothing is busy there */
	uint64_t bits[];                /* whole, then some */
};

static uint64_t *whole(struct run_set_node *node)
{
	return node->bits;
}

static uint64_t *some(const struct run_set *set, struct run_set_node *node)
{
	return node->bits + set->words;
}

void run_set_init(struct run_set *set, uint32_t limit)
{
	assert(limit <= RUN_SET_IDS_MAX);
	*set = (struct run_set){ .words = (limit + 63) / 64 };
}

static void node_destroy(struct run_set_node *node)
{
	if (node == NULL)
		return;
	node_destroy(node->halves[0]);
	node_destroy(node->halves[1]);
	free(node);
}

void run_set_fini(struct run_set *set)
{
	node_destroy(set->root);
	set->root = NULL;
}

/* The bits from first to last that are in a word. */
static uint64_t word_mask(uint32_t word, uint32_t first, uint32_t last)
{
	uint64_t mask = UINT64_MAX;

	if (word == first / 64)
		mask &= UINT64_MAX << first % 64;
	if (word == last / 64)
		mask &= UINT64_MAX >> (63 - last % 64);
	return mask;
}

static bool is_empty(const struct run_set *set, const struct run_set_node *node)
{
	for (uint32_t i = 0; i < 2 * set->words; i++)
		if (node->bits[i] != 0)
			return false;
	return true;
}

static void some_refresh(const struct run_set *set, struct run_set_node *node,
			 const struct run_area *area)
{
	for (uint32_t i = area->first / 64; i <= area->last / 64; i++) {
		uint64_t bits = 0;

		for (int n = 0; n < 2; n++) {
			struct run_set_node *half = node->halves[n];

			if (half != NULL)
				bits |= whole(half)[i] | some(set, half)[i];
		}
		some(set, node)[i] = bits;
	}
}

/* The area on the node's positions, `size` of them from `from` on. */
static void change(const struct run_set *set, struct run_set_node **link,
		   uint32_t from, uint32_t size, const struct run_area *area,
		   bool is_added)
{
	struct run_set_node *node = *link;

	if (area->low >= from + size || area->high < from)
		return;
	if (node == NULL) {
		assert(is_added);
		node = memory_array(
			1, sizeof(*node) + 2 * set->words * sizeof(uint64_t));
		*link = node;
	}
	if (area->low <= from && area->high >= from + size - 1) {
		for (uint32_t i = area->first / 64; i <= area->last / 64; i++) {
			uint64_t mask = word_mask(i, area->first, area->last);

			assert((whole(node)[i] & mask) ==
			       (is_added ? 0 : mask));
			whole(node)[i] ^= mask;
		}
	} else {
		for (uint32_t n = 0; n < 2; n++)
			change(set, &node->halves[n], from + n * size / 2,
			       size / 2, area, is_added);
		some_refresh(set, node, area);
	}
	if (!is_added && is_empty(set, node)) {
		node_destroy(node);
		*link = NULL;
	}
}

void run_set_add(struct run_set *set, const struct run_area *area)
{
	assert(area->low <= area->high && area->high < RUN_SET_POSITIONS);
	assert(area->first <= area->last && area->last < 64 * set->words);
	change(set, &set->root, 0, RUN_SET_POSITIONS, area, true);
}

void run_set_remove(struct run_set *set, const struct run_area *area)
{
	change(set, &set->root, 0, RUN_SET_POSITIONS, area, false);
}

static void busy_add(const struct run_set *set, struct run_set_node *node,
		     uint32_t from, uint32_t size, uint32_t low, uint32_t high,
		     uint64_t *busy)
{
	if (node == NULL || low >= from + size || high < from)
		return;
	for (uint32_t i = 0; i < set->words; i++)
		busy[i] |= whole(node)[i];
	if (low <= from && high >= from + size - 1) {
		for (uint32_t i = 0; i < set->words; i++)
			busy[i] |= some(set, node)[i];
		return;
	}
	for (uint32_t n = 0; n < 2; n++)
		busy_add(set, node->halves[n], from + n * size / 2, size / 2,
			 low, high, busy);
}

void run_set_busy(const struct run_set *set, uint32_t low, uint32_t high,
		  uint64_t busy[RUN_SET_WORDS_MAX])
{
	memset(busy, 0, RUN_SET_WORDS_MAX * sizeof(*busy));
	busy_add(set, set->root, 0, RUN_SET_POSITIONS, low, high, busy);
}

bool run_set_is_free(const struct run_set *set, const struct run_area *area)
{
	uint64_t busy[RUN_SET_WORDS_MAX];

	run_set_busy(set, area->low, area->high, busy);
	for (uint32_t i = area->first / 64; i <= area->last / 64; i++)
		if (busy[i] & word_mask(i, area->first, area->last))
			return false;
	return true;
}
