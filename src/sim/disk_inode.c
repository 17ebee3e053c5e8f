/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a file holds: as it can be read, as it is on disk, and between the two
 * the unsynced writes in their order. A power cut takes each write apart into
 * sectors and decides for each; a write that is kept before a later one of the
 * same sector that is lost leaves the older bytes, as on a disk.
 */
#include "sim/disk_internal.h"

#include <string.h>
#include <utlist.h>

struct inode *inode_create(struct sim_disk *disk)
{
	struct inode *inode = sim_allocate(sizeof(*inode));

	memset(inode, 0, sizeof(*inode));
	DL_APPEND(disk->inodes, inode);
	return inode;
}

struct inode *inode_ref(struct inode *inode)
{
	inode->reference_count++;
	return inode;
}

static void pending_clear(struct inode *inode)
{
	struct pending *pending, *next;

	DL_FOREACH_SAFE (inode->pending, pending, next)
		free(pending);
	inode->pending = NULL;
}

void inode_unref(struct sim_disk *disk, struct inode *inode)
{
	if (--inode->reference_count > 0)
		return;
	disk->used_bytes -= inode->current.size;
	DL_DELETE(disk->inodes, inode);
	pending_clear(inode);
	free(inode->current.bytes);
	free(inode->durable.bytes);
	free(inode);
}

static void image_resize(struct image *image, size_t size)
{
	if (size > image->capacity) {
		size_t capacity = size + size / 2;
		uint8_t *bytes = sim_allocate(capacity);

		if (image->size > 0)
			memcpy(bytes, image->bytes, image->size);
		free(image->bytes);
		image->bytes = bytes;
		image->capacity = capacity;
	}
	if (size > image->size)
		memset(image->bytes + image->size, 0, size - image->size);
	image->size = size;
}

static void image_write(struct image *image, uint64_t offset, const void *bytes,
			size_t size)
{
	if (size == 0)
		return;
	if (offset + size > image->size)
		image_resize(image, offset + size);
	memcpy(image->bytes + offset, bytes, size);
}

static struct pending *pending_add(struct inode *inode, uint64_t offset,
				   const void *bytes, size_t size)
{
	struct pending *pending = sim_allocate(sizeof(*pending) + size);

	*pending = (struct pending){ .offset = offset, .size = size };
	if (size > 0)
		memcpy(pending->bytes, bytes, size);
	DL_APPEND(inode->pending, pending);
	return pending;
}

void inode_write(struct sim_disk *disk, struct inode *inode, uint64_t offset,
		 const void *bytes, size_t size)
{
	size_t size_before = inode->current.size;

	image_write(&inode->current, offset, bytes, size);
	disk->used_bytes += inode->current.size - size_before;
	pending_add(inode, offset, bytes, size);
}

void inode_truncate(struct sim_disk *disk, struct inode *inode, uint64_t size)
{
	disk->used_bytes -= inode->current.size;
	image_resize(&inode->current, size);
	disk->used_bytes += size;
	pending_add(inode, size, NULL, 0)->is_truncate = true;
}

void inode_sync(struct inode *inode)
{
	struct pending *pending;

	DL_FOREACH (inode->pending, pending) {
		if (pending->is_truncate)
			image_resize(&inode->durable, pending->offset);
		else
			image_write(&inode->durable, pending->offset,
				    pending->bytes, pending->size);
	}
	pending_clear(inode);
}

/* The next part of a write that lies in one sector. */
static size_t piece_size(const struct pending *pending, size_t at)
{
	size_t size = SIM_DISK_SECTOR_BYTES -
		      (pending->offset + at) % SIM_DISK_SECTOR_BYTES;

	return size < pending->size - at ? size : pending->size - at;
}

void inode_sync_failed(struct sim_disk *disk, struct inode *inode)
{
	struct pending *pending;
	size_t size;

	DL_FOREACH (inode->pending, pending) {
		if (pending->is_truncate)
			image_resize(&inode->durable, pending->offset);
		for (size_t at = 0; at < pending->size; at += size) {
			size = piece_size(pending, at);
			if (sim_disk_below(disk, 2) == 0)
				disk->stats.sector_dropped_count++;
			else
				image_write(&inode->durable,
					    pending->offset + at,
					    pending->bytes + at, size);
		}
	}
	pending_clear(inode);
}

/* Some bytes at the beginning or at the end of a piece are the new ones. */
static void write_torn(struct sim_disk *disk, struct image *image,
		       uint64_t offset, const uint8_t *bytes, size_t size)
{
	size_t cut = sim_disk_below(disk, size + 1);

	if (sim_disk_below(disk, 2) == 0)
		image_write(image, offset, bytes, cut);
	else
		image_write(image, offset + cut, bytes + cut, size - cut);
}

static void crash_write(struct sim_disk *disk, struct image *image,
			const struct pending *pending, enum crash_mode mode)
{
	size_t size;

	for (size_t at = 0; at < pending->size; at += size) {
		const uint8_t *bytes = pending->bytes + at;
		uint64_t offset = pending->offset + at;
		uint64_t fate = mode == CRASH_LOSES_ALL ? 0
				: mode == CRASH_KEEPS_ALL
					? 1
					: sim_disk_below(disk, 3);

		size = piece_size(pending, at);
		if (fate == 0) {
			disk->stats.sector_lost_count++;
		} else if (fate == 1) {
			disk->stats.sector_kept_count++;
			image_write(image, offset, bytes, size);
		} else {
			disk->stats.sector_torn_count++;
			write_torn(disk, image, offset, bytes, size);
		}
	}
}

static void crash_truncate(struct sim_disk *disk, struct image *image,
			   const struct pending *pending, enum crash_mode mode)
{
	if (mode == CRASH_LOSES_ALL ||
	    (mode == CRASH_MIXES && sim_disk_below(disk, 2) == 0))
		disk->stats.truncate_lost_count++;
	else
		image_resize(image, pending->offset);
}

void inode_crash(struct sim_disk *disk, struct inode *inode,
		 enum crash_mode mode)
{
	struct pending *pending;

	DL_FOREACH (inode->pending, pending) {
		if (pending->is_truncate)
			crash_truncate(disk, &inode->durable, pending, mode);
		else
			crash_write(disk, &inode->durable, pending, mode);
	}
	pending_clear(inode);
	disk->used_bytes -= inode->current.size;
	inode->current.size = 0;
	image_write(&inode->current, 0, inode->durable.bytes,
		    inode->durable.size);
	disk->used_bytes += inode->current.size;
}
