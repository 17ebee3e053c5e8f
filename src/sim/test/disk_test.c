/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/disk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "sim/clock.h"
#include "sim/rng.h"

#define FILE_MAX 65536

struct rig {
	struct sim_rng rng;
	struct sim_clock clock;
	struct sim_disk *disk;
};

static struct rig *rig_create(uint64_t seed)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	sim_rng_init(&rig->rng, seed);
	rig->disk = sim_disk_create(sim_rng_seam(&rig->rng),
				    sim_clock_seam(&rig->clock));
	return rig;
}

static void rig_destroy(struct rig *rig)
{
	sim_disk_destroy(rig->disk);
	free(rig);
}

static struct sim_file *file_open(struct rig *rig, const char *path)
{
	struct sim_file *file;

	assert_int_equal(sim_file_open(rig->disk, path, true, &file), 0);
	return file;
}

/* A new file that is on disk under its name, with these bytes synced. */
static struct sim_file *file_synced(struct rig *rig, const char *path,
				    const void *bytes, size_t size)
{
	struct sim_file *file = file_open(rig, path);

	assert_int_equal(sim_file_append(file, bytes, size), 0);
	assert_int_equal(sim_file_sync(file), 0);
	assert_int_equal(sim_disk_sync_directory(rig->disk), 0);
	return file;
}

/* Its size; -1 when it is not there. */
static int64_t file_content(struct rig *rig, const char *path, void *bytes)
{
	struct sim_file *file;
	int64_t size;

	if (sim_file_open(rig->disk, path, false, &file) == -ENOENT)
		return -1;
	size = sim_file_read(file, 0, bytes, FILE_MAX);
	assert_true(size >= 0 && size == sim_file_size(file));
	sim_file_close(file);
	return size;
}

static void written_bytes_can_be_read_anywhere(void **state)
{
	struct rig *rig = rig_create(1);
	struct sim_file *file = file_open(rig, "a");
	char bytes[32];

	assert_int_equal(sim_file_append(file, "hello", 5), 0);
	assert_int_equal(sim_file_write(file, 8, "world", 5), 0);
	assert_int_equal(sim_file_write(file, 1, "BY", 2), 0);
	assert_int_equal(sim_file_size(file), 13);
	assert_int_equal(sim_file_read(file, 0, bytes, sizeof(bytes)), 13);
	assert_memory_equal(bytes, "hBYlo\0\0\0world", 13);
	assert_int_equal(sim_file_read(file, 11, bytes, sizeof(bytes)), 2);
	assert_int_equal(sim_file_read(file, 13, bytes, sizeof(bytes)), 0);
	assert_int_equal(sim_file_read(file, 99, bytes, sizeof(bytes)), 0);
	assert_int_equal(sim_file_truncate(file, 3), 0);
	assert_int_equal(sim_file_truncate(file, 5), 0);
	assert_int_equal(sim_file_read(file, 0, bytes, sizeof(bytes)), 5);
	assert_memory_equal(bytes, "hBY\0\0", 5);
	sim_file_close(file);
	rig_destroy(rig);
}

static void synced_bytes_survive_every_power_cut(void **state)
{
	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct rig *rig = rig_create(seed);
		struct sim_file *file = file_synced(rig, "a", "kept", 4);
		char bytes[FILE_MAX];

		assert_int_equal(sim_file_append(file, "lost?", 5), 0);
		sim_disk_crash(rig->disk);
		assert_int_equal(sim_file_append(file, "x", 1), -EIO);
		assert_int_equal(sim_file_read(file, 0, bytes, 1), -EIO);
		assert_int_equal(sim_file_size(file), -EIO);
		assert_int_equal(sim_file_sync(file), -EIO);
		sim_file_close(file);
		assert_in_range(file_content(rig, "a", bytes), 4, 9);
		assert_memory_equal(bytes, "kept", 4);
		rig_destroy(rig);
	}
}

