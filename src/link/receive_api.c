/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_recv and its like, fi_cancel; probing for messages and claiming them. */
#include <string.h>

#include "link/api.h"
#include "link/cq.h"
#include "link/endpoint.h"
#include "link/many.h"
#include "link/matched.h"
#include "link/rendezvous.h"

struct wanted {
	const struct iovec *iov;
	size_t count;
	fi_addr_t source;
	uint64_t tag, ignore, flags;
	bool is_tagged;
	void *context;
};

static struct match *match_of(struct link_ep *ep, bool is_tagged)
{
	return is_tagged ? &ep->tagged : &ep->untagged;
}

static uint64_t source_of(const struct link_ep *ep, fi_addr_t source)
{
	return (ep->caps & FI_DIRECTED_RECV) != 0 && source != FI_ADDR_UNSPEC
		       ? source
		       : MATCH_ANY;
}

static int fill(struct link_ep *ep, struct receive *receive,
		const struct wanted *want)
{
	if (want->count > LINK_IOV_MAX)
		return -FI_EINVAL;
	receive->match = (struct match_receive){
		.source = source_of(ep, want->source),
		.tag = want->tag,
		.ignore = want->ignore,
		.stays = (want->flags & FI_MULTI_RECV) != 0,
	};
	receive->context = want->context;
	receive->flags = want->flags;
	receive->is_tagged = want->is_tagged;
	receive->count = want->count;
	receive->size = 0;
	for (size_t i = 0; i < want->count; i++) {
		receive->iov[i] = want->iov[i];
		receive->size += want->iov[i].iov_len;
	}
	return 0;
}

static ssize_t post(struct link_ep *ep, const struct wanted *want)
{
	struct receive *receive;
	struct match_message *message;

	link_lock(&ep->matching);
	receive = receive_alloc(ep);
	if (receive == NULL || fill(ep, receive, want) != 0) {
		ssize_t result = receive == NULL ? -FI_ENOMEM : -FI_EINVAL;
		if (receive != NULL)
			receive_free(ep, receive);
		link_unlock(&ep->matching);
		return result;
	}
	if (want->is_tagged && ep->matched != NULL) {
		matched_post(ep, receive);
		return 0;
	}
	message = match_post(match_of(ep, want->is_tagged), &receive->match);
	if (message == NULL) {
		link_unlock(&ep->matching);
		return 0;
	}
	receive_give(receive, arrival_of_message(message));
	return 0;
}

static ssize_t post_many(struct link_ep *ep, const struct wanted *want)
{
	struct receive *receive;
	int result;

	if (want->count != 1)
		return -FI_EINVAL;
	link_lock(&ep->matching);
	receive = receive_alloc(ep);
	result = receive == NULL ? -FI_ENOMEM : fill(ep, receive, want);
	if (result == 0 && want->is_tagged)
		receive->match.is_watched =
			matched_reaches(ep, receive->match.source);
	if (result == 0)
		many_post(receive);
	link_unlock(&ep->matching);
	return result;
}

/* --- FI_PEEK, FI_CLAIM, FI_DISCARD --- */

static void report_peeked(struct link_ep *ep, const struct peek *peek,
			  const struct arrival *arrival)
{
	const struct cq_entry entry = {
		.tagged = { .op_context = peek->context,
			    .flags = FI_RECV |
				     (peek->is_tagged ? FI_TAGGED : FI_MSG) |
				     arrival->flags,
			    .len = arrival->size,
			    .data = arrival->remote_data,
			    .tag = arrival->match.tag },
		.source = source_address(arrival->match.source),
	};
	if (ep->receive_cq != NULL)
		cq_add(ep->receive_cq, &entry);
}

static void report_none(struct link_ep *ep, const struct peek *peek)
{
	struct fi_context *context = peek->context;
	const struct fi_cq_err_entry entry = {
		.op_context = peek->context,
		.flags = FI_RECV | (peek->is_tagged ? FI_TAGGED : FI_MSG),
		.tag = peek->tag,
		.err = FI_ENOMSG,
		.prov_errno = -FI_ENOMSG,
	};

	if ((peek->flags & FI_CLAIM) != 0)
		context->internal[0] = NULL;
	if (ep->receive_cq != NULL)
		cq_fail(ep->receive_cq, &entry);
}

