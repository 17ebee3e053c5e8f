/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receives of a link whose fabric rail has a core that matches tags: which of
 * them it has, and what it is asked for, follows from match/offload.h. Its
 * messages that nobody expected are claimed: see claim.c.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/matched.h"
#include "link/endpoint.h"
#include "link/many.h"

void matched_open(struct rail *rail, const struct fi_info *info)
{
	struct link_ep *ep = rail->ep;
	size_t send_limit = info->tx_attr->iov_limit;
	size_t receive_limit = info->rx_attr->iov_limit;

	rail->matched = (struct matched){
		.tag_mask = core_tag_mask(info),
		.iov_limit =
			send_limit < receive_limit ? send_limit : receive_limit,
	};
	rail->matched.to_give_end = &rail->matched.to_give;
	rail->matched.to_take_end = &rail->matched.to_take;
	ep->offload.match = &ep->tagged;
	ep->peeks_end = &ep->peeks;
	ep->matched = rail;
}

void matched_drop_all(struct link_ep *ep)
{
	struct match_receive *match, *next;

	if (ep->matched == NULL)
		return;
	DL_FOREACH_SAFE (ep->offload.given, match, next)
		free(receive_of_match(match));
	for (struct peek *a = ep->peeks, *after; a != NULL; a = after) {
		after = a->next;
		free(a);
	}
}

bool matched_reaches(const struct link_ep *ep, uint64_t source)
{
	const struct peer *peer;

	if (ep->matched == NULL || source == MATCH_ANY)
		return ep->matched != NULL;
	peer = ep_peer(ep, source);
	return peer == NULL || !peer->is_local; /* it may come yet */
}

/* --- receives that the core is to have --- */

static bool can_go(const struct match_receive *match)
{
	const struct receive *receive =
		receive_of_match((struct match_receive *)match);
	const struct link_ep *ep = receive->ep;
	const struct matched *matched = &ep->matched->matched;
	const struct peer *peer;

	if (match->source != MATCH_ANY) {
		peer = ep_peer(ep, match->source);
		if (peer == NULL || peer->is_local)
			return false;
	}
	return receive->count <= matched->iov_limit &&
	       (match->tag & ~matched->tag_mask) == 0;
}

/* Matching is locked. */
static void give_later(struct rail *rail, struct receive *receive)
{
	receive->op.kind = OP_GIVEN;
	receive->next = NULL;
	set_seen(*rail->matched.to_give_end, receive);
	rail->matched.to_give_end = &receive->next;
}

/* The same, not to be given any more; false: the core has it. */
static bool give_no_more(struct rail *rail, const struct receive *receive)
{
	struct matched *matched = &rail->matched;

	for (struct receive **at = &matched->to_give; *at != NULL;
	     at = &(*at)->next) {
		if (*at != receive)
			continue;
		set_seen(*at, receive->next);
		if (*at == NULL)
			matched->to_give_end = at;
		return true;
	}
	return false;
}

static ssize_t give(struct rail *rail, struct receive *receive)
{
	const struct match_receive *match = &receive->match;
	void *descs[LINK_IOV_MAX] = { NULL };
	struct fi_msg_tagged msg = { .msg_iov = receive->iov,
				     .desc = descs,
				     .iov_count = receive->count,
				     .addr = FI_ADDR_UNSPEC,
				     .tag = match->tag,
				     .ignore = match->ignore &
					       rail->matched.tag_mask,
				     .context = &receive->op };

	if (match->source != MATCH_ANY) {
		const struct peer *peer = ep_peer(rail->ep, match->source);
		if (peer == NULL)
			return -FI_EADDRNOTAVAIL;
		msg.addr = peer->cores[rail->index];
	}
	return fi_trecvmsg(rail->core, &msg, FI_COMPLETION);
}

static void give_all(struct rail *rail)
{
	struct link_ep *ep = rail->ep;
	struct receive *receive;

	while ((receive = peek_at(rail->matched.to_give)) != NULL) {
		ssize_t result = give(rail, receive);
		if (result == -FI_EAGAIN)
			return;
		link_lock(&ep->matching);
		give_no_more(rail, receive);
		if (result != 0)
			offload_done(&ep->offload, &receive->match);
		link_unlock(&ep->matching);
		if (result == 0)
			continue;
		const struct message_end end = { .tag = receive->match.tag };
		receive_failed(receive, &end, (int)-result, 0);
	}
}

void matched_post(struct link_ep *ep, struct receive *receive)
{
	struct rail *rail = ep->matched;
	struct match_message *message = NULL;

	receive->match.is_watched = matched_reaches(ep, receive->match.source);
	switch (offload_post(&ep->offload, &receive->match,
			     can_go(&receive->match), &message)) {
	case OFFLOAD_HERE:
		link_unlock(&ep->matching);
		break;
	case OFFLOAD_GIVEN:
		give_later(rail, receive);
		link_unlock(&ep->matching);
		link_lock(&rail->lock);
		give_all(rail);
		link_unlock(&rail->lock);
		break;
	case OFFLOAD_TAKEN:
		receive_give(receive, arrival_of_message(message));
		break;
	}
}

