/* SPDX-License-Identifier: BSD-3-Clause */
/* What the simulated disk's files share. */
#pragma once

#include <sqlite3.h>

#include "sim/disk.h"

/* Bytes of a file at one moment. */
struct image {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
};

/* An unsynced write, or a truncation to `offset` (is_truncate). */
struct pending {
	struct pending *prev, *next;
	bool is_truncate;
	uint64_t offset;
	size_t size;
	uint8_t bytes[];
};

struct inode {
	struct inode *prev, *next;
	struct image current;
	struct image durable;
	struct pending *pending;      /* in the order they were made */
	unsigned int reference_count; /* names, changes of names, open files */
	const struct sim_file *lock_holder;
};

enum change_kind {
	CHANGE_LINK,
	CHANGE_UNLINK,
	CHANGE_RENAME,
};

/* An unsynced change of names. */
struct change {
	struct change *prev, *next;
	enum change_kind kind;
	char *path;
	char *to;            /* CHANGE_RENAME */
	struct inode *inode; /* CHANGE_LINK */
};

struct name {
	struct name *prev, *next;
	char *path;
	struct inode *inode;
};

/* The one directory: as it is, and as it is on disk. */
struct directory {
	struct name *current;
	struct name *durable;
	struct change *pending;
};

struct sim_disk {
	struct rng_seam rng;
	struct clock_seam clock;
	struct directory directory;
	struct inode *inodes; /* in the order they were made */
	struct sim_disk_stats stats;
	uint64_t countdown[SIM_DISK_FAULT_COUNT];
	uint64_t capacity_bytes;
	uint64_t used_bytes; /* of all current images */
	uint64_t life;       /* open files of an earlier one are dead */
	bool is_stopped;
	sqlite3_vfs vfs;
	char vfs_name[32];
};

struct sim_file {
	struct sim_disk *disk;
	struct inode *inode;
	uint64_t life;
};

/* What a power cut does to what was not synced. */
enum crash_mode {
	CRASH_LOSES_ALL,
	CRASH_KEEPS_ALL,
	CRASH_MIXES,
};

/* disk.c: memory that is there. */
void *sim_allocate(size_t size);
/* 0..n-1; n > 0. */
uint64_t sim_disk_below(struct sim_disk *disk, uint64_t n);

/* disk_inode.c; references are counted, the last one frees. */
struct inode *inode_create(struct sim_disk *disk);
struct inode *inode_ref(struct inode *inode);
void inode_unref(struct sim_disk *disk, struct inode *inode);
void inode_write(struct sim_disk *disk, struct inode *inode, uint64_t offset,
		 const void *bytes, size_t size);
void inode_truncate(struct sim_disk *disk, struct inode *inode, uint64_t size);
void inode_sync(struct inode *inode);
void inode_sync_failed(struct sim_disk *disk, struct inode *inode);
void inode_crash(struct sim_disk *disk, struct inode *inode,
		 enum crash_mode mode);

/* disk_names.c; the names that are changed are there. */
struct inode *directory_find(const struct directory *directory,
			     const char *path);
void directory_link(struct sim_disk *disk, const char *path,
		    struct inode *inode);
void directory_unlink(struct sim_disk *disk, const char *path);
void directory_rename(struct sim_disk *disk, const char *from, const char *to);
void directory_sync(struct sim_disk *disk);
void directory_crash(struct sim_disk *disk, enum crash_mode mode);
void directory_fini(struct sim_disk *disk);

/* disk_vfs.c */
void sim_vfs_init(struct sim_disk *disk);
void sim_vfs_fini(struct sim_disk *disk);
