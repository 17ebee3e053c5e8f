/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The names of a disk with one directory. Changes reach the disk in the order
 * they were made, as in a file system with a log; a power cut ends the row
 * somewhere.
 */
#include "sim/disk_internal.h"

#include <assert.h>
#include <string.h>
#include <utlist.h>

static struct name *name_find(struct name *names, const char *path)
{
	struct name *name;

	DL_FOREACH (names, name) {
		if (strcmp(name->path, path) == 0)
			return name;
	}
	return NULL;
}

static char *path_copy(const char *path)
{
	size_t size = strlen(path) + 1;

	return memcpy(sim_allocate(size), path, size);
}

static void name_add(struct name **names, const char *path, struct inode *inode)
{
	struct name *name = sim_allocate(sizeof(*name));

	*name = (struct name){ .path = path_copy(path),
			       .inode = inode_ref(inode) };
	DL_APPEND(*names, name);
}

static void name_remove(struct sim_disk *disk, struct name **names,
			struct name *name)
{
	DL_DELETE(*names, name);
	inode_unref(disk, name->inode);
	free(name->path);
	free(name);
}

static void name_remove_path(struct sim_disk *disk, struct name **names,
			     const char *path)
{
	struct name *name = name_find(*names, path);

	if (name != NULL)
		name_remove(disk, names, name);
}

static void apply(struct sim_disk *disk, struct name **names,
		  const struct change *change)
{
	struct name *name;

	switch (change->kind) {
	case CHANGE_LINK:
		name_add(names, change->path, change->inode);
		break;
	case CHANGE_UNLINK:
		name_remove_path(disk, names, change->path);
		break;
	case CHANGE_RENAME:
		name = name_find(*names, change->path);
		assert(name != NULL);
		if (strcmp(change->path, change->to) == 0)
			break;
		name_remove_path(disk, names, change->to);
		free(name->path);
		name->path = path_copy(change->to);
		break;
	}
}

static void change_make(struct sim_disk *disk, enum change_kind kind,
			const char *path, const char *to, struct inode *inode)
{
	struct change *change = sim_allocate(sizeof(*change));

	*change = (struct change){
		.kind = kind,
		.path = path_copy(path),
		.to = to != NULL ? path_copy(to) : NULL,
		.inode = inode != NULL ? inode_ref(inode) : NULL,
	};
	DL_APPEND(disk->directory.pending, change);
	apply(disk, &disk->directory.current, change);
}

static void change_drop(struct sim_disk *disk, struct change *change)
{
	DL_DELETE(disk->directory.pending, change);
	if (change->inode != NULL)
		inode_unref(disk, change->inode);
	free(change->path);
	free(change->to);
	free(change);
}

struct inode *directory_find(const struct directory *directory,
			     const char *path)
{
	struct name *name = name_find(directory->current, path);

	return name != NULL ? name->inode : NULL;
}

void directory_link(struct sim_disk *disk, const char *path,
		    struct inode *inode)
{
	change_make(disk, CHANGE_LINK, path, NULL, inode);
}

void directory_unlink(struct sim_disk *disk, const char *path)
{
	change_make(disk, CHANGE_UNLINK, path, NULL, NULL);
}

void directory_rename(struct sim_disk *disk, const char *from, const char *to)
{
	change_make(disk, CHANGE_RENAME, from, to, NULL);
}

static void settle(struct sim_disk *disk, uint64_t kept_count)
{
	struct change *change, *next;

	DL_FOREACH_SAFE (disk->directory.pending, change, next) {
		if (kept_count > 0) {
			kept_count--;
			apply(disk, &disk->directory.durable, change);
		} else {
			disk->stats.name_lost_count++;
		}
		change_drop(disk, change);
	}
}

void directory_sync(struct sim_disk *disk)
{
	settle(disk, UINT64_MAX);
}

static void names_clear(struct sim_disk *disk, struct name **names)
{
	struct name *name, *next;

	DL_FOREACH_SAFE (*names, name, next)
		name_remove(disk, names, name);
}

void directory_crash(struct sim_disk *disk, enum crash_mode mode)
{
	struct directory *directory = &disk->directory;
	struct change *change;
	struct name *name;
	uint64_t count;

	DL_COUNT(directory->pending, change, count);
	settle(disk, mode == CRASH_LOSES_ALL ? 0
		     : mode == CRASH_KEEPS_ALL
			     ? count
			     : sim_disk_below(disk, count + 1));
	names_clear(disk, &directory->current);
	DL_FOREACH (directory->durable, name)
		name_add(&directory->current, name->path, name->inode);
}

void directory_fini(struct sim_disk *disk)
{
	while (disk->directory.pending != NULL)
		change_drop(disk, disk->directory.pending);
	names_clear(disk, &disk->directory.current);
	names_clear(disk, &disk->directory.durable);
}
