/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Indexes are dense and never change: a roster only grows, at its end. Entries
 * are allocated one by one, because the hash table points at them.
 */
#include "scoll/member/roster.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <sodium.h>

#include "base/hash.h"

#define CAPACITY_MIN 16

struct roster_entry {
	uint64_t nid;
	uint32_t index;
	UT_hash_handle hh;
};

struct roster {
	struct roster_entry **entries;
	size_t count;
	size_t capacity;
	struct roster_entry *by_nid;
};

static int reserve(struct roster *roster, size_t count)
{
	size_t capacity = roster->capacity;
	struct roster_entry **entries;

	if (count > ROSTER_NODE_MAX)
		return -ENOSPC;
	if (count <= capacity)
		return 0;
	if (capacity < CAPACITY_MIN)
		capacity = CAPACITY_MIN;
	while (capacity < count)
		capacity *= 2;
	entries = reallocarray(roster->entries, capacity,
			       sizeof(struct roster_entry *));
	if (entries == NULL)
		return -ENOMEM;
	roster->entries = entries;
	roster->capacity = capacity;
	return 0;
}

int roster_create(const uint64_t *nids, size_t count,
		  struct roster **ret_roster)
{
	_auto_(roster_destroyp) struct roster *roster = NULL;
	int result;

	roster = calloc(1, sizeof(*roster));
	if (roster == NULL)
		return -ENOMEM;
	result = reserve(roster, count);
	for (size_t i = 0; i < count && result >= 0; i++)
		result = roster_add(roster, nids[i], &(uint32_t){ 0 });
	if (result < 0)
		return result;
	*ret_roster = take_ptr(roster);
	return 0;
}

void roster_destroy(struct roster *roster)
{
	if (roster == NULL)
		return;
	HASH_CLEAR(hh, roster->by_nid);
	for (size_t i = 0; i < roster->count; i++)
		free(roster->entries[i]);
	free(roster->entries);
	free(roster);
}

int roster_add(struct roster *roster, uint64_t nid, uint32_t *ret_index)
{
	struct roster_entry *entry;
	int result;

	if (roster_index(roster, nid) != ROSTER_NONE)
		return -EEXIST;
	result = reserve(roster, roster->count + 1);
	if (result < 0)
		return result;
	entry = calloc(1, sizeof(*entry));
	if (entry == NULL)
		return -ENOMEM;
	entry->nid = nid;
	entry->index = (uint32_t)roster->count;
	HASH_ADD(hh, roster->by_nid, nid, sizeof(entry->nid), entry);
	if (!hash_was_added(entry)) {
		free(entry);
		return -ENOMEM;
	}
	roster->entries[roster->count++] = entry;
	*ret_index = entry->index;
	return 0;
}

size_t roster_count(const struct roster *roster)
{
	return roster->count;
}

uint64_t roster_nid(const struct roster *roster, uint32_t index)
{
	assert(index < roster->count);
	return roster->entries[index]->nid;
}

uint32_t roster_index(const struct roster *roster, uint64_t nid)
{
	const struct roster_entry *entry;

	HASH_FIND(hh, roster->by_nid, &nid, sizeof(nid), entry);
	return entry != NULL ? entry->index : ROSTER_NONE;
}

void roster_digest(const struct roster *roster,
		   uint8_t ret_digest[ROSTER_DIGEST_SIZE])
{
	crypto_generichash_state state;

	crypto_generichash_init(&state, NULL, 0, ROSTER_DIGEST_SIZE);
	for (size_t i = 0; i < roster->count; i++) {
		uint8_t bytes[sizeof(uint64_t)];

		for (size_t k = 0; k < sizeof(bytes); k++)
			bytes[k] = (uint8_t)(roster->entries[i]->nid >> 8 * k);
		crypto_generichash_update(&state, bytes, sizeof(bytes));
	}
	crypto_generichash_final(&state, ret_digest, ROSTER_DIGEST_SIZE);
}
