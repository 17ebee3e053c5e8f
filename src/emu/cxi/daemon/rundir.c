/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One daemon a directory: the lock on the pid file decides, and dies with its
 * holder. boot_id is replaced by rename, so that a reader never sees half of
 * one. Device files and socket are for everyone, whatever the umask: who may
 * do what is decided by the peer's identity, as with the real device.
 */
#include "emu/cxi/daemon/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/cleanup.h"

#define BACKLOG 128

static int make_parents(const char *path)
{
	_auto_(freep) char *copy = strdup(path);

	if (copy == NULL)
		return -ENOMEM;
	for (char *at = copy + 1; *at != '\0'; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		if (mkdir(copy, 0755) < 0 && errno != EEXIST)
			return -errno;
		*at = '/';
	}
	if (mkdir(path, 0755) < 0 && errno != EEXIST)
		return -errno;
	return 0;
}

static int open_dir(int at, const char *path)
{
	int fd = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static int write_pid(int fd)
{
	char text[24];
	int size = snprintf(text, sizeof(text), "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) < 0 || pwrite(fd, text, (size_t)size, 0) != size)
		return errno != 0 ? -errno : -EIO;
	return 0;
}

static int take_lock(struct rundir *rundir, struct fairlead_error *ret_error)
{
	rundir->lock = openat(rundir->dir, "pid",
			      O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (rundir->lock < 0)
		return error_set(ret_error, -errno, "cannot open '%s/pid': %s",
				 rundir->path, strerror(errno));
	if (flock(rundir->lock, LOCK_EX | LOCK_NB) < 0)
		return error_set(ret_error, -EBUSY,
				 "another fairlead-softnic runs in '%s'",
				 rundir->path);
	return write_pid(rundir->lock);
}

static int open_dirs(struct rundir *rundir, struct fairlead_error *ret_error)
{
	int result;

	result = make_parents(rundir->path);
	if (result == 0) {
		rundir->dir = open_dir(AT_FDCWD, rundir->path);
		result = rundir->dir < 0 ? rundir->dir : 0;
	}
	if (result == 0 && mkdirat(rundir->dir, "dev", 0755) < 0 &&
	    errno != EEXIST)
		result = -errno;
	if (result == 0) {
		rundir->dev_dir = open_dir(rundir->dir, "dev");
		result = rundir->dev_dir < 0 ? rundir->dev_dir : 0;
	}
	if (result < 0)
		return error_set(ret_error, result, "cannot make '%s': %s",
				 rundir->path, strerror(-result));
	return 0;
}

static void remove_files(struct rundir *rundir)
{
	unlinkat(rundir->dir, "socket", 0);
	unlinkat(rundir->dir, "boot_id", 0);
	for (uint32_t i = 0; i < SOFTNIC_NIC_MAX; i++)
		rundir_set_device(rundir, i, false);
}

static int init(struct rundir *rundir, const char *path,
		struct fairlead_error *ret_error)
{
	int result;

	if (strlen(path) + sizeof("/socket") >
	    sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(ret_error, -ENAMETOOLONG,
				 "'%s' is too long for a socket's address",
				 path);
	rundir->path = strdup(path);
	if (rundir->path == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	result = open_dirs(rundir, ret_error);
	if (result < 0)
		return result;
	result = take_lock(rundir, ret_error);
	if (result < 0) {
		closep(&rundir->lock);
		rundir->lock = -1;
		return result;
	}
	remove_files(rundir);
	return 0;
}

int rundir_open(const char *path, struct rundir **ret_rundir,
		struct fairlead_error *ret_error)
{
	_auto_(rundir_closep) struct rundir *rundir = NULL;
	int result;

	rundir = calloc(1, sizeof(*rundir));
	if (rundir == NULL)
		return error_set(ret_error, -ENOMEM, "out of memory");
	rundir->dir = -1;
	rundir->dev_dir = -1;
	rundir->lock = -1;
	result = init(rundir, path, ret_error);
	if (result < 0)
		return result;
	*ret_rundir = take_ptr(rundir);
	return 0;
}

void rundir_close(struct rundir *rundir)
{
	if (rundir == NULL)
		return;
	if (rundir->lock >= 0) {
		remove_files(rundir);
		unlinkat(rundir->dir, "dev", AT_REMOVEDIR);
		unlinkat(rundir->dir, "pid", 0);
	}
	closep(&rundir->lock);
	closep(&rundir->dev_dir);
	closep(&rundir->dir);
	free(rundir->path);
	free(rundir);
}

static int make_uuid(char text[BOOT_ID_SIZE])
{
	uint8_t b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -EIO;
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	snprintf(text, BOOT_ID_SIZE,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		 b[10], b[11], b[12], b[13], b[14], b[15]);
	return 0;
}

int rundir_new_boot_id(struct rundir *rundir)
{
	char line[BOOT_ID_SIZE + 1];
	_auto_(closep) int fd = -1;
	int result;

	result = make_uuid(rundir->boot_id);
	if (result < 0)
		return result;
	fd = openat(rundir->dir, "boot_id.new",
		    O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW,
		    0644);
	if (fd < 0)
		return -errno;
	snprintf(line, sizeof(line), "%s\n", rundir->boot_id);
	if (fchmod(fd, 0644) < 0)
		return -errno;
	if (write(fd, line, BOOT_ID_SIZE) != BOOT_ID_SIZE)
		return -EIO;
	if (renameat(rundir->dir, "boot_id.new", rundir->dir, "boot_id") < 0)
		return -errno;
	return 0;
}

int rundir_set_device(struct rundir *rundir, uint32_t nic, bool is_present)
{
	_auto_(closep) int fd = -1;
	char name[16];

	snprintf(name, sizeof(name), "cxi%u", nic);
	if (!is_present) {
		if (unlinkat(rundir->dev_dir, name, 0) < 0 && errno != ENOENT)
			return -errno;
		return 0;
	}
	fd = openat(rundir->dev_dir, name,
		    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
	if (fd < 0 || fchmod(fd, 0666) < 0)
		return -errno;
	return 0;
}

int rundir_listen(struct rundir *rundir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_auto_(closep) int fd = -1;
	int listening;

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/socket",
		 rundir->path);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(address.sun_path, 0666) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	listening = fd;
	fd = -1;
	return listening;
}
