/* SPDX-License-Identifier: BSD-3-Clause */
/* What a store keeps, and what it refuses to open. */
#include "lanes/manager/store/test/bed.h"

#include <sqlite3.h>
#include <stdio.h>

static int setup(void **state)
{
	struct bed *bed = malloc(sizeof(*bed));

	bed_init(bed, 1);
	*state = bed;
	return 0;
}

static int teardown(void **state)
{
	bed_fini(*state);
	free(*state);
	return 0;
}

static void new_store_is_empty(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(bed_open(bed), 0);
	assert_true(store_epoch(bed->store) == 0);
	assert_null(store_notice(bed->store));
	for (int table = 0; table < STORE_TABLE_COUNT; table++) {
		struct store_batch *rows =
			scan(bed->store, (enum store_table)table);

		assert_int_equal(store_batch_count(rows), 0);
		store_batch_destroy(rows);
	}
	assert_int_equal(store_check(bed->store, NULL), 0);
}

static void fill(struct store *store)
{
	struct store_batch *batch = batch_new();

	row_put(batch, STORE_META, UINT64_MAX, 0, "next", NULL);
	row_put(batch, STORE_META, 3, 0, "cursor", NULL);
	row_put(batch, STORE_JOB, INT64_MAX, 0, "a/2/0", "second");
	row_put(batch, STORE_JOB, 7, 0, "a/1/0", "first");
	row_put(batch, STORE_TOMBSTONE, 5, 70, "a/0/0", "owner");
	row_put(batch, STORE_PART, 7, 9, "", "part");
	row_put(batch, STORE_PART, 7, 3, "", "port");
	row_put(batch, STORE_EVENT, 7, 2, "", "{\"b\":2}");
	row_put(batch, STORE_EVENT, 8, 1, "", "other");
	row_put(batch, STORE_EVENT, 7, 1, "", "{\"a\":1}");
	row_put(batch, STORE_NODE, 0, 0, "n2", "two");
	row_put(batch, STORE_NODE, 0, 0, "n1", "");
	assert_int_equal(write_batch(store, batch, NULL), 0);
}

static void assert_filled(struct store *store)
{
	const struct store_row *row;
	struct store_batch *rows;

	rows = scan(store, STORE_META);
	assert_int_equal(store_batch_count(rows), 2);
	row = store_batch_rows(rows);
	assert_row(&row[0], 3, 0, "cursor", NULL);
	assert_row(&row[1], UINT64_MAX, 0, "next", NULL);
	store_batch_destroy(rows);
	rows = scan(store, STORE_JOB);
	assert_int_equal(store_batch_count(rows), 2);
	row = store_batch_rows(rows);
	assert_row(&row[0], 7, 0, "a/1/0", "first");
	assert_row(&row[1], INT64_MAX, 0, "a/2/0", "second");
	store_batch_destroy(rows);
	rows = scan(store, STORE_PART);
	assert_int_equal(store_batch_count(rows), 2);
	row = store_batch_rows(rows);
	assert_row(&row[0], 7, 3, "", "port");
	assert_row(&row[1], 7, 9, "", "part");
	store_batch_destroy(rows);
	rows = scan(store, STORE_TOMBSTONE);
	assert_int_equal(store_batch_count(rows), 1);
	assert_row(store_batch_rows(rows), 5, 70, "a/0/0", "owner");
	store_batch_destroy(rows);
	rows = scan(store, STORE_EVENT);
	assert_int_equal(store_batch_count(rows), 3);
	row = store_batch_rows(rows);
	assert_row(&row[0], 7, 1, "", "{\"a\":1}");
	assert_row(&row[1], 7, 2, "", "{\"b\":2}");
	assert_row(&row[2], 8, 1, "", "other");
	store_batch_destroy(rows);
	rows = scan(store, STORE_NODE);
	assert_int_equal(store_batch_count(rows), 2);
	row = store_batch_rows(rows);
	assert_row(&row[0], 0, 0, "n1", NULL);
	assert_row(&row[1], 0, 0, "n2", "two");
	store_batch_destroy(rows);
}

static void rows_come_back_in_order_after_a_restart(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(bed_open(bed), 0);
	fill(bed->store);
	assert_filled(bed->store);
	bed_close(bed);
	assert_int_equal(bed_open(bed), 0);
	assert_filled(bed->store);
	bed_end(bed, true);
	assert_int_equal(bed_open(bed), 0);
	assert_filled(bed->store);
	assert_int_equal(store_check(bed->store, NULL), 0);
}

