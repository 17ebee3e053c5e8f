/* SPDX-License-Identifier: BSD-3-Clause */
/* The file seam on a simulated disk, in the same steps as on a real one. */
#include "sim/disk_internal.h"

#include <errno.h>
#include <stdio.h>

#define PATH_MAX_BYTES 512

static int make_directory(void *ctx, const char *path)
{
	return 0;
}

static int make_file(void *ctx, const char *path)
{
	struct sim_file *file;
	bool is_new = !sim_disk_exists(ctx, path);
	int result = sim_file_open(ctx, path, true, &file);

	if (result < 0)
		return result;
	sim_file_close(file);
	return is_new ? sim_disk_sync_directory(ctx) : 0;
}

static int load(void *ctx, const char *path, void *bytes, size_t capacity)
{
	struct sim_file *file;
	int64_t result = sim_file_open(ctx, path, false, &file);

	if (result < 0)
		return (int)result;
	if (sim_file_size(file) > (int64_t)capacity)
		result = -EFBIG;
	else
		result = sim_file_read(file, 0, bytes, capacity);
	sim_file_close(file);
	return (int)result;
}

static int replace(void *ctx, const char *path, const void *bytes, size_t size)
{
	char path_new[PATH_MAX_BYTES];
	struct sim_file *file;
	int result;

	snprintf(path_new, sizeof(path_new), "%s.new", path);
	result = sim_file_open(ctx, path_new, true, &file);
	if (result < 0)
		return result;
	result = sim_file_truncate(file, 0);
	if (result == 0)
		result = sim_file_write(file, 0, bytes, size);
	if (result == 0)
		result = sim_file_sync(file);
	sim_file_close(file);
	if (result == 0)
		result = sim_disk_rename(ctx, path_new, path);
	if (result < 0) {
		sim_disk_unlink(ctx, path_new);
		return result;
	}
	return sim_disk_sync_directory(ctx);
}

static int rename_file(void *ctx, const char *from, const char *to)
{
	int result = sim_disk_rename(ctx, from, to);

	return result < 0 ? result : sim_disk_sync_directory(ctx);
}

static int lock_file(void *ctx, const char *path, void **ret_lock,
		     uint64_t *ret_holder)
{
	struct sim_file *file;
	int result = sim_file_open(ctx, path, true, &file);

	if (result < 0)
		return result;
	result = sim_file_lock(file);
	if (result < 0) {
		sim_file_close(file);
		if (result == -EBUSY)
			*ret_holder = 0;
		return result;
	}
	*ret_lock = file;
	return 0;
}

static void unlock_file(void *ctx, void *lock)
{
	sim_file_close(lock);
}

struct file_seam sim_disk_files(struct sim_disk *disk)
{
	static const struct file_ops ops = {
		.make_directory = make_directory,
		.make_file = make_file,
		.load = load,
		.replace = replace,
		.rename = rename_file,
		.lock = lock_file,
		.unlock = unlock_file,
	};

	return (struct file_seam){ .ops = &ops, .ctx = disk };
}
