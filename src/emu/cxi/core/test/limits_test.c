/* SPDX-License-Identifier: BSD-3-Clause */
/* Reservations, pools, the fail info, and what is in use. */
#include "emu/cxi/core/test/fixture.h"

/* A service that wants TLEs, or LEs, and nothing else. */
static struct cxi_svc_desc wants_tles(uint16_t vni, uint16_t res)
{
	struct cxi_svc_desc desc = desc_of(USER_UID, vni);

	desc.limits.tles = (struct cxi_limits){ .max = res, .res = res };
	return desc;
}

static struct cxi_svc_desc wants_les(uint16_t vni, uint16_t res)
{
	struct cxi_svc_desc desc = desc_of(USER_UID, vni);

	desc.limits.les = (struct cxi_limits){ .max = res, .res = res };
	return desc;
}

static void fourth_job_finds_no_tle_pool(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_fail_info fail_info;
	struct cxi_svc_desc desc;

	for (uint16_t i = 0; i < 3; i++) {
		desc = wants_tles(1024 + i, 8);
		assert_true(alloc(fixture, &desc) > 0);
	}
	desc = wants_tles(1027, 8);
	assert_int_equal(softnic_service_alloc(fixture->root, &desc,
					       &fail_info),
			 -ENOSPC);
	assert_true(fail_info.no_tle_pools);
	assert_false(fail_info.no_le_pools);
	/* One that reserves none takes no pool. */
	desc.limits.tles = (struct cxi_limits){ 0 };
	assert_true(alloc(fixture, &desc) > 0);
	/* And a pool that comes back can be had again. */
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID), 0);
	desc = wants_tles(1028, 8);
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
}

static void fourteen_le_pools_are_left_beside_ethernet(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_fail_info fail_info;
	struct cxi_svc_desc desc;

	for (uint16_t i = 0; i < 14; i++) {
		desc = wants_les(1024 + i, 1);
		assert_true(alloc(fixture, &desc) > 0);
	}
	desc = wants_les(2000, 1);
	assert_int_equal(softnic_service_alloc(fixture->root, &desc,
					       &fail_info),
			 -ENOSPC);
	assert_true(fail_info.no_le_pools);
	assert_false(fail_info.no_tle_pools);
	/* LEs without a reservation come from the shared pool. */
	desc.limits.les = (struct cxi_limits){ .max = 16384 };
	assert_true(alloc(fixture, &desc) > 0);
}

static void without_ethernet_there_are_fifteen_le_pools(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc;

	fixture->config.ethernet_service = false;
	node_open(fixture);
	for (uint16_t i = 0; i < 15; i++) {
		desc = wants_les(1024 + i, 1);
		assert_true(alloc(fixture, &desc) > 0);
	}
	desc = wants_les(2000, 1);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
}

static void service_without_limits_takes_a_tle_pool(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = { .restricted_vnis = true };
	struct cxi_svc_desc listed;

	for (int i = 0; i < 3; i++)
		assert_int_equal(alloc(fixture, &desc), FIRST_ID + i);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	listed = must_get(fixture, FIRST_ID);
	assert_int_equal(listed.limits.tles.res, 8);
	assert_int_equal(listed.limits.tles.max, 8);
	assert_int_equal(listed.limits.txqs.max, 1024);
	assert_int_equal(listed.limits.txqs.res, 0);
}

static void tles_are_raised_to_eight_and_max_follows_res(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = wants_tles(1024, 1);

	desc.limits.tles.max = 100;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	desc = must_get(fixture, FIRST_ID);
	assert_int_equal(desc.limits.tles.res, 8);
	assert_int_equal(desc.limits.tles.max, 8);
	/* The default service is exempt. */
	fixture->config.totals[CXI_RSRC_TYPE_TLE] = 4;
	node_open(fixture);
	assert_int_equal(must_get(fixture, 1).limits.tles.res, 4);
}

