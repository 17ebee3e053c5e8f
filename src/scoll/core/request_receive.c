/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A broadcast has come. The order of checks is that of the protocol; before a
 * message is verified nothing changes, and before pre_request the service sees
 * nothing (E-01): the library answers the parent by itself.
 *
 * A message is parked, as bytes, while the list of a new group's members is
 * read from the parent, or while discovery here sees others alive than the
 * root does, which a moment may mend (B-27).
 */
#include "scoll/core/internal.h"

/* Of the tree, which is not known before the list is: more than most have. */
#define LIST_DEPTH 32
/* Bytes of a list of members; more than the largest group has. */
#define LIST_MAX (UINT64_C(512) << 20)

/* What a failure of ours is for the parent. */
static enum scoll_error_type type_of(int status)
{
	switch (status) {
	case -ENOENT:
	case -ESHUTDOWN:
	case -EBADMSG:
		return SCOLL_ERROR_NO_GROUP;
	case -ESTALE:
		return SCOLL_ERROR_DIGEST;
	case -ENOMEM:
	case -E2BIG:
	case -EMFILE:
		return SCOLL_ERROR_NOMEM;
	default:
		return SCOLL_ERROR_NO_GROUP;
	}
}

/* --- admission: each step is 0, or what is said to the parent --- */

struct admission {
	struct scoll_core *core;
	uint64_t now_ns;
	const struct wire_bcast *wire;
	const uint8_t *bytes;
	size_t size;
	struct bcast *bcast; /* NULL: not made yet */
	struct scoll_group *group;
	struct choice *choice;
	struct service *service;
	enum scoll_error_type type; /* of what failed */
	bool is_parked;
};

static int admission_fail(struct admission *admission, int status,
			  enum scoll_error_type type)
{
	admission->type = type;
	return status;
}

static int bcast_make(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct bcast *bcast = admission->bcast;
	int result;

	if (bcast != NULL)
		return 0;
	result = bcast_create(admission->core, &bcast);
	if (result < 0)
		return admission_fail(admission, -ENOMEM, SCOLL_ERROR_NOMEM);
	bcast->root = wire->root;
	bcast->root_nonce = wire->root_nonce;
	bcast->number = wire->number;
	bcast->parent = wire->sender;
	bcast->parent_tag = wire->tag;
	bcast->parent_counter = discovery_counter(
		admission->core->options.discovery, wire->sender);
	bcast->reply_size_max = wire->part_size;
	bcast->reply_part_max = wire->part_count;
	bcast->flags = wire->flags;
	bcast->order = wire->order;
	bcast->rtt_ns = (uint64_t)wire->rtt_us * 1000;
	bcast->timeout_ns = wire->service_timeout_ns;
	bcast->received_ns = admission->now_ns;
	bcast_enter(bcast);
	admission->bcast = bcast;
	return 0;
}

static int park(struct admission *admission)
{
	struct scoll_core *core = admission->core;
	struct bcast *bcast;
	int result;

	result = bcast_make(admission);
	if (result < 0)
		return result;
	bcast = admission->bcast;
	bcast->message = scoll_core_alloc(core, admission->size);
	if (bcast->message == NULL)
		return admission_fail(admission, -ENOMEM, SCOLL_ERROR_NOMEM);
	memcpy(bcast->message, admission->bytes, admission->size);
	bcast->message_size = admission->size;
	bcast->phase = PHASE_PARKED;
	admission->is_parked = true;
	return 0;
}

/* B-14: the list of members has to be read first. */
static int park_for_list(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct bcast *bcast;
	int result;

	if (wire->bulk_size > LIST_MAX)
		return admission_fail(admission, -E2BIG, SCOLL_ERROR_NOMEM);
	result = park(admission);
	if (result < 0)
		return result;
	bcast = admission->bcast;
	bcast->list = scoll_core_alloc(admission->core, wire->bulk_size);
	if (bcast->list == NULL)
		return admission_fail(admission, -ENOMEM, SCOLL_ERROR_NOMEM);
	bcast->list_size = wire->bulk_size;
	bcast->list_iovs[0] = (struct iovec){ bcast->list, bcast->list_size };
	bcast->iovs = bcast->list_iovs;
	bcast->iov_count = 1;
	result = bulk_create(bcast, wire->bulk_size, wire);
	if (result == 0)
		result = bulk_open(bcast, bcast->iovs, bcast->iov_count);
	if (result < 0)
		return admission_fail(admission, result, SCOLL_ERROR_NOMEM);
	bulk_read_start(bcast, admission->now_ns);
	bcast_due_set(bcast, deadline_after(admission->now_ns,
					    bcast_wait_ns(bcast, LIST_DEPTH)));
	return 0;
}

