/* SPDX-License-Identifier: BSD-3-Clause */
/* Running a command of the job manager, and reading what it prints. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define CHILD_OUTPUT_MAX 67108864 /* bytes; a listing of 500,000 jobs */
/* For who has no limit of his own: a busy job manager takes a while. */
#define CHILD_TIMEOUT_MS 120000

/*
 * Run folder/argv[0] with the arguments, no shell between, this process's
 * environment and standard error, and nothing to read. argv ends with NULL.
 * *ret_output (the caller frees it; NULL: not wanted) is what it printed, with
 * a zero byte behind; *ret_size, where wanted, how much that is. What has not
 * ended after timeout_ms is killed, and what it has started is left alone.
 *
 * -ENOENT, -EACCES: it cannot be run; -ECHILD: it failed, the text says how;
 * -ETIMEDOUT; -EFBIG: it printed more than CHILD_OUTPUT_MAX, and was ended;
 * what pipe(2), poll(2) and read(2) say.
 */
int child_run(const char *folder, const char *const *argv, uint32_t timeout_ms,
	      char **ret_output, size_t *ret_size,
	      struct fairlead_error *ret_error);