static void kill_keeps_the_data_and_ends_open_files(void **state)
{
	struct rig *rig = rig_create(1);
	struct sim_file *file = file_open(rig, "a");
	struct sim_file *second = file_open(rig, "a");
	char bytes[FILE_MAX];

	assert_int_equal(sim_file_append(file, "still there", 11), 0);
	assert_int_equal(sim_file_lock(file), 0);
	assert_int_equal(sim_file_lock(file), 0);
	assert_int_equal(sim_file_lock(second), -EBUSY);
	sim_file_close(second);
	sim_disk_kill(rig->disk);
	assert_int_equal(sim_file_append(file, "x", 1), -EIO);
	second = file_open(rig, "a");
	assert_int_equal(sim_file_lock(second), 0);
	sim_file_close(file);
	file = file_open(rig, "a");
	assert_int_equal(sim_file_lock(file), -EBUSY);
	sim_file_unlock(second);
	assert_int_equal(sim_file_lock(file), 0);
	sim_file_close(file);
	sim_file_close(second);
	assert_int_equal(file_content(rig, "a", bytes), 11);
	assert_memory_equal(bytes, "still there", 11);
	assert_int_equal(sim_disk_stats(rig->disk)->kill_count, 1);
	rig_destroy(rig);
}

/* Each sector old, new or torn in one place; what is around it is old. */
static void assert_sectors(const uint8_t *bytes, size_t from, size_t to)
{
	for (size_t at = from; at < to;) {
		size_t end =
			at + SIM_DISK_SECTOR_BYTES - at % SIM_DISK_SECTOR_BYTES;
		int changes = 0;

		end = end < to ? end : to;
		for (; at < end; at++) {
			assert_true(bytes[at] == 'o' || bytes[at] == 'n');
			changes += at + 1 < end && bytes[at] != bytes[at + 1];
		}
		assert_in_range(changes, 0, 1);
	}
}

static void unsynced_sectors_are_kept_lost_or_torn_each_alone(void **state)
{
	struct sim_disk_stats total = { 0 };
	const size_t size = 20 * SIM_DISK_SECTOR_BYTES;
	const size_t from = 100;
	const size_t to = 15 * SIM_DISK_SECTOR_BYTES + 7;
	uint8_t bytes[FILE_MAX];

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct rig *rig = rig_create(seed);
		const struct sim_disk_stats *stats = sim_disk_stats(rig->disk);
		struct sim_file *file;

		memset(bytes, 'o', size);
		file = file_synced(rig, "a", bytes, size);
		memset(bytes, 'n', size);
		assert_int_equal(sim_file_write(file, from, bytes, to - from),
				 0);
		sim_disk_crash(rig->disk);
		sim_file_close(file);
		assert_int_equal(file_content(rig, "a", bytes), size);
		for (size_t at = 0; at < size; at++) {
			if (at < from || at >= to)
				assert_int_equal(bytes[at], 'o');
		}
		assert_sectors(bytes, from, to);
		assert_int_equal(stats->sector_kept_count +
					 stats->sector_lost_count +
					 stats->sector_torn_count,
				 16);
		total.sector_kept_count += stats->sector_kept_count == 16;
		total.sector_lost_count += stats->sector_lost_count == 16;
		total.sector_torn_count += stats->sector_torn_count;
		rig_destroy(rig);
	}
	assert_true(total.sector_kept_count > 20);
	assert_true(total.sector_lost_count > 20);
	assert_true(total.sector_torn_count > 200);
}

static void unsynced_truncation_is_kept_or_lost(void **state)
{
	int sizes[2] = { 0 };
	char bytes[FILE_MAX];

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct rig *rig = rig_create(seed);
		struct sim_file *file = file_synced(rig, "a", "0123456789", 10);
		int64_t size;

		assert_int_equal(sim_file_truncate(file, 4), 0);
		sim_disk_crash(rig->disk);
		sim_file_close(file);
		size = file_content(rig, "a", bytes);
		assert_true(size == 4 || size == 10);
		assert_int_equal(sim_disk_stats(rig->disk)->truncate_lost_count,
				 size == 10);
		sizes[size == 10]++;
		rig_destroy(rig);
	}
	assert_true(sizes[0] > 10 && sizes[1] > 10);
}

