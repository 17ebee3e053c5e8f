/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/slingshot/service.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static const struct slingshot_lane lane = {
	.uid = 1000,
	.cores = 4,
	.vni_count = 2,
	.vnis = { 2000, 2001 },
	.policy = { .tcs = 0x0a },
};

static struct cxi_svc_desc service(void)
{
	const struct cxi_rsrc_limits limits = { .txqs = { 9, 3 } };
	struct cxi_svc_desc desc;

	slingshot_service_fill(&lane, &limits, &desc);
	desc.svc_id = 5;
	return desc;
}

static void a_service_can_be_for_a_namespace_and_nobody_else(void **state)
{
	const struct cxi_rsrc_limits limits = { 0 };
	struct slingshot_lane within = lane;
	struct cxi_svc_desc desc;

	within.is_in_netns = true;
	slingshot_service_fill(&within, &limits, &desc);
	desc.svc_id = 5;
	assert_int_equal(desc.members[0].type, CXI_SVC_MEMBER_NET_NS);
	assert_int_equal(desc.members[1].type, CXI_SVC_MEMBER_IGNORE);
	assert_true(slingshot_service_is_of(&desc, &within));
	assert_false(slingshot_service_is_of(&desc, &lane));
	desc.members[1].type = CXI_SVC_MEMBER_UID;
	desc.members[1].svc_member.uid = within.uid;
	assert_false(slingshot_service_is_of(&desc, &within));
	desc = service();
	assert_false(slingshot_service_is_of(&desc, &within));
}

/* The NIC's driver keeps such a service off until it has its range. */
static void exclusive_profiles_are_for_a_range(void **state)
{
	const struct cxi_rsrc_limits limits = { 0 };
	struct slingshot_lane exclusive = lane;
	struct cxi_svc_desc desc;

	exclusive.has_exclusive_cp = true;
	exclusive.vni_count = 1;
	exclusive.vnis[1] = 0;
	slingshot_service_fill(&exclusive, &limits, &desc);
	desc.svc_id = 5;
	assert_false(desc.restricted_vnis);
	assert_int_equal(desc.num_vld_vnis, 0);
	assert_int_equal(slingshot_service_vni_count(&desc), 1);
	assert_true(slingshot_service_is_of(&desc, &exclusive));
	desc.num_vld_vnis = 1; /* with the range */
	assert_true(slingshot_service_is_of(&desc, &exclusive));
	assert_int_equal(slingshot_service_shares(&desc, &lane), 2000);
	assert_false(slingshot_service_is_of(&desc, &lane));
	desc.members[0].svc_member.uid++;
	assert_false(slingshot_service_is_of(&desc, &exclusive));
	/* As others make one. */
	desc = service();
	desc.restricted_vnis = 0;
	memset(desc.vnis, 0, sizeof(desc.vnis));
	assert_int_equal(slingshot_service_vni_count(&desc), 0);
	assert_false(slingshot_service_is_of(&desc, &exclusive));
	assert_int_equal(slingshot_service_shares(&desc, &exclusive), 0);
}

static void a_service_is_for_the_owner_and_the_vnis(void **state)
{
	struct cxi_svc_desc desc = service();

	assert_true(desc.restricted_members && desc.restricted_vnis &&
		    desc.restricted_tcs && desc.resource_limits);
	assert_false(desc.is_system_svc);
	assert_int_equal(desc.num_vld_vnis, 2);
	assert_int_equal(desc.vnis[0], 2000);
	assert_int_equal(desc.vnis[1], 2001);
	assert_int_equal(desc.members[0].type, CXI_SVC_MEMBER_UID);
	assert_int_equal(desc.members[0].svc_member.uid, 1000);
	assert_int_equal(desc.members[1].type, CXI_SVC_MEMBER_IGNORE);
	assert_false(desc.tcs[CXI_TC_DEDICATED_ACCESS]);
	assert_true(desc.tcs[CXI_TC_LOW_LATENCY]);
	assert_false(desc.tcs[CXI_TC_BULK_DATA]);
	assert_true(desc.tcs[CXI_TC_BEST_EFFORT]);
	assert_false(desc.tcs[CXI_TC_ETH]);
	assert_int_equal(desc.limits.txqs.max, 9);
	assert_int_equal(slingshot_service_tcs(&desc), 0x0a);
	assert_true(slingshot_service_is_of(&desc, &lane));
}

static void the_order_of_vnis_and_members_does_not_matter(void **state)
{
	struct cxi_svc_desc desc = service();

	desc.vnis[0] = 2001;
	desc.vnis[1] = 2000;
	desc.members[1] = desc.members[0];
	desc.members[0] = (struct cxi_svc_member){ 0 };
	assert_true(slingshot_service_is_of(&desc, &lane));
}

