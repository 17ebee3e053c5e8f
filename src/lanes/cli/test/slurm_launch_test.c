/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lanes Slurm can start tasks in, beside the drivers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/cli/slurm/launch.h"

static void a_driver_with_a_part_in_each_task_is_refused_and_no_other(
	void **state)
{
	for (size_t i = 0; driver_table[i]; i++) {
		const struct fairlead_driver *driver = driver_table[i];
		struct fairlead_error error = { 0 };

		assert_int_equal(slurm_launch_check(driver, "", &error),
				 driver->has_part_in_tasks ? -ENOTSUP : 0);
		assert_true(!driver->has_part_in_tasks ||
			    strstr(error.text, driver->name));
	}
}

static void a_namespace_is_refused_wherever_the_option_stands(void **state)
{
	static const struct fairlead_driver driver = { .name = "a" };
	struct fairlead_error error;

	assert_int_equal(slurm_launch_check(&driver, "isolation=netns", &error),
			 -ENOTSUP);
	assert_non_null(strstr(error.text, "isolation=host"));
	assert_int_equal(slurm_launch_check(&driver, "vnis=1,isolation=netns",
					    &error),
			 -ENOTSUP);
	assert_int_equal(slurm_launch_check(&driver, "vnis=1,isolation=host",
					    &error),
			 0);
	assert_int_equal(slurm_launch_check(&driver, "isolation", &error), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_driver_with_a_part_in_each_task_is_refused_and_no_other),
		cmocka_unit_test(
			a_namespace_is_refused_wherever_the_option_stands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
