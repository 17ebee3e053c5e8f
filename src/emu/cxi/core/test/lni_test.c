/* SPDX-License-Identifier: BSD-3-Clause */
/* Logical NIs: who gets one, RGIDs, cleanup after free and death. */
#include "emu/cxi/core/test/fixture.h"

static int lni_of(struct softnic_client *client, uint32_t id)
{
	uint32_t lni;
	int result = softnic_lni_alloc(client, id, &lni);

	return result < 0 ? result : (int)lni;
}

/* One try of a fresh process, which ends at once. */
static int try_as(struct fixture *fixture, uint32_t uid, uint32_t gid,
		  uint32_t id)
{
	struct softnic_client *client = client_of(fixture, uid, gid, 0);
	int result = lni_of(client, id);

	softnic_close(client);
	return result;
}

static void owner_gets_in_and_nobody_else(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(try_as(fixture, USER_UID, USER_GID, id), 1);
	assert_int_equal(try_as(fixture, OTHER_UID, USER_GID, id), -EPERM);
	assert_int_equal(try_as(fixture, 0, 0, id), -EPERM);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, id), -EINVAL);
}

static void disabled_is_revoked_before_membership_counts(void **state)
{
	struct fixture *fixture = *state;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(softnic_service_enable(fixture->root, id, false), 0);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, id), -EKEYREVOKED);
	assert_int_equal(try_as(fixture, OTHER_UID, USER_GID, id),
			 -EKEYREVOKED);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, 99), -EINVAL);
}

static void default_service_is_revoked_until_enabled(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(try_as(fixture, USER_UID, USER_GID, 1), -EKEYREVOKED);
	fixture->config.default_service = true;
	node_open(fixture);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, 1), 1);
}

static void groups_and_open_services_admit(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_GID, 1024);
	int id;

	desc.members[0].type = CXI_SVC_MEMBER_GID;
	id = alloc(fixture, &desc);
	assert_int_equal(try_as(fixture, OTHER_UID, USER_GID, (uint32_t)id), 1);
	assert_int_equal(try_as(fixture, USER_GID, 7, (uint32_t)id), -EPERM);
	desc.restricted_members = false;
	id = alloc(fixture, &desc);
	assert_int_equal(try_as(fixture, 5, 7, (uint32_t)id), 1);
}

static void ignored_members_admit_nobody(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	int id;

	desc.members[0].type = CXI_SVC_MEMBER_IGNORE;
	id = alloc(fixture, &desc);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, (uint32_t)id),
			 -EPERM);
}

static void second_member_counts_too(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	int id;

	desc.members[1] = desc.members[0];
	desc.members[1].svc_member.uid = OTHER_UID;
	id = alloc(fixture, &desc);
	assert_int_equal(try_as(fixture, OTHER_UID, 7, (uint32_t)id), 1);
	assert_int_equal(try_as(fixture, USER_UID, 7, (uint32_t)id), 1);
	assert_int_equal(try_as(fixture, 1002, 7, (uint32_t)id), -EPERM);
}

static void network_namespace_admits(void **state)
{
	struct fixture *fixture = *state;
	struct cxi_svc_desc desc = desc_of(0, 1024);
	int id;

	desc.members[0].type = CXI_SVC_MEMBER_NET_NS;
	id = alloc(fixture, &desc);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, (uint32_t)id),
			 -EPERM);
	assert_int_equal(softnic_service_set_netns(fixture->root, (uint32_t)id,
						   4026531840u),
			 0);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, (uint32_t)id), 1);
	assert_int_equal(
		softnic_service_set_netns(fixture->root, (uint32_t)id, 12), 0);
	assert_int_equal(try_as(fixture, USER_UID, USER_GID, (uint32_t)id),
			 -EPERM);
}

static void unknown_namespace_matches_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_caller caller = { .uid = USER_UID, .netns = 0 };
	struct cxi_svc_desc desc = desc_of(0, 1024);
	struct softnic_client *client;
	int id;

	desc.members[0].type = CXI_SVC_MEMBER_NET_NS;
	id = alloc(fixture, &desc);
	assert_int_equal(
		softnic_service_set_netns(fixture->root, (uint32_t)id, 0), 0);
	assert_int_equal(softnic_open(fixture->softnic, &caller, 0, &client),
			 0);
	assert_int_equal(lni_of(client, (uint32_t)id), -EPERM);
	softnic_close(client);
}

static void rgids_run_out_at_255(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint32_t other = must_alloc(fixture, USER_UID, 1025);

	for (int i = 1; i <= 255; i++)
		assert_int_equal(lni_of(user, i % 2 ? id : other), i);
	assert_int_equal(lni_of(user, id), -ENOSPC);
	assert_int_equal(softnic_lni_free(user, 7), 0);
	assert_int_equal(lni_of(user, other), 7);
	softnic_close(user);
}

