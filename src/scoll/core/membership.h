/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who the members of a group are: an ordered list of nodes, and the entities on
 * each. It never changes. A node's place in the list is its *index*.
 *
 * Memberships are interned by their digest, so that a list is in memory once
 * for all groups that have it, and in a simulation for all members. Looking
 * one up by its digest costs the same for any size.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "scoll/wire/wire.h"

#define MEMBERSHIP_ENTITIES_MAX (UINT32_C(1) << 24) /* of all its nodes */

struct choice;
struct memberships;

/*
 * One block of memory: 24 bytes for a node with one entity. More takes what is
 * not everywhere so: 4 bytes a node where some have several entities, 4 where
 * the NIDs do not rise. Read only.
 */
struct membership {
	struct wire_digest digest;
	uint32_t count;        /* nodes; > 0 */
	uint32_t entity_count; /* > 0 */
	uint32_t run_count;    /* of nodes with as many entities as the next */
	uint32_t reference_count;
	const scoll_nid_t *nids;
	const scoll_tag_t *tags; /* of all nodes, in their order */
	const uint32_t *sums;    /* entities before each node, and in all;
				    NULL: each has one */
	const uint32_t *by_nid;  /* indexes by rising NID; NULL: as they are */
	size_t size;             /* bytes of all this */
	struct memberships *owner; /* where it is interned */
	uint8_t *list;             /* encoded, while somebody passes it on */
	uint32_t list_count;       /* who do */
	struct choice *choices;    /* of it; they have the references */
	struct choice *everybody;  /* the one of them; NULL: not there */
	UT_hash_handle hh;
};

int memberships_create(struct memberships **ret_memberships);
/* Nobody has a reference any more. NULL is allowed. */
void memberships_destroy(struct memberships *memberships);
DEFINE_AUTO(struct memberships, memberships_destroy)
size_t memberships_count(const struct memberships *memberships);
/* Bytes of all of them, and of addresses. */
size_t memberships_size(const struct memberships *memberships);

/* --- a reference to one; the caller gives it back --- */

/* NULL: not there. */
struct membership *memberships_find(struct memberships *memberships,
				    const struct wire_digest *digest);
/*
 * From targets; those of one node are merged where the first of them is. Then
 * `permute` (may be NULL) puts the nodes in another order. -EINVAL: no target,
 * a target without tags, a tag twice on a node, SCOLL_NID_ANY, or what permute
 * wrote is no permutation; -E2BIG: more than SCOLL_NODES_MAX,
 * SCOLL_ENTITIES_MAX or MEMBERSHIP_ENTITIES_MAX; -ENOMEM.
 */
int memberships_from_targets(struct memberships *memberships,
			     const scoll_target_t *targets, int count,
			     scoll_permute_cb_t permute, void *permute_ctx,
			     struct membership **ret_membership);
/*
 * From a list as it was sent; if the digest is known, it is not looked at.
 * -EBADMSG: malformed (also: a NID or tag twice); -ESTALE: it has another
 * digest; -E2BIG, -ENOMEM.
 */
int memberships_decode(struct memberships *memberships,
		       const struct wire_digest *digest, const void *bytes,
		       size_t size, struct membership **ret_membership);
struct membership *membership_ref(struct membership *membership);
/* NULL is allowed. */
void membership_unref(struct membership *membership);
DEFINE_AUTO(struct membership, membership_unref)

/* --- use --- */

/* Index of a node; -ENOENT: no member. */
int membership_index(const struct membership *membership, scoll_nid_t nid);
/* A view of a node and its entities; index < count. */
void membership_target(const struct membership *membership, uint32_t index,
		       scoll_target_t *ret_target);
/*
 * Whether targets, each of another node, are this list in this order. False
 * also when they would have to be merged before one can say.
 */
bool membership_is(const struct membership *membership,
		   const scoll_target_t *targets, int count);

/* Entities on the nodes before this one; index <= count. */
static inline uint32_t membership_before(const struct membership *membership,
					 uint32_t index)
{
	return membership->sums != NULL ? membership->sums[index] : index;
}

/* Entities on `count` nodes from `first` on. */
static inline uint32_t membership_entities(const struct membership *membership,
					   uint32_t first, uint32_t count)
{
	return membership_before(membership, first + count) -
	       membership_before(membership, first);
}

/* Bytes of the list as it is sent, and those bytes. */
size_t membership_encoded_size(const struct membership *membership);
void membership_encode(const struct membership *membership, uint8_t *ret_bytes);
/*
 * The same, in memory once for all who pass it on at a time. NULL: memory is
 * out; else it is given back with membership_list_put().
 */
const uint8_t *membership_list_get(struct membership *membership);
void membership_list_put(struct membership *membership);
