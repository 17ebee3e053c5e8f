/* SPDX-License-Identifier: BSD-3-Clause */
/* fi_send and its like: each is a message. */
#include "link/api.h"
#include "link/iov.h"
#include "link/send.h"

static ssize_t put(struct fid_ep *fid, const struct iovec *iov, size_t count,
		   fi_addr_t to, uint64_t tag, uint64_t data, uint64_t flags,
		   void *context)
{
	struct link_message message = { .iov = iov,
					.count = count,
					.to = to,
					.tag = tag,
					.data = data,
					.flags = flags,
					.context = context };

	if (count > LINK_IOV_MAX)
		return -FI_EINVAL;
	message.size = iov_size(iov, count);
	if ((flags & FI_INJECT) != 0 && message.size > LINK_INJECT_SIZE)
		return -FI_EINVAL;
	return send_message(ep_of(fid), &message);
}

/* --- untagged --- */

ssize_t link_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t to, void *context)
{
	return put(ep, iov, count, to, LINK_UNTAGGED, 0,
		   send_flags_of(ep) | FI_MSG, context);
}

ssize_t link_send(struct fid_ep *ep, const void *buf, size_t size, void *desc,
		  fi_addr_t to, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return link_sendv(ep, &iov, &desc, 1, to, context);
}

ssize_t link_sendmsg(struct fid_ep *ep, const struct fi_msg *msg,
		     uint64_t flags)
{
	return put(ep, msg->msg_iov, msg->iov_count, msg->addr, LINK_UNTAGGED,
		   msg->data, send_flags_with(ep, flags) | FI_MSG,
		   msg->context);
}

ssize_t link_senddata(struct fid_ep *ep, const void *buf, size_t size,
		      void *desc, uint64_t data, fi_addr_t to, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, 1, to, LINK_UNTAGGED, data,
		   send_flags_of(ep) | FI_MSG | FI_REMOTE_CQ_DATA, context);
}

ssize_t link_inject(struct fid_ep *ep, const void *buf, size_t size,
		    fi_addr_t to)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, 1, to, LINK_UNTAGGED, 0, FI_MSG | FI_INJECT, NULL);
}

ssize_t link_injectdata(struct fid_ep *ep, const void *buf, size_t size,
			uint64_t data, fi_addr_t to)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, 1, to, LINK_UNTAGGED, data,
		   FI_MSG | FI_INJECT | FI_REMOTE_CQ_DATA, NULL);
}

/* --- tagged --- */

ssize_t link_tsendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		    size_t count, fi_addr_t to, uint64_t tag, void *context)
{
	return put(ep, iov, count, to, tag & ~LINK_UNTAGGED, 0,
		   send_flags_of(ep) | FI_TAGGED, context);
}

ssize_t link_tsend(struct fid_ep *ep, const void *buf, size_t size, void *desc,
		   fi_addr_t to, uint64_t tag, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return link_tsendv(ep, &iov, &desc, 1, to, tag, context);
}

ssize_t link_tsendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
		      uint64_t flags)
{
	return put(ep, msg->msg_iov, msg->iov_count, msg->addr,
		   msg->tag & ~LINK_UNTAGGED, msg->data,
		   send_flags_with(ep, flags) | FI_TAGGED, msg->context);
}

ssize_t link_tsenddata(struct fid_ep *ep, const void *buf, size_t size,
		       void *desc, uint64_t data, fi_addr_t to, uint64_t tag,
		       void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, 1, to, tag & ~LINK_UNTAGGED, data,
		   send_flags_of(ep) | FI_TAGGED | FI_REMOTE_CQ_DATA, context);
}

ssize_t link_tinject(struct fid_ep *ep, const void *buf, size_t size,
		     fi_addr_t to, uint64_t tag)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, 1, to, tag & ~LINK_UNTAGGED, 0,
		   FI_TAGGED | FI_INJECT, NULL);
}

ssize_t link_tinjectdata(struct fid_ep *ep, const void *buf, size_t size,
			 uint64_t data, fi_addr_t to, uint64_t tag)
{
	const struct iovec iov = { (void *)buf, size };

	return put(ep, &iov, 1, to, tag & ~LINK_UNTAGGED, data,
		   FI_TAGGED | FI_INJECT | FI_REMOTE_CQ_DATA, NULL);
}