static void lacking_tles_set_no_flag(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = wants_tles(1024, 2048 - 512 + 1);
	struct cxi_svc_fail_info fail_info;

	assert_int_equal(softnic_service_alloc(fixture->root, &desc,
					       &fail_info),
			 -ENOSPC);
	assert_false(fail_info.no_tle_pools);
	assert_int_equal(fail_info.rsrc_avail[CXI_RSRC_TYPE_TLE], 0);
	desc = wants_tles(1024, 2048 - 512);
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
}

static void fail_info_stops_at_the_first_lack(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	struct cxi_svc_fail_info fail_info;

	desc.limits.ptes = (struct cxi_limits){ .max = 2048, .res = 1 };
	desc.limits.tgqs = (struct cxi_limits){ .max = 512, .res = 512 };
	desc.limits.cts = (struct cxi_limits){ .max = 2047, .res = 1 };
	assert_int_equal(softnic_service_alloc(fixture->root, &desc,
					       &fail_info),
			 -ENOSPC);
	/* The ethernet service has 8 PTEs and one TGQ. */
	assert_int_equal(fail_info.rsrc_avail[CXI_RSRC_TYPE_PTE], 2040);
	assert_int_equal(fail_info.rsrc_avail[CXI_RSRC_TYPE_TXQ], 0);
	assert_int_equal(fail_info.rsrc_avail[CXI_RSRC_TYPE_TGQ], 511);
	assert_int_equal(fail_info.rsrc_avail[CXI_RSRC_TYPE_CT], 0);
}

static void a_failure_later_undoes_what_was_taken(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc;

	for (uint16_t i = 0; i < 3; i++) {
		desc = wants_tles(1024 + i, 8);
		assert_true(alloc(fixture, &desc) > 0);
	}
	desc = wants_tles(1030, 8);
	desc.limits.txqs = (struct cxi_limits){ .max = 1023, .res = 1023 };
	desc.limits.les = (struct cxi_limits){ .max = 15360, .res = 15360 };
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	/* All TXQs, LEs and LE pools are there for the next. */
	desc.limits.tles = (struct cxi_limits){ 0 };
	assert_int_equal(alloc(fixture, &desc), FIRST_ID + 3);
	for (uint16_t i = 0; i < 13; i++) {
		desc = wants_les(2000 + i, 0);
		assert_true(alloc(fixture, &desc) > 0);
	}
}

static void maxima_may_overcommit(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.limits.cts = (struct cxi_limits){ .max = 2047, .res = 1000 };
	assert_true(alloc(fixture, &desc) > 0);
	assert_true(alloc(fixture, &desc) > 0);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
}

static void totals_can_be_less(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc;

	fixture->config.totals[CXI_RSRC_TYPE_LE] = 1000;
	fixture->config.totals[CXI_RSRC_TYPE_TLE] = 100;
	node_open(fixture);
	/* Default and ethernet have taken all there is. */
	desc = wants_les(1024, 1001);
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	desc = wants_les(1024, 1);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	desc = wants_tles(1024, 8);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	assert_int_equal(must_get(fixture, 1).limits.tles.res, 100);
	assert_int_equal(must_get(fixture, 2).limits.les.res, 1000);
}

static void use_grows_from_reserved_to_max(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	struct cxi_rsrc_use use;

	desc.limits.txqs = (struct cxi_limits){ .max = 4, .res = 2 };
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TXQ, 5),
			 -ENOSPC);
	assert_int_equal(softnic_service_use(fixture->root, FIRST_ID, &use), 0);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_TXQ], 0);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TXQ, 4),
			 0);
	assert_int_equal(softnic_service_use(fixture->root, FIRST_ID, &use), 0);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_TXQ], 4);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TXQ, 1),
			 -ENOSPC);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TXQ, -5),
			 -EINVAL);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TXQ, -4),
			 0);
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID), 0);
}

