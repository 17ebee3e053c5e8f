/* SPDX-License-Identifier: BSD-3-Clause */
/* Other people's text on somebody's terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "show.h"

static char *shown(const void *bytes, size_t size)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	show_visible(out, bytes, size);
	fclose(out);
	return text;
}

static void expect(const char *bytes, size_t size, const char *wanted)
{
	_auto_(freep) char *text = shown(bytes, size);

	assert_string_equal(text, wanted);
}
#define EXPECT(text, wanted) expect(text, sizeof(text) - 1, wanted)

static void text_that_is_harmless_stays(void **state)
{
	EXPECT("plain \\ text,\ttab", "plain \\ text,\ttab");
	EXPECT("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\xa2",
	       "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x9a\xa2");
}

static void escapes_of_a_terminal_are_visible(void **state)
{
	EXPECT("\033[31m\a\r\b\x7f", "\\x1b[31m\\x07\\x0d\\x08\\x7f");
	EXPECT("a\0b", "a\\x00b");
	/* CSI as one C1 character, and as a byte. */
	EXPECT("\xc2\x9b"
	       "2J\x9b",
	       "\\xc2\\x9b2J\\x9b");
	/* Text that runs the other way, and line ends of Unicode. */
	EXPECT("\xe2\x80\xae \xe2\x81\xa6 \xe2\x80\xa8",
	       "\\xe2\\x80\\xae \\xe2\\x81\\xa6 \\xe2\\x80\\xa8");
}

static void bytes_that_are_no_utf8_are_visible(void **state)
{
	EXPECT("\xff\xc3", "\\xff\\xc3");
	EXPECT("\xc0\xaf", "\\xc0\\xaf"); /* too long */
	EXPECT("\xe0\x80\xaf", "\\xe0\\x80\\xaf");
	EXPECT("\xed\xa0\x80", "\\xed\\xa0\\x80");          /* a half */
	EXPECT("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"); /* too high */
	EXPECT("\xe2\x82", "\\xe2\\x82");                   /* its end */
}

static char *lines(const char *text)
{
	char *shown_text = NULL;
	size_t length;
	FILE *out = open_memstream(&shown_text, &length);

	show_lines(out, "n[1-2]", (const uint8_t *)text, strlen(text));
	fclose(out);
	return shown_text;
}

static void each_line_has_its_label(void **state)
{
	_auto_(freep) char *two = lines("one\ntwo");
	_auto_(freep) char *empty = lines("\n\033");
	_auto_(freep) char *none = lines("");

	assert_string_equal(two, "n[1-2]: one\nn[1-2]: two\n");
	assert_string_equal(empty, "n[1-2]: \nn[1-2]: \\x1b\n");
	assert_string_equal(none, "");
}

static void remark_says_how_it_ended(void **state)
{
	static const struct {
		struct outcome outcome;
		const char *text;
	} cases[] = {
		{ { .kind = OUTCOME_EXITED }, "" },
		{ { .kind = OUTCOME_EXITED, .code = 3 },
		  "exited with exit code 3" },
		{ { .kind = OUTCOME_EXITED, .flags = OUTCOME_TRUNCATED },
		  "output truncated" },
		{ { .kind = OUTCOME_KILLED, .code = 9 },
		  "killed by signal 9 (KILL)" },
		{ { .kind = OUTCOME_TIMEOUT, .flags = OUTCOME_OMITTED },
		  "timed out, and was killed; output omitted: too much in "
		  "all" },
		{ { .kind = OUTCOME_STOPPED }, "stopped, and was killed" },
		{ { .kind = OUTCOME_REFUSED,
		    .code = 1,
		    .output = (const uint8_t *)"no\033",
		    .size = 3 },
		  "not run: no?" },
	};
	char text[256];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		show_remark(&cases[i].outcome, text, sizeof(text));
		assert_string_equal(text, cases[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_that_is_harmless_stays),
		cmocka_unit_test(escapes_of_a_terminal_are_visible),
		cmocka_unit_test(bytes_that_are_no_utf8_are_visible),
		cmocka_unit_test(each_line_has_its_label),
		cmocka_unit_test(remark_says_how_it_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
