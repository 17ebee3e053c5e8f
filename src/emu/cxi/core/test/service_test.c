/* SPDX-License-Identifier: BSD-3-Clause */
/* Services: descriptor checks, ids, members, enable, update, destroy. */
#include "emu/cxi/core/test/fixture.h"

static void alloc_takes_the_lowest_free_id(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(must_alloc(fixture, USER_UID, 1024), FIRST_ID);
	assert_int_equal(must_alloc(fixture, USER_UID, 1025), FIRST_ID + 1);
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID), 0);
	assert_int_equal(must_alloc(fixture, USER_UID, 1026), FIRST_ID);
}

static void ids_of_two_nics_are_independent(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *other = client_of(fixture, 0, 0, 1);
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	struct cxi_svc_fail_info fail_info;

	must_alloc(fixture, USER_UID, 1024);
	assert_int_equal(softnic_service_alloc(other, &desc, &fail_info),
			 FIRST_ID);
	assert_int_equal(softnic_service_destroy(fixture->root, FIRST_ID), 0);
	assert_int_equal(softnic_service_get(other, FIRST_ID, &desc), 0);
	softnic_close(other);
}

static void alloc_needs_privilege_before_anything_else(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, USER_GID, 0);
	struct cxi_svc_desc desc = desc_of(USER_UID, 0); /* invalid VNI too */
	struct cxi_svc_fail_info fail_info;

	assert_int_equal(softnic_service_alloc(user, &desc, &fail_info),
			 -EPERM);
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	softnic_close(user);
}

static void every_change_needs_privilege(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, USER_GID, 0);
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	uint32_t unknown = 99;

	assert_int_equal(softnic_service_destroy(user, unknown), -EPERM);
	assert_int_equal(softnic_service_update(user, &desc), -EPERM);
	assert_int_equal(softnic_service_enable(user, unknown, true), -EPERM);
	assert_int_equal(softnic_service_set_lpr(user, unknown, 9), -EPERM);
	assert_int_equal(softnic_service_set_exclusive_cp(user, unknown, true),
			 -EPERM);
	assert_int_equal(softnic_service_set_vni_range(user, unknown, 0, 0),
			 -EPERM);
	assert_int_equal(softnic_service_set_netns(user, unknown, 1), -EPERM);
	softnic_close(user);
}

static void everybody_may_look(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, USER_GID, 0);
	struct cxi_svc_desc descs[4];
	struct cxi_rsrc_use uses[4];

	assert_int_equal(softnic_service_list(user, descs, 4), 2);
	assert_int_equal(softnic_service_use_list(user, uses, 4), 2);
	assert_int_equal(softnic_service_get(user, 1, descs), 0);
	assert_int_equal(softnic_service_use(user, 1, uses), 0);
	assert_int_equal(softnic_service_get_lpr(user, 1), 1);
	softnic_close(user);
}

static void vni_zero_is_invalid_and_none_is_fine(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 0);

	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	desc.num_vld_vnis = 0;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	desc.num_vld_vnis = 2;
	desc.vnis[0] = 65535;
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	desc.vnis[1] = 1024;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID + 1);
}

static void five_vnis_are_too_many(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.num_vld_vnis = 5;
	for (unsigned int i = 0; i < CXI_SVC_MAX_VNIS; i++)
		desc.vnis[i] = (uint16_t)(1024 + i);
	/* What lies behind the VNIs would pass for one. */
	desc.tcs[0] = true;
	desc.tcs[1] = true;
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	/* The count means nothing where VNIs are not restricted. */
	desc.restricted_vnis = false;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
}

static void member_type_four_is_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.members[1].type = 4;
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	desc.members[1].type = CXI_SVC_MEMBER_NET_NS;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	desc.members[1].type = 4;
	desc.restricted_members = false;
	desc.vnis[0] = 1025;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID + 1);
}

static void limits_out_of_bounds_are_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.limits.txqs = (struct cxi_limits){ .max = 2048, .res = 1 };
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	desc.limits.txqs = (struct cxi_limits){ .max = 1, .res = 2 };
	assert_int_equal(alloc(fixture, &desc), -EINVAL);
	/* Without the flag nobody looks at them. */
	desc.resource_limits = false;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
}

