/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What arrives from a child: its reply in parts, an error of the library, the
 * list of failures below it, or nothing. Parts are delivered in order, whatever
 * order they arrive in. A message that the child has not sealed is counted, and
 * its buffer posted again: the request does not notice.
 *
 * An outcome is delivered when no buffer of the child is posted any more, so
 * that all of them are the service's again in that callback (M-07).
 */
#include "scoll/core/internal.h"

/* The last of the child's. NULL: out of memory. */
static struct post *post_add(struct child *child, unsigned int part,
			     size_t behind)
{
	struct post *post =
		scoll_core_alloc(child->bcast->core, sizeof(*post) + behind);

	if (post == NULL)
		return NULL;
	memset(post, 0, offsetof(struct post, head));
	post->child = child;
	post->part = (uint16_t)part;
	if (child->posts == NULL)
		child->posts = post;
	else
		child->posts_tail->next = post;
	child->posts_tail = post;
	return post;
}

int child_post_add(struct child *child, void *buf, size_t len, void *private)
{
	struct post *post;

	if (child->post_count >= SCOLL_REPLY_PARTS_MAX)
		return -E2BIG;
	post = post_add(child, child->post_count, 0);
	if (post == NULL)
		return -ENOMEM;
	post->buf = buf;
	post->len = len;
	post->private = private;
	if (child->post_count++ == 0) {
		child->next_post = post;
		child->part_size = len;
	}
	if (len < child->part_size)
		child->part_size = len;
	return 0;
}

void child_release(struct child *child)
{
	struct scoll_core *core = child->bcast->core;

	while (child->posts != NULL) {
		struct post *post = child->posts;

		child->posts = post->next;
		scoll_core_release(core, post);
	}
	child->next_post = NULL;
	if (action_is_idle(&child->forward)) {
		scoll_core_release(core, child->head);
		child->head = NULL;
	}
}

/* Nothing more is wanted of it. */
static void withdraw(struct child *child)
{
	struct scoll_core *core = child->bcast->core;

	if (child->forward.state != ACTION_UNDER_WAY)
		action_cancel(core, &child->forward);
	for (struct post *post = child->posts; post != NULL;
	     post = post->next) {
		if (!action_is_idle(&post->action) &&
		    action_cancel(core, &post->action))
			child->active_count--;
	}
}

static void end(struct child *child, uint64_t now_ns)
{
	struct bcast *bcast = child->bcast;

	if (child->state < CHILD_SENT)
		bcast->unsent_count--;
	child->state = CHILD_ENDED;
	bcast->replied_ns = now_ns;
	withdraw(child);
	child_check(child);
}

static bool has_all_parts(const struct child *child)
{
	return child->has_last && child->status == 0 &&
	       child->arrived_count == child->last_part + 1;
}

void child_fail(struct child *child, uint64_t now_ns, int status,
		enum scoll_error_type type)
{
	if (child->state >= CHILD_ENDED)
		return;
	bcast_failure_child(child->bcast, child, status, type);
	/* Its answer is good; only the account is not complete. */
	if (!has_all_parts(child) && child->status == 0) {
		child->status = status_clamp(status);
		child->type = (uint8_t)type;
	}
	end(child, now_ns);
}

static void end_if_complete(struct child *child, uint64_t now_ns)
{
	if (child->has_last && child->failure_count == child->failure_total &&
	    (child->status < 0 || has_all_parts(child)))
		end(child, now_ns);
	else
		child_check(child);
}

/* --- to the service --- */

static bool is_middle_part(const struct child *child, const struct post *post)
{
	return post != NULL && post->is_arrived &&
	       !(child->has_last && post->part == child->last_part);
}

void child_check(struct child *child)
{
	struct bcast *bcast = child->bcast;

	if (child->is_ready || child->state == CHILD_DONE)
		return;
	if (!is_middle_part(child, child->next_post) &&
	    (child->state != CHILD_ENDED || child->active_count > 0))
		return;
	child->is_ready = true;
	child->next_ready = NULL;
	if (bcast->ready == NULL)
		bcast->ready = child;
	else
		bcast->ready_tail->next_ready = child;
	bcast->ready_tail = child;
	bcast_touch(bcast);
}

