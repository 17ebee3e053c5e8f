/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A backup is a copy of the state's files, taken while no process has them
 * open or while one has: what a copy program would read. To put it back is
 * what journals.md says: the journal without its log, and with or without the
 * epoch file.
 */
#include <stdlib.h>
#include <string.h>

#include "leader_internal.h"
#include "oracle.h"

enum {
	FILE_JOURNAL,
	FILE_LOG,
	FILE_EPOCH,
};

static const char *const paths[LEADER_FILES] = {
	[FILE_JOURNAL] = LEADER_STATE "/journal.db",
	[FILE_LOG] = LEADER_STATE "/journal.db-wal",
	[FILE_EPOCH] = LEADER_STATE "/epoch",
};

void leader_backup_fini(struct leader *leader)
{
	for (int i = 0; i < LEADER_FILES; i++) {
		free(leader->files[i].bytes);
		leader->files[i] = (struct saved_file){ 0 };
	}
}

static int save(struct leader *leader, const char *path,
		struct saved_file *saved)
{
	struct sim_file *file;
	int64_t size;

	if (!sim_disk_exists(leader->disk, path))
		return 0;
	if (sim_file_open(leader->disk, path, false, &file) < 0)
		return -EIO;
	saved->size = (size_t)sim_file_size(file);
	saved->bytes = world_allocate(saved->size + 1);
	size = sim_file_read(file, 0, saved->bytes, saved->size);
	saved->is_there = size == (int64_t)saved->size;
	sim_file_close(file);
	return saved->is_there ? 0 : -EIO;
}

void leader_back_up(struct leader *leader)
{
	int result = 0;

	leader_backup_fini(leader);
	leader->backup_ms = 0;
	/* Nobody knows which epoch it would be of. */
	if (leader->current == NULL || leader->current->is_unwell)
		return;
	for (int i = 0; result == 0 && i < LEADER_FILES; i++)
		result = save(leader, paths[i], &leader->files[i]);
	/* A copy that failed is none: a journal without its log is older. */
	if (result < 0 || !leader->files[FILE_JOURNAL].is_there) {
		leader_backup_fini(leader);
		return;
	}
	leader->backup_ms = world_now_ms(leader->world);
	leader->backup_epoch = leader_epoch(leader);
	world_trace(leader->world, "the state is backed up");
}

bool leader_has_backup(const struct leader *leader)
{
	return leader->backup_ms > 0;
}

bool leader_was_restored(const struct leader *leader)
{
	return leader->restored;
}

static void put(struct leader *leader, const char *path,
		const struct saved_file *saved)
{
	struct sim_file *file;

	if (sim_disk_exists(leader->disk, path) &&
	    sim_disk_unlink(leader->disk, path) < 0)
		abort();
	if (!saved->is_there)
		return;
	if (sim_file_open(leader->disk, path, true, &file) < 0 ||
	    sim_file_write(file, 0, saved->bytes, saved->size) < 0 ||
	    sim_file_sync(file) < 0)
		abort();
	sim_file_close(file);
}

void leader_put_back(struct leader *leader)
{
	leader->restores = false;
	leader->restored = true;
	for (int i = 0; i < SIM_DISK_FAULT_COUNT; i++)
		sim_disk_fail_at(leader->disk, (enum sim_disk_fault)i, 0);
	sim_disk_set_capacity(leader->disk, 0);
	put(leader, paths[FILE_JOURNAL], &leader->files[FILE_JOURNAL]);
	put(leader, paths[FILE_LOG], &leader->files[FILE_LOG]);
	if (leader->restores_whole)
		put(leader, paths[FILE_EPOCH], &leader->files[FILE_EPOCH]);
	if (sim_disk_sync_directory(leader->disk) < 0)
		abort();
	world_trace(leader->world, "the state is put back%s",
		    leader->restores_whole ? ", with the epoch file" : "");
	coverage_hit(leader->world->coverage, leader->restores_whole
						      ? "fault:backup-whole"
						      : "fault:backup");
	oracle_backup_restored(leader->world->oracle, leader->backup_ms);
}
