/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How groups come to be: made by the user, or learned from a message that says
 * who is in it or lets one ask. Whichever way, the digest of what a member then
 * knows is the one in the message, or there is no group.
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

/*
 * Ask the service who is in an OOB group. If that is `known` (may be NULL), it
 * is *ret_membership, too, with a reference.
 */
static int oob_ask(struct group_table *table, const struct group_id *id,
		   scoll_oobgrp_cb_t callback, void *service_private,
		   struct membership *known, struct membership **ret_membership)
{
	scoll_oobgrp_id_t oobid = { .svid = id->service };
	const scoll_target_t *targets = NULL;
	int count;

	memcpy(oobid.bytes, id->owner, sizeof(oobid.bytes));
	count = callback(service_private, &oobid, &targets);
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

int group_oob_refresh(struct scoll_group *group, scoll_oobgrp_cb_t callback,
		      void *service_private)
{
	struct membership *membership;
	int result;

	result = oob_ask(group->table, &group->id, callback, service_private,
			 group->membership, &membership);
	if (result < 0)
		return result;
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
static int group_found(struct group_table *table,
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
		       const struct group_id *id, scoll_oobgrp_cb_t callback,
		       void *service_private, uint64_t now_ns,
		       struct scoll_group **ret_group)
{
	struct scoll_group *group = group_of_id(table, id);
	struct membership *membership;
	int result;

	if (callback == NULL)
		return -ENOENT;
	result = oob_ask(table, id, callback, service_private,
			 group != NULL ? group->membership : NULL, &membership);
	if (result < 0)
		return result;
	if (!wire_digest_equals(&membership->digest, &id->members)) {
		membership_unref(membership);
		return -ESTALE;
	}
	if (group == NULL)
		return group_found(table, bcast, id, "", 0, membership, now_ns,
				   ret_group);
	membership_unref(membership);
	*ret_group = group_use(group, now_ns);
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

/* The name at the start of the parameters; the list is behind it. */
static int name_read(const struct wire_bcast *bcast, const char **ret_name,
		     size_t *ret_name_length, struct reader *ret_list)
{
	struct reader reader = reader_of(bcast->params, bcast->params_size);
	size_t length = read_u8(&reader);
	const uint8_t *name = read_bytes(&reader, length);

	if (reader.failed || length > SCOLL_NAME_MAX ||
	    memchr(name, 0, length) != NULL)
		return -EBADMSG;
	if ((bcast->flags & WIRE_MEMBERS_BULK) && reader.left > 0)
		return -EBADMSG;
	*ret_name = (const char *)name;
	*ret_name_length = length;
	*ret_list = reader;
	return 0;
}

int group_resolve(struct group_table *table, const struct wire_bcast *bcast,
		  scoll_oobgrp_cb_t callback, void *service_private,
		  uint64_t now_ns, struct scoll_group **ret_group)
{
	struct membership *membership;
	struct group_id id;
	struct reader list;
	const char *name;
	size_t length;
	int result;

	id_read(bcast, &id);
	if (id.is_oob)
		return oob_resolve(table, bcast, &id, callback, service_private,
				   now_ns, ret_group);
	result = regular_find(table, bcast, &id, now_ns, ret_group);
	if (result != -ENOENT || bcast->params_size == 0)
		return result;
	result = name_read(bcast, &name, &length, &list);
	if (result < 0)
		return result;
	if (bcast->flags & WIRE_MEMBERS_BULK) {
		membership = memberships_find(table->options.memberships,
					      &id.members);
		if (membership == NULL)
			return -ENODATA;
	} else {
		result = memberships_decode(table->options.memberships,
					    &id.members, list.at, list.left,
					    &membership);
		if (result < 0)
			return result;
	}
	return group_found(table, bcast, &id, name, length, membership, now_ns,
			   ret_group);
}

int group_learn(struct group_table *table, const struct wire_bcast *bcast,
		const void *list, size_t size, uint64_t now_ns,
		struct scoll_group **ret_group)
{
	struct membership *membership;
	struct reader rest;
	struct group_id id;
	const char *name;
	size_t length;
	int result;

	id_read(bcast, &id);
	if (id.is_oob || !(bcast->flags & WIRE_MEMBERS_BULK))
		return -EBADMSG;
	result = regular_find(table, bcast, &id, now_ns, ret_group);
	if (result != -ENOENT)
		return result;
	result = name_read(bcast, &name, &length, &rest);
	if (result < 0)
		return result;
	result = memberships_decode(table->options.memberships, &id.members,
				    list, size, &membership);
	if (result < 0)
		return result;
	return group_found(table, bcast, &id, name, length, membership, now_ns,
			   ret_group);
}

size_t group_params_size(const struct scoll_group *group, bool with_list)
{
	return 1 + strlen(group->name) +
	       (with_list ? membership_encoded_size(group->membership) : 0);
}

void group_params_encode(const struct scoll_group *group, bool with_list,
			 uint8_t *ret_params)
{
	size_t length = strlen(group->name);

	ret_params[0] = (uint8_t)length;
	memcpy(ret_params + 1, group->name, length);
	if (with_list)
		membership_encode(group->membership, ret_params + 1 + length);
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
	group_trees_drop(group, SCOLL_NID_ANY);
	choice_unref(group->living);
	group->living = NULL;
	discovery_view_destroy(group->alive);
	group->alive = NULL;
}
