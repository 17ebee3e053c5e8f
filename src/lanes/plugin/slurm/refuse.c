/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/refuse.h"

#include <stdarg.h>
#include <stdio.h>

int refuse(struct fairlead_error *ret_error, int code, const char *format, ...)
{
	va_list args;

	if (!ret_error)
		return code;
	ret_error->code = code;
	va_start(args, format);
	vsnprintf(ret_error->text, sizeof(ret_error->text), format, args);
	va_end(args);
	return code;
}
