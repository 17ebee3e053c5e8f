/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A segment tree over the positions, whose nodes are made when they are
 * needed. A node has two bitmaps of identifiers: *whole*, busy on all of its
 * positions by an area that was split at this node, and *some*, busy on some of
 * them by an area that was split further down. No two areas that meet have an
 * identifier in common, so that a bit of *whole* is one area's, and need not be
 * counted.
 */
#include "lanes/manager/core/plane.h"

#include <assert.h>

#include "lanes/manager/core/memory.h"

struct plane_node {
	struct plane_node *halves[2]; /* NULL: nothing is busy there */
	uint64_t bits[];              /* whole, then some */
};

static uint64_t *whole(struct plane_node *node)
{
	return node->bits;
}

static uint64_t *some(const struct plane *plane, struct plane_node *node)
{
	return node->bits + plane->words;
}

void plane_init(struct plane *plane, uint32_t limit)
{
	assert(limit <= PLANE_IDS_MAX);
	*plane = (struct plane){ .words = (limit + 63) / 64 };
}

static void node_destroy(struct plane_node *node)
{
	if (node == NULL)
		return;
	node_destroy(node->halves[0]);
	node_destroy(node->halves[1]);
	free(node);
}

void plane_fini(struct plane *plane)
{
	node_destroy(plane->root);
	plane->root = NULL;
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

static bool is_empty(const struct plane *plane, const struct plane_node *node)
{
	for (uint32_t i = 0; i < 2 * plane->words; i++)
		if (node->bits[i] != 0)
			return false;
	return true;
}

static void some_refresh(const struct plane *plane, struct plane_node *node,
			 const struct plane_area *area)
{
	for (uint32_t i = area->first / 64; i <= area->last / 64; i++) {
		uint64_t bits = 0;

		for (int n = 0; n < 2; n++) {
			struct plane_node *half = node->halves[n];

			if (half != NULL)
				bits |= whole(half)[i] | some(plane, half)[i];
		}
		some(plane, node)[i] = bits;
	}
}

/* The area on the node's positions, `size` of them from `from` on. */
static void change(const struct plane *plane, struct plane_node **place,
		   uint32_t from, uint32_t size, const struct plane_area *area,
		   bool is_added)
{
	struct plane_node *node = *place;

	if (area->low >= from + size || area->high < from)
		return;
	if (node == NULL) {
		assert(is_added);
		node = memory_array(
			1, sizeof(*node) + 2 * plane->words * sizeof(uint64_t));
		*place = node;
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
			change(plane, &node->halves[n], from + n * size / 2,
			       size / 2, area, is_added);
		some_refresh(plane, node, area);
	}
	if (!is_added && is_empty(plane, node)) {
		node_destroy(node);
		*place = NULL;
	}
}

void plane_add(struct plane *plane, const struct plane_area *area)
{
	assert(area->low <= area->high && area->high < PLANE_POSITIONS);
	assert(area->first <= area->last && area->last < 64 * plane->words);
	change(plane, &plane->root, 0, PLANE_POSITIONS, area, true);
}

void plane_remove(struct plane *plane, const struct plane_area *area)
{
	change(plane, &plane->root, 0, PLANE_POSITIONS, area, false);
}

static void busy_add(const struct plane *plane, struct plane_node *node,
		     uint32_t from, uint32_t size, uint32_t low, uint32_t high,
		     uint64_t *busy)
{
	if (node == NULL || low >= from + size || high < from)
		return;
	for (uint32_t i = 0; i < plane->words; i++)
		busy[i] |= whole(node)[i];
	if (low <= from && high >= from + size - 1) {
		for (uint32_t i = 0; i < plane->words; i++)
			busy[i] |= some(plane, node)[i];
		return;
	}
	for (uint32_t n = 0; n < 2; n++)
		busy_add(plane, node->halves[n], from + n * size / 2, size / 2,
			 low, high, busy);
}

void plane_busy(const struct plane *plane, uint32_t low, uint32_t high,
		uint64_t busy[PLANE_WORDS_MAX])
{
	memset(busy, 0, PLANE_WORDS_MAX * sizeof(*busy));
	busy_add(plane, plane->root, 0, PLANE_POSITIONS, low, high, busy);
}

bool plane_is_free(const struct plane *plane, const struct plane_area *area)
{
	uint64_t busy[PLANE_WORDS_MAX];

	plane_busy(plane, area->low, area->high, busy);
	for (uint32_t i = area->first / 64; i <= area->last / 64; i++)
		if (busy[i] & word_mask(i, area->first, area->last))
			return false;
	return true;
}