/* B-27: discovery may soon see what the root sees; not beyond R / 2. */
static int park_for_view(struct admission *admission)
{
	uint64_t rtt_ns = (uint64_t)admission->wire->rtt_us * 1000;
	uint64_t due_ns = admission->now_ns + rtt_ns / 2;
	int result;

	if (admission->bcast != NULL)
		due_ns = admission->bcast->parked_until_ns;
	if (due_ns <= admission->now_ns)
		return admission_fail(admission, -EAGAIN, SCOLL_ERROR_DIGEST);
	result = park(admission);
	if (result < 0)
		return result;
	admission->bcast->parked_until_ns = due_ns;
	bcast_due_set(admission->bcast, due_ns);
	return 0;
}

/* What a message says about a group that we have learned. */
static void group_note(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct scoll_group *group = admission->group;

	if (group->is_handle)
		return;
	if (!group->was_known) {
		group->is_known = true;
		group->was_known = true;
	}
	if (wire->root == wire->creator &&
	    wire->root_nonce == wire->creator_nonce)
		group->creator_deaths = replay_deaths(
			admission->core->replay, wire->root,
			discovery_counter(admission->core->options.discovery,
					  wire->root),
			false);
}

static int group_find(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct scoll_core *core = admission->core;
	struct service *service = service_find(core, wire->service);
	struct group_oob oob = service_oob(service);
	int result;

	if (service == NULL && wire->flags & WIRE_OOB)
		return admission_fail(admission, -ENOENT,
				      SCOLL_ERROR_NO_SERVICE);
	admission->service = service;
	if (admission->bcast != NULL && admission->bcast->bulk != NULL)
		result = group_learn(core->groups, wire, admission->bcast->list,
				     admission->bcast->list_size,
				     admission->now_ns, &admission->group);
	else
		result = group_resolve(core->groups, wire, &oob,
				       admission->now_ns, &admission->group);
	if (result == -ENODATA)
		return park_for_list(admission);
	if (result < 0)
		return admission_fail(admission, result, type_of(result));
	group_note(admission);
	return 0;
}

static int choice_find_here(struct admission *admission)
{
	int result = group_choice(admission->group, admission->wire,
				  &admission->choice);

	if (result >= 0)
		return 0;
	if (result == -EAGAIN)
		return park_for_view(admission);
	return admission_fail(admission, result,
			      result == -ENOMEM ? SCOLL_ERROR_NOMEM
						: SCOLL_ERROR_DIGEST);
}

static int parent_check(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct bcast *bcast;
	int result;

	result = bcast_make(admission);
	if (result < 0)
		return result;
	bcast = admission->bcast;
	result = bcast_tree_set(bcast, admission->group, admission->choice,
				wire->tree);
	if (result < 0)
		return admission_fail(admission, result,
				      result == -ENOMEM
					      ? SCOLL_ERROR_NOMEM
					      : SCOLL_ERROR_NOT_PARENT);
	if (bcast->tree->rank == 0 || bcast->tree->parent != wire->sender)
		return admission_fail(admission, -EPERM,
				      SCOLL_ERROR_NOT_PARENT);
	if (admission->service == NULL && !(wire->flags & WIRE_POPULATE))
		return admission_fail(admission, -ENOENT,
				      SCOLL_ERROR_NO_SERVICE);
	return 0;
}

/* What the request needs of the message. */
static int message_keep(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct scoll_core *core = admission->core;
	struct bcast *bcast = admission->bcast;
	size_t body_size =
		wire->params_size + wire->choice_size + wire->payload_size;

	if (wire->payload_size > 0 && !(wire->flags & WIRE_POPULATE)) {
		bcast->payload = scoll_core_alloc(core, wire->payload_size);
		if (bcast->payload == NULL)
			return -ENOMEM;
		memcpy(bcast->payload, wire->payload, wire->payload_size);
	}
	if (bcast->tree->child_count == 0)
		return 0;
	bcast->wire = scoll_core_alloc(core, sizeof(*bcast->wire));
	if (bcast->wire == NULL)
		return -ENOMEM;
	*bcast->wire = *wire;
	if (body_size == 0)
		return 0;
	bcast->body = scoll_core_alloc(core, body_size);
	if (bcast->body == NULL)
		return -ENOMEM;
	bcast->body_size = body_size;
	memcpy(bcast->body, admission->bytes + admission->size - body_size,
	       body_size);
	return 0;
}

