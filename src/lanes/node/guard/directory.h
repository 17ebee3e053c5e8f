/* SPDX-License-Identifier: BSD-3-Clause */
/* The guard's directories, which nobody else may change. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"

/*
 * Open a directory, which is made with this mode unless it is there. It and
 * the one above it have to be root's or ours and writable by nobody else (but
 * for a sticky one above). The caller closes *ret_fd. -EPERM, ... with a text
 * that says what to do.
 */
int directory_open(const char *path, mode_t mode, int *ret_fd,
		   struct fairlead_error *ret_error);

/*
 * Open the directory `name` below fd, which has to be ours; links are not
 * followed. mode: make it with this mode unless it is there; 0: do not. A file
 * descriptor, or a negative errno.
 */
int directory_enter(int fd, const char *name, mode_t mode);

/* As write(2), but all of it. 0 or a negative errno. */
int write_whole(int fd, const void *bytes, size_t size);
/*
 * As read(2) until size bytes are there or the end: how many, or a negative
 * errno.
 */
ssize_t read_whole(int fd, void *bytes, size_t size);
