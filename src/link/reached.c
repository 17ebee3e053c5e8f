/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What peers ask to be done to memory of ours. It is done while the frame is
 * taken in, so that all that one peer asks is done in its order; and with
 * reaching locked, so that what other rails and threads do does not come in
 * between, and a region is not closed meanwhile. What takes a system call takes
 * long: for that its regions are held instead. The result goes when the core is
 * done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "link/av.h"
#include "link/cntr.h"
#include "link/cq.h"
#include "link/iov.h"
#include "link/keys.h"
#include "link/mr.h"
#include "link/reach.h"
#include "link/stripes.h"
#include "link/unlisted.h"
#include "base/le.h"

#define PLACES_MAX (REACH_RANGES_MAX * LINK_IOV_MAX)

_Static_assert((int)ATOMIC_UINT128 == (int)FI_UINT128 &&
		       (int)ATOMIC_LONG_DOUBLE_COMPLEX ==
			       (int)FI_LONG_DOUBLE_COMPLEX &&
		       (int)ATOMIC_MSWAP == (int)FI_MSWAP &&
		       (int)ATOMIC_READ == (int)FI_ATOMIC_READ,
	       "numbers of types and operations are libfabric's");

struct link_answer {
	struct link_answer *next;
	struct link_frame frame;
	uint64_t number;
	uint8_t from[LINK_ADDRESS_SIZE];
	uint8_t data[REACH_DATA_MAX];
};

/* What is asked, and where that is here. */
struct link_work {
	const struct reach *reach;
	struct iovec iov[PLACES_MAX];
	size_t count;
	struct link_mr *mrs[REACH_RANGES_MAX];
};

/* --- doing it: each returns 0 or a positive errno --- */

/*
 * Copies to or from the asking process's memory, as much at a time as it can.
 */
static int copy_between(struct link_work *work)
{
	const struct reach *reach = work->reach;
	struct iovec there[REACH_RANGES_MAX];
	struct iovec *local = work->iov, *remote = there;
	size_t locals = work->count, remotes = reach->place_count;
	size_t left = reach_size(reach);

	for (size_t i = 0; i < remotes; i++)
		there[i] = (struct iovec){
			(void *)(uintptr_t)reach->places[i].address,
			reach->places[i].size
		};
	while (left > 0) {
		ssize_t part =
			reach->kind == REACH_READ
				? process_vm_writev((pid_t)reach->process,
						    local, locals, remote,
						    remotes, 0)
				: process_vm_readv((pid_t)reach->process, local,
						   locals, remote, remotes, 0);
		if (part <= 0)
			return part < 0 ? errno : FI_EIO;
		iov_skip(&local, &locals, (size_t)part);
		iov_skip(&remote, &remotes, (size_t)part);
		left -= (size_t)part;
	}
	return 0;
}

/* A value lies within one part of a region: nobody reckons with half of one. */
static int do_atomic(const struct link_work *work, uint8_t *before)
{
	const struct reach *reach = work->reach;
	size_t size = reach_value_size(reach), done = 0;
	const uint8_t *compares = reach->operands + reach_size(reach);
	bool is_wanted = reach->kind != REACH_ATOMIC;

	for (size_t i = 0; i < work->count; i++)
		if (work->iov[i].iov_len % size != 0)
			return FI_EINVAL;
	for (size_t i = 0; i < work->count; i++) {
		const struct iovec *part = &work->iov[i];
		atomic_apply(reach->type, reach->op, part->iov_base,
			     reach->operands + done, compares + done,
			     is_wanted ? before + done : NULL,
			     part->iov_len / size);
		done += part->iov_len;
	}
	return 0;
}

