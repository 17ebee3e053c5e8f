/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/slingshot/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const struct cxil_devinfo cassini = {
	.num_ptes = 2048,
	.num_txqs = 1024,
	.num_tgqs = 512,
	.num_eqs = 2047,
	.num_cts = 2047,
	.num_les = 16384,
	.num_tles = 2048,
	.num_acs = 1022,
};

/* As it is when the NIC's driver has been loaded. */
static struct cxi_svc_desc default_service(void)
{
	return (struct cxi_svc_desc){
		.svc_id = CXI_DEFAULT_SVC_ID,
		.resource_limits = 1,
		.restricted_vnis = 1,
		.num_vld_vnis = 2,
		.vnis = { 1, 10 },
		.limits.tles = { 512, 512 },
	};
}

static struct slingshot_usage usage_of(const struct cxi_svc_desc *services,
				       size_t count)
{
	struct slingshot_usage usage;

	slingshot_usage_count(&cassini, services, count, &usage);
	return usage;
}

static struct slingshot_limits plan(uint32_t cores,
				    const struct slingshot_usage *usage)
{
	struct slingshot_limits limits;

	slingshot_limits_plan(&slingshot_policy_default, cores, usage, &limits);
	return limits;
}

static void assert_limit(const struct slingshot_limits *limits,
			 enum cxi_rsrc_type type, unsigned int max,
			 unsigned int res)
{
	if (limits->limits.type[type].max != max ||
	    limits->limits.type[type].res != res)
		fail_msg("%s: %u/%u is not %u/%u",
			 slingshot_resource_name(type),
			 limits->limits.type[type].max,
			 limits->limits.type[type].res, max, res);
}

static void assert_shortfall(const struct slingshot_shortfall *shortfall,
			     const char *expected)
{
	char text[128];

	slingshot_shortfall_format(shortfall, "cxi1", text, sizeof(text));
	assert_string_equal(text, expected);
}

static void an_idle_nic_gives_what_is_recommended(void **state)
{
	struct cxi_svc_desc service = default_service();
	struct slingshot_usage usage = usage_of(&service, 1);
	struct slingshot_limits limits = plan(10, &usage);

	assert_int_equal(usage.tle_pools, 1);
	assert_int_equal(usage.reserved[CXI_RSRC_TYPE_TLE], 512);
	assert_limit(&limits, CXI_RSRC_TYPE_PTE, 2048, 60);
	assert_limit(&limits, CXI_RSRC_TYPE_TXQ, 1024, 20);
	assert_limit(&limits, CXI_RSRC_TYPE_TGQ, 512, 10);
	assert_limit(&limits, CXI_RSRC_TYPE_EQ, 2047, 20);
	assert_limit(&limits, CXI_RSRC_TYPE_CT, 2047, 10);
	assert_limit(&limits, CXI_RSRC_TYPE_LE, 16384, 160);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 10, 10);
	assert_limit(&limits, CXI_RSRC_TYPE_AC, 1022, 20);
	assert_int_equal(limits.shortfall_count, 0);
}

static void few_cores_count_as_the_least_tles(void **state)
{
	struct cxi_svc_desc services[] = {
		default_service(),
		{ .svc_id = 2, .resource_limits = 1, .limits.tles = { 3, 3 } },
	};
	struct slingshot_usage usage = usage_of(services, 2);

	assert_int_equal(usage.reserved[CXI_RSRC_TYPE_TLE], 512 + 8);
	assert_int_equal(usage.tle_pools, 2);
}

static void a_service_without_limits_takes_a_tle_pool(void **state)
{
	struct cxi_svc_desc services[] = {
		{ .svc_id = 2, .limits.ptes = { 2048, 0 } },
		{ .svc_id = 3, .resource_limits = 1 },
	};
	struct slingshot_usage usage = usage_of(services, 2);

	assert_int_equal(usage.reserved[CXI_RSRC_TYPE_TLE], 8);
	assert_int_equal(usage.tle_pools, 2);
	assert_int_equal(usage.le_pools, 0);
}

