/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core that asks for each message where it goes. It asks within fi_cq_read,
 * holding locks of its own: what is decided here calls no core.
 *
 * Messages nobody expects, and frames, get a buffer of ours at once, so that
 * nothing ever waits in the core: -FI_ENOENT is never the answer.
 */
#include <stdlib.h>
#include <string.h>

#include "link/endpoint.h"

#define container(pointer, type, field) \
	((type *)((char *)(pointer)-offsetof(type, field)))

static struct rail *rail_of(struct fid_peer_srx *srx)
{
	return container(srx, struct rail, shared);
}

static struct fi_peer_rx_entry *entry_fill(struct fi_peer_rx_entry *entry,
					   struct rail *rail, struct op *op,
					   struct iovec *iov, size_t count,
					   uint64_t flags)
{
	*entry = (struct fi_peer_rx_entry){
		.srx = &rail->shared,
		.flags = flags,
		.context = op,
		.owner_context = op,
		.iov = iov,
		.count = count,
	};
	return entry;
}

/* A buffer for a message, or for a frame, of at most the inject size. */
static struct arrival *buffer_take(struct rail *rail)
{
	struct arrival *arrival = arrival_alloc(rail->ep, LINK_INJECT_SIZE);

	if (arrival == NULL)
		return NULL;
	arrival->rail = rail;
	arrival->iov = (struct iovec){ arrival->data, arrival->room };
	return arrival;
}

static int get_tag(struct fid_peer_srx *srx, fi_addr_t address, uint64_t tag,
		   struct fi_peer_rx_entry **ret_entry)
{
	struct rail *rail = rail_of(srx);
	struct link_ep *ep = rail->ep;
	bool is_tagged = (tag & LINK_UNTAGGED) == 0;
	struct match *match = is_tagged ? &ep->tagged : &ep->untagged;
	fi_addr_t source = rail_source(rail, address);
	uint64_t key = source == FI_ADDR_NOTAVAIL ? SOURCE_UNKNOWN : source;
	struct match_receive *found;
	struct receive *receive;
	struct arrival *arrival;

	if (rail->late != NULL)
		return -FI_EAGAIN;
	tag &= ~LINK_UNTAGGED;
	link_lock(&ep->matching);
	found = match_first(match, key, tag);
	if (found != NULL && !found->stays) {
		match_remove(match, found);
		link_unlock(&ep->matching);
		receive = container(found, struct receive, match);
		*ret_entry =
			entry_fill(&receive->entry, rail, &receive->op,
				   receive->iov, receive->count, FI_COMPLETION);
		return 0;
	}
	arrival =
		ep->unexpected > ep->unexpected_max ? NULL : buffer_take(rail);
	if (arrival == NULL) {
		link_unlock(&ep->matching);
		return -FI_ENOMEM; /* the core keeps it, and asks again */
	}
	arrival->state = ARRIVAL_PENDING;
	arrival->is_tagged = is_tagged;
	arrival->match.source = key;
	arrival->match.tag = tag;
	ep->unexpected += arrival->room;
	if (found == NULL)
		match_queue(match, &arrival->match);
	else
		many_add(container(found, struct receive, match), arrival);
	link_unlock(&ep->matching);
	*ret_entry = entry_fill(&arrival->entry, rail, &arrival->op,
				&arrival->iov, 1, FI_COMPLETION);
	return 0;
}

/* Untagged messages of the core are frames. */
static int get_msg(struct fid_peer_srx *srx, fi_addr_t address, size_t size,
		   struct fi_peer_rx_entry **ret_entry)
{
	struct rail *rail = rail_of(srx);
	struct arrival *arrival;

	if (rail->late != NULL)
		return -FI_EAGAIN;
	link_lock(&rail->ep->matching);
	arrival = buffer_take(rail);
	link_unlock(&rail->ep->matching);
	if (arrival == NULL)
		return -FI_ENOMEM;
	arrival->state = ARRIVAL_FRAME;
	arrival->size = size;
	*ret_entry = entry_fill(&arrival->entry, rail, &arrival->op,
				&arrival->iov, 1, 0);
	return 0;
}

static int never_queued(struct fi_peer_rx_entry *entry)
{
	return -FI_ENOSYS;
}

static void take_frame(struct arrival *arrival)
{
	struct rail *rail = arrival->rail;
	struct link_ep *ep = arrival->ep;
	size_t size =
		arrival->size < arrival->room ? arrival->size : arrival->room;

	rail->late = NULL;
	if (rail_take_frame(rail, arrival->data, size) != 0) {
		rail->late = arrival;
		return;
	}
	link_lock(&ep->matching);
	arrival_free(ep, arrival);
	link_unlock(&ep->matching);
}

