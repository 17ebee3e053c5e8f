/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole files on the system's disk. A new name is on disk once its directory
 * is synced; a replacement is written beside the file and renamed over it.
 *
 * A lock file is never removed: a second process could hold the old one.
 */
#include "sys/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "sys/fd.h"

#define MODE_DIRECTORY 0700
#define MODE_FILE      0600
#define PID_TEXT_MAX   24

static int open_retry(const char *path, int flags)
{
	int fd;

	do {
		fd = open(path, flags | O_CLOEXEC, MODE_FILE);
	} while (fd < 0 && errno == EINTR);
	return fd < 0 ? -errno : fd;
}

static int sync_parent(const char *path)
{
	const char *slash = strrchr(path, '/');
	_auto_(freep) char *parent = NULL;
	_auto_(closep) int fd = -1;

	if (slash == NULL)
		parent = strdup(".");
	else
		parent = strndup(path, (size_t)(slash - path) + 1);
	if (parent == NULL)
		return -ENOMEM;
	fd = open_retry(parent, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	return fsync(fd) < 0 ? -errno : 0;
}

static int make_directory(void *ctx, const char *path)
{
	struct stat status;

	if (mkdir(path, MODE_DIRECTORY) == 0)
		return sync_parent(path);
	if (errno != EEXIST)
		return -errno;
	if (stat(path, &status) < 0)
		return -errno;
	return S_ISDIR(status.st_mode) ? 0 : -ENOTDIR;
}

/* Open for writing, made unless it is there, private in any case. */
static int open_private(const char *path, int *ret_fd)
{
	_auto_(closep) int fd = -1;
	struct stat status;
	int result;

	fd = open_retry(path, O_RDWR | O_NOFOLLOW);
	if (fd == -ENOENT) {
		fd = open_retry(path, O_RDWR | O_NOFOLLOW | O_CREAT);
		result = fd < 0 ? fd : sync_parent(path);
		if (result < 0)
			return result;
	}
	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if ((status.st_mode & 07777) != MODE_FILE && fchmod(fd, MODE_FILE) < 0)
		return -errno;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

static int make_file(void *ctx, const char *path)
{
	_auto_(closep) int fd = -1;

	return open_private(path, &fd);
}

static int load(void *ctx, const char *path, void *bytes, size_t capacity)
{
	_auto_(closep) int fd = open_retry(path, O_RDONLY);
	struct stat status;

	if (fd < 0)
		return fd;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -EINVAL;
	if (capacity > INT_MAX)
		capacity = INT_MAX;
	if (status.st_size > (off_t)capacity)
		return -EFBIG;
	return (int)fd_read(fd, bytes, capacity);
}

static int write_new(const char *path, const void *bytes, size_t size)
{
	_auto_(closep) int fd = -1;
	int result = open_private(path, &fd);

	if (result == 0 && ftruncate(fd, 0) < 0)
		result = -errno;
	if (result == 0)
		result = fd_write(fd, bytes, size);
	if (result == 0 && fsync(fd) < 0)
		result = -errno;
	return result;
}

static int replace(void *ctx, const char *path, const void *bytes, size_t size)
{
	_auto_(freep) char *path_new = NULL;
	int result;

	if (asprintf(&path_new, "%s.new", path) < 0) {
		path_new = NULL;
		return -ENOMEM;
	}
	result = write_new(path_new, bytes, size);
	if (result == 0 && rename(path_new, path) < 0)
		result = -errno;
	if (result < 0) {
		unlink(path_new);
		return result;
	}
	return sync_parent(path);
}

static int rename_file(void *ctx, const char *from, const char *to)
{
	if (rename(from, to) < 0)
		return -errno;
	return sync_parent(to);
}

struct lock {
	int fd;
};

static uint64_t lock_holder(int fd)
{
	char text[PID_TEXT_MAX] = "";

	if (fd_read(fd, text, sizeof(text) - 1) <= 0)
		return 0;
	return strtoull(text, NULL, 10);
}

static int lock_file(void *ctx, const char *path, void **ret_lock,
		     uint64_t *ret_holder)
{
	_auto_(freep) struct lock *lock = malloc(sizeof(*lock));
	_auto_(closep) int fd = -1;
	char text[PID_TEXT_MAX];
	int result;
	int size;

	if (lock == NULL)
		return -ENOMEM;
	result = open_private(path, &fd);
	if (result < 0)
		return result;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return -errno;
		*ret_holder = lock_holder(fd);
		return -EBUSY;
	}
	/* Who has it is only for people: a full disk does not matter here. */
	size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());
	if (ftruncate(fd, 0) == 0)
		fd_write(fd, text, (size_t)size);
	lock->fd = fd;
	fd = -1;
	*ret_lock = take_ptr(lock);
	return 0;
}

static void unlock_file(void *ctx, void *lock_owned)
{
	struct lock *lock = lock_owned;

	close(lock->fd);
	free(lock);
}

struct file_seam sys_files(void)
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

	return (struct file_seam){ .ops = &ops };
}
