/* SPDX-License-Identifier: BSD-3-Clause */
/* Paths of cgroups; what is done with them is in elan/test. */
#include "elan/service/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>

static void settings_are_named_in_errors(void **state)
{
	assert_int_equal(group_setting_of("s1"), 1);
	assert_int_equal(group_setting_of("s42/x"), 42);
	assert_int_equal(group_setting_of("s4294967295"), UINT32_MAX);
	assert_int_equal(group_setting_of("s4294967296"), 0);
	assert_int_equal(group_setting_of("s0"), 0);
	assert_int_equal(group_setting_of("s"), 0);
	assert_int_equal(group_setting_of("s-1"), 0);
	assert_int_equal(group_setting_of("s1x"), 0);
	assert_int_equal(group_setting_of("t1"), 0);
	assert_int_equal(group_setting_of(""), 0);
}

static void a_path_is_below_by_whole_names(void **state)
{
	uint32_t setting = 7;

	assert_true(group_is_below("/a/p-1", "/a/p-1", &setting));
	assert_int_equal(setting, 0);
	assert_true(group_is_below("/a/p-1/s3", "/a/p-1", &setting));
	assert_int_equal(setting, 3);
	assert_true(group_is_below("/a/p-1/s3/x", "/a/p-1", &setting));
	assert_int_equal(setting, 3);
	assert_true(group_is_below("/a/p-1/x", "/a/p-1", &setting));
	assert_int_equal(setting, 0);
	assert_false(group_is_below("/a/p-12", "/a/p-1", &setting));
	assert_false(group_is_below("/a", "/a/p-1", &setting));
	/* In the root of the hierarchy. */
	assert_true(group_is_below("/x", "", &setting));
}

static void what_is_not_there_is_said(void **state)
{
	uint64_t number;

	assert_int_equal(group_is_populated("/nonesuch"), -ENOENT);
	assert_int_equal(group_remove("/nonesuch"), 0);
	assert_int_equal(group_write("/nonesuch", "x", "1"), -ENOENT);
	assert_int_equal(group_read_number("/proc/self", "status",
					   "Uid:", &number),
			 -ENOENT);
	assert_int_equal(group_read_number("/proc", "uptime", NULL, &number),
			 0);
	assert_true(group_is_others("/nonesuch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settings_are_named_in_errors),
		cmocka_unit_test(a_path_is_below_by_whole_names),
		cmocka_unit_test(what_is_not_there_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
