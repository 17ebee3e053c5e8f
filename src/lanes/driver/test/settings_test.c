/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/common/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

static const char *const known[] = { "count", "is_on", "path", NULL };

#define BEGIN(settings, ...)                                    \
	const struct fairlead_setting list[] = { __VA_ARGS__ }; \
	settings_begin(settings, list, sizeof(list) / sizeof(list[0]), known)

static void values_replace_defaults(void **state)
{
	struct settings settings;
	const char *path = "/default";
	uint32_t count = 1;
	bool is_on = false;

	BEGIN(&settings, { "is_on", "yes", 3 }, { "count", "4", 4 });
	settings_number(&settings, "count", 0, 4, &count);
	settings_bool(&settings, "is_on", &is_on);
	settings_text(&settings, "path", &path);
	assert_int_equal(settings_finish(&settings, NULL), 0);
	assert_int_equal(count, 4);
	assert_true(is_on);
	assert_string_equal(path, "/default");
}

static void words_for_true_and_false(void **state)
{
	static const char *const words[][2] = {
		{ "true", "false" },
		{ "yes", "no" },
		{ "on", "off" },
	};

	for (size_t i = 0; i < 3; i++) {
		for (int is_false = 0; is_false < 2; is_false++) {
			struct settings settings;
			bool is_on = is_false;

			BEGIN(&settings, { "is_on", words[i][is_false], 1 });
			settings_bool(&settings, "is_on", &is_on);
			assert_int_equal(settings_finish(&settings, NULL), 0);
			assert_int_equal(is_on, !is_false);
		}
	}
}

static void all_errors_come_together_with_their_lines(void **state)
{
	struct fairlead_error error = { 0 };
	struct settings settings;
	uint32_t count = 1;
	bool is_on = true;

	BEGIN(&settings, { "cuont", "1", 2 }, { "count", "5", 3 },
	      { "is_on", "maybe", 4 }, { "count", "2", 5 }, { "path", "/a", 0 },
	      { "path", "/b", 0 });
	settings_number(&settings, "count", 0, 4, &count);
	settings_bool(&settings, "is_on", &is_on);
	assert_int_equal(settings_finish(&settings, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_string_equal(
		error.text,
		"line 2: 'cuont': there is no such setting\n"
		"line 5: 'count': is set a second time\n"
		"'path': is set a second time\n"
		"line 3: 'count': '5' is not a number from 0 to 4\n"
		"line 4: 'is_on': 'maybe' is neither true nor false");
	assert_int_equal(count, 1);
	assert_true(is_on);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_replace_defaults),
		cmocka_unit_test(words_for_true_and_false),
		cmocka_unit_test(all_errors_come_together_with_their_lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
