/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * SQLite's view of a simulated disk. Sector size and characteristics are those
 * that SQLite assumes of a file system on Linux, since the shipped code must
 * meet them here; a new log syncs the directory with its first sync, as there.
 * There is no shared memory: the log needs the exclusive locking mode, and any
 * lock is exclusive, so that a database has one connection at a time.
 */
#include "sim/disk_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SECTOR_BYTES    4096
#define JULIAN_EPOCH_MS INT64_C(210866760000000)

struct vfs_file {
	sqlite3_file base;
	struct sim_file *file;
	bool wants_directory_sync;
};

static struct sim_file *file_of(sqlite3_file *file)
{
	return ((struct vfs_file *)file)->file;
}

static int vfs_close(sqlite3_file *base)
{
	struct vfs_file *file = (struct vfs_file *)base;

	sim_file_close(file->file);
	return SQLITE_OK;
}

static int vfs_read(sqlite3_file *file, void *bytes, int size,
		    sqlite3_int64 offset)
{
	int64_t count = sim_file_read(file_of(file), (uint64_t)offset, bytes,
				      (size_t)size);

	if (count < 0)
		return SQLITE_IOERR_READ;
	if (count == size)
		return SQLITE_OK;
	memset((char *)bytes + count, 0, (size_t)(size - count));
	return SQLITE_IOERR_SHORT_READ;
}

static int vfs_write(sqlite3_file *file, const void *bytes, int size,
		     sqlite3_int64 offset)
{
	int result = sim_file_write(file_of(file), (uint64_t)offset, bytes,
				    (size_t)size);

	return result == 0         ? SQLITE_OK
	       : result == -ENOSPC ? SQLITE_FULL
				   : SQLITE_IOERR_WRITE;
}

static int vfs_truncate(sqlite3_file *file, sqlite3_int64 size)
{
	int result = sim_file_truncate(file_of(file), (uint64_t)size);

	return result == 0 ? SQLITE_OK : SQLITE_IOERR_TRUNCATE;
}

static int vfs_sync(sqlite3_file *base, int flags)
{
	struct vfs_file *file = (struct vfs_file *)base;

	if (sim_file_sync(file->file) < 0)
		return SQLITE_IOERR_FSYNC;
	if (file->wants_directory_sync) {
		if (sim_disk_sync_directory(file->file->disk) < 0)
			return SQLITE_IOERR_DIR_FSYNC;
		file->wants_directory_sync = false;
	}
	return SQLITE_OK;
}

static int vfs_file_size(sqlite3_file *file, sqlite3_int64 *ret_size)
{
	int64_t size = sim_file_size(file_of(file));

	if (size < 0)
		return SQLITE_IOERR_FSTAT;
	*ret_size = size;
	return SQLITE_OK;
}

static int vfs_lock(sqlite3_file *file, int level)
{
	int result;

	if (level == SQLITE_LOCK_NONE)
		return SQLITE_OK;
	result = sim_file_lock(file_of(file));
	return result == 0        ? SQLITE_OK
	       : result == -EBUSY ? SQLITE_BUSY
				  : SQLITE_IOERR_LOCK;
}

static int vfs_unlock(sqlite3_file *file, int level)
{
	if (level == SQLITE_LOCK_NONE)
		sim_file_unlock(file_of(file));
	return SQLITE_OK;
}

static int vfs_check_reserved(sqlite3_file *file, int *ret_is_reserved)
{
	*ret_is_reserved = 0;
	return SQLITE_OK;
}

static int vfs_control(sqlite3_file *file, int op, void *arg)
{
	return SQLITE_NOTFOUND;
}

static int vfs_sector_size(sqlite3_file *file)
{
	return SECTOR_BYTES;
}

static int vfs_characteristics(sqlite3_file *file)
{
	return SQLITE_IOCAP_POWERSAFE_OVERWRITE;
}