static void another_s_service_is_not_the_lane_s(void **state)
{
	const struct cxi_svc_desc ours = service();
	struct slingshot_lane none = lane;
	struct cxi_svc_desc desc;

#define NOT_OURS(change)                                             \
	do {                                                         \
		desc = ours;                                         \
		change;                                              \
		assert_false(slingshot_service_is_of(&desc, &lane)); \
	} while (0)
	NOT_OURS(desc.is_system_svc = 1);
	NOT_OURS(desc.svc_id = CXI_DEFAULT_SVC_ID);
	NOT_OURS(desc.members[0].svc_member.uid = 1001);
	NOT_OURS(desc.members[0].type = CXI_SVC_MEMBER_GID);
	NOT_OURS(desc.members[1] = ((struct cxi_svc_member){
			 .svc_member.uid = 1001, .type = CXI_SVC_MEMBER_UID }));
	NOT_OURS(desc.restricted_members = 0);
	NOT_OURS(desc.restricted_vnis = 0);
	NOT_OURS(desc.vnis[1] = 2002);
	NOT_OURS(desc.vnis[1] = 2000);
	NOT_OURS(desc.num_vld_vnis = 1);
	NOT_OURS((desc.num_vld_vnis = 3, desc.vnis[2] = 2002));
	NOT_OURS(desc.num_vld_vnis = 200);
#undef NOT_OURS
	none.vni_count = 0;
	desc = ours;
	desc.num_vld_vnis = 0;
	assert_false(slingshot_service_is_of(&desc, &none));
}

static void a_shared_vni_is_found(void **state)
{
	struct cxi_svc_desc desc = service();

	assert_int_equal(slingshot_service_shares(&desc, &lane), 2000);
	desc.vnis[0] = 7;
	assert_int_equal(slingshot_service_shares(&desc, &lane), 2001);
	desc.vnis[1] = 8;
	assert_int_equal(slingshot_service_shares(&desc, &lane), 0);
	desc.vnis[1] = 2001;
	desc.restricted_vnis = 0; /* it has one, the first */
	assert_int_equal(slingshot_service_shares(&desc, &lane), 0);
}

static void members_say_who_is_admitted(void **state)
{
	struct cxi_svc_desc desc = service();

	assert_true(slingshot_service_admits(&desc, 1000));
	assert_false(slingshot_service_admits(&desc, 1001));
	assert_int_equal(slingshot_service_uid(&desc), 1000);
	desc.members[0].type = CXI_SVC_MEMBER_IGNORE;
	assert_false(slingshot_service_admits(&desc, 1000));
	assert_int_equal(slingshot_service_uid(&desc), UINT32_MAX);
	desc.members[1].type = CXI_SVC_MEMBER_GID;
	assert_true(slingshot_service_admits(&desc, 1001));
	desc.restricted_members = 0;
	assert_true(slingshot_service_admits(&desc, 1001));
	desc.restricted_tcs = 0;
	assert_int_equal(slingshot_service_tcs(&desc), 0x0f);
}

static void the_longest_texts_fit(void **state)
{
	const uint16_t vnis[] = { 65535, 65534, 65533, 65532 };
	char vnis_text[SLINGSHOT_VNIS_TEXT_MAX];
	char limits_text[SLINGSHOT_LIMITS_TEXT_MAX];
	struct cxi_rsrc_limits limits;

	slingshot_vnis_format(vnis, 4, vnis_text);
	assert_string_equal(vnis_text, "65535,65534,65533,65532");
	slingshot_vnis_format(vnis, 0, vnis_text);
	assert_string_equal(vnis_text, "");
	memset(&limits, 0xff, sizeof(limits));
	slingshot_limits_format(&limits, limits_text);
	assert_non_null(strstr(limits_text, "PTEs=65535/65535 TXQs="));
	assert_non_null(strstr(limits_text, " ACs=65535/65535"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_service_can_be_for_a_namespace_and_nobody_else),
		cmocka_unit_test(exclusive_profiles_are_for_a_range),
		cmocka_unit_test(a_service_is_for_the_owner_and_the_vnis),
		cmocka_unit_test(the_order_of_vnis_and_members_does_not_matter),
		cmocka_unit_test(another_s_service_is_not_the_lane_s),
		cmocka_unit_test(a_shared_vni_is_found),
		cmocka_unit_test(members_say_who_is_admitted),
		cmocka_unit_test(the_longest_texts_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
