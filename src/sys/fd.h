/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading from a descriptor. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Read until the end or until bytes are full, whatever signals come: how many
 * bytes they are, or a negative errno.
 */
ssize_t fd_read(int fd, void *bytes, size_t capacity);