static void the_default_service_has_its_pool_also_when_disabled(void **state)
{
	struct slingshot_usage usage = usage_of(NULL, 0);

	assert_int_equal(usage.tle_pools, 1);
}

static void vnis_of_enabled_services_take_receive_entries(void **state)
{
	struct cxi_svc_desc services[] = {
		default_service(),
		{ .svc_id = 2,
		  .enable = 1,
		  .restricted_vnis = 1,
		  .num_vld_vnis = 3 },
		{ .svc_id = 3, .enable = 1 },
	};

	assert_int_equal(usage_of(services, 3).receive_entries, 4);
}

static void a_reservation_is_scaled_back_to_what_is_free(void **state)
{
	struct cxi_svc_desc services[] = {
		default_service(),
		{ .svc_id = 2,
		  .resource_limits = 1,
		  .limits = { .txqs = { 1024, 1000 }, .acs = { 1022, 1022 } } },
	};
	struct slingshot_usage usage = usage_of(services, 2);
	struct slingshot_limits limits = plan(64, &usage);

	assert_limit(&limits, CXI_RSRC_TYPE_TXQ, 1024, 24);
	assert_limit(&limits, CXI_RSRC_TYPE_AC, 1022, 0);
	assert_limit(&limits, CXI_RSRC_TYPE_TGQ, 512, 64);
	assert_int_equal(limits.shortfall_count, 2);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 128 TXQs, reserved 24 (24 of 1024 are "
			 "free)");
	assert_shortfall(&limits.shortfalls[1],
			 "cxi1: wanted 128 ACs, reserved 0 (0 of 1022 are "
			 "free)");
}

static void more_than_the_device_has_is_a_shortfall_too(void **state)
{
	struct slingshot_policy policy = slingshot_policy_default;
	struct slingshot_usage usage = usage_of(NULL, 0);
	struct slingshot_limits limits;

	policy.keep = 0;
	slingshot_limits_plan(&policy, 600, &usage, &limits);
	assert_limit(&limits, CXI_RSRC_TYPE_TXQ, 1024, 1024);
	assert_limit(&limits, CXI_RSRC_TYPE_TGQ, 512, 512);
	assert_limit(&limits, CXI_RSRC_TYPE_PTE, 2048, 2048);
	assert_int_equal(limits.shortfall_count, 2);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 1200 TXQs, reserved 1024 (the device "
			 "has 1024)");
}

static void no_job_reserves_what_is_kept_for_others(void **state)
{
	struct slingshot_usage usage = usage_of(NULL, 0);
	struct slingshot_limits limits = plan(600, &usage);

	assert_limit(&limits, CXI_RSRC_TYPE_PTE, 2048, 1843);
	assert_limit(&limits, CXI_RSRC_TYPE_TGQ, 512, 460);
	assert_limit(&limits, CXI_RSRC_TYPE_LE, 16384, 9600);
	assert_int_equal(limits.shortfall_count, 4);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 2048 PTEs, reserved 1843 (10% of 2048 "
			 "are kept for other jobs)");
	/* Another job can have what was kept. */
	usage.reserved[CXI_RSRC_TYPE_PTE] = 1843;
	limits = plan(34, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_PTE, 2048, 204);
	assert_int_equal(limits.shortfall_count, 0);
	usage.reserved[CXI_RSRC_TYPE_PTE] = 5000;
	limits = plan(34, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_PTE, 2048, 0);
}

static void keeping_bounds_les_and_tles_too(void **state)
{
	struct slingshot_policy policy = slingshot_policy_default;
	struct slingshot_usage usage = usage_of(NULL, 0);
	struct slingshot_limits limits;

	policy.keep = 90;
	slingshot_limits_plan(&policy, 600, &usage, &limits);
	assert_limit(&limits, CXI_RSRC_TYPE_LE, 16384, 1638);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 204, 204);
}

