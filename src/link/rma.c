/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of peers' memory: the core's, where one rail leads there. */
#include <stdlib.h>
#include <string.h>

#include "link/rma.h"
#include "link/cntr.h"
#include "link/cq.h"
#include "link/iov.h"
#include "link/keys.h"
#include "link/memory.h"
#include "link/names.h"
#include "link/reach.h"
#include "link/send.h"
#include "link/slab.h"

/* One read or write; what is injected goes without. */
struct link_access {
	struct link_op op;
	struct rail *rail;
	struct link_access *next;      /* of those that are free */
	struct link_access *next_made; /* of all */
	void *context;
	uint64_t flags; /* as of access_completed() */
	void *copy;
	struct awaited awaited;
	bool is_left; /* its peer has ended, and it for the program */
	bool tells;   /* the peer, what was done: */
	fi_addr_t peer;
	uint64_t key;
	struct lent lent;
	/* What the core was given, and (wanted) for which keys and offsets. */
	struct fi_msg_rma call;
	uint64_t call_flags;
	struct iovec iov[LINK_IOV_MAX];
	void *descs[LINK_IOV_MAX];
	struct fi_rma_iov wanted[LINK_IOV_MAX], ranges[LINK_IOV_MAX];
	bool is_done;  /* but its peer could not be notified yet */
	bool is_again; /* its keys were asked for again, since: */
	int error;     /* 0: and it has been given others */
};

static void try_again(struct link_access *access, int error);

static struct link_access *access_take(struct rail *rail)
{
	struct link_access *access = rail->free_accesses;

	if (access != NULL) {
		rail->free_accesses = access->next;
		access->is_left = false;
		return access;
	}
	access = calloc(1, sizeof(*access));
	if (access == NULL)
		return NULL;
	access->op.kind = OP_ACCESS;
	access->rail = rail;
	access->next_made = rail->made_accesses;
	rail->made_accesses = access;
	return access;
}

static void access_put(struct rail *rail, struct link_access *access)
{
	rail_give_back(&access->lent);
	free(access->copy);
	access->copy = NULL;
	access->awaited.is_used = false;
	access->next = rail->free_accesses;
	rail->free_accesses = access;
}

void access_completed(struct link_ep *ep, void *context, uint64_t flags,
		      int error)
{
	uint64_t kind = flags & (FI_RMA | FI_ATOMIC | FI_READ | FI_WRITE);
	bool is_read = (flags & FI_READ) != 0;

	cntr_count(is_read ? ep->read_cntr : ep->write_cntr, error == 0);
	if (error != 0) {
		const struct fi_cq_err_entry entry = {
			.op_context = context,
			.flags = kind,
			.err = error,
			.prov_errno = -error,
		};
		if (ep->send_cq != NULL)
			cq_fail(ep->send_cq, &entry);
	} else if ((flags & FI_COMPLETION) != 0 && ep->send_cq != NULL) {
		const struct cq_entry entry = {
			.tagged = { .op_context = context, .flags = kind },
			.source = FI_ADDR_NOTAVAIL,
		};
		cq_add(ep->send_cq, &entry);
	}
}

/* Cores do not count by region, and some not at all. */
int access_notify(struct rail *rail, fi_addr_t to, uint64_t key, uint64_t flags)
{
	struct peer *peer = ep_peer(rail->ep, to);
	struct link_frame frame = {
		.kind = FRAME_TOUCHED,
		.flags = (flags & FI_WRITE) != 0 ? FRAME_WRITTEN : 0,
		.sender = rail->ep->number,
		.key = key,
	};

	int result = peer == NULL || !peer->wants_events
			     ? 0
			     : rail_send_frame(rail, peer, &frame, NULL, 0,
					       NULL, true);

	if (result == -FI_ENOMEM)
		return result;
	if (result != 0)
		link_warn(EP_DATA,
			  "a peer cannot be notified of what was done to its "
			  "memory\n");
	return 0;
}