void shared_retry(struct rail *rail)
{
	take_frame(rail->late);
}

/* The data is in place, and the next message has not been looked at yet. */
static void free_entry(struct fi_peer_rx_entry *entry)
{
	struct op *op = entry->owner_context;
	struct arrival *arrival = (struct arrival *)op;

	if (op->kind == OP_ARRIVAL && arrival->state == ARRIVAL_FRAME)
		take_frame(arrival);
}

static struct fi_ops_srx_owner owner_ops = {
	.size = sizeof(owner_ops),
	.get_msg = get_msg,
	.get_tag = get_tag,
	.queue_msg = never_queued,
	.queue_tag = never_queued,
	.free_entry = free_entry,
};

static int srx_close(struct fid *fid)
{
	return 0;
}

static struct fi_ops srx_fid_ops = {
	.size = sizeof(srx_fid_ops),
	.close = srx_close,
	.bind = no_bind,
};

int shared_open(struct rail *rail)
{
	struct fi_rx_attr attr = { .op_flags = FI_PEER };
	struct fi_peer_srx_context context = { .size = sizeof(context),
					       .srx = &rail->shared };
	int result;

	rail->shared.owner_ops = &owner_ops;
	rail->shared.ep_fid.fid.fclass = FI_CLASS_SRX_CTX;
	rail->shared.ep_fid.fid.ops = &srx_fid_ops;
	result = fi_srx_context(rail->domain, &attr, &rail->srx, &context);
	if (result != 0)
		return result;
	if (rail->shared.peer_ops == NULL)
		return -FI_ENOSYS;
	return fi_ep_bind(rail->core, &rail->shared.ep_fid.fid, 0);
}

/* --- completions --- */

static struct message_end end_of(const struct fi_cq_tagged_entry *entry,
				 bool is_tagged, fi_addr_t source)
{
	return (struct message_end){
		.size = entry->len,
		.tag = is_tagged ? entry->tag : 0,
		.data = entry->data,
		.flags = entry->flags & FI_REMOTE_CQ_DATA,
		.source = source,
	};
}

void shared_received(struct receive *receive,
		     const struct fi_cq_tagged_entry *entry, fi_addr_t core)
{
	struct rail *rail = rail_of(receive->entry.srx);
	const struct message_end end =
		end_of(entry, receive->is_tagged, rail_source(rail, core));

	receive_done(receive, &end);
}

/* shm of 1.17 says it with the wrong sign, and EIO for what does not fit. */
void shared_failed(struct receive *receive, const struct fi_cq_err_entry *entry)
{
	const struct message_end end = { .size = receive->size,
					 .tag = entry->tag & ~LINK_UNTAGGED };
	int error = abs(entry->err);

	receive_failed(receive, &end, error == FI_EIO ? FI_ETRUNC : error,
		       entry->olen);
}

/*
 * A short message that waits does not keep a large buffer. Matching is locked.
 */
static void shrink(struct arrival *arrival)
{
	struct link_ep *ep = arrival->ep;
	struct match *match = arrival->is_tagged ? &ep->tagged : &ep->untagged;
	struct arrival *small;

	if (arrival->size > arrival->room / 2)
		return;
	small = arrival_make(ep, arrival->size);
	if (small == NULL)
		return;
	small->rail = arrival->rail;
	small->state = arrival->state;
	small->is_tagged = arrival->is_tagged;
	small->flags = arrival->flags;
	small->remote_data = arrival->remote_data;
	small->size = arrival->size;
	memcpy(small->data, arrival->data, arrival->size);
	match_replace(match, &arrival->match, &small->match);
	ep->unexpected -= arrival->room - small->room;
	arrival_free(ep, arrival);
}

void shared_arrived(struct arrival *arrival,
		    const struct fi_cq_tagged_entry *entry)
{
	struct link_ep *ep = arrival->ep;
	struct receive *receive;
	bool is_many;

	link_lock(&ep->matching);
	arrival->size = entry->len;
	arrival->flags = entry->flags & FI_REMOTE_CQ_DATA;
	arrival->remote_data = entry->data;
	arrival->state = ARRIVAL_HERE;
	receive = arrival->receive;
	is_many = receive != NULL && receive->match.stays;
	if (is_many)
		many_drain(receive);
	else if (receive == NULL)
		shrink(arrival);
	link_unlock(&ep->matching);
	if (receive != NULL && !is_many)
		receive_take(receive, arrival);
}
