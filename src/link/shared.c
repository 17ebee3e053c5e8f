/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A core that asks for each message where it goes. It asks within fi_cq_read,
 * holding locks of its own: what is decided here calls no core.
 *
 * Messages nobody expects, and frames, get a buffer of ours at once, so that
 * nothing waits in the core but what does not fit here.
 */
#include <stdlib.h>
#include <string.h>

#include "link/shared.h"
#include "link/endpoint.h"
#include "link/many.h"
#include "link/matched.h"
#include "link/slab.h"

static struct rail *rail_of(struct fid_peer_srx *srx)
{
	return container(srx, struct rail, shared);
}

/*
 * A message that does not fit, on a core that does not ask again: it
 * keeps the data, and those behind it wait here as well.
 */
struct kept {
	struct kept *next;
	struct fi_peer_rx_entry entry;
	fi_addr_t address;
	uint64_t tag;
	size_t size;
	bool is_frame;
};

/* No buffer of ours is of a core's registered memory. */
static void *no_descs[LINK_IOV_MAX];

static void entry_fill(struct fi_peer_rx_entry *entry, struct rail *rail,
		       struct link_op *op, struct iovec *iov, size_t count,
		       uint64_t flags)
{
	entry->srx = &rail->shared;
	entry->flags |= flags;
	entry->context = op;
	entry->owner_context = op;
	entry->desc = no_descs;
	entry->iov = iov;
	entry->count = count;
}

/* The entry that a core has already, or that of a place: a fresh one. */
static struct fi_peer_rx_entry *entry_of(struct fi_peer_rx_entry *has,
					 struct fi_peer_rx_entry *own)
{
	if (has != NULL)
		return has;
	*own = (struct fi_peer_rx_entry){ 0 };
	return own;
}

/*
 * A buffer for a message, or for a frame, of at most the inject size. What is
 * larger is none of ours, but shm of 1.17 never ends what does not fit.
 */
static struct arrival *buffer_take(struct rail *rail, size_t size)
{
	struct arrival *arrival = arrival_alloc(
		rail->ep, size < LINK_INJECT_SIZE ? LINK_INJECT_SIZE : size);

	if (arrival == NULL)
		return NULL;
	arrival->rail = rail;
	arrival->iov = (struct iovec){ arrival->data, arrival->capacity };
	return arrival;
}

/* --- where messages go --- */

/*
 * Finds where one goes that the program sent: a receive, or a buffer. `entry`
 * is filled; NULL: that of the receive or buffer is, and returned.
 * -FI_ENOMEM: it does not fit, and nothing has changed.
 */
static int place_message(struct rail *rail, fi_addr_t address, uint64_t tag,
			 struct fi_peer_rx_entry *entry,
			 struct fi_peer_rx_entry **ret_entry)
{
	struct link_ep *ep = rail->ep;
	bool is_tagged = (tag & LINK_UNTAGGED) == 0;
	struct match *match = is_tagged ? &ep->tagged : &ep->untagged;
	fi_addr_t source = rail_source(rail, address);
	uint64_t key = source == FI_ADDR_NOTAVAIL ? SOURCE_UNKNOWN : source;
	struct match_receive *found;
	struct receive *receive;
	struct arrival *arrival;

	tag &= ~LINK_UNTAGGED;
	link_lock(&ep->matching);
	key = source_now(ep, key, 0);
	found = ep->matched != NULL && is_tagged ? matched_first(ep, key, tag)
						 : match_first(match, key, tag);
	if (found != NULL && !found->stays) {
		match_remove(match, found);
		link_unlock(&ep->matching);
		receive = container(found, struct receive, match);
		*ret_entry = entry_of(entry, &receive->entry);
		entry_fill(*ret_entry, rail, &receive->op, receive->iov,
			   receive->count, FI_COMPLETION);
		return 0;
	}
	arrival = ep->unexpected > ep->unexpected_max && found == NULL
			  ? NULL
			  : buffer_take(rail, 0);
	if (arrival == NULL) {
		link_unlock(&ep->matching);
		return -FI_ENOMEM;
	}
	arrival->state = ARRIVAL_PENDING;
	arrival->is_tagged = is_tagged;
	arrival->match.source = key;
	arrival->match.tag = tag;
	ep->unexpected += arrival_cost(arrival);
	if (found == NULL)
		match_queue(match, &arrival->match);
	else
		many_add(container(found, struct receive, match), arrival);
	link_unlock(&ep->matching);
	*ret_entry = entry_of(entry, &arrival->entry);
	entry_fill(*ret_entry, rail, &arrival->op, &arrival->iov, 1,
		   FI_COMPLETION);
	return 0;
}

/* Untagged messages of the core are frames. */
static int place_frame(struct rail *rail, size_t size,
		       struct fi_peer_rx_entry *entry,
		       struct fi_peer_rx_entry **ret_entry)
{
	struct arrival *arrival;

	link_lock(&rail->ep->matching);
	arrival = buffer_take(rail, size);
	link_unlock(&rail->ep->matching);
	if (arrival == NULL)
		return -FI_ENOMEM;
	arrival->state = ARRIVAL_FRAME;
	arrival->size = size;
	*ret_entry = entry_of(entry, &arrival->entry);
	entry_fill(*ret_entry, rail, &arrival->op, &arrival->iov, 1, 0);
	return 0;
}

/* --- what the core asks --- */

/* Nothing goes past what waits. */
static bool has_waiting(const struct rail *rail)
{
	return rail->late != NULL || rail->kept != NULL;
}

/* It does not fit now: the result for the core, so that nothing is lost. */
static int refuse(struct rail *rail, const struct kept *what,
		  struct fi_peer_rx_entry **ret_entry)
{
	struct kept *kept;

