/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

static int make_parents(const char *path)
{
	_auto_(freep) char *copy = memory_text(path);

	for (char *at = strchr(copy + (*copy == '/'), '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

int rundir_check(const char *path)
{
	struct stat status;

	if (lstat(path, &status) < 0)
		return -errno;
	if (!S_ISDIR(status.st_mode))
		return -ENOTDIR;
	if (status.st_uid != geteuid() || status.st_mode & (S_IWGRP | S_IWOTH))
		return -EPERM;
	return 0;
}

static int take_lock(struct rundir *rundir, const char *program,
		     struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = memory_format("%s/pid", rundir->path);
	_auto_(closep) int fd = -1;

	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd < 0)
		return error_set(ret_error, -errno, "cannot open '%s': %s",
				 path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return error_set(ret_error, -EBUSY, "another %s runs in '%s'",
				 program, rundir->path);
	rundir->lock = fd;
	fd = -1;
	/* The number is only for people: a full disk does not matter here. */
	if (ftruncate(rundir->lock, 0) == 0)
		dprintf(rundir->lock, "%ld\n", (long)getpid());
	return 0;
}

int rundir_open(struct rundir *rundir, const char *program, const char *path,
		struct fairlead_error *ret_error)
{
	int result;

	*rundir = (struct rundir){ .path = memory_text(path), .lock = -1 };
	if (strlen(path) + sizeof("/socket") >
	    sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(ret_error, -ENAMETOOLONG,
				 "'%s' is too long for a socket's address",
				 path);
	result = make_parents(path);
	if (result == 0)
		result = rundir_check(path);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot use '%s', which has to be a directory "
				 "that only its owner, who runs this, can "
				 "write to: %s",
				 path, strerror(-result));
	return take_lock(rundir, program, ret_error);
}

void rundir_close(struct rundir *rundir)
{
	if (rundir->lock >= 0) {
		_auto_(freep) char *path =
			memory_format("%s/socket", rundir->path);

		unlink(path);
		close(rundir->lock);
	}
	free(rundir->path);
	*rundir = (struct rundir){ .lock = -1 };
}
