/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Batches of rows, and rows in and out of SQLite.
 *
 * The rows of a batch are an array that doubles, its bytes a chain of chunks
 * that never move. A chunk is as large as all before it together, within
 * limits: a batch of a few reservations is two allocations, one of thousands
 * is still few.
 *
 * All statements number their parameters alike (?1 id, ?2 sub, ?3 key, ?4
 * body, ?5 digest) and all queries give these five as columns, so that one
 * binder and one reader serve every table.
 *
 * SQLite finds damage in its own structures, not in the values; the digest
 * does that. It is no protection against forgery, hence the constant key.
 */
#include "lanes/manager/store/internal.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <sodium.h>
#include <string.h>

#include "base/memory.h"

/* --- batches --- */

#define ROWS_FIRST  128
#define CHUNK_FIRST (16u << 10)
#define CHUNK_LAST  (256u << 10)

struct store_chunk {
	struct store_chunk *next;
	size_t used;
	size_t capacity;
	char bytes[];
};

struct store_batch {
	struct store_row *rows;
	size_t count;
	size_t capacity;
	size_t bytes;
	struct store_chunk *chunks; /* the newest first */
};

struct store_batch *store_batch_create(void)
{
	struct store_batch *batch = memory_alloc(sizeof(*batch));

	batch->rows = memory_array(ROWS_FIRST, sizeof(batch->rows[0]));
	batch->capacity = ROWS_FIRST;
	return batch;
}

static void reserve_row(struct store_batch *batch)
{
	if (batch->count < batch->capacity)
		return;
	batch->capacity *= 2;
	batch->rows = memory_resize(batch->rows, batch->capacity,
				    sizeof(batch->rows[0]));
}

static void reserve_bytes(struct store_batch *batch, size_t size)
{
	struct store_chunk *chunk = batch->chunks;
	size_t capacity;

	if (chunk != NULL && chunk->capacity - chunk->used >= size)
		return;
	capacity = batch->bytes < CHUNK_FIRST  ? CHUNK_FIRST
		   : batch->bytes > CHUNK_LAST ? CHUNK_LAST
					       : batch->bytes;
	if (capacity < size)
		capacity = size;
	chunk = memory_have(malloc(sizeof(*chunk) + capacity));
	chunk->next = batch->chunks;
	chunk->used = 0;
	chunk->capacity = capacity;
	batch->chunks = chunk;
}

static char *copy_bytes(struct store_chunk *chunk, const void *bytes,
			size_t size)
{
	char *copy = chunk->bytes + chunk->used;

	memcpy(copy, bytes, size);
	chunk->used += size;
	return copy;
}

int store_batch_add(struct store_batch *batch, const struct store_row *row)
{
	const char *key = row->key != NULL ? row->key : "";
	size_t key_size = strlen(key) + 1;
	struct store_row copy = *row;
	size_t size;

	assert(row->table < STORE_TABLE_COUNT);
	assert(row->verb == STORE_PUT || row->verb == STORE_DELETE);
	if (batch->count >= STORE_BATCH_ROWS_MAX ||
	    row->size > STORE_BATCH_BYTES_MAX ||
	    key_size > STORE_BATCH_BYTES_MAX)
		return -ENOBUFS;
	size = key_size + row->size;
	if (size > STORE_BATCH_BYTES_MAX - batch->bytes)
		return -ENOBUFS;
	reserve_row(batch);
	reserve_bytes(batch, size);
	copy.key = copy_bytes(batch->chunks, key, key_size);
	copy.body = NULL;
	if (row->size > 0)
		copy.body = copy_bytes(batch->chunks, row->body, row->size);
	batch->rows[batch->count++] = copy;
	batch->bytes += size;
	return 0;
}

size_t store_batch_count(const struct store_batch *batch)
{
	return batch->count;
}

size_t store_batch_bytes(const struct store_batch *batch)
{
	return batch->bytes;
}

bool store_batch_is_full(const struct store_batch *batch)
{
	return batch->count >= STORE_BATCH_ROWS_FULL ||
	       batch->bytes >= STORE_BATCH_BYTES_FULL;
}

const struct store_row *store_batch_rows(const struct store_batch *batch)
{
	return batch->rows;
}

