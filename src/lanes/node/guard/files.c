/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files by openat(2) below checked directories. A replacement is written beside
 * the file, synced, and renamed.
 */
#include "lanes/node/guard/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "lanes/node/guard/directory.h"

#define NAME_JOURNAL JOURNAL_STORE_NAME
#define NAME_NEW     "journal.new"
#define NAME_OLD     "journal.old"

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
		size = read_whole(store->fd, bytes, (size_t)status.st_size);
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
	result = write_whole(store->fd, bytes, size);
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
	result = write_whole(fd, bytes, size);
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
	result = write_whole(fd, bytes, size);
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
