/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory: ours for peers, and reads of theirs. Each piece of memory has a
 * registration and a key of its own, which is random, since a provider in
 * software gives the memory to whoever knows the key. A read is cut where a
 * piece ends on either side; it ends when no part of it is with libfabric.
 */
#include "scoll/transport/ofi/internal.h"

#include <string.h>

#define KEY_TRIES 8

int memory_register(struct transport_ofi *t, const void *bytes, size_t size,
		    uint64_t access, struct fid_mr **ret_mr)
{
	const struct fi_domain_attr *domain = t->info->domain_attr;
	uint64_t mask = UINT64_MAX;
	struct fid_mr *mr = NULL;
	int result = -FI_ENOKEY;

	if (domain->mr_key_size < sizeof(mask))
		mask = (UINT64_C(1) << 8 * domain->mr_key_size) - 1;
	for (int i = 0; result == -FI_ENOKEY && i < KEY_TRIES; i++)
		result = fi_mr_reg(t->domain, bytes, size, access, 0,
				   rng_u64(&t->rng) & mask, 0, &mr, NULL);
	if (result == 0 && (domain->mr_mode & FI_MR_ENDPOINT) != 0) {
		result = fi_mr_bind(mr, &t->ep->fid, 0);
		if (result == 0)
			result = fi_mr_enable(mr);
		if (result != 0)
			fi_close(&mr->fid);
	}
	if (result != 0)
		return errno_of(result);
	*ret_mr = mr;
	return 0;
}

