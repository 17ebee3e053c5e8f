/* SPDX-License-Identifier: BSD-3-Clause */
/* What a pattern gives for a job, whatever the job is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "lanes/driver/common/job_path.h"

static struct job_names names_of(const char *job)
{
	return (struct job_names){ 9, 20001, job };
}

static void a_pattern_has_to_tell_jobs_apart(void **state)
{
	static const char *const bad[] = { "/a",      "/a/%u",  "/a/%",
					   "/a/%g%s", "/a/%%g", "/a/%j/%" };
	static const char *const good[] = { "/a/%g", "/a/%j", "/%u/b%jc%g" };
	struct fairlead_error error;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(job_path_check(bad[i], &error), -EINVAL);
		assert_non_null(strstr(error.text, bad[i]));
	}
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(job_path_check(good[i], &error), 0);
}

static void a_pattern_is_filled_in(void **state)
{
	struct job_names names = names_of("77");
	struct fairlead_error error;
	char path[PATH_MAX];

	assert_int_equal(job_path_format("/user-%u/job_%j/g%g/%j", &names, path,
					 &error),
			 0);
	assert_string_equal(path, "/user-20001/job_77/g9/77");
}

static void a_job_s_name_leads_nowhere_else(void **state)
{
	static const struct {
		const char *pattern, *job;
	} cases[] = {
		{ "/a/.%j", "." },
		{ "/a/%j/b", ".." },
		{ "/a/%j", "." },
	};
	struct fairlead_error error;
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct job_names names = names_of(cases[i].job);

		assert_int_equal(job_path_format(cases[i].pattern, &names, path,
						 &error),
				 -EINVAL);
	}
	struct job_names dots = names_of("..");

	assert_int_equal(job_path_format("/a/job_%j", &dots, path, &error), 0);
	assert_string_equal(path, "/a/job_..");
}

static void a_lane_that_names_no_job_has_no_path_by_it(void **state)
{
	struct job_names names = names_of("");
	struct fairlead_error error;
	char path[PATH_MAX];

	assert_int_equal(job_path_format("/a/job_%j", &names, path, &error),
			 -ENOENT);
	assert_int_equal(job_path_format("/a/%g", &names, path, &error), 0);
}

static void a_path_that_is_too_long_is_refused(void **state)
{
	struct job_names names = names_of("77");
	char pattern[PATH_MAX + 1] = "/%j/";
	struct fairlead_error error;
	char path[PATH_MAX];

	memset(pattern + 4, 'a', sizeof(pattern) - 5);
	assert_int_equal(job_path_format(pattern, &names, path, &error),
			 -ENAMETOOLONG);
	pattern[PATH_MAX - 1] = '\0';
	assert_int_equal(job_path_format(pattern, &names, path, &error), 0);
	pattern[strlen(pattern)] = 'a';
	pattern[PATH_MAX] = '\0';
	assert_int_equal(job_path_format(pattern, &names, path, &error),
			 -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_has_to_tell_jobs_apart),
		cmocka_unit_test(a_pattern_is_filled_in),
		cmocka_unit_test(a_job_s_name_leads_nowhere_else),
		cmocka_unit_test(a_lane_that_names_no_job_has_no_path_by_it),
		cmocka_unit_test(a_path_that_is_too_long_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
