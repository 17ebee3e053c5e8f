/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/complain.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int complain(struct fairlead_error *ret_error, int code, const char *format,
	     ...)
{
	char text[FAIRLEAD_ERROR_TEXT_MAX];
	va_list arguments;
	int size;

	if (!ret_error)
		return code;
	/* The text may be made of the error's own. */
	va_start(arguments, format);
	size = vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	if (size < 0)
		text[0] = '\0';
	else if ((size_t)size >= sizeof(text))
		strcpy(text + sizeof(text) - 4, "...");
	ret_error->code = code;
	strcpy(ret_error->text, text);
	return code;
}