static void less_than_the_minimum_is_warned_of_or_refused(void **state)
{
	struct slingshot_policy policy = slingshot_policy_default;
	struct slingshot_usage usage = usage_of(NULL, 0);
	struct slingshot_limits limits;

	usage.reserved[CXI_RSRC_TYPE_TXQ] = 1024 - 50;
	usage.reserved[CXI_RSRC_TYPE_TGQ] = 512 - 49;
	policy.minimum = 50;
	policy.refuses_less = 1;
	slingshot_limits_plan(&policy, 50, &usage, &limits);
	assert_int_equal(limits.shortfall_count, 2);
	assert_null(slingshot_limits_refused(&policy, &limits));
	policy.minimum = 51;
	slingshot_limits_plan(&policy, 50, &usage, &limits);
	assert_ptr_equal(slingshot_limits_refused(&policy, &limits),
			 &limits.shortfalls[0]);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 100 TXQs, reserved 50 (50 of 1024 are "
			 "free), the minimum is 51");
	assert_int_equal(limits.shortfalls[1].minimum, 0);
	policy.refuses_less = 0;
	assert_null(slingshot_limits_refused(&policy, &limits));
}

static void without_a_tle_pool_no_tles_are_asked_for(void **state)
{
	struct cxi_svc_desc services[4] = { default_service() };
	struct slingshot_limits limits;
	struct slingshot_usage usage;

	for (unsigned int i = 1; i < 4; i++)
		services[i] = (struct cxi_svc_desc){
			.svc_id = i + 1,
			.resource_limits = 1,
			.limits.tles = { 16, 16 },
		};
	usage = usage_of(services, 3);
	limits = plan(16, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 16, 16);
	usage = usage_of(services, 4);
	limits = plan(16, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 0, 0);
	assert_int_equal(limits.shortfall_count, 1);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 16 TLEs, reserved 0 (all 4 pools are "
			 "taken)");
}

static void tles_are_scaled_back_but_never_below_the_least(void **state)
{
	struct cxi_svc_desc service = default_service();
	struct slingshot_limits limits;
	struct slingshot_usage usage;

	service.limits.tles.res = 2048 - 12;
	usage = usage_of(&service, 1);
	limits = plan(20, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 12, 12);
	assert_int_equal(limits.shortfall_count, 1);
	service.limits.tles.res = 2048 - 7;
	usage = usage_of(&service, 1);
	limits = plan(4, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 0, 0);
	assert_int_equal(limits.shortfall_count, 1);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 4 TLEs, reserved 0 (7 of 2048 are free, "
			 "8 is the least)");
}

static void without_an_le_pool_les_are_shared(void **state)
{
	struct cxi_svc_desc services[CXI_LE_POOLS];
	struct slingshot_limits limits;
	struct slingshot_usage usage;

	for (unsigned int i = 0; i < CXI_LE_POOLS; i++)
		services[i] = (struct cxi_svc_desc){
			.svc_id = i + 2,
			.resource_limits = 1,
			.limits.les = { 16384, 16 },
		};
	usage = usage_of(services, CXI_LE_POOLS - 1);
	limits = plan(1, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_LE, 16384, 16);
	usage = usage_of(services, CXI_LE_POOLS);
	limits = plan(1, &usage);
	assert_limit(&limits, CXI_RSRC_TYPE_LE, 16384, 0);
	assert_int_equal(limits.shortfall_count, 1);
	assert_shortfall(&limits.shortfalls[0],
			 "cxi1: wanted 16 LEs, reserved 0 (all 15 pools are "
			 "taken)");
}

