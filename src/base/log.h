/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Logging goes through a context, never through a global. A line is
 * `message key=value ...`; the sink adds time and level. Pure and library code
 * logs at LOG_LEVEL_DEBUG only; who gives up logs once.
 */
#pragma once

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG,
};

struct log {
	enum log_level level; /* lines above it are dropped */
	void (*sink)(void *sink_data, enum log_level level, const char *line);
	void *sink_data;
};

#define LOG_LINE_MAX 2048 /* bytes of a line, with its zero */

/*
 * Write one line. log may be NULL: nothing is written. A longer line is cut
 * and ends in "..."; newlines become spaces, other control characters and
 * bytes that are no UTF-8 become '?'.
 */
void log_write(const struct log *log, enum log_level level, const char *format,
	       ...) __attribute__((format(printf, 3, 4)));

#define log_error(log, ...)   log_write(log, LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(log, ...) log_write(log, LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_info(log, ...)    log_write(log, LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(log, ...)   log_write(log, LOG_LEVEL_DEBUG, __VA_ARGS__)

/* "error", "warning", "info", "debug"; -EINVAL for any other word. */
int log_level_parse(const char *text, enum log_level *ret_level);
const char *log_level_format(enum log_level level);
