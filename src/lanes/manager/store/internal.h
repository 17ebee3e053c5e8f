/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the store's files. */
#pragma once

#include <sqlite3.h>

#include "lanes/manager/store/store.h"

/* The statements of one table; prepared when they are first used. */
enum statement {
	STATEMENT_PUT,
	STATEMENT_DELETE,
	STATEMENT_DELETE_ALL, /* STORE_SUB_ALL */
	STATEMENT_READ,
	STATEMENT_SCAN,
	STATEMENT_COUNT,
};

struct store {
	struct file_seam files;
	void *lock;
	char *journal_path;
	char *epoch_path;
	uint64_t epoch;
	char *notice;     /* NULL: none */
	bool is_recovery; /* an operator's start */
	bool is_salvaged; /* rows that do not match their digest are skipped */
	uint64_t skipped_count;
	sqlite3 *db;
	sqlite3_stmt *statements[STORE_TABLE_COUNT][STATEMENT_COUNT];
};

/* fault.c: the errno of a SQLite result; what failed is `action`. */
int store_fault(struct store *store, int result, const char *action,
		struct fairlead_error *ret_error);
/* The same of the file seam's errors. Returns code. */
int store_file_fault(int code, const char *action, const char *path,
		     struct fairlead_error *ret_error);
/* -EUCLEAN with what is wrong and what to do. */
int store_damaged(struct store *store, struct fairlead_error *ret_error,
		  const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* schema.c: set up the connection, make, check and upgrade the schema. */
int store_schema_open(struct store *store, unsigned int checkpoint_pages,
		      struct fairlead_error *ret_error);
/* Check the structure of what a start reads. */
int store_schema_check(struct store *store, struct fairlead_error *ret_error);
/* Check the structure of everything. */
int store_schema_check_all(struct store *store,
			   struct fairlead_error *ret_error);
/* Write one page, so that something has been written. SQLite's result. */
int store_schema_touch(struct store *store);

/* row.c: run SQL that gives no rows. SQLite's result. */
int store_run(struct store *store, const char *sql);
void store_statements_finalize(struct store *store);

/* store.c: connect to the file that journal_path names. */
int store_connect(struct store *store, const char *vfs_name,
		  struct fairlead_error *ret_error);
/* is_abrupt: the log stays as it is. Also when it is not connected. */
void store_disconnect(struct store *store, bool is_abrupt);

/* epoch.c: read the file, 0 when there is none. -EUCLEAN: damaged. */
int store_epoch_file_read(struct store *store, uint64_t *ret_epoch,
			  struct fairlead_error *ret_error);
/* Take the epoch from journal and file; -ESTALE as store_open. */
int store_epoch_open(struct store *store, struct fairlead_error *ret_error);

/* salvage.c: move a damaged journal away; the caller frees the new path. */
int store_set_aside(struct store *store, char **ret_path,
		    struct fairlead_error *ret_error);
/* Before the journal is opened: finish that, should it have been cut short. */
int store_set_aside_end(struct store *store, struct fairlead_error *ret_error);
/* Move a journal away that was half made from a damaged one. */
int store_set_aside_half(struct store *store, struct fairlead_error *ret_error);
/*
 * The damaged journal of which the open one is half made, or NULL; the caller
 * frees it.
 */
int store_salvage_origin(struct store *store, char **ret_path,
			 struct fairlead_error *ret_error);
/* Take over what can be read of it into the new journal. */
int store_salvage(struct store *store, const char *path, const char *vfs_name,
		  struct fairlead_error *ret_error);
