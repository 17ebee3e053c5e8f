/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups whose members a service knows. */
#include "scoll/core/test/group_bed.h"

#include <sodium.h>

static struct group_bed bed;

static int setup(void **state)
{
	group_bed_init(&bed);
	return 0;
}

static int teardown(void **state)
{
	group_bed_fini(&bed);
	return 0;
}

struct service {
	const scoll_target_t *targets;
	int count; /* or an errno */
	int call_count;
	scoll_oobgrp_id_t asked;
	uint64_t version;
};

static int service_oobgrp(void *service_private, const scoll_oobgrp_id_t *oobid,
			  const scoll_target_t **ret_targets)
{
	struct service *service = service_private;

	service->call_count++;
	service->asked = *oobid;
	*ret_targets = service->targets;
	return service->count;
}

static uint64_t service_version(void *service_private,
				const scoll_oobgrp_id_t *oobid)
{
	const struct service *service = service_private;

	assert_int_equal(oobid->svid, OSS);
	return service->version;
}

static int refreshed(struct scoll_group *group, struct service *service)
{
	struct group_oob oob = { service_oobgrp, NULL, service };

	if (service->version != 0)
		oob.version = service_version;
	return group_oob_refresh(group, &oob);
}

/* By a member that asks its service. */
static int asked(const struct wire_bcast *bcast, struct service *service,
		 struct scoll_group **ret_group)
{
	struct group_oob oob = { service_oobgrp, NULL, service };

	if (service->version != 0)
		oob.version = service_version;
	return group_resolve(bed.theirs, bcast, &oob, 1, ret_group);
}

static const scoll_oobgrp_id_t fid = { OSS, "a Lustre FID..." };

static struct scoll_group *oob_made(void)
{
	struct scoll_group *group = NULL;

	assert_int_equal(group_oob_create(bed.ours, OSS, "layout", &fid,
					  SCOLL_TREE_BINOMIAL, NULL, &group),
			 0);
	return group;
}

static void oob_G06_id_is_the_service_and_its_own_bytes(void **state)
{
	struct service service = { .targets = bed.targets, .count = COUNT };
	struct scoll_group *group = oob_made(), *got, *other;
	struct wire_bcast bcast = { .tree = SCOLL_TREE_BINOMIAL };

	/* Made without asking. */
	assert_int_equal(service.call_count, 0);
	assert_null(group->membership);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(service.call_count, 1);
	assert_memory_equal(&service.asked, &fid, sizeof(fid));
	assert_int_equal(group->membership->count, COUNT);
	/* A member asks its own service, by what the message carries. */
	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(bcast.flags, WIRE_OOB);
	assert_int_equal(bcast.service, OSS);
	assert_memory_equal(bcast.oob, fid.bytes, sizeof(fid.bytes));
	assert_int_equal(asked(&bcast, &service, &got), 0);
	assert_int_equal(service.call_count, 2);
	assert_memory_equal(&service.asked, &fid, sizeof(fid));
	/* The same bytes of another service are another group. */
	bcast.service = MDS;
	assert_int_equal(asked(&bcast, &service, &other), 0);
	assert_int_equal(service.asked.svid, MDS);
	assert_ptr_not_equal(other, got);
	group_unref(got, 1);
	group_unref(other, 1);
	assert_int_equal(group_oob_create(bed.ours, MDS, "", &fid, 0, NULL,
					  &got),
			 -EINVAL);
}

static void oob_needs_a_service_that_knows_it(void **state)
{
	struct service service = { .targets = bed.targets, .count = COUNT };
	struct scoll_group *group = oob_made(), *got;
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(group_resolved(bed.theirs, &bcast, 1), -ENOENT);
	service.count = -ENXIO;
	assert_int_equal(asked(&bcast, &service, &got), -ENXIO);
	assert_int_equal(refreshed(group, &service), -ENXIO);
	service.count = 0;
	assert_int_equal(asked(&bcast, &service, &got), -EINVAL);
	assert_int_equal(group_table_count(bed.theirs), 0);
}

