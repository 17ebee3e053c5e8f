/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files about groups share. */
#pragma once

#include "base/bytes.h"
#include "scoll/core/group.h"

/* Remembers a group that has ended; oldest first in its table. */
struct scoll_tombstone {
	struct group_id id;
	uint64_t until_ns;
	UT_hash_handle hh;
};

struct group_table {
	struct group_options options;
	struct scoll_group *by_id; /* but for handles of OOB groups */
	struct scoll_group *handles;
	struct scoll_group *learned; /* longest idle first */
	struct scoll_group *ended;   /* those that are kept */
	struct scoll_tombstone *tombstones;
	uint64_t next_index;
	uint64_t last_serial;
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
/* The trees that are kept. */
void group_trees_drop(struct scoll_group *group);

/* What a broadcast says about a group, wherever it is. */
struct group_parameters {
	const char *name;
	size_t name_length;
	const uint8_t *addresses;
	size_t addresses_size;
	struct reader list;
};

/*
 * The name is in the body; bulk: the bulk data, NULL when it was not read.
 * -EBADMSG.
 */
int group_parameters_read(const struct wire_bcast *bcast,
			  const struct reader *bulk,
			  struct group_parameters *ret_parameters);
/*
 * Its membership, known or (has_list) from the list. -ENODATA: it is not here;
 * as memberships_decode().
 */
int group_membership_get(struct group_table *table,
			 const struct wire_bcast *bcast,
			 const struct group_parameters *parameters,
			 bool has_list, struct membership **ret_membership);
/* The same of addresses, of `count` nodes; NULL: the broadcast has none. */
int group_addresses_get(struct group_table *table,
			const struct wire_bcast *bcast,
			const struct group_parameters *parameters,
			bool has_list, uint32_t count,
			struct addresses **ret_addresses);
