/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin's line in plugstack.conf. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/plugin/slurm/arguments.h"

#define PARSE(ret_arguments, ret_error, ...)                               \
	arguments_parse(                                                   \
		(int)(sizeof((char *[]){ __VA_ARGS__ }) / sizeof(char *)), \
		(char *[]){ __VA_ARGS__ }, ret_arguments, ret_error)

static void a_lane_is_promised_when_nothing_is_said(void **state)
{
	struct spank_arguments arguments;

	assert_int_equal(arguments_parse(0, NULL, &arguments, NULL), 0);
	assert_int_equal(arguments.otherwise, LANE_MUST);
	assert_string_equal(arguments.submitter, "slurm");
	assert_null(arguments.jobs_dir);
}

static void each_argument_is_taken_in_any_order(void **state)
{
	struct spank_arguments arguments;

	assert_int_equal(PARSE(&arguments, NULL, "jobs_dir=/run/x=y",
			       "default=none", "submitter=slurm-2"),
			 0);
	assert_int_equal(arguments.otherwise, LANE_NONE);
	assert_string_equal(arguments.submitter, "slurm-2");
	assert_string_equal(arguments.jobs_dir, "/run/x=y");
	assert_int_equal(PARSE(&arguments, NULL, "default=may"), 0);
	assert_int_equal(arguments.otherwise, LANE_MAY);
	assert_int_equal(PARSE(&arguments, NULL, "default=must"), 0);
	assert_int_equal(arguments.otherwise, LANE_MUST);
}

static void what_is_wrong_is_named_and_nothing_is_written(void **state)
{
	static char *const wrong[] = {
		(char *)"default=",
		(char *)"default",
		(char *)"default=yes",
		(char *)"defaults=may",
		(char *)"submitter=",
		(char *)"submitter=a/b",
		(char *)"submitter=..",
		(char *)"submitter=123456789012345678901234567890123",
		(char *)"jobs_dir=",
		(char *)"jobs_dir=run",
		(char *)"",
		(char *)"node_socket=/run/x", /* of earlier releases */
		(char *)"colour=red",
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct spank_arguments arguments = { .submitter = "mine" };
		struct fairlead_error error = { 0 };

		assert_int_equal(arguments_parse(1, &wrong[i], &arguments,
						 &error),
				 -EINVAL);
		assert_non_null(strstr(error.text, wrong[i]));
		assert_int_equal(error.code, -EINVAL);
		assert_string_equal(arguments.submitter, "mine");
	}
}

static void the_longest_submitter_is_taken(void **state)
{
	struct spank_arguments arguments;

	assert_int_equal(PARSE(&arguments, NULL,
			       "submitter=12345678901234567890123456789012"),
			 0);
	assert_int_equal(strlen(arguments.submitter), 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lane_is_promised_when_nothing_is_said),
		cmocka_unit_test(each_argument_is_taken_in_any_order),
		cmocka_unit_test(what_is_wrong_is_named_and_nothing_is_written),
		cmocka_unit_test(the_longest_submitter_is_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
