/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read from /proc. The kernel does not say who uses which service, so these
 * are the processes that can: those of the service's owner with the device
 * open. A device file is compared by what it is, since containers have files
 * of their own for one device; but only descriptors that look like it are
 * touched, since a look at a file of a dead server would block.
 *
 * Processes come and go meanwhile, so whatever cannot be read is left out.
 */
#include "lanes/driver/slingshot/holders.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/text.h"

#define SMALL_FILE_MAX 4096 /* bytes of a file below /proc that are read */
#define COMM_MAX       64

static DIR *open_dir(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir && fd >= 0)
		close(fd);
	return dir;
}

static void read_small(int at, const char *name, char *text, size_t capacity)
{
	_auto_(closep) int fd = openat(at, name, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, text, capacity - 1);

	text[size > 0 ? size : 0] = '\0';
}

static bool belongs_to(int process, uint32_t uid)
{
	char text[SMALL_FILE_MAX];
	const char *line;
	unsigned int real;
	unsigned int effective;

	if (uid == HOLDERS_ANY_UID)
		return true;
	read_small(process, "status", text, sizeof(text));
	line = strstr(text, "\nUid:");
	return line && sscanf(line, "\nUid: %u %u", &real, &effective) == 2 &&
	       (real == uid || effective == uid);
}

static bool is_device(int fds, const char *fd_name, const char *device,
		      const struct stat *expected)
{
	const char *base = strrchr(device, '/');
	char link[PATH_MAX];
	struct stat found;
	const char *end;
	ssize_t size = readlinkat(fds, fd_name, link, sizeof(link) - 1);

	if (size <= 0 || !base)
		return false;
	link[size] = '\0';
	end = strrchr(link, '/');
	if (!end || strcmp(end, base) != 0 ||
	    fstatat(fds, fd_name, &found, 0) < 0 ||
	    (found.st_mode & S_IFMT) != (expected->st_mode & S_IFMT))
		return false;
	if (S_ISCHR(found.st_mode))
		return found.st_rdev == expected->st_rdev;
	return found.st_dev == expected->st_dev &&
	       found.st_ino == expected->st_ino;
}

static bool holds(int process, const char *device, const struct stat *expected)
{
	_auto_(closedirp) DIR *fds = open_dir(process, "fd");
	const struct dirent *entry;

	while (fds && (entry = readdir(fds))) {
		if (is_device(dirfd(fds), entry->d_name, device, expected))
			return true;
	}
	return false;
}

static void add_holder(int process, const char *pid, char *text,
		       size_t capacity, size_t *more)
{
	size_t used = strlen(text);
	char comm[COMM_MAX];
	int size;

	read_small(process, "comm", comm, sizeof(comm));
	comm[strcspn(comm, "\n")] = '\0';
	text_clean(comm);
	size = snprintf(text + used, capacity - used, "%spid %s (%s)",
			used ? ", " : "", pid, comm);
	/* Leaves space for "and so many more". */
	if (*more > 0 || used + (size_t)size + 32 > capacity) {
		text[used] = '\0';
		(*more)++;
	}
}

size_t holders_format(const char *device, uint32_t uid, char *text,
		      size_t capacity)
{
	_auto_(closedirp) DIR *proc = open_dir(AT_FDCWD, "/proc");
	const struct dirent *entry;
	struct stat expected;
	char self[16];
	size_t count = 0;
	size_t more = 0;
	size_t used;

	snprintf(self, sizeof(self), "%d", getpid());
	text[0] = '\0';
	if (stat(device, &expected) < 0)
		return 0;
	while (proc && (entry = readdir(proc))) {
		_auto_(closep) int process = -1;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    strcmp(entry->d_name, self) == 0)
			continue;
		process = openat(dirfd(proc), entry->d_name,
				 O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (process < 0 || !belongs_to(process, uid) ||
		    !holds(process, device, &expected))
			continue;
		count++;
		add_holder(process, entry->d_name, text, capacity, &more);
	}
	used = strlen(text);
	if (more > 0)
		snprintf(text + used, capacity - used, "%s%zu more",
			 used ? " and " : "", more);
	return count;
}