static void read_finds_by_primary_key(void **state)
{
	struct bed *bed = *state;
	struct store_batch *rows = batch_new();
	const struct store_row *row = store_batch_rows(rows);

	assert_int_equal(bed_open(bed), 0);
	fill(bed->store);
	assert_int_equal(store_read(bed->store, STORE_META, 9, "cursor",
				    collect, rows, NULL),
			 0);
	assert_int_equal(store_read(bed->store, STORE_JOB, 7, "ignored",
				    collect, rows, NULL),
			 0);
	assert_int_equal(store_read(bed->store, STORE_EVENT, 7, NULL, collect,
				    rows, NULL),
			 0);
	assert_int_equal(store_read(bed->store, STORE_NODE, 0, "n2", collect,
				    rows, NULL),
			 0);
	assert_int_equal(store_read(bed->store, STORE_TOMBSTONE, 5, NULL,
				    collect, rows, NULL),
			 0);
	assert_int_equal(store_read(bed->store, STORE_JOB, 8, NULL, collect,
				    rows, NULL),
			 0);
	assert_int_equal(store_read(bed->store, STORE_PART, 7, NULL, collect,
				    rows, NULL),
			 0);
	assert_int_equal(store_batch_count(rows), 8);
	assert_row(&row[0], 3, 0, "cursor", NULL);
	assert_row(&row[1], 7, 0, "a/1/0", "first");
	assert_row(&row[2], 7, 1, "", "{\"a\":1}");
	assert_row(&row[3], 7, 2, "", "{\"b\":2}");
	assert_row(&row[4], 0, 0, "n2", "two");
	assert_row(&row[5], 5, 70, "a/0/0", "owner");
	assert_row(&row[6], 7, 3, "", "port");
	assert_row(&row[7], 7, 9, "", "part");
	store_batch_destroy(rows);
}

static void put_replaces_and_delete_removes_in_batch_order(void **state)
{
	struct bed *bed = *state;
	struct store_batch *batch = batch_new();
	struct store_batch *rows;

	assert_int_equal(bed_open(bed), 0);
	fill(bed->store);
	row_put(batch, STORE_JOB, 7, 0, "a/1/0", "changed");
	row_put(batch, STORE_JOB, 9, 0, "a/3/0", "gone again");
	row_delete(batch, STORE_JOB, 9, 0, "");
	row_delete(batch, STORE_JOB, INT64_MAX, 0, "");
	row_delete(batch, STORE_JOB, 1000, 0, "");
	row_delete(batch, STORE_META, 0, 0, "cursor");
	row_delete(batch, STORE_NODE, 0, 0, "n1");
	row_delete(batch, STORE_TOMBSTONE, 5, 0, "");
	row_delete(batch, STORE_EVENT, 8, 1, "");
	assert_int_equal(write_batch(bed->store, batch, NULL), 0);
	rows = scan(bed->store, STORE_JOB);
	assert_int_equal(store_batch_count(rows), 1);
	assert_row(store_batch_rows(rows), 7, 0, "a/1/0", "changed");
	store_batch_destroy(rows);
	rows = scan(bed->store, STORE_META);
	assert_int_equal(store_batch_count(rows), 1);
	assert_string_equal(store_batch_rows(rows)->key, "next");
	store_batch_destroy(rows);
	rows = scan(bed->store, STORE_NODE);
	assert_int_equal(store_batch_count(rows), 1);
	assert_string_equal(store_batch_rows(rows)->key, "n2");
	store_batch_destroy(rows);
	rows = scan(bed->store, STORE_TOMBSTONE);
	assert_int_equal(store_batch_count(rows), 0);
	store_batch_destroy(rows);
	rows = scan(bed->store, STORE_EVENT);
	assert_int_equal(store_batch_count(rows), 2);
	store_batch_destroy(rows);
}

static void delete_of_all_of_a_grant_leaves_other_grants(void **state)
{
	struct bed *bed = *state;
	struct store_batch *batch = batch_new();
	struct store_batch *rows;

	assert_int_equal(bed_open(bed), 0);
	fill(bed->store);
	row_put(batch, STORE_PART, 8, 1, "", "stays");
	row_delete(batch, STORE_EVENT, 7, STORE_SUB_ALL, "");
	row_delete(batch, STORE_PART, 7, STORE_SUB_ALL, "");
	assert_int_equal(write_batch(bed->store, batch, NULL), 0);
	rows = scan(bed->store, STORE_EVENT);
	assert_int_equal(store_batch_count(rows), 1);
	assert_row(store_batch_rows(rows), 8, 1, "", "other");
	store_batch_destroy(rows);
	rows = scan(bed->store, STORE_PART);
	assert_int_equal(store_batch_count(rows), 1);
	assert_row(store_batch_rows(rows), 8, 1, "", "stays");
	store_batch_destroy(rows);
}

static void id_that_does_not_fit_is_refused_with_its_batch(void **state)
{
	struct bed *bed = *state;
	struct store_batch *batch = batch_new();
	struct store_batch *rows;

	assert_int_equal(bed_open(bed), 0);
	row_put(batch, STORE_JOB, 1, 0, "a/1/0", "x");
	row_put(batch, STORE_JOB, (uint64_t)INT64_MAX + 1, 0, "a/2/0", "x");
	assert_int_equal(write_batch(bed->store, batch, &bed->error), -EINVAL);
	assert_non_null(strstr(bed->error.text, "9223372036854775808/0"));
	rows = scan(bed->store, STORE_JOB);
	assert_int_equal(store_batch_count(rows), 0);
	store_batch_destroy(rows);
}