void access_ended(struct link_access *access, int error)
{
	struct rail *rail = access->rail;

	if (access->is_left) {
		access_put(rail, access);
		return;
	}
	if (error != 0 && error != LOSS_ERROR && rail->has_other_keys &&
	    !access->is_again) {
		try_again(access, error);
		return;
	}
	if (access->tells && error == 0 &&
	    access_notify(rail, access->peer, access->key, access->flags) !=
		    0) {
		access->is_done = true;
		access->next = rail->again;
		rail->again = access;
		return;
	}
	rail->expected--;
	access_completed(rail->ep, access->context, access->flags, error);
	access_put(rail, access);
}

void accesses_give_back(struct rail *rail)
{
	for (struct link_access *a = rail->made_accesses; a != NULL;
	     a = a->next_made)
		rail_give_back(&a->lent);
}

void accesses_drop(struct rail *rail)
{
	for (struct link_access *a = rail->made_accesses, *next; a != NULL;
	     a = next) {
		next = a->next_made;
		free(a->copy);
		free(a);
	}
}

/* The data of what is injected may change at once: a copy is written. */
static int copy_take(struct link_access *access, const struct fi_msg_rma *msg,
		     struct iovec *ret_iov)
{
	size_t size = iov_size(msg->msg_iov, msg->iov_count);

	access->copy = malloc(size + 1);
	if (access->copy == NULL)
		return -FI_ENOMEM;
	iov_flatten(msg->msg_iov, msg->iov_count, access->copy);
	*ret_iov = (struct iovec){ access->copy, size };
	return 0;
}

/* What the core is given, but for keys. */
static int call_fill(struct rail *rail, struct link_access *access,
		     const struct fi_msg_rma *msg, uint64_t flags)
{
	const struct peer *peer = ep_peer(rail->ep, msg->addr);
	bool is_read = (access->flags & FI_READ) != 0;
	struct fi_msg_rma *call = &access->call;
	void *const *given = msg->desc;

	*call = *msg;
	call->msg_iov = access->iov;
	call->desc = access->descs;
	call->rma_iov = access->ranges;
	call->addr = peer->cores[rail->index];
	call->context = &access->op;
	access->call_flags =
		(flags & (FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE |
			  FI_TRANSMIT_COMPLETE)) |
		(access->tells ? FI_DELIVERY_COMPLETE : 0) | FI_COMPLETION;
	if ((flags & FI_INJECT) != 0) {
		int result = copy_take(access, msg, &access->iov[0]);
		if (result != 0)
			return result;
		call->iov_count = 1;
		given = NULL;
	} else {
		memcpy(access->iov, msg->msg_iov,
		       msg->iov_count * sizeof(access->iov[0]));
	}
	return rail_lend(rail, access->iov, call->iov_count,
			 is_read ? FI_READ : FI_WRITE, given, access->descs,
			 &access->lent);
}

static ssize_t call_core(struct rail *rail, struct link_access *access)
{
	return (access->flags & FI_READ) != 0
		       ? fi_readmsg(rail->core, &access->call,
				    access->call_flags)
		       : fi_writemsg(rail->core, &access->call,
				     access->call_flags);
}

static ssize_t issue(struct rail *rail, struct link_access *access,
		     const struct fi_msg_rma *msg, uint64_t flags)
{
	struct peer *peer = ep_peer(rail->ep, msg->addr);
	ssize_t result = 0;

	access->is_again = access->is_done = false;
	memcpy(access->wanted, msg->rma_iov,
	       msg->rma_iov_count * sizeof(access->wanted[0]));
	if (rail->has_other_keys)
		result = keys_translate(rail, peer, access->wanted,
					msg->rma_iov_count, access->ranges);
	else
		memcpy(access->ranges, access->wanted, sizeof(access->ranges));
	if (result == 0)
		result = call_fill(rail, access, msg, flags);
	return result != 0 ? result : call_core(rail, access);
}

/* --- keys that are none any more --- */

/*
 * Who owns the memory may have closed it and made another of the same key, and
 * the notice of that be under way: its owner is asked once more.
 */
static void try_again(struct link_access *access, int error)
{
	struct rail *rail = access->rail;
	const struct peer *peer = ep_peer(rail->ep, access->peer);

	access->is_again = true;
	access->error = error;
	for (size_t i = 0; peer != NULL && i < access->call.rma_iov_count; i++)
		key_doubt(rail, peer->number, access->wanted[i].key,
			  access->ranges[i].key);
	access->next = rail->again;
	rail->again = access;
}

