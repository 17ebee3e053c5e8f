/* SPDX-License-Identifier: BSD-3-Clause */
/* The store of a test bed: rows in memory, and commits that wait to be ended. */
#include "bed_internal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/store/row.h"

/* Do they have one primary key, or is `by` about all events of a grant? */
static bool is_covered(const struct store_row *row, const struct store_row *by)
{
	if (row->table != by->table)
		return false;
	switch (by->table) {
	case STORE_META:
	case STORE_NODE:
		return strcmp(row->key, by->key) == 0;
	case STORE_EVENT:
	case STORE_PART:
		return row->id == by->id &&
		       (by->sub == STORE_SUB_ALL || row->sub == by->sub);
	default:
		return row->id == by->id;
	}
}

static void row_destroy(struct bed *bed, struct bed_row *entry)
{
	DL_DELETE(bed->journal, entry);
	free((char *)entry->row.key);
	free((void *)entry->row.body);
	free(entry);
}

static void remove_rows(struct bed *bed, const struct store_row *row)
{
	struct bed_row *entry;
	struct bed_row *next;

	DL_FOREACH_SAFE (bed->journal, entry, next) {
		if (is_covered(&entry->row, row))
			row_destroy(bed, entry);
	}
}

static int by_primary_key(struct bed_row *a, struct bed_row *b)
{
	if (a->row.id != b->row.id)
		return a->row.id < b->row.id ? -1 : 1;
	if (a->row.sub != b->row.sub)
		return a->row.sub < b->row.sub ? -1 : 1;
	return strcmp(a->row.key, b->row.key);
}

static void apply_row(struct bed *bed, const struct store_row *row)
{
	struct bed_row *entry;
	uint8_t *body;

	remove_rows(bed, row);
	if (row->verb == STORE_DELETE)
		return;
	entry = calloc(1, sizeof(*entry));
	body = malloc(row->size + 1);
	if (row->size > 0)
		memcpy(body, row->body, row->size);
	entry->row = *row;
	entry->row.key = strdup(row->key);
	entry->row.body = body;
	DL_INSERT_INORDER(bed->journal, entry, by_primary_key);
}

static void on_commit(void *ctx, struct store_batch *batch_owned,
		      void (*done)(void *arg, int result), void *arg)
{
	struct bed *bed = ctx;

	assert_true(bed->commit_count < 64);
	assert_true(store_batch_count(batch_owned) > 0);
	bed->commits[bed->commit_count++] = (struct bed_commit){
		.batch = batch_owned,
		.done = done,
		.arg = arg,
	};
}

static void on_read(void *ctx, enum store_table table, uint64_t id,
		    const char *key,
		    void (*done)(void *arg, int result,
				 const struct store_row *rows, size_t count),
		    void *arg)
{
	struct bed *bed = ctx;

	assert_int_equal(table, STORE_EVENT);
	assert_in_range(bed->read_count, 0, 7);
	bed->reads[bed->read_count++] = (struct bed_read){
		.id = id,
		.done = done,
		.arg = arg,
	};
	if (!bed->holds_reads)
		bed_read_one(bed);
}

void bed_read_one(struct bed *bed)
{
	struct bed_read read = bed->reads[0];
	struct store_row rows[256];
	struct bed_row *entry;
	size_t count = 0;

	assert_true(bed->read_count > 0);
	bed->read_count--;
	memmove(bed->reads, bed->reads + 1,
		bed->read_count * sizeof(bed->reads[0]));
	DL_FOREACH (bed->journal, entry) {
		if (entry->row.table == STORE_EVENT &&
		    entry->row.id == read.id && count < 256)
			rows[count++] = entry->row;
	}
	read.done(read.arg, 0, rows, count);
}

const struct store_ops bed_store_ops = {
	.commit = on_commit,
	.read = on_read,
};

void bed_commit_one(struct bed *bed, int result)
{
	struct bed_commit commit;

	assert_true(bed->commit_count > 0);
	commit = bed->commits[0];
	bed->commit_count--;
	memmove(bed->commits, bed->commits + 1,
		bed->commit_count * sizeof(commit));
	if (result >= 0) {
		store_batch_foreach(commit.batch, row) apply_row(bed, row);
	}
	store_batch_destroy(commit.batch);
	commit.done(commit.arg, result);
}

void bed_commit(struct bed *bed)
{
	while (bed->commit_count > 0)
		bed_commit_one(bed, 0);
}

void bed_store_fini(struct bed *bed)
{
	while (bed->journal != NULL)
		row_destroy(bed, bed->journal);
}
