/* SPDX-License-Identifier: BSD-3-Clause */
/* Standard error is a pipe while a line is written to it. */
#include "sys/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum stream {
	STREAM_UNSET,
	STREAM_OURS,
	STREAM_OTHER,
	STREAM_GARBAGE
};

static void stream_set(enum stream stream)
{
	struct stat status;
	char text[64];

	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	if (stream == STREAM_OTHER)
		status.st_ino++;
	snprintf(text, sizeof(text), "%ju:%ju", (uintmax_t)status.st_dev,
		 (uintmax_t)status.st_ino);
	if (stream == STREAM_UNSET)
		assert_int_equal(unsetenv("JOURNAL_STREAM"), 0);
	else
		assert_int_equal(setenv("JOURNAL_STREAM",
					stream == STREAM_GARBAGE ? "8:x" : text,
					1),
				 0);
}

/* What one call of log_write() puts on standard error. */
static void capture(enum stream stream, enum log_level level, const char *line,
		    char *text, size_t capacity)
{
	int saved = dup(STDERR_FILENO);
	struct log log;
	ssize_t size;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	assert_true(saved >= 0);
	assert_int_equal(dup2(fds[1], STDERR_FILENO), STDERR_FILENO);
	stream_set(stream);
	sys_log_init(&log, "fairleadd", LOG_LEVEL_INFO);
	log_write(&log, level, "%s", line);
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(fds[1]);
	close(saved);
	size = read(fds[0], text, capacity - 1);
	close(fds[0]);
	assert_true(size >= 0);
	text[size] = 0;
}

static void assert_matches(const char *text, const char *pattern)
{
	regex_t regex;

	assert_int_equal(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB), 0);
	if (regexec(&regex, text, 0, NULL, 0) != 0)
		fail_msg("'%s' does not match '%s'", text, pattern);
	regfree(&regex);
}

#define DATE "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T"
#define TIME "[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}"

static void line_has_local_time_program_and_level(void **state)
{
	char text[256];

	assert_int_equal(setenv("TZ", "TEST-05:30", 1), 0);
	capture(STREAM_UNSET, LOG_LEVEL_WARNING, "it broke node=n1", text,
		sizeof(text));
	assert_matches(text, DATE TIME "\\+05:30 fairleadd: warning: "
				       "it broke node=n1\n$");
	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	capture(STREAM_UNSET, LOG_LEVEL_ERROR, "x", text, sizeof(text));
	assert_matches(text, DATE TIME "\\+00:00 fairleadd: error: x\n$");
}

static void journal_line_has_its_priority_only(void **state)
{
	char text[256];

	capture(STREAM_OURS, LOG_LEVEL_ERROR, "a", text, sizeof(text));
	assert_string_equal(text, "<3>a\n");
	capture(STREAM_OURS, LOG_LEVEL_WARNING, "b", text, sizeof(text));
	assert_string_equal(text, "<4>b\n");
	capture(STREAM_OURS, LOG_LEVEL_INFO, "c", text, sizeof(text));
	assert_string_equal(text, "<6>c\n");
}

static void line_over_the_level_is_dropped(void **state)
{
	char text[256];

	capture(STREAM_OURS, LOG_LEVEL_DEBUG, "a", text, sizeof(text));
	assert_string_equal(text, "");
}

static void inherited_journal_stream_is_not_ours(void **state)
{
	char text[256];

	capture(STREAM_OTHER, LOG_LEVEL_INFO, "a", text, sizeof(text));
	assert_matches(text, DATE ".* fairleadd: info: a\n$");
	capture(STREAM_GARBAGE, LOG_LEVEL_INFO, "a", text, sizeof(text));
	assert_matches(text, DATE ".* fairleadd: info: a\n$");
}

static void longest_line_is_written_whole(void **state)
{
	char line[LOG_LINE_MAX];
	char text[2 * LOG_LINE_MAX];

	memset(line, 'x', sizeof(line) - 1);
	line[sizeof(line) - 1] = 0;
	capture(STREAM_UNSET, LOG_LEVEL_INFO, line, text, sizeof(text));
	assert_non_null(strstr(text, line));
	assert_int_equal(text[strlen(text) - 1], '\n');
}

static void closed_standard_error_is_survived(void **state)
{
	int saved = dup(STDERR_FILENO);
	struct log log;

	assert_true(saved >= 0);
	assert_int_equal(setenv("JOURNAL_STREAM", "1:1", 1), 0);
	assert_int_equal(close(STDERR_FILENO), 0);
	sys_log_init(&log, "fairleadd", LOG_LEVEL_INFO);
	log_error(&log, "nobody reads this");
	assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
	close(saved);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_has_local_time_program_and_level),
		cmocka_unit_test(journal_line_has_its_priority_only),
		cmocka_unit_test(line_over_the_level_is_dropped),
		cmocka_unit_test(inherited_journal_stream_is_not_ours),
		cmocka_unit_test(longest_line_is_written_whole),
		cmocka_unit_test(closed_standard_error_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