static void shared_use_ends_at_the_device_total(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.limits.tgqs = (struct cxi_limits){ .max = 512, .res = 10 };
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	desc.limits.tgqs.res = 0;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID + 1);
	/* What others reserve does not hold it back: the total is what counts. */
	assert_int_equal(softnic_service_consume(fixture->softnic, 0,
						 FIRST_ID + 1,
						 CXI_RSRC_TYPE_TGQ, 512),
			 0);
	/* Reserved ones are there still, shared ones are not. */
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TGQ, 11),
			 -ENOSPC);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_TGQ, 10),
			 0);
}

static void use_of_a_disabled_service_is_revoked(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(softnic_service_enable(fixture->root, id, false), 0);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, id,
						 CXI_RSRC_TYPE_CT, 1),
			 -EKEYREVOKED);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, 99,
						 CXI_RSRC_TYPE_CT, 1),
			 -EINVAL);
	assert_int_equal(softnic_service_consume(fixture->softnic, 7, id,
						 CXI_RSRC_TYPE_CT, 1),
			 -ENODEV);
}

static void service_with_objects_in_use_is_busy(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.limits.cts = (struct cxi_limits){ .max = 1 };
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_CT, 1),
			 0);
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID),
			 -EBUSY);
	assert_int_equal(softnic_service_consume(fixture->softnic, 0, FIRST_ID,
						 CXI_RSRC_TYPE_CT, -1),
			 0);
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID), 0);
}

static void use_without_a_pool_is_not_applicable(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = wants_tles(1025, 8);
	struct cxi_rsrc_use use;

	must_alloc(fixture, USER_UID, 1024);
	assert_int_equal(softnic_service_use(fixture->root, FIRST_ID, &use), 0);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_LE],
			 CXI_RSRC_USE_NOT_APPLICABLE);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_TLE],
			 CXI_RSRC_USE_NOT_APPLICABLE);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_PTE], 0);
	assert_int_equal(alloc(fixture, &desc), FIRST_ID + 1);
	assert_int_equal(softnic_service_use(fixture->root, FIRST_ID + 1, &use),
			 0);
	assert_int_equal(use.svc_id, FIRST_ID + 1);
	assert_int_equal(use.tle_pool_id, 1);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_TLE], 0);
	/* The default service always has numbers. */
	assert_int_equal(softnic_service_use(fixture->root, 1, &use), 0);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_LE], 0);
	assert_int_equal(use.in_use[CXI_RSRC_TYPE_TLE], 0);
	assert_int_equal(use.tle_pool_id, 0);
	assert_int_equal(softnic_service_use(fixture->root, 99, &use), -EINVAL);
}

static void use_list_is_all_or_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_rsrc_use uses[2] = { { .svc_id = 77 } };

	assert_int_equal(softnic_service_use_list(fixture->root, uses, 1), 2);
	assert_int_equal(uses[0].svc_id, 77);
	assert_int_equal(softnic_service_use_list(fixture->root, uses, 2), 2);
	assert_int_equal(uses[0].svc_id, 1);
	assert_int_equal(uses[1].svc_id, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(fourth_job_finds_no_tle_pool),
		fixture_test(fourteen_le_pools_are_left_beside_ethernet),
		fixture_test(without_ethernet_there_are_fifteen_le_pools),
		fixture_test(service_without_limits_takes_a_tle_pool),
		fixture_test(tles_are_raised_to_eight_and_max_follows_res),
		fixture_test(lacking_tles_set_no_flag),
		fixture_test(fail_info_stops_at_the_first_lack),
		fixture_test(a_failure_later_undoes_what_was_taken),
		fixture_test(maxima_may_overcommit),
		fixture_test(totals_can_be_less),
		fixture_test(use_grows_from_reserved_to_max),
		fixture_test(shared_use_ends_at_the_device_total),
		fixture_test(use_of_a_disabled_service_is_revoked),
		fixture_test(service_with_objects_in_use_is_busy),
		fixture_test(use_without_a_pool_is_not_applicable),
		fixture_test(use_list_is_all_or_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
