/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Callbacks wait here until the owner takes them: at most one of a request, in
 * the order in which there was something to say. What a callback has returned
 * decides about the request.
 */
#include "scoll/core/internal.h"

#include <assert.h>
#include <errno.h>

void bcast_callback_queue(struct bcast *bcast, enum core_callback_kind kind)
{
	struct scoll_core *core = bcast->core;

	assert(!bcast->is_queued && !bcast->is_called);
	bcast->callback = (uint8_t)kind;
	bcast->is_queued = true;
	DL_APPEND2(core->queue, bcast, queue_prev, queue_next);
}

bool scoll_core_callback_take(struct scoll_core *core,
			      struct core_callback *ret_callback)
{
	struct bcast *bcast = core->queue;
	struct core_callback callback = { 0 };

	assert(core->called == NULL);
	if (bcast == NULL)
		return false;
	DL_DELETE2(core->queue, bcast, queue_prev, queue_next);
	bcast->is_queued = false;
	bcast->is_called = true;
	core->called = bcast;
	callback.kind = (enum core_callback_kind)bcast->callback;
	callback.request = &bcast->public;
	if (bcast->service != NULL)
		callback.ops = &bcast->service->ops;
	switch (callback.kind) {
	case CORE_CALLBACK_INCOMING_REQUEST:
		ranking_target(&bcast->tree->ranking, bcast->tree->rank,
			       &core->target);
		callback.target = &core->target;
		break;
	case CORE_CALLBACK_INCOMING_REPLY:
		bcast_delivery_take(bcast, &core->reply);
		callback.reply = &core->reply;
		break;
	case CORE_CALLBACK_GROUP:
		callback.created = bcast->created;
		callback.private = bcast->created_private;
		callback.status = bcast_populate_status(bcast);
		if (callback.status == 0)
			callback.group = bcast->group;
		break;
	case CORE_CALLBACK_PRE_REQUEST:
	case CORE_CALLBACK_POST_REPLY:
	case CORE_CALLBACK_REPLY_OUT:
		break;
	}
	*ret_callback = callback;
	return true;
}

void scoll_core_callback_done(struct scoll_core *core, uint64_t now_ns,
			      const struct core_callback *callback, int result)
{
	struct bcast *bcast = core->called;

	assert(bcast != NULL && callback->request == &bcast->public);
	core->called = NULL;
	bcast->is_called = false;
	bcast_callback_returned(bcast, now_ns, callback->kind, result);
	bcast_touch(bcast);
	scoll_core_run(core, now_ns);
}

int core_callback_call(const struct core_callback *callback)
{
	switch (callback->kind) {
	case CORE_CALLBACK_PRE_REQUEST:
		return callback->ops->pre_request(callback->request);
	case CORE_CALLBACK_INCOMING_REQUEST:
		return callback->ops->incoming_request(callback->request,
						       callback->target);
	case CORE_CALLBACK_INCOMING_REPLY:
		callback->ops->incoming_reply(callback->reply);
		return 0;
	case CORE_CALLBACK_POST_REPLY:
		callback->ops->post_reply(callback->request);
		return 0;
	case CORE_CALLBACK_REPLY_OUT:
		callback->ops->reply_out(callback->request);
		return 0;
	case CORE_CALLBACK_GROUP:
		callback->created(callback->status, callback->group,
				  callback->private);
		return 0;
	}
	return -EINVAL;
}

/* --- what they have returned --- */

/* What a service has to have done in pre_request. */
static int pre_check(struct bcast *bcast)
{
	const scoll_request_t *request = &bcast->public;
	size_t size = 0;

	for (uint32_t i = 0; i < bcast->tree->child_count; i++) {
		if (bcast->children[i].posts == NULL)
			return -EINVAL;
	}
	if (bcast->bulk == NULL || bcast->service == NULL)
		return 0;
	if (request->srq_bulk_iovs == NULL || request->srq_bulk_niov < 1 ||
	    request->srq_bulk_niov > SCOLL_BULK_IOVS_MAX)
		return -EINVAL;
	for (int i = 0; i < request->srq_bulk_niov; i++)
		size += request->srq_bulk_iovs[i].iov_len;
	return size < bcast->bulk->size ? -EMSGSIZE : 0;
}

