/* SPDX-License-Identifier: BSD-3-Clause */
/* Faults on request, and services that are kept busy. */
#include "emu/cxi/core/test/fixture.h"

static void fault_hits_the_nth_call_and_then_some(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_fault fault = {
		.op = SOFTNIC_OP_ALLOC_SVC,
		.nic = 0,
		.error = ENOSPC,
		.nth = 2,
		.count = 2,
	};
	struct cxi_svc_desc desc = desc_of(USER_UID, 1024);
	uint64_t calls;
	uint64_t hits;

	assert_int_equal(softnic_fault_add(fixture->softnic, &fault), 0);
	assert_int_equal(alloc(fixture, &desc), FIRST_ID);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	assert_int_equal(alloc(fixture, &desc), -ENOSPC);
	assert_int_equal(alloc(fixture, &desc), FIRST_ID + 1);
	softnic_op_count(fixture->softnic, SOFTNIC_OP_ALLOC_SVC, &calls, &hits);
	assert_int_equal(calls, 4);
	assert_int_equal(hits, 2);
}

static void fault_of_one_nic_spares_the_other(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *other = client_of(fixture, 0, 0, 1);
	struct softnic_fault fault = {
		.op = SOFTNIC_OP_GET_SVC_LIST,
		.nic = 1,
		.error = ENOMEM,
		.nth = 1,
		.count = UINT64_MAX,
	};
	struct cxi_svc_desc descs[2];

	assert_int_equal(softnic_fault_add(fixture->softnic, &fault), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(softnic_service_list(fixture->root, descs, 2),
				 2);
		assert_int_equal(softnic_service_list(other, descs, 2),
				 -ENOMEM);
	}
	softnic_fault_clear(fixture->softnic);
	assert_int_equal(softnic_service_list(other, descs, 2), 2);
	softnic_close(other);
}

static void every_operation_can_fail(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *root = fixture->root;
	struct softnic_caller caller = { .uid = 0 };
	struct cxil_devinfo infos[SOFTNIC_NIC_MAX];
	struct cxi_svc_fail_info fail_info;
	struct softnic_client *client;
	struct cxi_svc_desc desc = desc_of(0, 1024);
	struct cxi_rsrc_use use;
	uint16_t min, max;
	uint32_t number;
	bool flag;
	uint64_t hits;
	uint64_t calls;

	for (unsigned int i = 0; i < SOFTNIC_OP_COUNT; i++) {
		struct softnic_fault fault = {
			.op = i,
			.nic = SOFTNIC_ANY_NIC,
			.error = ECHRNG,
			.nth = 1,
			.count = 1,
		};

		assert_int_equal(softnic_fault_add(fixture->softnic, &fault),
				 0);
	}
#define assert_fault(call) assert_int_equal(call, -ECHRNG)
	assert_fault(softnic_device_list(fixture->softnic, infos));
	assert_fault(softnic_open(fixture->softnic, &caller, 0, &client));
	assert_fault(softnic_service_alloc(root, &desc, &fail_info));
	assert_fault(softnic_service_destroy(root, 2));
	assert_fault(softnic_service_update(root, &desc));
	assert_fault(softnic_service_get(root, 1, &desc));
	assert_fault(softnic_service_list(root, &desc, 1));
	assert_fault(softnic_service_use(root, 1, &use));
	assert_fault(softnic_service_use_list(root, &use, 1));
	assert_fault(softnic_service_enable(root, 1, true));
	assert_fault(softnic_service_set_lpr(root, 1, 1));
	assert_fault(softnic_service_get_lpr(root, 1));
	assert_fault(softnic_service_set_exclusive_cp(root, 1, true));
	assert_fault(softnic_service_get_exclusive_cp(root, 1, &flag));
	assert_fault(softnic_service_set_vni_range(root, 1, 1, 1));
	assert_fault(softnic_service_get_vni_range(root, 1, &min, &max));
	assert_fault(softnic_service_set_netns(root, 1, 1));
	assert_fault(softnic_service_get_netns(root, 1, &number));
	assert_fault(softnic_lni_alloc(root, 1, &number));
	assert_fault(softnic_lni_free(root, 1));
#undef assert_fault
	for (unsigned int i = 0; i < SOFTNIC_OP_COUNT; i++) {
		softnic_op_count(fixture->softnic, i, &calls, &hits);
		assert_int_equal(hits, 1);
	}
	/* Nothing was done: service 2 is there, and 1 is still off. */
	assert_int_equal(softnic_service_get(root, 2, &desc), 0);
	assert_false(must_get(fixture, 1).enable);
}

