/* SPDX-License-Identifier: BSD-3-Clause */
/* How memberships are made, and where they and their addresses are kept. */
#pragma once

#include "scoll/core/membership.h"

struct addresses;

struct memberships {
	struct membership *table;
	struct addresses *addresses; /* of them: addresses.c */
	size_t size;
};

/* One that is being made; nobody else sees it. */
struct membership_draft {
	struct membership *membership;
	scoll_nid_t *nids;
	scoll_tag_t *tags;
	uint32_t *sums; /* the caller fills 0..count; NULL: as the struct's */
	uint32_t *by_nid;
};

/*
 * Space for so many; is_rising: no by_nid is needed. Free its membership unless
 * membership_finish() has it. -ENOMEM.
 */
int membership_draft(uint32_t count, uint32_t entity_count, bool is_rising,
		     struct membership_draft *ret_draft);
/*
 * Everything that follows from nids, tags and sums; then it is interned, or the
 * one that is there already takes its place. expected (may be NULL): its
 * digest. -EINVAL: a node or a tag of a node is there twice; -ESTALE: another
 * digest; -ENOMEM. Takes the draft in any case.
 */
int membership_finish(struct memberships *memberships,
		      struct membership_draft *draft,
		      const struct wire_digest *expected,
		      struct membership **ret_membership);
bool membership_is_rising(const scoll_nid_t *nids, uint32_t count);
