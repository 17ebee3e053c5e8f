/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What remains of released grants: a queue in the order of their release, in
 * which a key and a grant id are found at once. The oldest is forgotten when
 * there are too many. The newest ones have their keys as text too, since their
 * events can still be asked for.
 *
 * There may be a million: one takes 56 bytes with its share of the indexes,
 * where the library's hash table would need 150.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tombstone {
	uint64_t grant_id;
	uint8_t key_digest[16];
	uid_t uid;
	gid_t gid;
	char *key; /* the set's; NULL: forgotten, and so are the events */
};

struct tombstones {
	size_t count_max;
	size_t keys_max; /* how many have their key as text */
	uint64_t first;  /* number of the oldest one */
	size_t count;
	size_t keys_count; /* the newest ones */
	struct tombstone *ring;
	uint32_t *by_key; /* slots of the ring plus 1; 0 is empty */
	uint32_t *by_id;
	size_t capacity; /* of the ring, a power of two; the indexes have 2x */
};

void tombstones_init(struct tombstones *set, size_t count_max, size_t keys_max);
void tombstones_fini(struct tombstones *set);

/*
 * Add the newest; key is copied. -EEXIST: its key or grant id is there
 * already. The count must be below count_max: see tombstones_oldest.
 */
int tombstones_add(struct tombstones *set, uint64_t grant_id, const char *key,
		   uid_t uid, gid_t gid);
/* Number of the one that was added last plus 1. */
uint64_t tombstones_next(const struct tombstones *set);

/* NULL where there is none. Valid until the set changes. */
const struct tombstone *tombstones_find_key(const struct tombstones *set,
					    const char *key);
const struct tombstone *tombstones_find_id(const struct tombstones *set,
					   uint64_t grant_id);
/* By age, 0 is the newest. */
const struct tombstone *tombstones_newest(const struct tombstones *set,
					  size_t age);

/* Is the set full? Then *ret_id is the one to forget. */
bool tombstones_is_full(const struct tombstones *set, uint64_t *ret_id);
void tombstones_forget_oldest(struct tombstones *set);
/* Are there more keys as text than there should be? Whose is the oldest? */
bool tombstones_has_old_key(const struct tombstones *set, uint64_t *ret_id);
void tombstones_forget_old_key(struct tombstones *set);