/* A name that a crash leaves tells how many changes were kept. */
static void names_survive_as_a_beginning_of_their_changes(void **state)
{
	int seen[5] = { 0 };

	for (uint64_t seed = 1; seed <= 300; seed++) {
		struct rig *rig = rig_create(seed);
		struct sim_disk *disk = rig->disk;
		bool a, b, c, d;
		int kept;

		sim_file_close(file_synced(rig, "a", "A", 1));
		sim_file_close(file_open(rig, "b"));
		assert_int_equal(sim_disk_rename(disk, "a", "c"), 0);
		assert_int_equal(sim_disk_unlink(disk, "b"), 0);
		sim_file_close(file_open(rig, "d"));
		assert_int_equal(sim_disk_rename(disk, "a", "c"), -ENOENT);
		assert_int_equal(sim_disk_unlink(disk, "b"), -ENOENT);
		sim_disk_crash(disk);
		a = sim_disk_exists(disk, "a");
		b = sim_disk_exists(disk, "b");
		c = sim_disk_exists(disk, "c");
		d = sim_disk_exists(disk, "d");
		kept = d ? 4 : c && !b ? 3 : c ? 2 : b ? 1 : 0;
		assert_int_equal(a, kept < 2);
		assert_int_equal(b, kept == 1 || kept == 2);
		assert_int_equal(c, kept >= 2);
		assert_int_equal(sim_disk_stats(disk)->name_lost_count,
				 4 - kept);
		seen[kept]++;
		rig_destroy(rig);
	}
	for (int i = 0; i < 5; i++)
		assert_true(seen[i] > 5);
}

static void failed_sync_forgets_what_it_did_not_write(void **state)
{
	uint64_t dropped_count = 0;
	uint8_t bytes[FILE_MAX];
	uint8_t before[FILE_MAX];

	for (uint64_t seed = 1; seed <= 100; seed++) {
		const size_t size = 8 * SIM_DISK_SECTOR_BYTES;
		struct rig *rig = rig_create(seed);
		struct sim_file *file;
		size_t old_count = 0;

		memset(bytes, 'o', size);
		file = file_synced(rig, "a", bytes, size);
		memset(bytes, 'n', size);
		assert_int_equal(sim_file_write(file, 0, bytes, size), 0);
		sim_disk_fail_at(rig->disk, SIM_DISK_SYNC_ERROR, 1);
		assert_int_equal(sim_file_sync(file), -EIO);
		/* It can be read, and a later sync says that all is well. */
		assert_int_equal(sim_file_read(file, 0, before, size), size);
		assert_memory_equal(before, bytes, size);
		assert_int_equal(sim_file_sync(file), 0);
		sim_disk_crash(rig->disk);
		sim_file_close(file);
		assert_int_equal(file_content(rig, "a", bytes), size);
		for (size_t at = 0; at < size; at++)
			old_count += bytes[at] == 'o';
		assert_int_equal(
			old_count,
			sim_disk_stats(rig->disk)->sector_dropped_count *
				SIM_DISK_SECTOR_BYTES);
		dropped_count += old_count > 0;
		rig_destroy(rig);
	}
	assert_true(dropped_count > 50);
}

static void stop_fails_the_nth_change_and_all_after_it(void **state)
{
	struct rig *rig = rig_create(1);
	struct sim_file *file = file_synced(rig, "a", "0", 1);
	char bytes[FILE_MAX];

	sim_disk_fail_at(rig->disk, SIM_DISK_STOP, 3);
	assert_int_equal(sim_file_append(file, "1", 1), 0);
	assert_int_equal(sim_file_read(file, 0, bytes, 2), 2);
	assert_int_equal(sim_file_sync(file), 0);
	assert_int_equal(sim_disk_unlink(rig->disk, "a"), -EIO);
	assert_int_equal(sim_file_append(file, "2", 1), -EIO);
	assert_int_equal(sim_file_read(file, 0, bytes, 2), -EIO);
	assert_int_equal(sim_disk_rename(rig->disk, "a", "b"), -EIO);
	assert_int_equal(sim_disk_sync_directory(rig->disk), -EIO);
	sim_file_close(file);
	assert_int_equal(sim_file_open(rig->disk, "a", false, &file), -EIO);
	assert_int_equal(sim_disk_stats(rig->disk)->faults[SIM_DISK_STOP], 1);
	sim_disk_crash(rig->disk);
	assert_int_equal(file_content(rig, "a", bytes), 2);
	rig_destroy(rig);
}

