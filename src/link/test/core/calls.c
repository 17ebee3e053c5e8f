/* SPDX-License-Identifier: BSD-3-Clause */
/* The many forms of the calls, each as the one with a message. */
#include "link/test/core/testcore.h"

static ssize_t put(struct fid_ep *ep, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t to, uint64_t tag, uint64_t data,
		   uint64_t flags, void *context)
{
	const struct fi_msg_tagged m = { .msg_iov = iov,
					 .desc = desc,
					 .iov_count = count,
					 .addr = to,
					 .tag = tag,
					 .context = context,
					 .data = data };

	return tc_send((struct tc_ep *)ep, &m, flags);
}

static ssize_t get(struct fid_ep *ep, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t from, uint64_t tag, uint64_t ignore,
		   uint64_t flags, void *context)
{
	const struct fi_msg_tagged m = { .msg_iov = iov,
					 .desc = desc,
					 .iov_count = count,
					 .addr = from,
					 .tag = tag,
					 .ignore = ignore,
					 .context = context };

	return tc_receive((struct tc_ep *)ep, &m, flags);
}

static struct fi_msg_tagged tagged_of(const struct fi_msg *m)
{
	return (struct fi_msg_tagged){ .msg_iov = m->msg_iov,
				       .desc = m->desc,
				       .iov_count = m->iov_count,
				       .addr = m->addr,
				       .context = m->context,
				       .data = m->data };
}

/* --- untagged --- */

#define UNTAGGED (FI_MSG | FI_COMPLETION)

static ssize_t msg_recvv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 void *context)
{
	return get(ep, iov, desc, count, from, 0, 0, UNTAGGED, context);
}

static ssize_t msg_recv(struct fid_ep *ep, void *buf, size_t size, void *desc,
			fi_addr_t from, void *context)
{
	const struct iovec iov = { buf, size };

	return msg_recvv(ep, &iov, &desc, 1, from, context);
}

static ssize_t msg_recvmsg(struct fid_ep *ep, const struct fi_msg *m,
			   uint64_t flags)
{
	const struct fi_msg_tagged tagged = tagged_of(m);

	return tc_receive((struct tc_ep *)ep, &tagged, flags | UNTAGGED);
}

static ssize_t msg_sendv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t to, void *context)
{
	return put(ep, iov, desc, count, to, 0, 0, UNTAGGED, context);
}

static ssize_t msg_send(struct fid_ep *ep, const void *buf, size_t size,
			void *desc, fi_addr_t to, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return msg_sendv(ep, &iov, &desc, 1, to, context);
}

static ssize_t msg_sendmsg(struct fid_ep *ep, const struct fi_msg *m,
			   uint64_t flags)
{
	const struct fi_msg_tagged tagged = tagged_of(m);

	return tc_send((struct tc_ep *)ep, &tagged, flags | UNTAGGED);
}

static ssize_t msg_inject(struct fid_ep *ep, const void *buf, size_t size,
			  fi_addr_t to)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, NULL, 1, to, 0, 0, FI_MSG | FI_INJECT, NULL);
}

static ssize_t msg_senddata(struct fid_ep *ep, const void *buf, size_t size,
			    void *desc, uint64_t data, fi_addr_t to,
			    void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, &desc, 1, to, 0, data,
		   UNTAGGED | FI_REMOTE_CQ_DATA, context);
}

static ssize_t msg_injectdata(struct fid_ep *ep, const void *buf, size_t size,
			      uint64_t data, fi_addr_t to)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, NULL, 1, to, 0, data,
		   FI_MSG | FI_INJECT | FI_REMOTE_CQ_DATA, NULL);
}

struct fi_ops_msg tc_msg_ops = {
	.size = sizeof(tc_msg_ops),
	.recv = msg_recv,
	.recvv = msg_recvv,
	.recvmsg = msg_recvmsg,
	.send = msg_send,
	.sendv = msg_sendv,
	.sendmsg = msg_sendmsg,
	.inject = msg_inject,
	.senddata = msg_senddata,
	.injectdata = msg_injectdata,
};

/* --- tagged --- */

#define TAGGED (FI_TAGGED | FI_COMPLETION)

static ssize_t tagged_recvv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t from,
			    uint64_t tag, uint64_t ignore, void *context)
{
	return get(ep, iov, desc, count, from, tag, ignore, TAGGED, context);
}

static ssize_t tagged_recv(struct fid_ep *ep, void *buf, size_t size,
			   void *desc, fi_addr_t from, uint64_t tag,
			   uint64_t ignore, void *context)
{
	const struct iovec iov = { buf, size };

	return tagged_recvv(ep, &iov, &desc, 1, from, tag, ignore, context);
}

static ssize_t tagged_recvmsg(struct fid_ep *ep, const struct fi_msg_tagged *m,
			      uint64_t flags)
{
	return tc_receive((struct tc_ep *)ep, m, flags | TAGGED);
}

static ssize_t tagged_sendv(struct fid_ep *ep, const struct iovec *iov,
			    void **desc, size_t count, fi_addr_t to,
			    uint64_t tag, void *context)
{
	return put(ep, iov, desc, count, to, tag, 0, TAGGED, context);
}

