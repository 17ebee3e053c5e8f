/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Our reply to the parent: parts of the service as soon as they are given
 * (P-18), the last one when everything below is accounted for and post_reply
 * has returned (B-10), or the library's error in its place. With the last part
 * goes the account of who failed; what does not fit follows in reports when
 * the parent says that it has buffers for them. What cannot be sent is given up
 * (E-05).
 */
#include "scoll/core/internal.h"

static int part_encode(struct bcast *bcast, struct out *out,
		       struct wire_reply *reply)
{
	const struct core_options *options = &bcast->core->options;

	reply->tag = bcast->parent_tag;
	reply->sender = options->nid;
	reply->part = out->part;
	out->to = bcast->parent;
	out->tag = bcast->parent_tag + out->part;
	return wire_reply_encode(reply, out->buf, out->len, bcast->parent,
				 options->authenticator, out->head);
}

static void part_start(struct bcast *bcast, struct out *out, uint64_t now_ns)
{
	bcast->out_count++;
	action_start(bcast->core, &out->action, bcast, ACTION_REPLY, now_ns);
}

void bcast_reply_start(struct bcast *bcast, uint64_t now_ns)
{
	const struct scoll_authenticator *auth =
		bcast->core->options.authenticator;
	struct out *out = &bcast->last;
	struct wire_reply reply = {
		.flags = WIRE_REPLY_LAST,
		.status = bcast->error < 0 ? status_clamp(bcast->error) : 0,
		.type = bcast->error < 0 ? bcast->error_type : SCOLL_ERROR_NONE,
		.failure_total = bcast->failure_count,
	};

	reply.failure_count = (uint16_t)wire_reply_capacity(auth);
	if (bcast->failure_count <= reply.failure_count) {
		reply.failure_count = (uint16_t)bcast->failure_count;
	} else {
		reply.flags |= WIRE_REPLY_MORE;
		bcast->is_reporting = true;
	}
	memcpy(reply.failures, bcast->failures,
	       reply.failure_count * sizeof(reply.failures[0]));
	bcast->reported_count = reply.failure_count;
	out->part = bcast->part_count;
	if (bcast->error == 0) {
		out->buf = bcast->reply_buf;
		out->len = bcast->reply_len;
	}
	bcast->is_replied = true;
	if (part_encode(bcast, out, &reply) < 0) {
		bcast->is_reporting = false;
		return;
	}
	part_start(bcast, out, now_ns);
	if (bcast->is_reporting)
		bcast_due_set(bcast,
			      deadline_after(now_ns, bcast_wait_ns(bcast, 1)));
}

void bcast_out_ended(struct out *out, uint64_t now_ns, int result)
{
	struct bcast *bcast = out->action.bcast;

	if (out->is_report) {
		if (--bcast->report_count == 0)
			bcast->is_reporting = false;
		return;
	}
	bcast->out_count--;
	if (result == 0)
		return;
	if (bcast->is_replied) {
		bcast->is_reporting = false;
	} else {
		/* The parent waits for this part: do not let it. */
		bcast_fail_self(bcast, result, SCOLL_ERROR_NET_SEND);
	}
}

/* --- reports --- */

static int report_start(struct bcast *bcast, uint64_t now_ns, uint16_t number,
			uint16_t count)
{
	struct scoll_core *core = bcast->core;
	struct wire_report report = {
		.tag = bcast->parent_tag,
		.sender = core->options.nid,
		.number = number,
		.failure_count = count,
		.is_last =
			bcast->reported_count + count == bcast->failure_count,
	};
	struct out *out = scoll_core_alloc(core, sizeof(*out));
	uint8_t *bytes = scoll_core_alloc(core, WIRE_REPORT_MAX);
	int size = -ENOMEM;

	if (out != NULL && bytes != NULL)
		size = wire_report_encode(
			&report, bcast->failures + bcast->reported_count,
			bcast->parent, core->options.authenticator, bytes);
	if (size < 0) {
		scoll_core_release(core, out);
		scoll_core_release(core, bytes);
		return size;
	}
	memset(out, 0, sizeof(*out));
	out->to = bcast->parent;
	out->tag = bcast->parent_tag + WIRE_TAG_REPORT + number;
	out->buf = bytes;
	out->len = (size_t)size;
	out->is_report = true;
	out->next = bcast->outs;
	bcast->outs = out;
	bcast->reported_count += count;
	bcast->report_count++;
	action_start(core, &out->action, bcast, ACTION_REPLY, now_ns);
	return 0;
}

void bcast_reports_start(struct bcast *bcast, uint64_t now_ns, uint64_t count)
{
	int result = 0;

	if (!bcast->is_reporting || bcast->report_count > 0)
		return;
	for (uint16_t i = 0; i < count && result == 0 &&
			     bcast->reported_count < bcast->failure_count;
	     i++) {
		uint32_t left = bcast->failure_count - bcast->reported_count;

		if (left > WIRE_REPORT_FAILURES_MAX)
			left = WIRE_REPORT_FAILURES_MAX;
		result = report_start(bcast, now_ns, i, (uint16_t)left);
	}
	bcast_due_set(bcast, DEADLINE_NONE);
	bcast->is_reporting = bcast->report_count > 0;
	bcast_touch(bcast);
}

/* --- calls of the user --- */

static int reply_check(struct bcast *bcast, const void *buf, size_t len)
{
	if (bcast->phase < PHASE_RUN || bcast->phase > PHASE_REPLY ||
	    (buf == NULL && len > 0))
		return -EINVAL;
	if (bcast->has_reply || bcast->error != 0)
		return -EALREADY;
	return len > bcast->reply_size_max ? -EMSGSIZE : 0;
}

int scoll_core_reply(scoll_request_t *request, uint64_t now_ns, const void *buf,
		     size_t len)
{
	struct bcast *bcast = bcast_of(request);
	struct scoll_core *core = bcast->core;
	int result;

	if (bcast->is_root)
		return 0;
	result = reply_check(bcast, buf, len);
	if (result == -EMSGSIZE) {
		bcast_fail_self(bcast, result, SCOLL_ERROR_REPLY_SIZE);
	} else if (result == 0) {
		bcast->has_reply = true;
		bcast->reply_buf = buf;
		bcast->reply_len = len;
	} else {
		return result;
	}
	bcast_touch(bcast);
	scoll_core_run(core, now_ns);
	return result;
}

int scoll_core_reply_part(scoll_request_t *request, uint64_t now_ns,
			  const void *buf, size_t len)
{
	struct bcast *bcast = bcast_of(request);
	struct scoll_core *core = bcast->core;
	struct wire_reply reply = { 0 };
	struct out *out;
	int result;

	if (bcast->is_root)
		return 0;
	result = reply_check(bcast, buf, len);
	if (result < 0)
		return result;
	if (bcast->part_count + 1 >= bcast->reply_part_max)
		return -E2BIG;
	out = scoll_core_zalloc(core, sizeof(*out));
	if (out == NULL)
		return -ENOMEM;
	out->buf = buf;
	out->len = len;
	out->part = bcast->part_count;
	out->next = bcast->outs;
	bcast->outs = out;
	result = part_encode(bcast, out, &reply);
	if (result < 0)
		return result;
	bcast->part_count++;
	part_start(bcast, out, now_ns);
	scoll_core_run(core, now_ns);
	return 0;
}
