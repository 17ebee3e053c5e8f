/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager's journal: SQLite in DIRECTORY/journal.db, with DIRECTORY/epoch
 * and DIRECTORY/lock beside it (doc/rfc/journals.md).
 *
 * A store is open in one process at a time and used by one thread at a time.
 * Everything here blocks on the disk; worker.h is the seam for an event loop.
 *
 * Life cycle: store_open, store_scan of each table, store_epoch_begin, then
 * store_write and store_read in any order, store_close.
 *
 * What a write promises. 0: the batch is on disk, also after a power cut. An
 * error: nothing of the batch is in the journal. When it was the disk's sync
 * that failed, the batch may still lie whole in SQLite's log, where a restart
 * would find it; so a write is made at once that buries it, and if that fails
 * too, the next one that succeeds does.
 *
 * Damage. Each row carries a checksum; the structure of the tables that a
 * start reads is checked by store_open, that of the events by store_check. A
 * damaged journal gives -EUCLEAN, never a wrong row.
 *
 * Errors, with a text that says what to do (ret_error may be NULL):
 * -ENOSPC: the disk is full; -EIO: it failed; -EUCLEAN: the journal is
 * damaged; -EROFS, -EACCES: it cannot be written; -EBUSY: another program has
 * it. After each of them the store may be used on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/seam.h"
#include "lanes/manager/store/row.h"

struct store;

/* Keys of STORE_META. The epoch is written by store_epoch_begin() only. */
#define STORE_META_EPOCH      "epoch"
#define STORE_META_RECOVERING "recovering" /* see journals.md */

struct store_options {
	struct file_seam files;
	const char *vfs_name; /* of SQLite; NULL: its default, the system's */
	/* The log goes into the tables at so many pages; 0: a good number. */
	unsigned int checkpoint_pages;
	/*
	 * An operator has asked to start from what there is. An old journal is
	 * taken as it is; a damaged one is moved to journal.db.damaged-N (N:
	 * the last epoch), and what can be read of it goes into a new one, in
	 * which STORE_META_RECOVERING is set before anything else is there.
	 */
	bool is_recovery;
};

/*
 * Open the journal, and make or upgrade it where needed. Its directory is
 * made, not the one above. options is copied; the seam's context has to
 * outlive the store.
 *
 * Besides the errors above: -EBUSY: another manager has the directory (the
 * text names its process); -ESTALE: the journal is older than the epoch file,
 * so that it was restored from a backup; -EOPNOTSUPP: a newer Fairlead made
 * it; -EINVAL: it is a database, but no journal; -ENAMETOOLONG; -ENOENT.
 */
int store_open(const char *directory, const struct store_options *options,
	       struct store **ret_store, struct fairlead_error *ret_error);

/* A notice for the operator about the opening; NULL: none. */
const char *store_notice(const struct store *store);

/* The epoch of the last start; 0 when there was none. */
uint64_t store_epoch(const struct store *store);

/*
 * Begin an epoch: higher than all before and higher than `above` (0, or what
 * nodes have reported). It is on disk when this returns; nothing may be sent
 * under it before. The first one of a recovery also becomes
 * STORE_META_RECOVERING; a later one does not begin the recovery again.
 */
int store_epoch_begin(struct store *store, uint64_t above, uint64_t *ret_epoch,
		      struct fairlead_error *ret_error);

/*
 * Write the rows of the batch, in order, as one transaction. -EINVAL: an id
 * above INT64_MAX in another table than META (the text names the row). An
 * empty batch is written at once.
 */
int store_write(struct store *store, const struct store_batch *batch,
		struct fairlead_error *ret_error);
/* The same with the rows of several batches, in their order. */
int store_write_all(struct store *store,
		    const struct store_batch *const *batches, size_t count,
		    struct fairlead_error *ret_error);

/*
 * Takes one row, which is valid during the call. Anything but 0 ends the
 * reading and is returned from it. It must not call the store.
 */
typedef int (*store_row_fn)(void *arg, const struct store_row *row);

/*
 * Read the rows with this primary key: META and NODE by key, JOB and TOMBSTONE
 * by id, PART and EVENT by id (all of the grant, in order). The other one of id
 * and key is ignored. None is no error.
 */
int store_read(struct store *store, enum store_table table, uint64_t id,
	       const char *key, store_row_fn row_fn, void *arg,
	       struct fairlead_error *ret_error);

/* Read a whole table in the order of its primary key. */
int store_scan(struct store *store, enum store_table table, store_row_fn row_fn,
	       void *arg, struct fairlead_error *ret_error);

/* Check everything, also the events. Reads the whole journal. */
int store_check(struct store *store, struct fairlead_error *ret_error);

/* Bring the log into the tables and close. NULL is allowed. */
void store_close(struct store *store);
/* Close as a killed process does, for simulation: the log stays as it is. */
void store_close_abrupt(struct store *store);
