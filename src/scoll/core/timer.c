/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where a core finds its requests: by their deadline (a binary heap) and by
 * their name (a hash table; a root's own are not in it, nobody asks for them).
 * Both have space for every request, so that nothing here fails later, and both
 * keep their memory.
 */
#include "scoll/core/internal.h"

#include <errno.h>
#include <stdlib.h>

#define INDEX_MIN 4

static uint32_t slot_of(const struct scoll_core *core, scoll_nid_t root,
			uint64_t nonce, uint64_t number)
{
	uint64_t hash = (root ^ nonce) * UINT64_C(0x9e3779b97f4a7c15) + number;

	return (uint32_t)(hash ^ hash >> 32) & (core->table_size - 1);
}

static int table_grow(struct scoll_core *core, uint32_t size)
{
	struct bcast **had = core->table;
	uint32_t had_size = core->table_size;

	core->stats.allocations++;
	core->table = calloc(size, sizeof(*core->table));
	if (core->table == NULL) {
		core->table = had;
		return -ENOMEM;
	}
	core->table_size = size;
	for (uint32_t i = 0; i < had_size; i++) {
		struct bcast *next, *bcast = had[i];

		for (; bcast != NULL; bcast = next) {
			uint32_t slot =
				slot_of(core, bcast->root, bcast->root_nonce,
					bcast->number);

			next = bcast->hash_next;
			bcast->hash_next = core->table[slot];
			core->table[slot] = bcast;
		}
	}
	free(had);
	return 0;
}

int bcast_index_reserve(struct scoll_core *core)
{
	uint32_t count = core->bcast_count + 1;
	uint32_t size = core->heap_capacity;
	struct bcast **heap;

	if (count < core->heap_capacity)
		return 0;
	if (scoll_core_fails(core))
		return -ENOMEM;
	size = size == 0 ? INDEX_MIN : 2 * size;
	if (core->table_size < size) {
		int result = table_grow(core, size);

		if (result < 0)
			return result;
	}
	core->stats.allocations++;
	heap = reallocarray(core->heap, size, sizeof(*heap));
	if (heap == NULL)
		return -ENOMEM;
	core->heap = heap;
	core->heap_capacity = size;
	return 0;
}

void bcast_index_fini(struct scoll_core *core)
{
	free(core->heap);
	free(core->table);
	core->heap = NULL;
	core->table = NULL;
}

static void place(struct scoll_core *core, uint32_t at, struct bcast *bcast)
{
	core->heap[at] = bcast;
	bcast->heap_index = at;
}

static void sift_up(struct scoll_core *core, uint32_t at, struct bcast *bcast)
{
	while (at > 1 && core->heap[at / 2]->due_ns > bcast->due_ns) {
		place(core, at, core->heap[at / 2]);
		at /= 2;
	}
	place(core, at, bcast);
}

static void sift_down(struct scoll_core *core, uint32_t at, struct bcast *bcast)
{
	for (;;) {
		uint32_t child = 2 * at;

		if (child > core->heap_size)
			break;
		if (child < core->heap_size &&
		    core->heap[child + 1]->due_ns < core->heap[child]->due_ns)
			child++;
		if (core->heap[child]->due_ns >= bcast->due_ns)
			break;
		place(core, at, core->heap[child]);
		at = child;
	}
	place(core, at, bcast);
}

static void heap_remove(struct scoll_core *core, struct bcast *bcast)
{
	uint32_t at = bcast->heap_index;
	struct bcast *last = core->heap[core->heap_size--];

	bcast->heap_index = 0;
	if (last == bcast)
		return;
	if (at > 1 && core->heap[at / 2]->due_ns > last->due_ns)
		sift_up(core, at, last);
	else
		sift_down(core, at, last);
}

void bcast_due_set(struct bcast *bcast, uint64_t due_ns)
{
	struct scoll_core *core = bcast->core;

	if (bcast->heap_index != 0) {
		if (bcast->due_ns == due_ns)
			return;
		heap_remove(core, bcast);
	}
	bcast->due_ns = due_ns;
	if (due_ns != DEADLINE_NONE)
		sift_up(core, ++core->heap_size, bcast);
}

struct bcast *bcast_due_first(const struct scoll_core *core)
{
	return core->heap_size > 0 ? core->heap[1] : NULL;
}

void bcast_enter(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;
	uint32_t slot =
		slot_of(core, bcast->root, bcast->root_nonce, bcast->number);

	bcast->hash_next = core->table[slot];
	core->table[slot] = bcast;
	bcast->is_entered = true;
}

void bcast_leave(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;
	struct bcast **at;

	if (!bcast->is_entered)
		return;
	at = &core->table[slot_of(core, bcast->root, bcast->root_nonce,
				  bcast->number)];
	while (*at != bcast)
		at = &(*at)->hash_next;
	*at = bcast->hash_next;
	bcast->is_entered = false;
}

struct bcast *bcast_find(const struct scoll_core *core, scoll_nid_t root,
			 uint64_t nonce, uint64_t number)
{
	struct bcast *bcast;

	if (core->table_size == 0)
		return NULL;
	bcast = core->table[slot_of(core, root, nonce, number)];
	while (bcast != NULL &&
	       (bcast->root != root || bcast->root_nonce != nonce ||
		bcast->number != number))
		bcast = bcast->hash_next;
	return bcast;
}
