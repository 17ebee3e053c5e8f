/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQLite's results in our error space, each with the file, what SQLite and
 * the system say about it, and what a person can do.
 */
#include "lanes/manager/store/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"

struct fault {
	int result; /* SQLite's primary result code */
	int code;
	const char *advice;
};

static const struct fault faults[] = {
	{ SQLITE_FULL, -ENOSPC, "make room on the disk and try again" },
	{ SQLITE_IOERR, -EIO, "check the disk and the kernel's log" },
	{ SQLITE_CORRUPT, -EUCLEAN, NULL },
	{ SQLITE_NOTADB, -EUCLEAN, NULL },
	/* Our statements are constant: it is the schema that is not ours. */
	{ SQLITE_ERROR, -EUCLEAN, NULL },
	{ SQLITE_SCHEMA, -EUCLEAN, NULL },
	{ SQLITE_CONSTRAINT, -EUCLEAN, NULL },
	{ SQLITE_MISMATCH, -EUCLEAN, NULL },
	{ SQLITE_BUSY, -EBUSY, "end the program that has it open" },
	{ SQLITE_LOCKED, -EBUSY, "end the program that has it open" },
	{ SQLITE_READONLY, -EROFS, "make it writable for the manager's user" },
	{ SQLITE_CANTOPEN, -EACCES, "make it writable for the manager's user" },
	{ SQLITE_PERM, -EACCES, "make it writable for the manager's user" },
	{ SQLITE_TOOBIG, -EMSGSIZE, "a row is too large" },
};

static const struct fault *fault_find(int result)
{
	for (size_t i = 0; i < sizeof(faults) / sizeof(faults[0]); i++) {
		if (faults[i].result == (result & 0xff))
			return &faults[i];
	}
	return NULL;
}

int store_file_fault(int code, const char *action, const char *path,
		     struct fairlead_error *ret_error)
{
	return error_set(ret_error, code, "cannot %s '%s': %s", action, path,
			 strerrordesc_np(-code));
}

int store_damaged(struct store *store, struct fairlead_error *ret_error,
		  const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return error_set(ret_error, -EUCLEAN,
			 "journal '%s' is damaged: %s: stop the manager and "
			 "put a backup there (without its -wal file), or run "
			 "'fairlead manager recover'",
			 store->journal_path, text);
}

int store_fault(struct store *store, int result, const char *action,
		struct fairlead_error *ret_error)
{
	const struct fault *fault = fault_find(result);
	int system_errno = sqlite3_system_errno(store->db);
	char system_text[128] = "";

	if ((result & 0xff) == SQLITE_NOMEM || result == SQLITE_IOERR_NOMEM)
		memory_end();
	/* Quotas, and file systems that find out in the sync. */
	if ((result & 0xff) == SQLITE_IOERR &&
	    (system_errno == ENOSPC || system_errno == EDQUOT))
		fault = fault_find(SQLITE_FULL);
	if (fault == NULL)
		return error_set(ret_error, -EIO,
				 "cannot %s journal '%s': %s (%d)", action,
				 store->journal_path, sqlite3_errstr(result),
				 result);
	if (fault->code == -EUCLEAN)
		return store_damaged(store, ret_error, "%s",
				     sqlite3_errmsg(store->db));
	if (system_errno != 0 &&
	    (fault->code == -EIO || fault->code == -EACCES))
		snprintf(system_text, sizeof(system_text), " (%s)",
			 strerrordesc_np(system_errno));
	return error_set(ret_error, fault->code,
			 "cannot %s journal '%s': %s%s: %s", action,
			 store->journal_path, sqlite3_errstr(result),
			 system_text, fault->advice);
}
