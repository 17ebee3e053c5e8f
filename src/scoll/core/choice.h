/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which nodes of a membership take part in a request, and how they stand in its
 * tree. A choice is an ascending list of indexes, kept as ranges, each as long
 * as can be; everybody is a choice, too. Its digest is over those ranges.
 * Choices are interned: one membership has each at most once.
 *
 * A *ranking* is a choice with a root. Ranks are those of its tree: the root
 * has 0, the others follow in the order of the choice, around its end. A root
 * that is not in the choice has rank 0 and no entity, and all of the choice
 * follows.
 *
 * Costs depend on the number of ranges: O(log ranges) to look up, O(ranges) to
 * make, whatever the number of nodes.
 */
#pragma once

#include <stdbool.h>

#include "scoll/core/membership.h"

/* Consecutive indexes. */
struct choice_range {
	uint32_t first;
	uint32_t count;
	uint32_t position;        /* chosen nodes before it */
	uint32_t entity_position; /* their entities */
};

struct choice {
	struct wire_digest digest;
	struct membership *membership; /* a reference */
	uint32_t reference_count;
	uint32_t count; /* nodes; > 0 */
	uint32_t entity_count;
	uint32_t range_count;
	UT_hash_handle hh; /* of the membership's choices */
	struct choice_range ranges[];
};

/* --- a reference to one; the caller gives it back --- */

/* Everybody. -ENOMEM, here and below. */
int choice_all(struct membership *membership, struct choice **ret_choice);
/* These nodes, in any order, also twice. -ENOENT: one is no member, or none. */
int choice_of_nids(struct membership *membership, const scoll_nid_t *nids,
		   int count, struct choice **ret_choice);
/*
 * The members whose bit (i % 64 of word i / 64) is set. `within` (may be NULL):
 * of this choice only. -ENOENT: none.
 */
int choice_of_bits(struct membership *membership, const uint64_t *words,
		   const struct choice *within, struct choice **ret_choice);
/* The union of two choices of a membership. */
int choice_union(const struct choice *a, const struct choice *b,
		 struct choice **ret_choice);
/* As it was sent. -EBADMSG: malformed; -ESTALE: it has another digest. */
int choice_decode(struct membership *membership,
		  const struct wire_digest *digest, const void *bytes,
		  size_t size, struct choice **ret_choice);
/* One that is there already, or NULL. */
struct choice *choice_find(struct membership *membership,
			   const struct wire_digest *digest);
struct choice *choice_ref(struct choice *choice);
/* NULL is allowed. */
void choice_unref(struct choice *choice);
DEFINE_AUTO(struct choice, choice_unref)

/* --- use --- */

static inline bool choice_is_all(const struct choice *choice)
{
	return choice->count == choice->membership->count;
}

/* Whether all of `part`, of the same membership, are in it. */
bool choice_covers(const struct choice *choice, const struct choice *part);
/* Position of a node in it; -ENOENT: not chosen. */
int choice_position(const struct choice *choice, scoll_nid_t nid);
/* Index of the position-th one; position < count. */
uint32_t choice_index(const struct choice *choice, uint32_t position);
/* Entities of `count` positions from `first` on, which are all below count. */
uint32_t choice_entities(const struct choice *choice, uint32_t first,
			 uint32_t count);
/* Bytes of the shorter of its two forms, and those bytes. */
size_t choice_encoded_size(const struct choice *choice);
void choice_encode(const struct choice *choice, uint8_t *ret_bytes);

/* --- a choice with a root --- */

/* A value; borrows the choice. */
struct ranking {
	const struct choice *choice;
	scoll_nid_t root;
	uint32_t root_position; /* 0 if the root is extra */
	bool is_extra;
	uint32_t count; /* nodes of the tree */
};

void ranking_init(const struct choice *choice, scoll_nid_t root,
		  struct ranking *ret_ranking);
/* rank < count, here and below. */
scoll_nid_t ranking_nid(const struct ranking *ranking, uint32_t rank);
/* -ENOENT: not in the tree. */
int ranking_rank(const struct ranking *ranking, scoll_nid_t nid);
/* Entities of `count` ranks from `first` on. */
uint32_t ranking_entities(const struct ranking *ranking, uint32_t first,
			  uint32_t count);
/* The node's entities; those of an extra root: count 0. */
void ranking_target(const struct ranking *ranking, uint32_t rank,
		    scoll_target_t *ret_target);
