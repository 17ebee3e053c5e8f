/* SPDX-License-Identifier: BSD-3-Clause */
/* The components of a heterogeneous job, as squeue lists them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/cli/slurm/components.h"

static int parse(const char *text, struct components **ret_components,
		 struct fairlead_error *ret_error)
{
	_auto_(freep) char *copy = strdup(text);

	return components_parse(copy, ret_components, ret_error);
}

static struct components *good(const char *text)
{
	struct components *components = NULL;
	struct fairlead_error error;

	if (parse(text, &components, &error) < 0)
		fail_msg("%s", error.text);
	return components;
}

static void nodes_and_cores_are_those_of_all(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|CONFIGURING|2|n0\n8|CONFIGURING|8|n[1-2]\n"
		     "9|PENDING|4|\n");
	_auto_(freep) char *nodes = NULL;
	_auto_(freep) char *cores = NULL;

	assert_int_equal(components->count, 3);
	assert_int_equal(components_join(components, &nodes, &cores, NULL), 0);
	assert_string_equal(nodes, "n[0-2]");
	assert_string_equal(cores, "2,4,4");
}

static void a_node_of_two_components_has_the_cores_of_both(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|RUNNING|3|n[0-1]\n8|RUNNING|0|n1\n9|RUNNING|5|n1\n");
	_auto_(freep) char *nodes = NULL;
	_auto_(freep) char *cores = NULL;

	assert_int_equal(components_join(components, &nodes, &cores, NULL), 0);
	assert_string_equal(nodes, "n[0-1]");
	assert_string_equal(cores, "2,7");
}

static void a_job_is_over_by_its_own_state(void **state)
{
	static const char list[] = "6|RUNNING\n7|COMPLETING\n77|CANCELLED\n"
				   "8|CONFIGURING\n9|PENDING\n10|\n11\n";

	assert_false(components_is_over(list, 6));
	assert_true(components_is_over(list, 7));
	assert_true(components_is_over(list, 77));
	assert_false(components_is_over(list, 8));
	assert_true(components_is_over(list, 9));
	assert_false(components_is_over(list, 10));
	assert_false(components_is_over(list, 11));
	assert_false(components_is_over(list, 12));
	assert_false(components_is_over("", 7));
	assert_true(components_is_over("7|CANCELLED", 7));
}

static void others_are_there_until_they_end(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|COMPLETING|1|n0\n8|RUNNING|1|n1\n9|STAGE_OUT|1|n2\n");
	_auto_(components_destroyp) struct components *last =
		good("7|COMPLETING|1|n0\n8|COMPLETED|1|n1\n9|PENDING|1|\n");

	assert_true(components_has_other(components, 7, NULL));
	assert_true(components_has_other(components, 8, NULL));
	assert_true(components_has_other(components, 7, "n1"));
	assert_false(components_has_other(components, 8, "n1"));
	assert_false(components_has_other(last, 7, NULL));
	assert_false(components_has_other(last, 8, NULL));
}

/* Its tasks may still be at their end, with the lane that they share. */
static void a_node_has_others_until_they_have_ended(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|COMPLETING|2|n[0-1]\n8|COMPLETING|1|n1\n"
		     "9|COMPLETED|1|n1\n");

	assert_true(components_has_other(components, 7, "n1"));
	assert_true(components_has_other(components, 8, "n1"));
	assert_false(components_has_other(components, 7, "n0"));
	assert_false(components_has_other(components, 7, NULL));
	assert_false(components_has_other(components, 8, NULL));
}

static void a_state_that_nobody_knows_is_there(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|DREAMING|1|n0\n8|RUNNING|1|n1\n");

	assert_true(components_has_other(components, 8, NULL));
}

static void one_is_running_when_slurm_says_so(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|CONFIGURING|1|n0\n8|RUNNING|1|n1\n9|DREAMING|1|n2\n"
		     "10|COMPLETING|1|n3\n11|PENDING|1|\n");

	assert_true(components_is_running(components, 8));
	for (uint32_t id = 6; id <= 12; id++)
		if (id != 8)
			assert_false(components_is_running(components, id));
}

static void nothing_has_no_nodes(void **state)
{
	_auto_(components_destroyp) struct components *components =
		good("7|COMPLETING|1|n0\n8|RUNNING|1|(null)\n");
	_auto_(freep) char *nodes = NULL;
	_auto_(freep) char *cores = NULL;

	assert_int_equal(components_join(components, &nodes, &cores, NULL),
			 -ENODATA);
}

static void bad_listings_are_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"\n\n",
		"7",
		"7|RUNNING|1",
		"7|RUNNING|1|n0|",
		"x|RUNNING|1|n0",
		"|||",
		"0|RUNNING|1|n0",
		"7|RUNNING|-1|n0",
		"7|RUNNING|1|n[0-",
		"99999999999|RUNNING|1|n0",
		"7|RUNNING|1|n0\nslurm_load_jobs error: Invalid job id",
		"7|RUNNING|1|n/0",
	};
	struct components *components = NULL;
	struct fairlead_error error;
	char many[COMPONENTS_MAX * 16 + 32] = "";

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		error.text[0] = 0;
		assert_int_equal(parse(bad[i], &components, &error), -EINVAL);
		assert_true(error.text[0] != 0);
		assert_null(components);
	}
	for (int i = 0; i <= COMPONENTS_MAX; i++)
		strcat(many, "7|RUNNING|1|n0\n");
	assert_int_equal(parse(many, &components, &error), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_and_cores_are_those_of_all),
		cmocka_unit_test(
			a_node_of_two_components_has_the_cores_of_both),
		cmocka_unit_test(a_job_is_over_by_its_own_state),
		cmocka_unit_test(others_are_there_until_they_end),
		cmocka_unit_test(a_node_has_others_until_they_have_ended),
		cmocka_unit_test(a_state_that_nobody_knows_is_there),
		cmocka_unit_test(one_is_running_when_slurm_says_so),
		cmocka_unit_test(nothing_has_no_nodes),
		cmocka_unit_test(bad_listings_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
