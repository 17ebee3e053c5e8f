/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user who can rename or replace the guard's files could have it write
 * anywhere. So the guard checks owner and mode of a directory first, follows no
 * links, and from then on works below descriptors. A replacement is written
 * beside the file, synced, and renamed.
 */
#include "lanes/node/guard/files.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "sys/fd.h"

#define NAME_JOURNAL     JOURNAL_STORE_NAME
#define NAME_NEW         "journal.new"
#define NAME_OLD         "journal.old"

#define INCARNATION_TEXT 64

/* --- directories --- */

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

/* --- the journal --- */

static int store_read(void *ctx, uint8_t **ret_bytes, size_t *ret_size)
{
	struct journal_store *store = ctx;
	_auto_(freep) uint8_t *bytes = NULL;
	struct stat status = { .st_size = 0 };
	ssize_t size = 0;

	store->fd = openat(store->dir_fd, NAME_JOURNAL,
			   O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (store->fd < 0 && errno != ENOENT)
		return -errno;
	if (store->fd >= 0 && fstat(store->fd, &status) < 0)
		return -errno;
	if (status.st_size > JOURNAL_SIZE_MAX)
		return -EFBIG;
	bytes = memory_alloc((size_t)status.st_size);
	if (store->fd >= 0)
		size = fd_read(store->fd, bytes, (size_t)status.st_size);
	if (size < 0)
		return (int)size;
	*ret_bytes = take_ptr(bytes);
	*ret_size = (size_t)size;
	return 0;
}

static int store_write(void *ctx, size_t offset, const void *bytes, size_t size)
{
	struct journal_store *store = ctx;
	int result;

	if (lseek(store->fd, (off_t)offset, SEEK_SET) < 0)
		return -errno;
	result = fd_write(store->fd, bytes, size);
	if (result == 0 && fdatasync(store->fd) < 0)
		result = -errno;
	return result;
}

static int store_replace(void *ctx, const void *bytes, size_t size)
{
	struct journal_store *store = ctx;
	_auto_(closep) int fd =
		openat(store->dir_fd, NAME_NEW,
		       O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		       0600);
	int result;

	if (fd < 0)
		return -errno;
	result = fd_write(fd, bytes, size);
	if (result == 0 &&
	    (fsync(fd) < 0 || renameat(store->dir_fd, NAME_NEW, store->dir_fd,
				       NAME_JOURNAL) < 0))
		result = -errno;
	if (result < 0) {
		unlinkat(store->dir_fd, NAME_NEW, 0);
		return result;
	}
	closep(&store->fd);
	store->fd = fd;
	fd = -1;
	return fsync(store->dir_fd) < 0 ? -errno : 0;
}

static int store_set_aside(void *ctx)
{
	struct journal_store *store = ctx;

	if (renameat(store->dir_fd, NAME_JOURNAL, store->dir_fd, NAME_OLD) <
		    0 &&
	    errno != ENOENT)
		return -errno;
	return 0;
}

struct journal_file journal_store_begin(struct journal_store *store, int dir_fd)
{
	static const struct journal_file_ops ops = {
		.read = store_read,
		.write = store_write,
		.replace = store_replace,
		.set_aside = store_set_aside,
	};

	*store = (struct journal_store){ .dir_fd = dir_fd, .fd = -1 };
	return (struct journal_file){ .ops = &ops, .ctx = store };
}

void journal_store_end(struct journal_store *store)
{
	closep(&store->fd);
	store->fd = -1;
}

/* --- environment files --- */

/*
 * Names of jobs are not for everybody; the owner, who knows its own, may see
 * its attempts.
 */
#define MODE_SUBMITTER 0711
#define MODE_JOB       0755

/* The directory of a job, made if need be, or a negative errno. */
static int job_make(int dir_fd, const struct request_key *key)
{
	_auto_(closep) int fd =
		directory_enter(dir_fd, key->submitter, MODE_SUBMITTER);

	return fd < 0 ? fd : directory_enter(fd, key->job, MODE_JOB);
}

struct attempt_names {
	char name[16];
	char new_name[32]; /* no attempt is called so */
};

static struct attempt_names attempt_names(const struct request_key *key)
{
	struct attempt_names names;

	snprintf(names.name, sizeof(names.name), "%u", key->attempt);
	snprintf(names.new_name, sizeof(names.new_name), ".%u.new",
		 key->attempt);
	return names;
}

int environment_file_write(int dir_fd, const struct request_key *key, uid_t uid,
			   gid_t gid, const void *bytes, size_t size)
{
	struct attempt_names names = attempt_names(key);
	_auto_(closep) int fd = -1;
	_auto_(closep) int job_fd = job_make(dir_fd, key);
	int result;

	if (job_fd < 0)
		return job_fd;
	if (unlinkat(job_fd, names.new_name, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(job_fd, names.new_name,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	result = fd_write(fd, bytes, size);
	if (result == 0 &&
	    (fchmod(fd, 0600) < 0 || fchown(fd, uid, gid) < 0 ||
	     renameat(job_fd, names.new_name, job_fd, names.name) < 0))
		result = -errno;
	if (result < 0)
		unlinkat(job_fd, names.new_name, 0);
	return result;
}

int environment_file_remove(int dir_fd, const struct request_key *key)
{
	struct attempt_names names = attempt_names(key);
	_auto_(closep) int submitter_fd =
		directory_enter(dir_fd, key->submitter, 0);
	_auto_(closep) int job_fd = -1;

	if (submitter_fd < 0)
		return submitter_fd == -ENOENT ? 0 : submitter_fd;
	job_fd = directory_enter(submitter_fd, key->job, 0);
	if (job_fd < 0)
		return job_fd == -ENOENT ? 0 : job_fd;
	if ((unlinkat(job_fd, names.new_name, 0) < 0 && errno != ENOENT) ||
	    (unlinkat(job_fd, names.name, 0) < 0 && errno != ENOENT))
		return -errno;
	/* These stay while another attempt or job is in them. */
	if (unlinkat(submitter_fd, key->job, AT_REMOVEDIR) == 0)
		(void)unlinkat(dir_fd, key->submitter, AT_REMOVEDIR);
	return 0;
}

/* --- the incarnation --- */

int incarnation_file_read(const char *path,
			  uint8_t ret_incarnation[INCARNATION_SIZE],
			  struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[INCARNATION_TEXT], digits[INCARNATION_TEXT];
	struct stat status;
	size_t count = 0, decoded = 0;
	ssize_t size = -1;

	if (fd >= 0 && fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
		int file_fd = openat(fd, "boot_id", O_RDONLY | O_CLOEXEC);

		close(fd);
		fd = file_fd;
	}
	if (fd >= 0)
		size = fd_read(fd, text, sizeof(text));
	for (ssize_t i = 0; i < size; i++) {
		if (text[i] != '-' && !isspace((unsigned char)text[i]))
			digits[count++] = text[i];
	}
	if (count != 2 * INCARNATION_SIZE ||
	    sodium_hex2bin(ret_incarnation, INCARNATION_SIZE, digits, count,
			   NULL, &decoded, NULL) < 0 ||
	    decoded != INCARNATION_SIZE)
		return error_set(ret_error, -EINVAL,
				 "'%s' has no incarnation of this node: 32 "
				 "hexadecimal digits are wanted",
				 path);
	return 0;
}
