/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that peers may reach: registered under one key at each rail of each
 * endpoint of the domain, also of those that are enabled later. Memory that
 * none may reach is registered when a call gives it to a core that wants that.
 * Over shared memory frames ask for accesses, and regions are looked up here.
 */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "link/mr.h"
#include "base/hash.h"
#include "link/cntr.h"
#include "link/endpoint.h"
#include "link/iov.h"
#include "link/keys.h"
#include "link/memory.h"

#define ACCESS_OF_PEERS (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define ACCESS_ALL      (ACCESS_OF_PEERS | FI_SEND | FI_RECV | FI_READ | FI_WRITE)

/* What one rail knows of it. */
struct mr_slot {
	struct mr_slot *next;
	struct rail *rail;
	struct fid_mr *core;
	struct asker *askers; /* what the core has for it */
};

struct link_mr {
	struct fid_mr fid;
	struct link_domain *domain;
	struct link_mr *prev, *next; /* of the domain's */
	struct mr_slot *slots;       /* changed with reaching locked */
	UT_hash_handle hh;           /* of those that peers may reach: by key */
	struct link_cntr *read_cntr, *write_cntr;
	uint64_t access, key;
	unsigned int holds; /* of who reaches it; by reaching */
	size_t count;
	struct iovec iov[LINK_IOV_MAX];
};

static bool is_reachable(const struct link_mr *mr)
{
	return (mr->access & ACCESS_OF_PEERS) != 0;
}

/* --- at one rail --- */

/* The rail is locked. */
static int slot_make(struct link_mr *mr, struct rail *rail)
{
	struct mr_slot *slot = calloc(1, sizeof(*slot));
	struct fi_mr_attr attr = {
		.mr_iov = mr->iov,
		.iov_count = mr->count,
		.access = mr->access & ACCESS_ALL,
		.requested_key = is_reachable(mr) ? mr->key : rail_own_key(rail)
	};
	int result;

	if (slot == NULL)
		return -FI_ENOMEM;
	result = rail_register(rail, &attr, &slot->core);
	if (result != 0) {
		free(slot);
		return result;
	}
	slot->rail = rail;
	link_lock(&mr->domain->reaching);
	slot->next = mr->slots;
	mr->slots = slot;
	link_unlock(&mr->domain->reaching);
	return 0;
}

/* A core that wants virtual addresses has one for each part of a region. */
static int slot_add(struct link_mr *mr, struct rail *rail)
{
	int result;

	if (rail->is_virtual && mr->count > 1)
		return -FI_EINVAL; /* mr_iov_limit says so */
	link_lock(&rail->lock);
	result = slot_make(mr, rail);
	link_unlock(&rail->lock);
	return result;
}

static void slot_drop(const struct link_mr *mr, struct mr_slot *slot)
{
	struct rail *rail = slot->rail;

	link_lock(&rail->lock);
	askers_withdraw(rail, &slot->askers, mr->key);
	fi_close(&slot->core->fid);
	link_unlock(&rail->lock);
	free(slot);
}

/* Takes a slot out: one at this endpoint, or (NULL) any. */
static struct mr_slot *slot_take(struct link_mr *mr, const struct link_ep *ep)
{
	struct mr_slot **at = &mr->slots, *slot;

	link_lock(&mr->domain->reaching);
	while ((slot = *at) != NULL && ep != NULL && slot->rail->ep != ep)
		at = &slot->next;
	if (slot != NULL)
		*at = slot->next;
	link_unlock(&mr->domain->reaching);
	return slot;
}

static void slots_drop(struct link_mr *mr, const struct link_ep *ep)
{
	struct mr_slot *slot;

	while ((slot = slot_take(mr, ep)) != NULL)
		slot_drop(mr, slot);
}

static struct mr_slot *slot_at(const struct link_mr *mr,
			       const struct rail *rail)
{
	struct mr_slot *slot = mr->slots;

	while (slot != NULL && slot->rail != rail)
		slot = slot->next;
	return slot;
}

static void *desc_at(struct link_mr *mr, const struct rail *rail)
{
	struct mr_slot *slot;

	link_lock(&mr->domain->reaching);
	slot = slot_at(mr, rail);
	link_unlock(&mr->domain->reaching);
	return slot == NULL ? NULL : fi_mr_desc(slot->core);
}