void store_batch_destroy(struct store_batch *batch)
{
	if (batch == NULL)
		return;
	while (batch->chunks != NULL) {
		struct store_chunk *chunk = batch->chunks;

		batch->chunks = chunk->next;
		free(chunk);
	}
	free(batch->rows);
	free(batch);
}

/* --- rows in SQLite --- */

enum field {
	FIELD_ID = 1u << 0,
	FIELD_SUB = 1u << 1,
	FIELD_KEY = 1u << 2,
	FIELD_BODY = 1u << 3,
};

static const struct {
	const char *name;
	unsigned int fields; /* what is kept */
	bool has_many;       /* of one grant; `number` tells them apart */
	const char *put, *columns, *where, *order;
} tables[STORE_TABLE_COUNT] = {
	[STORE_META] = { "meta", FIELD_KEY | FIELD_ID, false,
			 "meta(key, number, digest) VALUES(?3, ?1, ?5)",
			 "number, 0, key, NULL", "key = ?3", "key" },
	[STORE_JOB] = { "job", FIELD_ID | FIELD_KEY | FIELD_BODY, false,
			"job(grant_id, key, body, digest) "
			"VALUES(?1, ?3, ?4, ?5)",
			"grant_id, 0, key, body", "grant_id = ?1", "grant_id" },
	[STORE_PART] = { "part", FIELD_ID | FIELD_SUB | FIELD_BODY, true,
			 "part(grant_id, number, body, digest) "
			 "VALUES(?1, ?2, ?4, ?5)",
			 "grant_id, number, '', body", "grant_id = ?1",
			 "grant_id, number" },
	[STORE_TOMBSTONE] = { "tombstone",
			      FIELD_ID | FIELD_SUB | FIELD_KEY | FIELD_BODY,
			      false,
			      "tombstone(grant_id, number, key, body, digest) "
			      "VALUES(?1, ?2, ?3, ?4, ?5)",
			      "grant_id, number, key, body", "grant_id = ?1",
			      "grant_id" },
	[STORE_EVENT] = { "event", FIELD_ID | FIELD_SUB | FIELD_BODY, true,
			  "event(grant_id, number, body, digest) "
			  "VALUES(?1, ?2, ?4, ?5)",
			  "grant_id, number, '', body", "grant_id = ?1",
			  "grant_id, number" },
	[STORE_NODE] = { "node", FIELD_KEY | FIELD_BODY, false,
			 "node(name, body, digest) VALUES(?3, ?4, ?5)",
			 "0, 0, name, body", "name = ?3", "name" },
	[STORE_OUTSIDE] = { "outside", FIELD_ID | FIELD_KEY | FIELD_BODY, false,
			    "outside(grant_id, driver, body, digest) "
			    "VALUES(?1, ?3, ?4, ?5)",
			    "grant_id, 0, driver, body", "grant_id = ?1",
			    "grant_id" },
};

static char *statement_text(enum store_table table, enum statement which)
{
	__auto_type of = &tables[table];

	switch (which) {
	case STATEMENT_PUT:
		return memory_format("REPLACE INTO %s", of->put);
	case STATEMENT_READ:
		return memory_format("SELECT %s, digest FROM %s WHERE %s "
				     "ORDER BY %s",
				     of->columns, of->name, of->where,
				     of->order);
	case STATEMENT_SCAN:
		return memory_format("SELECT %s, digest FROM %s ORDER BY %s",
				     of->columns, of->name, of->order);
	default:
		return memory_format("DELETE FROM %s WHERE %s%s", of->name,
				     of->where,
				     of->has_many && which == STATEMENT_DELETE
					     ? " AND number = ?2"
					     : "");
	}
}

static uint64_t hash(const void *bytes, size_t size)
{
	static const unsigned char key[crypto_shorthash_KEYBYTES] = {
		'f', 'a', 'i', 'r', 'l', 'e', 'a', 'd',
		' ', 'j', 'o', 'u', 'r', 'n', 'a', 'l',
	};
	uint64_t digest;

	static_assert(sizeof(digest) == crypto_shorthash_BYTES, "one word");
	crypto_shorthash((unsigned char *)&digest, bytes, size, key);
	return digest;
}