	rail->has_refused = true;
	if (CORE_ASKS_AGAIN)
		return -FI_EAGAIN;
	kept = malloc(sizeof(*kept));
	if (kept == NULL) {
		link_warn(EP_DATA, "out of memory: a message is lost\n");
		return -FI_ENOMEM;
	}
	*kept = *what;
	kept->entry.srx = &rail->shared;
	*ret_entry = &kept->entry;
	return -FI_ENOENT;
}

static int get_tagged(struct fid_peer_srx *srx, fi_addr_t address, uint64_t tag,
		      struct fi_peer_rx_entry **ret_entry)
{
	struct rail *rail = rail_of(srx);

	if (!has_waiting(rail) &&
	    place_message(rail, address, tag, NULL, ret_entry) == 0)
		return 0;
	return refuse(rail, &(struct kept){ .address = address, .tag = tag },
		      ret_entry);
}

static int get_untagged(struct fid_peer_srx *srx, fi_addr_t address,
			size_t size, struct fi_peer_rx_entry **ret_entry)
{
	struct rail *rail = rail_of(srx);

	if (!has_waiting(rail) && place_frame(rail, size, NULL, ret_entry) == 0)
		return 0;
	return refuse(rail, &(struct kept){ .size = size, .is_frame = true },
		      ret_entry);
}

PEER_DEFINE_GET(get_tag, tag, get_tagged)
PEER_DEFINE_GET(get_msg, msg_size, get_untagged)

/* The core has what was refused. */
static int queue_kept(struct fi_peer_rx_entry *entry)
{
	struct kept *kept = container(entry, struct kept, entry);
	struct rail *rail = rail_of(entry->srx);

	if (rail->kept == NULL)
		rail->kept = kept;
	else
		rail->kept_last->next = kept;
	rail->kept_last = kept;
	return 0;
}

static void take_frame(struct arrival *arrival)
{
	struct rail *rail = arrival->rail;
	struct link_ep *ep = arrival->ep;
	size_t size = arrival->size < arrival->capacity ? arrival->size
							: arrival->capacity;

	rail->late = NULL;
	if (rail_take_frame(rail, arrival->data, size) != 0) {
		rail->late = arrival;
		return;
	}
	rail->taken++;
	link_lock(&ep->matching);
	arrival_free(ep, arrival);
	link_unlock(&ep->matching);
}

/* Has the core put one there that it keeps; false without space. */
static bool kept_start(struct rail *rail, struct kept *kept)
{
	const struct fi_ops_srx_peer *core = rail->shared.peer_ops;
	struct fi_peer_rx_entry *entry;
	int result =
		kept->is_frame
			? place_frame(rail, kept->size, &kept->entry, &entry)
			: place_message(rail, kept->address, kept->tag,
					&kept->entry, &entry);

	if (result != 0)
		return false;
	rail->kept = kept->next;
	/* What has the size of an injection is there when this returns. */
	if (kept->is_frame)
		core->start_msg(entry);
	else
		core->start_tag(entry);
	free(kept);
	return true;
}

void shared_retry(struct rail *rail)
{
	if (rail->late != NULL)
		take_frame(rail->late);
	while (rail->late == NULL && rail->kept != NULL &&
	       kept_start(rail, rail->kept))
		;
}

void shared_drop(struct rail *rail)
{
	for (struct kept *kept = rail->kept, *next; kept != NULL; kept = next) {
		next = kept->next;
		free(kept);
	}
	rail->kept = NULL;
}

#if BUILD_IS_AT_LEAST(1, 19)
static void rename_kept(struct fid_peer_srx *srx,
			fi_addr_t (*address_of)(struct fi_peer_rx_entry *))
{
	for (struct kept *kept = rail_of(srx)->kept; kept != NULL;
	     kept = kept->next)
		kept->address = address_of(&kept->entry);
}
#endif

/* The data is in place, and the next message has not been looked at yet. */
static void free_entry(struct fi_peer_rx_entry *entry)
{
	struct link_op *op = entry->owner_context;
	struct arrival *arrival = (struct arrival *)op;

	if (op == NULL) {
		/* The core could not keep it after all. */
		free(container(entry, struct kept, entry));
		return;
	}
	if (op->kind == OP_ARRIVAL && arrival->state == ARRIVAL_FRAME)
		take_frame(arrival);
}

static struct fi_ops_srx_owner owner_ops = {
	.size = sizeof(owner_ops),
	.get_msg = get_msg,
	.get_tag = get_tag,
	.queue_msg = queue_kept,
	.queue_tag = queue_kept,
	PEER_RENAMES(rename_kept).free_entry = free_entry,
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
	/* 1.17 returns none, and takes ours. */
	return fi_ep_bind(rail->core,
			  rail->srx != NULL ? &rail->srx->fid
					    : &rail->shared.ep_fid.fid,
			  0);
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

void shared_received(struct rail *rail, struct receive *receive,
		     const struct fi_cq_tagged_entry *entry, fi_addr_t core)
{
	const struct message_end end =
		end_of(entry, receive->is_tagged,
		       source_address(rail_source(rail, core)));

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

	if (arrival->size > arrival->capacity / 2)
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
	ep->unexpected -= arrival->capacity - small->capacity;
	arrival_free(ep, arrival);
}

/* It was larger than what peers send: what came of it is nothing. */
void shared_arrival_failed(struct arrival *arrival)
{
	if (arrival->state != ARRIVAL_PENDING)
		return;
	link_warn(EP_DATA, "a message that no peer of this link sends\n");
	shared_arrived(arrival, &(struct fi_cq_tagged_entry){ 0 });
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
