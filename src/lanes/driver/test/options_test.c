/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void assert_refused(const char *text, int code, const char *part)
{
	struct fairlead_error error = { 0 };
	struct options options;

	assert_int_equal(options_parse(&options, text, &error), code);
	assert_int_equal(error.code, code);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void items_are_split_at_commas(void **state)
{
	struct options options;

	assert_int_equal(options_parse(&options, "vnis=2,off,tcs=A:B,x=", NULL),
			 0);
	assert_int_equal(options.count, 4);
	assert_string_equal(options.items[0].name, "vnis");
	assert_string_equal(options.items[0].value, "2");
	assert_string_equal(options.items[1].name, "off");
	assert_null(options.items[1].value);
	assert_string_equal(options.items[2].value, "A:B");
	assert_string_equal(options.items[3].value, "");
}

static void a_value_keeps_its_equals_signs(void **state)
{
	struct options options;

	assert_int_equal(options_parse(&options, "a=b=c", NULL), 0);
	assert_string_equal(options.items[0].name, "a");
	assert_string_equal(options.items[0].value, "b=c");
}

static void no_text_has_no_options(void **state)
{
	struct options options;

	assert_int_equal(options_parse(&options, "", NULL), 0);
	assert_int_equal(options.count, 0);
}

static void malformed_texts_are_refused(void **state)
{
	assert_refused(",", -EINVAL, "empty name");
	assert_refused("a,,b", -EINVAL, "empty name");
	assert_refused("a,", -EINVAL, "empty name");
	assert_refused("=1", -EINVAL, "empty name");
	assert_refused("a=1,b,a", -EINVAL, "'a' is given twice");
	assert_refused("a b", -EINVAL, "0x20 at offset 1");
	assert_refused("a\n", -EINVAL, "0x0a at offset 1");
	assert_refused("\xc3\xa4", -EINVAL, "0xc3 at offset 0");
}

static void too_much_is_refused(void **state)
{
	char text[FAIRLEAD_OPTIONS_MAX + 2];
	struct options options;
	size_t used = 0;

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_refused(text, -E2BIG, "longer than 511 bytes");
	text[FAIRLEAD_OPTIONS_MAX] = '\0';
	assert_int_equal(options_parse(&options, text, NULL), 0);

	for (int i = 0; i <= OPTIONS_COUNT_MAX; i++)
		used += (size_t)sprintf(text + used, "%so%d", i ? "," : "", i);
	assert_refused(text, -E2BIG, "more than 32 options");
	*strrchr(text, ',') = '\0';
	assert_int_equal(options_parse(&options, text, NULL), 0);
	assert_int_equal(options.count, OPTIONS_COUNT_MAX);
}

static void a_number_is_read_within_its_range(void **state)
{
	struct option option = { .name = "vnis", .value = "4" };
	struct fairlead_error error = { 0 };
	uint32_t number = 0;

	assert_int_equal(option_number(&option, 0, 4, &number, &error), 0);
	assert_int_equal(number, 4);
	option.value = "5";
	assert_int_equal(option_number(&option, 0, 4, &number, &error),
			 -EINVAL);
	assert_string_equal(error.text,
			    "option 'vnis=5' needs a number from 0 to 4");
	option.value = NULL;
	assert_int_equal(option_number(&option, 0, 4, &number, &error),
			 -EINVAL);
	assert_string_equal(error.text,
			    "option 'vnis' needs a number from 0 to 4");
	assert_int_equal(number, 4);
}

static void plain_digits_are_read(void **state)
{
	uint32_t number = 7;

	assert_true(number_parse("0", 0, 4, &number));
	assert_int_equal(number, 0);
	assert_true(number_parse("4294967295", 0, UINT32_MAX, &number));
	assert_int_equal(number, UINT32_MAX);
	assert_true(number_parse("65535", 65535, 65535, &number));
	assert_int_equal(number, 65535);
}

static void other_texts_are_refused_and_write_nothing(void **state)
{
	static const char *const texts[] = {
		"",
		" 1",
		"1 ",
		"+1",
		"-1",
		"01",
		"00",
		"0x1",
		"1.0",
		"5",
		"4294967296",
		"18446744073709551616",
		"99999999999999999999999999999999",
	};
	uint32_t number = 7;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (number_parse(texts[i], 1, 4, &number))
			fail_msg("'%s' was taken", texts[i]);
	}
	assert_false(number_parse("4294967296", 0, UINT32_MAX, &number));
	assert_false(number_parse("0", 1, 4, &number));
	assert_int_equal(number, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_are_split_at_commas),
		cmocka_unit_test(a_value_keeps_its_equals_signs),
		cmocka_unit_test(no_text_has_no_options),
		cmocka_unit_test(malformed_texts_are_refused),
		cmocka_unit_test(too_much_is_refused),
		cmocka_unit_test(a_number_is_read_within_its_range),
		cmocka_unit_test(plain_digits_are_read),
		cmocka_unit_test(other_texts_are_refused_and_write_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
