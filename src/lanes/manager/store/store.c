/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Opening and closing: the lock first, then the journal and its checks, then
 * the epoch. What fails to open is left as it was found: its log is not
 * brought into the tables.
 */
#include "lanes/manager/store/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/memory.h"

#define DIRECTORY_MAX 4000 /* bytes of its name; SQLite takes no more either */

static int lock_directory(struct store *store, const char *directory,
			  struct fairlead_error *ret_error)
{
	const struct file_seam *files = &store->files;
	_auto_(freep) char *path = memory_format("%s/lock", directory);
	char who[32] = "";
	uint64_t holder = 0;
	int result;

	result = files->ops->make_directory(files->ctx, directory);
	if (result < 0)
		return store_file_fault(result, "make", directory, ret_error);
	result = files->ops->lock(files->ctx, path, &store->lock, &holder);
	if (result != -EBUSY)
		return result < 0 ? store_file_fault(result, "lock", path,
						     ret_error)
				  : 0;
	if (holder != 0)
		snprintf(who, sizeof(who), " (process %" PRIu64 ")", holder);
	return error_set(ret_error, -EBUSY,
			 "another manager%s has the journal directory '%s': "
			 "stop it, or give this one a directory of its own",
			 who, directory);
}

int store_connect(struct store *store, const char *vfs_name,
		  struct fairlead_error *ret_error)
{
	int result =
		sqlite3_open_v2(store->journal_path, &store->db,
				SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
					SQLITE_OPEN_EXRESCODE,
				vfs_name);

	return result == SQLITE_OK
		       ? 0
		       : store_fault(store, result, "open", ret_error);
}

void store_disconnect(struct store *store, bool is_abrupt)
{
	store_statements_finalize(store);
	if (store->db != NULL && is_abrupt)
		sqlite3_db_config(store->db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE,
				  1, NULL);
	sqlite3_close(store->db);
	store->db = NULL;
}

static int journal_open(struct store *store,
			const struct store_options *options,
			struct fairlead_error *ret_error)
{
	const struct file_seam *files = &store->files;
	int result;

	result = files->ops->make_file(files->ctx, store->journal_path);
	if (result < 0)
		return store_file_fault(result, "make", store->journal_path,
					ret_error);
	result = store_connect(store, options->vfs_name, ret_error);
	if (result == 0)
		result = store_schema_open(store, options->checkpoint_pages,
					   ret_error);
	if (result < 0)
		return result;
	return options->is_recovery ? store_check(store, ret_error)
				    : store_schema_check(store, ret_error);
}

/*
 * An operator's start, with what can be read if not all of it can; or one that
 * finds such a start cut short.
 */
static int journal_recover(struct store *store,
			   const struct store_options *options, bool is_damaged,
			   struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = NULL;
	int result = store_salvage_origin(store, &path, ret_error);

	if (result < 0 || (path == NULL && !is_damaged))
		return result;
	if (is_damaged) {
		store_disconnect(store, true);
		result = path == NULL ? store_set_aside(store, &path, ret_error)
				      : store_set_aside_half(store, ret_error);
		if (result == 0)
			result = journal_open(store, options, ret_error);
	}
	if (result == 0)
		result = store_salvage(store, path, options->vfs_name,
				       ret_error);
	return result;
}

static int open_all(struct store *store, const char *directory,
		    const struct store_options *options,
		    struct fairlead_error *ret_error)
{
	struct fairlead_error error;
	int result;

	if (strlen(directory) > DIRECTORY_MAX)
		return error_set(ret_error, -ENAMETOOLONG,
				 "journal directory '%.100s...' has too long a "
				 "name",
				 directory);
	store->journal_path = memory_format("%s/journal.db", directory);
	store->epoch_path = memory_format("%s/epoch", directory);
	result = lock_directory(store, directory, ret_error);
	if (result < 0)
		return result;
	if (options->is_recovery)
		result = store_set_aside_end(store, &error);
	if (result == 0)
		result = journal_open(store, options, &error);
	if (result == 0 || (result == -EUCLEAN && options->is_recovery))
		result = journal_recover(store, options, result < 0, &error);
	if (result == 0)
		result = store_epoch_open(store, &error);
	if (result < 0 && ret_error != NULL)
		*ret_error = error;
	return result;
}

int store_open(const char *directory, const struct store_options *options,
	       struct store **ret_store, struct fairlead_error *ret_error)
{
	struct store *store = memory_alloc(sizeof(*store));
	int result;

	store->files = options->files;
	store->is_recovery = options->is_recovery;
	result = open_all(store, directory, options, ret_error);
	if (result < 0)
		store_close_abrupt(store);
	else
		*ret_store = store;
	return result;
}

static int take_nothing(void *arg, const struct store_row *row)
{
	return 0;
}

int store_check(struct store *store, struct fairlead_error *ret_error)
{
	int result = store_schema_check_all(store, ret_error);

	for (int table = 0; result == 0 && table < STORE_TABLE_COUNT; table++)
		result = store_scan(store, (enum store_table)table,
				    take_nothing, NULL, ret_error);
	return result;
}

const char *store_notice(const struct store *store)
{
	return store->notice;
}

static void store_free(struct store *store, bool is_abrupt)
{
	if (store == NULL)
		return;
	store_disconnect(store, is_abrupt);
	if (store->lock != NULL)
		store->files.ops->unlock(store->files.ctx, store->lock);
	free(store->journal_path);
	free(store->epoch_path);
	free(store->notice);
	free(store);
}

void store_close(struct store *store)
{
	store_free(store, false);
}

void store_close_abrupt(struct store *store)
{
	store_free(store, true);
}
