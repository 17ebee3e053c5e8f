/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The window of each root is a ring of bits, one for each of the REPLAY_WINDOW
 * numbers up to the highest one that was seen.
 */
#include "scoll/core/replay.h"

#include <errno.h>
#include <string.h>

#include <utlist.h>

#include "base/hash.h"

#define WORD_BITS 64

/* A start that another one has replaced. */
struct past_start {
	uint64_t nonce;
	uint64_t highest;
};

struct root {
	scoll_nid_t nid;
	uint64_t nonce;
	uint64_t highest;
	uint64_t seen[REPLAY_WINDOW / WORD_BITS];  /* bit: number % window */
	struct past_start past[REPLAY_NONCES_MAX]; /* a ring */
	uint32_t past_count;                       /* also those gone by now */
	uint32_t deaths_seen;  /* when this start was first seen */
	uint32_t deaths;       /* before this start */
	uint64_t lower_nonce;  /* of messages since the last of this start */
	uint64_t lower_number; /* the last of them */
	uint32_t lower_count;
	struct root *prev, *next; /* longest silent first */
	UT_hash_handle hh;
};

struct scoll_replay {
	struct root *table;
	struct root *silent;
	size_t root_max;
};

int replay_create(size_t root_max, struct scoll_replay **ret_replay)
{
	struct scoll_replay *replay = calloc(1, sizeof(*replay));

	if (replay == NULL)
		return -ENOMEM;
	replay->root_max = root_max;
	*ret_replay = replay;
	return 0;
}

static void root_remove(struct scoll_replay *replay, struct root *root)
{
	DL_DELETE(replay->silent, root);
	HASH_DEL(replay->table, root);
	free(root);
}

void replay_destroy(struct scoll_replay *replay)
{
	if (replay == NULL)
		return;
	while (replay->silent != NULL)
		root_remove(replay, replay->silent);
	free(replay);
}

size_t replay_root_count(const struct scoll_replay *replay)
{
	return HASH_COUNT(replay->table);
}

static struct root *root_find(const struct scoll_replay *replay,
			      scoll_nid_t nid)
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

/* Where it is among those that were replaced; NULL: nowhere. */
static struct past_start *past_find(const struct root *root, uint64_t nonce)
{
	for (uint32_t i = 0; i < root->past_count && i < REPLAY_NONCES_MAX; i++)
		if (root->past[i].nonce == nonce)
			return (struct past_start *)&root->past[i];
	return NULL;
}

/*
 * A start of the node other than the last one seen. A higher nonce is a later
 * start, even if late messages had replaced it. A lower nonce that was seen
 * before may be the live start, of a clock that was set back, replaced by a
 * late message: none of its numbers above those already seen have been here.
 */
static enum replay_result start_check(const struct root *root, uint64_t nonce,
				      bool has_died, uint64_t number)
{
	const struct past_start *past = past_find(root, nonce);

	if (nonce < root->nonce && past == NULL && !has_died)
		return REPLAY_PAST;
	if (past != NULL && number <= past->highest)
		return nonce < root->nonce ? REPLAY_PAST : REPLAY_OLD;
	return REPLAY_NEW_NONCE;
}

static enum replay_result root_check(const struct root *root, uint64_t nonce,
				     bool has_died, uint64_t number)
{
	if (root == NULL)
		return REPLAY_NEW;
	if (root->nonce != nonce)
		return start_check(root, nonce, has_died, number);
	if (number > root->highest)
		return REPLAY_NEW;
	if (root->highest - number >= REPLAY_WINDOW)
		return REPLAY_OLD;
	return bit_test(root, number) ? REPLAY_SEEN : REPLAY_NEW;
}

enum replay_result replay_check(const struct scoll_replay *replay,
				scoll_nid_t root, uint64_t nonce,
				uint64_t number)
{
	const struct root *known = root_find(replay, root);
	enum replay_result result = root_check(known, nonce, false, number);

	/* One message is not enough for it. */
	if (result == REPLAY_NEW_NONCE && nonce < known->nonce)
		return REPLAY_PAST;
	return result;
}

bool replay_may_be_new(const struct scoll_replay *replay, scoll_nid_t nid,
		       uint64_t nonce, uint32_t deaths_seen, uint64_t number)
{
	const struct root *root = root_find(replay, nid);
	bool has_died = root != NULL && root->deaths_seen != deaths_seen;
	enum replay_result result = root_check(root, nonce, has_died, number);

	return result == REPLAY_NEW || result == REPLAY_NEW_NONCE;
}

static struct root *root_add(struct scoll_replay *replay, scoll_nid_t nid,
			     uint64_t nonce, uint32_t deaths_seen)
{
	struct root *root = calloc(1, sizeof(*root));

	if (root == NULL)
		return NULL;
	root->nid = nid;
	root->nonce = nonce;
	root->deaths_seen = deaths_seen;
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
			 uint32_t deaths_seen)
{
	struct past_start *past = past_find(root, nonce);
	uint64_t highest = past != NULL ? past->highest : 0;

	if (past == NULL)
		past = &root->past[root->past_count++ % REPLAY_NONCES_MAX];
	*past = (struct past_start){ root->nonce, root->highest };
	/* Of one that comes back all that was before counts as seen. */
	memset(root->seen, highest > 0 ? 0xff : 0, sizeof(root->seen));
	root->nonce = nonce;
	root->deaths_seen = deaths_seen;
	root->lower_count = 0;
	root->highest = highest;
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

/* Whether a lower nonce has come often enough by now to be a new start's. */
static bool lower_is_believed(struct root *root, uint64_t nonce,
			      uint64_t number)
{
	if (nonce != root->lower_nonce) {
		root->lower_nonce = nonce;
		root->lower_count = 0;
	}
	if (root->lower_count == 0 || number > root->lower_number) {
		root->lower_number = number;
		root->lower_count++;
	}
	return root->lower_count >= REPLAY_LOWER_MIN;
}

int replay_enter(struct scoll_replay *replay, scoll_nid_t nid, uint64_t nonce,
		 uint32_t deaths_seen, uint64_t number)
{
	struct root *root = root_find(replay, nid);
	bool has_died = root != NULL && root->deaths_seen != deaths_seen;
	enum replay_result result = root_check(root, nonce, has_died, number);

	if (result == REPLAY_NEW_NONCE && nonce < root->nonce &&
	    !lower_is_believed(root, nonce, number))
		return REPLAY_PAST;
	if (root != NULL && nonce == root->nonce)
		root->lower_count = 0;
	if (result != REPLAY_NEW && result != REPLAY_NEW_NONCE)
		return (int)result;
	if (root == NULL) {
		root = root_add(replay, nid, nonce, deaths_seen);
		if (root == NULL)
			return -ENOMEM;
	} else if (result == REPLAY_NEW_NONCE) {
		root_restart(root, nonce, deaths_seen);
	}
	root_see(root, number);
	if (replay->silent->prev != root) { /* not the last one already */
		DL_DELETE(replay->silent, root);
		DL_APPEND(replay->silent, root);
	}
	return (int)result;
}

uint32_t replay_deaths(struct scoll_replay *replay, scoll_nid_t nid,
		       uint32_t deaths, bool is_new_start)
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
