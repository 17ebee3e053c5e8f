/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * To the children, in the order in which the tree has them: deepest subtree
 * first. For each of them its buffers are posted, then the broadcast is sent:
 * one head, sealed for the child, and the body that is the same everywhere.
 * Children do not wait for each other but where the transport is full.
 */
#include "scoll/core/internal.h"

/* Bytes here at the moment that a child is notified. */
static uint64_t bulk_there(const struct bcast *bcast)
{
	return bcast->bulk != NULL ? bcast->bulk->there : 0;
}

/* The head for all children, from bcast->wire. -EMSGSIZE, -ENOMEM. */
static int bcast_head_make(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;
	const struct scoll_authenticator *auth = core->options.authenticator;
	struct wire_bcast *wire = bcast->wire;
	const struct bulk *bulk = bcast->bulk;
	uint8_t head[WIRE_BCAST_HEAD_MAX];
	int size;

	wire->sender = core->options.nid;
	if (wire->flags & WIRE_SENDER)
		wire->address_size = book_own(core, wire->address);
	wire->service_timeout_ns = bcast->timeout_ns;
	wire->piece_count = 0;
	if (bulk != NULL) {
		wire->piece_count = (uint8_t)bulk->piece_count;
		memcpy(wire->pieces, bulk->pieces,
		       (size_t)bulk->piece_count * sizeof(bulk->pieces[0]));
		wire->bulk_there = bulk->there;
	}
	size = wire_bcast_encode(wire, auth, head);
	if (size < 0)
		return size;
	bcast->head = scoll_core_alloc(core, (size_t)size);
	if (bcast->head == NULL)
		return -ENOMEM;
	memcpy(bcast->head, head, (size_t)size);
	bcast->head_size = (size_t)size;
	scoll_core_release(core, take_ptr(bcast->wire));
	return 0;
}

static uint64_t tag_next(struct scoll_core *core)
{
	core->next_tag += WIRE_TAG_PART_MASK + 1;
	core->next_tag &= TRANSPORT_TAG_MAX;
	return core->next_tag;
}

/* For the start of the child that is known. */
static int head_seal(struct child *child)
{
	struct bcast *bcast = child->bcast;
	struct scoll_core *core = bcast->core;
	struct wire_child wire = {
		.nid = child->node->nid,
		.part_size = SCOLL_REPLY_PART_MAX,
		.part_count = child->post_count,
		.start = start_of(core, child->node->nid),
		.bulk_there = bulk_there(bcast),
		.tag = child->tag,
	};

	child->start = wire.start;
	child->head = scoll_core_alloc(core, bcast->head_size);
	if (child->head == NULL)
		return -ENOMEM;
	if (child->part_size < wire.part_size)
		wire.part_size = (uint32_t)child->part_size;
	child->bulk_announced = wire.bulk_there;
	return wire_bcast_seal(bcast->head, bcast->head_size,
			       core->options.authenticator, &wire, child->head);
}

static void child_begin(struct child *child, uint64_t now_ns)
{
	struct bcast *bcast = child->bcast;
	struct scoll_core *core = bcast->core;
	const struct discovery *discovery = core->options.discovery;
	scoll_nid_t nid = child->node->nid;
	struct post *post;
	int result;

	child->counter = discovery_counter(discovery, nid);
	if (!discovery_is_alive(discovery, nid)) {
		child_fail(child, now_ns, -EHOSTDOWN, SCOLL_ERROR_PEER_DEAD);
		return;
	}
	child->tag = tag_next(core);
	result = head_seal(child);
	if (result < 0) {
		child_fail(child, now_ns, result, SCOLL_ERROR_NOMEM);
		return;
	}
	book_look_up(core, bcast->group, nid);
	child->state = CHILD_POSTING;
	child->unposted_count = child->post_count;
	for (post = child->posts; post != NULL; post = post->next) {
		child->active_count++;
		action_start(core, &post->action, bcast, ACTION_POST, now_ns);
	}
}

void bcast_forward(struct bcast *bcast, uint64_t now_ns)
{
	uint32_t count = bcast->tree->child_count;
	int result = 0;

	bcast->started_ns = now_ns;
	if (bcast->is_aborted && bcast->bulk != NULL)
		bulk_fail(bcast, now_ns, bcast->abort_status);
	else if (bcast->bulk != NULL && bcast->bulk->status < 0)
		bulk_spread_failure(bcast, now_ns);
	if (count > 0 && !bcast->is_aborted)
		result = bcast_head_make(bcast);
	for (uint32_t i = 0; i < count; i++) {
		struct child *child = &bcast->children[i];

		if (child->state != CHILD_NEW)
			continue;
		if (bcast->is_aborted)
			child_fail(child, now_ns, bcast->abort_status,
				   SCOLL_ERROR_ABORTED);
		else if (result < 0)
			child_fail(child, now_ns, result, SCOLL_ERROR_NOMEM);
		else
			child_begin(child, now_ns);
	}
	bulk_read_start(bcast, now_ns);
	bcast_due_update(bcast);
	bcast_touch(bcast);
}

void child_forward_begun(struct child *child, uint64_t now_ns)
{
	struct bcast *bcast = child->bcast;

	if (child->state != CHILD_SENDING)
		return;
	child->state = CHILD_SENT;
	if (--bcast->unsent_count == 0)
		bcast->sent_ns = now_ns;
	bulk_announce(child, now_ns);
}

void child_forward_ended(struct child *child, uint64_t now_ns, int result)
{
	scoll_core_release(child->bcast->core, take_ptr(child->head));
	if (result < 0)
		child_fail(child, now_ns, result, SCOLL_ERROR_NET_SEND);
	else if (child->is_stale)
		child_send_again(child, now_ns);
}

void child_send_again(struct child *child, uint64_t now_ns)
{
	struct bcast *bcast = child->bcast;
	struct post *post = child->posts;
	int result;

	if (child->state != CHILD_SENT)
		return;
	/* The earlier start may have run it, and somebody have replayed it. */
	if (child->start != 0 && !(bcast->flags & WIRE_POPULATE)) {
		child_fail(child, now_ns, -ECONNRESET, SCOLL_ERROR_PEER_REBOOT);
		return;
	}
	child->is_stale = !action_is_idle(&child->forward);
	if (child->is_stale)
		return;
	result = head_seal(child);
	if (result < 0) {
		child_fail(child, now_ns, result, SCOLL_ERROR_NOMEM);
		return;
	}
	child->state = CHILD_POSTING;
	bcast->unsent_count++;
	child->unposted_count = 1;
	child->active_count++;
	post->was_posted = false;
	action_start(bcast->core, &post->action, bcast, ACTION_POST, now_ns);
}
