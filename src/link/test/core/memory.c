/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory, and whether it is what the modes demand. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utlist.h>

#include "link/test/core/testcore.h"

bool tc_desc_is_good(const struct tc_domain *domain, const void *desc,
		     const void *buf, size_t size)
{
	const uint8_t *at = buf;
	struct tc_mr *mr;

	if ((domain->mr_mode & FI_MR_LOCAL) == 0 || size == 0)
		return true;
	DL_FOREACH (domain->mrs, mr)
		for (size_t i = 0; mr == desc && i < mr->count; i++) {
			const uint8_t *base = mr->iov[i].iov_base;
			if (at >= base &&
			    at + size <= base + mr->iov[i].iov_len)
				return true;
		}
	return false;
}

static uint8_t *within(const struct tc_mr *mr, uint64_t address, size_t size)
{
	bool is_virtual = (mr->domain->mr_mode & FI_MR_VIRT_ADDR) != 0;

	for (size_t i = 0; i < mr->count; i++) {
		uint64_t base = is_virtual ? (uintptr_t)mr->iov[i].iov_base : 0;
		size_t length = mr->iov[i].iov_len;
		if (address >= base && address - base <= length &&
		    size <= length - (address - base))
			return (uint8_t *)mr->iov[i].iov_base +
			       (address - base);
		if (!is_virtual)
			break;
	}
	return NULL;
}

uint8_t *tc_mr_find(const struct tc_domain *domain, uint64_t key,
		    uint64_t address, size_t size, uint64_t access)
{
	struct tc_mr *mr;

	DL_FOREACH (domain->mrs, mr)
		if (mr->fid.key == key)
			return mr->is_enabled && (mr->access & access) != 0
				       ? within(mr, address, size)
				       : NULL;
	return NULL;
}

/* Memory of which pages are not there cannot be registered where it has to be. */
static bool is_allocated(const struct iovec *iov)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uintptr_t start = (uintptr_t)iov->iov_base & ~(page - 1);
	size_t size = (uintptr_t)iov->iov_base + iov->iov_len - start;
	unsigned char *seen = malloc(size / page + 2);
	bool is_there = seen != NULL && mincore((void *)start, size, seen) == 0;

	free(seen);
	return is_there;
}

static int mr_close(struct fid *fid)
{
	struct tc_mr *mr = (struct tc_mr *)fid;

	DL_DELETE(mr->domain->mrs, mr);
	free(mr);
	return 0;
}

static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
	return other->fclass == FI_CLASS_EP ? 0 : -FI_EINVAL;
}

static int mr_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_ENABLE)
		return -FI_ENOSYS;
	((struct tc_mr *)fid)->is_enabled = true;
	return 0;
}

static struct fi_ops mr_fid_ops = {
	.size = sizeof(mr_fid_ops),
	.close = mr_close,
	.bind = mr_bind,
	.control = mr_control,
	.ops_open = tc_no_ops,
};

static bool has_key(const struct tc_domain *domain, uint64_t key)
{
	struct tc_mr *mr;

	DL_FOREACH (domain->mrs, mr)
		if (mr->fid.key == key)
			return true;
	return false;
}

static int key_take(struct tc_domain *domain, uint64_t wanted,
		    uint64_t *ret_key)
{
	if ((domain->mr_mode & FI_MR_PROV_KEY) != 0) {
		domain->next_key += UINT64_C(0x9e3779b97f4a7c15);
		*ret_key = domain->next_key;
		return 0;
	}
	*ret_key = wanted;
	return has_key(domain, wanted) ? -FI_ENOKEY : 0;
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr,
		      uint64_t flags, struct fid_mr **ret_mr)
{
	struct tc_domain *domain = (struct tc_domain *)fid;
	struct tc_mr *mr;
	uint64_t key;
	int result = tc_fault(domain, "mr");

	if (result != 0)
		return result;
	if (attr->iov_count > TC_IOV_MAX || attr->iov_count == 0 ||
	    (flags & ~FI_RMA_EVENT) != 0)
		return -FI_EINVAL;
	for (size_t i = 0; i < attr->iov_count; i++)
		if ((domain->mr_mode & FI_MR_ALLOCATED) != 0 &&
		    !is_allocated(&attr->mr_iov[i]))
			return -FI_EFAULT;
	result = key_take(domain, attr->requested_key, &key);
	if (result != 0)
		return result;
	mr = calloc(1, sizeof(*mr));
	if (mr == NULL)
		return -FI_ENOMEM;
	mr->fid.fid.fclass = FI_CLASS_MR;
	mr->fid.fid.context = attr->context;
	mr->fid.fid.ops = &mr_fid_ops;
	mr->fid.mem_desc = mr;
	mr->fid.key = key;
	mr->domain = domain;
	mr->access = attr->access;
	mr->is_enabled = (domain->mr_mode & FI_MR_ENDPOINT) == 0;
	mr->count = attr->iov_count;
	memcpy(mr->iov, attr->mr_iov, mr->count * sizeof(mr->iov[0]));
	DL_APPEND(domain->mrs, mr);
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

struct fi_ops_mr tc_mr_ops = {
	.size = sizeof(tc_mr_ops),
	.reg = mr_reg,
	.regv = mr_regv,
	.regattr = mr_regattr,
};
