/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How groups come to be: made by the user, or learned from a message that has
 * the members or names a service that has. Either way the digest of the members
 * is the one in the message, or there is no group.
 */
#include "scoll/core/group.h"

#include <errno.h>
#include <string.h>

#include "base/bytes.h"
#include "scoll/core/group_internal.h"
#include "scoll/member/discovery.h"

_Static_assert(sizeof(struct group_id) == 48, "ids are compared as bytes");

/* --- of the user --- */

static int draft_check(const struct group_table *table,
		       const struct group_draft *draft)
{
	if (draft->name_length > SCOLL_NAME_MAX)
		return -EINVAL;
	if (draft->tree != SCOLL_TREE_DEFAULT &&
	    tree_type_check(table->options.tree_types, draft->tree) < 0)
		return -EINVAL;
	return 0;
}

static int handle_add(struct group_table *table,
		      const struct group_draft *draft,
		      struct scoll_group **ret_group)
{
	int result = draft_check(table, draft);

	return result < 0 ? result : group_add(table, draft, ret_group);
}

int group_create(struct group_table *table, scoll_service_id_t service,
		 const char *name, struct membership *membership,
		 scoll_tree_type_t tree, const void *private,
		 struct scoll_group **ret_group)
{
	struct group_draft draft = {
		.id = {
			.owner = { table->options.nid, table->options.nonce },
			.index = table->next_index,
			.members = membership->digest,
		},
		.membership = membership,
		.service = service,
		.tree = tree,
		.name = name != NULL ? name : "",
		.is_handle = true,
		.private = private,
	};
	int result;

	draft.name_length = strlen(draft.name);
	result = handle_add(table, &draft, ret_group);
	if (result == 0)
		table->next_index++;
	return result;
}

int group_oob_create(struct group_table *table, scoll_service_id_t service,
		     const char *name, const scoll_oobgrp_id_t *oobid,
		     scoll_tree_type_t tree, const void *private,
		     struct scoll_group **ret_group)
{
	struct group_draft draft = {
		.id = { .service = service, .is_oob = 1 },
		.service = service,
		.tree = tree,
		.name = name != NULL ? name : "",
		.is_handle = true,
		.private = private,
	};

	if (oobid->svid != service)
		return -EINVAL;
	memcpy(draft.id.owner, oobid->bytes, sizeof(oobid->bytes));
	draft.name_length = strlen(draft.name);
	return handle_add(table, &draft, ret_group);
}

static scoll_oobgrp_id_t oobid_of(const struct group_id *id)
{
	scoll_oobgrp_id_t oobid = { .svid = id->service };

	memcpy(oobid.bytes, id->owner, sizeof(oobid.bytes));
	return oobid;
}

/* 0: it says none. */
static uint64_t oob_version(const struct group_oob *oob,
			    const struct group_id *id)
{
	scoll_oobgrp_id_t oobid = oobid_of(id);

	return oob->version != NULL ? oob->version(oob->private, &oobid) : 0;
}

/*
 * Ask the service for the members of an OOB group. If they are `known` (may be
 * NULL), that is *ret_membership, too, with a reference.
 */
static int oob_ask(struct group_table *table, const struct group_id *id,
		   const struct group_oob *oob, struct membership *known,
		   struct membership **ret_membership)
{
	scoll_oobgrp_id_t oobid = oobid_of(id);
	const scoll_target_t *targets = NULL;
	int count;

	count = oob->members(oob->private, &oobid, &targets);
	if (count < 0)
		return count;
	if (known != NULL && targets != NULL &&
	    membership_is(known, targets, count)) {
		*ret_membership = membership_ref(known);
		return 0;
	}
	return memberships_from_targets(table->options.memberships, targets,
					count, NULL, NULL, ret_membership);
}

/* Its members are what they were: no list need be compared. */
static bool oob_is_current(const struct scoll_group *group, uint64_t version)
{
	return version != 0 && group->membership != NULL &&
	       group->oob_version == version;
}

int group_oob_refresh(struct scoll_group *group, const struct group_oob *oob)
{
	struct membership *membership;
	/* Before the list: what changes in between is seen the next time. */
	uint64_t version = oob_version(oob, &group->id);
	int result;

	if (oob_is_current(group, version))
		return 0;
	result = oob_ask(group->table, &group->id, oob, group->membership,
			 &membership);
	if (result < 0)
		return result;
	group->oob_version = version;
	if (membership == group->membership) {
		membership_unref(membership);
		return 0;
	}
	group_forget(group);
	membership_unref(group->membership);
	group->membership = membership;
	group->id.members = membership->digest;
	return 0;
}

/* --- of messages --- */

static void id_read(const struct wire_bcast *bcast, struct group_id *ret_id)
{
	*ret_id = (struct group_id){ .members = bcast->members };
	if (bcast->flags & WIRE_OOB) {
		memcpy(ret_id->owner, bcast->oob, sizeof(bcast->oob));
		ret_id->service = bcast->service;
		ret_id->is_oob = 1;
		return;
	}
	ret_id->owner[0] = bcast->creator;
	ret_id->owner[1] = bcast->creator_nonce;
	ret_id->index = bcast->group_index;
}