/* Bulk data that is to be passed on: a list that we have, or have read. */
static int list_prepare(struct bcast *bcast, const struct wire_bcast *wire)
{
	bool has_addresses = wire->flags & WIRE_ADDRESSES;
	int result;

	if (bcast->tree->child_count == 0)
		return 0;
	if (bcast->bulk == NULL) {
		result = bcast_list_make(bcast, has_addresses ? &wire->addresses
							      : NULL);
		if (result < 0)
			return result;
	} else {
		bulk_close(bcast);
		scoll_core_release(bcast->core, take_ptr(bcast->bulk));
	}
	result = bulk_create(bcast, bcast->list_size, NULL);
	return result < 0 ? result
			  : bulk_open(bcast, bcast->iovs, bcast->iov_count);
}

static int request_make(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct bcast *bcast = admission->bcast;
	int result;

	result = message_keep(admission);
	if (result == 0 && wire->flags & WIRE_MEMBERS_BULK)
		result = list_prepare(bcast, wire);
	else if (result == 0 && wire->bulk_size > 0)
		result = bulk_create(bcast, wire->bulk_size, wire);
	if (result < 0)
		return admission_fail(admission, result, SCOLL_ERROR_NOMEM);
	if (!(wire->flags & WIRE_POPULATE)) {
		bcast->service = admission->service;
		bcast->service->use_count++;
	}
	bcast->public = (scoll_request_t){
		.srq_buf = bcast->payload,
		.srq_len = (int)wire->payload_size,
		.srq_bulk_len =
			wire->flags & WIRE_MEMBERS_BULK ? 0 : wire->bulk_size,
		.srq_service_timeout =
			(scoll_duration_t)wire->service_timeout_ns,
	};
	bcast->phase = PHASE_PRE;
	admission->core->stats.requests++;
	return 0;
}

/* Through all steps; refuses when one says no. */
static void admit(struct admission *admission)
{
	const struct wire_bcast *wire = admission->wire;
	struct scoll_core *core = admission->core;
	int result;

	result = group_find(admission);
	if (result == 0 && !admission->is_parked)
		result = choice_find_here(admission);
	if (result == 0 && !admission->is_parked)
		result = parent_check(admission);
	if (result == 0 && !admission->is_parked)
		result = request_make(admission);
	choice_unref(admission->choice);
	group_unref(admission->group, admission->now_ns);
	if (result < 0)
		bcast_refuse(core, admission->now_ns, wire->sender, wire->tag,
			     result, admission->type, NULL);
	if (admission->bcast == NULL)
		return;
	if (result < 0)
		admission->bcast->phase = PHASE_GONE;
	else
		bcast_early_apply(admission->bcast, admission->now_ns);
	bcast_touch(admission->bcast);
}

/* --- what waited --- */

static void unpark_fail(struct bcast *bcast, uint64_t now_ns, int status,
			enum scoll_error_type type)
{
	bcast->phase = PHASE_GONE;
	bcast_refuse(bcast->core, now_ns, bcast->parent, bcast->parent_tag,
		     status, type, NULL);
}

/* Once more from the start, with what is there now. */
static void readmit(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_core *core = bcast->core;
	uint8_t *message = take_ptr(bcast->message);
	struct wire_message opened;

	bcast->is_stirred = false;
	bcast_due_set(bcast, DEADLINE_NONE);
	if (wire_message_open(message, bcast->message_size,
			      core->options.authenticator,
			      &opened) != WIRE_OK) {
		unpark_fail(bcast, now_ns, -EBADMSG, SCOLL_ERROR_DIGEST);
	} else {
		struct admission admission = {
			.core = core,
			.now_ns = now_ns,
			.wire = &opened.bcast,
			.bytes = message,
			.size = bcast->message_size,
			.bcast = bcast,
		};

		admit(&admission);
	}
	scoll_core_release(core, message);
}

bool bcast_unpark(struct bcast *bcast, uint64_t now_ns)
{
	const struct bulk *bulk = bcast->bulk;

	if (bulk != NULL && (!bulk->is_settled || bulk->reads_active > 0))
		return false;
	if (bcast->is_aborted)
		unpark_fail(bcast, now_ns, bcast->abort_status,
			    SCOLL_ERROR_ABORTED);
	else if (bulk != NULL && bulk->status < 0)
		unpark_fail(bcast, now_ns, bulk->status, SCOLL_ERROR_BULK);
	else if (bulk == NULL && bcast->heap_index != 0 && !bcast->is_stirred)
		return false;
	else
		readmit(bcast, now_ns);
	return true;
}

