/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All checks are on what was opened, never on the path again. The path is only
 * for people; neither it nor the errors ever show what stands in the file.
 */
#include "sys/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "sys/fd.h"

void secret_hide_process(void)
{
	prctl(PR_SET_DUMPABLE, 0);
}

/* Under a limit, unless CAP_IPC_LOCK lifts it, later allocations would fail. */
int secret_lock_process(void)
{
	const struct rlimit none = { RLIM_INFINITY, RLIM_INFINITY };

	if ((setrlimit(RLIMIT_MEMLOCK, &none) < 0 &&
	     prctl(PR_CAPBSET_READ, CAP_IPC_LOCK) != 1) ||
	    mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
		return -errno;
	return 0;
}

int secret_open(const char *path, int *ret_fd, struct fairlead_error *ret_error)
{
	int fd;

	do {
		fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
					O_CLOEXEC);
	} while (fd < 0 && errno == EINTR);
	if (fd < 0)
		return error_set(ret_error, -errno,
				 "cannot open the key file '%s': %s", path,
				 errno == ELOOP
					 ? "symbolic links are not followed"
					 : strerror(errno));
	*ret_fd = fd;
	return 0;
}

static int check(int fd, const char *path, bool is_any_owner, size_t capacity,
		 struct fairlead_error *ret_error)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_set(ret_error, -errno,
				 "cannot examine the key file '%s': %s", path,
				 strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_set(ret_error, -EPERM,
				 "the key file '%s' is not a regular file",
				 path);
	if (!is_any_owner && status.st_uid != 0 && status.st_uid != geteuid())
		return error_set(ret_error, -EPERM,
				 "the key file '%s' belongs to uid %u; it has "
				 "to be root's or that of uid %u",
				 path, status.st_uid, geteuid());
	if (status.st_mode & (S_IRWXG | S_IRWXO))
		return error_set(ret_error, -EPERM,
				 "others can use the key file '%s' (mode "
				 "%04o); chmod 600, and make a new key if "
				 "somebody may have read it",
				 path, status.st_mode & 07777);
	if (status.st_size > (off_t)capacity)
		return error_set(ret_error, -EFBIG,
				 "'%s' is too long for a key file", path);
	return 0;
}

static ssize_t read_checked(int fd, const char *path, bool is_any_owner,
			    void *bytes, size_t capacity,
			    struct fairlead_error *ret_error)
{
	int result = check(fd, path, is_any_owner, capacity, ret_error);
	ssize_t size;

	if (result < 0)
		return result;
	size = fd_read(fd, bytes, capacity);
	if (size < 0) {
		explicit_bzero(bytes, capacity);
		return error_set(ret_error, (int)size,
				 "cannot read the key file '%s': %s", path,
				 strerror((int)-size));
	}
	return size;
}

ssize_t secret_read_open(int fd, const char *path, void *bytes, size_t capacity,
			 struct fairlead_error *ret_error)
{
	return read_checked(fd, path, true, bytes, capacity, ret_error);
}

ssize_t secret_read(const char *path, void *bytes, size_t capacity,
		    struct fairlead_error *ret_error)
{
	_auto_(closep) int fd = -1;
	int result = secret_open(path, &fd, ret_error);

	if (result < 0)
		return result;
	return read_checked(fd, path, false, bytes, capacity, ret_error);
}
