/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/number.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

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
		cmocka_unit_test(plain_digits_are_read),
		cmocka_unit_test(other_texts_are_refused_and_write_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