void bcast_park_expire(struct bcast *bcast, uint64_t now_ns)
{
	if (bcast->bulk != NULL)
		bulk_fail(bcast, now_ns, -ETIMEDOUT);
}

/* --- from the transport --- */

/*
 * The sender may not know that we restarted. Its address is learned to answer
 * it.
 */
static void refuse_stale(struct scoll_core *core, uint64_t now_ns,
			 const struct wire_bcast *wire)
{
	uint32_t deaths =
		discovery_counter(core->options.discovery, wire->root);

	if (replay_may_be_new(core->replay, wire->root, wire->root_nonce,
			      deaths, wire->number))
		book_learn_sender(core, wire);
	bcast_refuse_start(core, now_ns, wire->sender, wire->tag);
}

/*
 * Below the window: seen, or overtaken by more than the window has. What is at
 * work here is not to be ended; else its reply has left, and nobody waits for
 * this one, or it has not been here, and its parent is to know that.
 */
static void refuse_old(struct scoll_core *core, uint64_t now_ns,
		       const struct wire_bcast *wire)
{
	if (bcast_find(core, wire->root, wire->root_nonce, wire->number) !=
	    NULL)
		return;
	bcast_refuse(core, now_ns, wire->sender, wire->tag, -EAGAIN,
		     SCOLL_ERROR_NOMEM, NULL);
}

/* Our reply may go back the way the message came. */
static void sender_note(struct scoll_core *core, scoll_nid_t sender)
{
	const struct transport_seam *net = &core->options.transport;

	if (net->ops->sent_by != NULL)
		net->ops->sent_by(net->ctx, sender);
}

static void receive_bcast(struct scoll_core *core, uint64_t now_ns,
			  const struct wire_bcast *wire, const uint8_t *bytes,
			  size_t size)
{
	struct admission admission = {
		.core = core,
		.now_ns = now_ns,
		.wire = wire,
		.bytes = bytes,
		.size = size,
	};
	int seen;

	sender_note(core, wire->sender);
	if (!start_is_ours(core, wire->start)) {
		refuse_stale(core, now_ns, wire);
		return;
	}
	seen = replay_enter(core->replay, wire->root, wire->root_nonce,
			    discovery_counter(core->options.discovery,
					      wire->root),
			    wire->number);
	if (seen == REPLAY_SEEN || seen == REPLAY_OLD || seen == REPLAY_PAST) {
		core->stats.messages_refused++;
		if (seen == REPLAY_OLD)
			refuse_old(core, now_ns, wire);
		return;
	}
	if (seen >= 0)
		replay_deaths(core->replay, wire->root,
			      discovery_counter(core->options.discovery,
						wire->root),
			      seen == REPLAY_NEW_NONCE);
	book_learn_sender(core, wire);
	if (seen == REPLAY_NEW_NONCE)
		group_table_node_started(core->groups, wire->root,
					 wire->root_nonce);
	if (seen < 0)
		bcast_refuse(core, now_ns, wire->sender, wire->tag, seen,
			     SCOLL_ERROR_NOMEM, NULL);
	else if (core->is_stopped)
		bcast_refuse(core, now_ns, wire->sender, wire->tag, -ESHUTDOWN,
			     SCOLL_ERROR_ABORTED, NULL);
	else if (discovery_is_stealthy(core->options.discovery))
		bcast_refuse(core, now_ns, wire->sender, wire->tag, -EAGAIN,
			     SCOLL_ERROR_STEALTH, NULL);
	else
		admit(&admission);
}

void bcast_receive(struct scoll_core *core, uint64_t now_ns, const void *bytes,
		   size_t size)
{
	struct wire_message message;
	scoll_nid_t sender;
	uint64_t tag;
	enum wire_result result = wire_message_open(
		bytes, size, core->options.authenticator, &message);

	if (result == WIRE_OK && message.kind == WIRE_BCAST) {
		receive_bcast(core, now_ns, &message.bcast, bytes, size);
		return;
	}
	if (result == WIRE_OK) {
		bcast_notice_receive(core, now_ns, &message);
		return;
	}
	core->stats.messages_refused++;
	/* With seals nobody could say whose it is: its child may be at work. */
	if (result == WIRE_VERSION && core->options.authenticator == NULL &&
	    wire_bcast_origin(bytes, size, &sender, &tag))
		bcast_refuse(core, now_ns, sender, tag, -EPROTONOSUPPORT,
			     SCOLL_ERROR_PROTO_VERSION, NULL);
}
