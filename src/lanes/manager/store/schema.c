/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How the journal is laid out (doc/rfc/journals.md). Entry N of `upgrades`
 * makes version N + 1 of version N; a new file is version 0, so that making
 * and upgrading are one thing. The whole way is one transaction.
 *
 * The exclusive locking mode comes before the log is first touched: SQLite
 * then keeps the log's index in memory and needs no shared memory file.
 *
 * After a crash the log's frames may be in the page cache only, and a sync
 * that had failed will not be repeated for them by the kernel. So what was
 * recovered is written once more, into the tables, before anybody builds on
 * it; that also leaves no log to be mixed up with a restored backup.
 */
#include "lanes/manager/store/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define APPLICATION_ID   0x464c4a52 /* "FLJR" */
#define CHECKPOINT_PAGES 4096

static const char *const upgrades[] = {
	"CREATE TABLE meta("
	" key TEXT PRIMARY KEY, number INTEGER NOT NULL,"
	" digest INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE job("
	" grant_id INTEGER PRIMARY KEY, key TEXT NOT NULL,"
	" body BLOB NOT NULL, digest INTEGER NOT NULL) STRICT;"
	"CREATE TABLE part("
	" grant_id INTEGER NOT NULL, number INTEGER NOT NULL,"
	" body BLOB NOT NULL, digest INTEGER NOT NULL,"
	" PRIMARY KEY(grant_id, number)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE tombstone("
	" grant_id INTEGER PRIMARY KEY, number INTEGER NOT NULL,"
	" key TEXT NOT NULL, body BLOB NOT NULL,"
	" digest INTEGER NOT NULL) STRICT;"
	"CREATE TABLE event("
	" grant_id INTEGER NOT NULL, number INTEGER NOT NULL,"
	" body BLOB NOT NULL, digest INTEGER NOT NULL,"
	" PRIMARY KEY(grant_id, number)) STRICT, WITHOUT ROWID;"
	"CREATE TABLE node("
	" name TEXT PRIMARY KEY, body BLOB NOT NULL,"
	" digest INTEGER NOT NULL) STRICT, WITHOUT ROWID;"
	"CREATE TABLE outside("
	" grant_id INTEGER PRIMARY KEY, driver TEXT NOT NULL,"
	" body BLOB NOT NULL, digest INTEGER NOT NULL) STRICT;",
};

#define VERSION ((int)(sizeof(upgrades) / sizeof(upgrades[0])))

/* The first column of the first row, a number. */
static int query_number(struct store *store, const char *sql,
			int64_t *ret_number)
{
	sqlite3_stmt *statement = NULL;
	int result;

	result = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
	if (result != SQLITE_OK)
		return result;
	result = sqlite3_step(statement);
	if (result == SQLITE_ROW)
		*ret_number = sqlite3_column_int64(statement, 0);
	sqlite3_finalize(statement);
	return result == SQLITE_ROW ? SQLITE_OK : result;
}

static int upgrade_steps(struct store *store, int64_t version)
{
	char stamp[96];
	int result = SQLITE_OK;

	for (; result == SQLITE_OK && version < VERSION; version++)
		result = store_run(store, upgrades[version]);
	if (result != SQLITE_OK)
		return result;
	snprintf(stamp, sizeof(stamp),
		 "PRAGMA application_id=%d; PRAGMA user_version=%d",
		 APPLICATION_ID, VERSION);
	return store_run(store, stamp);
}

static int upgrade(struct store *store, int64_t version,
		   struct fairlead_error *ret_error)
{
	int result = store_run(store, "BEGIN IMMEDIATE");

	if (result == SQLITE_OK)
		result = upgrade_steps(store, version);
	if (result == SQLITE_OK)
		result = store_run(store, "COMMIT");
	if (result == SQLITE_OK)
		return 0;
	result = store_fault(store, result, "set up", ret_error);
	if (!sqlite3_get_autocommit(store->db))
		store_run(store, "ROLLBACK");
	return result;
}

/* Ours, of which version: 0 when the file is new. */
static int version_read(struct store *store, int64_t *ret_version,
			struct fairlead_error *ret_error)
{
	int64_t version = 0, application = 0, entries = 0;
	int result;

	result = query_number(store, "PRAGMA application_id", &application);
	if (result == SQLITE_OK)
		result = query_number(store, "PRAGMA user_version", &version);
	if (result == SQLITE_OK)
		result = query_number(
			store, "SELECT count(*) FROM sqlite_schema", &entries);
	if (result != SQLITE_OK)
		return store_fault(store, result, "read", ret_error);
	if (application == 0 && version == 0 && entries == 0) {
		*ret_version = 0;
		return 0;
	}
	if (application != APPLICATION_ID || version < 1)
		return error_set(ret_error, -EINVAL,
				 "'%s' is a database, but not a journal of the "
				 "manager: move it away or correct the "
				 "directory's name",
				 store->journal_path);
	if (version > VERSION)
		return error_set(ret_error, -EOPNOTSUPP,
				 "journal '%s' has version %" PRId64
				 ", and this fairleadd reads up to %d: install "
				 "the newer one again",
				 store->journal_path, version, VERSION);
	*ret_version = version;
	return 0;
}

