/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One call is one line: newlines of a quoted text become spaces, so that
 * nobody can forge a second line.
 */
#include "base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const level_names[] = {
	[LOG_LEVEL_ERROR] = "error",
	[LOG_LEVEL_WARNING] = "warning",
	[LOG_LEVEL_INFO] = "info",
	[LOG_LEVEL_DEBUG] = "debug",
};

#define LEVEL_COUNT (sizeof(level_names) / sizeof(level_names[0]))

void log_write(const struct log *log, enum log_level level, const char *format,
	       ...)
{
	char line[LOG_LINE_MAX];
	va_list args;
	int size;

	if (log == NULL || log->sink == NULL || level > log->level)
		return;
	va_start(args, format);
	size = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (size < 0)
		strcpy(line, "log line could not be formatted");
	else if ((size_t)size >= sizeof(line))
		text_cut(line, sizeof(line));
	text_clean(line);
	for (char *at = line; (at = strchr(at, '\n')) != NULL;)
		*at = ' ';
	log->sink(log->sink_data, level, line);
}

int log_level_parse(const char *text, enum log_level *ret_level)
{
	for (size_t i = 0; i < LEVEL_COUNT; i++) {
		if (strcmp(text, level_names[i]) == 0) {
			*ret_level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *log_level_format(enum log_level level)
{
	return level_names[level];
}