ssize_t matched_cancel(struct link_ep *ep, void *context)
{
	struct rail *rail = ep->matched;
	struct receive *receive = NULL;
	struct match_receive *match;
	bool is_ours = false;
	ssize_t result = -FI_ENOENT;

	link_lock(&rail->lock);
	link_lock(&ep->matching);
	DL_FOREACH (ep->offload.given, match)
		if (receive_of_match(match)->context == context &&
		    !receive_of_match(match)->is_cancelled)
			break;
	if (match != NULL) {
		receive = receive_of_match(match);
		is_ours = give_no_more(rail, receive);
		if (is_ours)
			offload_done(&ep->offload, match);
		receive->is_cancelled = true;
	}
	link_unlock(&ep->matching);
	if (is_ours) {
		const struct message_end end = { .tag = match->tag };
		receive_failed(receive, &end, FI_ECANCELED, 0);
		result = 0;
	} else if (receive != NULL) {
		result = fi_cancel(&rail->core->fid, &receive->op);
		receive->is_cancelled = result == 0;
		rail_poll_soon(rail);
	}
	link_unlock(&rail->lock);
	return result;
}

/* --- receives that come back --- */

/* What waited while nothing was matched here. */
static void settle(struct link_ep *ep)
{
	struct arrival *first = NULL, **end = &first, *next;
	struct match_message *message;
	struct match_receive *match;

	link_lock(&ep->matching);
	while ((match = offload_settle(&ep->offload, &message)) != NULL) {
		struct receive *receive = receive_of_match(match);
		struct arrival *arrival = arrival_of_message(message);
		if (match->stays) {
			many_add(receive, arrival);
			many_drain(receive);
			continue;
		}
		arrival->receive = receive;
		if (arrival->state == ARRIVAL_PENDING)
			continue;
		arrival->next = NULL;
		*end = arrival;
		end = &arrival->next;
	}
	link_unlock(&ep->matching);
	for (; first != NULL; first = next) {
		next = first->next;
		receive_take(first->receive, first);
	}
}

struct match_receive *matched_first(struct link_ep *ep, uint64_t source,
				    uint64_t tag)
{
	if (!ep->offload.has_others)
		matched_recall(ep);
	return offload_first(&ep->offload, source, tag);
}

void matched_recall(struct link_ep *ep)
{
	if (ep->matched == NULL || !offload_recall(&ep->offload))
		return;
	set_seen(ep->matched->matched.must_recall, true);
	rail_poll_soon(ep->matched);
}

/* The last one first; nothing is added while they come back. */
static void recall_all(struct rail *rail)
{
	struct link_ep *ep = rail->ep;
	struct match_receive *match, *before;
	unsigned int count;
	bool is_ours;

	set_seen(rail->matched.must_recall, false);
	link_lock(&ep->matching);
	count = ep->offload.given_count;
	match = count == 0 ? NULL : ep->offload.given->prev;
	link_unlock(&ep->matching);
	for (; count > 0; count--, match = before) {
		struct receive *receive = receive_of_match(match);
		before = match->prev;
		link_lock(&ep->matching);
		is_ours = give_no_more(rail, receive);
		if (is_ours) {
			receive->op.kind = OP_RECEIVE;
			offload_returned(&ep->offload, match);
		}
		link_unlock(&ep->matching);
		if (!is_ours && !receive->is_cancelled)
			(void)fi_cancel(&rail->core->fid, &receive->op);
	}
	settle(ep);
}

void matched_received(struct receive *receive,
		      const struct fi_cq_tagged_entry *entry, fi_addr_t core)
{
	struct link_ep *ep = receive->ep;
	const struct message_end end = {
		.size = entry->len,
		.tag = entry->tag,
		.data = entry->data,
		.flags = entry->flags & FI_REMOTE_CQ_DATA,
		.source = source_address(rail_source(ep->matched, core)),
	};

	link_lock(&ep->matching);
	offload_done(&ep->offload, &receive->match);
	link_unlock(&ep->matching);
	receive_done(receive, &end);
	settle(ep);
}

void matched_failed(struct receive *receive,
		    const struct fi_cq_err_entry *entry)
{
	struct link_ep *ep = receive->ep;
	bool is_back = entry->err == FI_ECANCELED && !receive->is_cancelled;
	const struct message_end end = {
		.size = entry->err == FI_ETRUNC ? receive->size : 0,
		.tag = entry->err == FI_ECANCELED ? receive->match.tag
						  : entry->tag,
		.data = entry->data,
		.flags = entry->flags & FI_REMOTE_CQ_DATA,
	};

	link_lock(&ep->matching);
	if (is_back) {
		receive->op.kind = OP_RECEIVE;
		offload_returned(&ep->offload, &receive->match);
	} else {
		offload_done(&ep->offload, &receive->match);
	}
	link_unlock(&ep->matching);
	if (!is_back)
		receive_failed(receive, &end, entry->err, entry->olen);
	settle(ep);
}

/* --- progress --- */

void matched_give_free(struct rail *rail)
{
	struct link_ep *ep = rail->ep;
	struct match_receive *match;

	while ((match = offload_give(&ep->offload, can_go)) != NULL)
		give_later(rail, receive_of_match(match));
}

void matched_work(struct rail *rail)
{
	if (rail->is_polling)
		return;
	set_seen(rail->is_polling, true);
	if (peek_at(rail->matched.must_recall))
		recall_all(rail);
	give_all(rail);
	claims_take(rail);
	claim_begin(rail);
	set_seen(rail->is_polling, false);
}
