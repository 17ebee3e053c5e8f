/* SPDX-License-Identifier: BSD-3-Clause */
/* All of the bytes, from or to a descriptor. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Read until the end or until bytes are full, whatever signals come: how many
 * bytes they are, or a negative errno.
 */
ssize_t fd_read(int fd, void *bytes, size_t capacity);
/* Write all of it. 0 or a negative errno. */
int fd_write(int fd, const void *bytes, size_t size);