/* The service has done its part: what fails now is K-06. */
static void bulk_begin(struct bcast *bcast, uint64_t now_ns)
{
	int result = bulk_open(bcast, bcast->public.srq_bulk_iovs,
			       bcast->public.srq_bulk_niov);

	if (result < 0)
		bulk_fail(bcast, now_ns, result);
}

/* E-02: it is as if it had never been here. */
static void pre_refused(struct bcast *bcast, uint64_t now_ns, int status)
{
	struct wire_failure failure = {
		.rank = bcast->tree->rank,
		.status = (int16_t)status_clamp(status),
		.type = SCOLL_ERROR_PRE_REQUEST,
		.is_subtree = true,
	};

	bcast->phase = PHASE_GONE;
	bcast_refuse(bcast->core, now_ns, bcast->parent, bcast->parent_tag,
		     status, SCOLL_ERROR_PRE_REQUEST, &failure);
}

/* The service has accepted what we refuse: it has something for it. */
static void withdrawn_queue(struct bcast *bcast)
{
	if (bcast->service == NULL || bcast->service->ops.reply_out == NULL)
		return;
	bcast->phase = PHASE_OUT;
	bcast_callback_queue(bcast, CORE_CALLBACK_REPLY_OUT);
}

static void pre_returned(struct bcast *bcast, uint64_t now_ns, int result)
{
	scoll_duration_t timeout = bcast->public.srq_service_timeout;

	if (bcast->service == NULL)
		result = bcast_post_nothing(bcast);
	if (result < 0) {
		pre_refused(bcast, now_ns, result);
		return;
	}
	result = pre_check(bcast);
	if (result < 0) {
		pre_refused(bcast, now_ns, result);
		withdrawn_queue(bcast);
		return;
	}
	if (timeout >= 0 && (uint64_t)timeout < bcast->timeout_ns)
		bcast->timeout_ns = (uint64_t)timeout;
	if (bcast->bulk != NULL && bcast->service != NULL)
		bulk_begin(bcast, now_ns);
	bcast->phase = PHASE_RUN;
	bcast_forward(bcast, now_ns);
}

static void request_returned(struct bcast *bcast, int result)
{
	bcast->has_run = true;
	if (result < 0)
		bcast_fail_self(bcast, result, SCOLL_ERROR_REQUEST);
}

/* The request has ended. */
static void post_returned(struct bcast *bcast, uint64_t now_ns)
{
	struct scoll_group *group = bcast->group;

	if (!bcast->is_root) {
		bcast->has_reply |= bcast->service == NULL;
		bcast->phase = PHASE_REPLY;
		return;
	}
	bcast->phase = PHASE_GONE;
	bcast_group_learn(bcast);
	if (bcast->service == NULL)
		bcast_populate_ended(bcast, now_ns);
	bcast_group_end(bcast, now_ns);
	group->active_count--;
	bcast_release_held(bcast->core, group, now_ns);
}

void bcast_callback_returned(struct bcast *bcast, uint64_t now_ns,
			     enum core_callback_kind kind, int result)
{
	switch (kind) {
	case CORE_CALLBACK_PRE_REQUEST:
		pre_returned(bcast, now_ns, result);
		break;
	case CORE_CALLBACK_INCOMING_REQUEST:
		request_returned(bcast, result);
		break;
	case CORE_CALLBACK_INCOMING_REPLY:
		bcast_delivery_done(bcast, &bcast->core->reply);
		break;
	case CORE_CALLBACK_POST_REPLY:
	case CORE_CALLBACK_GROUP:
		post_returned(bcast, now_ns);
		break;
	case CORE_CALLBACK_REPLY_OUT:
		bcast->phase = PHASE_GONE;
		break;
	}
}