static void lpr_shares_rgids_within_a_service(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint32_t other = must_alloc(fixture, USER_UID, 1025);

	assert_int_equal(softnic_service_set_lpr(fixture->root, id, 8), 0);
	for (int i = 1; i <= 255 * 8 - 8; i++)
		assert_int_equal(lni_of(user, id), i);
	/* One RGID is left, and is the other service's. */
	assert_int_equal(lni_of(user, other), 255 * 8 - 7);
	assert_int_equal(lni_of(user, id), -ENOSPC);
	assert_int_equal(lni_of(user, other), -ENOSPC);
	softnic_close(user);
}

static json_int_t rgid_count(struct fixture *fixture)
{
	json_t *dump = softnic_dump(fixture->softnic);
	json_int_t count;

	assert_non_null(dump);
	assert_int_equal(
		json_unpack(json_array_get(json_object_get(dump, "devices"), 0),
			    "{s:I}", "rgids", &count),
		0);
	json_decref(dump);
	return count;
}

static void services_never_share_an_rgid(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);
	uint32_t other = must_alloc(fixture, USER_UID, 1025);

	assert_int_equal(softnic_service_set_lpr(fixture->root, id, 2), 0);
	assert_int_equal(softnic_service_set_lpr(fixture->root, other, 2), 0);
	assert_int_equal(lni_of(user, id), 1);
	assert_int_equal(lni_of(user, other), 2);
	assert_int_equal(rgid_count(fixture), 2);
	assert_int_equal(lni_of(user, id), 3);
	assert_int_equal(rgid_count(fixture), 2);
	softnic_close(user);
	assert_int_equal(rgid_count(fixture), 0);
}

static void only_its_owner_frees_an_lni(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *one = client_of(fixture, USER_UID, 7, 0);
	struct softnic_client *two = client_of(fixture, USER_UID, 7, 0);
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(lni_of(one, id), 1);
	assert_int_equal(softnic_lni_free(two, 1), -EINVAL);
	assert_int_equal(softnic_lni_free(one, 2), -EINVAL);
	assert_int_equal(softnic_lni_free(one, 1), 0);
	assert_int_equal(softnic_lni_free(one, 1), -EINVAL);
	softnic_close(one);
	softnic_close(two);
}

static void freed_lni_lingers_in_cleanup(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user;
	uint32_t id;

	fixture->config.cleanup_ms = 1000;
	node_open(fixture);
	softnic_advance(fixture->softnic, 5000);
	id = must_alloc(fixture, USER_UID, 1024);
	user = client_of(fixture, USER_UID, 7, 0);
	assert_int_equal(lni_of(user, id), 1);
	assert_int_equal(softnic_lni_free(user, 1), 0);
	assert_int_equal(softnic_lni_free(user, 1), -EINVAL);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	softnic_advance(fixture->softnic, 5999);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	/* Its number and its RGID are taken too. */
	assert_int_equal(lni_of(user, id), 2);
	assert_int_equal(softnic_lni_free(user, 2), 0);
	softnic_advance(fixture->softnic, 6000);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	softnic_advance(fixture->softnic, 6999);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
	softnic_close(user);
}

static void death_of_the_process_begins_the_cleanup(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user;
	uint32_t id;

	fixture->config.cleanup_ms = 1000;
	node_open(fixture);
	softnic_advance(fixture->softnic, 5000);
	id = must_alloc(fixture, USER_UID, 1024);
	user = client_of(fixture, USER_UID, 7, 0);
	assert_int_equal(lni_of(user, id), 1);
	assert_int_equal(lni_of(user, id), 2);
	softnic_advance(fixture->softnic, 9000);
	softnic_close(user);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	softnic_advance(fixture->softnic, 10000);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
}

static void time_does_not_run_backwards(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user;
	uint32_t id;

	fixture->config.cleanup_ms = 1000;
	node_open(fixture);
	id = must_alloc(fixture, USER_UID, 1024);
	user = client_of(fixture, USER_UID, 7, 0);
	softnic_advance(fixture->softnic, 5000);
	softnic_advance(fixture->softnic, 10);
	assert_int_equal(lni_of(user, id), 1);
	softnic_close(user);
	softnic_advance(fixture->softnic, 1011);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	softnic_advance(fixture->softnic, 6000);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(owner_gets_in_and_nobody_else),
		fixture_test(disabled_is_revoked_before_membership_counts),
		fixture_test(default_service_is_revoked_until_enabled),
		fixture_test(groups_and_open_services_admit),
		fixture_test(ignored_members_admit_nobody),
		fixture_test(second_member_counts_too),
		fixture_test(network_namespace_admits),
		fixture_test(unknown_namespace_matches_nothing),
		fixture_test(rgids_run_out_at_255),
		fixture_test(lpr_shares_rgids_within_a_service),
		fixture_test(services_never_share_an_rgid),
		fixture_test(only_its_owner_frees_an_lni),
		fixture_test(freed_lni_lingers_in_cleanup),
		fixture_test(death_of_the_process_begins_the_cleanup),
		fixture_test(time_does_not_run_backwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