static uint64_t row_digest(const struct store_row *row, size_t key_size)
{
	const uint64_t parts[] = {
		htole64((uint64_t)row->table),
		htole64(row->id),
		htole64(row->sub),
		hash(row->key, key_size),
		hash(row->body, row->size),
	};

	return le64toh(hash(parts, sizeof(parts)));
}

/* Only what the table keeps, so that a row reads as it was written. */
static struct store_row row_kept(const struct store_row *row)
{
	unsigned int fields = tables[row->table].fields;

	return (struct store_row){
		.table = row->table,
		.verb = row->verb,
		.id = fields & FIELD_ID ? row->id : 0,
		.sub = fields & FIELD_SUB ? row->sub : 0,
		.key = fields & FIELD_KEY && row->key != NULL ? row->key : "",
		.body = fields & FIELD_BODY && row->size > 0 ? row->body : "",
		.size = fields & FIELD_BODY ? row->size : 0,
	};
}

int store_run(struct store *store, const char *sql)
{
	return sqlite3_exec(store->db, sql, NULL, NULL, NULL);
}

void store_statements_finalize(struct store *store)
{
	for (int table = 0; table < STORE_TABLE_COUNT; table++) {
		for (int i = 0; i < STATEMENT_COUNT; i++) {
			sqlite3_finalize(store->statements[table][i]);
			store->statements[table][i] = NULL;
		}
	}
}

static int statement_get(struct store *store, enum store_table table,
			 enum statement which, sqlite3_stmt **ret_statement)
{
	sqlite3_stmt **cached = &store->statements[table][which];
	int result = SQLITE_OK;

	if (*cached == NULL) {
		_auto_(freep) char *text = statement_text(table, which);

		result = sqlite3_prepare_v3(store->db, text, -1,
					    SQLITE_PREPARE_PERSISTENT, cached,
					    NULL);
	}
	if (result == SQLITE_OK)
		*ret_statement = *cached;
	return result;
}

/* row is as row_kept() made it. The values are bound, not copied. */
static int bind(sqlite3_stmt *statement, const struct store_row *row)
{
	size_t key_size = strlen(row->key);
	int count = sqlite3_bind_parameter_count(statement);
	int result = SQLITE_OK;

	if (count >= 1)
		result = sqlite3_bind_int64(statement, 1, (int64_t)row->id);
	if (result == SQLITE_OK && count >= 2)
		result = sqlite3_bind_int64(statement, 2, (int64_t)row->sub);
	if (result == SQLITE_OK && count >= 3)
		result = sqlite3_bind_text64(statement, 3, row->key, key_size,
					     SQLITE_STATIC, SQLITE_UTF8);
	if (result == SQLITE_OK && count >= 4)
		result = sqlite3_bind_blob64(statement, 4, row->body, row->size,
					     SQLITE_STATIC);
	if (result == SQLITE_OK && count >= 5)
		result = sqlite3_bind_int64(statement, 5,
					    (int64_t)row_digest(row, key_size));
	return result;
}

static enum statement statement_of(const struct store_row *row)
{
	if (row->verb == STORE_PUT)
		return STATEMENT_PUT;
	return row->sub == STORE_SUB_ALL ? STATEMENT_DELETE_ALL
					 : STATEMENT_DELETE;
}

static int write_row(struct store *store, const struct store_row *given)
{
	struct store_row row = row_kept(given);
	sqlite3_stmt *statement;
	int result;

	result = statement_get(store, row.table, statement_of(given),
			       &statement);
	if (result == SQLITE_OK)
		result = bind(statement, &row);
	if (result != SQLITE_OK)
		return result;
	sqlite3_step(statement);
	return sqlite3_reset(statement);
}

static int check_ids(const struct store_batch *batch,
		     struct fairlead_error *ret_error)
{
	store_batch_foreach(batch, row)
	{
		if (row->table == STORE_META)
			continue;
		if (row->id > INT64_MAX ||
		    (row->sub > INT64_MAX && row->verb == STORE_PUT))
			return error_set(ret_error, -EINVAL,
					 "row %" PRIu64 "/%" PRIu64 " of '%s' "
					 "cannot be stored: above the largest "
					 "number",
					 row->id, row->sub,
					 tables[row->table].name);
	}
	return 0;
}

