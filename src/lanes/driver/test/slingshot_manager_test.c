/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/slingshot/slingshot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const struct fairlead_manager_ops *const ops = &slingshot_manager_ops;

#define LIST(...) ((const struct fairlead_setting[]){ __VA_ARGS__ })
#define CONFIGURE(ret_state, ret_error, ...)                 \
	ops->configure(LIST(__VA_ARGS__),                    \
		       sizeof(LIST(__VA_ARGS__)) /           \
			       sizeof(LIST(__VA_ARGS__)[0]), \
		       ret_state, ret_error)

static void assert_pool_refused(const char *pool, const char *part)
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	assert_int_equal(CONFIGURE(&state, &error, { "vni_pool", pool, 9 }),
			 -EINVAL);
	assert_null(state);
	assert_non_null(strstr(error.text, "line 9: 'vni_pool': "));
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static struct fairlead_plan reserve(void *state, const char *options)
{
	struct fairlead_driver_request request = { .key = "s/1/0",
						   .options = options };
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan = { 0 };

	if (ops->reserve(state, &request, &plan, &error) < 0)
		fail_msg("'%s' was refused: %s", options, error.text);
	return plan;
}

static void every_vni_but_0_1_and_10_can_be_in_the_pool(void **state)
{
	struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];
	struct fairlead_error error;
	void *data = NULL;

	assert_int_equal(
		CONFIGURE(&data, &error, { "vni_pool", "2-9,11-65535", 1 }), 0);
	assert_int_equal(ops->pools(data, specs), 1);
	assert_string_equal(specs[0].universe, "2-9,11-65535");
	ops->destroy(data);
	assert_pool_refused("0,5", "has VNI 0, which is no VNI; the pool must "
				   "be within 2-9,11-65535");
	assert_pool_refused("1-5", "has VNI 1,");
	assert_pool_refused("2-10", "has VNI 10");
	assert_pool_refused("2-65536", "is no id set");
	assert_pool_refused("abc", "is no id set");
	assert_pool_refused("", "must not be empty");
}

static void all_errors_are_reported_at_once(void **state)
{
	struct fairlead_error error = { 0 };
	void *data = NULL;

	assert_int_equal(CONFIGURE(&data, &error, { "vni_pool", "1", 1 },
				   { "default_vnis", "5", 2 },
				   { "reserve_fatal", "perhaps", 3 },
				   { "traffic_classes", "ETH", 4 },
				   { "max_txqs", "65536", 5 },
				   { "per_core_acs", "x", 6 },
				   { "vni_pol", "1", 7 }),
			 -EINVAL);
	assert_null(data);
	for (char line[] = "line 1: "; line[5] <= '7'; line[5]++)
		assert_non_null(strstr(error.text, line));
}

static void settings_of_the_nodes_are_checked_too(void **state)
{
	struct fairlead_error error = { 0 };
	void *data = NULL;

	assert_int_equal(CONFIGURE(&data, &error, { "library", "relative", 1 },
				   { "emulation", "perhaps", 2 },
				   { "device_path", "", 3 },
				   { "require_devices", "", 4 }),
			 -EINVAL);
	for (char line[] = "line 1: "; line[5] <= '4'; line[5]++)
		assert_non_null(strstr(error.text, line));
}

static void the_site_s_limits_travel_in_the_options(void **state)
{
	struct fairlead_error error;
	struct fairlead_plan plan;
	void *data = NULL;

	assert_int_equal(CONFIGURE(&data, &error, { "max_txqs", "100", 1 },
				   { "per_core_tles", "0", 2 },
				   { "traffic_classes", "BULK_DATA", 3 }),
			 0);
	plan = reserve(data, "max_txqs=7");
	assert_string_equal(plan.options, "vnis=1,tcs=BULK_DATA,max_txqs=7,"
					  "per_core_tles=0");
	ops->destroy(data);
}

static void exclusive_profiles_are_for_sites_that_allow_them(void **state)
{
	struct fairlead_driver_request request = { .key = "s/1/0",
						   .options = "exclusive_cp" };
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan;
	void *data = NULL;

	assert_int_equal(CONFIGURE(&data, &error, { "keep", "10%", 1 }), 0);
	assert_int_equal(ops->reserve(data, &request, &plan, &error), -EINVAL);
	assert_non_null(
		strstr(error.text, "the setting exclusive_cp is false"));
	ops->destroy(data);
	assert_int_equal(
		CONFIGURE(&data, &error, { "exclusive_cp", "true", 1 }), 0);
	plan = reserve(data, "exclusive_cp");
	assert_non_null(strstr(plan.options, ",exclusive_cp"));
	assert_int_equal(plan.counts[0], 1);
	ops->destroy(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_vni_but_0_1_and_10_can_be_in_the_pool),
		cmocka_unit_test(all_errors_are_reported_at_once),
		cmocka_unit_test(settings_of_the_nodes_are_checked_too),
		cmocka_unit_test(the_site_s_limits_travel_in_the_options),
		cmocka_unit_test(
			exclusive_profiles_are_for_sites_that_allow_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