/* Where the asking peer reads it. */
static int tell_where(struct link_ep *ep, const struct link_work *work,
		      uint8_t *ret_data)
{
	const struct reach *reach = work->reach;
	struct frame_rail place;
	int error = 0;

	for (unsigned int i = 0; i < reach->range_count; i++)
		for (unsigned int k = 0; k < reach->rail_count; k++) {
			error = mr_place_at(work->mrs[i], fabric_rail(ep, k),
					    reach->ranges[i].address, &place);
			if (error != 0)
				return error;
			le_put64(ret_data, place.address);
			le_put64(ret_data + 8, place.key);
			ret_data += REACH_WHERE_SIZE;
		}
	return 0;
}

static int do_short(struct rail *rail, struct link_work *work,
		    uint8_t *ret_data)
{
	const struct reach *reach = work->reach;

	if (reach->kind > REACH_WRITE)
		return do_atomic(work, ret_data);
	if (reach->rail_count > 0)
		return reach->kind == REACH_READ
			       ? tell_where(rail->ep, work, ret_data)
			       : 0;
	if (reach->kind == REACH_READ)
		iov_flatten(work->iov, work->count, ret_data);
	else
		iov_put(work->iov, work->count, reach->operands,
			reach->operand_size);
	return 0;
}

/* Reaching is not locked meanwhile. */
static int do_long(struct link_domain *domain, struct link_work *work)
{
	unsigned int count = work->reach->range_count;
	int error;

	for (unsigned int i = 0; i < count; i++)
		mr_hold(work->mrs[i], 1);
	link_unlock(&domain->reaching);
	error = copy_between(work);
	link_lock(&domain->reaching);
	for (unsigned int i = 0; i < count; i++)
		mr_hold(work->mrs[i], -1);
	return error;
}

static uint64_t access_wanted(const struct reach *reach)
{
	switch (reach->kind) {
	case REACH_READ:
		return FI_REMOTE_READ;
	case REACH_WRITE:
	case REACH_ATOMIC:
		return FI_REMOTE_WRITE;
	default:
		return reach->op == ATOMIC_READ
			       ? FI_REMOTE_READ
			       : FI_REMOTE_READ | FI_REMOTE_WRITE;
	}
}

/*
 * Places that cost a system call each way are for those who share memory; over
 * one fabric rail the core reads and writes.
 */
static bool is_allowed(const struct rail *rail, const struct reach *reach)
{
	if (reach->kind > REACH_WRITE || rail->way == RAIL_SHARED)
		return reach->rail_count == 0;
	return has_flows(rail) && reach->place_count == 0 &&
	       (reach->rail_count == 0 ||
		reach->rail_count == rail->ep->flows->count);
}

static int work_find(struct link_domain *domain, struct link_work *work)
{
	const struct reach *reach = work->reach;

	for (unsigned int i = 0; i < reach->range_count; i++) {
		const struct reach_range *range = &reach->ranges[i];
		size_t size = range->count * reach_value_size(reach);
		int error =
			mr_find(domain, range->key, range->address, size,
				access_wanted(reach), work->iov + work->count,
				&work->count, &work->mrs[i]);
		if (error != 0)
			return error;
	}
	return 0;
}

/* --- notifying the program --- */

static bool is_write(const struct reach *reach)
{
	return reach->kind == REACH_WRITE || reach->kind == REACH_ATOMIC;
}

static void events_count(struct link_ep *ep, const struct link_work *work)
{
	bool writes = is_write(work->reach);

	cntr_count(writes ? ep->remote_write_cntr : ep->remote_read_cntr, true);
	for (unsigned int i = 0; i < work->reach->range_count; i++)
		mr_touched(work->mrs[i], writes);
}

/* Remote data of a write. */
static void word_take(struct link_ep *ep, uint64_t sender,
		      const struct reach *reach)
{
	const struct cq_entry entry = {
		.tagged = { .flags = FI_REMOTE_CQ_DATA |
				     (reach->kind <= REACH_WRITE ? FI_RMA
								 : FI_ATOMIC) |
				     (is_write(reach) ? FI_REMOTE_WRITE
						      : FI_REMOTE_READ),
			    .len = reach_size(reach),
			    .data = reach->data },
		.source = av_find(ep->av, sender),
	};

	if ((reach->flags & REACH_HAS_DATA) != 0 && ep->receive_cq != NULL)
		cq_add(ep->receive_cq, &entry);
}