static void each_fault_hits_its_call_once(void **state)
{
	struct rig *rig = rig_create(1);
	struct sim_file *file = file_synced(rig, "a", "0", 1);
	struct sim_file *unnamed;
	char bytes[8];

	for (int fault = SIM_DISK_READ_ERROR; fault < SIM_DISK_FAULT_COUNT;
	     fault++)
		sim_disk_fail_at(rig->disk, (enum sim_disk_fault)fault, 2);
	assert_int_equal(sim_file_read(file, 0, bytes, 1), 1);
	assert_int_equal(sim_file_read(file, 0, bytes, 1), -EIO);
	assert_int_equal(sim_file_read(file, 0, bytes, 1), 1);
	assert_int_equal(sim_file_write(file, 0, "1", 1), 0);
	assert_int_equal(sim_file_truncate(file, 1), -EIO);
	assert_int_equal(sim_file_write(file, 0, "2", 1), -ENOSPC);
	assert_int_equal(sim_file_write(file, 0, "3", 1), 0);
	assert_int_equal(sim_file_sync(file), 0);
	assert_int_equal(sim_disk_sync_directory(rig->disk), -EIO);
	assert_int_equal(sim_disk_sync_directory(rig->disk), 0);
	assert_int_equal(sim_file_open_unnamed(rig->disk, &unnamed), 0);
	assert_int_equal(sim_disk_unlink(rig->disk, "a"), -EIO);
	assert_int_equal(sim_disk_unlink(rig->disk, "a"), 0);
	for (int fault = SIM_DISK_READ_ERROR; fault < SIM_DISK_FAULT_COUNT;
	     fault++)
		assert_int_equal(sim_disk_stats(rig->disk)->faults[fault], 1);
	sim_file_close(unnamed);
	sim_file_close(file);
	rig_destroy(rig);
}

static void full_disk_takes_no_more_until_there_is_room(void **state)
{
	struct rig *rig = rig_create(3);
	struct sim_file *file = file_synced(rig, "a", "0123456789", 10);
	struct sim_file *other = file_open(rig, "b");

	sim_disk_set_capacity(rig->disk, 15);
	assert_int_equal(sim_file_append(file, "abc", 3), 0);
	assert_int_equal(sim_file_write(file, 0, "overwrites", 10), 0);
	assert_int_equal(sim_file_append(other, "abc", 3), -ENOSPC);
	assert_in_range(sim_file_size(other), 0, 2);
	assert_int_equal(sim_disk_stats(rig->disk)->full_count, 1);
	assert_int_equal(sim_disk_stats(rig->disk)->faults[SIM_DISK_FULL], 0);
	assert_int_equal(sim_file_truncate(file, 5), 0);
	assert_int_equal(sim_file_write(other, 0, "abcdefgh", 8), 0);
	sim_disk_unlink(rig->disk, "a");
	assert_int_equal(sim_file_append(other, "0123456", 7), -ENOSPC);
	sim_file_close(file);
	sim_disk_sync_directory(rig->disk);
	assert_int_equal(sim_file_write(other, 8, "0123456", 7), 0);
	sim_file_close(other);
	rig_destroy(rig);
}

static void file_seam_replaces_all_or_nothing(void **state)
{
	int new_count = 0, old_count = 0, acked_count = 0;

	for (uint64_t n = 1; n <= 80; n++) {
		struct rig *rig = rig_create(n);
		struct file_seam files = sim_disk_files(rig->disk);
		char bytes[16];
		bool is_acked, is_new;

		assert_int_equal(files.ops->load(files.ctx, "f", bytes, 16),
				 -ENOENT);
		assert_int_equal(files.ops->replace(files.ctx, "f", "old", 3),
				 0);
		sim_disk_fail_at(rig->disk, SIM_DISK_STOP, n % 8 + 1);
		is_acked = files.ops->replace(files.ctx, "f", "newer", 5) == 0;
		sim_disk_fail_at(rig->disk, SIM_DISK_STOP, 0);
		sim_disk_crash(rig->disk);
		is_new = files.ops->load(files.ctx, "f", bytes, 16) == 5;
		assert_int_equal(files.ops->load(files.ctx, "f", bytes, 16),
				 is_new ? 5 : 3);
		assert_memory_equal(bytes, is_new ? "newer" : "old",
				    is_new ? 5 : 3);
		assert_true(is_new || !is_acked);
		assert_int_equal(files.ops->load(files.ctx, "f", bytes, 2),
				 -EFBIG);
		acked_count += is_acked;
		new_count += is_new && !is_acked;
		old_count += !is_new;
		rig_destroy(rig);
	}
	assert_true(acked_count > 0 && new_count > 0 && old_count > 0);
}