/* -FI_EAGAIN: not yet. */
static ssize_t again(struct rail *rail, struct link_access *access)
{
	struct peer *peer = ep_peer(rail->ep, access->peer);
	size_t count = access->call.rma_iov_count;
	struct fi_rma_iov ranges[LINK_IOV_MAX];
	ssize_t result;

	if (peer == NULL || peer->is_lost)
		return -LOSS_ERROR;
	result = keys_translate(rail, peer, access->wanted, count, ranges);
	if (result != 0)
		return result;
	if (access->error != 0 &&
	    memcmp(ranges, access->ranges, count * sizeof(ranges[0])) == 0)
		return -access->error;
	access->error = 0;
	memcpy(access->ranges, ranges, count * sizeof(ranges[0]));
	return call_core(rail, access);
}

void accesses_again(struct rail *rail)
{
	struct link_access *access = rail->again, *next;

	rail->again = NULL;
	for (; access != NULL; access = next) {
		next = access->next;
		if (access->is_done) {
			access_ended(access, 0);
			continue;
		}
		ssize_t result = again(rail, access);
		if (result == -FI_EAGAIN || result == -FI_ENOMEM) {
			access->next = rail->again;
			rail->again = access;
		} else if (result != 0) {
			access_ended(access, (int)-result);
		}
	}
}

/* --- peers that have ended --- */

void accesses_each_old(struct rail *rail, loss_report *report, void *arg)
{
	for (struct link_access *a = rail->made_accesses; a != NULL;
	     a = a->next_made)
		awaited_report(rail, &a->awaited, report, arg);
}

/* The core, or a request for its keys, still has it. */
void accesses_leave_of(struct rail *rail, uint64_t number, int error)
{
	for (struct link_access *a = rail->made_accesses; a != NULL;
	     a = a->next_made) {
		if (!a->awaited.is_used || a->awaited.number != number)
			continue;
		rail->expected--;
		a->awaited.is_used = false;
		a->is_left = true;
		access_completed(rail->ep, a->context, a->flags, error);
	}
}

/* --- calls --- */

/* By its owner: see reach.c. */
static ssize_t ask(struct link_ep *ep, const struct fi_msg_rma *msg,
		   uint64_t flags, size_t size)
{
	struct reach_range ranges[LINK_IOV_MAX];
	const struct reach_call call = {
		.kind = (flags & FI_READ) != 0 ? REACH_READ : REACH_WRITE,
		.to = msg->addr,
		.iov = msg->msg_iov,
		.count = msg->iov_count,
		.size = size,
		.ranges = ranges,
		.range_count = msg->rma_iov_count,
		.data = msg->data,
		.flags = flags | FI_RMA,
		.context = msg->context,
	};

	for (size_t i = 0; i < msg->rma_iov_count; i++)
		ranges[i] = (struct reach_range){ msg->rma_iov[i].addr,
						  msg->rma_iov[i].len,
						  msg->rma_iov[i].key };
	return reach_peer(ep, &call);
}

/* Bytes at both sides; they have to be as many. */
static int sizes_check(const struct fi_msg_rma *msg, uint64_t flags,
		       size_t *ret_size)
{
	size_t here, there = 0;

	if (msg->iov_count > LINK_IOV_MAX || msg->rma_iov_count == 0 ||
	    msg->rma_iov_count > LINK_IOV_MAX)
		return -FI_EINVAL;
	here = iov_size(msg->msg_iov, msg->iov_count);
	for (size_t i = 0; i < msg->rma_iov_count; i++)
		there += msg->rma_iov[i].len;
	if (here != there ||
	    ((flags & FI_INJECT) != 0 && here > LINK_INJECT_SIZE))
		return -FI_EINVAL;
	*ret_size = here;
	return 0;
}