void *mr_desc_at(struct link_mr *mr, struct rail *rail)
{
	void *desc = desc_at(mr, rail);

	return desc != NULL || slot_make(mr, rail) != 0 ? desc
							: desc_at(mr, rail);
}

int mr_key_at(struct link_mr *mr, const struct rail *rail, uint64_t number,
	      const uint8_t from[LINK_ADDRESS_SIZE], uint64_t *ret_key,
	      uint64_t *ret_base)
{
	struct mr_slot *slot = mr == NULL ? NULL : slot_at(mr, rail);
	int error;

	if (slot == NULL)
		return FI_EKEYREJECTED;
	error = asker_add(&slot->askers, number, from);
	if (error != 0)
		return error;
	*ret_key = fi_mr_key(slot->core);
	*ret_base = (uintptr_t)mr->iov[0].iov_base;
	return 0;
}

int mr_place_at(const struct link_mr *mr, const struct rail *rail,
		uint64_t address, struct frame_rail *ret_place)
{
	const struct mr_slot *slot = slot_at(mr, rail);
	uint64_t base = (uintptr_t)mr->iov[0].iov_base;

	if (slot == NULL)
		return FI_EKEYREJECTED;
	if (mr->domain->is_virtual)
		address -= base;
	if (rail->is_virtual)
		address += base;
	*ret_place = (struct frame_rail){ address, fi_mr_key(slot->core) };
	return 0;
}

static int ep_register(struct link_mr *mr, struct link_ep *ep)
{
	int result = 0;

	for (unsigned int i = 0; i < ep->rail_count && result == 0; i++)
		if (ep->rails[i].way != RAIL_SHARED)
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
		if (result == 0 && is_reachable(mr))
			result = ep_register(mr, ep);
	if (result == 0)
		DL_APPEND2(domain->endpoints, ep, prev_in_domain,
			   next_in_domain);
	link_unlock(&domain->memory);
	return result;
}

void mr_endpoint_goes(struct link_ep *ep)
{
	struct link_domain *domain = ep->domain;
	struct link_mr *mr;

	link_lock(&domain->memory);
	DL_FOREACH (domain->mrs, mr)
		slots_drop(mr, ep);
	if (ep->is_enabled)
		DL_DELETE2(domain->endpoints, ep, prev_in_domain,
			   next_in_domain);
	link_unlock(&domain->memory);
}

/* --- regions by their keys --- */

struct link_mr *mr_of_key(struct link_domain *domain, uint64_t key)
{
	struct link_mr *mr;

	HASH_FIND(hh, domain->by_key, &key, sizeof(key), mr);
	return mr;
}

static int mr_show(struct link_mr *mr)
{
	struct link_domain *domain = mr->domain;
	bool is_there;

	link_lock(&domain->reaching);
	HASH_ADD(hh, domain->by_key, key, sizeof(mr->key), mr);
	is_there = hash_was_added(mr);
	link_unlock(&domain->reaching);
	return is_there ? 0 : -FI_ENOMEM;
}

/* Waits for who reaches it just now. */
static void mr_hide(struct link_mr *mr)
{
	struct link_domain *domain = mr->domain;

	link_lock(&domain->reaching);
	HASH_DEL(domain->by_key, mr);
	while (mr->holds > 0) {
		link_unlock(&domain->reaching);
		sched_yield();
		link_lock(&domain->reaching);
	}
	link_unlock(&domain->reaching);
}

void mr_hold(struct link_mr *mr, int count)
{
	mr->holds += (unsigned int)count;
}

int mr_find(struct link_domain *domain, uint64_t key, uint64_t address,
	    size_t size, uint64_t access, struct iovec *iov, size_t *count,
	    struct link_mr **ret_mr)
{
	struct link_mr *mr = mr_of_key(domain, key);
	size_t all;

