/* SPDX-License-Identifier: BSD-3-Clause */
/* Lanes of slingshot with the option exclusive_cp. */
#include "lanes/driver/test/bench.h"

#include <stdio.h>

static int start_old(void **state)
{
	return bench_start(state, "--nics", "1", "--generation", "12");
}

static struct fairlead_lane exclusive_lane(void)
{
	struct fairlead_lane lane = bench_lane(2000, 4);

	strcat(lane.options, ",exclusive_cp");
	return lane;
}

/* The last one that is a job's. */
static const struct fairlead_object *last_object(const struct bench *bench)
{
	const unsigned int others =
		FAIRLEAD_OBJECT_SYSTEM | FAIRLEAD_OBJECT_DEFAULT;
	uint32_t i = bench->object_count;

	while (i > 0 && bench->objects[i - 1].flags & others)
		i--;
	assert_true(i > 0);
	return &bench->objects[i - 1];
}

static void the_service_has_the_vni_as_a_range(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	const struct fairlead_object *object;

	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 2);
	object = last_object(bench);
	assert_has(object->detail, "vni_range=2000-2000 exclusive_cp tcs=");
	assert_true(object->flags & FAIRLEAD_OBJECT_ENABLED);
	assert_int_equal(object->uid, lane.uid);
	assert_int_equal(object->id_count, 1);
	assert_int_equal(object->ids[0], 2000);
	assert_int_equal(lni_try(1, object->id), 0);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	assert_int_equal(bench_services(bench), 0);
}

static void other_jobs_share_profiles_as_ever(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 2);
	assert_null(strstr(last_object(bench)->detail, "exclusive_cp"));
	assert_null(strstr(last_object(bench)->detail, "vni_range"));
}

/* Generation 14 would let an equal VNI be; one of a range it refuses. */
static void a_vni_of_an_exclusive_lane_is_in_use(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	struct fairlead_lane other = bench_lane(2000, 4);
	struct fairlead_record record;

	bench_apply_well(bench, &lane);
	assert_int_equal(bench_apply(bench, &lane, &record), -EEXIST);
	assert_has(bench->error.text, "is this lane's already");
	other.uid++;
	assert_int_equal(bench_apply(bench, &other, &record), -EEXIST);
	assert_has(bench->error.text, "VNI 2000 is in use by service ");
	assert_int_equal(bench_revoke(bench, &other), 0);
	assert_has(bench->all_warnings, "has VNI 2000 too");
	assert_int_equal(bench_services(bench), 2);
}

static void a_service_that_cannot_be_exclusive_is_destroyed(void **state)
{
	static const char *const steps[] = { "svc_set_vni_range",
					     "svc_set_exclusive_cp",
					     "svc_enable" };
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	struct fairlead_record record;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		softnic_control(&bench->softnic,
				"fault op=%s nic=1 errno=ENOMEM", steps[i]);
		assert_int_equal(bench_apply(bench, &lane, &record), -ENOMEM);
		assert_has(bench->error.text, "cxi1: cannot give service ");
		assert_int_equal(bench_services(bench), 0);
	}
}

/* As if the node died between making the service and giving it its range. */
static void a_service_without_its_range_is_found(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	struct fairlead_record record;

	softnic_control(&bench->softnic,
			"fault op=svc_set_vni_range nic=0 errno=ENOMEM");
	softnic_control(&bench->softnic,
			"fault op=destroy_svc nic=0 errno=EBUSY");
	assert_int_equal(bench_apply(bench, &lane, &record), -ENOMEM);
	assert_int_equal(bench_services(bench), 1);
	assert_int_equal(last_object(bench)->ids[0], 2000);
	assert_false(last_object(bench)->flags & FAIRLEAD_OBJECT_ENABLED);
	assert_int_equal(lni_try(0, last_object(bench)->id), -EKEYREVOKED);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	assert_int_equal(bench_services(bench), 0);
}

static void a_driver_that_cannot_is_named(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	struct fairlead_record record;

	assert_int_equal(bench_apply(bench, &lane, &record), -EINVAL);
	assert_has(bench->error.text, "NIC drivers have that from 13.1 on");
	assert_int_equal(bench_services(bench), 0);
}

static void a_lane_with_more_vnis_is_malformed(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	struct fairlead_record record;

	lane.ids[lane.id_count++] = 2001;
	assert_int_equal(bench_apply(bench, &lane, &record), -EINVAL);
	assert_has(bench->error.text, "lane has 2 VNIs");
}

static void a_dry_run_names_it(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = exclusive_lane();
	struct fairlead_record record;

	assert_int_equal(slingshot_node_ops.apply(bench->state, &lane, true,
						  &record, &bench->warnings,
						  &bench->error),
			 0);
	assert_has(bench->all_warnings, " exclusive_cp\n");
	assert_int_equal(bench_services(bench), 0);
}

#define CASE(name, start) \
	cmocka_unit_test_setup_teardown(name, start, bench_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_service_has_the_vni_as_a_range, bench_start_two),
		CASE(other_jobs_share_profiles_as_ever, bench_start_two),
		CASE(a_vni_of_an_exclusive_lane_is_in_use, bench_start_two),
		CASE(a_service_that_cannot_be_exclusive_is_destroyed,
		     bench_start_two),
		CASE(a_service_without_its_range_is_found, bench_start_two),
		CASE(a_driver_that_cannot_is_named, start_old),
		CASE(a_lane_with_more_vnis_is_malformed, bench_start_two),
		CASE(a_dry_run_names_it, bench_start_two),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
