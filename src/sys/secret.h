/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Processes and files that hold keys.
 *
 * Files are read only while nobody else can read or change them,
 * so that a wrong mode is found before the key is used. A symbolic link is not
 * followed, and no pipe or device is waited for.
 *
 * Functions that fail say why in the error's text, and leave nothing of the
 * file in the caller's memory.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Keep this process's memory out of core files, and from debuggers and /proc
 * for all but root. A daemon calls it when it is the user that it stays, since
 * the kernel may undo it in a process that becomes another user.
 */
void secret_hide_process(void);

/*
 * Keep all of this process's memory out of swap, where keys are in many places.
 * For root. -EPERM, -ENOMEM: RLIMIT_MEMLOCK is too low, and cannot be raised.
 */
int secret_lock_process(void);

/*
 * Read a whole file that is root's or ours. Its size, at most capacity; or
 * -EPERM when it is somebody else's, others can use it, or it is no regular
 * file; -EFBIG, -ELOOP, -ENOENT, ...
 */
ssize_t secret_read(const char *path, void *bytes, size_t capacity,
		    struct fairlead_error *ret_error);

/* In two steps, for who locks it between. The caller closes *ret_fd. */
int secret_open(const char *path, int *ret_fd,
		struct fairlead_error *ret_error);
/* As secret_read, but it may be anybody's: root keeps keys for others. */
ssize_t secret_read_open(int fd, const char *path, void *bytes, size_t capacity,
			 struct fairlead_error *ret_error);
