/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of the transport. When it is full, actions wait in lines, one
 * for each class: nothing goes before a broadcast that waits (P-19), and the
 * other lines do not wait for each other. When only a peer is full, its
 * actions are tried again, R / 8 apart, and delay no others. A failed action is
 * tried ACTION_TRIES times (E-04), R / 8 apart, unless the peer is not there at
 * all; the end is reported by action_done() or action_run(), never by
 * action_start().
 */
#include "scoll/core/internal.h"

#include <errno.h>

#define CONTAINER(action, type) ((type *)(void *)(action))

static struct child *child_of(struct scoll_action *action)
{
	return (struct child *)(void *)((uint8_t *)action -
					offsetof(struct child, forward));
}

static enum action_class class_of(const struct scoll_action *action)
{
	switch ((enum action_kind)action->transfer.kind) {
	case ACTION_POST:
		return CLASS_BUFFERS;
	case ACTION_FORWARD:
		return CLASS_BROADCASTS;
	case ACTION_READ:
		return CLASS_READS;
	default:
		return CLASS_OTHERS;
	}
}

/* A head, and what is behind it: how many pieces that are. */
static int pieces_fill(const void *head, size_t head_size, const void *rest,
		       size_t rest_size, struct iovec ret_pieces[2])
{
	ret_pieces[0] = (struct iovec){ (void *)head, head_size };
	ret_pieces[1] = (struct iovec){ (void *)rest, rest_size };
	return rest_size > 0 ? 2 : 1;
}

static int send_bcast(const struct transport_seam *net, struct child *child)
{
	const struct bcast *bcast = child->bcast;
	struct iovec pieces[2];
	int count = pieces_fill(child->head, bcast->head_size, bcast->body,
				bcast->body_size, pieces);

	return net->ops->send(net->ctx, child->node->nid, pieces, count,
			      &child->forward.transfer);
}

static int post_buffer(const struct transport_seam *net, struct post *post)
{
	struct iovec pieces[2] = { { post->buf, post->len } };
	int count = 1;

	if (post->part < WIRE_TAG_REPORT)
		count = pieces_fill(post->head, sizeof(post->head), post->buf,
				    post->len, pieces);
	return net->ops->reply_post(net->ctx, post->child->node->nid,
				    post->child->tag + post->part, pieces,
				    count, &post->action.transfer);
}

static int send_out(const struct transport_seam *net, struct out *out)
{
	struct iovec pieces[2] = { { (void *)out->buf, out->len } };
	int count = 1;

	if (!out->is_report)
		count = pieces_fill(out->head, sizeof(out->head), out->buf,
				    out->len, pieces);
	return net->ops->reply_send(net->ctx, out->to, out->tag, pieces, count,
				    &out->action.transfer);
}

static int send_notice(const struct transport_seam *net, struct notice *notice)
{
	struct iovec piece = { notice->bytes, notice->size };

	return net->ops->send(net->ctx, notice->child->node->nid, &piece, 1,
			      &notice->action.transfer);
}

static int read_bulk(const struct transport_seam *net, struct bulk_read *read)
{
	const struct bcast *bcast = read->action.bcast;
	const struct bulk *bulk = bcast->bulk;

	return net->ops->read(net->ctx, bcast->parent, bulk->remote,
			      bulk->remote_count, read->offset, &bulk->region,
			      read->offset, read->size, &read->action.transfer);
}

static int perform(struct scoll_core *core, struct scoll_action *action)
{
	const struct transport_seam *net = &core->options.transport;

	switch ((enum action_kind)action->transfer.kind) {
	case ACTION_FORWARD:
		return send_bcast(net, child_of(action));
	case ACTION_POST:
		return post_buffer(net, CONTAINER(action, struct post));
	case ACTION_REPLY:
		return send_out(net, CONTAINER(action, struct out));
	case ACTION_NOTICE:
		return send_notice(net, CONTAINER(action, struct notice));
	case ACTION_READ:
		return read_bulk(net, CONTAINER(action, struct bulk_read));
	}
	return -EINVAL;
}

static void count(struct scoll_core *core, size_t size)
{
	core->stats.messages_sent++;
	core->stats.bytes_sent += size;
}

/* The transport has taken it. */
static void begun(struct scoll_core *core, struct scoll_action *action,
		  uint64_t now_ns)
{
	const struct out *out;

	action->state = ACTION_UNDER_WAY;
	switch ((enum action_kind)action->transfer.kind) {
	case ACTION_FORWARD:
		count(core,
		      action->bcast->head_size + action->bcast->body_size);
		child_forward_begun(child_of(action), now_ns);
		break;
	case ACTION_POST:
		child_post_begun(CONTAINER(action, struct post), now_ns);
		break;
	case ACTION_REPLY:
		out = CONTAINER(action, struct out);
		count(core, out->len + (out->is_report ? 0 : WIRE_REPLY_HEAD));
		break;
	case ACTION_NOTICE:
		count(core, CONTAINER(action, struct notice)->size);
		break;
	case ACTION_READ:
		break;
	}
}

static void pause_action(struct scoll_core *core, struct scoll_action *action,
			 uint64_t now_ns)
{
	action->state = ACTION_PAUSED;
	action->retry_ns = now_ns + core->options.rtt_ns / RETRY_PARTS;
	DL_APPEND(core->paused, action);
}

/* It did not go: again later, or not any more. */
static void failed(struct scoll_core *core, struct scoll_action *action,
		   uint64_t now_ns, int result)
{
	action->result = result;
	/* That nobody is there the transport has tried for long enough. */
	if (++action->tries < ACTION_TRIES && !core->is_stopped &&
	    result != -EHOSTUNREACH) {
		pause_action(core, action, now_ns);
		return;
	}
	action->state = ACTION_BROKEN;
	DL_APPEND(core->broken, action);
}

