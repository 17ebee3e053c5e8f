/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory at one core, as that wants it: some take only what was registered for
 * an endpoint, or want descriptors of all that they send from and put into. What the
 * program has not registered is registered for as long as it is used: cores for
 * which that is dear keep a cache of their own.
 */
#include "link/endpoint.h"

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
		result = rail_register_own(rail, slab->bytes,
					   sizeof(slab->bytes), FI_SEND, mr);
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