static void refused_calls_do_not_count(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_client *user = client_of(fixture, USER_UID, 7, 0);
	uint64_t calls;
	uint64_t hits;

	assert_int_equal(softnic_service_destroy(user, 2), -EPERM);
	softnic_op_count(fixture->softnic, SOFTNIC_OP_DESTROY_SVC, &calls,
			 &hits);
	assert_int_equal(calls, 0);
	softnic_close(user);
}

static void faults_have_bounds(void **state)
{
	struct fixture *fixture = *state;
	struct softnic_fault good = {
		.op = SOFTNIC_OP_GET_SVC,
		.nic = 1,
		.error = EIO,
		.nth = 1,
		.count = 1,
	};
	struct softnic_fault bad;

	bad = good;
	bad.op = SOFTNIC_OP_COUNT;
	assert_int_equal(softnic_fault_add(fixture->softnic, &bad), -EINVAL);
	bad = good;
	bad.nic = 2;
	assert_int_equal(softnic_fault_add(fixture->softnic, &bad), -EINVAL);
	bad = good;
	bad.error = 0;
	assert_int_equal(softnic_fault_add(fixture->softnic, &bad), -EINVAL);
	bad.error = 4096;
	assert_int_equal(softnic_fault_add(fixture->softnic, &bad), -EINVAL);
	bad = good;
	bad.nth = 0;
	assert_int_equal(softnic_fault_add(fixture->softnic, &bad), -EINVAL);
	bad = good;
	bad.count = 0;
	assert_int_equal(softnic_fault_add(fixture->softnic, &bad), -EINVAL);
	for (int i = 0; i < SOFTNIC_FAULT_MAX; i++)
		assert_int_equal(softnic_fault_add(fixture->softnic, &good), 0);
	assert_int_equal(softnic_fault_add(fixture->softnic, &good), -ENOSPC);
}

static void busy_service_is_let_go_in_time(void **state)
{
	struct fixture *fixture = *state;
	struct softnic *softnic = fixture->softnic;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	softnic_advance(softnic, 1000);
	assert_int_equal(softnic_service_busy(softnic, 0, id, 500), 0);
	softnic_advance(softnic, 1499);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	softnic_advance(softnic, 1500);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
	assert_int_equal(softnic_service_busy(softnic, 0, id, 1), -EINVAL);
	assert_int_equal(softnic_service_busy(softnic, 2, id, 1), -ENODEV);
}

static void busy_forever_ends_with_a_word(void **state)
{
	struct fixture *fixture = *state;
	struct softnic *softnic = fixture->softnic;
	uint32_t id = must_alloc(fixture, USER_UID, 1024);

	assert_int_equal(softnic_service_busy(softnic, 0, id, SOFTNIC_FOREVER),
			 0);
	softnic_advance(softnic, UINT64_MAX - 1);
	assert_int_equal(softnic_service_destroy(fixture->root, id), -EBUSY);
	assert_int_equal(softnic_service_busy(softnic, 0, id, 0), 0);
	assert_int_equal(softnic_service_enable(fixture->root, id, false), 0);
	assert_int_equal(softnic_service_busy(softnic, 0, id, 1000), 0);
	softnic_fault_clear(softnic);
	assert_int_equal(softnic_service_destroy(fixture->root, id), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		fixture_test(fault_hits_the_nth_call_and_then_some),
		fixture_test(fault_of_one_nic_spares_the_other),
		fixture_test(every_operation_can_fail),
		fixture_test(refused_calls_do_not_count),
		fixture_test(faults_have_bounds),
		fixture_test(busy_service_is_let_go_in_time),
		fixture_test(busy_forever_ends_with_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
