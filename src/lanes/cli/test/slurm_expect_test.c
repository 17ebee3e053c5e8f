/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a job was promised a lane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/cli/slurm/expect.h"
#include "lanes/driver/driver.h"

static struct config *config_of(const char *text)
{
	_auto_(freep) char *errors = NULL;
	struct config *config = NULL;
	size_t count = 0;

	while (driver_table[count])
		count++;
	if (config_parse(text, strlen(text), "f", CONFIG_ROLE_CLIENT,
			 driver_table, count, &config, &errors) < 0)
		fail_msg("%s", errors);
	return config;
}

static void by_default_a_job_has_a_lane(void **state)
{
	_auto_(config_destroyp) struct config *config =
		config_of("manager { interconnect = slingshot }\n"
			  "driver slingshot { }");

	assert_int_equal(lane_expect(config, NULL, ""), LANE_MUST);
	assert_int_equal(lane_expect(config, NULL, "vnis=2"), LANE_MUST);
	assert_int_equal(lane_expect(config, NULL, "vnis=0"), LANE_NONE);
	assert_int_equal(lane_expect(config, NULL, "off"), LANE_NONE);
}

static void who_has_to_ask_has_none_by_default(void **state)
{
	_auto_(config_destroyp) struct config *config =
		config_of("manager { interconnect = slingshot }\n"
			  "driver slingshot { default_vnis = 0 }");

	assert_int_equal(lane_expect(config, NULL, ""), LANE_NONE);
	assert_int_equal(lane_expect(config, NULL, "vnis=1"), LANE_MUST);
}

static void a_lane_that_is_not_vital_may_be_missing(void **state)
{
	_auto_(config_destroyp) struct config *config =
		config_of("manager { interconnect = slingshot }\n"
			  "driver slingshot { reserve_fatal = false }");

	assert_int_equal(lane_expect(config, NULL, ""), LANE_MAY);
	assert_int_equal(lane_expect(config, NULL, "off"), LANE_NONE);
}

static void what_is_not_known_here_is_for_the_manager_to_say(void **state)
{
	_auto_(config_destroyp) struct config *config =
		config_of("manager { interconnect = slingshot }\n"
			  "driver slingshot { }");

	assert_int_equal(lane_expect(config, NULL, "vnis=9"), LANE_MUST);
	assert_int_equal(lane_expect(config, NULL, "colour=red"), LANE_MUST);
	assert_int_equal(lane_expect(config, "ethernet", ""), LANE_MUST);
	assert_int_equal(lane_expect(config, "nothing", ""), LANE_MUST);
	assert_int_equal(lane_expect(config, "none", ""), LANE_NONE);
}

static void settings_that_are_wrong_say_nothing_about_a_lane(void **state)
{
	_auto_(config_destroyp) struct config *config =
		config_of("manager { interconnect = slingshot }\n"
			  "driver slingshot { vni_pool = bad }");

	assert_int_equal(lane_expect(config, NULL, ""), LANE_MAY);
	assert_int_equal(lane_expect(config, NULL, "off"), LANE_MAY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_default_a_job_has_a_lane),
		cmocka_unit_test(who_has_to_ask_has_none_by_default),
		cmocka_unit_test(a_lane_that_is_not_vital_may_be_missing),
		cmocka_unit_test(
			what_is_not_known_here_is_for_the_manager_to_say),
		cmocka_unit_test(
			settings_that_are_wrong_say_nothing_about_a_lane),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
