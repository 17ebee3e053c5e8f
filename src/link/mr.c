/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that peers may reach: registered under one key at each rail of each
 * endpoint of the domain, also of those that are enabled later. Cores that need
 * memory of one's own registered are given ours (see rail.c), so memory that no
 * peer may reach is known to nobody.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/endpoint.h"

#define ACCESS_OF_PEERS (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ACCESS_ALL      (ACCESS_OF_PEERS | FI_SEND | FI_RECV | FI_READ | FI_WRITE)

/* What one rail knows of it. */
struct mr_slot {
	struct mr_slot *next;
	struct rail *rail;
	struct fid_mr *core;
};

struct link_mr {
	struct fid_mr fid;
	struct link_domain *domain;
	struct link_mr *prev, *next; /* of the domain's */
	struct mr_slot *slots;
	uint64_t access, key;
	size_t count;
	struct iovec iov[LINK_IOV_MAX];
};

/* --- at one rail --- */

static int slot_add(struct link_mr *mr, struct rail *rail)
{
	struct mr_slot *slot = calloc(1, sizeof(*slot));
	struct fi_mr_attr attr = { .mr_iov = mr->iov,
				   .iov_count = mr->count,
				   .access = mr->access & ACCESS_ALL,
				   .requested_key = mr->key };
	int result;

	if (slot == NULL)
		return -FI_ENOMEM;
	link_lock(&rail->lock);
	result = fi_mr_regattr(rail->domain, &attr, 0, &slot->core);
	link_unlock(&rail->lock);
	if (result != 0) {
		free(slot);
		return result;
	}
	slot->rail = rail;
	slot->next = mr->slots;
	mr->slots = slot;
	return 0;
}

static void slot_drop(struct mr_slot *slot)
{
	link_lock(&slot->rail->lock);
	fi_close(&slot->core->fid);
	link_unlock(&slot->rail->lock);
	free(slot);
}

static void slots_drop(struct link_mr *mr)
{
	for (struct mr_slot *slot = mr->slots, *next; slot != NULL;
	     slot = next) {
		next = slot->next;
		slot_drop(slot);
	}
	mr->slots = NULL;
}

static int ep_register(struct link_mr *mr, struct link_ep *ep)
{
	int result = 0;

	for (unsigned int i = 0; i < ep->rail_count && result == 0; i++)
		result = slot_add(mr, &ep->rails[i]);
	return result;
}

/* --- endpoints that come and go --- */

int mr_endpoint_comes(struct link_ep *ep)
{
	struct link_domain *domain = ep->domain;
	struct link_mr *mr;
	int result = 0;

	link_lock(&domain->memory);
	DL_FOREACH (domain->mrs, mr)
		if (result == 0)
			result = ep_register(mr, ep);
	if (result == 0)
		DL_APPEND2(domain->endpoints, ep, prev_in_domain,
			   next_in_domain);
	link_unlock(&domain->memory);
	return result;
}

static void ep_forget(struct link_mr *mr, const struct link_ep *ep)
{
	for (struct mr_slot **at = &mr->slots, *slot; (slot = *at) != NULL;)
		if (slot->rail->ep == ep) {
			*at = slot->next;
			slot_drop(slot);
		} else {
			at = &slot->next;
		}
}

void mr_endpoint_goes(struct link_ep *ep)
{
	struct link_domain *domain = ep->domain;
	struct link_mr *mr;

	link_lock(&domain->memory);
	DL_FOREACH (domain->mrs, mr)
		ep_forget(mr, ep);
	if (ep->is_enabled)
		DL_DELETE2(domain->endpoints, ep, prev_in_domain,
			   next_in_domain);
	link_unlock(&domain->memory);
}

/* --- what libfabric calls --- */

static int mr_close(struct fid *fid)
{
	struct link_mr *mr = (struct link_mr *)fid;
	struct link_domain *domain = mr->domain;

	link_lock(&domain->memory);
	if ((mr->access & ACCESS_OF_PEERS) != 0)
		DL_DELETE(domain->mrs, mr);
	slots_drop(mr);
	link_unlock(&domain->memory);
	domain_hold(domain, -1);
	free(mr);
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(mr_fid_ops),
	.close = mr_close,
	.bind = no_bind,
	.control = no_control,
	.ops_open = no_ops_open,
};

/* Keys are unique in a domain: cores may tell, and may not. */
static bool has_key(const struct link_domain *domain, uint64_t key)
{
	struct link_mr *mr;

	DL_FOREACH (domain->mrs, mr)
		if (mr->key == key)
			return true;
	return false;
}

static int mr_register(struct link_mr *mr)
{
	struct link_domain *domain = mr->domain;
	struct link_ep *ep;
	int result = 0;

	if ((mr->access & ACCESS_OF_PEERS) == 0)
		return 0;
	if (mr->key >> 8 * LINK_KEY_SIZE != 0)
		return -FI_EKEYREJECTED;
	link_lock(&domain->memory);
	if (has_key(domain, mr->key))
		result = -FI_ENOKEY;
	DL_FOREACH2(domain->endpoints, ep, next_in_domain)
	if (result == 0)
		result = ep_register(mr, ep);
	if (result == 0)
		DL_APPEND(domain->mrs, mr);
	else
		slots_drop(mr);
	link_unlock(&domain->memory);
	return result;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
		      uint64_t flags, struct fid_mr **ret_mr)
{
	struct link_domain *domain = (struct link_domain *)fid;
	struct link_mr *mr;
	int result;

	if (fid->fclass != FI_CLASS_DOMAIN || flags != 0 ||
	    attr->iov_count > LINK_IOV_MAX || attr->iov_count == 0 ||
	    attr->offset != 0)
		return -FI_EINVAL;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.mem_desc = mr;
	mr->fid.key = mr->key = attr->requested_key;
	mr->domain = domain;
	mr->access = attr->access;
	mr->count = attr->iov_count;
	memcpy(mr->iov, attr->mr_iov, attr->iov_count * sizeof(mr->iov[0]));
	result = mr_register(mr);
	if (result != 0) {
		free(mr);
		return result;
	}
	domain_hold(domain, 1);
	*ret_mr = &mr->fid;
	return 0;
}

static int mr_regv(struct fid *fid, const struct iovec *iov, size_t count,
		   uint64_t access, uint64_t offset, uint64_t key,
		   uint64_t flags, struct fid_mr **ret_mr, void *context)
{
	const struct fi_mr_attr attr = { .mr_iov = iov,
					 .iov_count = count,
					 .access = access,
					 .offset = offset,
					 .requested_key = key,
					 .context = context };

	return mr_regattr(fid, &attr, flags, ret_mr);
}

static int mr_reg(struct fid *fid, const void *buf, size_t size,
		  uint64_t access, uint64_t offset, uint64_t key,
		  uint64_t flags, struct fid_mr **ret_mr, void *context)
{
	const struct iovec iov = { (void *)buf, size };

	return mr_regv(fid, &iov, 1, access, offset, key, flags, ret_mr,
		       context);
}

struct fi_ops_mr link_mr_ops = {
	.size = sizeof(link_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
