/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void assert_cleaned(const char *text, const char *expected)
{
	char copy[256];

	strcpy(copy, text);
	text_clean(copy);
	assert_string_equal(copy, expected);
}

static void assert_kept(const char *text)
{
	assert_cleaned(text, text);
}

static void printable_text_is_kept(void **state)
{
	assert_kept("");
	assert_kept(" !~ two\nlines");
	assert_kept(
		"\u00a0 \u00fcber \u07ff \u0800 \u20ac \ud7ff \ue000 \uffff "
		"\U00010000 \U0001f6a2 \U0010ffff");
}

static void control_characters_become_question_marks(void **state)
{
	assert_cleaned("\x1b[2J\a\r\t\x7f", "?[2J????");
	/* U+0080 and U+009F: the second half of Latin 1 has some too. */
	assert_cleaned("\xc2\x80.\xc2\x9f", "??.??");
}

static void bytes_that_are_no_utf8_become_question_marks(void **state)
{
	assert_cleaned("a\x80z", "a?z");            /* alone */
	assert_cleaned("a\xc3z", "a?z");            /* cut short */
	assert_cleaned("a\xe2\x82", "a??");         /* cut short by the end */
	assert_cleaned("\xf0\x9f\x9a", "???");      /* cut short by the end */
	assert_cleaned("\xc1\xbf", "??");           /* overlong, 2 bytes */
	assert_cleaned("\xe0\x9f\xbf", "???");      /* overlong, 3 bytes */
	assert_cleaned("\xf0\x8f\xbf\xbf", "????"); /* overlong, 4 bytes */
	assert_cleaned("\xed\xa0\x80", "???");      /* U+D800 */
	assert_cleaned("\xed\xbf\xbf", "???");      /* U+DFFF */
	assert_cleaned("\xf4\x90\x80\x80", "????"); /* U+110000 */
	assert_cleaned("\xf8\x88\x80\x80\x80", "?????");
	assert_cleaned("\xff", "?");
}

static void cut_text_ends_in_dots(void **state)
{
	char text[] = "abcdefgh";

	text_cut(text, 8);
	assert_string_equal(text, "abcd...");
	text_cut(text, 4);
	assert_string_equal(text, "...");
}

static void cut_goes_between_characters(void **state)
{
	char text[] = "ab\u20accdefgh";

	/* The third byte of the euro sign would be the last one kept. */
	text_cut(text, 8);
	assert_string_equal(text, "ab...");
}

static void lines_are_taken_one_by_one(void **state)
{
	const char *rest = "\none\n\ntwo";
	size_t size = 7;
	const char *line = text_line(&rest, &size);

	assert_int_equal(size, 3);
	assert_memory_equal(line, "one", size);
	line = text_line(&rest, &size);
	assert_int_equal(size, 3);
	assert_memory_equal(line, "two", size);
	assert_null(text_line(&rest, &size));
	assert_null(text_line(&rest, &size));
	rest = "";
	assert_null(text_line(&rest, &size));
	rest = "\n";
	assert_null(text_line(&rest, &size));
	assert_int_equal(size, 3);
}

static void numbers_are_digits_up_to_32_bits(void **state)
{
	static const char *const bad[] = { "",    "-1",         "+1",
					   " 1",  "1 ",         "0x1",
					   "1e3", "4294967296", "00000000001" };
	uint32_t number = 7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_false(text_number(bad[i], strlen(bad[i]), &number));
		assert_int_equal(number, 7);
	}
	assert_true(text_number("0", 1, &number));
	assert_int_equal(number, 0);
	assert_true(text_number("4294967295", 10, &number));
	assert_int_equal(number, UINT32_MAX);
	/* No byte behind the size is read. */
	assert_true(text_number("123x", 3, &number));
	assert_int_equal(number, 123);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(printable_text_is_kept),
		cmocka_unit_test(control_characters_become_question_marks),
		cmocka_unit_test(bytes_that_are_no_utf8_become_question_marks),
		cmocka_unit_test(cut_text_ends_in_dots),
		cmocka_unit_test(cut_goes_between_characters),
		cmocka_unit_test(lines_are_taken_one_by_one),
		cmocka_unit_test(numbers_are_digits_up_to_32_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
