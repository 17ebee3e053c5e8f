/* SPDX-License-Identifier: BSD-3-Clause */
/* VNIs: overlap by generation, receive entries, ranges and what hangs on them. */
#include "emu/cxi/core/test/fixture.h"

#define TLE_POOLS_LEFT 3 /* beside the default service */

static void boot(struct fixture *fixture, unsigned int generation)
{
	fixture->config.generation = generation;
	node_open(fixture);
}

/* A service that waits for its range. */
static uint32_t alloc_range(struct fixture *fixture)
{
	struct cxi_svc_desc desc = { .resource_limits = true };
	int id = alloc(fixture, &desc);

	assert_true(id > 0);
	return (uint32_t)id;
}

static int set_range(struct fixture *fixture, uint32_t id, uint16_t min,
		     uint16_t max)
{
	return softnic_service_set_vni_range(fixture->root, id, min, max);
}

static void same_vni_twice_depends_on_the_generation(void **state)
{
	static const struct {
		unsigned int generation;
		int second;
	} cases[] = { { 12, FIRST_ID + 1 },
		      { 13, -EEXIST },
		      { 14, FIRST_ID + 1 } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++) {
		struct cxi_svc_desc desc = desc_of(OTHER_UID, 1024);

		boot(fixture, cases[i].generation);
		must_alloc(fixture, USER_UID, 1024);
		assert_int_equal(alloc(fixture, &desc), cases[i].second);
	}
}

static void one_list_with_a_vni_twice_collides_in_13_only(void **state)
{
	static const struct {
		unsigned int generation;
		int result;
	} cases[] = { { 12, FIRST_ID }, { 13, -EEXIST }, { 14, FIRST_ID } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++) {
		struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

		desc.num_vld_vnis = 2;
		desc.vnis[1] = 1024;
		boot(fixture, cases[i].generation);
		assert_int_equal(alloc(fixture, &desc), cases[i].result);
	}
}

static void another_nic_is_another_set_of_vnis(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	struct cxi_svc_fail_info fail_info;
	struct softnic_client *other;

	boot(fixture, 13);
	must_alloc(fixture, USER_UID, 1024);
	other = client_of(fixture, 0, 0, 1);
	assert_int_equal(softnic_service_alloc(other, &desc, &fail_info),
			 FIRST_ID);
	softnic_close(other);
}

static void disabled_default_service_has_its_vnis(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 10);

	boot(fixture, 13);
	assert_false(must_get(fixture, 1).enable);
	assert_int_equal(alloc(fixture, &desc), -EEXIST);
}

static void destroyed_service_gives_its_vni_back(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id;

	boot(fixture, 13);
	id = must_alloc(fixture, USER_UID, 1024);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
	assert_int_equal(must_alloc(fixture, USER_UID, 1024), id);
}

static void range_collides_with_what_it_covers(void **state)
{
	struct fixture *fixture = *state;
	unsigned int generations[] = { 13, 14 };

	for (size_t i = 0; i < 2; i++) {
		struct cxi_svc_desc desc = desc_of(USER_UID, 100);
		uint32_t id;

		boot(fixture, generations[i]);
		id = alloc_range(fixture);
		must_alloc(fixture, USER_UID, 128);
		assert_int_equal(set_range(fixture, id, 128, 255), -EEXIST);
		assert_int_equal(set_range(fixture, id, 64, 127), 0);
		assert_int_equal(alloc(fixture, &desc), -EEXIST);
		desc.vnis[0] = 63;
		assert_true(alloc(fixture, &desc) > 0);
		/* Another range, and a range of one, beside a range. */
		id = alloc_range(fixture);
		assert_int_equal(set_range(fixture, id, 96, 111), -EEXIST);
		assert_int_equal(set_range(fixture, id, 64, 64), -EEXIST);
		assert_int_equal(set_range(fixture, id, 256, 256), 0);
	}
}

static void malformed_ranges_are_invalid(void **state)
{
	static const uint16_t bad[][2] = {
		{ 0, 0 }, { 0, 7 }, { 8, 7 },     { 64, 126 },  { 32, 95 },
		{ 2, 0 }, { 1, 2 }, { 1, 65535 }, { 100, 163 },
	};
	static const uint16_t good[][2] = {
		{ 1, 1 },
		{ 2, 3 },
		{ 64, 127 },
		{ 32768, 65535 },
	};
	struct fixture *fixture = *state;

	fixture->config.ethernet_service = false;
	boot(fixture, 14);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(set_range(fixture, alloc_range(fixture),
					   bad[i][0], bad[i][1]),
				 -EINVAL);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(set_range(fixture, alloc_range(fixture),
					   good[i][0], good[i][1]),
				 0);
}