static void oob_member_with_another_list_refuses(void **state)
{
	struct service service = { .targets = bed.targets, .count = COUNT };
	struct scoll_group *group = oob_made(), *got;
	scoll_target_t changed[COUNT];
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	group_id_write(group, 0, NONCE, &bcast);
	/* Before it knows the group, and afterwards. */
	memcpy(changed, bed.targets, sizeof(changed));
	changed[7].nid = 1000;
	service.targets = changed;
	assert_int_equal(asked(&bcast, &service, &got), -ESTALE);
	service.targets = bed.targets;
	assert_int_equal(asked(&bcast, &service, &got), 0);
	group_unref(got, 1);
	service.targets = changed;
	assert_int_equal(asked(&bcast, &service, &got), -ESTALE);
	/* The root, too, sees the change, and then they agree. */
	assert_int_equal(refreshed(group, &service), 0);
	group_id_write(group, 0, NONCE, &bcast);
	assert_int_equal(asked(&bcast, &service, &got), 0);
	assert_int_equal(membership_index(got->membership, 1000), 7);
	group_unref(got, 1);
}

static void oob_targets_of_one_node_may_be_apart(void **state)
{
	const scoll_target_t apart[] = { { 1, &group_bed_tags[0], 1 },
					 { 2, &group_bed_tags[0], 1 },
					 { 1, &group_bed_tags[1], 1 } };
	struct service service = { .targets = apart, .count = 3 };
	struct scoll_group *group = oob_made(), *got;
	struct membership *membership;
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	membership = group->membership;
	assert_int_equal(membership->count, 2);
	assert_int_equal(refreshed(group, &service), 0);
	assert_ptr_equal(group->membership, membership);
	group_id_write(group, 0, NONCE, &bcast);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(asked(&bcast, &service, &got), 0);
		group_unref(got, 1);
	}
	assert_int_equal(group_table_count(bed.theirs), 1);
}

/* While its version is the same the service is not asked for the list. */
static void oob_G11_list_of_the_same_version_is_not_compared(void **state)
{
	struct service service = { .targets = bed.targets,
				   .count = COUNT,
				   .version = 7 };
	struct scoll_group *group = oob_made(), *got;
	struct wire_bcast bcast = { 0 };

	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(service.call_count, 1);
	group_id_write(group, 0, NONCE, &bcast);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(asked(&bcast, &service, &got), 0);
		group_unref(got, 1);
	}
	assert_int_equal(service.call_count, 2);
	/* Another version, and other members. */
	service.version = 8;
	service.count = COUNT / 2;
	assert_int_equal(asked(&bcast, &service, &got), -ESTALE);
	assert_int_equal(service.call_count, 3);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(group->membership->count, COUNT / 2);
	/* What a service does not number is asked for each time. */
	service.version = 0;
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(service.call_count, 6);
	/* An error is no list to stay with. */
	service.version = 9;
	service.count = -ENXIO;
	assert_int_equal(refreshed(group, &service), -ENXIO);
	service.count = COUNT;
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(group->membership->count, COUNT);
}

static void oob_change_leaves_requests_what_they_have(void **state)
{
	struct service service = { .targets = bed.targets, .count = COUNT };
	struct scoll_group *group = oob_made();
	struct group_tree *tree;
	struct choice *all;

	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(choice_all(group->membership, &all), 0);
	assert_int_equal(group_tree_get(group, all, 0, SCOLL_TREE_BINOMIAL,
					SCOLL_ORDER_DEPTH, &tree),
			 0);
	choice_unref(all);
	service.count = COUNT / 2;
	assert_int_equal(refreshed(group, &service), 0);
	assert_int_equal(group->membership->count, COUNT / 2);
	assert_int_equal(group->tree_count, 0);
	assert_int_equal(tree->node.size, COUNT);
	assert_int_equal(tree->choice->membership->count, COUNT);
	group_tree_unref(tree);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		test_of(oob_G06_id_is_the_service_and_its_own_bytes),
		test_of(oob_needs_a_service_that_knows_it),
		test_of(oob_member_with_another_list_refuses),
		test_of(oob_targets_of_one_node_may_be_apart),
		test_of(oob_G11_list_of_the_same_version_is_not_compared),
		test_of(oob_change_leaves_requests_what_they_have),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_group_oob", tests, NULL,
					   NULL);
}