static void same_member_twice_exists(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);

	desc.members[1] = desc.members[0];
	assert_int_equal(alloc(fixture, &desc), -EEXIST);
	/* The same number as user and as group are two members. */
	desc.members[1].type = CXI_SVC_MEMBER_GID;
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
}

static void invalid_uid_is_no_member(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(UINT32_MAX, 1024);

	assert_int_equal(alloc(fixture, &desc), -EBADR);
}

static void members_are_checked_before_vnis(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(UINT32_MAX, 1); /* VNI of default */

	fixture->config.generation = 13;
	node_open(fixture);
	assert_int_equal(alloc(fixture, &desc), -EBADR);
	desc.members[0].svc_member.uid = USER_UID;
	assert_int_equal(alloc(fixture, &desc), -EEXIST);
}

static void vnis_are_checked_before_resources(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1);

	fixture->config.generation = 13;
	node_open(fixture);
	/* The ethernet service has one EQ of them. */
	desc.limits.eqs = (struct cxi_limits){ .max = 2047, .res = 2047 };
	assert_int_equal(alloc(fixture, &desc), -EEXIST);
	desc.vnis[0] = 1024;
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
}

static void enable_bit_of_a_request_is_ignored(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	int id;

	desc.enable = false;
	id = alloc(fixture, &desc);
	assert_true(must_get(fixture, (uint32_t)id).enable);
	desc = (struct cxi_svc_desc){ .resource_limits = true, .enable = true };
	id = alloc(fixture, &desc);
	assert_false(must_get(fixture, (uint32_t)id).enable);
}

static void generation_12_enables_without_vnis_too(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = { .resource_limits = true };
	int id;

	fixture->config.generation = 12;
	node_open(fixture);
	id = alloc(fixture, &desc);
	assert_true(must_get(fixture, (uint32_t)id).enable);
}

static void destroy_checks_default_unknown_and_use(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, USER_GID, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint32_t lni;

	assert_int_equal(softnic_service_destroy(fixture->root, 1), -EINVAL);
	assert_int_equal(softnic_service_destroy(fixture->root, 0), -EINVAL);
	assert_int_equal(softnic_service_destroy(fixture->root, id + 1),
			 -EINVAL);
	assert_int_equal(softnic_service_destroy(fixture->root, UINT32_MAX),
			 -EINVAL);
	assert_int_equal(softnic_lni_alloc(user, id, &lni), 0);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	softnic_close(user);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EINVAL);
}

static void used_service_cannot_be_fenced(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, USER_GID, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint32_t lni;

	assert_int_equal(softnic_lni_alloc(user, id, &lni), 0);
	assert_int_equal(softnic_service_enable(fixture->root, id, false),
			 -EBUSY);
	assert_int_equal(softnic_service_set_lpr(fixture->root, id, 2), -EBUSY);
	assert_true(must_get(fixture, id).enable);
	assert_int_equal(softnic_service_enable(fixture->root, id + 1, false),
			 -EINVAL);
	softnic_close(user);
	assert_int_equal(softnic_service_enable(fixture->root, id, false), 0);
	assert_false(must_get(fixture, id).enable);
}

static void update_checks_in_the_drivers_order(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, USER_GID, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	struct cxi_svc_desc desc = must_get(fixture, id);
	uint32_t lni;

	assert_int_equal(softnic_lni_alloc(user, id, &lni), 0);
	desc.resource_limits = false;
	desc.vnis[0] = 0;
	desc.svc_id = 99;
	assert_int_equal(softnic_service_update(fixture->root, &desc), -EINVAL);
	desc.vnis[0] = 1025;
	assert_int_equal(softnic_service_update(fixture->root, &desc), -EINVAL);
	desc.svc_id = id;
	assert_int_equal(softnic_service_update(fixture->root, &desc), -EBUSY);
	softnic_close(user);
	assert_int_equal(softnic_service_update(fixture->root, &desc), -EINVAL);
	desc.resource_limits = true;
	assert_int_equal(softnic_service_update(fixture->root, &desc), 0);
}

