/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/settings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

struct values {
	uint32_t count;
	uint32_t timeout_ms;
	bool is_on;
	const char *path;
	const char *text;
};

#define AT(member) offsetof(struct values, member)

static const struct fairlead_setting_spec specs[] = {
	{ "count", &settings_number, AT(count), "1", 0, NULL, 0, 4 },
	{ "timeout", &settings_seconds, AT(timeout_ms), "2", 0, NULL, 1, 9 },
	{ "is_on", &settings_bool, AT(is_on), NULL },
	{ "path", &settings_path, AT(path), "/default" },
	{ "text", &settings_text, AT(text), "" },
	{ NULL },
};

static const struct fairlead_settings table = { specs, sizeof(struct values) };

#define READ(values, errors, ...)                                       \
	do {                                                            \
		const struct fairlead_setting list[] = { __VA_ARGS__ }; \
		const struct settings settings = {                      \
			list, sizeof(list) / sizeof(list[0]), errors    \
		};                                                      \
                                                                        \
		settings_read(&settings, &table, values);               \
	} while (0)

static void values_replace_defaults(void **state)
{
	struct settings_errors errors = { 0 };
	struct values values = { .is_on = true };

	READ(&values, &errors, { "count", "4", 4 }, { "text", "a b", 5 });
	assert_int_equal(settings_finish(&errors, NULL), 0);
	assert_int_equal(values.count, 4);
	assert_int_equal(values.timeout_ms, 2000);
	assert_true(values.is_on);
	assert_string_equal(values.path, "/default");
	assert_string_equal(values.text, "a b");
	READ(&values, &errors, { "is_on", "false", 3 }, { "text", "", 5 },
	     { "timeout", "9", 6 });
	assert_int_equal(settings_finish(&errors, NULL), 0);
	assert_int_equal(values.timeout_ms, 9000);
	assert_false(values.is_on);
	assert_string_equal(values.text, "");
}

static void all_errors_come_together_in_order(void **state)
{
	struct fairlead_error error = { 0 };
	struct settings_errors errors = { 0 };
	struct values values = { .is_on = true };

	READ(&values, &errors, { "cuont", "1", 2 }, { "count", "5", 3 },
	     { "is_on", "maybe", 4 }, { "count", "2", 5 }, { "path", "", 6 },
	     { "timeout", "0", 0 });
	assert_int_equal(settings_finish(&errors, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_string_equal(
		error.text,
		"'timeout': '0' is not a number of seconds from 1 to 9\n"
		"line 2: 'cuont': no such setting\n"
		"line 3: 'count': '5' is not a number from 0 to 4\n"
		"line 4: 'is_on': 'maybe' is neither true nor false\n"
		"line 5: 'count': is set in line 3 already\n"
		"line 6: 'path': must not be empty");
	assert_true(values.is_on);
}

static void numbers_are_digits(void **state)
{
	static const char *const bad[] = {
		"", "-1", "+1", " 1", "1 ", "0x1", "1.5", "4294967297", "5",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct settings_errors errors = { 0 };
		struct values values = { 0 };

		READ(&values, &errors, { "count", bad[i], 1 });
		assert_int_equal(settings_finish(&errors, NULL), -EINVAL);
	}
}

static void an_error_is_reported_once(void **state)
{
	struct settings_errors errors = { 0 };
	char *text;

	settings_errors_add(&errors, 2, "'a': %s", "is bad");
	settings_errors_add(&errors, 1, "'b': is\tbad");
	settings_errors_add(&errors, 2, "'a': is bad");
	text = settings_errors_format(&errors, "f");
	assert_string_equal(text, "f:1: 'b': is?bad\nf:2: 'a': is bad");
	assert_int_equal(errors.count, 0);
	free(text);
}

static void a_flood_of_errors_is_cut(void **state)
{
	struct settings_errors errors = { 0 };
	char *text;

	for (unsigned int i = 0; i <= SETTINGS_ERRORS_MAX; i++)
		settings_errors_add(&errors, i + 1, "bad");
	assert_int_equal(errors.count, SETTINGS_ERRORS_MAX);
	text = settings_errors_format(&errors, "f");
	assert_non_null(strstr(text, "f:100: bad\nf: there are more errors"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_replace_defaults),
		cmocka_unit_test(all_errors_come_together_in_order),
		cmocka_unit_test(numbers_are_digits),
		cmocka_unit_test(an_error_is_reported_once),
		cmocka_unit_test(a_flood_of_errors_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
