/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run-length lists of counts along a node list: "4(x3),2" is 4 4 4 2. One
 * number alone means that all nodes have it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define RUNS_VALUE_MAX 65535 /* a count on one node; the least is 0 */

/*
 * Expand text to exactly `count` values; the caller frees *ret_values.
 * -EINVAL with a text when the syntax is bad, the lengths differ or count is
 * 0; -ENOMEM.
 */
int runs_parse(const char *text, size_t count, uint32_t **ret_values,
	       struct fairlead_error *ret_error);
/*
 * Shortest text form of the values (of none: ""); the caller frees it. NULL
 * when memory is out.
 */
char *runs_format(const uint32_t *values, size_t count);
/*
 * Value at index, without expanding the text. -ERANGE behind its end; -EINVAL
 * when it is malformed up to there.
 */
int64_t runs_at(const char *text, size_t index);
