/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user who can rename or replace the guard's files could have it write
 * anywhere. So the guard checks owner and mode first, follows no links, and
 * from then on works below descriptors.
 */
#include "lanes/node/guard/directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

static bool is_ours(const struct stat *status)
{
	return status->st_uid == 0 || status->st_uid == geteuid();
}

static bool is_writable_by_others(const struct stat *status)
{
	return status->st_mode & (S_IWGRP | S_IWOTH);
}

int directory_open(const char *path, mode_t mode, int *ret_fd,
		   struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;
	struct stat own, above;

	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return error_set(ret_error, -errno, "cannot make '%s': %s",
				 path, strerror(errno));
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &own) < 0 || fstatat(fd, "..", &above, 0) < 0)
		return error_set(ret_error, -errno, "cannot open '%s': %s",
				 path, strerror(errno));
	if (!is_ours(&own) || is_writable_by_others(&own))
		return error_set(ret_error, -EPERM,
				 "'%s' has to be root's, and writable by "
				 "nobody else",
				 path);
	if (!is_ours(&above) ||
	    (is_writable_by_others(&above) && !(above.st_mode & S_ISVTX)))
		return error_set(ret_error, -EPERM,
				 "the directory above '%s' has to be root's, "
				 "and writable by nobody else",
				 path);
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int directory_enter(int fd, const char *name, mode_t mode)
{
	_auto_(closep) int found = -1;
	struct stat status;
	int result;

	if (mode && mkdirat(fd, name, mode) < 0 && errno != EEXIST)
		return -errno;
	found = openat(fd, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (found < 0 || fstat(found, &status) < 0)
		return -errno;
	if (!is_ours(&status) || is_writable_by_others(&status))
		return -EPERM;
	if (mode && fchmod(found, mode) < 0)
		return -errno;
	result = found;
	found = -1;
	return result;
}

int write_whole(int fd, const void *bytes, size_t size)
{
	const char *at = bytes;

	while (size > 0) {
		ssize_t written = write(fd, at, size);

		if (written < 0 && errno != EINTR)
			return -errno;
		if (written > 0) {
			at += written;
			size -= (size_t)written;
		}
	}
	return 0;
}

ssize_t read_whole(int fd, void *bytes, size_t size)
{
	char *at = bytes;
	size_t left = size;

	while (left > 0) {
		ssize_t got = read(fd, at, left);

		if (got < 0 && errno != EINTR)
			return -errno;
		if (got == 0)
			break;
		if (got > 0) {
			at += got;
			left -= (size_t)got;
		}
	}
	return (ssize_t)(size - left);
}
