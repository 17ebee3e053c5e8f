/* SPDX-License-Identifier: BSD-3-Clause */
/* A driver's warnings, as texts with values in them, and several errors. Pure. */
#pragma once

#include "fairlead_driver.h"

#define WARNING_TEXT_MAX 512 /* bytes, with the zero; a longer text is cut */

void warnings_add(struct fairlead_warnings *warnings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Add an error to those of other things (code 0: none yet). -EBUSY becomes the
 * code of all, since it names what has to be ended; else it is the first one's.
 */
void errors_join(struct fairlead_error *all, const struct fairlead_error *one);
