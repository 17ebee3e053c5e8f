/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A ring and two hash tables with open addressing and linear probing, which
 * hold slots of the ring. A key is compared by its 128-bit digest: nobody
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

static uint32_t ring_slot(const struct tombstones *set, size_t position)
{
	return (uint32_t)((set->first + position) & (set->capacity - 1));
}

static size_t entry_hash(const struct tombstones *set, const uint32_t *index,
			 uint32_t slot)
{
	const struct tombstone *entry = &set->ring[slot];

	return index == set->by_key ? hash_key(entry->key_digest)
				    : hash_id(entry->grant_id);
}

static void index_add(struct tombstones *set, uint32_t *index, uint32_t slot)
{
	size_t bucket = entry_hash(set, index, slot) & index_mask(set);

	while (index[bucket] != 0)
		bucket = (bucket + 1) & index_mask(set);
	index[bucket] = slot + 1;
}

/* Move up the rest of the probe sequence, so that no gap is left. */
static void index_remove(struct tombstones *set, uint32_t *index, uint32_t slot)
{
	size_t mask = index_mask(set);
	size_t hole = entry_hash(set, index, slot) & mask;

	while (index[hole] != slot + 1) {
		assert(index[hole] != 0);
		hole = (hole + 1) & mask;
	}
	for (size_t bucket = (hole + 1) & mask; index[bucket] != 0;
	     bucket = (bucket + 1) & mask) {
		size_t home = entry_hash(set, index, index[bucket] - 1) & mask;

		if (((bucket - home) & mask) < ((bucket - hole) & mask))
			continue;
		index[hole] = index[bucket];
		hole = bucket;
	}
	index[hole] = 0;
}

static void grow(struct tombstones *set)
{
	size_t capacity = set->capacity == 0 ? 64 : set->capacity * 2;
	struct tombstone *ring = memory_array(capacity, sizeof(*ring));

	for (size_t i = 0; i < set->count; i++)
		ring[(set->first + i) & (capacity - 1)] =
			set->ring[ring_slot(set, i)];
	free(set->ring);
	free(set->by_key);
	free(set->by_id);
	set->ring = ring;
	set->capacity = capacity;
	set->by_key = memory_array(capacity * 2, sizeof(*set->by_key));
	set->by_id = memory_array(capacity * 2, sizeof(*set->by_id));
	for (size_t i = 0; i < set->count; i++) {
		index_add(set, set->by_key, ring_slot(set, i));
		index_add(set, set->by_id, ring_slot(set, i));
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
		free(set->ring[ring_slot(set, i)].key);
	free(set->ring);
	free(set->by_key);
	free(set->by_id);
	*set = (struct tombstones){ 0 };
}

static uint32_t find_key(const struct tombstones *set, const uint8_t digest[16])
{
	size_t bucket;

	if (set->count == 0)
		return NONE;
	bucket = hash_key(digest) & index_mask(set);
	for (; set->by_key[bucket] != 0;
	     bucket = (bucket + 1) & index_mask(set)) {
		uint32_t slot = set->by_key[bucket] - 1;

		if (memcmp(set->ring[slot].key_digest, digest, 16) == 0)
			return slot;
	}
	return NONE;
}

static uint32_t find_id(const struct tombstones *set, uint64_t grant_id)
{
	size_t bucket;

	if (set->count == 0)
		return NONE;
	bucket = hash_id(grant_id) & index_mask(set);
	for (; set->by_id[bucket] != 0;
	     bucket = (bucket + 1) & index_mask(set)) {
		uint32_t slot = set->by_id[bucket] - 1;

		if (set->ring[slot].grant_id == grant_id)
			return slot;
	}
	return NONE;
}

int tombstones_add(struct tombstones *set, uint64_t grant_id, const char *key,
		   uid_t uid, gid_t gid)
{
	uint8_t digest[16];
	uint32_t slot;

	assert(set->count < set->count_max);
	key_digest(key, digest);
	if (find_key(set, digest) != NONE || find_id(set, grant_id) != NONE)
		return -EEXIST;
	if (set->count == set->capacity)
		grow(set);
	slot = ring_slot(set, set->count++);
	set->keys_count++;
	set->ring[slot] = (struct tombstone){
		.grant_id = grant_id,
		.uid = uid,
		.gid = gid,
		.key = memory_text_or_null(key),
	};
	memcpy(set->ring[slot].key_digest, digest, sizeof(digest));
	index_add(set, set->by_key, slot);
	index_add(set, set->by_id, slot);
	return 0;
}

uint64_t tombstones_next(const struct tombstones *set)
{
	return set->first + set->count;
}

static const struct tombstone *entry_at(const struct tombstones *set,
					uint32_t slot)
{
	return slot == NONE ? NULL : &set->ring[slot];
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
	return &set->ring[ring_slot(set, set->count - 1 - age)];
}

bool tombstones_is_full(const struct tombstones *set, uint64_t *ret_id)
{
	if (set->count < set->count_max)
		return false;
	*ret_id = set->ring[ring_slot(set, 0)].grant_id;
	return true;
}

void tombstones_forget_oldest(struct tombstones *set)
{
	uint32_t slot = ring_slot(set, 0);

	assert(set->count > 0 && set->ring[slot].key == NULL);
	index_remove(set, set->by_key, slot);
	index_remove(set, set->by_id, slot);
	set->ring[slot] = (struct tombstone){ 0 };
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
	uint32_t slot = ring_slot(set, set->count - set->keys_count);

	assert(set->keys_count > 0);
	free(set->ring[slot].key);
	set->ring[slot].key = NULL;
	set->keys_count--;
}
