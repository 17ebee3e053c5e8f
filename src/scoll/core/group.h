/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The groups that a member knows: those that its user made, under a handle, and
 * those that it learned from messages. Each has an id that never stands for
 * two memberships; see doc/rfc/collectives.md, "Group ids".
 *
 * What was learned goes when the creator says so, when the creator is dead or
 * has started again, and when it was not used for its lifetime. Who uses a
 * group has a reference, and keeps what he has.
 *
 * An out-of-band group is asked for at its service for each message, at the
 * root and at every member, since its membership may change outside. A user's
 * handle of one is not in the table: it stands for whatever the service says at
 * the time.
 */
#pragma once

#include <stdbool.h>

#include "scoll/core/addresses.h"
#include "scoll/core/choice.h"
#include "scoll/tree/tree.h"

#define GROUP_COUNT_MAX      (1u << 20) /* of one member */
#define GROUP_TOMBSTONES_MAX 65536      /* oldest out */
#define GROUP_TREES_MAX      16         /* kept for one group; least used out */

struct discovery;
struct discovery_view;

/* As bytes: no padding. */
struct group_id {
	uint64_t
		owner[2]; /* creator, its nonce; OOB: 16 bytes of the service */
	uint64_t index;   /* OOB: 0 */
	struct wire_digest members;
	uint32_t service; /* OOB: whose callback; else 0 */
	uint32_t is_oob;
};

/* Who said where nodes are, and when; see group_source_is_newer(). */
struct group_source {
	scoll_nid_t root;
	uint64_t nonce;
	uint64_t number; /* of its request */
	uint64_t serial; /* rises here with each message received */
};

/* What we have to know of the tree for a root and a choice. */
struct group_tree {
	struct group_tree *prev, *next; /* of the group; most used first */
	uint32_t reference_count;
	enum scoll_order order;
	struct choice *choice; /* a reference */
	struct ranking ranking;
	struct tree tree;
	uint32_t rank; /* ours */
	struct scoll_tree_node node;
	scoll_nid_t parent; /* the root's: its own */
	uint32_t entities;  /* of our subtree */
	uint32_t width;     /* children of the root */
	uint32_t child_count;
	struct tree_child children[];
};

struct group_table;

struct scoll_group {
	struct group_id id; /* of an OOB handle: of the last membership */
	struct group_table *table;
	struct membership *membership; /* NULL: an OOB handle that is new */
	struct addresses *addresses;   /* NULL: none are shared */
	struct group_source source;    /* of those, if it was learned */
	scoll_service_id_t service;
	scoll_tree_type_t tree;
	uint32_t reference_count;
	uint64_t
		oob_version; /* of membership, as its service has it; 0: none */
	bool is_handle;      /* its user's; else it was learned */
	bool is_ended;
	uint32_t kept_count;     /* of a learned one: references of our user */
	uint32_t creator_deaths; /* of a learned one: before its start */
	/* Of the requests: */
	bool is_known;        /* every member has it: no more parameters */
	struct choice *known; /* so have these, if not all; a reference */
	bool was_known;       /* every member had it once */
	bool was_sent;        /* some member may have it */
	bool is_closed;       /* its last request was made */
	uint32_t active_count;
	const void *private; /* of a handle */
	uint64_t used_ns;
	struct discovery_view *alive; /* NULL: nobody has asked yet */
	struct choice *living;        /* the last answer, of that epoch */
	uint64_t living_epoch;
	struct group_tree *trees;
	uint32_t tree_count;
	/*
	 * Of the handles, of the learned ones, longest idle first, or of those
	 * that have ended and are kept.
	 */
	struct scoll_group *prev, *next;
	UT_hash_handle hh;
	char name[];
};

struct group_options {
	scoll_nid_t nid;
	uint64_t nonce; /* of this start */
	uint64_t lifetime_ns;
	struct memberships *memberships;     /* borrowed */
	const struct tree_types *tree_types; /* borrowed; NULL: built-in ones */
	/* Borrowed; outlives the table. NULL: no choice of the living. */
	struct discovery *discovery;
	void *owner;        /* what group_table_owner returns */
	uint32_t count_max; /* of groups; 0: GROUP_COUNT_MAX */
};

int group_table_create(const struct group_options *options,
		       struct group_table **ret_table);
/*
 * Nobody has a reference any more; handles that were not given back go with
 * it. NULL is allowed.
 */
void group_table_destroy(struct group_table *table);
DEFINE_AUTO(struct group_table, group_table_destroy)
void *group_table_owner(const struct group_table *table);
/* What is due. */
void group_table_tick(struct group_table *table, uint64_t now_ns);
uint64_t group_table_deadline_ns(const struct group_table *table);
uint32_t group_table_count(const struct group_table *table);
/* Bytes, without memberships and choices, which are shared. */
size_t group_table_size(const struct group_table *table);
/*
 * Discovery has changed: groups whose creators died or rebooted since they were
 * learned go. Takes O(groups).
 */
void group_table_peers_check(struct group_table *table);
/* It has started again, with this nonce: groups of other starts go. */
void group_table_node_started(struct group_table *table, scoll_nid_t nid,
			      uint64_t nonce);

/* --- of the user --- */

/*
 * A new group with a handle; the membership gets a reference, the name is
 * copied (NULL: ""). -E2BIG: too many groups; -EINVAL: name longer than
 * SCOLL_NAME_MAX, no such tree (SCOLL_TREE_DEFAULT is one); -ENOMEM.
 * group_end() gives the handle back.
 */
