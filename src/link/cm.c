/* SPDX-License-Identifier: BSD-3-Clause */
/* Where an endpoint is. It has no connections. */
#include <string.h>

#include "link/endpoint.h"
#include "link/format.h"
#include "link/names.h"

static int ep_getname(struct fid *fid, void *bytes, size_t *size)
{
	struct link_ep *ep = ep_of((struct fid_ep *)fid);
	uint32_t format = ep->domain->format;
	uint8_t name[LINK_ADDRESS_SIZE];
	size_t capacity = *size;

	if (!ep->is_enabled)
		return -FI_EOPBADSTATE;
	*size = format_size(format);
	format_write(format, ep->address_bytes, name);
	if (bytes != NULL)
		memcpy(bytes, name, capacity < *size ? capacity : *size);
	return capacity < *size ? -FI_ETOOSMALL : 0;
}

static int no_name(struct fid *fid, void *bytes, size_t size)
{
	return -FI_ENOSYS;
}

static int no_peer_name(struct fid_ep *ep, void *bytes, size_t *size)
{
	return -FI_ENOSYS;
}

static int no_connect(struct fid_ep *ep, const void *to, const void *data,
		      size_t size)
{
	return -FI_ENOSYS;
}

static int no_listen(struct fid_pep *pep)
{
	return -FI_ENOSYS;
}

static int no_accept(struct fid_ep *ep, const void *data, size_t size)
{
	return -FI_ENOSYS;
}

static int no_reject(struct fid_pep *pep, fid_t handle, const void *data,
		     size_t size)
{
	return -FI_ENOSYS;
}

static int no_shutdown(struct fid_ep *ep, uint64_t flags)
{
	return -FI_ENOSYS;
}

static int no_join(struct fid_ep *ep, const void *to, uint64_t flags,
		   struct fid_mc **mc, void *context)
{
	return -FI_ENOSYS;
}

struct fi_ops_cm link_cm_ops = {
	.size = sizeof(link_cm_ops),
	.setname = no_name,
	.getname = ep_getname,
	.getpeer = no_peer_name,
	.connect = no_connect,
	.listen = no_listen,
	.accept = no_accept,
	.reject = no_reject,
	.shutdown = no_shutdown,
	.join = no_join,
};
