/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which broadcasts of each root have been here: none is run twice. A root is a
 * node and the nonce of one of its starts; its requests are numbered upwards,
 * and come in any order. For each root a window of the last REPLAY_WINDOW
 * numbers is kept; what is below it is not run. Of a node only one start is
 * there at a time, the latest. Nonces rise from start to start, so that a
 * message of an earlier one, however late, is known for it. A node whose clock
 * was set back has a lower one: it is believed when discovery has seen the node
 * die or reboot in between, or it is one of the last REPLAY_NONCES_MAX that
 * were replaced and the numbers are above all that was seen of it; and
 * REPLAY_LOWER_MIN messages with rising numbers have it and none between has
 * the present one: a single one may be a late one of an earlier start.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "scoll.h"

#define REPLAY_WINDOW     8192  /* 1 KiB a root */
#define REPLAY_ROOTS_MAX  65536 /* the one that was silent longest goes out */
#define REPLAY_LOWER_MIN  3     /* messages of a lower nonce in a row */
#define REPLAY_NONCES_MAX 8     /* of earlier starts of a node; oldest out */

struct scoll_replay;

enum replay_result {
	REPLAY_NEW,
	REPLAY_NEW_NONCE, /* new, and the first of another start of its node */
	REPLAY_SEEN,      /* this very number */
	REPLAY_OLD,       /* below the window */
	REPLAY_PAST,      /* of an earlier start */
};

/* root_max: REPLAY_ROOTS_MAX, or less in a test. -ENOMEM. */
int replay_create(size_t root_max, struct scoll_replay **ret_replay);
void replay_destroy(struct scoll_replay *replay);
DEFINE_AUTO(struct scoll_replay, replay_destroy)

/* What it is, if the root has not died since. Nothing is changed. */
enum replay_result replay_check(const struct scoll_replay *replay,
				scoll_nid_t root, uint64_t nonce,
				uint64_t number);
/*
 * Whether it may be of the start that lives, maybe after some more messages of
 * it; deaths_seen as below. Nothing is changed.
 */
bool replay_may_be_new(const struct scoll_replay *replay, scoll_nid_t root,
		       uint64_t nonce, uint32_t deaths_seen, uint64_t number);
/*
 * What it is, and from now on it has been seen. deaths_seen: how often
 * discovery has seen the root die by now. -ENOMEM (it has not been seen); else
 * enum replay_result.
 */
int replay_enter(struct scoll_replay *replay, scoll_nid_t root, uint64_t nonce,
		 uint32_t deaths_seen, uint64_t number);
/*
 * How often the root's node had died when its present start began, as far as is
 * known; after replay_enter. `deaths` is what discovery has counted by now,
 * which may be behind: a new start has one death more than the one before it.
 * So news of a death that come late are not taken for one of this start.
 */
uint32_t replay_deaths(struct scoll_replay *replay, scoll_nid_t root,
		       uint32_t deaths, bool is_new_start);
size_t replay_root_count(const struct scoll_replay *replay);
