/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "fairlead/error.h"

/* Write *ret_error, which may be NULL, and return the code. */
int refuse(struct fairlead_error *ret_error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