int region_open(void *ctx, const struct iovec *pieces, int count,
		struct region *ret_region, struct remote_piece *ret_pieces)
{
	struct transport_ofi *t = ctx;
	uint64_t access = ret_pieces != NULL ? FI_REMOTE_READ : FI_READ;
	bool is_registered = ret_pieces != NULL || t->has_local_memory;
	struct ofi_region *region;
	size_t size = 0;

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (count < 1 || count > SCOLL_BULK_IOVS_MAX)
		return -EINVAL;
	region = region_alloc(t);
	if (region == NULL)
		return -ENOMEM;
	for (int i = 0; i < count; i++) {
		int result = 0;

		region->iov[i] = pieces[i];
		region->count = i + 1;
		if (pieces[i].iov_len > SIZE_MAX - size)
			result = -EINVAL;
		else if (is_registered && pieces[i].iov_len > 0)
			result = memory_register(t, pieces[i].iov_base,
						 pieces[i].iov_len, access,
						 &region->mr[i]);
		if (result < 0) {
			region_release(t, region);
			return result;
		}
		size += pieces[i].iov_len;
	}
	for (int i = 0; ret_pieces != NULL && i < count; i++) {
		uint64_t address = 0;

		if ((t->info->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0)
			address = (uint64_t)(uintptr_t)pieces[i].iov_base;
		ret_pieces[i] = (struct remote_piece){
			.address = address,
			.key = region->mr[i] != NULL ? fi_mr_key(region->mr[i])
						     : 0,
			.size = pieces[i].iov_len,
		};
	}
	*ret_region = (struct region){ .handle = region, .size = size };
	return 0;
}

void region_close(void *ctx, struct region *region)
{
	if (region->handle != NULL)
		region_release(ctx, region->handle);
	region->handle = NULL;
}

static void finish(struct transport_ofi *t, struct ofi_read *read)
{
	struct transfer *transfer = read->transfer;
	int result = read->result;
	size_t size = result == 0 ? read->size : 0;

	peer_unuse(t, read->peer);
	read_release(t, read);
	transfer_end(t, transfer, result, size);
}

/* The piece that holds the offset; the rest of the offset is in *offset. */
static int remote_locate(const struct ofi_read *read, uint64_t *offset)
{
	int i = 0;

	while (i < read->remote_count - 1 && *offset >= read->remote[i].size)
		*offset -= read->remote[i++].size;
	return i;
}

static int local_locate(const struct ofi_region *region, uint64_t *offset)
{
	int i = 0;

	while (i < region->count - 1 && *offset >= region->iov[i].iov_len)
		*offset -= region->iov[i++].iov_len;
	return i;
}

/* Ask for the next piece. 0, -EAGAIN, or why not at all. */
static int piece_post(struct transport_ofi *t, struct ofi_read *read)
{
	const struct ofi_region *local = read->region->handle;
	uint64_t remote_at = read->remote_offset;
	uint64_t local_at = read->local_offset;
	const struct remote_piece *remote =
		&read->remote[remote_locate(read, &remote_at)];
	int i = local_locate(local, &local_at);
	uint8_t *bytes = (uint8_t *)local->iov[i].iov_base + local_at;
	void *desc = local->mr[i] != NULL ? fi_mr_desc(local->mr[i]) : NULL;
	size_t size = read->left;
	struct ofi_op *op;
	ssize_t result;

	if (size > remote->size - remote_at)
		size = remote->size - remote_at;
	if (size > local->iov[i].iov_len - local_at)
		size = local->iov[i].iov_len - local_at;
	op = op_alloc(t, OP_READ);
	if (op == NULL)
		return -EAGAIN;
	op->read = read;
	op->peer = read->peer;
	op->order = t->read_last++;
	result = fi_read(t->ep, bytes, size, desc, read->peer->at,
			 remote->address + remote_at, remote->key,
			 &op->head.context);
	t->is_unread = true;
	if (result < 0) {
		op_release(t, op);
		return result == -FI_EAGAIN ? -EAGAIN : errno_of(result);
	}
	DL_APPEND(read->peer->posted, op);
	read->peer->is_connected = true;
	read->under_way++;
	read->remote_offset += size;
	read->local_offset += size;
	read->left -= size;
	return 0;
}

static int pieces_post(struct transport_ofi *t, struct ofi_read *read)
{
	int result = 0;

	while (result == 0 && read->left > 0)
		result = piece_post(t, read);
	return result;
}

int read_push(struct transport_ofi *t, struct ofi_read *read)
{
	int result = pieces_post(t, read);

	if (result == -EAGAIN)
		return result;
	DL_DELETE(read->peer->reads, read);
	read->is_waiting = false;
	if (result < 0) {
		read->left = 0;
		read->result = result;
	}
	if (read->under_way == 0)
		finish(t, read);
	return 0;
}

void read_fail(struct transport_ofi *t, struct ofi_read *read, int result)
{
	if (read->result == 0)
		read->result = result;
	if (read->is_waiting)
		DL_DELETE(read->peer->reads, read);
	read->is_waiting = false;
	read->left = 0;
	if (read->under_way == 0)
		finish(t, read);
}

void read_piece_ended(struct transport_ofi *t, struct ofi_op *op, int result)
{
	struct ofi_read *read = op->read;

	DL_DELETE(op->peer->posted, op);
	if (result < 0)
		op_retire(t, op);
	else
		op_release(t, op);
	read->under_way--;
	if (result < 0) {
		read->peer->is_connected = false;
		read_fail(t, read, result == -ECANCELED ? -ECONNRESET : result);
	} else if (!read->is_waiting && read->under_way == 0) {
		finish(t, read);
	}
}

static bool is_inside(const struct remote_piece *remote, int count,
		      uint64_t offset, size_t size)
{
	uint64_t total = 0;

	for (int i = 0; i < count; i++) {
		if (remote[i].size > UINT64_MAX - total)
			return false;
		total += remote[i].size;
	}
	return offset <= total && size <= total - offset;
}

int read_start(void *ctx, scoll_nid_t from, const struct remote_piece *remote,
	       int remote_count, uint64_t remote_offset,
	       const struct region *region, uint64_t local_offset, size_t size,
	       struct transfer *transfer)
{
	struct transport_ofi *t = ctx;
	struct ofi_peer *peer = peer_find(t, from);
	struct ofi_read *read;
	int result = -EAGAIN;

	if (t->is_stopped)
		return -ESHUTDOWN;
	if (remote_count < 1 || remote_count > SCOLL_BULK_IOVS_MAX ||
	    size == 0 || region->handle == NULL ||
	    !is_inside(remote, remote_count, remote_offset, size) ||
	    local_offset > region->size || size > region->size - local_offset)
		return -EINVAL;
	if (peer == NULL)
		return -EHOSTUNREACH;
	read = read_alloc(t);
	if (read == NULL)
		return -EAGAIN;
	read->transfer = transfer;
	read->peer = peer;
	read->region = region;
	read->remote_count = remote_count;
	read->remote_offset = remote_offset;
	read->local_offset = local_offset;
	read->size = size;
	read->left = size;
	memcpy(read->remote, remote, (size_t)remote_count * sizeof(remote[0]));
	transfer->scratch[0] = 0;
	peer_use(t, peer);
	if (peer->pending == NULL && peer->reads == NULL)
		result = pieces_post(t, read);
	if (result == -EAGAIN) {
		read->is_waiting = true;
		DL_APPEND(peer->reads, read);
		peer_refused(t, peer);
	} else if (result < 0 && read->under_way == 0) {
		peer_unuse(t, peer);
		read_release(t, read);
		return result;
	} else if (result < 0) {
		read->left = 0;
		read->result = result;
	}
	return 0;
}
