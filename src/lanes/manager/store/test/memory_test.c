/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory runs out at each allocation, SQLite's and ours: an error, nothing
 * half done, and the store can be used on.
 */
#include "lanes/manager/store/test/bed.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

#include "sim/heap.h"
#include "sys/files.h"

/* SQLite's allocator for the whole process, with a countdown before it. */
static struct {
	sqlite3_mem_methods real;
	unsigned int countdown;
	unsigned int failed_count;
} heap;

static bool is_out(void)
{
	if (heap.countdown == 0 || --heap.countdown > 0)
		return false;
	heap.failed_count++;
	return true;
}

static void *heap_malloc(int size)
{
	return is_out() ? NULL : heap.real.xMalloc(size);
}

static void *heap_realloc(void *memory, int size)
{
	return is_out() ? NULL : heap.real.xRealloc(memory, size);
}

static int install(void **state)
{
	sqlite3_mem_methods methods;

	assert_int_equal(sqlite3_config(SQLITE_CONFIG_GETMALLOC, &heap.real),
			 SQLITE_OK);
	methods = heap.real;
	methods.xMalloc = heap_malloc;
	methods.xRealloc = heap_realloc;
	return sqlite3_config(SQLITE_CONFIG_MALLOC, &methods) == SQLITE_OK ? 0
									   : -1;
}

static struct store_batch *batch_of(uint64_t id)
{
	struct store_batch *batch = batch_new();
	char body[6000];

	memset(body, 'a' + (int)id, sizeof(body) - 1);
	body[sizeof(body) - 1] = '\0';
	row_put(batch, STORE_JOB, id, 0, "key", body);
	row_put(batch, STORE_EVENT, id, 1, "", body);
	row_put(batch, STORE_META, id, 0, "last", NULL);
	return batch;
}

static int ignore(void *arg, const struct store_row *row)
{
	return 0;
}

static void assert_jobs(struct store *store, size_t count)
{
	struct store_batch *rows = scan(store, STORE_JOB);

	assert_int_equal(store_batch_count(rows), count);
	store_batch_destroy(rows);
	assert_int_equal(store_check(store, NULL), 0);
}

/* Open, write and read with the n-th allocation failing; true: one failed. */
static bool sqlite_fails_at(unsigned int n)
{
	struct bed bed;
	bool has_failed;
	uint64_t epoch;
	size_t count = 0;
	int result;

	bed_init(&bed, 1);
	heap.failed_count = 0;
	heap.countdown = n;
	result = bed_open(&bed);
	if (result < 0) {
		assert_int_equal(result, -ENOMEM);
		result = bed_open(&bed);
	}
	assert_int_equal(result, 0);
	result = write_batch(bed.store, batch_of(1), &bed.error);
	count += result == 0;
	assert_true(result == 0 || result == -ENOMEM);
	result = store_epoch_begin(bed.store, 0, &epoch, &bed.error);
	assert_true(result == 0 || result == -ENOMEM);
	result = store_scan(bed.store, STORE_EVENT, ignore, NULL, &bed.error);
	assert_true(result == 0 || result == -ENOMEM);
	heap.countdown = 0;
	has_failed = heap.failed_count > 0;
	assert_jobs(bed.store, count);
	assert_int_equal(write_batch(bed.store, batch_of(2), NULL), 0);
	bed_end(&bed, true);
	assert_int_equal(bed_open(&bed), 0);
	assert_jobs(bed.store, count + 1);
	bed_fini(&bed);
	return has_failed;
}

static void store_survives_each_failing_allocation_of_sqlite(void **state)
{
	unsigned int n = 1;

	while (sqlite_fails_at(n))
		n += n < 200 ? 1 : 3;
	print_message("%u allocations\n", n - 1);
	assert_true(n > 200);
}

/* On the system's disk: the simulated one ends when memory does. */
struct rig {
	char directory[64];
	struct store_options options;
	struct store *store;
};

static int open_and_write(void *ctx)
{
	struct rig *rig = ctx;
	struct store_batch *batch;
	uint64_t epoch;
	int result =
		store_open(rig->directory, &rig->options, &rig->store, NULL);

	if (result < 0)
		return result;
	result = store_epoch_begin(rig->store, 0, &epoch, NULL);
	if (result == 0)
		result = store_batch_create(&batch);
	if (result < 0)
		return result;
	result = store_write(rig->store, batch, NULL);
	store_batch_destroy(batch);
	return result;
}

static void files_remove(const struct rig *rig)
{
	static const char *const names[] = { "journal.db", "journal.db-wal",
					     "epoch", "lock" };
	char path[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", rig->directory, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(rig->directory), 0);
}

static void store_survives_each_failing_allocation_of_ours(void **state)
{
	struct rig rig = {
		.directory = "/tmp/store_memory_test.XXXXXX",
		.options = { .files = sys_files() },
	};
	unsigned int n;
	int result;

	assert_non_null(mkdtemp(rig.directory));
	for (n = 1; sim_heap_fails(n, &result, open_and_write, &rig); n++) {
		assert_int_equal(result, -ENOMEM);
		store_close(rig.store);
		rig.store = NULL;
	}
	assert_int_equal(result, 0);
	store_close(rig.store);
	files_remove(&rig);
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			store_survives_each_failing_allocation_of_sqlite),
		cmocka_unit_test(
			store_survives_each_failing_allocation_of_ours),
	};

	return cmocka_run_group_tests(tests, install, NULL);
}