/* A journal mode that cannot be had is no error to SQLite. */
static int use_log(struct store *store, struct fairlead_error *ret_error)
{
	int64_t is_log = 0;
	int result;

	result = store_run(store, "PRAGMA journal_mode=WAL");
	if (result == SQLITE_OK)
		result = query_number(store,
				      "SELECT journal_mode='wal' FROM "
				      "pragma_journal_mode",
				      &is_log);
	if (result != SQLITE_OK)
		return store_fault(store, result, "open", ret_error);
	if (!is_log)
		return error_set(ret_error, -EIO,
				 "cannot open journal '%s': its file system "
				 "does not take a write-ahead log",
				 store->journal_path);
	return 0;
}

int store_schema_open(struct store *store, unsigned int checkpoint_pages,
		      struct fairlead_error *ret_error)
{
	char pragmas[256];
	int64_t version = 0;
	int result;

	result = store_run(store, "PRAGMA locking_mode=EXCLUSIVE;"
				  "PRAGMA synchronous=FULL;"
				  "PRAGMA temp_store=MEMORY;"
				  "PRAGMA cell_size_check=ON;"
				  "PRAGMA trusted_schema=OFF");
	if (result != SQLITE_OK)
		return store_fault(store, result, "open", ret_error);
	result = version_read(store, &version, ret_error);
	if (result == 0)
		result = use_log(store, ret_error);
	if (result < 0)
		return result;
	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA secure_delete=FAST; PRAGMA cache_size=-8192;"
		 "PRAGMA journal_size_limit=67108864;"
		 "PRAGMA wal_autocheckpoint=%u;"
		 "PRAGMA wal_checkpoint(TRUNCATE)",
		 checkpoint_pages > 0 ? checkpoint_pages : CHECKPOINT_PAGES);
	result = store_run(store, pragmas);
	if (result != SQLITE_OK)
		return store_fault(store, result, "open", ret_error);
	return version < VERSION ? upgrade(store, version, ret_error) : 0;
}

/*
 * A page that could not be read says nothing about what is on it. SQLite's
 * checks go on after such an error, and tell it among what they have found.
 */
static int failed_read(const char *answer)
{
	const char *at = strstr(answer, "error code=");
	int code = SQLITE_OK;

	if (strstr(answer, "failed to get page") != NULL)
		return SQLITE_IOERR;
	if (at != NULL && sscanf(at, "error code=%d", &code) == 1 &&
	    ((code & 0xff) == SQLITE_IOERR || (code & 0xff) == SQLITE_NOMEM))
		return code;
	return SQLITE_OK;
}

/* SQLite's answer as one line. */
static int check_failed(struct store *store, const char *answer,
			struct fairlead_error *ret_error)
{
	int code = failed_read(answer);
	char text[400];

	/* Who recovers takes what can be read. */
	if (code != SQLITE_OK && !store->is_recovery)
		return store_fault(store, code, "check", ret_error);
	snprintf(text, sizeof(text), "%s", answer);
	for (char *at = text; *at != '\0'; at++) {
		if (*at == '\n')
			*at = ' ';
	}
	return store_damaged(store, ret_error, "%s", text);
}

/* Run a check, whose first answer has to be "ok". */
static int run_check(struct store *store, const char *sql,
		     struct fairlead_error *ret_error)
{
	sqlite3_stmt *statement = NULL;
	const char *answer;
	int result;

	result = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
	if (result == SQLITE_OK)
		result = sqlite3_step(statement);
	if (result != SQLITE_ROW) {
		result = store_fault(store, result, "check", ret_error);
	} else {
		answer = (const char *)sqlite3_column_text(statement, 0);
		result = 0;
		if (answer == NULL)
			result = store_fault(store, SQLITE_NOMEM, "check",
					     ret_error);
		else if (strcmp(answer, "ok") != 0)
			result = check_failed(store, answer, ret_error);
	}
	sqlite3_finalize(statement);
	return result;
}

int store_schema_check(struct store *store, struct fairlead_error *ret_error)
{
	static const char *const checks[] = {
		"PRAGMA quick_check(meta)", "PRAGMA quick_check(job)",
		"PRAGMA quick_check(part)", "PRAGMA quick_check(tombstone)",
		"PRAGMA quick_check(node)", "PRAGMA quick_check(outside)",
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++) {
		int result = run_check(store, checks[i], ret_error);

		if (result < 0)
			return result;
	}
	return 0;
}

int store_schema_check_all(struct store *store,
			   struct fairlead_error *ret_error)
{
	return run_check(store, "PRAGMA integrity_check(1)", ret_error);
}

int store_schema_touch(struct store *store)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA user_version=%d", VERSION);
	return store_run(store, sql);
}
