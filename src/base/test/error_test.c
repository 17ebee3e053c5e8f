/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/error.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#define LENGTH_MAX (FAIRLEAD_ERROR_TEXT_MAX - 1)

static void set_writes_code_and_text(void **state)
{
	struct fairlead_error error = { .code = -1, .text = "before" };

	assert_int_equal(error_set(&error, -EINVAL, "bad %s %d", "node", 7),
			 -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_string_equal(error.text, "bad node 7");
}

static void set_and_add_without_an_error_give_the_code(void **state)
{
	assert_int_equal(error_set(NULL, -EIO, "x"), -EIO);
	assert_int_equal(error_add(NULL, -EIO, "x"), -EIO);
}

static void longest_text_fits_whole(void **state)
{
	struct fairlead_error error;

	error_set(&error, -EIO, "%*s", LENGTH_MAX, "x");
	assert_int_equal(strlen(error.text), LENGTH_MAX);
	assert_int_equal(error.text[LENGTH_MAX - 1], 'x');
}

static void longer_text_ends_in_dots(void **state)
{
	struct fairlead_error error;

	error_set(&error, -EIO, "begin%*s", LENGTH_MAX, "x");
	assert_int_equal(strlen(error.text), LENGTH_MAX);
	assert_memory_equal(error.text, "begin", 5);
	assert_string_equal(error.text + LENGTH_MAX - 4, " ...");
}

static void quoted_bytes_cannot_drive_a_terminal(void **state)
{
	struct fairlead_error error;

	error_set(&error, -EINVAL, "bad name '%s'", "\x1b[2J\xff");
	assert_string_equal(error.text, "bad name '?[2J?'");
}

static void set_may_quote_its_own_text(void **state)
{
	struct fairlead_error error;

	error_set(&error, -EIO, "disk");
	error_set(&error, -EAGAIN, "again: %s", error.text);
	assert_string_equal(error.text, "again: disk");
}

static void prefix_stands_before_the_text(void **state)
{
	struct fairlead_error error;

	error_set(&error, -ENOSPC, "no space");
	assert_int_equal(error_prefix(&error, "node '%s'", "n1"), -ENOSPC);
	assert_int_equal(error.code, -ENOSPC);
	assert_string_equal(error.text, "node 'n1': no space");
}

static void prefix_of_a_long_text_cuts_its_end(void **state)
{
	struct fairlead_error error;

	error_set(&error, -EIO, "%*s", LENGTH_MAX, "x");
	error_prefix(&error, "node");
	assert_int_equal(strlen(error.text), LENGTH_MAX);
	assert_memory_equal(error.text, "node:  ", 7);
	assert_string_equal(error.text + LENGTH_MAX - 4, " ...");
}

static void prefix_that_fills_the_text_leaves_it_valid(void **state)
{
	struct fairlead_error error;

	error_set(&error, -EIO, "disk");
	error_prefix(&error, "%*s", LENGTH_MAX, "x");
	assert_int_equal(strlen(error.text), LENGTH_MAX);
	assert_string_equal(error.text + LENGTH_MAX - 4, " ...");
}

static void add_collects_lines_and_keeps_the_first_code(void **state)
{
	struct fairlead_error error = { 0 };

	assert_int_equal(error_add(&error, -EINVAL, "line %d", 1), -EINVAL);
	assert_int_equal(error_add(&error, -ENOENT, "line %d", 2), -ENOENT);
	assert_int_equal(error.code, -EINVAL);
	assert_string_equal(error.text, "line 1\nline 2");
}

static void add_starts_over_what_an_unset_error_holds(void **state)
{
	struct fairlead_error error = { .text = "left over" };

	error_add(&error, -EINVAL, "first");
	assert_string_equal(error.text, "first");
}

static void add_to_a_full_text_keeps_its_beginning(void **state)
{
	struct fairlead_error error = { 0 };

	for (int i = 0; i < 500; i++)
		error_add(&error, -EINVAL, "line");
	assert_int_equal(strlen(error.text), LENGTH_MAX);
	assert_memory_equal(error.text, "line\nline\n", 10);
	assert_string_equal(error.text + LENGTH_MAX - 3, "...");
}

static void cut_text_is_still_utf8(void **state)
{
	struct fairlead_error error = { 0 };

	/* Odd and even places, so that one of them cuts inside. */
	for (int shift = 0; shift < 2; shift++) {
		error.code = 0;
		error_add(&error, -EINVAL, "%*s", LENGTH_MAX - 10 + shift, "x");
		error_add(&error, -EINVAL,
			  "\u00fc\u00fc\u00fc\u00fc\u00fc\u00fc");
		assert_null(strchr(error.text, '?'));
		assert_non_null(strstr(error.text, "\u00fc..."));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_writes_code_and_text),
		cmocka_unit_test(set_and_add_without_an_error_give_the_code),
		cmocka_unit_test(longest_text_fits_whole),
		cmocka_unit_test(longer_text_ends_in_dots),
		cmocka_unit_test(quoted_bytes_cannot_drive_a_terminal),
		cmocka_unit_test(set_may_quote_its_own_text),
		cmocka_unit_test(prefix_stands_before_the_text),
		cmocka_unit_test(prefix_of_a_long_text_cuts_its_end),
		cmocka_unit_test(prefix_that_fills_the_text_leaves_it_valid),
		cmocka_unit_test(add_collects_lines_and_keeps_the_first_code),
		cmocka_unit_test(add_starts_over_what_an_unset_error_holds),
		cmocka_unit_test(add_to_a_full_text_keeps_its_beginning),
		cmocka_unit_test(cut_text_is_still_utf8),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
