/* SPDX-License-Identifier: BSD-3-Clause */
/* The journal's rows, batches of them, and the seam by which it is kept. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

/*
 * Store: the manager's journal. Requests are carried out one after the other
 * in the order they were given, and their `done` is called in that order, from
 * the event loop and never from inside the request itself.
 */
enum store_table {
	STORE_META, /* key -> number in id: epoch, cursors, ... */
	STORE_JOB,  /* id: grant id, key: job key, body: the record */
	/*
	 * What one node of a grant has done since the grant's record was
	 * written; id: grant id, sub: the node's place in the job; body.
	 */
	STORE_PART,
	/* id: grant id, sub: order of release, key: the job's key; body */
	STORE_TOMBSTONE,
	STORE_EVENT,   /* id: grant id, sub: rising; body: one JSON line */
	STORE_NODE,    /* key: node name, body: the record */
	STORE_OUTSIDE, /* id: grant id, key: driver name, body: the record */
	STORE_TABLE_COUNT,
};

enum store_verb {
	STORE_PUT,    /* insert or replace */
	STORE_DELETE, /* absent is no error */
};

/* In a STORE_DELETE of STORE_EVENT or STORE_PART: all of the grant. */
#define STORE_SUB_ALL UINT64_MAX

struct store_row {
	enum store_table table;
	enum store_verb verb;
	uint64_t id;
	uint64_t sub;
	const char *key;  /* "" where the table has none */
	const void *body; /* NULL where the table has none */
	size_t size;      /* bytes of body */
};

struct store_batch; /* rows in order; below */

struct store_ops {
	/*
	 * Write the batch as one transaction, or as a part of one: batches
	 * that wait may be written together. result: 0 once it is on disk, or
	 * 1 when it is and the next one is, too, by the same transaction; or
	 * a negative errno when it has failed as a whole: -ENOSPC (disk full),
	 * -EIO, -EUCLEAN (the journal is damaged), -ECANCELED (an earlier one
	 * failed while this one waited, so that it may build on what is not
	 * there), -ENOBUFS (too many requests wait).
	 */
	void (*commit)(void *ctx, struct store_batch *batch_owned,
		       void (*done)(void *arg, int result), void *arg);
	/*
	 * Read the rows with this primary key: META and NODE by key, JOB and
	 * TOMBSTONE by id, PART and EVENT by id (all of the grant, in order).
	 * The rows are the store's and valid during the call; none is no
	 * error. result: 0, or -EIO, -EUCLEAN, -ENOBUFS (also: more than a
	 * batch can hold); there are no rows then.
	 */
	void (*read)(void *ctx, enum store_table table, uint64_t id,
		     const char *key,
		     void (*done)(void *arg, int result,
				  const struct store_row *rows, size_t count),
		     void *arg);
};

struct store_seam {
	const struct store_ops *ops;
	void *ctx;
};

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
