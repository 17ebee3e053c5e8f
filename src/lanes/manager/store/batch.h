/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A batch: rows that are written as one transaction, or that were read.
 *
 * It owns copies of everything in it, in an arena that is freed at once. Rows
 * keep their order, and stay where they are until the next one is added; their
 * keys and bodies stay until the batch is destroyed. One thread at a time.
 *
 *	_auto_(store_batch_destroyp) struct store_batch *batch =
 *		store_batch_create();
 *	...
 *	result = store_batch_add(batch, &row);
 *	store_batch_foreach(batch, row)
 *		use(row);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"
#include "lanes/manager/store/row.h"

/* Above these a batch takes no more: -ENOBUFS. */
#define STORE_BATCH_ROWS_MAX  65536
#define STORE_BATCH_BYTES_MAX (64u << 20)
/*
 * From these on store_batch_is_full() tells the collector of a group commit to
 * leave what comes next to the next batch: what one event causes fits into the
 * rest for certain, and the others in the group do not wait long.
 */
#define STORE_BATCH_ROWS_FULL  4096
#define STORE_BATCH_BYTES_FULL (4u << 20)

struct store_batch;

struct store_batch *store_batch_create(void);

/*
 * Add a copy of the row, with its key (NULL is taken as "") and its body.
 * -ENOBUFS: the batch would be above a maximum, and is as it was before.
 */
int store_batch_add(struct store_batch *batch, const struct store_row *row);

size_t store_batch_count(const struct store_batch *batch);
/* Of keys and bodies together. */
size_t store_batch_bytes(const struct store_batch *batch);
bool store_batch_is_full(const struct store_batch *batch);
/* The first of store_batch_count() rows; never NULL. */
const struct store_row *store_batch_rows(const struct store_batch *batch);

#define store_batch_foreach(batch, row)                          \
	for (const struct store_row *                            \
		     row = store_batch_rows(batch),              \
		    *row##_end = row + store_batch_count(batch); \
	     row < row##_end; row++)

void store_batch_destroy(struct store_batch *batch);
DEFINE_AUTO(struct store_batch, store_batch_destroy)
