/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages that nobody expected, in a core that matches tags: claimed in two
 * steps. The first one says what there is, and makes it ours; with the second
 * it goes into its receive. It is in the core's memory meanwhile.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/endpoint.h"
#include "link/matched.h"
#include "link/receive.h"

void claim_begin(struct rail *rail)
{
	struct link_ep *ep = rail->ep;
	struct arrival *arrival = NULL;
	struct fi_msg_tagged msg = { .addr = FI_ADDR_UNSPEC,
				     .ignore = rail->matched.tag_mask };
	ssize_t result;

	link_lock(&ep->matching);
	if (rail->matched.to_give == NULL &&
	    ep->unexpected <= ep->unexpected_max &&
	    offload_must_claim(&ep->offload, ep->peeks != NULL))
		arrival = arrival_alloc(ep, 1);
	if (arrival != NULL) {
		ep->offload.is_claiming = true;
		for (struct peek *a = ep->peeks; a != NULL; a = a->next)
			a->is_covered = true;
	}
	link_unlock(&ep->matching);
	if (arrival == NULL)
		return;
	arrival->op.kind = OP_CLAIM;
	arrival->rail = rail;
	arrival->state = ARRIVAL_PENDING;
	msg.context = &arrival->op;
	DL_APPEND2(rail->matched.asking, arrival, before, next);
	result = fi_trecvmsg(rail->core, &msg,
			     FI_PEEK | FI_CLAIM | FI_COMPLETION);
	if (result == 0)
		return;
	if (result != -FI_EAGAIN)
		link_warn(EP_DATA,
			  "a core that cannot be asked for what it "
			  "has (%s): set FI_FAIRLEAD_OFFLOAD=never\n",
			  fi_strerror((int)-result));
	DL_DELETE2(rail->matched.asking, arrival, before, next);
	link_lock(&ep->matching);
	ep->offload.is_claiming = false;
	arrival_free(ep, arrival);
	link_unlock(&ep->matching);
}

static uint64_t source_key(const struct rail *rail, fi_addr_t core)
{
	uint64_t source = rail_source(rail, core);

	return source == FI_ADDR_NOTAVAIL ? SOURCE_UNKNOWN : source;
}

/* The first step: the core has one, for us alone now. */
static void came(struct arrival *arrival,
		 const struct fi_cq_tagged_entry *entry, fi_addr_t core)
{
	struct link_ep *ep = arrival->ep;
	struct match_receive *found;

	arrival->state = ARRIVAL_CLAIMED;
	arrival->is_tagged = true;
	arrival->match.source = source_key(arrival->rail, core);
	arrival->match.tag = entry->tag;
	arrival->size = entry->len;
	arrival->flags = entry->flags & FI_REMOTE_CQ_DATA;
	arrival->remote_data = entry->data;
	link_lock(&ep->matching);
	ep->offload.is_claiming = false;
	ep->unexpected += arrival->capacity;
	found = offload_first(&ep->offload, arrival->match.source,
			      arrival->match.tag);
	if (found == NULL) {
		match_queue(&ep->tagged, &arrival->match);
		link_unlock(&ep->matching);
		return;
	}
	if (!found->stays)
		match_remove(&ep->tagged, found);
	receive_give(receive_of_match(found), arrival);
}

static void arrival_end(struct arrival *arrival)
{
	struct link_ep *ep = arrival->ep;

	free(arrival->iov.iov_base);
	link_lock(&ep->matching);
	ep->unexpected -= arrival->capacity;
	arrival_free(ep, arrival);
	link_unlock(&ep->matching);
}

static struct message_end end_of(const struct arrival *arrival)
{
	return (struct message_end){
		.size = arrival->size,
		.tag = arrival->match.tag,
		.data = arrival->remote_data,
		.flags = arrival->flags,
		.source = source_address(arrival->match.source),
	};
}

void claim_ended(struct arrival *arrival,
		 const struct fi_cq_tagged_entry *entry, fi_addr_t core)
{
	const struct message_end end = end_of(arrival);

	DL_DELETE2(arrival->rail->matched.asking, arrival, before, next);
	if (arrival->state != ARRIVAL_TAKEN) {
		came(arrival, entry, core);
		return;
	}
	if (arrival->receive != NULL && arrival->iov.iov_base != NULL)
		receive_copy(arrival->receive, arrival->iov.iov_base, &end);
	else if (arrival->receive != NULL)
		receive_done(arrival->receive, &end);
	arrival_end(arrival);
}

/* The core has nothing: whatever waited for that goes on. */
static void nothing_there(struct rail *rail, struct arrival *arrival)
{
	struct link_ep *ep = rail->ep;
	struct peek *peek, *covered = NULL;

	link_lock(&ep->matching);
	ep->offload.is_claiming = false;
	arrival_free(ep, arrival);
	matched_give_free(rail);
	if (ep->peeks != NULL && ep->peeks->is_covered) {
		struct peek **at = &ep->peeks;
		covered = ep->peeks;
		while (*at != NULL && (*at)->is_covered)
			at = &(*at)->next;
		peek = *at;
		*at = NULL;
		ep->peeks = peek;
		if (peek == NULL)
			ep->peeks_end = &ep->peeks;
	}
	link_unlock(&ep->matching);
	while ((peek = covered) != NULL) {
		covered = peek->next;
		peek_answer(ep, peek, true);
		free(peek);
	}
}