static struct peek peek_of(const struct wanted *want)
{
	return (struct peek){ .is_tagged = want->is_tagged,
			      .source = want->source,
			      .tag = want->tag,
			      .ignore = want->ignore,
			      .flags = want->flags,
			      .context = want->context };
}

/* A message that nobody will read: its sender is notified that it is done. */
static void discard(struct link_ep *ep, struct arrival *arrival)
{
	if (arrival->state == ARRIVAL_CLAIMED) {
		claim_take(NULL, arrival);
		return;
	}
	link_lock(&ep->matching);
	ep->unexpected -= arrival_cost(arrival);
	if (arrival->state != ARRIVAL_READY) {
		arrival_free(ep, arrival);
		arrival = NULL;
	}
	link_unlock(&ep->matching);
	if (arrival != NULL)
		reading_refuse(arrival);
}

bool peek_answer(struct link_ep *ep, const struct peek *peek, bool is_last)
{
	struct match *match = match_of(ep, peek->is_tagged);
	struct match_message *message;
	struct arrival *arrival = NULL;

	link_lock(&ep->matching);
	message = match_find(match, source_of(ep, peek->source), peek->tag,
			     peek->ignore);
	if (message != NULL)
		arrival = container(message, struct arrival, match);
	if (arrival == NULL || arrival->state == ARRIVAL_PENDING) {
		link_unlock(&ep->matching);
		if (is_last)
			report_none(ep, peek);
		return is_last;
	}
	if ((peek->flags & (FI_CLAIM | FI_DISCARD)) != 0) {
		match_take(match, message);
		if ((peek->flags & FI_CLAIM) != 0) {
			struct fi_context *context = peek->context;
			context->internal[0] = arrival;
		}
	}
	report_peeked(ep, peek, arrival);
	link_unlock(&ep->matching);
	if ((peek->flags & FI_DISCARD) != 0)
		discard(ep, arrival);
	return true;
}

static ssize_t peek_now(struct link_ep *ep, const struct wanted *want)
{
	const struct peek peek = peek_of(want);
	bool is_asked = want->is_tagged &&
			matched_reaches(ep, source_of(ep, want->source));

	ep_progress(ep);
	if (!peek_answer(ep, &peek, !is_asked))
		return claim_ask(ep, &peek);
	return 0;
}

static ssize_t claim(struct link_ep *ep, const struct wanted *want)
{
	struct fi_context *context = want->context;
	struct arrival *arrival = context->internal[0];
	struct receive *receive;
	int result;

	if (arrival == NULL)
		return -FI_EINVAL; /* nothing was found: see report_none() */
	if ((want->flags & FI_DISCARD) != 0) {
		const struct peek peek = peek_of(want);
		report_peeked(ep, &peek, arrival);
		discard(ep, arrival);
		return 0;
	}
	link_lock(&ep->matching);
	receive = receive_alloc(ep);
	result = receive == NULL ? -FI_ENOMEM : fill(ep, receive, want);
	if (result != 0 && receive != NULL)
		receive_free(ep, receive);
	else if (receive != NULL)
		receive->match.stays = false; /* there is one message */
	link_unlock(&ep->matching);
	if (result == 0)
		receive_take(receive, arrival);
	return result;
}

static ssize_t receive_any(struct link_ep *ep, const struct wanted *want)
{
	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	if ((want->flags & FI_PEEK) != 0)
		return want->context == NULL && (want->flags & FI_CLAIM) != 0
			       ? -FI_EINVAL
			       : peek_now(ep, want);
	if ((want->flags & FI_CLAIM) != 0)
		return want->context == NULL ? -FI_EINVAL : claim(ep, want);
	return (want->flags & FI_MULTI_RECV) != 0 ? post_many(ep, want)
						  : post(ep, want);
}

