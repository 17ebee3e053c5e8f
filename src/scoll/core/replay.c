/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of each root is a ring of bits, one for each of the REPLAY_WINDOW
 * numbers up to the highest one that was seen.
 */
#include "scoll/core/replay.h"

#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "scoll/core/hash.h"

#define WORD_BITS 64

struct root {
	scoll_nid_t nid;
	uint64_t nonce;
	uint64_t highest;
	uint64_t seen[REPLAY_WINDOW / WORD_BITS]; /* bit: number % window */
	uint64_t past[REPLAY_NONCES_MAX];         /* a ring */
	uint32_t past_count;                      /* also those gone by now */
	uint32_t deaths_heard;    /* when this start was first heard of */
	uint32_t deaths;          /* before this start */
	struct root *prev, *next; /* longest silent first */
	UT_hash_handle hh;
};

struct replay {
	struct root *table;
	struct root *silent;
	size_t root_max;
};

int replay_create(size_t root_max, struct replay **ret_replay)
{
	struct replay *replay = calloc(1, sizeof(*replay));

	if (replay == NULL)
		return -ENOMEM;
	replay->root_max = root_max;
	*ret_replay = replay;
	return 0;
}

static void root_remove(struct replay *replay, struct root *root)
{
	DL_DELETE(replay->silent, root);
	HASH_DEL(replay->table, root);
	free(root);
}

void replay_destroy(struct replay *replay)
{
	if (replay == NULL)
		return;
	while (replay->silent != NULL)
		root_remove(replay, replay->silent);
	free(replay);
}

size_t replay_root_count(const struct replay *replay)
{
	return HASH_COUNT(replay->table);
}

static struct root *root_find(const struct replay *replay, scoll_nid_t nid)
{
	struct root *root;

	HASH_FIND(hh, replay->table, &nid, sizeof(nid), root);
	return root;
}

static bool bit_test(const struct root *root, uint64_t number)
{
	uint64_t at = number % REPLAY_WINDOW;

	return (root->seen[at / WORD_BITS] >> at % WORD_BITS & 1) != 0;
}

static bool nonce_is_past(const struct root *root, uint64_t nonce)
{
	for (uint32_t i = 0; i < root->past_count && i < REPLAY_NONCES_MAX; i++)
		if (root->past[i] == nonce)
			return true;
	return false;
}

/* Another start of the node than the last one that we heard of. */
static enum replay_result start_check(const struct root *root, uint64_t nonce,
				      bool has_died)
{
	if (nonce_is_past(root, nonce) || (nonce < root->nonce && !has_died))
		return REPLAY_PAST;
	return REPLAY_NEW_NONCE;
}

static enum replay_result root_check(const struct root *root, uint64_t nonce,
				     bool has_died, uint64_t number)
{
	if (root == NULL)
		return REPLAY_NEW;
	if (root->nonce != nonce)
		return start_check(root, nonce, has_died);
	if (number > root->highest)
		return REPLAY_NEW;
	if (root->highest - number >= REPLAY_WINDOW)
		return REPLAY_OLD;
	return bit_test(root, number) ? REPLAY_SEEN : REPLAY_NEW;
}

enum replay_result replay_check(const struct replay *replay, scoll_nid_t root,
				uint64_t nonce, uint64_t number)
{
	return root_check(root_find(replay, root), nonce, false, number);
}

static struct root *root_add(struct replay *replay, scoll_nid_t nid,
			     uint64_t nonce, uint32_t deaths_heard)
{
	struct root *root = calloc(1, sizeof(*root));

	if (root == NULL)
		return NULL;
	root->nid = nid;
	root->nonce = nonce;
	root->deaths_heard = deaths_heard;
	HASH_ADD(hh, replay->table, nid, sizeof(nid), root);
	if (!hash_was_added(root)) {
		free(root);
		return NULL;
	}
	DL_APPEND(replay->silent, root);
	if (HASH_COUNT(replay->table) > replay->root_max)
		root_remove(replay, replay->silent);
	return root;
}

static void root_restart(struct root *root, uint64_t nonce,
			 uint32_t deaths_heard)
{
	root->past[root->past_count++ % REPLAY_NONCES_MAX] = root->nonce;
	root->nonce = nonce;
	root->deaths_heard = deaths_heard;
	root->highest = 0;
	memset(root->seen, 0, sizeof(root->seen));
}

/* The window goes on to this number; what comes into it was not seen. */
static void root_see(struct root *root, uint64_t number)
{
	uint64_t at;

	if (number > root->highest) {
		if (number - root->highest >= REPLAY_WINDOW)
			memset(root->seen, 0, sizeof(root->seen));
		else
			for (at = root->highest + 1; at < number; at++)
				root->seen[at % REPLAY_WINDOW / WORD_BITS] &=
					~(UINT64_C(1) << at % WORD_BITS);
		root->highest = number;
	}
	at = number % REPLAY_WINDOW;
	root->seen[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

int replay_enter(struct replay *replay, scoll_nid_t nid, uint64_t nonce,
		 uint32_t deaths_heard, uint64_t number)
{
	struct root *root = root_find(replay, nid);
	bool has_died = root != NULL && root->deaths_heard != deaths_heard;
	enum replay_result result = root_check(root, nonce, has_died, number);

	if (result != REPLAY_NEW && result != REPLAY_NEW_NONCE)
		return (int)result;
	if (root == NULL) {
		root = root_add(replay, nid, nonce, deaths_heard);
		if (root == NULL)
			return -ENOMEM;
	} else if (result == REPLAY_NEW_NONCE) {
		root_restart(root, nonce, deaths_heard);
	}
	root_see(root, number);
	if (replay->silent->prev != root) { /* not the last one already */
		DL_DELETE(replay->silent, root);
		DL_APPEND(replay->silent, root);
	}
	return (int)result;
}

uint32_t replay_deaths(struct replay *replay, scoll_nid_t nid, uint32_t deaths,
		       bool is_new_start)
{
	struct root *root = root_find(replay, nid);

	if (root == NULL)
		return deaths;
	if (is_new_start)
		root->deaths++;
	if (deaths > root->deaths)
		root->deaths = deaths;
	return root->deaths;
}
