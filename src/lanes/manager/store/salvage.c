/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery from a damaged journal: it is moved away, and what can be read of
 * it is taken over into a new one. A row that does not match its digest is
 * left behind, and a table whose structure is damaged ends there. The manager
 * then counts everything as used until its nodes have reported, so a missing
 * job is found again at the nodes; what is saved spares its key and its log.
 *
 * Until the new journal has an epoch of its own it is half made, and says so;
 * a start that finds it so takes everything over once more.
 */
#include "lanes/manager/store/internal.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/manager/store/row.h"

#define UNFINISHED UINT64_MAX /* as an epoch, which none ever is */

/* The name of a damaged journal tells the epoch in which it was moved. */
static int damaged_path(struct store *store, char **ret_path,
			struct fairlead_error *ret_error)
{
	struct fairlead_error error;
	uint64_t epoch = 0;
	int result = store_epoch_file_read(store, &epoch, &error);

	if (result < 0 && result != -EUCLEAN) {
		if (ret_error != NULL)
			*ret_error = error;
		return result;
	}
	*ret_path = memory_format("%s.damaged-%" PRIu64, store->journal_path,
				  epoch);
	return 0;
}

static bool is_there(const struct store *store, const char *path)
{
	const struct file_seam *files = &store->files;
	char byte;

	return files->ops->load(files->ctx, path, &byte, sizeof(byte)) !=
	       -ENOENT;
}

/*
 * The tables before the log: a log that is left alone is dropped by SQLite,
 * tables that are left alone may look whole.
 */
static int journal_move(struct store *store, const char *path, bool is_log_only,
			struct fairlead_error *ret_error)
{
	static const char *const suffixes[] = { "", "-wal" };
	const struct file_seam *files = &store->files;

	for (size_t i = is_log_only; i < sizeof(suffixes) / sizeof(suffixes[0]);
	     i++) {
		char from[PATH_MAX];
		char to[PATH_MAX];
		int result;

		snprintf(from, sizeof(from), "%s%s", store->journal_path,
			 suffixes[i]);
		snprintf(to, sizeof(to), "%s%s", path, suffixes[i]);
		result = files->ops->rename(files->ctx, from, to);
		if (result < 0 && result != -ENOENT)
			return store_file_fault(result, "rename", from,
						ret_error);
	}
	return 0;
}

int store_set_aside(struct store *store, char **ret_path,
		    struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = NULL;
	int result = damaged_path(store, &path, ret_error);

	if (result == 0)
		result = journal_move(store, path, false, ret_error);
	if (result == 0)
		*ret_path = take_ptr(path);
	return result;
}

int store_set_aside_end(struct store *store, struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = NULL;
	int result;

	if (is_there(store, store->journal_path))
		return 0;
	result = damaged_path(store, &path, ret_error);
	if (result < 0 || !is_there(store, path))
		return result;
	return journal_move(store, path, true, ret_error);
}

int store_set_aside_half(struct store *store, struct fairlead_error *ret_error)
{
	_auto_(freep) char *path =
		memory_format("%s.unfinished", store->journal_path);

	return journal_move(store, path, false, ret_error);
}

struct marks {
	uint64_t recovering, epoch;
};

static int on_recovering(void *arg, const struct store_row *row)
{
	((struct marks *)arg)->recovering = row->id;
	return 0;
}

static int on_epoch(void *arg, const struct store_row *row)
{
	((struct marks *)arg)->epoch = row->id;
	return 0;
}

/* The note of salvage_begin(), or nothing; what cannot be read may be one. */
static bool may_be_half(struct store *store)
{
	struct marks marks = { 0 };

	if (store_read(store, STORE_META, 0, STORE_META_RECOVERING,
		       on_recovering, &marks, NULL) < 0 ||
	    store_read(store, STORE_META, 0, STORE_META_EPOCH, on_epoch, &marks,
		       NULL) < 0)
		return store->is_recovery;
	return marks.recovering == UNFINISHED ||
	       (store->is_recovery && marks.recovering == 0 &&
		marks.epoch == 0);
}

int store_salvage_origin(struct store *store, char **ret_path,
			 struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = NULL;
	int result = 0;

	if (may_be_half(store))
		result = damaged_path(store, &path, ret_error);
	if (result < 0)
		return result;
	*ret_path =
		path != NULL && is_there(store, path) ? take_ptr(path) : NULL;
	return 0;
}

struct salvage {
	struct store *store; /* the new one */
	struct store_batch *batch;
	uint64_t saved_count;
	int result; /* of writing; reading may fail, that is why we are here */
	struct fairlead_error *error;
};

static int salvage_write(struct salvage *salvage)
{
	salvage->result =
		store_write(salvage->store, salvage->batch, salvage->error);
	salvage->saved_count += store_batch_count(salvage->batch);
	store_batch_destroy(salvage->batch);
	salvage->batch = store_batch_create();
	return salvage->result;
}

static int salvage_row(void *arg, const struct store_row *row)
{
	struct salvage *salvage = arg;

	if (row->table == STORE_META &&
	    strcmp(row->key, STORE_META_RECOVERING) == 0)
		return 0;
	salvage->result = store_batch_add(salvage->batch, row);
	if (salvage->result == 0 && store_batch_is_full(salvage->batch))
		salvage_write(salvage);
	return salvage->result;
}

/*
 * Before anything else is there: a crash must not make this a whole journal.
 * The recovery's epoch is not known yet, and not one that a node has seen.
 */
static int salvage_begin(struct salvage *salvage)
{
	const struct store_row row = {
		.table = STORE_META,
		.verb = STORE_PUT,
		.id = UNFINISHED,
		.key = STORE_META_RECOVERING,
	};

	salvage->batch = store_batch_create();
	store_batch_add(salvage->batch, &row);
	return salvage_write(salvage);
}

static int salvage_tables(struct salvage *salvage, struct store *damaged)
{
	int result = salvage_begin(salvage);

	for (int table = 0; result == 0 && table < STORE_TABLE_COUNT; table++) {
		store_scan(damaged, (enum store_table)table, salvage_row,
			   salvage, NULL);
		result = salvage->result;
	}
	return result < 0 ? result : salvage_write(salvage);
}

int store_salvage(struct store *store, const char *path, const char *vfs_name,
		  struct fairlead_error *ret_error)
{
	struct store damaged = {
		.journal_path = (char *)path,
		.is_salvaged = true,
	};
	struct salvage salvage = { .store = store, .error = ret_error };
	int result;

	if (store_connect(&damaged, vfs_name, NULL) == 0)
		store_run(&damaged, "PRAGMA locking_mode=EXCLUSIVE");
	result = salvage_tables(&salvage, &damaged);
	store_disconnect(&damaged, true);
	store_batch_destroy(salvage.batch);
	if (result < 0)
		return result;
	store->notice = memory_format(
		"the journal was damaged and is now '%s'; %" PRIu64
		" rows of it could be saved, %" PRIu64 " could not",
		path, salvage.saved_count - 1, damaged.skipped_count);
	return 0;
}
