/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's table of variables is that of the drivers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/driver/driver.h"
#include "lanes/plugin/flux/variables.h"

static const struct variable *find(const char *name)
{
	for (size_t i = 0; i < variable_count; i++)
		if (strcmp(variables[i].name, name) == 0)
			return &variables[i];
	return NULL;
}

static void every_variable_of_a_driver_is_there(void **state)
{
	for (size_t i = 0; driver_table[i]; i++) {
		const char *const *name = driver_table[i]->variables;
		unsigned int set = 0;
		bool has_own = !name || !*name;

		for (size_t j = 0; name && name[j]; j++) {
			const struct variable *variable = find(name[j]);

			if (!variable)
				fail_msg("%s of %s is missing", name[j],
					 driver_table[i]->name);
			if (j == 0)
				set = variable->set;
			/* One driver, one set, with a name of its own in it. */
			assert_int_equal(variable->set, set);
			has_own |= variable->is_own;
		}
		assert_true(has_own);
		assert_true(set < VARIABLE_SETS);
	}
}

static bool is_drivers(const char *wanted)
{
	for (size_t i = 0; driver_table[i]; i++)
		for (const char *const *name = driver_table[i]->variables;
		     name && *name; name++)
			if (strcmp(*name, wanted) == 0)
				return true;
	return false;
}

/* Where all drivers are built in. */
static void no_other_is(void **state)
{
	size_t count = 0;

	while (driver_table[count])
		count++;
	if (count < 4)
		skip();
	for (size_t i = 0; i < variable_count; i++)
		if (!is_drivers(variables[i].name))
			fail_msg("%s is no driver's", variables[i].name);
}

static bool is_named(void *arg, const char *name)
{
	for (const char **names = arg; *names; names++)
		if (strcmp(*names, name) == 0)
			return true;
	return false;
}

static unsigned int sets_of(const char *first, const char *second)
{
	const char *names[] = { first, second, NULL };

	return variables_sets(is_named, names);
}

static void a_set_is_there_by_names_that_only_lanes_have(void **state)
{
	unsigned int slingshot = 1u << find("SLINGSHOT_VNIS")->set;
	unsigned int ethernet = 1u << find("FAIRLEAD_INTERFACES")->set;

	assert_int_equal(sets_of("UCX_NET_DEVICES", "FI_TCP_IFACE"), 0);
	assert_int_equal(sets_of("SLINGSHOT_TCS", "UCX_NET_DEVICES"),
			 slingshot);
	assert_int_equal(sets_of("SLINGSHOT_VNIS", "FAIRLEAD_ISOLATION"),
			 slingshot | ethernet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_variable_of_a_driver_is_there),
		cmocka_unit_test(no_other_is),
		cmocka_unit_test(a_set_is_there_by_names_that_only_lanes_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
