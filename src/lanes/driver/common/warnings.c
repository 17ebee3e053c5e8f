/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/warnings.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"

void warnings_add(struct fairlead_warnings *warnings, const char *format, ...)
{
	char text[WARNING_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	warnings->add(warnings, text);
}

void errors_join(struct fairlead_error *all, const struct fairlead_error *one)
{
	struct fairlead_error before = *all;

	if (before.code == 0)
		*all = *one;
	else
		error_set(all, one->code == -EBUSY ? -EBUSY : before.code,
			  "%s; %s", before.text, one->text);
}
