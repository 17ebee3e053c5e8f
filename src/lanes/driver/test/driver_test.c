/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/driver.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
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
		if (driver->node->task)
			assert_non_null(driver->launch_needs(""));
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

static bool is_named(void *arg, const char *name)
{
	return strstr(arg, name);
}

static const char *seen[64];
static size_t seen_count;

static void see(void *arg, const char *name)
{
	seen[seen_count++] = name;
}

static bool is_seen(const char *name)
{
	for (size_t i = 0; i < seen_count; i++)
		if (strcmp(seen[i], name) == 0)
			return true;
	return false;
}

static void variables_are_a_lanes_where_one_is_that_only_lanes_have(
	void **state)
{
	if (!driver_find("slingshot") || !driver_find("ethernet"))
		skip();
	seen_count = 0;
	driver_visit_variables(is_named, see,
			       "UCX_NET_DEVICES FI_TCP_IFACE RMS_NNODES");
	assert_int_equal(seen_count, 0);
	driver_visit_variables(is_named, see, "SLINGSHOT_TCS UCX_NET_DEVICES");
	assert_true(is_seen("SLINGSHOT_VNIS"));
	assert_false(is_seen("UCX_NET_DEVICES"));
	seen_count = 0;
	driver_visit_variables(is_named, see, "FAIRLEAD_ISOLATION");
	assert_true(is_seen("UCX_NET_DEVICES"));
	assert_false(is_seen("SLINGSHOT_VNIS"));
	seen_count = 0;
	driver_visit_variables(NULL, see, NULL);
	for (size_t i = 0; driver_table[i]; i++)
		for (const char *const *name = driver_table[i]->variables;
		     *name; name++)
			assert_true(is_seen(*name));
}

/* As flux-coral2 sets them for a job whose reservation is empty. */
#define WITHOUT_VNIS "SLINGSHOT_DEVICES SLINGSHOT_SVC_IDS SLINGSHOT_TCS"

static void variables_without_vnis_name_no_lane_to_inherit(void **state)
{
	if (!driver_find("slingshot") || !driver_find("ethernet"))
		skip();
	seen_count = 0;
	driver_visit_inherited(is_named, see, WITHOUT_VNIS);
	assert_int_equal(seen_count, 0);
	driver_visit_variables(is_named, see, WITHOUT_VNIS);
	assert_true(is_seen("SLINGSHOT_TCS"));
	seen_count = 0;
	driver_visit_inherited(is_named, see, WITHOUT_VNIS " SLINGSHOT_VNIS");
	assert_true(is_seen("SLINGSHOT_TCS"));
	assert_false(is_seen("FAIRLEAD_ISOLATION"));
	seen_count = 0;
	driver_visit_inherited(is_named, see,
			       WITHOUT_VNIS " FAIRLEAD_ISOLATION");
	assert_true(is_seen("FAIRLEAD_ISOLATION"));
	assert_false(is_seen("SLINGSHOT_TCS"));
}

/* Flux shows so much of the refusal of a job, with the zero. */
#define FLUX_ERROR_MAX 160

static void assert_no_launch(const char *name, const char *options,
			     const char *text)
{
	struct fairlead_error error = { 0 };

	assert_int_equal(driver_check_launch(name, options, "Slurm", &error),
			 -ENOTSUP);
	assert_non_null(strstr(error.text, text));
	assert_in_range(strlen(error.text), 1, FLUX_ERROR_MAX - 1);
}

static void a_launcher_reports_what_it_lacks(void **state)
{
	static const char *const refused[] = {
		"isolation=netns",
		"vnis=1,isolation=netns",
		"isolation=netns,rate_max=1G",
	};
	static const char *const taken[] = {
		"",
		"isolation",
		"isolation=host",
		"vnis=1,isolation=host",
		"isolation=netnsx",
		"xisolation=netns",
	};
	struct fairlead_error error = { 0 };

	assert_int_equal(driver_check_launch("none", "", "Slurm", &error), 0);
	assert_int_equal(driver_check_launch("", "", "Slurm", &error), 0);
	for (size_t i = 0; driver_table[i]; i++) {
		const struct fairlead_driver *driver = driver_table[i];

		if (!driver->node->task)
			continue;
		assert_no_launch(driver->name, "", driver->name);
	}
	for (size_t i = 0; driver_find("ethernet") && i < 3; i++)
		assert_no_launch("ethernet", refused[i], "isolation=host");
	for (size_t i = 0; i < sizeof(taken) / sizeof(*taken); i++)
		assert_int_equal(driver_check_launch("ethernet", taken[i],
						     "Slurm", &error),
				 0);
}

static void an_event_has_the_drivers_name_or_its_own(void **state)
{
	assert_string_equal(driver_event("nobody"), "nobody");
	for (size_t i = 0; driver_table[i]; i++)
		assert_string_equal(driver_event(driver_table[i]->name),
				    driver_table[i]->event
					    ? driver_table[i]->event
					    : driver_table[i]->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_driver_has_this_abi_and_a_name),
		cmocka_unit_test(names_are_found_exactly),
		cmocka_unit_test(
			variables_are_a_lanes_where_one_is_that_only_lanes_have),
		cmocka_unit_test(
			variables_without_vnis_name_no_lane_to_inherit),
		cmocka_unit_test(a_launcher_reports_what_it_lacks),
		cmocka_unit_test(an_event_has_the_drivers_name_or_its_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
