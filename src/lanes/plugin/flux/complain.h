/* SPDX-License-Identifier: BSD-3-Clause */
/* Errors with a text, in a plugin, which sees the installed headers only. Pure. */
#pragma once

#include "fairlead/error.h"

/* Write *ret_error, which may be NULL. Returns code. */
int complain(struct fairlead_error *ret_error, int code, const char *format,
	     ...) __attribute__((format(printf, 3, 4)));
