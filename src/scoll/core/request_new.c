/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests at the root: made, checked, and sent, or held until they may go. A
 * last request waits for the earlier ones (B-16). One whose group some member
 * has forgotten, and whose parameters do not fit beside its payload, waits for
 * the group to be populated again (B-30).
 */
#include "scoll/core/internal.h"

#define USER_FLAGS (SCOLL_LAST | SCOLL_ALIVE_ONLY)

bool bcast_needs_params(const struct bcast *bcast)
{
	const struct scoll_group *group = bcast->group;

	return !group->id.is_oob && !group->is_known &&
	       (group->known == NULL ||
		group->known->membership != group->membership ||
		!choice_covers(group->known, bcast->tree->choice));
}

void bcast_addresses_fill(const struct scoll_group *group, bool has_params,
			  struct wire_bcast *wire)
{
	if (group->addresses == NULL || group->id.is_oob)
		return;
	wire->flags |= WIRE_SENDER;
	wire->address_size = WIRE_ADDRESS_MAX;
	if (!has_params)
		return;
	wire->flags |= WIRE_ADDRESSES;
	wire->addresses = group->addresses->digest;
}

void bcast_wire_fill(const struct bcast *bcast, struct wire_bcast *wire)
{
	struct scoll_core *core = bcast->core;
	const struct choice *choice = bcast->tree->choice;

	*wire = (struct wire_bcast){
		.flags = bcast->flags,
		.service = bcast->group->service,
		.tree = bcast->tree->tree.type,
		.root = bcast->root,
		.root_nonce = bcast->root_nonce,
		.number = bcast->number,
		.service_timeout_ns = bcast->timeout_ns,
		.rtt_us = (uint32_t)(bcast->rtt_ns / 1000),
		.order = bcast->order,
		.choice_digest = choice->digest,
		.payload = bcast->buf,
		.payload_size = (size_t)bcast->public.srq_len,
		.bulk_size = bcast->bulk != NULL ? bcast->bulk->size : 0,
	};
	group_id_write(bcast->group, bcast->root, core->nonce, wire);
	wire->members = choice->membership->digest;
	if ((bcast->flags & (WIRE_SUBSET | WIRE_ALIVE)) == WIRE_SUBSET)
		wire->choice_size = (uint16_t)choice_encoded_size(choice);
}

/* Bytes of the message with the longest descriptor that a member may need. */
static size_t message_size(const struct bcast *bcast, bool has_params)
{
	struct wire_bcast wire;
	size_t size;

	bcast_wire_fill(bcast, &wire);
	bcast_addresses_fill(bcast->group, has_params, &wire);
	if (bcast->public.srq_bulk_len > 0 || bcast->flags & WIRE_MEMBERS_BULK)
		wire.piece_count = SCOLL_BULK_IOVS_MAX;
	size = wire_bcast_head_size(&wire, bcast->core->options.authenticator) +
	       wire.payload_size + wire.choice_size;
	if (has_params)
		size += group_params_size(bcast->group,
					  !(bcast->flags & WIRE_MEMBERS_BULK));
	return size;
}

bool bcast_fits(const struct bcast *bcast, bool has_params)
{
	return message_size(bcast, has_params) <= SCOLL_BCAST_MAX;
}

/* --- made --- */

int bcast_root_create(struct scoll_group *group, struct choice *choice,
		      uint16_t flags, struct bcast **ret_bcast)
{
	struct scoll_core *core = group_table_owner(group->table);
	struct bcast *bcast;
	int result;

	result = bcast_create(core, &bcast);
	if (result < 0)
		return result == -EMFILE ? -ENOMEM : result;
	bcast->is_root = true;
	bcast->root = core->options.nid;
	bcast->root_nonce = core->nonce;
	bcast->order = (uint8_t)core->options.order;
	bcast->rtt_ns = core->options.rtt_ns;
	bcast->flags = flags;
	result = bcast_tree_set(bcast, group, choice,
				tree_of(core, group->tree));
	if (result < 0) {
		bcast_destroy(bcast, 0);
		return result;
	}
	if (!choice_is_all(choice))
		bcast->flags |= WIRE_SUBSET;
	else
		bcast->flags &= (uint16_t)~WIRE_ALIVE;
	if (bcast->tree->ranking.is_extra)
		bcast->flags |= WIRE_ROOT_EXTRA;
	bcast->flags |= wire_auth_flags(core->options.authenticator);
	bcast->has_run =
		bcast->tree->rank == 0 && bcast->tree->ranking.is_extra;
	*ret_bcast = bcast;
	return 0;
}