static ssize_t tagged_send(struct fid_ep *ep, const void *buf, size_t size,
			   void *desc, fi_addr_t to, uint64_t tag,
			   void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return tagged_sendv(ep, &iov, &desc, 1, to, tag, context);
}

static ssize_t tagged_sendmsg(struct fid_ep *ep, const struct fi_msg_tagged *m,
			      uint64_t flags)
{
	return tc_send((struct tc_ep *)ep, m, flags | TAGGED);
}

static ssize_t tagged_inject(struct fid_ep *ep, const void *buf, size_t size,
			     fi_addr_t to, uint64_t tag)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, NULL, 1, to, tag, 0, FI_TAGGED | FI_INJECT, NULL);
}

static ssize_t tagged_senddata(struct fid_ep *ep, const void *buf, size_t size,
			       void *desc, uint64_t data, fi_addr_t to,
			       uint64_t tag, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, &desc, 1, to, tag, data,
		   TAGGED | FI_REMOTE_CQ_DATA, context);
}

static ssize_t tagged_injectdata(struct fid_ep *ep, const void *buf,
				 size_t size, uint64_t data, fi_addr_t to,
				 uint64_t tag)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, NULL, 1, to, tag, data,
		   FI_TAGGED | FI_INJECT | FI_REMOTE_CQ_DATA, NULL);
}

struct fi_ops_tagged tc_tagged_ops = {
	.size = sizeof(tc_tagged_ops),
	.recv = tagged_recv,
	.recvv = tagged_recvv,
	.recvmsg = tagged_recvmsg,
	.send = tagged_send,
	.sendv = tagged_sendv,
	.sendmsg = tagged_sendmsg,
	.inject = tagged_inject,
	.senddata = tagged_senddata,
	.injectdata = tagged_injectdata,
};

/* --- reads and writes --- */

static ssize_t reach(struct fid_ep *ep, const struct iovec *iov, void **desc,
		     size_t count, fi_addr_t peer, uint64_t address,
		     uint64_t key, uint64_t data, uint64_t flags, void *context)
{
	const struct fi_rma_iov remote = { .addr = address, .key = key };
	const struct fi_msg_rma m = { .msg_iov = iov,
				      .desc = desc,
				      .iov_count = count,
				      .addr = peer,
				      .rma_iov = &remote,
				      .rma_iov_count = 1,
				      .context = context,
				      .data = data };

	return tc_access((struct tc_ep *)ep, &m, flags);
}

static ssize_t rma_readv(struct fid_ep *ep, const struct iovec *iov,
			 void **desc, size_t count, fi_addr_t from,
			 uint64_t address, uint64_t key, void *context)
{
	return reach(ep, iov, desc, count, from, address, key, 0,
		     FI_READ | FI_COMPLETION, context);
}

static ssize_t rma_read(struct fid_ep *ep, void *buf, size_t size, void *desc,
			fi_addr_t from, uint64_t address, uint64_t key,
			void *context)
{
	const struct iovec iov = { buf, size };

	return rma_readv(ep, &iov, &desc, 1, from, address, key, context);
}

static ssize_t rma_readmsg(struct fid_ep *ep, const struct fi_msg_rma *m,
			   uint64_t flags)
{
	return tc_access((struct tc_ep *)ep, m,
			 flags | FI_READ | FI_COMPLETION);
}

static ssize_t rma_writev(struct fid_ep *ep, const struct iovec *iov,
			  void **desc, size_t count, fi_addr_t to,
			  uint64_t address, uint64_t key, void *context)
{
	return reach(ep, iov, desc, count, to, address, key, 0,
		     FI_WRITE | FI_COMPLETION, context);
}

static ssize_t rma_write(struct fid_ep *ep, const void *buf, size_t size,
			 void *desc, fi_addr_t to, uint64_t address,
			 uint64_t key, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return rma_writev(ep, &iov, &desc, 1, to, address, key, context);
}

static ssize_t rma_writemsg(struct fid_ep *ep, const struct fi_msg_rma *m,
			    uint64_t flags)
{
	return tc_access((struct tc_ep *)ep, m,
			 flags | FI_WRITE | FI_COMPLETION);
}

static ssize_t rma_inject(struct fid_ep *ep, const void *buf, size_t size,
			  fi_addr_t to, uint64_t address, uint64_t key)
{
	const struct iovec iov = { (void *)buf, size };

	return reach(ep, &iov, NULL, 1, to, address, key, 0,
		     FI_WRITE | FI_INJECT, NULL);
}

static ssize_t rma_writedata(struct fid_ep *ep, const void *buf, size_t size,
			     void *desc, uint64_t data, fi_addr_t to,
			     uint64_t address, uint64_t key, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return reach(ep, &iov, &desc, 1, to, address, key, data,
		     FI_WRITE | FI_COMPLETION | FI_REMOTE_CQ_DATA, context);
}

static ssize_t rma_injectdata(struct fid_ep *ep, const void *buf, size_t size,
			      uint64_t data, fi_addr_t to, uint64_t address,
			      uint64_t key)
{
	const struct iovec iov = { (void *)buf, size };

	return reach(ep, &iov, NULL, 1, to, address, key, data,
		     FI_WRITE | FI_INJECT | FI_REMOTE_CQ_DATA, NULL);
}

struct fi_ops_rma tc_rma_ops = {
	.size = sizeof(tc_rma_ops),
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