static void update_replaces_all_but_limits(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	struct cxi_svc_desc desc = must_get(fixture, id);

	desc.vnis[0] = 2000;
	desc.tcs[CXI_TC_BULK_DATA] = true;
	desc.members[0].svc_member.uid = OTHER_UID;
	desc.limits.txqs = (struct cxi_limits){ .max = 5, .res = 5 };
	desc.enable = false;
	desc.is_system_svc = true;
	assert_int_equal(softnic_service_update(fixture->root, &desc), 0);
	desc = must_get(fixture, id);
	assert_int_equal(desc.vnis[0], 2000);
	assert_true(desc.tcs[CXI_TC_BULK_DATA]);
	assert_int_equal(desc.members[0].svc_member.uid, OTHER_UID);
	assert_int_equal(desc.limits.txqs.max, 0);
	assert_false(desc.is_system_svc);
	assert_false(desc.enable);
}

/* Can this uid use the service? What an LNI allocation says. */
static int try_lni(struct fixture *fixture, uint32_t uid, uint32_t id)
{
	struct softnic_client *client = client_of(fixture, uid, USER_GID, 0);
	uint32_t lni;
	int result = softnic_lni_alloc(client, id, &lni);

	softnic_close(client);
	return result;
}

static void update_does_not_change_who_may_use(void **state)
{
	static const struct {
		unsigned int generation;
		int of_old;
		int of_new;
	} cases[] = { { 12, -EPERM, 0 }, { 13, 0, -EPERM }, { 14, 0, -EPERM } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 3; i++) {
		struct cxi_svc_desc desc;
		uint32_t id;

		fixture->config.generation = cases[i].generation;
		node_open(fixture);
		id = must_alloc(fixture, USER_UID, 1024);
		desc = must_get(fixture, id);
		desc.members[0].svc_member.uid = OTHER_UID;
		assert_int_equal(softnic_service_update(fixture->root, &desc),
				 0);
		assert_int_equal(try_lni(fixture, USER_UID, id),
				 cases[i].of_old);
		assert_int_equal(try_lni(fixture, OTHER_UID, id),
				 cases[i].of_new);
	}
}

static void list_is_by_id_and_all_or_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc descs[3] = { { .svc_id = 77 } };

	must_alloc(fixture, USER_UID, 1024);
	assert_int_equal(softnic_service_list(fixture->root, descs, 2), 3);
	assert_int_equal(descs[0].svc_id, 77);
	assert_int_equal(softnic_service_list(fixture->root, descs, 3), 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(descs[i].svc_id, i + 1);
	assert_int_equal(descs[2].vnis[0], 1024);
}

static void services_have_a_maximum(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = { .resource_limits = true };

	for (int i = FIRST_ID; i <= SOFTNIC_SERVICE_MAX; i++)
		assert_int_equal(alloc(fixture, &desc), i);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	assert_int_equal(softnic_service_destroy(fixture->root, 500), 0);
	assert_int_equal(alloc(fixture, &desc), 500);
}

static void get_of_unknown_is_invalid(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc;

	assert_int_equal(softnic_service_get(fixture->root, 0, &desc), -EINVAL);
	assert_int_equal(softnic_service_get(fixture->root, 3, &desc), -EINVAL);
	assert_int_equal(softnic_service_get(fixture->root, 5000, &desc),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(alloc_takes_the_lowest_free_id),
		fixture_test(ids_of_two_nics_are_independent),
		fixture_test(alloc_needs_privilege_before_anything_else),
		fixture_test(every_change_needs_privilege),
		fixture_test(everybody_may_look),
		fixture_test(vni_zero_is_invalid_and_none_is_fine),
		fixture_test(five_vnis_are_too_many),
		fixture_test(member_type_four_is_invalid),
		fixture_test(limits_out_of_bounds_are_invalid),
		fixture_test(same_member_twice_exists),
		fixture_test(invalid_uid_is_no_member),
		fixture_test(members_are_checked_before_vnis),
		fixture_test(vnis_are_checked_before_resources),
		fixture_test(enable_bit_of_a_request_is_ignored),
		fixture_test(generation_12_enables_without_vnis_too),
		fixture_test(destroy_checks_default_unknown_and_use),
		fixture_test(used_service_cannot_be_fenced),
		fixture_test(update_checks_in_the_drivers_order),
		fixture_test(update_replaces_all_but_limits),
		fixture_test(update_does_not_change_who_may_use),
		fixture_test(list_is_by_id_and_all_or_nothing),
		fixture_test(services_have_a_maximum),
		fixture_test(get_of_unknown_is_invalid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
