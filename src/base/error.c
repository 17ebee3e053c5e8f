/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every text is formatted beside the error and then moved in, so that the
 * arguments may point into the error itself. A text that does not fit keeps
 * its beginning: what failed stands first.
 */
#include "base/error.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define TEXT_MAX FAIRLEAD_ERROR_TEXT_MAX

static void format_text(char text[TEXT_MAX], const char *format, va_list args)
{
	int size = vsnprintf(text, TEXT_MAX, format, args);

	if (size < 0)
		strcpy(text, "error text could not be formatted");
	else if (size >= TEXT_MAX)
		text_cut(text, TEXT_MAX);
	text_clean(text);
}

/* Append `more` at size bytes of text; return the new size. */
static size_t append(char text[TEXT_MAX], size_t size, const char *more)
{
	size_t more_size = strlen(more);

	if (size + more_size < TEXT_MAX) {
		memcpy(text + size, more, more_size + 1);
		return size + more_size;
	}
	memcpy(text + size, more, TEXT_MAX - 1 - size);
	text[TEXT_MAX - 1] = 0;
	text_cut(text, TEXT_MAX);
	return strlen(text);
}

int error_set(struct fairlead_error *error, int code, const char *format, ...)
{
	char text[TEXT_MAX];
	va_list args;

	if (error == NULL)
		return code;
	va_start(args, format);
	format_text(text, format, args);
	va_end(args);
	memcpy(error->text, text, strlen(text) + 1);
	error->code = code;
	return code;
}

int error_prefix(struct fairlead_error *error, const char *format, ...)
{
	char text[TEXT_MAX];
	size_t size;
	va_list args;

	assert(error != NULL);
	va_start(args, format);
	format_text(text, format, args);
	va_end(args);
	size = append(text, strlen(text), ": ");
	size = append(text, size, error->text);
	memcpy(error->text, text, size + 1);
	return error->code;
}

int error_add(struct fairlead_error *error, int code, const char *format, ...)
{
	char line[TEXT_MAX];
	va_list args;
	size_t size;

	if (error == NULL)
		return code;
	va_start(args, format);
	format_text(line, format, args);
	va_end(args);
	if (error->code == 0) {
		memcpy(error->text, line, strlen(line) + 1);
		error->code = code;
		return code;
	}
	size = append(error->text, strlen(error->text), "\n");
	append(error->text, size, line);
	return code;
}