static void what_the_policy_does_not_want_is_no_shortfall(void **state)
{
	struct slingshot_policy policy = slingshot_policy_default;
	struct slingshot_usage usage = { .tle_pools = CXI_TLE_POOLS,
					 .le_pools = CXI_LE_POOLS };
	struct slingshot_limits limits;

	memset(policy.per_core, 0, sizeof(policy.per_core));
	slingshot_limits_plan(&policy, 64, &usage, &limits);
	assert_int_equal(limits.shortfall_count, 0);
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++)
		assert_limit(&limits, type, 0, 0);
}

static void a_low_maximum_bounds_the_reservation(void **state)
{
	struct slingshot_policy policy = slingshot_policy_default;
	struct slingshot_usage usage = usage_of(NULL, 0);
	struct slingshot_limits limits;

	policy.max[CXI_RSRC_TYPE_TXQ] = 10;
	policy.max[CXI_RSRC_TYPE_TLE] = 9;
	slingshot_limits_plan(&policy, 64, &usage, &limits);
	assert_limit(&limits, CXI_RSRC_TYPE_TXQ, 10, 10);
	assert_limit(&limits, CXI_RSRC_TYPE_TLE, 9, 9);
	assert_int_equal(limits.shortfall_count, 0);
}

static void overcommitted_devices_and_huge_jobs_do_not_wrap(void **state)
{
	struct slingshot_policy policy = slingshot_policy_unlimited;
	struct slingshot_usage usage = usage_of(NULL, 0);
	struct slingshot_limits limits;

	usage.reserved[CXI_RSRC_TYPE_TXQ] = 5000;
	slingshot_limits_plan(&policy, UINT32_MAX, &usage, &limits);
	assert_limit(&limits, CXI_RSRC_TYPE_TXQ, 1024, 0);
	assert_limit(&limits, CXI_RSRC_TYPE_EQ, 2047, 2047);
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++)
		assert_true(limits.limits.type[type].res <=
			    limits.limits.type[type].max);
}

static void rgids_are_shared_when_they_run_out(void **state)
{
	assert_int_equal(slingshot_lnis_per_rgid(0, 2), 1);
	assert_int_equal(slingshot_lnis_per_rgid(1, 0), 1);
	assert_int_equal(slingshot_lnis_per_rgid(255, 1), 1);
	assert_int_equal(slingshot_lnis_per_rgid(256, 1), 2);
	assert_int_equal(slingshot_lnis_per_rgid(510, 2), 1);
	assert_int_equal(slingshot_lnis_per_rgid(511, 2), 2);
	assert_int_equal(slingshot_lnis_per_rgid(2041, 1), 9);
	assert_int_equal(slingshot_lnis_per_rgid(UINT32_MAX, UINT32_MAX), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_idle_nic_gives_what_is_recommended),
		cmocka_unit_test(few_cores_count_as_the_least_tles),
		cmocka_unit_test(a_service_without_limits_takes_a_tle_pool),
		cmocka_unit_test(
			the_default_service_has_its_pool_also_when_disabled),
		cmocka_unit_test(vnis_of_enabled_services_take_receive_entries),
		cmocka_unit_test(a_reservation_is_scaled_back_to_what_is_free),
		cmocka_unit_test(more_than_the_device_has_is_a_shortfall_too),
		cmocka_unit_test(no_job_reserves_what_is_kept_for_others),
		cmocka_unit_test(keeping_bounds_les_and_tles_too),
		cmocka_unit_test(less_than_the_minimum_is_warned_of_or_refused),
		cmocka_unit_test(without_a_tle_pool_no_tles_are_asked_for),
		cmocka_unit_test(
			tles_are_scaled_back_but_never_below_the_least),
		cmocka_unit_test(without_an_le_pool_les_are_shared),
		cmocka_unit_test(what_the_policy_does_not_want_is_no_shortfall),
		cmocka_unit_test(a_low_maximum_bounds_the_reservation),
		cmocka_unit_test(
			overcommitted_devices_and_huge_jobs_do_not_wrap),
		cmocka_unit_test(rgids_are_shared_when_they_run_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