static int choose(struct scoll_group *group, const scoll_nid_t *nids, int count,
		  unsigned int flags, struct choice **ret_choice)
{
	_auto_(choice_unrefp) struct choice *within = NULL;
	int result;

	if (nids != NULL)
		result =
			choice_of_nids(group->membership, nids, count, &within);
	else
		result = choice_all(group->membership, &within);
	if (result < 0)
		return result;
	if (flags & SCOLL_ALIVE_ONLY)
		return group_alive(group, within, ret_choice);
	*ret_choice = take_ptr(within);
	return 0;
}

static int group_is_usable(struct scoll_core *core, struct scoll_group *group,
			   struct service **ret_service)
{
	struct service *service = service_find(core, group->service);
	struct group_oob oob;

	if (service == NULL)
		return -ENOENT;
	if (group->is_closed || group->is_ended || core->is_stopped)
		return -ESHUTDOWN;
	*ret_service = service;
	oob = service_oob(service);
	return group->id.is_oob ? group_oob_refresh(group, &oob) : 0;
}

static int bulk_size(const struct iovec *iovs, int count, size_t *ret_size)
{
	size_t size = 0;

	if (count < 0 || count > SCOLL_BULK_IOVS_MAX ||
	    (count > 0 && iovs == NULL))
		return -EINVAL;
	for (int i = 0; i < count; i++) {
		if (__builtin_add_overflow(size, iovs[i].iov_len, &size))
			return -EINVAL;
	}
	*ret_size = size;
	return 0;
}

static int new_check(const struct bcast *bcast)
{
	const struct scoll_group *group = bcast->group;

	if (!bcast_fits(bcast, false))
		return -EMSGSIZE;
	/* G-04; a group that was known is populated again if need be. */
	if (bcast_needs_params(bcast) && !group->was_known &&
	    !bcast_fits(bcast, true))
		return -EMSGSIZE;
	return 0;
}

int scoll_core_bcast_new(scoll_group_t *group, uint64_t now_ns,
			 const scoll_nid_t *nids, int count, const void *buf,
			 int len, const struct iovec *bulk_iovs, int niov,
			 unsigned flags, scoll_duration_t service_timeout,
			 const void *private, scoll_request_t **ret_request)
{
	struct scoll_core *core = group_table_owner(group->table);
	_auto_(choice_unrefp) struct choice *choice = NULL;
	struct service *service;
	struct bcast *bcast;
	size_t bulk_len;
	int result;

	if (len < 0 || (len > 0 && buf == NULL) || service_timeout < 0 ||
	    flags & ~USER_FLAGS || bulk_size(bulk_iovs, niov, &bulk_len) < 0)
		return -EINVAL;
	if (len > SCOLL_BCAST_MAX)
		return -EMSGSIZE;
	result = group_is_usable(core, group, &service);
	if (result < 0)
		return result;
	result = choose(group, nids, count, flags, &choice);
	if (result < 0)
		return result;
	result = bcast_root_create(
		group, choice,
		(flags & SCOLL_LAST ? WIRE_LAST : 0) |
			(flags & SCOLL_ALIVE_ONLY && nids == NULL ? WIRE_ALIVE
								  : 0),
		&bcast);
	if (result < 0)
		return result;
	bcast->service = service;
	service->use_count++;
	bcast->user_flags = (uint8_t)flags;
	bcast->timeout_ns = (uint64_t)service_timeout;
	bcast->buf = buf;
	bcast->iovs = bulk_iovs;
	bcast->iov_count = niov;
	bcast->public = (scoll_request_t){
		.srq_buf = (void *)buf,
		.srq_len = len,
		.srq_bulk_len = bulk_len,
		.srq_bulk_iovs = bulk_len > 0 ? bulk_iovs : NULL,
		.srq_bulk_niov = bulk_len > 0 ? niov : 0,
		.srq_service_timeout = service_timeout,
		.srq_private = (void *)private,
	};
	result = new_check(bcast);
	if (result < 0) {
		bcast_destroy(bcast, now_ns);
		return result;
	}
	core->stats.requests++;
	*ret_request = &bcast->public;
	return 0;
}

void scoll_core_request_free(scoll_request_t *request, uint64_t now_ns)
{
	struct bcast *bcast = bcast_of(request);

	if (bcast->phase == PHASE_NEW)
		bcast_destroy(bcast, now_ns);
}

int scoll_core_reply_buffer_post(int child, void *buf, size_t len,
				 scoll_request_t *request, void *private)
{
	struct bcast *bcast = bcast_of(request);
	bool may_post = bcast->phase == PHASE_NEW ||
			(bcast->phase == PHASE_PRE && bcast->is_called);

	if (!may_post || child < 0 ||
	    (uint32_t)child >= bcast->tree->child_count ||
	    (buf == NULL && len > 0))
		return -EINVAL;
	return child_post_add(&bcast->children[child], buf, len, private);
}
