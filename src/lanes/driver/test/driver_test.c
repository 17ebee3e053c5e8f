/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void every_driver_has_this_abi_and_a_name(void **state)
{
	size_t count = 0;

	for (; driver_table[count]; count++) {
		const struct fairlead_driver *driver = driver_table[count];

		assert_int_equal(driver->abi, FAIRLEAD_DRIVER_ABI);
		assert_in_range(strlen(driver->name), 1,
				FAIRLEAD_DRIVER_NAME_MAX);
		assert_ptr_equal(driver_find(driver->name), driver);
		assert_int_equal(driver->has_part_in_tasks,
				 driver->node->task != NULL);
		for (size_t i = 0; i < count; i++)
			assert_string_not_equal(driver_table[i]->name,
						driver->name);
	}
	assert_true(count > 0);
}

static void names_are_found_exactly(void **state)
{
	assert_non_null(driver_find("none"));
	assert_null(driver_find("None"));
	assert_null(driver_find("non"));
	assert_null(driver_find(""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_driver_has_this_abi_and_a_name),
		cmocka_unit_test(names_are_found_exactly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