void claim_failed(struct arrival *arrival, const struct fi_cq_err_entry *entry)
{
	struct message_end end = end_of(arrival);

	DL_DELETE2(arrival->rail->matched.asking, arrival, before, next);
	if (arrival->state != ARRIVAL_TAKEN) {
		nothing_there(arrival->rail, arrival);
		return;
	}
	if (arrival->receive != NULL) {
		if (entry->err == FI_ETRUNC)
			end.size = arrival->receive->size;
		receive_failed(arrival->receive, &end, entry->err, entry->olen);
	}
	arrival_end(arrival);
}

int claim_ask(struct link_ep *ep, const struct peek *peek)
{
	struct peek *copy = malloc(sizeof(*copy));
	struct rail *rail = ep->matched;

	if (copy == NULL)
		return -FI_ENOMEM;
	*copy = *peek;
	copy->next = NULL;
	copy->is_covered = false;
	link_lock(&ep->matching);
	*ep->peeks_end = copy;
	ep->peeks_end = &copy->next;
	link_unlock(&ep->matching);
	rail_poll_soon(rail);
	if (link_trylock(&rail->lock)) {
		matched_work(rail);
		link_unlock(&rail->lock);
	}
	return 0;
}

/* --- the second step: into a receive --- */

void claim_take(struct receive *receive, struct arrival *arrival)
{
	struct rail *rail = arrival->rail;

	arrival->receive = receive;
	arrival->next = NULL;
	link_lock(&rail->working);
	set_seen(*rail->matched.to_take_end, arrival);
	rail->matched.to_take_end = &arrival->next;
	link_unlock(&rail->working);
	rail_poll_soon(rail);
	if (!peek_at(rail->is_polling) && link_trylock(&rail->lock)) {
		matched_work(rail);
		link_unlock(&rail->lock);
	}
}

/* What is to go away has no buffer, and so is cut down to nothing. */
static ssize_t take(struct rail *rail, struct arrival *arrival)
{
	struct receive *receive = arrival->receive;
	void *descs[LINK_IOV_MAX] = { NULL };
	struct fi_msg_tagged msg = { .desc = descs,
				     .addr = FI_ADDR_UNSPEC,
				     .tag = arrival->match.tag,
				     .context = &arrival->op };

	if (receive != NULL) {
		msg.msg_iov = receive->iov;
		msg.iov_count = receive->count;
	}
	if (msg.iov_count > rail->matched.iov_limit) {
		if (arrival->iov.iov_base == NULL)
			arrival->iov.iov_base = malloc(arrival->size + 1);
		if (arrival->iov.iov_base == NULL)
			return -FI_EAGAIN;
		arrival->iov.iov_len = arrival->size;
		msg.msg_iov = &arrival->iov;
		msg.iov_count = 1;
	}
	return fi_trecvmsg(rail->core, &msg, FI_CLAIM | FI_COMPLETION);
}

/* The endpoint's that is a source; 0: it is not known. */
static uint64_t number_of(const struct link_ep *ep, uint64_t source)
{
	const struct peer *peer;

	if (source != SOURCE_UNKNOWN && (source & SOURCE_BY_NUMBER) != 0)
		return source & ~SOURCE_BY_NUMBER;
	peer = ep_peer(ep, source);
	return peer == NULL ? 0 : peer->number;
}

void claims_take(struct rail *rail)
{
	struct matched *matched = &rail->matched;
	struct arrival *arrival;

	while ((arrival = peek_at(matched->to_take)) != NULL) {
		ssize_t result = take(rail, arrival);
		if (result == -FI_EAGAIN)
			return;
		link_lock(&rail->working);
		set_seen(matched->to_take, arrival->next);
		if (matched->to_take == NULL)
			matched->to_take_end = &matched->to_take;
		link_unlock(&rail->working);
		arrival->state = ARRIVAL_TAKEN;
		arrival->awaited = (struct awaited){
			.is_used = true,
			.number = number_of(rail->ep, arrival->match.source)
		};
		DL_APPEND2(matched->asking, arrival, before, next);
		if (result != 0)
			claim_failed(arrival, &(struct fi_cq_err_entry){
						      .err = (int)-result });
	}
}

/* --- peers that have ended --- */

void claims_each_old(struct rail *rail, loss_report *report, void *arg)
{
	struct arrival *arrival;

	DL_FOREACH2(rail->matched.asking, arrival, next)
	if (arrival->state == ARRIVAL_TAKEN)
		awaited_report(rail, &arrival->awaited, report, arg);
}

void claims_leave_of(struct rail *rail, uint64_t number, int error)
{
	struct arrival *arrival;

	DL_FOREACH2(rail->matched.asking, arrival, next)
	if (arrival->state == ARRIVAL_TAKEN && arrival->receive != NULL &&
	    arrival->awaited.number == number) {
		struct message_end end = end_of(arrival);
		end.size = 0;
		receive_failed(arrival->receive, &end, error, 0);
		arrival->receive = NULL;
	}
}

/* --- close --- */

void claims_drop(struct rail *rail)
{
	struct arrival *next;

	for (struct arrival *a = rail->matched.to_take; a != NULL; a = next) {
		next = a->next;
		free(a->receive);
		free(a);
	}
	for (struct arrival *a = rail->matched.asking; a != NULL; a = next) {
		next = a->next;
		if (a->state == ARRIVAL_TAKEN) {
			free(a->receive);
			free(a->iov.iov_base);
		}
		free(a);
	}
}
