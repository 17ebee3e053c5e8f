/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The living of a list. A list that goes along the roster without gaps is
 * read from its bitmap word by word; any other by its indexes. Its own epoch
 * changes only when a bit of it did.
 */
#include "scoll/member/discovery_internal.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WORD_BITS 64

struct discovery_view {
	struct discovery *discovery;
	uint64_t *nids;
	uint32_t *indexes;
	size_t count;
	size_t unknown_count; /* not on the roster when last looked up */
	size_t roster_count;  /* of the roster at that time */
	bool is_row;          /* indexes go up by one */
	uint64_t *alive;
	uint64_t epoch;
	uint64_t seen_epoch; /* of the discovery */
};

static size_t word_count(const struct discovery_view *view)
{
	return (view->count + WORD_BITS - 1) / WORD_BITS;
}

static void look_up(struct discovery_view *view)
{
	const struct roster *roster = view->discovery->roster;

	view->unknown_count = 0;
	view->is_row = true;
	for (size_t i = 0; i < view->count; i++) {
		view->indexes[i] = roster_index(roster, view->nids[i]);
		if (view->indexes[i] == ROSTER_NONE)
			view->unknown_count++;
		view->is_row &= view->indexes[i] == view->indexes[0] + i;
	}
	if (view->unknown_count > 0)
		view->is_row = false;
	view->roster_count = roster_count(roster);
}

/* Up to 64 bits of the discovery's bitmap, from any index on. */
static uint64_t row_word(const struct discovery_view *view, size_t word)
{
	const struct discovery *discovery = view->discovery;
	size_t index = view->indexes[0] + word * WORD_BITS;
	size_t left = view->count - word * WORD_BITS;
	size_t shift = index % WORD_BITS;
	size_t at = index / WORD_BITS;
	uint64_t bits = discovery->alive[at] >> shift;

	if (shift > 0 && (at + 1) * WORD_BITS < discovery->capacity)
		bits |= discovery->alive[at + 1] << (WORD_BITS - shift);
	if (left < WORD_BITS)
		bits &= (UINT64_C(1) << left) - 1;
	return bits;
}

static uint64_t index_word(const struct discovery_view *view, size_t word)
{
	const struct discovery *discovery = view->discovery;
	size_t first = word * WORD_BITS;
	uint64_t bits = 0;

	for (size_t i = 0; i < WORD_BITS && first + i < view->count; i++) {
		uint32_t index = view->indexes[first + i];
		bool is_alive = index == ROSTER_NONE
					? discovery->unknown_is_alive
					: discovery_has(discovery, index);

		bits |= (uint64_t)is_alive << i;
	}
	return bits;
}

static void refresh(struct discovery_view *view)
{
	const struct discovery *discovery = view->discovery;
	bool is_changed = false;

	if (view->seen_epoch == discovery->epoch)
		return;
	if (view->unknown_count > 0 &&
	    view->roster_count != roster_count(discovery->roster))
		look_up(view);
	for (size_t word = 0; word < word_count(view); word++) {
		uint64_t bits = view->is_row ? row_word(view, word)
					     : index_word(view, word);

		is_changed |= bits != view->alive[word];
		view->alive[word] = bits;
	}
	view->epoch += is_changed;
	view->seen_epoch = discovery->epoch;
}

int discovery_view_create(struct discovery *discovery, const uint64_t *nids,
			  size_t count, struct discovery_view **ret_view)
{
	_auto_(discovery_view_destroyp) struct discovery_view *view = NULL;

	assert(count > 0);
	view = calloc(1, sizeof(*view));
	if (view == NULL)
		return -ENOMEM;
	view->discovery = discovery;
	view->count = count;
	view->nids = calloc(count, sizeof(*view->nids));
	view->indexes = calloc(count, sizeof(*view->indexes));
	view->alive = calloc(word_count(view), sizeof(*view->alive));
	if (view->nids == NULL || view->indexes == NULL || view->alive == NULL)
		return -ENOMEM;
	memcpy(view->nids, nids, count * sizeof(*nids));
	look_up(view);
	view->epoch = 1;
	view->seen_epoch = discovery->epoch - 1;
	refresh(view);
	*ret_view = take_ptr(view);
	return 0;
}

void discovery_view_destroy(struct discovery_view *view)
{
	if (view == NULL)
		return;
	free(view->nids);
	free(view->indexes);
	free(view->alive);
	free(view);
}

uint64_t discovery_view_epoch(struct discovery_view *view)
{
	refresh(view);
	return view->epoch;
}

const uint64_t *discovery_view_alive(struct discovery_view *view)
{
	refresh(view);
	return view->alive;
}