void group_id_write(const struct scoll_group *group, scoll_nid_t root,
		    uint64_t root_nonce, struct wire_bcast *bcast)
{
	const struct group_id *id = &group->id;

	bcast->service = group->service;
	bcast->members = id->members;
	bcast->group_index = id->index;
	bcast->flags &= (uint16_t) ~(WIRE_OOB | WIRE_CREATOR);
	if (id->is_oob) {
		bcast->flags |= WIRE_OOB;
		memcpy(bcast->oob, id->owner, sizeof(bcast->oob));
		return;
	}
	bcast->creator = id->owner[0];
	bcast->creator_nonce = id->owner[1];
	if (bcast->creator != root || bcast->creator_nonce != root_nonce)
		bcast->flags |= WIRE_CREATOR;
}

/* Adds a group with this membership, of which it takes the reference. */
static int group_establish(struct group_table *table,
			   const struct wire_bcast *bcast,
			   const struct group_id *id, const char *name,
			   size_t name_length, struct membership *membership,
			   uint64_t now_ns, struct scoll_group **ret_group)
{
	struct group_draft draft = {
		.id = *id,
		.membership = membership,
		.service = bcast->service,
		.tree = bcast->tree,
		.name = name,
		.name_length = name_length,
		.now_ns = now_ns,
	};
	struct scoll_group *group;
	int result = group_add(table, &draft, &group);

	membership_unref(membership);
	if (result == 0)
		*ret_group = group_use(group, now_ns);
	return result;
}

static int oob_resolve(struct group_table *table,
		       const struct wire_bcast *bcast,
		       const struct group_id *id, const struct group_oob *oob,
		       uint64_t now_ns, struct scoll_group **ret_group)
{
	struct scoll_group *group = group_of_id(table, id);
	struct membership *membership;
	uint64_t version;
	int result;

	if (oob->members == NULL)
		return -ENOENT;
	version = oob_version(oob, id);
	if (group != NULL && oob_is_current(group, version)) {
		*ret_group = group_use(group, now_ns);
		return 0;
	}
	result = oob_ask(table, id, oob,
			 group != NULL ? group->membership : NULL, &membership);
	if (result < 0)
		return result;
	if (!wire_digest_equals(&membership->digest, &id->members)) {
		membership_unref(membership);
		return -ESTALE;
	}
	if (group == NULL) {
		result = group_establish(table, bcast, id, "", 0, membership,
					 now_ns, &group);
		if (result < 0)
			return result;
	} else {
		membership_unref(membership);
		group_use(group, now_ns);
	}
	group->oob_version = version;
	*ret_group = group;
	return 0;
}

/* Known by its id, or known to have ended; -ENOENT: neither. */
static int regular_find(struct group_table *table,
			const struct wire_bcast *bcast,
			const struct group_id *id, uint64_t now_ns,
			struct scoll_group **ret_group)
{
	struct scoll_group *group = group_of_id(table, id);

	if (group == NULL)
		return group_is_buried(table, id) ? -ESHUTDOWN : -ENOENT;
	if (group->service != bcast->service)
		return -EBADMSG;
	*ret_group = group_use(group, now_ns);
	return 0;
}

static bool says_other_addresses(const struct scoll_group *group,
				 const struct wire_bcast *bcast)
{
	return bcast->flags & WIRE_ADDRESSES &&
	       (group->addresses == NULL ||
		!wire_digest_equals(&group->addresses->digest,
				    &bcast->addresses));
}

/*
 * It is known, and the message says that its nodes have moved. Only its creator
 * is believed, but the message of another root is forwarded, too.
 */
static int group_update(struct scoll_group *group,
			const struct wire_bcast *bcast,
			const struct group_parameters *parameters,
			bool has_list)
{
	_auto_(addresses_unrefp) struct addresses *addresses = NULL;
	struct group_source source;
	int result =
		group_addresses_get(group->table, bcast, parameters, has_list,
				    group->membership->count, &addresses);

	if (result < 0)
		return result;
	source = group_source_of(group->table, bcast);
	if (group->is_handle || bcast->flags & WIRE_CREATOR ||
	    !group_source_is_newer(&source, &group->source))
		return 0;
	group_addresses_set(group, addresses);
	group->source = source;
	return 0;
}

/* has_list: parameters has it, and the addresses. */
static int group_read(struct group_table *table, const struct wire_bcast *bcast,
		      const struct group_id *id,
		      const struct group_parameters *parameters, bool has_list,
		      uint64_t now_ns, struct scoll_group **ret_group)
{
	_auto_(membership_unrefp) struct membership *membership = NULL;
	_auto_(addresses_unrefp) struct addresses *addresses = NULL;
	struct scoll_group *group;
	int result;

	result = group_membership_get(table, bcast, parameters, has_list,
				      &membership);
	if (result < 0)
		return result;
	result = group_addresses_get(table, bcast, parameters, has_list,
				     membership->count, &addresses);
	if (result < 0)
		return result;
	result = group_establish(table, bcast, id, parameters->name,
				 parameters->name_length, take_ptr(membership),
				 now_ns, &group);
	if (result < 0)
		return result;
	if (addresses != NULL) {
		group_addresses_set(group, addresses);
		group->source = group_source_of(table, bcast);
	}
	*ret_group = group;
	return 0;
}

