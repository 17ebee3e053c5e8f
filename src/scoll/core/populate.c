/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Groups of the user: made at once by a request of the library (its members
 * inline, or as bulk data when they do not fit: B-14), or with the first
 * broadcast; populated again; ended by an empty last broadcast. A group that
 * could not be made everywhere is taken back where it was (B-33).
 */
#include "scoll/core/internal.h"

#include <endian.h>
#include <stdlib.h>

#define LIBRARY_FLAGS WIRE_POPULATE /* no service is called */
#define CONNECTS_MAX  64 /* of a new group's children, ahead of time */

int bcast_post_nothing(struct bcast *bcast)
{
	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		int result = child_post_add(&bcast->children[i], NULL, 0, NULL);

		if (result < 0)
			return result;
	}
	return 0;
}

/*
 * The list of members as bulk data, of the addresses with this digest (NULL:
 * none). All of it is in memory once for everybody.
 */
int bcast_list_make(struct bcast *bcast, const struct wire_digest *digest)
{
	struct membership *membership = bcast->group->membership;
	struct addresses *addresses = NULL;
	struct iovec *at = bcast->list_iovs;
	const uint8_t *list;

	if (digest != NULL) {
		addresses = addresses_find(bcast->core->options.memberships,
					   digest);
		if (addresses == NULL)
			return -ENOENT;
		bcast->addresses = addresses;
		bcast->list_head = htole32((uint32_t)addresses->size);
		*at++ = (struct iovec){ &bcast->list_head,
					sizeof(bcast->list_head) };
		*at++ = (struct iovec){ (void *)addresses->bytes,
					addresses->size };
	}
	list = membership_list_get(membership);
	if (list == NULL)
		return -ENOMEM;
	bcast->has_list = true;
	*at++ = (struct iovec){ (void *)list,
				membership_encoded_size(membership) };
	bcast->list_size = group_list_size(membership, addresses);
	bcast->iovs = bcast->list_iovs;
	bcast->iov_count = (int)(at - bcast->list_iovs);
	return 0;
}

static int populate_create(struct scoll_group *group, struct choice *choice,
			   uint64_t now_ns, struct bcast **ret_bcast)
{
	struct bcast *bcast;
	int result;

	result = book_share(group_table_owner(group->table), group);
	if (result < 0)
		return result;
	result = bcast_root_create(group, choice, LIBRARY_FLAGS, &bcast);
	if (result < 0)
		return result;
	if (!bcast_fits(bcast, true)) {
		bcast->flags |= WIRE_MEMBERS_BULK;
		result = bcast_list_make(bcast,
					 group->addresses != NULL
						 ? &group->addresses->digest
						 : NULL);
	}
	if (result == 0)
		result = bcast_post_nothing(bcast);
	if (result < 0) {
		bcast_destroy(bcast, now_ns);
		return result;
	}
	*ret_bcast = bcast;
	return 0;
}

int bcast_populate(struct scoll_group *group, struct choice *choice,
		   uint64_t now_ns, scoll_create_group_cb_t created,
		   const void *private)
{
	struct bcast *bcast;
	int result;

	result = populate_create(group, choice, now_ns, &bcast);
	if (result < 0)
		return result;
	bcast->created = created;
	bcast->created_private = private;
	/* P-01: of a new group, and the callback says so. */
	if (created != NULL && bcast_liveness_check(bcast) < 0) {
		bcast_root_fail(bcast, now_ns, -EHOSTDOWN,
				SCOLL_ERROR_PEER_DEAD);
		return 0;
	}
	result = bcast_root_start(bcast, now_ns);
	if (result < 0)
		bcast_destroy(bcast, now_ns);
	return result;
}

int bcast_populate_status(const struct bcast *bcast)
{
	return bcast->failure_count == 0 ? 0 : bcast->failures[0].status;
}

/* --- the end --- */

/* Nodes that live and did not fail to learn of the group. */
static int survivors(const struct bcast *bcast, struct scoll_group *group,
		     struct choice **ret_choice)
{
	const struct membership *membership = group->membership;
	_auto_(choice_unrefp) struct choice *alive = NULL;
	_auto_(freep) uint64_t *words = NULL;
	struct scoll_failure failure;
	uint64_t cursor = 0;
	int result;

	result = group_alive(group, NULL, &alive);
	if (result < 0)
		return result;
	if (bcast == NULL || bcast->failure_count == 0) {
		*ret_choice = take_ptr(alive);
		return 0;
	}
	words = calloc(membership->count / 64 + 1, sizeof(*words));
	if (words == NULL)
		return -ENOMEM;
	memset(words, 0xff, (membership->count / 64 + 1) * sizeof(*words));
	while (scoll_core_request_failure_next(&bcast->public, &cursor,
					       &failure) > 0) {
		int index = membership_index(membership, failure.nid);

		if (index >= 0)
			words[index / 64] &= ~(UINT64_C(1) << index % 64);
	}
	return choice_of_bits(group->membership, words, alive, ret_choice);
}

/* An empty last broadcast; failed: the one that did not reach everybody. */
static int end_start(struct scoll_group *group, uint64_t now_ns,
		     const struct bcast *failed)
{
	_auto_(choice_unrefp) struct choice *choice = NULL;
	struct bcast *bcast;
	int result;

	result = survivors(failed, group, &choice);
	if (result < 0)
		return result;
	result = bcast_root_create(group, choice, LIBRARY_FLAGS | WIRE_LAST,
				   &bcast);
	if (result < 0)
		return result;
	if (!bcast_fits(bcast, false))
		bcast->flags |= WIRE_ALIVE;
	result = bcast_post_nothing(bcast);
	if (result == 0)
		result = bcast_root_start(bcast, now_ns);
	if (result < 0)
		bcast_destroy(bcast, now_ns);
	return result;
}