static void file_seam_locks_until_the_process_ends(void **state)
{
	struct rig *rig = rig_create(1);
	struct file_seam files = sim_disk_files(rig->disk);
	void *first, *second;
	uint64_t holder = 1;

	assert_int_equal(files.ops->make_directory(files.ctx, "d"), 0);
	assert_int_equal(files.ops->lock(files.ctx, "d/lock", &first, &holder),
			 0);
	assert_int_equal(files.ops->lock(files.ctx, "d/lock", &second, &holder),
			 -EBUSY);
	assert_true(holder == 0);
	sim_disk_kill(rig->disk);
	assert_int_equal(files.ops->lock(files.ctx, "d/lock", &second, &holder),
			 0);
	files.ops->unlock(files.ctx, first);
	assert_int_equal(files.ops->lock(files.ctx, "d/lock", &first, &holder),
			 -EBUSY);
	files.ops->unlock(files.ctx, second);
	assert_int_equal(files.ops->rename(files.ctx, "d/lock", "d/other"), 0);
	assert_int_equal(files.ops->rename(files.ctx, "d/lock", "d/other"),
			 -ENOENT);
	assert_int_equal(files.ops->make_file(files.ctx, "d/lock"), 0);
	sim_disk_crash(rig->disk);
	assert_true(sim_disk_exists(rig->disk, "d/lock"));
	assert_true(sim_disk_exists(rig->disk, "d/other"));
	rig_destroy(rig);
}

/* What a seed leaves on the disk, with all that is random in between. */
static int64_t sql_bytes(uint64_t seed, uint8_t *bytes)
{
	struct rig *rig = rig_create(seed);
	sqlite3 *db;
	int64_t size;

	sim_sqlite_seed(7);
	rig->clock.wall_us = UINT64_C(1740823200000000);
	assert_int_equal(sqlite3_open_v2("db", &db,
					 SQLITE_OPEN_READWRITE |
						 SQLITE_OPEN_CREATE,
					 sim_disk_vfs(rig->disk)),
			 SQLITE_OK);
	sqlite3_exec(db,
		     "PRAGMA locking_mode=EXCLUSIVE; PRAGMA journal_mode=WAL;"
		     "CREATE TABLE t(a); INSERT INTO t VALUES(randomblob(999));"
		     "INSERT INTO t VALUES(datetime('now'))",
		     NULL, NULL, NULL);
	sqlite3_exec(db, "PRAGMA synchronous=OFF; DELETE FROM t", NULL, NULL,
		     NULL);
	sim_disk_crash(rig->disk);
	sqlite3_close(db);
	size = file_content(rig, "db-wal", bytes);
	rig_destroy(rig);
	return size;
}

static void seed_replays_sqlite_byte_for_byte(void **state)
{
	static uint8_t one[FILE_MAX], two[FILE_MAX];
	int differing_count = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		int64_t size = sql_bytes(seed, one);

		assert_in_range(size, 4096, FILE_MAX - 1);
		assert_int_equal(sql_bytes(seed, two), size);
		assert_memory_equal(one, two, (size_t)size);
		differing_count += sql_bytes(seed + 1, two) != size ||
				   memcmp(one, two, (size_t)size) != 0;
	}
	assert_true(differing_count > 5);
}

static void sqlite_gets_the_time_of_the_clock(void **state)
{
	struct rig *rig = rig_create(1);
	sqlite3_stmt *statement;
	sqlite3 *db;

	rig->clock.wall_us = UINT64_C(1740830400000000);
	assert_int_equal(sqlite3_open_v2("db", &db,
					 SQLITE_OPEN_READWRITE |
						 SQLITE_OPEN_CREATE,
					 sim_disk_vfs(rig->disk)),
			 SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT datetime('now')", -1,
					    &statement, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(statement, 0),
			    "2025-03-01 12:00:00");
	sqlite3_finalize(statement);
	sqlite3_close(db);
	rig_destroy(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(written_bytes_can_be_read_anywhere),
		cmocka_unit_test(synced_bytes_survive_every_power_cut),
		cmocka_unit_test(kill_keeps_the_data_and_ends_open_files),
		cmocka_unit_test(
			unsynced_sectors_are_kept_lost_or_torn_each_alone),
		cmocka_unit_test(unsynced_truncation_is_kept_or_lost),
		cmocka_unit_test(names_survive_as_a_beginning_of_their_changes),
		cmocka_unit_test(failed_sync_forgets_what_it_did_not_write),
		cmocka_unit_test(stop_fails_the_nth_change_and_all_after_it),
		cmocka_unit_test(each_fault_hits_its_call_once),
		cmocka_unit_test(full_disk_takes_no_more_until_there_is_room),
		cmocka_unit_test(file_seam_replaces_all_or_nothing),
		cmocka_unit_test(file_seam_locks_until_the_process_ends),
		cmocka_unit_test(seed_replays_sqlite_byte_for_byte),
		cmocka_unit_test(sqlite_gets_the_time_of_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