/* Of a group that is not out-of-band; bulk: what was read, NULL: nothing. */
static int regular_resolve(struct group_table *table,
			   const struct wire_bcast *bcast,
			   const struct group_id *id, const struct reader *bulk,
			   uint64_t now_ns, struct scoll_group **ret_group)
{
	bool has_list = bulk != NULL || !(bcast->flags & WIRE_MEMBERS_BULK);
	struct group_parameters parameters;
	struct scoll_group *group = NULL;
	int result = regular_find(table, bcast, id, now_ns, &group);

	if (result == 0 && !says_other_addresses(group, bcast)) {
		*ret_group = group;
		return 0;
	}
	if (result == -ENOENT && bcast->params_size == 0)
		return result;
	if (result == 0 || result == -ENOENT)
		result = group_parameters_read(bcast, bulk, &parameters);
	if (result == 0 && group == NULL)
		return group_read(table, bcast, id, &parameters, has_list,
				  now_ns, ret_group);
	if (result == 0)
		result = group_update(group, bcast, &parameters, has_list);
	if (result < 0)
		group_unref(group, now_ns);
	else
		*ret_group = group;
	return result;
}

int group_resolve(struct group_table *table, const struct wire_bcast *bcast,
		  const struct group_oob *oob, uint64_t now_ns,
		  struct scoll_group **ret_group)
{
	struct group_id id;

	id_read(bcast, &id);
	if (id.is_oob)
		return oob_resolve(table, bcast, &id, oob, now_ns, ret_group);
	return regular_resolve(table, bcast, &id, NULL, now_ns, ret_group);
}

int group_learn(struct group_table *table, const struct wire_bcast *bcast,
		const void *list, size_t size, uint64_t now_ns,
		struct scoll_group **ret_group)
{
	struct reader bulk = reader_of(list, size);
	struct group_id id;

	id_read(bcast, &id);
	if (id.is_oob || !(bcast->flags & WIRE_MEMBERS_BULK))
		return -EBADMSG;
	return regular_resolve(table, bcast, &id, &bulk, now_ns, ret_group);
}

/* --- who takes part --- */

/* The living of all, as long as the same ones live. */
static int everybody_alive(struct scoll_group *group, uint64_t epoch,
			   const uint64_t *words, struct choice **ret_choice)
{
	struct choice *choice;
	int result;

	if (group->living == NULL || group->living_epoch != epoch) {
		result =
			choice_of_bits(group->membership, words, NULL, &choice);
		if (result < 0)
			return result;
		choice_unref(group->living);
		group->living = choice;
		group->living_epoch = epoch;
	}
	*ret_choice = choice_ref(group->living);
	return 0;
}

int group_alive(struct scoll_group *group, const struct choice *within,
		struct choice **ret_choice)
{
	struct discovery *discovery = group->table->options.discovery;
	const uint64_t *words;
	uint64_t epoch;
	int result;

	if (discovery == NULL)
		return -EOPNOTSUPP;
	if (group->alive == NULL) {
		result = discovery_view_create(discovery,
					       group->membership->nids,
					       group->membership->count,
					       &group->alive);
		if (result < 0)
			return result;
	}
	epoch = discovery_view_epoch(group->alive);
	words = discovery_view_alive(group->alive);
	if (within != NULL && !choice_is_all(within))
		result = choice_of_bits(group->membership, words, within,
					ret_choice);
	else
		result = everybody_alive(group, epoch, words, ret_choice);
	return result == -ENOENT ? -EHOSTDOWN : result;
}

int group_choice(struct scoll_group *group, const struct wire_bcast *bcast,
		 struct choice **ret_choice)
{
	struct choice *choice;
	int result;

	if (!(bcast->flags & WIRE_SUBSET))
		return choice_all(group->membership, ret_choice);
	if (!(bcast->flags & WIRE_ALIVE))
		return choice_decode(group->membership, &bcast->choice_digest,
				     bcast->choice, bcast->choice_size,
				     ret_choice);
	result = group_alive(group, NULL, &choice);
	if (result == -ENOMEM)
		return result;
	if (result < 0)
		return -EAGAIN;
	if (!wire_digest_equals(&choice->digest, &bcast->choice_digest)) {
		choice_unref(choice);
		return -EAGAIN;
	}
	*ret_choice = choice;
	return 0;
}

void group_forget(struct scoll_group *group)
{
	group_trees_drop(group);
	choice_unref(group->living);
	group->living = NULL;
	choice_unref(group->known);
	group->known = NULL;
	discovery_view_destroy(group->alive);
	group->alive = NULL;
}
