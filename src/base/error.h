/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fill a struct fairlead_error in one line. Thread safe, no allocation.
 *
 * Texts often quote what others sent: they are always valid UTF-8 without
 * control characters but the newline ('?' stands for the rest). A text that
 * does not fit ends in "...". Arguments may point into the error's own text.
 */
#pragma once

#include <errno.h>

#include "fairlead/error.h"

/*
 * Set code (a negative errno) and formatted text.
 * error: may be NULL. Returns code, so that `return error_set(...)` is one
 * line.
 */
int error_set(struct fairlead_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Put "text: " before the text that is there. error is not NULL. Returns
 * error->code.
 */
int error_prefix(struct fairlead_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Add a further line to the text, for checks that report all errors at once.
 * The error's code is 0 before the first one, which sets it. error may be
 * NULL. Returns code.
 */
int error_add(struct fairlead_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
