/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads and writes of peers' memory: the core's, by the rail of the peer. */
#include <stdlib.h>
#include <string.h>

#include "link/api.h"
#include "link/endpoint.h"

/* One read or write; what is injected goes without. */
struct access {
	struct op op;
	struct rail *rail;
	struct access *next;      /* of those that are free */
	struct access *next_made; /* of all */
	void *context;
	uint64_t flags; /* FI_READ or FI_WRITE, FI_COMPLETION */
	void *copy;
};

static struct access *access_take(struct rail *rail)
{
	struct access *access = rail->free_accesses;

	if (access != NULL) {
		rail->free_accesses = access->next;
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

static void access_put(struct rail *rail, struct access *access)
{
	free(access->copy);
	access->copy = NULL;
	access->next = rail->free_accesses;
	rail->free_accesses = access;
}

void access_ended(struct access *access, int error)
{
	struct rail *rail = access->rail;
	struct link_ep *ep = rail->ep;
	uint64_t flags = FI_RMA | (access->flags & (FI_READ | FI_WRITE));
	bool is_read = (flags & FI_READ) != 0;

	rail->owed--;
	cntr_count(is_read ? ep->read_cntr : ep->write_cntr, error == 0);
	if (error != 0) {
		const struct fi_cq_err_entry entry = {
			.op_context = access->context,
			.flags = flags,
			.err = error,
			.prov_errno = -error,
		};
		if (ep->send_cq != NULL)
			cq_fail(ep->send_cq, &entry);
	} else if ((access->flags & FI_COMPLETION) != 0 &&
		   ep->send_cq != NULL) {
		const struct cq_entry entry = {
			.tagged = { .op_context = access->context,
				    .flags = flags },
			.source = FI_ADDR_NOTAVAIL,
		};
		cq_add(ep->send_cq, &entry);
	}
	access_put(rail, access);
}

void accesses_drop(struct rail *rail)
{
	for (struct access *a = rail->made_accesses, *next; a != NULL;
	     a = next) {
		next = a->next_made;
		free(a->copy);
		free(a);
	}
}

/* The data of what is injected may change at once: a copy is written. */
static int copy_take(struct access *access, const struct fi_msg_rma *msg,
		     struct iovec *ret_iov)
{
	uint8_t *at;
	size_t size = 0;

	for (size_t i = 0; i < msg->iov_count; i++)
		size += msg->msg_iov[i].iov_len;
	if (size > LINK_INJECT_SIZE)
		return -FI_EINVAL;
	access->copy = at = malloc(size + 1);
	if (at == NULL)
		return -FI_ENOMEM;
	for (size_t i = 0; i < msg->iov_count; i++) {
		memcpy(at, msg->msg_iov[i].iov_base, msg->msg_iov[i].iov_len);
		at += msg->msg_iov[i].iov_len;
	}
	*ret_iov = (struct iovec){ access->copy, size };
	return 0;
}

static ssize_t issue(struct rail *rail, struct access *access,
		     const struct fi_msg_rma *msg, uint64_t flags)
{
	struct fi_msg_rma of_core = *msg;
	void *descs[LINK_IOV_MAX] = { NULL };
	struct iovec copied;
	const struct peer *peer = ep_peer(rail->ep, msg->addr);
	int result;

	of_core.desc = descs;
	of_core.addr = peer->cores[rail->index];
	of_core.context = &access->op;
	if ((flags & FI_INJECT) != 0) {
		result = copy_take(access, msg, &copied);
		if (result != 0)
			return result;
		of_core.msg_iov = &copied;
		of_core.iov_count = 1;
	}
	flags = (flags & (FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE |
			  FI_TRANSMIT_COMPLETE)) |
		FI_COMPLETION;
	return (access->flags & FI_READ) != 0
		       ? fi_readmsg(rail->core, &of_core, flags)
		       : fi_writemsg(rail->core, &of_core, flags);
}

static ssize_t access_memory(struct fid_ep *fid, const struct fi_msg_rma *msg,
			     uint64_t flags)
{
	struct link_ep *ep = (struct link_ep *)fid;
	struct peer *peer = ep_peer(ep, msg->addr);
	struct access *access;
	struct rail *rail;
	ssize_t result = -FI_ENOMEM;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	if (peer == NULL || msg->iov_count > LINK_IOV_MAX ||
	    msg->rma_iov_count > LINK_IOV_MAX)
		return -FI_EINVAL;
	rail = rail_for(ep, peer);
	link_lock(&rail->lock);
	access = access_take(rail);
	if (access != NULL) {
		access->context = msg->context;
		access->flags = flags;
		result = issue(rail, access, msg, flags);
		if (result == 0)
			rail->owed++;
		else
			access_put(rail, access);
	}
	link_unlock(&rail->lock);
	if (result == -FI_EAGAIN)
		ep_progress(ep);
	return result;
}

static uint64_t flags_of(struct fid_ep *fid)
{
	const struct link_ep *ep = (const struct link_ep *)fid;

	return ep->send_flags | (ep->send_selective ? 0 : FI_COMPLETION);
}

static ssize_t access_simply(struct fid_ep *ep, const struct iovec *iov,
			     size_t count, fi_addr_t peer, uint64_t address,
			     uint64_t key, uint64_t data, uint64_t flags,
			     void *context)
{
	struct fi_rma_iov remote = { .addr = address, .key = key };
	const struct fi_msg_rma msg = { .msg_iov = iov,
					.iov_count = count,
					.addr = peer,
					.rma_iov = &remote,
					.rma_iov_count = 1,
					.context = context,
					.data = data };

	for (size_t i = 0; i < count; i++)
		remote.len += iov[i].iov_len;
	return access_memory(ep, &msg, flags);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 uint64_t address, uint64_t key, void *context)
{
	return access_simply(ep, iov, count, from, address, key, 0,
			     flags_of(ep) | FI_READ, context);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t size, void *desc,
			fi_addr_t from, uint64_t address, uint64_t key,
			void *context)
{
	const struct iovec iov = { buf, size };

	return rma_readv(ep, &iov, &desc, 1, from, address, key, context);
}

static uint64_t flags_with(struct fid_ep *fid, uint64_t flags)
{
	const struct link_ep *ep = (const struct link_ep *)fid;

	return flags | (ep->send_selective ? 0 : FI_COMPLETION);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *msg,
			   uint64_t flags)
{
	return access_memory(ep, msg, flags_with(ep, flags) | FI_READ);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t to,
			  uint64_t address, uint64_t key, void *context)
{
	return access_simply(ep, iov, count, to, address, key, 0,
			     flags_of(ep) | FI_WRITE, context);
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
	return access_memory(ep, msg, flags_with(ep, flags) | FI_WRITE);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t size,
			     void *desc, uint64_t data, fi_addr_t to,
			     uint64_t address, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return access_simply(ep, &iov, 1, to, address, key, data,
			     flags_of(ep) | FI_WRITE | FI_REMOTE_CQ_DATA,
			     context);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t size,
			  fi_addr_t to, uint64_t address, uint64_t key)
{
	const struct iovec iov = { (void *)buf, size };

	return access_simply(ep, &iov, 1, to, address, key, 0,
			     FI_WRITE | FI_INJECT, NULL);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t size,
			      uint64_t data, fi_addr_t to, uint64_t address,
			      uint64_t key)
{
	const struct iovec iov = { (void *)buf, size };

	return access_simply(ep, &iov, 1, to, address, key, data,
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
