/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A disk that lives in memory and fails as disks fail. The shipped SQLite code
 * runs on it (sim_disk_vfs), the file seam (sim_disk_files), and whatever uses
 * the sim_file_* calls. There is one directory: a path is just a name.
 *
 * What is written can be read at once, and survives the death of the process
 * (sim_disk_kill), but survives a power cut (sim_disk_crash) for certain only
 * once it was synced: file contents by sim_file_sync, names by
 * sim_disk_sync_directory. In a power cut each sector of each unsynced write
 * is kept, lost or torn on its own, bytes outside of the writes stay as they
 * were, a truncation is kept or lost, and of the unsynced changes of names the
 * first n are kept, as a file system with a log does. A sync that fails leaves
 * some of its writes unwritten and forgets them, as Linux does: they can still
 * be read, and a later sync does not bring them back.
 *
 * Everything random comes from the rng, every time from the clock, so that a
 * seed replays it. SQLite's own random numbers come from one generator in the
 * process: seed it with sim_sqlite_seed() for the same bytes on the disk.
 *
 * One thread. When memory runs out, the process ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/seam.h"

#define SIM_DISK_SECTOR_BYTES 512

struct sim_disk;
struct sim_file; /* an open file; dead after a kill or crash: -EIO */

/* What can be made to happen, each at a call that is chosen by its number. */
enum sim_disk_fault {
	/*
	 * The end of the process or of the power: this call (any that changes
	 * something) and all after it fail with -EIO, until sim_disk_kill() or
	 * sim_disk_crash() says which of the two it was.
	 */
	SIM_DISK_STOP,
	SIM_DISK_READ_ERROR,  /* a read fails with -EIO */
	SIM_DISK_WRITE_ERROR, /* a write (some is written) or truncation does */
	SIM_DISK_SYNC_ERROR,  /* a sync of a file or of the directory does */
	SIM_DISK_NAME_ERROR,  /* making, removing or renaming a file does */
	SIM_DISK_FULL,        /* a write finds no space: -ENOSPC */
	SIM_DISK_FAULT_COUNT,
};

/* What has happened so far. Calls are those that the fault can hit. */
struct sim_disk_stats {
	uint64_t calls[SIM_DISK_FAULT_COUNT];
	uint64_t faults[SIM_DISK_FAULT_COUNT];
	uint64_t full_count; /* writes above the capacity, without a fault */
	uint64_t kill_count;
	uint64_t crash_count;
	/* In power cuts: */
	uint64_t sector_kept_count;
	uint64_t sector_lost_count;
	uint64_t sector_torn_count;
	uint64_t truncate_lost_count;
	uint64_t name_lost_count;
	/* In failed syncs: */
	uint64_t sector_dropped_count;
};

/* An empty disk without limit. The contexts of the seams have to outlive it. */
struct sim_disk *sim_disk_create(struct rng_seam rng, struct clock_seam clock);
/* All files are closed before. NULL is allowed. */
void sim_disk_destroy(struct sim_disk *disk);
DEFINE_AUTO(struct sim_disk, sim_disk_destroy)

/* The name of its VFS, for sqlite3_open_v2(); lives as long as the disk. */
const char *sim_disk_vfs(const struct sim_disk *disk);
/* Its file seam; no holder of a lock is ever named. */
struct file_seam sim_disk_files(struct sim_disk *disk);
/* Start SQLite's generator again; not 0. */
void sim_sqlite_seed(uint32_t seed);

/* --- what happens to it --- */

/* Let the fault hit the n-th call from now that it can hit; 0: none. */
void sim_disk_fail_at(struct sim_disk *disk, enum sim_disk_fault fault,
		      uint64_t n);
/* Bytes in all files together; 0: no limit. */
void sim_disk_set_capacity(struct sim_disk *disk, uint64_t capacity_bytes);
/* The process dies: open files are dead, locks gone, the data stays. */
void sim_disk_kill(struct sim_disk *disk);
/* A power cut: as above, and what was not synced is at risk. */
void sim_disk_crash(struct sim_disk *disk);
const struct sim_disk_stats *sim_disk_stats(const struct sim_disk *disk);

/* --- files; 0 or a count, or -EIO, -ENOSPC, -ENOENT --- */

bool sim_disk_exists(const struct sim_disk *disk, const char *path);
/* -ENOENT unless is_made: then it is made where it is not there. */
int sim_file_open(struct sim_disk *disk, const char *path, bool is_made,
		  struct sim_file **ret_file);
/* Without a name: gone once it is closed. */
int sim_file_open_unnamed(struct sim_disk *disk, struct sim_file **ret_file);
void sim_file_close(struct sim_file *file);
int64_t sim_file_size(const struct sim_file *file);
/* Bytes that were there to read: fewer than size at the end. */
int64_t sim_file_read(struct sim_file *file, uint64_t offset, void *bytes,
		      size_t size);
/* Behind the end: the gap is filled with zeros. */
int sim_file_write(struct sim_file *file, uint64_t offset, const void *bytes,
		   size_t size);
int sim_file_append(struct sim_file *file, const void *bytes, size_t size);
int sim_file_truncate(struct sim_file *file, uint64_t size);
int sim_file_sync(struct sim_file *file);
/* For as long as it is open; again is allowed. -EBUSY: another one has it. */
int sim_file_lock(struct sim_file *file);
void sim_file_unlock(struct sim_file *file);
int sim_disk_unlink(struct sim_disk *disk, const char *path);
/* A file with the new name goes. */
int sim_disk_rename(struct sim_disk *disk, const char *from, const char *to);
int sim_disk_sync_directory(struct sim_disk *disk);
