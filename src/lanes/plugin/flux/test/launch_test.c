/* SPDX-License-Identifier: BSD-3-Clause */
/* Which lanes Flux's shell can start tasks in, beside the drivers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/driver/driver.h"
#include "lanes/plugin/flux/launch.h"

static void a_driver_with_a_part_in_each_task_is_refused_and_no_other(
	void **state)
{
	for (size_t i = 0; driver_table[i]; i++) {
		const struct fairlead_driver *driver = driver_table[i];
		struct fairlead_error error = { 0 };
		int result = launch_check(driver->name, "", &error);

		if (!driver->node || !driver->node->task) {
			assert_int_equal(result, 0);
			continue;
		}
		assert_int_equal(result, -ENOTSUP);
		assert_non_null(strstr(error.text, driver->name));
	}
}

static void a_namespace_is_refused_wherever_the_option_stands(void **state)
{
	static const char *const refused[] = {
		"isolation=netns",
		"vnis=1,isolation=netns",
		"isolation=netns,rate_max=1G",
		"vnis=1,isolation=netns,tcs=LOW_LATENCY",
	};
	static const char *const taken[] = {
		"",
		",",
		"isolation=host",
		"isolation=netnsx",
		"xisolation=netns",
		"vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,isolation=host",
	};
	struct fairlead_error error;

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		assert_int_equal(launch_check("", refused[i], &error),
				 -ENOTSUP);
		assert_non_null(strstr(error.text, "isolation=host"));
	}
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		assert_int_equal(launch_check("ethernet", taken[i], &error), 0);
}

static int no_effect(struct fairlead_effects *effects,
		     const struct fairlead_effect *effect)
{
	return 0;
}

/* A job that says nothing has what the site's file has: a grant tells. */
static void the_driver_tells_it_of_a_grant(void **state)
{
	static const struct fairlead_setting settings[] = {
		{ .name = "vni_pool", .value = "4096-5000" },
		{ .name = "isolation", .value = "netns,host" },
	};
	static const char *const nodes[] = { "n" };
	static const uint32_t one[] = { 1 };
	const struct fairlead_driver_request request = {
		.key = "flux/f/0",
		.options = "",
		.node_count = 1,
		.nodes = nodes,
		.cores = one,
		.tasks = one,
	};
	const struct fairlead_driver *driver = driver_find("ethernet");
	struct fairlead_effects effects = { .add = no_effect };
	struct fairlead_plan plan = { 0 };
	struct fairlead_error error;
	void *data = NULL;

	if (!driver)
		skip();
	assert_int_equal(driver->manager->configure(settings, 2, &data, &error),
			 0);
	assert_int_equal(driver->manager->reserve(data, &request, &plan,
						  &effects, &error),
			 0);
	driver->manager->destroy(data);
	assert_int_equal(launch_check("ethernet", plan.options, &error),
			 -ENOTSUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_driver_with_a_part_in_each_task_is_refused_and_no_other),
		cmocka_unit_test(
			a_namespace_is_refused_wherever_the_option_stands),
		cmocka_unit_test(the_driver_tells_it_of_a_grant),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
