/* SPDX-License-Identifier: BSD-3-Clause */
/* A store on a simulated disk, and rows that tell which batch they are of. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "lanes/manager/store/row.h"
#include "lanes/manager/store/store.h"
#include "sim/clock.h"
#include "sim/disk.h"
#include "sim/rng.h"

#define BED_DIRECTORY "/journal"

struct bed {
	struct sim_rng rng;
	struct sim_clock clock;
	struct sim_disk *disk;
	struct store_options options;
	struct store *store;
	struct fairlead_error error;
};

static inline void bed_init(struct bed *bed, uint64_t seed)
{
	memset(bed, 0, sizeof(*bed));
	sim_rng_init(&bed->rng, seed);
	sim_sqlite_seed((uint32_t)(seed % 1000000) + 1);
	bed->disk = sim_disk_create(sim_rng_seam(&bed->rng),
				    sim_clock_seam(&bed->clock));
	bed->options.files = sim_disk_files(bed->disk);
	bed->options.vfs_name = sim_disk_vfs(bed->disk);
}

static inline int bed_open(struct bed *bed)
{
	memset(&bed->error, 0, sizeof(bed->error));
	return store_open(BED_DIRECTORY, &bed->options, &bed->store,
			  &bed->error);
}

static inline void bed_close(struct bed *bed)
{
	store_close(bed->store);
	bed->store = NULL;
}

/* The process is gone, and with is_crash the power as well. */
static inline void bed_end(struct bed *bed, bool is_crash)
{
	if (is_crash)
		sim_disk_crash(bed->disk);
	else
		sim_disk_kill(bed->disk);
	store_close_abrupt(bed->store);
	bed->store = NULL;
}

static inline void bed_fini(struct bed *bed)
{
	bed_close(bed);
	sim_disk_destroy(bed->disk);
}

static inline struct store_batch *batch_new(void)
{
	return store_batch_create();
}

static inline void row_put(struct store_batch *batch, enum store_table table,
			   uint64_t id, uint64_t sub, const char *key,
			   const char *body)
{
	const struct store_row row = {
		.table = table,
		.verb = STORE_PUT,
		.id = id,
		.sub = sub,
		.key = key,
		.body = body,
		.size = body != NULL ? strlen(body) : 0,
	};

	assert_int_equal(store_batch_add(batch, &row), 0);
}

static inline void row_delete(struct store_batch *batch, enum store_table table,
			      uint64_t id, uint64_t sub, const char *key)
{
	const struct store_row row = {
		.table = table,
		.verb = STORE_DELETE,
		.id = id,
		.sub = sub,
		.key = key,
	};

	assert_int_equal(store_batch_add(batch, &row), 0);
}

/* Write and destroy. */
static inline int write_batch(struct store *store, struct store_batch *batch,
			      struct fairlead_error *error)
{
	int result = store_write(store, batch, error);

	store_batch_destroy(batch);
	return result;
}

static inline int collect(void *arg, const struct store_row *row)
{
	return store_batch_add(arg, row);
}

/* All rows of a table; the caller destroys them. */
static inline struct store_batch *scan(struct store *store,
				       enum store_table table)
{
	struct store_batch *batch = batch_new();

	assert_int_equal(store_scan(store, table, collect, batch, NULL), 0);
	return batch;
}

static inline void assert_row(const struct store_row *row, uint64_t id,
			      uint64_t sub, const char *key, const char *body)
{
	size_t size = body != NULL ? strlen(body) : 0;

	assert_int_equal(row->verb, STORE_PUT);
	assert_true(row->id == id);
	assert_true(row->sub == sub);
	assert_string_equal(row->key, key);
	assert_int_equal(row->size, size);
	if (size > 0)
		assert_memory_equal(row->body, body, size);
}
