/* SPDX-License-Identifier: BSD-3-Clause */
/* The entries of fi_ops_msg and fi_ops_tagged; see fi_msg(3), fi_tagged(3). */
#pragma once

#include "link/compat.h"

ssize_t link_recv(struct fid_ep *ep, void *buf, size_t size, void *desc,
		  fi_addr_t source, void *context);
ssize_t link_recvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t source, void *context);
ssize_t link_recvmsg(struct fid_ep *ep, const struct fi_msg *msg,
		     uint64_t flags);
ssize_t link_trecv(struct fid_ep *ep, void *buf, size_t size, void *desc,
		   fi_addr_t source, uint64_t tag, uint64_t ignore,
		   void *context);
ssize_t link_trecvv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		    size_t count, fi_addr_t source, uint64_t tag,
		    uint64_t ignore, void *context);
ssize_t link_trecvmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
		      uint64_t flags);

ssize_t link_send(struct fid_ep *ep, const void *buf, size_t size, void *desc,
		  fi_addr_t to, void *context);
ssize_t link_sendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		   size_t count, fi_addr_t to, void *context);
ssize_t link_sendmsg(struct fid_ep *ep, const struct fi_msg *msg,
		     uint64_t flags);
ssize_t link_senddata(struct fid_ep *ep, const void *buf, size_t size,
		      void *desc, uint64_t data, fi_addr_t to, void *context);
ssize_t link_inject(struct fid_ep *ep, const void *buf, size_t size,
		    fi_addr_t to);
ssize_t link_injectdata(struct fid_ep *ep, const void *buf, size_t size,
			uint64_t data, fi_addr_t to);
ssize_t link_tsend(struct fid_ep *ep, const void *buf, size_t size, void *desc,
		   fi_addr_t to, uint64_t tag, void *context);
ssize_t link_tsendv(struct fid_ep *ep, const struct iovec *iov, void **desc,
		    size_t count, fi_addr_t to, uint64_t tag, void *context);
ssize_t link_tsendmsg(struct fid_ep *ep, const struct fi_msg_tagged *msg,
		      uint64_t flags);
ssize_t link_tsenddata(struct fid_ep *ep, const void *buf, size_t size,
		       void *desc, uint64_t data, fi_addr_t to, uint64_t tag,
		       void *context);
ssize_t link_tinject(struct fid_ep *ep, const void *buf, size_t size,
		     fi_addr_t to, uint64_t tag);
ssize_t link_tinjectdata(struct fid_ep *ep, const void *buf, size_t size,
			 uint64_t data, fi_addr_t to, uint64_t tag);
