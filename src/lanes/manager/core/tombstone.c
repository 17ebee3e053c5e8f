/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring and two hash tables with open addressing and linear probing, which
 * hold places in the ring. A key is compared by its 128-bit digest: nobody
 * finds two keys with the same one.
 */
#include "lanes/manager/core/tombstone.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define NONE UINT32_MAX

static void key_digest(const char *key, uint8_t ret_digest[16])
{
	crypto_generichash(ret_digest, 16, (const uint8_t *)key, strlen(key),
			   NULL, 0);
}

static size_t hash_key(const uint8_t digest[16])
{
	size_t hash;

	memcpy(&hash, digest, sizeof(hash));
	return hash;
}

static size_t hash_id(uint64_t id)
{
	return (size_t)((id * 0x9e3779b97f4a7c15u) >> 20);
}

static size_t index_mask(const struct tombstones *set)
{
	return set->capacity * 2 - 1;
}

static uint32_t ring_place(const struct tombstones *set, size_t position)
{
	return (uint32_t)((set->first + position) & (set->capacity - 1));
}

static size_t entry_hash(const struct tombstones *set, const uint32_t *index,
			 uint32_t place)
{
	const struct tombstone *entry = &set->ring[place];

	return index == set->by_key ? hash_key(entry->key_digest)
				    : hash_id(entry->grant_id);
}

static void index_add(struct tombstones *set, uint32_t *index, uint32_t place)
{
	size_t slot = entry_hash(set, index, place) & index_mask(set);

	while (index[slot] != 0)
		slot = (slot + 1) & index_mask(set);
	index[slot] = place + 1;
}

/* Move up the rest of the probe sequence, so that no gap is left. */
static void index_remove(struct tombstones *set, uint32_t *index,
			 uint32_t place)
{
	size_t mask = index_mask(set);
	size_t hole = entry_hash(set, index, place) & mask;

	while (index[hole] != place + 1) {
		assert(index[hole] != 0);
		hole = (hole + 1) & mask;
	}
	for (size_t slot = (hole + 1) & mask; index[slot] != 0;
	     slot = (slot + 1) & mask) {
		size_t home = entry_hash(set, index, index[slot] - 1) & mask;

		if (((slot - home) & mask) < ((slot - hole) & mask))
			continue;
		index[hole] = index[slot];
		hole = slot;
	}
	index[hole] = 0;
}

static void grow(struct tombstones *set)
{
	size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
	struct tombstone *ring = memory_array(capacity, sizeof(*ring));

	for (size_t i = 0; i < set->count; i++)
		ring[(set->first + i) & (capacity - 1)] =
			set->ring[ring_place(set, i)];
	free(set->ring);
	free(set->by_key);
	free(set->by_id);
	set->ring = ring;
	set->capacity = capacity;
	set->by_key = memory_array(capacity * 2, sizeof(*set->by_key));
	set->by_id = memory_array(capacity * 2, sizeof(*set->by_id));
	for (size_t i = 0; i < set->count; i++) {
		index_add(set, set->by_key, ring_place(set, i));
		index_add(set, set->by_id, ring_place(set, i));
	}
}

void tombstones_init(struct tombstones *set, size_t count_max, size_t keys_max)
{
	*set = (struct tombstones){ .count_max = count_max,
				    .keys_max = keys_max,
				    .first = 1 };
}

void tombstones_fini(struct tombstones *set)
{
	for (size_t i = 0; i < set->count; i++)
		free(set->ring[ring_place(set, i)].key);
	free(set->ring);
	free(set->by_key);
	free(set->by_id);
	*set = (struct tombstones){ 0 };
}

static uint32_t find_key(const struct tombstones *set, const uint8_t digest[16])
{
	size_t slot;

	if (set->count == 0)
		return NONE;
	slot = hash_key(digest) & index_mask(set);
	for (; set->by_key[slot] != 0; slot = (slot + 1) & index_mask(set)) {
		uint32_t place = set->by_key[slot] - 1;

		if (memcmp(set->ring[place].key_digest, digest, 16) == 0)
			return place;
	}
	return NONE;
}

static uint32_t find_id(const struct tombstones *set, uint64_t grant_id)
{
	size_t slot;

	if (set->count == 0)
		return NONE;
	slot = hash_id(grant_id) & index_mask(set);
	for (; set->by_id[slot] != 0; slot = (slot + 1) & index_mask(set)) {
		uint32_t place = set->by_id[slot] - 1;

		if (set->ring[place].grant_id == grant_id)
			return place;
	}
	return NONE;
}

int tombstones_add(struct tombstones *set, uint64_t grant_id, const char *key,
		   uid_t uid, gid_t gid)
{
	uint8_t digest[16];
	uint32_t place;

	assert(set->count < set->count_max);
	key_digest(key, digest);
	if (find_key(set, digest) != NONE || find_id(set, grant_id) != NONE)
		return -EEXIST;
	if (set->count == set->capacity)
		grow(set);
	place = ring_place(set, set->count++);
	set->keys_count++;
	set->ring[place] = (struct tombstone){
		.grant_id = grant_id,
		.uid = uid,
		.gid = gid,
		.key = memory_text_or_null(key),
	};
	memcpy(set->ring[place].key_digest, digest, sizeof(digest));
	index_add(set, set->by_key, place);
	index_add(set, set->by_id, place);
	return 0;
}

uint64_t tombstones_next(const struct tombstones *set)
{
	return set->first + set->count;
}

static const struct tombstone *entry_at(const struct tombstones *set,
					uint32_t place)
{
	return place == NONE ? NULL : &set->ring[place];
}

const struct tombstone *tombstones_find_key(const struct tombstones *set,
					    const char *key)
{
	uint8_t digest[16];

	key_digest(key, digest);
	return entry_at(set, find_key(set, digest));
}

const struct tombstone *tombstones_find_id(const struct tombstones *set,
					   uint64_t grant_id)
{
	return entry_at(set, find_id(set, grant_id));
}

const struct tombstone *tombstones_newest(const struct tombstones *set,
					  size_t age)
{
	if (age >= set->count)
		return NULL;
	return &set->ring[ring_place(set, set->count - 1 - age)];
}

bool tombstones_is_full(const struct tombstones *set, uint64_t *ret_id)
{
	if (set->count < set->count_max)
		return false;
	*ret_id = set->ring[ring_place(set, 0)].grant_id;
	return true;
}

void tombstones_forget_oldest(struct tombstones *set)
{
	uint32_t place = ring_place(set, 0);

	assert(set->count > 0 && set->ring[place].key == NULL);
	index_remove(set, set->by_key, place);
	index_remove(set, set->by_id, place);
	set->ring[place] = (struct tombstone){ 0 };
	set->first++;
	set->count--;
}

bool tombstones_has_old_key(const struct tombstones *set, uint64_t *ret_id)
{
	if (set->keys_count <= set->keys_max)
		return false;
	*ret_id = tombstones_newest(set, set->keys_count - 1)->grant_id;
	return true;
}

void tombstones_forget_old_key(struct tombstones *set)
{
	uint32_t place = ring_place(set, set->count - set->keys_count);

	assert(set->keys_count > 0);
	free(set->ring[place].key);
	set->ring[place].key = NULL;
	set->keys_count--;
}
