/* SPDX-License-Identifier: BSD-3-Clause */
/* What group.c, group_table.c and group_tree.c share. */
#pragma once

#include "scoll/core/group.h"

/* Remembers a group that has ended; oldest first in its table. */
struct tombstone {
	struct group_id id;
	uint64_t until_ns;
	UT_hash_handle hh;
};

struct group_table {
	struct group_options options;
	struct scoll_group *by_id; /* but for handles of OOB groups */
	struct scoll_group *handles;
	struct scoll_group *learned; /* longest idle first */
	struct tombstone *tombstones;
	uint64_t next_index;
	uint32_t count;
	size_t size;
};

/* What a group is made of; the membership (may be NULL) gets a reference. */
struct group_draft {
	struct group_id id;
	struct membership *membership;
	scoll_service_id_t service;
	scoll_tree_type_t tree;
	const char *name; /* without a zero */
	size_t name_length;
	bool is_handle;
	const void *private;
	uint64_t now_ns;
};

/* -E2BIG, -ENOMEM. The one reference is the table's, or the handle's. */
int group_add(struct group_table *table, const struct group_draft *draft,
	      struct scoll_group **ret_group);
/* With this id; NULL: not there. */
struct scoll_group *group_of_id(const struct group_table *table,
				const struct group_id *id);
bool group_is_buried(const struct group_table *table,
		     const struct group_id *id);
/* It is used now, and there is one more reference. */
struct scoll_group *group_use(struct scoll_group *group, uint64_t now_ns);

/* All that hangs on its membership: trees, who lives. */
void group_forget(struct scoll_group *group);
/* The trees that are kept: all, or (not SCOLL_NID_ANY) those of a root. */
void group_trees_drop(struct scoll_group *group, scoll_nid_t root);
