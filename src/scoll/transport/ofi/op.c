/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where transfers live while libfabric has them. Ops come from chunks that are
 * kept, so that a steady state allocates nothing. An op belongs to libfabric
 * until its completion: the caller's transfer may end earlier (a provider that
 * never tells of a dead peer), and then the op stays behind and is forgotten
 * when the completion comes after all.
 */
#include "scoll/transport/ofi/internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define CHUNK_COUNT 64

/* Freed when all are. */
struct ofi_chunk {
	struct ofi_chunk *next;
	enum chunk_kind kind;
	max_align_t items[];
};

static void *chunk_alloc(struct transport_ofi *t, enum chunk_kind kind,
			 size_t item_bytes)
{
	struct ofi_chunk *chunk =
		calloc(1, sizeof(*chunk) + CHUNK_COUNT * item_bytes);

	if (chunk == NULL)
		return NULL;
	t->stats.allocation_count++;
	chunk->kind = kind;
	LL_PREPEND(t->chunks, chunk);
	return chunk->items;
}

#define FILL(t, list, kind, type)                                      \
	do {                                                           \
		type *items = chunk_alloc(t, kind, sizeof(type));      \
		for (int i = 0; items != NULL && i < CHUNK_COUNT; i++) \
			LL_PREPEND(list, &items[i]);                   \
	} while (0)

struct ofi_op *op_alloc(struct transport_ofi *t, enum ofi_op_kind kind)
{
	struct ofi_op *op;

	if (t->op_count >= TRANSPORT_OFI_OPS_MAX)
		return NULL;
	if (t->free_ops == NULL)
		FILL(t, t->free_ops, CHUNK_OPS, struct ofi_op);
	op = t->free_ops;
	if (op == NULL)
		return NULL;
	LL_DELETE(t->free_ops, op);
	memset(op, 0, sizeof(*op));
	op->head.kind = kind;
	t->op_count++;
	return op;
}

static void memory_close(struct fid_mr **mr, int count)
{
	for (int i = 0; i < count; i++) {
		if (mr[i] != NULL)
			fi_close(&mr[i]->fid);
		mr[i] = NULL;
	}
}

void op_release(struct transport_ofi *t, struct ofi_op *op)
{
	memory_close(op->mr, TRANSPORT_IOV_MAX);
	op->transfer = NULL;
	LL_PREPEND(t->free_ops, op);
	t->op_count--;
}

/*
 * tcp and net of 1.17 end a read twice when its connection is closed in the
 * middle of the answer: the second end comes at the same moment, and so before
 * the queue is empty. Until then nothing else has the op.
 */
void op_retire(struct transport_ofi *t, struct ofi_op *op)
{
	op->head.kind = OP_RETIRED;
	LL_PREPEND(t->retired_ops, op);
}

void ops_release_retired(struct transport_ofi *t)
{
	while (t->retired_ops != NULL) {
		struct ofi_op *op = t->retired_ops;

		LL_DELETE(t->retired_ops, op);
		op_release(t, op);
	}
}

struct ofi_read *read_alloc(struct transport_ofi *t)
{
	struct ofi_read *read;

	if (t->read_count >= TRANSPORT_OFI_READS_MAX)
		return NULL;
	if (t->free_reads == NULL)
		FILL(t, t->free_reads, CHUNK_READS, struct ofi_read);
	read = t->free_reads;
	if (read == NULL)
		return NULL;
	LL_DELETE(t->free_reads, read);
	memset(read, 0, sizeof(*read));
	t->read_count++;
	return read;
}

void read_release(struct transport_ofi *t, struct ofi_read *read)
{
	read->transfer = NULL;
	LL_PREPEND(t->free_reads, read);
	t->read_count--;
}

struct ofi_region *region_alloc(struct transport_ofi *t)
{
	struct ofi_region *region;

	if (t->region_count >= TRANSPORT_OFI_REGIONS_MAX)
		return NULL;
	if (t->free_regions == NULL)
		FILL(t, t->free_regions, CHUNK_REGIONS, struct ofi_region);
	region = t->free_regions;
	if (region == NULL)
		return NULL;
	LL_DELETE(t->free_regions, region);
	memset(region, 0, sizeof(*region));
	t->region_count++;
	return region;
}

void region_release(struct transport_ofi *t, struct ofi_region *region)
{
	memory_close(region->mr, region->count);
	LL_PREPEND(t->free_regions, region);
	t->region_count--;
}

struct tag_base *base_alloc(struct transport_ofi *t)
{
	struct tag_base *base;

	if (t->free_bases == NULL)
		FILL(t, t->free_bases, CHUNK_BASES, struct tag_base);
	base = t->free_bases;
	if (base == NULL)
		return NULL;
	LL_DELETE(t->free_bases, base);
	memset(base, 0, sizeof(*base));
	return base;
}

void base_release(struct transport_ofi *t, struct tag_base *base)
{
	LL_PREPEND(t->free_bases, base);
}

void pools_close(struct transport_ofi *t)
{
	struct ofi_chunk *chunk;

	LL_FOREACH (t->chunks, chunk) {
		struct ofi_op *ops = (struct ofi_op *)chunk->items;
		struct ofi_region *regions = (struct ofi_region *)chunk->items;

		for (int i = 0; i < CHUNK_COUNT; i++) {
			if (chunk->kind == CHUNK_OPS)
				memory_close(ops[i].mr, TRANSPORT_IOV_MAX);
			else if (chunk->kind == CHUNK_REGIONS)
				memory_close(regions[i].mr, regions[i].count);
		}
	}
}

void pools_stop(struct transport_ofi *t)
{
	struct ofi_chunk *chunk;

	LL_FOREACH (t->chunks, chunk) {
		struct ofi_op *ops = (struct ofi_op *)chunk->items;
		struct ofi_read *reads = (struct ofi_read *)chunk->items;

		for (int i = 0; i < CHUNK_COUNT; i++) {
			struct transfer **transfer;

			if (chunk->kind == CHUNK_OPS)
				transfer = &ops[i].transfer;
			else if (chunk->kind == CHUNK_READS)
				transfer = &reads[i].transfer;
			else
				continue;
			transfer_end(t, take_ptr(*transfer), -ECANCELED, 0);
		}
	}
}

void pools_fini(struct transport_ofi *t)
{
	struct ofi_chunk *chunk, *next;

	LL_FOREACH_SAFE (t->chunks, chunk, next)
		free(chunk);
}

void transfer_end(struct transport_ofi *t, struct transfer *transfer,
		  int result, size_t size)
{
	if (transfer == NULL)
		return;
	transfer->scratch[0] = 0; /* nothing to cancel */
	if (result < 0 && result != -ECANCELED)
		t->stats.failed_count++;
	t->event_count++;
	t->events->done(t->events_ctx, t->now_ns, transfer, result, size);
}

void op_end(struct transport_ofi *t, struct ofi_op *op, int result, size_t size)
{
	struct transfer *transfer = op->transfer;

	op_release(t, op);
	transfer_end(t, transfer, result, size);
}

int errno_of(int64_t result)
{
	switch (-result) {
	case FI_ETRUNC:
	case FI_ETOOSMALL:
		return -EMSGSIZE;
	case FI_ENOAV:
	case FI_EADDRNOTAVAIL:
		return -EHOSTUNREACH;
	default:
		/* FI_ERRNO_OFFSET and above are libfabric's own. */
		if (result >= 0 || -result >= FI_ERRNO_OFFSET)
			return -EIO;
		return (int)result;
	}
}
