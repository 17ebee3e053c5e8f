/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A change is read, modify, write, under a lock on the file that is read. As
 * each change puts another file in its place, a lock counts only while the
 * file that has it is still the one with the name.
 *
 * The owner is kept: a manager that has given up root must be able to read
 * its keys again.
 */
#include "lanes/cli/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "sys/fd.h"
#include "sys/secret.h"

/* Has nobody put another file in this one's place? */
static bool is_current(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && stat(path, &named) == 0 &&
	       ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
}

static int open_locked(const char *path, int *ret_fd,
		       struct fairlead_error *ret_error)
{
	for (;;) {
		_auto_(closep) int fd = -1;
		int result = secret_open(path, &fd, ret_error);

		if (result < 0)
			return result;
		while (flock(fd, LOCK_EX) < 0)
			if (errno != EINTR)
				return error_set(ret_error, -errno,
						 "cannot lock '%s': %s", path,
						 strerror(errno));
		if (is_current(fd, path)) {
			*ret_fd = fd;
			fd = -1;
			return 0;
		}
	}
}

int keyring_open(const char *path, enum keyring_lock lock,
		 struct keyring *ret_keyring, struct fairlead_error *ret_error)
{
	struct stat status;
	ssize_t size = 0;
	int result;

	*ret_keyring = (struct keyring){ .fd = -1 };
	if (lock == KEYRING_CHANGE)
		result = open_locked(path, &ret_keyring->fd, ret_error);
	else
		result = secret_open(path, &ret_keyring->fd, ret_error);
	if (result == 0 && fstat(ret_keyring->fd, &status) < 0)
		result = error_set(ret_error, -errno, "cannot examine '%s': %s",
				   path, strerror(errno));
	if (result == 0)
		size = secret_read_open(ret_keyring->fd, path,
					ret_keyring->text,
					sizeof(ret_keyring->text), ret_error);
	if (result < 0 || size < 0) {
		keyring_fini(ret_keyring);
		return result < 0 ? result : (int)size;
	}
	ret_keyring->size = (size_t)size;
	ret_keyring->uid = status.st_uid;
	ret_keyring->gid = status.st_gid;
	return 0;
}

void keyring_fini(struct keyring *keyring)
{
	closep(&keyring->fd);
	sodium_memzero(keyring, sizeof(*keyring));
	keyring->fd = -1;
}

void keyring_wipe(struct writer *text)
{
	if (text->data)
		sodium_memzero(text->data, text->capacity);
	writer_fini(text);
}

static int sync_folder(const char *path)
{
	const char *slash = strrchr(path, '/');
	_auto_(freep) char *folder =
		slash ? memory_format("%.*s", (int)(slash - path + 1), path)
		      : memory_text(".");
	_auto_(closep) int fd = -1;

	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd) < 0)
		return -errno;
	return 0;
}

/* A new file beside the path, complete and on disk, but for its name. */
static int write_beside(char *path_new, uid_t uid, gid_t gid,
			const struct writer *text)
{
	_auto_(closep) int fd = mkostemp(path_new, O_CLOEXEC);
	int result = fd < 0 ? -errno : 0;

	if (result == 0 && (uid != geteuid() || gid != getegid()) &&
	    fchown(fd, uid, gid) < 0)
		result = -errno;
	if (result == 0)
		result = fd_write(fd, text->data, text->size);
	if (result == 0 && fsync(fd) < 0)
		result = -errno;
	if (result < 0 && fd >= 0)
		unlink(path_new);
	return result;
}

int keyring_write(const char *path, enum keyring_write how, uid_t uid,
		  gid_t gid, const struct writer *text,
		  struct fairlead_error *ret_error)
{
	_auto_(freep) char *path_new = memory_format("%s.XXXXXX", path);
	int result = memory_check(text->result);

	result = write_beside(path_new, uid, gid, text);
	if (result == 0) {
		/* A link, unlike a rename, never replaces. */
		result = how == KEYRING_CREATE ? link(path_new, path)
					       : rename(path_new, path);
		result = result < 0 ? -errno : 0;
		if (result < 0 || how == KEYRING_CREATE)
			unlink(path_new);
	}
	if (result == 0)
		result = sync_folder(path);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot write the key file '%s': %s", path,
				 strerror(-result));
	return 0;
}
