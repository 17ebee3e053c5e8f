/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

struct lines {
	unsigned int count;
	enum log_level level;
	char last[2 * LOG_LINE_MAX];
};

static void keep_line(void *sink_data, enum log_level level, const char *line)
{
	struct lines *lines = sink_data;

	lines->count++;
	lines->level = level;
	strcpy(lines->last, line);
}

static void line_reaches_the_sink_with_its_level(void **state)
{
	struct lines lines = { 0 };
	struct log log = { LOG_LEVEL_DEBUG, keep_line, &lines };

	log_error(&log, "a=%d", 1);
	assert_int_equal(lines.level, LOG_LEVEL_ERROR);
	assert_string_equal(lines.last, "a=1");
	log_warning(&log, "b");
	assert_int_equal(lines.level, LOG_LEVEL_WARNING);
	log_info(&log, "c");
	assert_int_equal(lines.level, LOG_LEVEL_INFO);
	log_debug(&log, "d");
	assert_int_equal(lines.level, LOG_LEVEL_DEBUG);
	assert_string_equal(lines.last, "d");
	assert_int_equal(lines.count, 4);
}

static void line_over_the_level_is_dropped(void **state)
{
	struct lines lines = { 0 };
	struct log log = { LOG_LEVEL_WARNING, keep_line, &lines };

	log_info(&log, "x");
	log_debug(&log, "x");
	assert_int_equal(lines.count, 0);
	log_warning(&log, "x");
	assert_int_equal(lines.count, 1);
}

static void log_without_context_or_sink_writes_nothing(void **state)
{
	struct log log = { .level = LOG_LEVEL_DEBUG };

	log_error(NULL, "x");
	log_error(&log, "x");
}

static void longer_line_ends_in_dots(void **state)
{
	struct lines lines = { 0 };
	struct log log = { LOG_LEVEL_DEBUG, keep_line, &lines };

	log_info(&log, "%*s", LOG_LINE_MAX - 1, "x");
	assert_int_equal(strlen(lines.last), LOG_LINE_MAX - 1);
	assert_int_equal(lines.last[LOG_LINE_MAX - 2], 'x');
	log_info(&log, "%*s", LOG_LINE_MAX, "x");
	assert_int_equal(strlen(lines.last), LOG_LINE_MAX - 1);
	assert_string_equal(lines.last + LOG_LINE_MAX - 5, " ...");
}

static void quoted_text_cannot_forge_a_line(void **state)
{
	struct lines lines = { 0 };
	struct log log = { LOG_LEVEL_DEBUG, keep_line, &lines };

	log_info(&log, "name='%s'", "a\nb\n\r\x1b");
	assert_string_equal(lines.last, "name='a b ?\?'");
}

static void level_names_read_back(void **state)
{
	for (int i = LOG_LEVEL_ERROR; i <= LOG_LEVEL_DEBUG; i++) {
		enum log_level level = LOG_LEVEL_ERROR;
		const char *name = log_level_format((enum log_level)i);

		assert_int_equal(log_level_parse(name, &level), 0);
		assert_int_equal(level, i);
	}
	assert_string_equal(log_level_format(LOG_LEVEL_WARNING), "warning");
}

static void unknown_level_is_refused(void **state)
{
	enum log_level level = LOG_LEVEL_INFO;

	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(log_level_parse("warn", &level), -EINVAL);
	assert_int_equal(log_level_parse("errors", &level), -EINVAL);
	assert_int_equal(log_level_parse("Error", &level), -EINVAL);
	assert_int_equal(level, LOG_LEVEL_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_reaches_the_sink_with_its_level),
		cmocka_unit_test(line_over_the_level_is_dropped),
		cmocka_unit_test(log_without_context_or_sink_writes_nothing),
		cmocka_unit_test(longer_line_ends_in_dots),
		cmocka_unit_test(quoted_text_cannot_forge_a_line),
		cmocka_unit_test(level_names_read_back),
		cmocka_unit_test(unknown_level_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
