/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases of a request, the same on the root and on every other node: the
 * callbacks of the service in the order of the grammar
 *
 *	[pre_request] (incoming_request | incoming_reply)* post_reply [reply_out]
 *
 * one at a time, each exactly once. A request of the library itself (making
 * and ending groups) has no service, and goes through the same phases without
 * callbacks.
 */
#include "scoll/core/internal.h"

#include <errno.h>

int bcast_create(struct scoll_core *core, struct bcast **ret_bcast)
{
	struct bcast *bcast;
	int result;

	if (core->bcast_count >= BCASTS_MAX)
		return -EMFILE;
	result = bcast_index_reserve(core);
	if (result < 0)
		return result;
	bcast = scoll_core_zalloc(core, sizeof(*bcast));
	if (bcast == NULL)
		return -ENOMEM;
	bcast->core = core;
	bcast->due_ns = DEADLINE_NONE;
	bcast->failures = bcast->inline_failures;
	bcast->failure_capacity = FAILURES_INLINE;
	DL_APPEND(core->bcasts, bcast);
	core->bcast_count++;
	*ret_bcast = bcast;
	return 0;
}

static void outs_release(struct bcast *bcast)
{
	struct scoll_core *core = bcast->core;

	while (bcast->outs != NULL) {
		struct out *out = bcast->outs;

		bcast->outs = out->next;
		if (out->is_report)
			scoll_core_release(core, (void *)out->buf);
		scoll_core_release(core, out);
	}
}

void bcast_destroy(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_core *core = bcast->core;

	bcast_due_set(bcast, DEADLINE_NONE);
	bcast_leave(bcast);
	bulk_close(bcast);
	for (uint32_t i = 0;
	     bcast->children != NULL && i < bcast->tree->child_count; i++)
		child_release(&bcast->children[i]);
	outs_release(bcast);
	scoll_core_release(core, bcast->children);
	scoll_core_release(core, bcast->wire);
	scoll_core_release(core, bcast->message);
	scoll_core_release(core, bcast->head);
	scoll_core_release(core, bcast->body);
	scoll_core_release(core, bcast->payload);
	scoll_core_release(core, bcast->bulk);
	scoll_core_release(core, bcast->list);
	if (bcast->failures != bcast->inline_failures)
		scoll_core_release(core, bcast->failures);
	if (bcast->has_list)
		membership_list_put(bcast->tree->choice->membership);
	addresses_unref(bcast->addresses);
	group_tree_unref(bcast->tree);
	group_unref(bcast->group, now_ns);
	if (bcast->service != NULL)
		bcast->service->use_count--;
	DL_DELETE(core->bcasts, bcast);
	core->bcast_count--;
	scoll_core_release(core, bcast);
}

int bcast_tree_set(struct bcast *bcast, struct scoll_group *group,
		   struct choice *choice, scoll_tree_type_t tree)
{
	struct scoll_core *core = bcast->core;
	_auto_(group_tree_unrefp) struct group_tree *made = NULL;
	struct child *children = NULL;
	int result;

	result = group_tree_get(group, choice, bcast->root, tree, bcast->order,
				&made);
	if (result < 0)
		return result;
	if (made->child_count > 0) {
		children = scoll_core_zalloc(core, made->child_count *
							   sizeof(*children));
		if (children == NULL)
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < made->child_count; i++) {
		children[i].bcast = bcast;
		children[i].node = &made->children[i];
	}
	bcast->children = children;
	bcast->children_left = made->child_count;
	bcast->unsent_count = made->child_count;
	bcast->group = group_ref(group);
	bcast->tree = take_ptr(made);
	return 0;
}

void bcast_error(struct bcast *bcast, int status, enum scoll_error_type type)
{
	if (bcast->error != 0)
		return;
	bcast->error = status;
	bcast->error_type = (uint8_t)type;
}

/* --- what goes on in a phase; true: look again --- */

