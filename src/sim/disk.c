/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each call passes one gate that counts it and says whether a fault hits it.
 * After the power is gone everything fails but closing; closing never fails
 * and changes nothing on the disk.
 */
#include "sim/disk_internal.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

void *sim_allocate(size_t size)
{
	void *memory = malloc(size > 0 ? size : 1);

	if (memory == NULL)
		abort();
	return memory;
}

uint64_t sim_disk_below(struct sim_disk *disk, uint64_t n)
{
	assert(n > 0);
	return rng_u64(&disk->rng) % n;
}

struct sim_disk *sim_disk_create(struct rng_seam rng, struct clock_seam clock)
{
	struct sim_disk *disk = sim_allocate(sizeof(*disk));

	memset(disk, 0, sizeof(*disk));
	disk->rng = rng;
	disk->clock = clock;
	sim_vfs_init(disk);
	return disk;
}

void sim_disk_destroy(struct sim_disk *disk)
{
	if (disk == NULL)
		return;
	sim_vfs_fini(disk);
	directory_fini(disk);
	assert(disk->inodes == NULL);
	free(disk);
}

void sim_sqlite_seed(uint32_t seed)
{
	assert(seed > 0 && seed <= INT_MAX);
	sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SEED, (int)seed, NULL);
}

void sim_disk_fail_at(struct sim_disk *disk, enum sim_disk_fault fault,
		      uint64_t n)
{
	disk->countdown[fault] = n;
}

void sim_disk_set_capacity(struct sim_disk *disk, uint64_t capacity_bytes)
{
	disk->capacity_bytes = capacity_bytes;
}

void sim_disk_kill(struct sim_disk *disk)
{
	disk->life++;
	disk->is_stopped = false;
	disk->stats.kill_count++;
}

void sim_disk_crash(struct sim_disk *disk)
{
	static const enum crash_mode modes[] = {
		CRASH_LOSES_ALL,
		CRASH_KEEPS_ALL,
		CRASH_MIXES,
		CRASH_MIXES,
	};
	enum crash_mode mode = modes[sim_disk_below(disk, 4)];
	struct inode *inode;

	disk->life++;
	disk->stats.crash_count++;
	disk->is_stopped = false;
	directory_crash(disk, mode);
	DL_FOREACH (disk->inodes, inode)
		inode_crash(disk, inode, mode);
}

const struct sim_disk_stats *sim_disk_stats(const struct sim_disk *disk)
{
	return &disk->stats;
}

/* Count a call that this fault can hit; does it? */
static bool hits(struct sim_disk *disk, enum sim_disk_fault fault)
{
	disk->stats.calls[fault]++;
	if (disk->countdown[fault] == 0 || --disk->countdown[fault] > 0)
		return false;
	disk->stats.faults[fault]++;
	return true;
}

/* The gate of a call that changes something. */
static int change_gate(struct sim_disk *disk, enum sim_disk_fault fault)
{
	if (disk->is_stopped)
		return -EIO;
	if (hits(disk, SIM_DISK_STOP))
		disk->is_stopped = true;
	return hits(disk, fault) || disk->is_stopped ? -EIO : 0;
}

static bool is_dead(const struct sim_file *file)
{
	return file->disk->is_stopped || file->life != file->disk->life;
}

bool sim_disk_exists(const struct sim_disk *disk, const char *path)
{
	return directory_find(&disk->directory, path) != NULL;
}

static struct sim_file *file_create(struct sim_disk *disk, struct inode *inode)
{
	struct sim_file *file = sim_allocate(sizeof(*file));

	*file = (struct sim_file){
		.disk = disk,
		.inode = inode_ref(inode),
		.life = disk->life,
	};
	return file;
}

int sim_file_open(struct sim_disk *disk, const char *path, bool is_made,
		  struct sim_file **ret_file)
{
	struct inode *inode = directory_find(&disk->directory, path);
	int result;

	if (disk->is_stopped)
		return -EIO;
	if (inode == NULL) {
		if (!is_made)
			return -ENOENT;
		result = change_gate(disk, SIM_DISK_NAME_ERROR);
		if (result < 0)
			return result;
		inode = inode_create(disk);
		directory_link(disk, path, inode);
	}
	*ret_file = file_create(disk, inode);
	return 0;
}

int sim_file_open_unnamed(struct sim_disk *disk, struct sim_file **ret_file)
{
	int result = change_gate(disk, SIM_DISK_NAME_ERROR);

	if (result == 0)
		*ret_file = file_create(disk, inode_create(disk));
	return result;
}