static void range_is_for_services_without_vnis(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint16_t min;
	uint16_t max;

	assert_int_equal(set_range(fixture, id, 64, 127), -EINVAL);
	assert_int_equal(softnic_service_get_vni_range(fixture->root, id, &min,
						       &max),
			 -EINVAL);
	assert_int_equal(set_range(fixture, 99, 64, 127), -EINVAL);
	assert_int_equal(softnic_service_get_vni_range(fixture->root, 99, &min,
						       &max),
			 -EINVAL);
	id = alloc_range(fixture);
	assert_int_equal(softnic_service_get_vni_range(fixture->root, id, &min,
						       &max),
			 -EINVAL);
	assert_int_equal(set_range(fixture, id, 64, 127), 0);
	assert_int_equal(softnic_service_get_vni_range(fixture->root, id, &min,
						       &max),
			 0);
	assert_int_equal(min, 64);
	assert_int_equal(max, 127);
	assert_int_equal(must_get(fixture, id).num_vld_vnis, 1);
	assert_int_equal(set_range(fixture, id, 256, 511), -EEXIST);
}

static void refused_range_leaves_a_service_that_cannot_be_enabled(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *root = fixture->root;
	uint32_t id = alloc_range(fixture);
	bool exclusive_cp;
	uint16_t min;
	uint16_t max;

	must_alloc(fixture, USER_UID, 100);
	assert_int_equal(set_range(fixture, id, 64, 127), -EEXIST);
	assert_int_equal(softnic_service_get_vni_range(root, id, &min, &max),
			 -ENOENT);
	assert_int_equal(softnic_service_get_exclusive_cp(root, id,
							  &exclusive_cp),
			 -ENOENT);
	assert_int_equal(softnic_service_enable(root, id, true), -EINVAL);
	assert_false(must_get(fixture, id).enable);
	assert_int_equal(set_range(fixture, id, 128, 255), 0);
	assert_int_equal(softnic_service_enable(root, id, true), 0);
}

/* A driver of 14 lets it coincide with a VNI; one of 13 does not. */
static void range_of_one_is_a_vni(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id;

	for (unsigned int generation = 13; generation <= 14; generation++) {
		boot(fixture, generation);
		id = alloc_range(fixture);
		must_alloc(fixture, USER_UID, 1024);
		assert_int_equal(set_range(fixture, id, 1024, 1024),
				 generation == 13 ? -EEXIST : 0);
	}
}

static void range_takes_effect_when_enabled(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = alloc_range(fixture);

	assert_int_equal(set_range(fixture, id, 64, 127), 0);
	assert_false(must_get(fixture, id).enable);
	assert_int_equal(softnic_service_enable(fixture->root, id, true), 0);
	assert_true(must_get(fixture, id).enable);
}

static void generations_know_their_operations(void **state)
{
	struct fixture *fixture = *state;
	bool exclusive_cp;
	uint32_t netns;
	uint32_t id;

	boot(fixture, 12);
	id = alloc_range(fixture);
	assert_int_equal(set_range(fixture, id, 64, 127), -EINVAL);
	assert_int_equal(softnic_service_get_exclusive_cp(fixture->root, id,
							  &exclusive_cp),
			 -EINVAL);
	boot(fixture, 13);
	id = alloc_range(fixture);
	assert_int_equal(set_range(fixture, id, 64, 127), 0);
	assert_int_equal(softnic_service_get_netns(fixture->root, id, &netns),
			 -EINVAL);
	boot(fixture, 14);
	id = alloc_range(fixture);
	assert_int_equal(softnic_service_get_netns(fixture->root, id, &netns),
			 -ENODATA);
}

static void exclusive_cp_needs_a_range_that_is_off(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *root = fixture->root;
	uint32_t with_vnis = must_alloc(fixture, USER_UID, 1024);
	uint32_t id = alloc_range(fixture);
	bool exclusive_cp = true;

	assert_int_equal(softnic_service_set_exclusive_cp(root, 99, true),
			 -EINVAL);
	assert_int_equal(softnic_service_set_exclusive_cp(root, with_vnis,
							  true),
			 -EINVAL);
	assert_int_equal(softnic_service_set_exclusive_cp(root, id, true),
			 -EINVAL);
	assert_int_equal(softnic_service_get_exclusive_cp(root, 99,
							  &exclusive_cp),
			 -EINVAL);
	assert_int_equal(softnic_service_get_exclusive_cp(root, id,
							  &exclusive_cp),
			 -ENOENT);
	assert_int_equal(set_range(fixture, id, 64, 127), 0);
	assert_int_equal(
		softnic_service_get_exclusive_cp(root, id, &exclusive_cp), 0);
	assert_false(exclusive_cp);
	assert_int_equal(softnic_service_enable(root, id, true), 0);
	assert_int_equal(softnic_service_set_exclusive_cp(root, id, true),
			 -EBUSY);
	assert_int_equal(softnic_service_enable(root, id, false), 0);
	assert_int_equal(softnic_service_set_exclusive_cp(root, id, true), 0);
	assert_int_equal(
		softnic_service_get_exclusive_cp(root, id, &exclusive_cp), 0);
	assert_true(exclusive_cp);
}