static int stop_at_second(void *arg, const struct store_row *row)
{
	return ++*(int *)arg == 2 ? -ECANCELED : 0;
}

static void row_function_can_end_a_scan(void **state)
{
	struct bed *bed = *state;
	int count = 0;

	assert_int_equal(bed_open(bed), 0);
	fill(bed->store);
	assert_int_equal(store_scan(bed->store, STORE_EVENT, stop_at_second,
				    &count, NULL),
			 -ECANCELED);
	assert_int_equal(count, 2);
	assert_filled(bed->store);
}

static void epochs_rise_and_outlive_crashes(void **state)
{
	struct bed *bed = *state;
	uint64_t epoch = 0;

	for (uint64_t i = 1; i <= 5; i++) {
		assert_int_equal(bed_open(bed), 0);
		assert_true(store_epoch(bed->store) == i - 1);
		assert_int_equal(store_epoch_begin(bed->store, 0, &epoch, NULL),
				 0);
		assert_true(epoch == i);
		bed_end(bed, true);
	}
	assert_int_equal(bed_open(bed), 0);
	assert_int_equal(store_epoch_begin(bed->store, 40, &epoch, NULL), 0);
	assert_true(epoch == 41);
	assert_int_equal(store_epoch_begin(bed->store, 40, &epoch, NULL), 0);
	assert_true(epoch == 42);
	assert_int_equal(store_epoch_begin(bed->store, UINT64_MAX, &epoch,
					   &bed->error),
			 -EOVERFLOW);
	assert_true(epoch == 42);
}

static void second_manager_is_refused(void **state)
{
	struct bed *bed = *state;
	struct store *second = NULL;

	assert_int_equal(bed_open(bed), 0);
	assert_int_equal(store_open(BED_DIRECTORY, &bed->options, &second,
				    &bed->error),
			 -EBUSY);
	assert_non_null(strstr(bed->error.text, "another manager"));
	assert_non_null(strstr(bed->error.text, BED_DIRECTORY));
	assert_null(second);
	fill(bed->store);
	assert_filled(bed->store);
}

static void run_sql(struct bed *bed, const char *path, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(path, &db,
					 SQLITE_OPEN_READWRITE |
						 SQLITE_OPEN_CREATE,
					 sim_disk_vfs(bed->disk)),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA locking_mode=EXCLUSIVE;"
				      "PRAGMA temp_store=MEMORY",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void newer_journal_is_refused_and_left_alone(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(bed_open(bed), 0);
	fill(bed->store);
	bed_close(bed);
	run_sql(bed, BED_DIRECTORY "/journal.db", "PRAGMA user_version=1000");
	assert_int_equal(bed_open(bed), -EOPNOTSUPP);
	assert_non_null(strstr(bed->error.text, "version 1000"));
	bed->options.is_recovery = true;
	assert_int_equal(bed_open(bed), -EOPNOTSUPP);
	bed->options.is_recovery = false;
	run_sql(bed, BED_DIRECTORY "/journal.db", "PRAGMA user_version=1");
	assert_int_equal(bed_open(bed), 0);
	assert_filled(bed->store);
}

static void foreign_database_is_refused(void **state)
{
	struct bed *bed = *state;

	run_sql(bed, BED_DIRECTORY "/journal.db", "CREATE TABLE t(a)");
	assert_int_equal(bed_open(bed), -EINVAL);
	assert_non_null(strstr(bed->error.text, "not a journal"));
}

static void another_program_in_the_journal_is_an_error(void **state)
{
	struct bed *bed = *state;
	sqlite3 *db;

	assert_int_equal(bed_open(bed), 0);
	bed_close(bed);
	assert_int_equal(sqlite3_open_v2(BED_DIRECTORY "/journal.db", &db,
					 SQLITE_OPEN_READWRITE,
					 sim_disk_vfs(bed->disk)),
			 SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA locking_mode=EXCLUSIVE;"
				      "SELECT * FROM job",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(bed_open(bed), -EBUSY);
	assert_non_null(strstr(bed->error.text, "end the program"));
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	assert_int_equal(bed_open(bed), 0);
}

static void long_directory_name_is_refused(void **state)
{
	struct bed *bed = *state;
	char name[5000];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(store_open(name, &bed->options, &bed->store,
				    &bed->error),
			 -ENAMETOOLONG);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(new_store_is_empty),
		CASE(rows_come_back_in_order_after_a_restart),
		CASE(read_finds_by_primary_key),
		CASE(put_replaces_and_delete_removes_in_batch_order),
		CASE(delete_of_all_of_a_grant_leaves_other_grants),
		CASE(id_that_does_not_fit_is_refused_with_its_batch),
		CASE(row_function_can_end_a_scan),
		CASE(epochs_rise_and_outlive_crashes),
		CASE(second_manager_is_refused),
		CASE(newer_journal_is_refused_and_left_alone),
		CASE(foreign_database_is_refused),
		CASE(another_program_in_the_journal_is_an_error),
		CASE(long_directory_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
