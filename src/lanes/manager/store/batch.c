/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows are an array that doubles, bytes a chain of chunks that never move. A
 * chunk is as large as all before it together, within limits: a batch of a few
 * reservations is two allocations, one of thousands is still few.
 */
#include "lanes/manager/store/batch.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/memory.h"

#define ROWS_FIRST  128
#define CHUNK_FIRST (16u << 10)
#define CHUNK_LAST  (256u << 10)

struct store_chunk {
	struct store_chunk *next;
	size_t used;
	size_t capacity;
	char bytes[];
};

struct store_batch {
	struct store_row *rows;
	size_t count;
	size_t capacity;
	size_t bytes;
	struct store_chunk *chunks; /* the newest first */
};

struct store_batch *store_batch_create(void)
{
	struct store_batch *batch = memory_alloc(sizeof(*batch));

	batch->rows = memory_array(ROWS_FIRST, sizeof(batch->rows[0]));
	batch->capacity = ROWS_FIRST;
	return batch;
}

static void reserve_row(struct store_batch *batch)
{
	if (batch->count < batch->capacity)
		return;
	batch->capacity *= 2;
	batch->rows = memory_resize(batch->rows, batch->capacity,
				    sizeof(batch->rows[0]));
}

static void reserve_bytes(struct store_batch *batch, size_t size)
{
	struct store_chunk *chunk = batch->chunks;
	size_t capacity;

	if (chunk != NULL && chunk->capacity - chunk->used >= size)
		return;
	capacity = batch->bytes < CHUNK_FIRST  ? CHUNK_FIRST
		   : batch->bytes > CHUNK_LAST ? CHUNK_LAST
					       : batch->bytes;
	if (capacity < size)
		capacity = size;
	chunk = memory_have(malloc(sizeof(*chunk) + capacity));
	chunk->next = batch->chunks;
	chunk->used = 0;
	chunk->capacity = capacity;
	batch->chunks = chunk;
}

static char *copy_bytes(struct store_chunk *chunk, const void *bytes,
			size_t size)
{
	char *copy = chunk->bytes + chunk->used;

	memcpy(copy, bytes, size);
	chunk->used += size;
	return copy;
}

int store_batch_add(struct store_batch *batch, const struct store_row *row)
{
	const char *key = row->key != NULL ? row->key : "";
	size_t key_size = strlen(key) + 1;
	struct store_row copy = *row;
	size_t size;

	assert(row->table < STORE_TABLE_COUNT);
	assert(row->verb == STORE_PUT || row->verb == STORE_DELETE);
	if (batch->count >= STORE_BATCH_ROWS_MAX ||
	    row->size > STORE_BATCH_BYTES_MAX ||
	    key_size > STORE_BATCH_BYTES_MAX)
		return -ENOBUFS;
	size = key_size + row->size;
	if (size > STORE_BATCH_BYTES_MAX - batch->bytes)
		return -ENOBUFS;
	reserve_row(batch);
	reserve_bytes(batch, size);
	copy.key = copy_bytes(batch->chunks, key, key_size);
	copy.body = NULL;
	if (row->size > 0)
		copy.body = copy_bytes(batch->chunks, row->body, row->size);
	batch->rows[batch->count++] = copy;
	batch->bytes += size;
	return 0;
}

size_t store_batch_count(const struct store_batch *batch)
{
	return batch->count;
}

size_t store_batch_bytes(const struct store_batch *batch)
{
	return batch->bytes;
}

bool store_batch_is_full(const struct store_batch *batch)
{
	return batch->count >= STORE_BATCH_ROWS_FULL ||
	       batch->bytes >= STORE_BATCH_BYTES_FULL;
}

const struct store_row *store_batch_rows(const struct store_batch *batch)
{
	return batch->rows;
}

void store_batch_destroy(struct store_batch *batch)
{
	if (batch == NULL)
		return;
	while (batch->chunks != NULL) {
		struct store_chunk *chunk = batch->chunks;

		batch->chunks = chunk->next;
		free(chunk);
	}
	free(batch->rows);
	free(batch);
}
