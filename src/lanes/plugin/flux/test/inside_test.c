/* SPDX-License-Identifier: BSD-3-Clause */
/* An instance in a job of any job manager knows that it is in one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/plugin/flux/inside.h"

static bool is_named(void *arg, const char *name)
{
	return strcmp(arg, name) == 0;
}

static const char *find(const char *level, const char *variable)
{
	return inside_find(level, is_named, (void *)variable);
}

static void a_system_instance_is_inside_of_nothing(void **state)
{
	assert_null(find("0", "HOME"));
	assert_null(find(NULL, "SLURM_CONF"));
}

static void its_jobs_are_inside_of_it(void **state)
{
	assert_string_equal(find("1", "HOME"), "a job of Flux");
	assert_string_equal(find("12", "SLURM_JOB_ID"), "a job of Flux");
}

static void so_is_the_first_level_within_a_job_of_others(void **state)
{
	assert_string_equal(find("0", "SLURM_JOB_ID"), "a job of Slurm");
	assert_string_equal(find("0", "FAIRLEAD_JOB"), "a job of Fairlead");
	assert_string_equal(find(NULL, "SLURM_JOB_ID"), "a job of Slurm");
}

static void each_variable_tells(void **state)
{
	for (size_t i = 0; i < inside_variable_count; i++)
		assert_non_null(find("0", inside_variables[i]));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_instance_is_inside_of_nothing),
		cmocka_unit_test(its_jobs_are_inside_of_it),
		cmocka_unit_test(so_is_the_first_level_within_a_job_of_others),
		cmocka_unit_test(each_variable_tells),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