static int write_rows(struct store *store, const struct store_batch *batch)
{
	int result = SQLITE_OK;

	store_batch_foreach(batch, row)
	{
		result = write_row(store, row);
		if (result != SQLITE_OK)
			break;
	}
	return result;
}

int store_write_all(struct store *store,
		    const struct store_batch *const *batches, size_t count,
		    struct fairlead_error *ret_error)
{
	bool is_commit = false;
	size_t row_count = 0;
	int result = 0;

	for (size_t i = 0; i < count && result == 0; i++) {
		row_count += store_batch_count(batches[i]);
		result = check_ids(batches[i], ret_error);
	}
	if (result < 0 || row_count == 0)
		return result;
	result = store_run(store, "BEGIN IMMEDIATE");
	for (size_t i = 0; i < count && result == SQLITE_OK; i++)
		result = write_rows(store, batches[i]);
	if (result == SQLITE_OK) {
		is_commit = true;
		result = store_run(store, "COMMIT");
	}
	if (result == SQLITE_OK)
		return 0;
	result = store_fault(store, result, "write", ret_error);
	if (!sqlite3_get_autocommit(store->db))
		store_run(store, "ROLLBACK");
	if (is_commit)
		store_schema_touch(store);
	return result;
}

int store_write(struct store *store, const struct store_batch *batch,
		struct fairlead_error *ret_error)
{
	return store_write_all(store, &batch, 1, ret_error);
}

static int give_row(struct store *store, enum store_table table,
		    sqlite3_stmt *statement, store_row_fn row_fn, void *arg,
		    struct fairlead_error *ret_error)
{
	struct store_row row = { .table = table, .verb = STORE_PUT };
	size_t key_size;

	row.id = (uint64_t)sqlite3_column_int64(statement, 0);
	row.sub = (uint64_t)sqlite3_column_int64(statement, 1);
	row.key = (const char *)sqlite3_column_text(statement, 2);
	key_size = (size_t)sqlite3_column_bytes(statement, 2);
	row.body = sqlite3_column_blob(statement, 3);
	row.size = (size_t)sqlite3_column_bytes(statement, 3);
	if (row.key == NULL)
		memory_end();
	if (row_digest(&row, key_size) !=
	    (uint64_t)sqlite3_column_int64(statement, 4)) {
		store->skipped_count++;
		if (store->is_salvaged)
			return 0;
		return store_damaged(store, ret_error,
				     "row %" PRIu64 "/%" PRIu64 " '%.200s' of "
				     "'%s' does not match its digest",
				     row.id, row.sub, row.key,
				     tables[table].name);
	}
	return row_fn(arg, &row);
}

static int read_rows(struct store *store, enum statement which,
		     const struct store_row *wanted, store_row_fn row_fn,
		     void *arg, struct fairlead_error *ret_error)
{
	struct store_row row = row_kept(wanted);
	sqlite3_stmt *statement;
	int result;
	int status;

	status = statement_get(store, row.table, which, &statement);
	if (status == SQLITE_OK)
		status = bind(statement, &row);
	if (status != SQLITE_OK)
		return store_fault(store, status, "read", ret_error);
	do {
		result = 0;
		status = sqlite3_step(statement);
		if (status == SQLITE_ROW)
			result = give_row(store, row.table, statement, row_fn,
					  arg, ret_error);
	} while (status == SQLITE_ROW && result == 0);
	if (status != SQLITE_ROW && status != SQLITE_DONE)
		result = store_fault(store, status, "read", ret_error);
	sqlite3_reset(statement);
	return result;
}

int store_read(struct store *store, enum store_table table, uint64_t id,
	       const char *key, store_row_fn row_fn, void *arg,
	       struct fairlead_error *ret_error)
{
	struct store_row wanted = { .table = table, .id = id, .key = key };

	assert(table < STORE_TABLE_COUNT);
	return read_rows(store, STATEMENT_READ, &wanted, row_fn, arg,
			 ret_error);
}

int store_scan(struct store *store, enum store_table table, store_row_fn row_fn,
	       void *arg, struct fairlead_error *ret_error)
{
	struct store_row wanted = { .table = table };

	assert(table < STORE_TABLE_COUNT);
	return read_rows(store, STATEMENT_SCAN, &wanted, row_fn, arg,
			 ret_error);
}
