/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that decide what a daemon with privileges does. */
#pragma once

#include <stddef.h>

#include "base/error.h"

/*
 * Read a file of at most FAIRLEAD_FILE_MAX bytes that is root's and that others
 * cannot write; who is not root may read one of its own, too. A zero follows
 * the text, which the caller frees. A negative errno with a text without the
 * path; -EINVAL: others have a say in it.
 */
int file_read(const char *path, const char **ret_text, size_t *ret_size,
	      struct fairlead_error *ret_error);