/* --- a large write, which is read by several rails --- */

struct link_store {
	struct stripes stripes;
	struct stripes_part part;
	struct reach reach;
	uint32_t request;
	bool is_counted; /* it is all there, but for who wrote it */
};

/* The region may have been closed meanwhile. */
static int store_put(struct stripes *stripes, uint64_t offset,
		     const uint8_t *bytes, size_t size)
{
	const struct link_store *store =
		container(stripes, struct link_store, stripes);
	struct link_domain *domain = stripes->ep->domain;
	const struct reach_range *range = store->reach.ranges;
	int error = 0;

	link_lock(&domain->reaching);
	for (; size > 0 && error == 0; range++) {
		struct iovec iov[LINK_IOV_MAX];
		struct link_mr *mr;
		size_t count = 0, part;
		if (offset >= range->count) {
			offset -= range->count;
			continue;
		}
		part = range->count - offset < size ? range->count - offset
						    : size;
		error = mr_find(domain, range->key, range->address + offset,
				part, FI_REMOTE_WRITE, iov, &count, &mr);
		if (error == 0)
			iov_put(iov, count, bytes, part);
		bytes += part;
		size -= part;
		offset = 0;
	}
	link_unlock(&domain->reaching);
	return error;
}

static void store_count(struct link_ep *ep, const struct reach *reach)
{
	struct link_domain *domain = ep->domain;

	cntr_count(ep->remote_write_cntr, true);
	link_lock(&domain->reaching);
	for (unsigned int i = 0; i < reach->range_count; i++)
		mr_touched(mr_of_key(domain, reach->ranges[i].key), true);
	link_unlock(&domain->reaching);
}

static int store_end(struct stripes *stripes)
{
	struct link_store *store =
		container(stripes, struct link_store, stripes);
	struct link_ep *ep = stripes->ep;
	struct flow *flow = stripes->flow;
	struct link_frame frame = { .kind = FRAME_RESULT,
				    .sender = ep->number,
				    .request = store->request,
				    .error = stripes->error };
	int result;

	if (stripes->error == 0 && !store->is_counted) {
		store_count(ep, &store->reach);
		word_take(ep, stripes->number, &store->reach);
		store->is_counted = true;
	}
	result = flow == NULL || flow->order.is_lost
			 ? -FI_EHOSTUNREACH
			 : flow_send(flow, &frame, NULL, 0, NULL, true);
	if (result == -FI_ENOMEM)
		return result;
	if (result != 0)
		link_warn(EP_DATA,
			  "a peer cannot be notified that its write is "
			  "done\n");
	free(store);
	return 0;
}

static void store_drop(struct stripes *stripes)
{
	free(container(stripes, struct link_store, stripes));
}

static bool is_store(const struct reach *reach)
{
	return reach->kind == REACH_WRITE && reach->rail_count > 0;
}

/* -FI_ENOMEM: not now. */
static int store_start(struct link_ep *ep, const struct link_frame *frame,
		       const struct reach *reach)
{
	static const struct stripes_use use = { store_put, store_end,
						store_drop };
	struct link_store *store = calloc(1, sizeof(*store));

	if (store == NULL)
		return -FI_ENOMEM;
	store->reach = *reach;
	store->request = frame->request;
	store->part.size = reach_size(reach);
	memcpy(store->part.rails, reach->rails, sizeof(store->part.rails));
	store->stripes = (struct stripes){ .use = &use,
					   .ep = ep,
					   .number = frame->sender,
					   .parts = &store->part,
					   .size = store->part.size };
	stripes_start(&store->stripes);
	return 0;
}

/* --- taking it in --- */

static struct link_answer *answer_take(struct rail *rail)
{
	struct link_answer *answer = rail->free_answers;