static void end(struct scoll_group *group, uint64_t now_ns,
		const struct bcast *failed)
{
	if (group->id.is_oob || !group->was_sent || group->is_closed ||
	    end_start(group, now_ns, failed) < 0)
		group_end(group, now_ns);
}

/* B-33 */
static void taken_back(struct bcast *bcast, uint64_t now_ns)
{
	struct service *service =
		service_find(bcast->core, bcast->group->service);

	if (service != NULL)
		service->use_count--;
	end(bcast->group, now_ns, bcast);
}

void bcast_populate_ended(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_group *group = bcast->group;

	if (bcast->flags & WIRE_LAST)
		group_end(group, now_ns);
	else if (bcast->created != NULL && bcast->failure_count > 0)
		taken_back(bcast, now_ns);
}

/* --- calls of the user --- */

/* On all members, and the callback when they have it. */
static int populate_all(struct scoll_group *group, uint64_t now_ns,
			scoll_create_group_cb_t created, const void *private)
{
	_auto_(choice_unrefp) struct choice *all = NULL;
	int result = choice_all(group->membership, &all);

	return result < 0
		       ? result
		       : bcast_populate(group, all, now_ns, created, private);
}

/* Whether the parameters fit into a broadcast at all. */
static bool group_fits(const struct scoll_core *core,
		       const struct scoll_group *group)
{
	struct wire_bcast wire = {
		.flags = wire_auth_flags(core->options.authenticator),
	};

	group_id_write(group, core->options.nid, core->nonce, &wire);
	bcast_addresses_fill(group, true, &wire);
	return wire_bcast_head_size(&wire, core->options.authenticator) +
		       group_params_size(group, true) <=
	       SCOLL_BCAST_MAX;
}

/* What the first broadcast would have to wait for; no harm if it fails. */
static void connect_children(struct scoll_group *group)
{
	const struct scoll_core *core = group_table_owner(group->table);
	const struct transport_seam *net = &core->options.transport;
	_auto_(choice_unrefp) struct choice *all = NULL;
	_auto_(group_tree_unrefp) struct group_tree *tree = NULL;

	if (choice_all(group->membership, &all) < 0 ||
	    group_tree_get(group, all, core->options.nid, group->tree,
			   core->options.order, &tree) < 0)
		return;
	for (uint32_t i = 0; i < tree->child_count && i < CONNECTS_MAX; i++)
		net->ops->connect(net->ctx, tree->children[i].nid);
}

int scoll_core_group_create(struct scoll_core *core, uint64_t now_ns,
			    scoll_service_id_t svid, const char *name,
			    const scoll_target_t *targets, int cnt,
			    scoll_tree_type_t tree, bool populate_now,
			    scoll_create_group_cb_t cb, const void *private,
			    struct core_callback *ret_callback)
{
	_auto_(membership_unrefp) struct membership *membership = NULL;
	struct service *service = service_find(core, svid);
	struct scoll_group *group;
	int result;

	if (service == NULL)
		return -ENOENT;
	if (cb == NULL)
		return -EINVAL;
	if (core->is_stopped)
		return -ESHUTDOWN;
	if (discovery_is_stealthy(core->options.discovery))
		return -EAGAIN;
	result = memberships_from_targets(core->options.memberships, targets,
					  cnt, core->options.permute,
					  core->options.permute_ctx,
					  &membership);
	if (result < 0)
		return result;
	result = group_create(core->groups, svid, name != NULL ? name : "",
			      membership, tree_of(core, tree), private, &group);
	if (result < 0)
		return result;
	result = populate_now ? 0 : book_share(core, group);
	if (result == 0 && populate_now)
		result = populate_all(group, now_ns, cb, private);
	else if (result == 0 && !group_fits(core, group))
		result = -EMSGSIZE;
	if (result < 0) {
		group_end(group, now_ns);
		return result;
	}
	if (!populate_now) {
		connect_children(group);
		*ret_callback = (struct core_callback){
			.kind = CORE_CALLBACK_GROUP,
			.created = cb,
			.group = group,
			.private = private,
		};
	}
	service->use_count++;
	scoll_core_run(core, now_ns);
	return 0;
}

int scoll_core_oob_group_create(struct scoll_core *core,
				scoll_service_id_t svid, const char *name,
				const scoll_oobgrp_id_t *oobid,
				scoll_tree_type_t tree, const void *private,
				scoll_group_t **ret_group)
{
	struct service *service = service_find(core, svid);
	int result;

	if (service == NULL)
		return -ENOENT;
	if (service->ops.oobgrp == NULL)
		return -EOPNOTSUPP;
	result = group_oob_create(core->groups, svid, name != NULL ? name : "",
				  oobid, tree_of(core, tree), private,
				  ret_group);
	if (result < 0)
		return result;
	service->use_count++;
	return 0;
}

int scoll_core_group_keep(scoll_group_t *group)
{
	struct scoll_core *core = group_table_owner(group->table);
	struct service *service = service_find(core, group->service);

	if (group->is_handle)
		return -EALREADY;
	if (group->id.is_oob)
		return -EOPNOTSUPP;
	if (group->is_ended)
		return -ESHUTDOWN;
	if (service == NULL)
		return -ENOENT;
	service->use_count++;
	group_keep(group);
	return 0;
}

void scoll_core_group_destroy(scoll_group_t *group, uint64_t now_ns)
{
	struct scoll_core *core = group_table_owner(group->table);
	struct service *service = service_find(core, group->service);

	if (!group->is_handle && group->kept_count == 0)
		return;
	if (service != NULL)
		service->use_count--;
	if (group->is_handle)
		end(group, now_ns, NULL);
	else
		group_unkeep(group, now_ns);
	scoll_core_run(core, now_ns);
}
