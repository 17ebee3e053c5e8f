/* SPDX-License-Identifier: BSD-3-Clause */
/* Fill a struct fairlead_error in one line. Thread safe, no allocation. */
#pragma once

#include <errno.h>

#include "fairlead/error.h"

/*
 * Set code (a negative errno) and formatted text.
 * error: may be NULL. Returns code, so that `return error_set(...)` is one
 * line. A text that does not fit ends in "...".
 */
int error_set(struct fairlead_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Put "text: " before the text that is there. Returns error->code. */
int error_prefix(struct fairlead_error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Add a further line to the text (the first one also sets the code), for
 * checks that report all errors at once. Returns code.
 */
int error_add(struct fairlead_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
