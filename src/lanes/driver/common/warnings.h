/* SPDX-License-Identifier: BSD-3-Clause */
/* A driver's warnings, as texts with values in them. Pure. */
#pragma once

#include "fairlead_driver.h"

#define WARNING_TEXT_MAX 512 /* bytes, with the zero; a longer text is cut */

void warnings_add(struct fairlead_warnings *warnings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