/* False: the transport is full. */
static bool attempt(struct scoll_core *core, struct scoll_action *action,
		    uint64_t now_ns)
{
	int result = perform(core, action);

	if (result == -EAGAIN) {
		/* After the next event; but let there be one. */
		core->waiting_until_ns =
			now_ns + core->options.rtt_ns / RETRY_PARTS;
		return false;
	}
	if (result == -EBUSY) /* that peer is: nobody else waits */
		pause_action(core, action, now_ns);
	else if (result < 0)
		failed(core, action, now_ns, result);
	else
		begun(core, action, now_ns);
	return true;
}

static void launch(struct scoll_core *core, struct scoll_action *action,
		   uint64_t now_ns)
{
	enum action_class class = class_of(action);

	if (core->waiting[CLASS_BROADCASTS] == NULL &&
	    core->waiting[class] == NULL && attempt(core, action, now_ns))
		return;
	action->state = ACTION_WAITING;
	DL_APPEND(core->waiting[class], action);
}

void action_start(struct scoll_core *core, struct scoll_action *action,
		  struct bcast *bcast, enum action_kind kind, uint64_t now_ns)
{
	action->transfer.kind = kind;
	action->bcast = bcast;
	action->tries = 0;
	action->is_cancelled = false;
	if (bcast != NULL)
		bcast->busy_count++;
	else
		core->loose_count++;
	launch(core, action, now_ns);
}

static void idle(struct scoll_core *core, struct scoll_action *action)
{
	action->state = ACTION_IDLE;
	if (action->bcast != NULL)
		action->bcast->busy_count--;
	else
		core->loose_count--;
}

static void unlink_action(struct scoll_core *core, struct scoll_action *action)
{
	switch ((enum action_state)action->state) {
	case ACTION_WAITING:
		DL_DELETE(core->waiting[class_of(action)], action);
		break;
	case ACTION_PAUSED:
		DL_DELETE(core->paused, action);
		break;
	case ACTION_BROKEN:
		DL_DELETE(core->broken, action);
		break;
	case ACTION_IDLE:
	case ACTION_UNDER_WAY:
		break;
	}
}

bool action_cancel(struct scoll_core *core, struct scoll_action *action)
{
	const struct transport_seam *net = &core->options.transport;

	if (action->state == ACTION_IDLE)
		return true;
	if (action->state != ACTION_UNDER_WAY) {
		unlink_action(core, action);
		idle(core, action);
		return true;
	}
	if (action->is_cancelled)
		return false;
	action->is_cancelled = true;
	if (action->transfer.kind == ACTION_POST)
		net->ops->cancel(net->ctx, &action->transfer);
	return false;
}

static void tell(struct scoll_core *core, struct scoll_action *action,
		 uint64_t now_ns, int result, size_t size)
{
	struct bcast *bcast = action->bcast;

	idle(core, action);
	switch ((enum action_kind)action->transfer.kind) {
	case ACTION_FORWARD:
		child_forward_ended(child_of(action), now_ns, result);
		break;
	case ACTION_POST:
		child_post_ended(CONTAINER(action, struct post), now_ns, result,
				 size);
		break;
	case ACTION_REPLY:
		if (bcast != NULL)
			bcast_out_ended(CONTAINER(action, struct out), now_ns,
					result);
		else
			scoll_core_release(core, action);
		break;
	case ACTION_NOTICE:
		bcast_notice_ended(CONTAINER(action, struct notice), now_ns,
				   result);
		break;
	case ACTION_READ:
		bulk_read_ended(CONTAINER(action, struct bulk_read), now_ns,
				result);
		break;
	}
	if (bcast != NULL)
		bcast_touch(bcast);
}

static bool may_retry(const struct scoll_action *action, int result)
{
	if (result >= 0 || result == -ECANCELED || action->is_cancelled)
		return false;
	/* Of a peer whose connection broke, or that sent too much. */
	return action->transfer.kind != ACTION_POST ||
	       (result != -EMSGSIZE && result != -ECONNRESET);
}

void action_done(struct scoll_core *core, uint64_t now_ns,
		 struct scoll_action *action, int result, size_t size)
{
	if (may_retry(action, result))
		failed(core, action, now_ns, result);
	else
		tell(core, action, now_ns, result, size);
}

void action_run(struct scoll_core *core, uint64_t now_ns)
{
	struct scoll_action *action;

	while ((action = core->broken) != NULL) {
		DL_DELETE(core->broken, action);
		tell(core, action, now_ns, action->result, 0);
	}
	while ((action = core->paused) != NULL && action->retry_ns <= now_ns) {
		DL_DELETE(core->paused, action);
		launch(core, action, now_ns);
	}
	for (unsigned int class = 0; class < ACTION_CLASSES; class ++) {
		while ((action = core->waiting[class]) != NULL) {
			DL_DELETE(core->waiting[class], action);
			if (attempt(core, action, now_ns))
				continue;
			DL_PREPEND(core->waiting[class], action);
			if (class == CLASS_BROADCASTS)
				return;
			break;
		}
	}
}

uint64_t action_deadline_ns(const struct scoll_core *core)
{
	uint64_t deadline_ns = DEADLINE_NONE;

	if (core->paused != NULL)
		deadline_ns = core->paused->retry_ns;
	for (unsigned int class = 0; class < ACTION_CLASSES; class ++) {
		if (core->waiting[class] != NULL &&
		    core->waiting_until_ns < deadline_ns)
			deadline_ns = core->waiting_until_ns;
	}
	return deadline_ns;
}
