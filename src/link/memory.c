/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory as one core wants it: some accept only what was registered for an
 * endpoint, or want descriptors of all buffers. What the program has not
 * registered is registered for as long as it is used: cores for which that is
 * expensive keep a cache of their own.
 */
#include <stdlib.h>
#include <unistd.h>

#include "link/memory.h"
#include "link/endpoint.h"
#include "link/iov.h"
#include "link/mr.h"
#include "link/slab.h"

int rail_register(struct rail *rail, const struct fi_mr_attr *attr,
		  struct fid_mr **ret_mr)
{
	struct fid_mr *mr;
	int result = fi_mr_regattr(rail->domain, attr, 0, &mr);

	if (result == 0 && (rail->mr_mode & FI_MR_ENDPOINT) != 0) {
		result = fi_mr_bind(mr, &rail->core->fid, 0);
		if (result == 0)
			result = fi_mr_enable(mr);
		if (result != 0)
			fi_close(&mr->fid);
	}
	if (result == 0)
		*ret_mr = mr;
	return result;
}

uint64_t rail_own_key(struct rail *rail)
{
	return LINK_KEY_OF_OURS |
	       __atomic_add_fetch(&rail->ep->key, 1, __ATOMIC_RELAXED);
}

int rail_register_own(struct rail *rail, void *bytes, size_t size,
		      uint64_t access, struct fid_mr **ret_mr)
{
	const struct iovec iov = { bytes, size };
	const struct fi_mr_attr attr = { .mr_iov = &iov,
					 .iov_count = 1,
					 .access = access,
					 .requested_key = rail_own_key(rail) };

	return rail_register(rail, &attr, ret_mr);
}

int rail_slab_desc(struct rail *rail, struct slab *slab, void **ret_desc)
{
	struct fid_mr **mr = &slab->mrs[rail->index];
	int result = 0;

	*ret_desc = NULL;
	if ((rail->mr_mode & FI_MR_LOCAL) == 0)
		return 0;
	if (*mr == NULL)
		result = rail_register_own(rail, slab->bytes, LINK_FRAME_SIZE,
					   FI_SEND, mr);
	if (result == 0)
		*ret_desc = fi_mr_desc(*mr);
	return result;
}

int rail_lend(struct rail *rail, const struct iovec *iov, size_t count,
	      uint64_t access, void *const *given, void **ret_descs,
	      struct lent *ret_lent)
{
	*ret_lent = (struct lent){ 0 };
	for (size_t i = 0; i < count; i++)
		ret_descs[i] = NULL;
	if ((rail->mr_mode & FI_MR_LOCAL) == 0)
		return 0;
	for (size_t i = 0; i < count; i++) {
		struct fid_mr *mr;
		int result;
		if (iov[i].iov_len == 0)
			continue;
		if (given != NULL && given[i] != NULL)
			ret_descs[i] = mr_desc_at(given[i], rail);
		if (ret_descs[i] != NULL)
			continue;
		result = rail_register_own(rail, iov[i].iov_base,
					   iov[i].iov_len, access, &mr);
		if (result != 0) {
			rail_give_back(ret_lent);
			return result;
		}
		ret_lent->mrs[ret_lent->count++] = mr;
		ret_descs[i] = fi_mr_desc(mr);
	}
	return 0;
}

void rail_give_back(struct lent *lent)
{
	while (lent->count > 0)
		fi_close(&lent->mrs[--lent->count]->fid);
}

/* --- memory that a peer reads --- */

/* At one rail. */
static int expose_at(struct rail *rail, const void *data, size_t size,
		     struct fid_mr **ret_mr, struct frame_rail *ret_where)
{
	int result;

	if (rail->way == RAIL_SHARED) {
		*ret_where = (struct frame_rail){ (uintptr_t)data,
						  (uint64_t)getpid() };
		return 0;
	}
	result = rail_register_own(rail, (void *)data, size, FI_REMOTE_READ,
				   ret_mr);
	if (result != 0)
		return result;
	ret_where->address = rail->is_virtual ? (uintptr_t)data : 0;
	ret_where->key = fi_mr_key(*ret_mr);
	return 0;
}

int expose(struct rail *rails, unsigned int count, const struct iovec *iov,
	   size_t iov_count, uint64_t flags, struct frame_rail *ret_where,
	   struct exposed *exposed)
{
	size_t size = iov_size(iov, iov_count);
	int result = 0;

	if (size == 0)
		return 0;
	exposed->data = iov[0].iov_base;
	if (iov_count > 1 || (flags & FI_INJECT) != 0) {
		exposed->data = exposed->copy = malloc(size);
		if (exposed->copy == NULL)
			return -FI_ENOMEM;
		iov_flatten(iov, iov_count, exposed->copy);
	}
	for (unsigned int i = 0; i < count && result == 0; i++)
		result = expose_at(&rails[i], exposed->data, size,
				   &exposed->mrs[i], &ret_where[i]);
	return result;
}

void exposed_hide(struct exposed *exposed)
{
	for (unsigned int i = 0; i < RAILS_MAX; i++)
		if (exposed->mrs[i] != NULL) {
			fi_close(&exposed->mrs[i]->fid);
			exposed->mrs[i] = NULL;
		}
}

void exposed_end(struct exposed *exposed)
{
	exposed_hide(exposed);
	free(exposed->copy);
	*exposed = (struct exposed){ 0 };
}
