/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#define LONG_32 "0123456789abcdefghijklmnopqrstuv"
#define LONG_64 LONG_32 LONG_32

static void key_has_three_parts(void **state)
{
	char text[REQUEST_KEY_MAX + 1];
	struct request_key key;

	assert_int_equal(
		request_key_parse("slurm/4711.0:x+=@-_/12", &key, NULL), 0);
	assert_string_equal(key.submitter, "slurm");
	assert_string_equal(key.job, "4711.0:x+=@-_");
	assert_int_equal(key.attempt, 12);
	assert_true(key.has_attempt);
	request_key_format(&key, text);
	assert_string_equal(text, "slurm/4711.0:x+=@-_/12");
}

static void attempt_that_is_left_out_is_0(void **state)
{
	char text[REQUEST_KEY_MAX + 1];
	struct request_key key;

	assert_int_equal(request_key_parse("slurm/4711", &key, NULL), 0);
	assert_int_equal(key.attempt, 0);
	assert_false(key.has_attempt);
	request_key_format(&key, text);
	assert_string_equal(text, "slurm/4711/0");
}

static void longest_key_is_a_key(void **state)
{
	static const char longest[] = LONG_32 "/" LONG_64 "/4294967295";
	char text[REQUEST_KEY_MAX + 1];
	struct request_key key;

	assert_int_equal(strlen(longest), REQUEST_KEY_MAX);
	assert_int_equal(request_key_parse(longest, &key, NULL), 0);
	request_key_format(&key, text);
	assert_string_equal(text, longest);
	assert_true(name_is_key(longest));
}

static void bad_keys_are_refused_with_the_part(void **state)
{
	static const struct {
		const char *text, *part;
	} cases[] = {
		{ "", "SUBMITTER/JOB/ATTEMPT" },
		{ "slurm", "SUBMITTER/JOB/ATTEMPT" },
		{ "/4711/0", "submitter of the key is empty" },
		{ LONG_32 "x/1/0", "submitter of the key has more than 32" },
		{ "sl.urm/1/0", "bad character in the submitter" },
		{ "slurm//0", "job of the key is empty" },
		{ "slurm/", "job of the key is empty" },
		{ "slurm/" LONG_64 "x/0", "job of the key has more than 64" },
		{ "slurm/a b/0", "bad character in the job" },
		{ "slurm/a\n/0", "bad character in the job" },
		{ "slurm/\xc3\xbc/0", "bad character in the job" },
		{ "slurm/./0", "must not be '.'" },
		{ "slurm/../0", "must not be '..'" },
		{ "slurm/1/", "attempt of the key is not a number" },
		{ "slurm/1/x", "attempt of the key is not a number" },
		{ "slurm/1/-1", "attempt of the key is not a number" },
		{ "slurm/1/+1", "attempt of the key is not a number" },
		{ "slurm/1/01", "attempt of the key is not a number" },
		{ "slurm/1/1/1", "attempt of the key is not a number" },
		{ "slurm/1/4294967296", "over 4294967295" },
		{ "slurm/1/42949672950", "attempt of the key is not a number" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fairlead_error error = { 0 };
		struct request_key key = { .attempt = 99 };

		assert_int_equal(request_key_parse(cases[i].text, &key, &error),
				 -EINVAL);
		if (strstr(error.text, cases[i].part) == NULL)
			fail_msg("'%s' is not in '%s'", cases[i].part,
				 error.text);
		assert_int_equal(key.attempt, 99);
		assert_false(name_is_key(cases[i].text));
	}
}

static void written_key_has_an_attempt(void **state)
{
	assert_true(name_is_key("slurm/1/0"));
	assert_false(name_is_key("slurm/1"));
}

static void driver_names_are_short_and_lower(void **state)
{
	assert_true(name_is_driver("none"));
	assert_true(name_is_driver("elan3"));
	assert_true(name_is_driver("a_b-c"));
	assert_true(name_is_driver("0123456789abcde"));
	assert_false(name_is_driver("0123456789abcdef"));
	assert_false(name_is_driver(""));
	assert_false(name_is_driver("None"));
	assert_false(name_is_driver("-none"));
	assert_false(name_is_driver("_none"));
	assert_false(name_is_driver("a/b"));
	assert_false(name_is_driver("a.b"));
}

static void node_names_are_one_name_of_a_host_list(void **state)
{
	assert_true(name_is_node("n3"));
	assert_true(name_is_node("login-1.cluster_a"));
	assert_true(name_is_node(LONG_64));
	assert_false(name_is_node(LONG_64 "x"));
	assert_false(name_is_node(""));
	assert_false(name_is_node("n3,n4"));
	assert_false(name_is_node("n3,n3"));
	assert_false(name_is_node("n[3]"));
	assert_false(name_is_node("n3,"));
	assert_false(name_is_node(".."));
	assert_false(name_is_node("a/b"));
	assert_false(name_is_node("n 3"));
}

static void options_are_printable_and_bounded(void **state)
{
	char text[FAIRLEAD_OPTIONS_MAX + 2];

	memset(text, '~', sizeof(text));
	text[FAIRLEAD_OPTIONS_MAX] = 0;
	assert_true(name_is_options(text));
	text[FAIRLEAD_OPTIONS_MAX] = '~';
	text[FAIRLEAD_OPTIONS_MAX + 1] = 0;
	assert_false(name_is_options(text));
	assert_true(name_is_options(""));
	assert_true(name_is_options("vnis=2,tcs=A:B c"));
	assert_false(name_is_options("a\tb"));
	assert_false(name_is_options("a\x7f"));
	assert_false(name_is_options("\xc3\xbc"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_has_three_parts),
		cmocka_unit_test(attempt_that_is_left_out_is_0),
		cmocka_unit_test(longest_key_is_a_key),
		cmocka_unit_test(bad_keys_are_refused_with_the_part),
		cmocka_unit_test(written_key_has_an_attempt),
		cmocka_unit_test(driver_names_are_short_and_lower),
		cmocka_unit_test(node_names_are_one_name_of_a_host_list),
		cmocka_unit_test(options_are_printable_and_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