/* --- fi_cancel --- */

static bool has_context(void *arg, const struct match_receive *match)
{
	return container(match, struct receive, match)->context == arg;
}

static struct receive *find_posted(struct link_ep *ep, struct match *match,
				   void *context)
{
	struct match_receive *found = match_search(match, has_context, context);

	if (found == NULL)
		return NULL;
	match_remove(match, found);
	return container(found, struct receive, match);
}

ssize_t link_cancel(struct fid *fid, void *context)
{
	struct link_ep *ep = ep_of((struct fid_ep *)fid);
	struct receive *receive;

	link_lock(&ep->matching);
	receive = find_posted(ep, &ep->tagged, context);
	if (receive == NULL)
		receive = find_posted(ep, &ep->untagged, context);
	if (receive != NULL && receive->match.stays) {
		receive->is_cancelled = true;
		if (!many_is_over(receive)) {
			/* Its last slice ends it. */
			link_unlock(&ep->matching);
			return 0;
		}
		receive->holds++;
	}
	link_unlock(&ep->matching);
	if (receive == NULL)
		return ep->matched != NULL ? matched_cancel(ep, context)
					   : -FI_ENOENT;
	const struct message_end end = { .tag = receive->match.tag };
	receive_failed(receive, &end, FI_ECANCELED, 0);
	return 0;
}

/* --- what libfabric calls --- */

static uint64_t flags_with(const struct fid_ep *fid, uint64_t flags)
{
	return flags | (ep_of(fid)->receive_selective ? 0 : FI_COMPLETION);
}

static uint64_t flags_of(const struct fid_ep *fid)
{
	return flags_with(fid, ((const struct ep_face *)fid)->receive_flags);
}

ssize_t link_recvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t source, void *context)
{
	return receive_any(ep_of(fid), &(struct wanted){ .iov = iov,
							 .count = count,
							 .source = source,
							 .flags = flags_of(fid),
							 .context = context });
}

ssize_t link_recv(struct fid_ep *fid, void *buf, size_t size, void *desc,
		  fi_addr_t source, void *context)
{
	const struct iovec iov = { buf, size };

	return link_recvv(fid, &iov, &desc, 1, source, context);
}

ssize_t link_recvmsg(struct fid_ep *fid, const struct fi_msg *msg,
		     uint64_t flags)
{
	return receive_any(ep_of(fid),
			   &(struct wanted){ .iov = msg->msg_iov,
					     .count = msg->iov_count,
					     .source = msg->addr,
					     .flags = flags_with(fid, flags),
					     .context = msg->context });
}

ssize_t link_trecvv(struct fid_ep *fid, const struct iovec *iov, void **desc,
		    size_t count, fi_addr_t source, uint64_t tag,
		    uint64_t ignore, void *context)
{
	return receive_any(ep_of(fid),
			   &(struct wanted){ .iov = iov,
					     .count = count,
					     .source = source,
					     .tag = tag,
					     .ignore = ignore,
					     .is_tagged = true,
					     .flags = flags_of(fid) &
						      ~FI_MULTI_RECV,
					     .context = context });
}

ssize_t link_trecv(struct fid_ep *fid, void *buf, size_t size, void *desc,
		   fi_addr_t source, uint64_t tag, uint64_t ignore,
		   void *context)
{
	const struct iovec iov = { buf, size };

	return link_trecvv(fid, &iov, &desc, 1, source, tag, ignore, context);
}

ssize_t link_trecvmsg(struct fid_ep *fid, const struct fi_msg_tagged *msg,
		      uint64_t flags)
{
	return receive_any(ep_of(fid),
			   &(struct wanted){ .iov = msg->msg_iov,
					     .count = msg->iov_count,
					     .source = msg->addr,
					     .tag = msg->tag,
					     .ignore = msg->ignore,
					     .is_tagged = true,
					     .flags = flags_with(fid, flags),
					     .context = msg->context });
}
