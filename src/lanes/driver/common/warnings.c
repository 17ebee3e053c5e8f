/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/warnings.h"

#include <stdarg.h>
#include <stdio.h>

void warnings_add(struct fairlead_warnings *warnings, const char *format, ...)
{
	char text[WARNING_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	warnings->add(warnings, text);
}