static void receive_entries_run_out_at_256(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 0);
	int last = 0;

	desc.num_vld_vnis = 4;
	for (uint16_t i = 0; i < 64; i++) {
		for (uint16_t k = 0; k < 4; k++)
			desc.vnis[k] = (uint16_t)(1000 + 4 * i + k);
		last = alloc(fixture, &desc);
		assert_true(last > 0);
	}
	desc = desc_of(USER_UID, 5000);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	/* A disabled service holds none; nor does a failed one. */
	assert_int_equal(softnic_service_enable(fixture->root, (uint32_t)last,
						false),
			 0);
	for (uint16_t i = 0; i < 4; i++) {
		desc.vnis[0] = (uint16_t)(5000 + i);
		assert_true(alloc(fixture, &desc) > 0);
	}
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	assert_int_equal(softnic_service_enable(fixture->root, (uint32_t)last,
						true),
			 -ENOSPC);
	assert_false(must_get(fixture, (uint32_t)last).enable);
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID), 0);
	assert_int_equal(
		softnic_service_enable(fixture->root, (uint32_t)last, true), 0);
}

/* Take all receive entries but `left` with services of one VNI. */
static void take_entries(struct fixture *fixture, unsigned int left)
{
	for (unsigned int i = left; i < 256; i++)
		must_alloc(fixture, USER_UID, (uint16_t)(10000 + i));
}

static void failed_enabling_gives_back_what_it_took(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 20);

	take_entries(fixture, 2);
	desc.num_vld_vnis = 4;
	for (uint16_t i = 0; i < 4; i++)
		desc.vnis[i] = (uint16_t)(20 + i);
	desc.limits.tles = (struct cxi_limits){ .max = 8, .res = 8 };
	for (int i = 0; i < TLE_POOLS_LEFT + 1; i++)
		assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	/* Two entries, and the pools. */
	desc.num_vld_vnis = 2;
	assert_true(alloc(fixture, &desc) > 0);
	desc.num_vld_vnis = 0;
	assert_true(alloc(fixture, &desc) > 0);
	assert_true(alloc(fixture, &desc) > 0);
}

static void lpr_has_bounds(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(softnic_service_get_lpr(fixture->root, id), 1);
	assert_int_equal(softnic_service_set_lpr(fixture->root, id, 9),
			 -EINVAL);
	assert_int_equal(softnic_service_set_lpr(fixture->root, 99, 8),
			 -EINVAL);
	assert_int_equal(softnic_service_set_lpr(fixture->root, id, 8), 0);
	assert_int_equal(softnic_service_get_lpr(fixture->root, id), 8);
	assert_int_equal(softnic_service_get_lpr(fixture->root, 99), -EINVAL);
}

static void netns_is_for_services_without_other_members(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *root = fixture->root;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	uint32_t netns = 0;
	int id;

	assert_int_equal(softnic_service_set_netns(root, 99, 7), -EINVAL);
	assert_int_equal(softnic_service_get_netns(root, 99, &netns), -EINVAL);
	id = alloc(fixture, &desc); /* a uid */
	assert_int_equal(softnic_service_set_netns(root, (uint32_t)id, 7),
			 -EEXIST);
	desc.members[0].type = CXI_SVC_MEMBER_GID;
	id = alloc(fixture, &desc);
	assert_int_equal(softnic_service_set_netns(root, (uint32_t)id, 7),
			 -EEXIST);
	desc.restricted_members = false; /* open */
	id = alloc(fixture, &desc);
	assert_int_equal(softnic_service_set_netns(root, (uint32_t)id, 7),
			 -EEXIST);
	desc.restricted_members = true;
	desc.members[0].type = CXI_SVC_MEMBER_NET_NS;
	id = alloc(fixture, &desc);
	assert_int_equal(softnic_service_get_netns(root, (uint32_t)id, &netns),
			 -ENODATA);
	assert_int_equal(softnic_service_set_netns(root, (uint32_t)id, 7), 0);
	assert_int_equal(softnic_service_set_netns(root, (uint32_t)id, 8), 0);
	assert_int_equal(softnic_service_get_netns(root, (uint32_t)id, &netns),
			 0);
	assert_int_equal(netns, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(same_vni_twice_depends_on_the_generation),
		fixture_test(one_list_with_a_vni_twice_collides_in_13_only),
		fixture_test(another_nic_is_another_set_of_vnis),
		fixture_test(disabled_default_service_has_its_vnis),
		fixture_test(destroyed_service_gives_its_vni_back),
		fixture_test(range_collides_with_what_it_covers),
		fixture_test(malformed_ranges_are_invalid),
		fixture_test(range_is_for_services_without_vnis),
		fixture_test(
			refused_range_leaves_a_service_that_cannot_be_enabled),
		fixture_test(range_of_one_is_a_vni),
		fixture_test(range_takes_effect_when_enabled),
		fixture_test(generations_know_their_operations),
		fixture_test(exclusive_cp_needs_a_range_that_is_off),
		fixture_test(receive_entries_run_out_at_256),
		fixture_test(failed_enabling_gives_back_what_it_took),
		fixture_test(lpr_has_bounds),
		fixture_test(netns_is_for_services_without_other_members),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