	if (answer == NULL)
		return malloc(sizeof(*answer));
	rail->free_answers = answer->next;
	return answer;
}

static void answer_put(struct rail *rail, struct link_answer *answer)
{
	answer->next = rail->free_answers;
	rail->free_answers = answer;
}

static int work_do(struct rail *rail, const struct reach *reach,
		   uint8_t *ret_data)
{
	struct link_domain *domain = rail->ep->domain;
	struct link_work work = { .reach = reach };
	int error;

	if (!is_allowed(rail, reach))
		return FI_EOPNOTSUPP;
	link_lock(&domain->reaching);
	error = work_find(domain, &work);
	if (error == 0 && reach->place_count > 0)
		error = do_long(domain, &work);
	else if (error == 0)
		error = do_short(rail, &work, ret_data);
	if (error == 0 && reach->rail_count == 0)
		events_count(rail->ep, &work);
	link_unlock(&domain->reaching);
	return error;
}

int reached(struct rail *rail, const struct link_frame *frame)
{
	struct reach reach;
	struct link_answer *answer;
	int error;

	if (reach_decode(frame->payload, frame->size, &reach) != 0) {
		link_warn(EP_DATA, "what is asked to be done to memory is "
				   "nothing that there is: left out\n");
		return 0;
	}
	answer = answer_take(rail);
	if (answer == NULL)
		return -FI_ENOMEM;
	error = reach.kind == REACH_KEY
			? key_answer(rail, frame, &reach, answer->data)
			: work_do(rail, &reach, answer->data);
	if (error == 0 && is_store(&reach)) {
		answer_put(rail, answer);
		return store_start(rail->ep, frame, &reach);
	}
	if (error == 0)
		word_take(rail->ep, frame->sender, &reach);
	answer->frame = (struct link_frame){
		.kind = FRAME_RESULT,
		.sender = rail->ep->number,
		.request = frame->request,
		.error = error,
		.size = error == 0 ? reach_result_size(&reach) : 0,
	};
	answer->number = frame->sender;
	memcpy(answer->from, reach.from, sizeof(answer->from));
	answer->next = NULL;
	*rail->answers_end = answer;
	rail->answers_end = &answer->next;
	return 0;
}

void reached_answer(struct rail *rail)
{
	struct link_answer *answer;

	while ((answer = rail->answers) != NULL) {
		const struct iovec data = { answer->data, answer->frame.size };
		struct peer *peer;
		int result = ep_peer_or_unlisted(rail, answer->number,
						 answer->from, &peer);
		if (result == 0)
			result = peer->is_lost ? -FI_EHOSTUNREACH
					       : rail_send_frame(rail, peer,
								 &answer->frame,
								 &data, 1, NULL,
								 true);
		if (result == -FI_ENOMEM)
			return;
		if (result != 0)
			link_warn(EP_DATA,
				  "a peer cannot be sent the result "
				  "of what it asked: %s\n",
				  fi_strerror(-result));
		rail->answers = answer->next;
		if (rail->answers == NULL)
			rail->answers_end = &rail->answers;
		answer_put(rail, answer);
	}
}

void answers_drop(struct rail *rail)
{
	struct link_answer *lists[] = { rail->answers, rail->free_answers };

	for (size_t i = 0; i < 2; i++)
		for (struct link_answer *a = lists[i], *next; a != NULL;
		     a = next) {
			next = a->next;
			free(a);
		}
}

/* --- what a peer did by its core --- */

void touched(struct rail *rail, const struct link_frame *frame)
{
	struct link_ep *ep = rail->ep;
	struct link_domain *domain = ep->domain;
	bool writes = (frame->flags & FRAME_WRITTEN) != 0;

	cntr_count(writes ? ep->remote_write_cntr : ep->remote_read_cntr, true);
	link_lock(&domain->reaching);
	mr_touched(mr_of_key(domain, frame->key), writes);
	link_unlock(&domain->reaching);
}