int group_create(struct group_table *table, scoll_service_id_t service,
		 const char *name, struct membership *membership,
		 scoll_tree_type_t tree, const void *private,
		 struct scoll_group **ret_group);
/* -EINVAL: also, oobid is of another service. The service is not asked yet. */
int group_oob_create(struct group_table *table, scoll_service_id_t service,
		     const char *name, const scoll_oobgrp_id_t *oobid,
		     scoll_tree_type_t tree, const void *private,
		     struct scoll_group **ret_group);
/* What a service says of its out-of-band groups. */
struct group_oob {
	scoll_oobgrp_cb_t members;     /* NULL: it has none */
	scoll_oobversion_cb_t version; /* NULL: it does not say */
	void *private;
};

/*
 * Ask for the members of an OOB group, unless its version says that nothing has
 * changed: before each message, and before anything about its handle is
 * returned. What was returned earlier by reference stays. What the callback
 * returned below 0; as memberships_from_targets.
 */
int group_oob_refresh(struct scoll_group *group, const struct group_oob *oob);

/* --- of messages --- */

/*
 * The group of a broadcast, with a reference: known, or by the parameters in
 * the body, or out-of-band as the service says. It is
 * used now. Errors, and what they are for the parent:
 * -ENODATA    its list is in the bulk data, and it or the addresses of its
 *             nodes are not known: read, then _learn
 * -ENOENT     NO_GROUP; also: an OOB group without a callback
 * -ESHUTDOWN  NO_GROUP: it has ended
 * -ESTALE     DIGEST: the members are others
 * -EBADMSG    NO_GROUP: malformed parameters, or a group of another service
 * -E2BIG, -ENOMEM  NOMEM
 * or what the callback returned: NO_GROUP.
 */
int group_resolve(struct group_table *table, const struct wire_bcast *bcast,
		  const struct group_oob *oob, uint64_t now_ns,
		  struct scoll_group **ret_group);
/* The same, with the list that came as bulk data. */
int group_learn(struct group_table *table, const struct wire_bcast *bcast,
		const void *list, size_t size, uint64_t now_ns,
		struct scoll_group **ret_group);
/*
 * The choice of a broadcast over it, with a reference. -EAGAIN: we see others
 * alive (DIGEST); -EBADMSG, -ESTALE: as choice_decode (DIGEST); -ENOMEM.
 */
int group_choice(struct scoll_group *group, const struct wire_bcast *bcast,
		 struct choice **ret_choice);
/*
 * Those of `within` (NULL: of all) who live, as discovery has it. -EHOSTDOWN:
 * nobody; -EOPNOTSUPP: there is no discovery; -ENOMEM.
 */
int group_alive(struct scoll_group *group, const struct choice *within,
		struct choice **ret_choice);
/* Fill the group's fields of a broadcast: id and flags CREATOR and OOB. */
void group_id_write(const struct scoll_group *group, scoll_nid_t root,
		    uint64_t root_nonce, struct wire_bcast *bcast);
/*
 * Where its members are, from now on, for those who learn of it from us; it
 * gets a reference.
 */
void group_addresses_set(struct scoll_group *group,
			 struct addresses *addresses);
/* The source that a broadcast is, received now. */
struct group_source group_source_of(struct group_table *table,
				    const struct wire_bcast *bcast);
/* Whether `source` replaces `other`, which was received before. */
bool group_source_is_newer(const struct group_source *source,
			   const struct group_source *other);
/* Bytes of a list with addresses (NULL: none) before it, and those bytes. */
size_t group_list_size(const struct membership *membership,
		       const struct addresses *addresses);
void group_list_encode(const struct membership *membership,
		       const struct addresses *addresses, uint8_t *ret_bytes);
/*
 * Bytes of the parameters in the body, and those bytes. with_list: else the
 * list goes as bulk data.
 */
size_t group_params_size(const struct scoll_group *group, bool with_list);
void group_params_encode(const struct scoll_group *group, bool with_list,
			 uint8_t *ret_params);

/* --- references --- */

struct scoll_group *group_ref(struct scoll_group *group);
/* It was used until now. NULL is allowed. */
void group_unref(struct scoll_group *group, uint64_t now_ns);
/* References of the user's to a learned group, one for each group_keep(). */
void group_keep(struct scoll_group *group);
void group_unkeep(struct scoll_group *group, uint64_t now_ns);
/*
 * No more of it: after its last request, or when its user gives the handle
 * back. Its id is remembered for 2 x lifetime, unless it is out-of-band. Those
 * who have a reference keep it. Nothing happens if it has ended already.
 */
void group_end(struct scoll_group *group, uint64_t now_ns);

/* --- trees --- */

/*
 * Our position in the tree for this root and choice, with a reference; kept, so
 * that the next one costs no memory. -ENOENT: we are not in it; -EINVAL: no
 * such kind of tree or order; -ENOMEM.
 */
int group_tree_get(struct scoll_group *group, struct choice *choice,
		   scoll_nid_t root, scoll_tree_type_t type,
		   enum scoll_order order, struct group_tree **ret_tree);
struct group_tree *group_tree_ref(struct group_tree *tree);
/* NULL is allowed. */
void group_tree_unref(struct group_tree *tree);
DEFINE_AUTO(struct group_tree, group_tree_unref)