/* True: it has returned already, for there is nobody to call. */
static bool call(struct bcast *bcast, uint64_t now_ns,
		 enum core_callback_kind kind)
{
	if (bcast->service == NULL && kind != CORE_CALLBACK_GROUP) {
		bcast_callback_returned(bcast, now_ns, kind, 0);
		return true;
	}
	bcast_callback_queue(bcast, kind);
	return false;
}

static bool bulk_is_settled(const struct bcast *bcast)
{
	return bcast->bulk == NULL || bcast->bulk->is_settled;
}

/* Deliver what the service has no callback for. */
static void deliver_silently(struct bcast *bcast)
{
	scoll_reply_t reply;

	while (bcast_delivery_take(bcast, &reply))
		bcast_delivery_done(bcast, &reply);
}

static bool run(struct bcast *bcast, uint64_t now_ns)
{
	bool is_silent = bcast->service == NULL ||
			 bcast->service->ops.incoming_reply == NULL;

	if (!bcast->has_run && bulk_is_settled(bcast))
		return call(bcast, now_ns, CORE_CALLBACK_INCOMING_REQUEST);
	if (bcast->ready != NULL && !is_silent)
		return call(bcast, now_ns, CORE_CALLBACK_INCOMING_REPLY);
	deliver_silently(bcast);
	if (!bcast->has_run || bcast->children_left > 0 ||
	    bulk_is_active(bcast))
		return false;
	bcast_due_set(bcast, DEADLINE_NONE);
	bulk_close(bcast);
	bcast->phase = PHASE_POST;
	/* The callback may use the group at once. */
	if (bcast->created != NULL)
		bcast_group_learn(bcast);
	return call(bcast, now_ns,
		    bcast->created != NULL ? CORE_CALLBACK_GROUP
					   : CORE_CALLBACK_POST_REPLY);
}

static bool reply(struct bcast *bcast, uint64_t now_ns)
{
	if (!bcast->is_replied) {
		if (bcast->is_aborted && !bcast->has_reply)
			bcast_fail_self(bcast, bcast->abort_status,
					SCOLL_ERROR_ABORTED);
		if (!bcast->has_reply && bcast->error == 0)
			return false;
		bcast_reply_start(bcast, now_ns);
	}
	if (bcast->out_count > 0)
		return false;
	bcast->phase = PHASE_OUT;
	return true;
}

void bcast_group_end(struct bcast *bcast, uint64_t now_ns)
{
	if (bcast->flags & WIRE_LAST && !bcast->group->is_handle)
		group_end(bcast->group, now_ns);
}

static bool reply_out(struct bcast *bcast, uint64_t now_ns)
{
	bcast_group_end(bcast, now_ns);
	if (bcast->service == NULL || bcast->service->ops.reply_out == NULL) {
		bcast->phase = PHASE_GONE;
		return true;
	}
	return call(bcast, now_ns, CORE_CALLBACK_REPLY_OUT);
}

void bcast_settle(struct bcast *bcast, uint64_t now_ns)
{
	bool goes_on = true;

	while (goes_on && !bcast->is_queued && !bcast->is_called) {
		switch ((enum scoll_phase)bcast->phase) {
		case PHASE_NEW:
		case PHASE_HELD:
		case PHASE_POST:
			return;
		case PHASE_PARKED:
			if (!bcast_unpark(bcast, now_ns))
				return;
			break;
		case PHASE_PRE:
			goes_on =
				call(bcast, now_ns, CORE_CALLBACK_PRE_REQUEST);
			break;
		case PHASE_RUN:
			goes_on = run(bcast, now_ns);
			break;
		case PHASE_REPLY:
			goes_on = reply(bcast, now_ns);
			break;
		case PHASE_OUT:
			goes_on = reply_out(bcast, now_ns);
			break;
		case PHASE_GONE:
			if (bcast->busy_count == 0 && !bcast->is_reporting &&
			    !bcast->is_dirty)
				bcast_destroy(bcast, now_ns);
			return;
		}
	}
}