static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = vfs_close,
	.xRead = vfs_read,
	.xWrite = vfs_write,
	.xTruncate = vfs_truncate,
	.xSync = vfs_sync,
	.xFileSize = vfs_file_size,
	.xLock = vfs_lock,
	.xUnlock = vfs_unlock,
	.xCheckReservedLock = vfs_check_reserved,
	.xFileControl = vfs_control,
	.xSectorSize = vfs_sector_size,
	.xDeviceCharacteristics = vfs_characteristics,
};

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *base,
		    int flags, int *ret_flags)
{
	const int logs = SQLITE_OPEN_WAL | SQLITE_OPEN_MAIN_JOURNAL |
			 SQLITE_OPEN_SUPER_JOURNAL;
	struct vfs_file *file = (struct vfs_file *)base;
	struct sim_disk *disk = vfs->pAppData;
	bool is_new = path != NULL && !sim_disk_exists(disk, path);
	int result;

	memset(file, 0, sizeof(*file));
	if (path == NULL)
		result = sim_file_open_unnamed(disk, &file->file);
	else
		result = sim_file_open(disk, path,
				       (flags & SQLITE_OPEN_CREATE) != 0,
				       &file->file);
	if (result < 0)
		return SQLITE_CANTOPEN;
	file->wants_directory_sync = is_new && (flags & logs) != 0;
	file->base.pMethods = &methods;
	if (ret_flags != NULL)
		*ret_flags = flags;
	return SQLITE_OK;
}

static int vfs_delete(sqlite3_vfs *vfs, const char *path, int is_synced)
{
	struct sim_disk *disk = vfs->pAppData;
	int result = sim_disk_unlink(disk, path);

	if (result == -ENOENT)
		return SQLITE_IOERR_DELETE_NOENT;
	if (result < 0)
		return SQLITE_IOERR_DELETE;
	if (is_synced && sim_disk_sync_directory(disk) < 0)
		return SQLITE_IOERR_DIR_FSYNC;
	return SQLITE_OK;
}

/* An empty file does not exist, as in SQLite's own code for Linux. */
static int vfs_access(sqlite3_vfs *vfs, const char *path, int flags,
		      int *ret_is_there)
{
	struct sim_disk *disk = vfs->pAppData;
	const struct inode *inode = directory_find(&disk->directory, path);

	*ret_is_there = inode != NULL && (flags != SQLITE_ACCESS_EXISTS ||
					  inode->current.size > 0);
	return SQLITE_OK;
}

static int vfs_full_path(sqlite3_vfs *vfs, const char *path, int capacity,
			 char *ret_path)
{
	int size = snprintf(ret_path, (size_t)capacity, "%s", path);

	return size < capacity ? SQLITE_OK : SQLITE_CANTOPEN;
}

static int vfs_randomness(sqlite3_vfs *vfs, int size, char *ret_bytes)
{
	struct sim_disk *disk = vfs->pAppData;

	rng_fill(&disk->rng, ret_bytes, (size_t)size);
	return size;
}

static int vfs_sleep(sqlite3_vfs *vfs, int duration_us)
{
	return duration_us;
}

static int vfs_time_ms(sqlite3_vfs *vfs, sqlite3_int64 *ret_time_ms)
{
	struct sim_disk *disk = vfs->pAppData;

	*ret_time_ms =
		JULIAN_EPOCH_MS + (int64_t)(clock_wall_us(&disk->clock) / 1000);
	return SQLITE_OK;
}

static int vfs_time_days(sqlite3_vfs *vfs, double *ret_days)
{
	sqlite3_int64 time_ms = 0;

	vfs_time_ms(vfs, &time_ms);
	*ret_days = (double)time_ms / 86400000.0;
	return SQLITE_OK;
}

static int vfs_last_error(sqlite3_vfs *vfs, int capacity, char *ret_text)
{
	return 0;
}

void sim_vfs_init(struct sim_disk *disk)
{
	snprintf(disk->vfs_name, sizeof(disk->vfs_name), "sim-%p",
		 (void *)disk);
	disk->vfs = (sqlite3_vfs){
		.iVersion = 2,
		.szOsFile = (int)sizeof(struct vfs_file),
		.mxPathname = 512,
		.zName = disk->vfs_name,
		.pAppData = disk,
		.xOpen = vfs_open,
		.xDelete = vfs_delete,
		.xAccess = vfs_access,
		.xFullPathname = vfs_full_path,
		.xRandomness = vfs_randomness,
		.xSleep = vfs_sleep,
		.xCurrentTime = vfs_time_days,
		.xGetLastError = vfs_last_error,
		.xCurrentTimeInt64 = vfs_time_ms,
	};
	if (sqlite3_vfs_register(&disk->vfs, 0) != SQLITE_OK)
		abort();
}

void sim_vfs_fini(struct sim_disk *disk)
{
	sqlite3_vfs_unregister(&disk->vfs);
}

const char *sim_disk_vfs(const struct sim_disk *disk)
{
	return disk->vfs_name;
}