	if (mr == NULL)
		return FI_EKEYREJECTED;
	all = iov_size(mr->iov, mr->count);
	if (domain->is_virtual)
		address -= (uintptr_t)mr->iov[0].iov_base;
	if ((mr->access & access) != access || size > all ||
	    address > all - size)
		return FI_EACCES;
	*ret_mr = mr;
	*count += iov_slice(mr->iov, mr->count, address, size, iov);
	return 0;
}

void mr_touched(struct link_mr *mr, bool writes)
{
	if (mr != NULL)
		cntr_count(writes ? mr->write_cntr : mr->read_cntr, true);
}

/* --- what libfabric calls --- */

static void cntr_leave(struct link_cntr *cntr)
{
	if (cntr != NULL)
		endpoints_hold(&cntr->endpoints, -1);
}

static int mr_close(struct fid *fid)
{
	struct link_mr *mr = (struct link_mr *)fid;
	struct link_domain *domain = mr->domain;

	link_lock(&domain->memory);
	if (is_reachable(mr))
		mr_hide(mr);
	DL_DELETE(domain->mrs, mr);
	slots_drop(mr, NULL);
	cntr_leave(mr->read_cntr);
	cntr_leave(mr->write_cntr);
	link_unlock(&domain->memory);
	domain_hold(domain, -1);
	free(mr);
	return 0;
}

static void cntr_join(struct link_cntr **place, struct link_mr *mr,
		      struct link_cntr *cntr)
{
	cntr_leave(*place);
	set_seen(cntr->memory, mr->domain);
	endpoints_hold(&cntr->endpoints, 1);
	*place = cntr;
}

/* A counter of its own. That of an endpoint counts each access anyhow. */
static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	struct link_mr *mr = (struct link_mr *)fid;
	struct link_domain *domain = mr->domain;

	if (other->fclass == FI_CLASS_EP)
		return 0;
	if (other->fclass != FI_CLASS_CNTR || (flags & ACCESS_OF_PEERS) == 0 ||
	    (flags & ~(uint64_t)ACCESS_OF_PEERS) != 0)
		return -FI_EINVAL;
	link_lock(&domain->memory);
	link_lock(&domain->reaching);
	if ((flags & FI_REMOTE_READ) != 0)
		cntr_join(&mr->read_cntr, mr, (struct link_cntr *)other);
	if ((flags & FI_REMOTE_WRITE) != 0)
		cntr_join(&mr->write_cntr, mr, (struct link_cntr *)other);
	link_unlock(&domain->reaching);
	link_unlock(&domain->memory);
	return 0;
}

/* A region is enabled from the beginning. */
static int mr_control(struct fid *fid, int command, void *arg)
{
	return command == FI_ENABLE ? 0 : -FI_ENOSYS;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(mr_fid_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = no_ops_open,
};

static int mr_register(struct link_mr *mr)
{
	struct link_domain *domain = mr->domain;
	struct link_ep *ep;
	int result = 0;

	link_lock(&domain->memory);
	if (!is_reachable(mr)) {
		DL_APPEND(domain->mrs, mr);
		link_unlock(&domain->memory);
		return 0;
	}
	if (domain->chooses_keys)
		mr->fid.key = mr->key = ++domain->last_key;
	if (mr->key >> 8 * LINK_KEY_SIZE != 0)
		result = -FI_EKEYREJECTED;
	/* Keys are unique in a domain: cores may tell, and may not. */
	else if (mr_of_key(domain, mr->key) != NULL)
		result = -FI_ENOKEY;
	DL_FOREACH2(domain->endpoints, ep, next_in_domain)
	if (result == 0)
		result = ep_register(mr, ep);
	if (result == 0)
		result = mr_show(mr);
	if (result == 0)
		DL_APPEND(domain->mrs, mr);
	else
		slots_drop(mr, NULL);
	link_unlock(&domain->memory);
	return result;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
		      uint64_t flags, struct fid_mr **ret_mr)
{
	struct link_domain *domain = (struct link_domain *)fid;
	struct link_mr *mr;
	int result;

	if (fid->fclass != FI_CLASS_DOMAIN || (flags & ~FI_RMA_EVENT) != 0 ||
	    attr->iov_count > LINK_IOV_MAX || attr->iov_count == 0 ||
	    attr->offset != 0 || (domain->is_virtual && attr->iov_count > 1))
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