bool bcast_delivery_take(struct bcast *bcast, scoll_reply_t *ret_reply)
{
	struct child *child = bcast->ready;
	struct post *post;
	bool is_part;

	if (child == NULL)
		return false;
	bcast->ready = child->next_ready;
	child->is_ready = false;
	post = child->next_post;
	is_part = is_middle_part(child, post);
	*ret_reply = (scoll_reply_t){
		.srp_src = child->node->nid,
		.srp_child = (int)(child - bcast->children),
		.srp_request = &bcast->public,
		.srp_is_last = !is_part,
	};
	if (post != NULL) {
		ret_reply->srp_buf = post->buf;
		ret_reply->srp_private = post->private;
		ret_reply->srp_part = post->part;
	}
	if (is_part || child->status == 0) {
		ret_reply->srp_len = post->size;
	} else {
		ret_reply->srp_status = child->status;
		ret_reply->srp_error_type = (enum scoll_error_type)child->type;
		ret_reply->srp_nodes_lost = (int)child->node->size;
		ret_reply->srp_entities_lost = (int)child->node->entities;
	}
	if (is_part)
		child->next_post = post->next;
	else
		child->state = CHILD_DONE;
	return true;
}

void bcast_delivery_done(struct bcast *bcast, const scoll_reply_t *reply)
{
	struct child *child = &bcast->children[reply->srp_child];

	if (!reply->srp_is_last) {
		child_check(child);
		return;
	}
	bcast->children_left--;
	child_release(child);
}

/* --- a reply has come --- */

static bool part_is_good(const struct child *child,
			 const struct wire_reply *reply)
{
	if (child->has_last &&
	    (reply->flags & WIRE_REPLY_LAST || reply->part > child->last_part))
		return false;
	for (unsigned int i = 0; i < reply->failure_count; i++) {
		if (!child_covers(child, reply->failures[i].rank))
			return false;
	}
	return reply->failure_total <= child->node->size &&
	       (reply->failure_total == reply->failure_count) ==
		       !(reply->flags & WIRE_REPLY_MORE);
}

static uint16_t reports_expected(const struct child *child)
{
	uint32_t left = child->failure_total - child->failure_count;

	return (uint16_t)((left + WIRE_REPORT_FAILURES_MAX - 1) /
			  WIRE_REPORT_FAILURES_MAX);
}

static void reports_post(struct child *child, uint64_t now_ns)
{
	struct bcast *bcast = child->bcast;
	struct post *post, *last_part = child->posts_tail;

	child->unposted_count = reports_expected(child);
	for (unsigned int i = 0; i < child->unposted_count; i++) {
		post = post_add(child, WIRE_TAG_REPORT + i, WIRE_REPORT_MAX);
		if (post == NULL) {
			child_fail(child, now_ns, -ENOMEM, SCOLL_ERROR_NOMEM);
			return;
		}
		post->buf = post + 1;
		post->len = WIRE_REPORT_MAX;
	}
	for (post = last_part->next; post != NULL; post = post->next) {
		child->active_count++;
		action_start(bcast->core, &post->action, bcast, ACTION_POST,
			     now_ns);
	}
}

/* The last part: the outcome of the child. */
static void accept_last(struct child *child, uint64_t now_ns,
			const struct wire_reply *reply)
{
	struct bcast *bcast = child->bcast;

	child->has_last = true;
	child->last_part = reply->part;
	child->failure_total = reply->failure_total;
	child->failure_count = reply->failure_count;
	if (reply->status < 0) {
		child->status = reply->status;
		child->type = reply->type;
		if (reply->failure_total == 0)
			bcast_failure_child(bcast, child, reply->status,
					    (enum scoll_error_type)reply->type);
	}
	for (unsigned int i = 0; i < reply->failure_count; i++)
		bcast_failure_add(bcast, &reply->failures[i]);
	if (child->failure_count < child->failure_total)
		reports_post(child, now_ns);
}