static ssize_t access_memory(struct fid_ep *fid, const struct fi_msg_rma *msg,
			     uint64_t flags)
{
	struct link_ep *ep = ep_of(fid);
	struct peer *peer = ep_peer(ep, msg->addr);
	struct link_access *access;
	struct rail *rail;
	size_t size;
	ssize_t result = -FI_ENOMEM;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	if (peer == NULL)
		return name_refusal(ep, msg->addr);
	if (sizes_check(msg, flags, &size) != 0)
		return -FI_EINVAL;
	rail = rail_for(ep, peer);
	if (rail->way == RAIL_SHARED || peer->flow != NULL)
		return ask(ep, msg, flags, size);
	link_lock(&rail->lock);
	access = peer->is_lost ? NULL : access_take(rail);
	if (peer->is_lost)
		result = -FI_EHOSTUNREACH;
	if (access != NULL) {
		access->context = msg->context;
		access->flags = flags | FI_RMA;
		access->tells = peer->wants_events;
		access->peer = msg->addr;
		access->key = msg->rma_iov[0].key;
		access->awaited = (struct awaited){ .is_used = true,
						    .number = peer->number };
		result = issue(rail, access, msg, flags);
		if (result == 0) {
			rail->expected++;
			rail_used(rail, size);
		} else {
			access_put(rail, access);
		}
	}
	return rail_tried(rail, peer, result);
}

static ssize_t access_simply(struct fid_ep *ep, const struct iovec *iov,
			     void **desc, size_t count, fi_addr_t peer,
			     uint64_t address, uint64_t key, uint64_t data,
			     uint64_t flags, void *context)
{
	struct fi_rma_iov remote = { .addr = address, .key = key };
	const struct fi_msg_rma msg = { .msg_iov = iov,
					.desc = desc,
					.iov_count = count,
					.addr = peer,
					.rma_iov = &remote,
					.rma_iov_count = 1,
					.context = context,
					.data = data };

	if (count > LINK_IOV_MAX)
		return -FI_EINVAL;
	remote.len = iov_size(iov, count);
	return access_memory(ep, &msg, flags);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 uint64_t address, uint64_t key, void *context)
{
	return access_simply(ep, iov, desc, count, from, address, key, 0,
			     send_flags_of(ep) | FI_READ, context);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t size, void *desc,
			fi_addr_t from, uint64_t address, uint64_t key,
			void *context)
{
	const struct iovec iov = { buf, size };

	return rma_readv(ep, &iov, &desc, 1, from, address, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	return access_memory(ep, msg, send_flags_with(ep, flags) | FI_READ);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t to,
			  uint64_t address, uint64_t key, void *context)
{
	return access_simply(ep, iov, desc, count, to, address, key, 0,
			     send_flags_of(ep) | FI_WRITE, context);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t size,
			 void *desc, fi_addr_t to, uint64_t address,
			 uint64_t key, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return rma_writev(ep, &iov, &desc, 1, to, address, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
			    uint64_t flags)
{
	return access_memory(ep, msg, send_flags_with(ep, flags) | FI_WRITE);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t size,
			     void *desc, uint64_t data, fi_addr_t to,
			     uint64_t address, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return access_simply(ep, &iov, &desc, 1, to, address, key, data,
			     send_flags_of(ep) | FI_WRITE | FI_REMOTE_CQ_DATA,
			     context);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t size,
			  fi_addr_t to, uint64_t address, uint64_t key)
{
	const struct iovec iov = { (void *)buf, size };

	return access_simply(ep, &iov, NULL, 1, to, address, key, 0,
			     FI_WRITE | FI_INJECT, NULL);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t size,
			      uint64_t data, fi_addr_t to, uint64_t address,
			      uint64_t key)
{
	const struct iovec iov = { (void *)buf, size };

	return access_simply(ep, &iov, NULL, 1, to, address, key, data,
			     FI_WRITE | FI_INJECT | FI_REMOTE_CQ_DATA, NULL);
}

struct fi_ops_rma link_rma_ops = {
	.size = sizeof(link_rma_ops),
	.read = rma_read,
	.readv = rma_readv,
	.readmsg = rma_readmsg,
	.write = rma_write,
	.writev = rma_writev,
	.writemsg = rma_writemsg,
	.inject = rma_inject,
	.writedata = rma_writedata,
	.injectdata = rma_injectdata,
};