void sim_file_close(struct sim_file *file)
{
	if (file == NULL)
		return;
	sim_file_unlock(file);
	inode_unref(file->disk, file->inode);
	free(file);
}

int64_t sim_file_size(const struct sim_file *file)
{
	return is_dead(file) ? -EIO : (int64_t)file->inode->current.size;
}

int64_t sim_file_read(struct sim_file *file, uint64_t offset, void *bytes,
		      size_t size)
{
	const struct image *image = &file->inode->current;

	if (is_dead(file) || hits(file->disk, SIM_DISK_READ_ERROR))
		return -EIO;
	if (offset >= image->size)
		return 0;
	if (size > image->size - offset)
		size = image->size - offset;
	memcpy(bytes, image->bytes + offset, size);
	return (int64_t)size;
}

/* How much of a write that grows the file still fits. */
static size_t space_of(const struct sim_file *file, uint64_t offset,
		       size_t size)
{
	const struct sim_disk *disk = file->disk;
	uint64_t end = offset + size;
	uint64_t space;

	if (disk->capacity_bytes == 0 || end <= file->inode->current.size)
		return size;
	space = disk->used_bytes < disk->capacity_bytes
			? disk->capacity_bytes - disk->used_bytes
			: 0;
	space += file->inode->current.size;
	if (end <= space)
		return size;
	return space > offset ? space - offset : 0;
}

int sim_file_write(struct sim_file *file, uint64_t offset, const void *bytes,
		   size_t size)
{
	struct sim_disk *disk = file->disk;
	size_t written;
	int result;

	if (is_dead(file))
		return -EIO;
	written = space_of(file, offset, size);
	if (written < size)
		disk->stats.full_count++;
	result = change_gate(disk, SIM_DISK_WRITE_ERROR);
	if (result == 0 && (hits(disk, SIM_DISK_FULL) || written < size))
		result = -ENOSPC;
	if (result < 0)
		written = sim_disk_below(disk, written + 1);
	if (written > 0)
		inode_write(disk, file->inode, offset, bytes, written);
	return result;
}

int sim_file_append(struct sim_file *file, const void *bytes, size_t size)
{
	return sim_file_write(file, file->inode->current.size, bytes, size);
}

int sim_file_truncate(struct sim_file *file, uint64_t size)
{
	int result;

	if (is_dead(file))
		return -EIO;
	result = change_gate(file->disk, SIM_DISK_WRITE_ERROR);
	if (result == 0)
		inode_truncate(file->disk, file->inode, size);
	return result;
}

int sim_file_sync(struct sim_file *file)
{
	struct sim_disk *disk = file->disk;
	int result;

	if (is_dead(file))
		return -EIO;
	result = change_gate(disk, SIM_DISK_SYNC_ERROR);
	if (result == 0)
		inode_sync(file->inode);
	else if (!disk->is_stopped)
		inode_sync_failed(disk, file->inode);
	return result;
}

static bool is_alive(const struct sim_file *file)
{
	return file->life == file->disk->life;
}

int sim_file_lock(struct sim_file *file)
{
	struct inode *inode = file->inode;

	if (is_dead(file))
		return -EIO;
	if (inode->lock_holder != NULL && inode->lock_holder != file &&
	    is_alive(inode->lock_holder))
		return -EBUSY;
	inode->lock_holder = file;
	return 0;
}

void sim_file_unlock(struct sim_file *file)
{
	if (file->inode->lock_holder == file)
		file->inode->lock_holder = NULL;
}

int sim_disk_unlink(struct sim_disk *disk, const char *path)
{
	int result = disk->is_stopped ? -EIO : 0;

	if (result == 0 && !sim_disk_exists(disk, path))
		return -ENOENT;
	if (result == 0)
		result = change_gate(disk, SIM_DISK_NAME_ERROR);
	if (result == 0)
		directory_unlink(disk, path);
	return result;
}

int sim_disk_rename(struct sim_disk *disk, const char *from, const char *to)
{
	int result = disk->is_stopped ? -EIO : 0;

	if (result == 0 && !sim_disk_exists(disk, from))
		return -ENOENT;
	if (result == 0)
		result = change_gate(disk, SIM_DISK_NAME_ERROR);
	if (result == 0)
		directory_rename(disk, from, to);
	return result;
}

int sim_disk_sync_directory(struct sim_disk *disk)
{
	int result = change_gate(disk, SIM_DISK_SYNC_ERROR);

	if (result == 0)
		directory_sync(disk);
	return result;
}