/* What it refused was for another start. -EBADMSG: it says nothing new. */
static int start_update(const struct child *child, uint64_t start)
{
	struct scoll_core *core = child->bcast->core;

	if (start == child->start || core->options.authenticator == NULL)
		return -EBADMSG;
	return start_learn(core, child->node->nid, start) == 0 ? -ESTALE
							       : -ENOMEM;
}

/*
 * -EBADMSG: it is not what the child has sent; -ESTALE: the child has to be
 * sent it again.
 */
static int accept(struct post *post, uint64_t now_ns, size_t size)
{
	struct child *child = post->child;
	struct scoll_core *core = child->bcast->core;
	struct wire_reply reply;

	if (child->state != CHILD_SENT ||
	    wire_reply_open(post->head, post->buf, size, child->node->nid,
			    child->tag, core->options.authenticator,
			    &reply) != WIRE_OK ||
	    reply.part != post->part || !part_is_good(child, &reply))
		return -EBADMSG;
	core->stats.bytes_received += size;
	core->stats.messages_received++;
	if (reply.flags & WIRE_REPLY_START)
		return start_update(child, reply.start);
	post->size = size - WIRE_REPLY_HEAD;
	if (reply.status == 0) {
		post->is_arrived = true;
		child->arrived_count++;
	}
	if (reply.flags & WIRE_REPLY_LAST)
		accept_last(child, now_ns, &reply);
	if (child->state < CHILD_ENDED)
		end_if_complete(child, now_ns);
	return 0;
}

static int report_accept(struct post *post, uint64_t now_ns, size_t size)
{
	struct child *child = post->child;
	struct bcast *bcast = child->bcast;
	struct scoll_core *core = bcast->core;
	struct wire_failure failure;
	struct wire_report report;

	if (wire_report_open(post->buf, size, child->node->nid, child->tag,
			     core->options.authenticator, &report) != WIRE_OK ||
	    report.number != post->part - WIRE_TAG_REPORT ||
	    report.failure_count > child->failure_total - child->failure_count)
		return -EBADMSG;
	for (unsigned int i = 0; i < report.failure_count; i++) {
		wire_failure_at(&report, i, &failure);
		if (!child_covers(child, failure.rank))
			return -EBADMSG;
	}
	for (unsigned int i = 0; i < report.failure_count; i++) {
		wire_failure_at(&report, i, &failure);
		bcast_failure_add(bcast, &failure);
	}
	child->failure_count += report.failure_count;
	end_if_complete(child, now_ns);
	return 0;
}

void child_post_begun(struct post *post, uint64_t now_ns)
{
	struct child *child = post->child;

	if (post->was_posted)
		return;
	post->was_posted = true;
	if (--child->unposted_count > 0)
		return;
	if (post->part >= WIRE_TAG_REPORT) {
		bcast_notice_send(child, now_ns, WIRE_REPORTS_WANTED, 0,
				  reports_expected(child), NULL);
		return;
	}
	child->state = CHILD_SENDING;
	child->was_sent = true;
	action_start(child->bcast->core, &child->forward, child->bcast,
		     ACTION_FORWARD, now_ns);
}

void child_post_ended(struct post *post, uint64_t now_ns, int result,
		      size_t size)
{
	struct child *child = post->child;
	struct scoll_core *core = child->bcast->core;

	child->active_count--;
	if (child->state >= CHILD_ENDED) {
		child_check(child);
		return;
	}
	if (result == 0)
		result = post->part < WIRE_TAG_REPORT
				 ? accept(post, now_ns, size)
				 : report_accept(post, now_ns, size);
	else if (result == -ESTALE)
		result = -EIO;
	if (result == -EBADMSG || result == -EMSGSIZE) {
		core->stats.messages_refused++;
		child->active_count++;
		action_start(core, &post->action, child->bcast, ACTION_POST,
			     now_ns);
	} else if (result == -ESTALE) {
		child_send_again(child, now_ns);
	} else if (result < 0) {
		child_fail(child, now_ns, result,
			   result == -ECONNRESET ? SCOLL_ERROR_PEER_DEAD
						 : SCOLL_ERROR_NET_SEND);
	}
}
