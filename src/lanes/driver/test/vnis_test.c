/* SPDX-License-Identifier: BSD-3-Clause */
/* Manager halves of drivers whose lanes are made of VNIs. */
#include "lanes/driver/common/vnis.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "lanes/driver/driver.h"

static const struct kind {
	const char *driver;
	const char *event;
	const char *pool; /* the default */
	uint32_t limit;
	const char *options; /* completed, of a job without any */
} kinds[] = {
	{ "slingshot", "cray-slingshot", "1024-65535", 65536,
	  "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT" },
	{ "ethernet", "ethernet", "4096-5119", 1 << 24,
	  "vnis=1,tcs=LOW_LATENCY:BEST_EFFORT,isolation=host" },
};

#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

/* NULL: it is not built in. */
static const struct fairlead_manager_ops *ops_of(size_t i)
{
	const struct fairlead_driver *driver = driver_find(kinds[i].driver);

	return driver ? driver->manager : NULL;
}

#define each_ops(ops, i)                                                      \
	for (size_t i = 0; i < KIND_COUNT; i++)                               \
		for (const struct fairlead_manager_ops *ops = ops_of(i); ops; \
		     ops = NULL)

static void *configured(const struct fairlead_manager_ops *ops,
			const struct fairlead_setting *list, size_t count)
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	if (ops->configure(list, count, &state, &error) < 0)
		fail_msg("the settings were refused: %s", error.text);
	return state;
}

static struct fairlead_plan reserve(const struct fairlead_manager_ops *ops,
				    void *state, const char *options)
{
	const char *const nodes[] = { "n3", "n4" };
	struct fairlead_driver_request request = {
		.key = "s/1/0",
		.options = options,
		.node_count = 2,
		.nodes = nodes,
	};
	struct fairlead_error error = { 0 };
	struct fairlead_plan plan = { 0 };

	if (ops->reserve(state, &request, &plan, &error) < 0)
		fail_msg("'%s' was refused: %s", options, error.text);
	return plan;
}

static void there_is_a_pool_without_settings(void **state)
{
	struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];

	each_ops(ops, i)
	{
		void *data = configured(ops, NULL, 0);

		assert_int_equal(ops->pools(data, specs), 1);
		assert_string_equal(specs[0].name, "vni");
		assert_string_equal(specs[0].universe, kinds[i].pool);
		assert_int_equal(specs[0].limit, kinds[i].limit);
		ops->destroy(data);
	}
}

static void jobs_opt_out_by_default(void **state)
{
	each_ops(ops, i)
	{
		void *data = configured(ops, NULL, 0);
		struct fairlead_plan plan = reserve(ops, data, "");

		assert_int_equal(plan.counts[0], 1);
		assert_true(plan.is_fatal);
		assert_true(plan.has_lane);
		assert_string_equal(plan.reason, "");
		assert_string_equal(plan.options, kinds[i].options);
		plan = reserve(ops, data, "off");
		assert_int_equal(plan.counts[0], 0);
		assert_false(plan.has_lane);
		assert_string_equal(plan.reason, "disabled by user request");
		assert_string_equal(plan.options, "off");
		ops->destroy(data);
	}
}

static void jobs_opt_in_where_the_default_is_0(void **state)
{
	const struct fairlead_setting list[] = {
		{ "default_vnis", "0", 1 },
		{ "reserve_fatal", "false", 2 },
	};

	each_ops(ops, i)
	{
		void *data = configured(ops, list, 2);
		struct fairlead_plan plan = reserve(ops, data, "");

		assert_int_equal(plan.counts[0], 0);
		assert_false(plan.is_fatal);
		assert_false(plan.has_lane);
		assert_string_equal(plan.reason, "none requested");
		plan = reserve(ops, data, "vnis=4");
		assert_int_equal(plan.counts[0], 4);
		assert_true(plan.has_lane);
		ops->destroy(data);
	}
}

static void assert_context(size_t i, const struct fairlead_lane *lane,
			   const char *reason, const char *expected)
{
	const char *name = NULL;
	_auto_(freep) char *context = NULL;

	assert_int_equal(
		ops_of(i)->describe(NULL, lane, reason, &name, &context), 0);
	assert_string_equal(name, kinds[i].event);
	assert_string_equal(context, expected);
}

static void the_event_has_the_vnis_or_why_there_are_none(void **state)
{
	const struct fairlead_lane lane = { .id_count = 2,
					    .ids = { 4096, 5119 } };
	const struct fairlead_lane none = { .id_count = 0 };

	each_ops(ops, i)
	{
		assert_context(i, &lane, "",
			       "{\"reservation\":{\"vnis\":[4096,5119]},"
			       "\"vnis\":[4096,5119]}");
		assert_context(i, &none, "failed to reserve 1 \"VNI\"",
			       "{\"reservation\":{\"vnis\":[]},\"vnis\":[],"
			       "\"empty-reason\":"
			       "\"failed to reserve 1 \\\"VNI\\\"\"}");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_a_pool_without_settings),
		cmocka_unit_test(jobs_opt_out_by_default),
		cmocka_unit_test(jobs_opt_in_where_the_default_is_0),
		cmocka_unit_test(the_event_has_the_vnis_or_why_there_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
