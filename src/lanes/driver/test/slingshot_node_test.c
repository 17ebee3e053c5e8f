/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is slingshot's own on a node, over the software NIC: scarce resources,
 * refusals of the NIC, what an undo leaves, messages. What every driver does
 * is in test/contract.
 */
#include "lanes/driver/test/bench.h"

#include <stdio.h>

#include "lanes/driver/slingshot/nic.h"

static const struct fairlead_node_ops *const ops = &slingshot_node_ops;

#define DEVICES_MAX 8

struct device_list {
	uint32_t count;
	struct fairlead_device list[DEVICES_MAX];
};

static void collect_device(void *arg, const struct fairlead_device *device)
{
	struct device_list *list = arg;

	assert_true(list->count < DEVICES_MAX);
	list->list[list->count++] = *device;
}

static int start_small(void **state)
{
	return bench_start(state, "--nics", "1", "--total", "TXQ=100",
			   "--total", "TLE=540");
}

/* --- scarce resources --- */

static void the_fourth_job_goes_without_tles(void **state)
{
	struct bench *bench = *state;

	for (uint32_t i = 0; i < 3; i++) {
		struct fairlead_lane lane = bench_lane(2000 + i, 8);

		bench_apply_well(bench, &lane);
		assert_int_equal(bench->warning_count, 0);
	}
	for (uint32_t i = 3; i < 6; i++) {
		struct fairlead_lane lane = bench_lane(2000 + i, 8);

		bench_apply_well(bench, &lane);
		assert_string_equal(bench->all_warnings,
				    "cxi0: wanted 8 TLEs, reserved 0 (all 4 "
				    "pools are taken)\n");
	}
	assert_int_equal(bench_services(bench), 6);
	assert_has(bench->objects[bench->object_count - 1].detail, "TLEs=0/0");
}

static void jobs_beyond_the_le_pools_share_les(void **state)
{
	struct bench *bench = *state;
	uint32_t vni = 2000;

	/* The ethernet service has one of the 15 pools. */
	for (; vni < 2014; vni++) {
		struct fairlead_lane lane = bench_lane(vni, 1);

		strcat(lane.options, ",per_core_tles=0");
		bench_apply_well(bench, &lane);
		assert_int_equal(bench->warning_count, 0);
	}
	for (; vni < 2017; vni++) {
		struct fairlead_lane lane = bench_lane(vni, 1);

		strcat(lane.options, ",per_core_tles=0");
		bench_apply_well(bench, &lane);
		assert_string_equal(bench->all_warnings,
				    "cxi0: wanted 16 LEs, reserved 0 (all 15 "
				    "pools are taken)\n");
	}
	assert_int_equal(bench_services(bench), 17);
	assert_has(bench->objects[bench->object_count - 1].detail,
		   "LEs=0/16384");
}

static void what_is_not_free_is_scaled_back(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane first = bench_lane(2000, 20);
	struct fairlead_lane second = bench_lane(2001, 40);

	bench_apply_well(bench, &first);
	assert_int_equal(bench->warning_count, 0);
	bench_apply_well(bench, &second);
	/* One TXQ is the ethernet service's, 512 TLEs the default one's. */
	assert_int_equal(bench->warning_count, 2);
	assert_has(bench->all_warnings,
		   "cxi0: wanted 80 TXQs, reserved 59 (59 of 100 are free)\n");
	assert_has(bench->all_warnings,
		   "cxi0: wanted 40 TLEs, reserved 8 (8 of 540 are free)\n");
	assert_int_equal(bench_services(bench), 2);
}

static void below_the_minimum_a_lane_is_refused_where_it_wants_that(
	void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 46);
	struct fairlead_record record;

	strcpy(lane.options, "vnis=1,tcs=LOW_LATENCY,per_core_tles=0,"
			     "minimum=100%,below_minimum=refuse");
	assert_int_equal(bench_apply(bench, &lane, &record), -ENOSPC);
	assert_has(bench->error.text,
		   "cxi0: wanted 92 TXQs, reserved 90 (10% of 100 are kept "
		   "for other jobs), the minimum is 92: too little");
	assert_int_equal(bench_services(bench), 0);
	strcpy(lane.options, "vnis=1,tcs=LOW_LATENCY,per_core_tles=0,"
			     "minimum=100%");
	bench_apply_well(bench, &lane);
	assert_has(bench->all_warnings, "the minimum is 92\n");
}

static void the_limits_of_the_lane_reach_the_nic(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 10);

	strcpy(lane.options, "vnis=1,tcs=DEDICATED_ACCESS,max_txqs=33,"
			     "per_core_ptes=1");
	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 1);
	assert_string_equal(bench->objects[bench->object_count - 1].detail,
			    "tcs=0x01 PTEs=10/2048 TXQs=20/33 TGQs=10/512 "
			    "EQs=20/2047 CTs=10/2047 LEs=160/16384 TLEs=10/10 "
			    "ACs=20/1022");
}

static void probe_counts_the_pools(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 10);
	struct device_list devices = { 0 };
	const struct fairlead_device *device = &devices.list[0];

	bench_apply_well(bench, &lane);
	assert_int_equal(ops->probe(bench->state, collect_device, &devices,
				    &bench->error),
			 0);
	assert_int_equal(devices.count, 1);
	assert_string_equal(device->name, "cxi0");
	assert_has(device->detail, "emulated");
	assert_int_equal(device->resource_count, 11);
	assert_string_equal(device->resources[1].name, "TXQs");
	assert_int_equal(device->resources[1].total, 1024);
	assert_int_equal(device->resources[1].reserved, 21);
	assert_string_equal(device->resources[8].name, "TLE pools");
	assert_int_equal(device->resources[8].total, 4);
	assert_int_equal(device->resources[8].reserved, 2);
	assert_string_equal(device->resources[9].name, "LE pools");
	assert_int_equal(device->resources[9].reserved, 2);
	assert_string_equal(device->resources[10].name, "VNI entries");
	assert_int_equal(device->resources[10].total, 256);
}

/* --- RGIDs --- */

static uint32_t applied_service(struct bench *bench, uint32_t tasks)
{
	struct fairlead_lane lane = bench_lane(2000, 4);

	lane.tasks = tasks;
	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 1);
	return bench->objects[bench->object_count - 1].id;
}

static void as_many_processes_as_rgids_share_none(void **state)
{
	struct bench *bench = *state;
	uint32_t id = applied_service(bench, 255);

	assert_int_equal(bench->warning_count, 0);
	assert_int_equal(lni_fill(0, id, 300), 255);
}

static void more_processes_than_rgids_share_them(void **state)
{
	struct bench *bench = *state;
	uint32_t id = applied_service(bench, 300);

	assert_int_equal(bench->warning_count, 0);
	assert_int_equal(lni_fill(0, id, 300), 300);
}

static void processes_are_spread_over_the_nics(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	lane.tasks = 511;
	bench_apply_well(bench, &lane);
	assert_int_equal(bench->warning_count, 0);
	assert_int_equal(lni_fill(0, 3, 600), 510);
	assert_int_equal(lni_fill(1, 3, 600), 510);
}

static void eight_share_an_rgid_at_most(void **state)
{
	struct bench *bench = *state;
	uint32_t id = applied_service(bench, 2041);

	assert_string_equal(bench->all_warnings,
			    "2041 tasks are more than the 1 NICs here have "
			    "RGIDs for: 2040 processes can use them\n");
	assert_int_equal(lni_fill(0, id, 2100), 2040);
}

static void rgids_that_cannot_be_shared_are_a_warning(void **state)
{
	struct bench *bench = *state;
	struct cxi_library *library =
		((struct slingshot_node *)bench->state)->library;
	struct fairlead_lane lane = bench_lane(2000, 4);

	lane.tasks = 300;
	softnic_control(&bench->softnic, "fault errno=EBUSY op=set_svc_lpr");
	bench_apply_well(bench, &lane);
	assert_string_equal(bench->all_warnings,
			    "cxi0: service 3 is for 255 processes, fewer than "
			    "the 300 tasks here may need: Device or resource "
			    "busy\n");
	assert_int_equal(bench_revoke(bench, &lane), 0);
	library->set_svc_lpr = NULL;
	bench_apply_well(bench, &lane);
	assert_int_equal(bench->warning_count, 1);
	assert_has(bench->all_warnings, "the library cannot let them share");
	assert_int_equal(lni_fill(0, 3, 300), 255);
}

static void a_dry_run_says_how_many_share_an_rgid(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record;

	lane.tasks = 600;
	assert_int_equal(ops->apply(bench->state, &lane, true, &record,
				    &bench->warnings, &bench->error),
			 0);
	assert_has(bench->all_warnings, " lpr=3\n");
}

/* --- refusals of the NIC --- */

static void a_lost_race_is_run_again(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	softnic_control(&bench->softnic,
			"fault errno=ENOSPC op=alloc_svc nic=0 count=3");
	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 1);
}

static void races_are_not_run_for_ever(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record;

	softnic_control(&bench->softnic,
			"fault errno=ENOSPC op=alloc_svc nic=0 count=100");
	assert_int_equal(bench_apply(bench, &lane, &record), -ENOSPC);
	assert_has(bench->error.text, "cxi0: no capacity for a service; free "
				      "seem 2040 of 2048 PTEs, ");
	assert_has(bench->error.text, "3 of 4 TLE pools, 14 of 15 LE pools");
	assert_int_equal(bench_services(bench), 0);
}

static void a_nic_that_does_not_answer_is_an_error(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record;

	softnic_control(&bench->softnic,
			"fault errno=EIO op=get_svc_list nic=1");
	assert_int_equal(bench_apply(bench, &lane, &record), -EIO);
	assert_has(bench->error.text, "cxi1: cannot list its services");
	assert_int_equal(bench_services(bench), 0);
	softnic_control(&bench->softnic,
			"fault errno=EIO op=open_device nic=1");
	assert_int_equal(bench_apply(bench, &lane, &record), -EIO);
	assert_has(bench->error.text, "cxi1: cannot open it");
	assert_int_equal(bench_services(bench), 0);
	softnic_control(&bench->softnic, "fault errno=EIO op=get_device_list");
	assert_int_equal(bench_apply(bench, &lane, &record), -EIO);
	assert_has(bench->error.text, "cannot list Slingshot NICs");
}

/* A list that fails is not an empty list. */
static void revoke_does_not_believe_a_silent_nic(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	bench_apply_well(bench, &lane);
	softnic_control(&bench->softnic,
			"fault errno=EIO op=get_svc_list nic=0");
	assert_int_equal(bench_revoke(bench, &lane), -EIO);
	assert_has(bench->error.text, "cxi0: cannot list its services");
	assert_int_equal(bench_services(bench), 1);
	softnic_control(&bench->softnic,
			"fault errno=EIO op=open_device nic=0");
	assert_int_equal(bench_revoke(bench, &lane), -EIO);
	softnic_control(&bench->softnic, "fault errno=EIO op=get_device_list");
	assert_int_equal(bench_revoke(bench, &lane), -EIO);
	softnic_control(&bench->softnic, "fault errno=EINVAL op=destroy_svc");
	assert_int_equal(bench_revoke(bench, &lane), -EINVAL);
	assert_has(bench->error.text, "cxi0: cannot destroy service ");
	softnic_control(&bench->softnic, "fault errno=EPERM op=destroy_svc");
	assert_int_equal(bench_revoke(bench, &lane), -EPERM);
	assert_int_equal(bench_services(bench), 1);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	assert_int_equal(bench_services(bench), 0);
}

static void busy_comes_before_other_errors(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	bench_apply_well(bench, &lane);
	softnic_control(&bench->softnic,
			"fault errno=EIO op=destroy_svc nic=0");
	softnic_control(&bench->softnic,
			"fault errno=EBUSY op=destroy_svc nic=1");
	assert_int_equal(bench_revoke(bench, &lane), -EBUSY);
	assert_has(bench->error.text, "cxi0: cannot destroy service ");
	assert_has(bench->error.text, "; cxi1: service ");
	assert_int_equal(bench_revoke(bench, &lane), 0);
}

static void a_busy_service_without_a_process_is_explained(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	bench_apply_well(bench, &lane);
	assert_int_equal(bench_services(bench), 1);
	softnic_control(&bench->softnic, "busy svc=%u nic=0 ms=forever",
			bench->objects[bench->object_count - 1].id);
	assert_int_equal(bench_revoke(bench, &lane), -EBUSY);
	assert_has(bench->error.text, "(VNI 2000) is busy, though no process");
	softnic_control(&bench->softnic, "busy svc=%u nic=0 ms=release",
			bench->objects[bench->object_count - 1].id);
	assert_int_equal(bench_revoke(bench, &lane), 0);
}

static void an_undo_that_fails_is_said_and_found_again(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record = { .size = 77 };

	softnic_control(&bench->softnic,
			"fault errno=ENOMEM op=alloc_svc nic=1");
	softnic_control(&bench->softnic,
			"fault errno=EBUSY op=destroy_svc nic=0");
	assert_int_equal(bench_apply(bench, &lane, &record), -ENOMEM);
	assert_has(bench->error.text, "cxi1: cannot make a service");
	assert_has(bench->error.text,
		   "cannot be taken back yet: cxi0: service");
	assert_int_equal(record.size, 77);
	assert_int_equal(bench_services(bench), 1);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	assert_int_equal(bench_services(bench), 0);
}

/* --- what others have made --- */

static void every_service_of_the_lane_is_destroyed(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);

	bench_apply_well(bench, &lane);
	bench_make_foreign(bench, 0, lane.uid, 2000);
	bench_make_foreign(bench, 1, lane.uid, 2000);
	bench_make_foreign(bench, 1, lane.uid, 2000);
	assert_int_equal(bench_services(bench), 5);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	assert_int_equal(bench_services(bench), 0);
}

static void a_vni_that_another_has_is_refused_and_left(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record;
	char text[128];
	uint32_t id = bench_make_foreign(bench, 1, lane.uid + 1, 2000);

	assert_int_equal(bench_apply(bench, &lane, &record), -EEXIST);
	snprintf(text, sizeof(text),
		 "cxi1: VNI 2000 is in use by service %u, which is not ours",
		 id);
	assert_string_equal(bench->error.text, text);
	assert_int_equal(bench_services(bench), 1);
	assert_int_equal(bench_revoke(bench, &lane), 0);
	snprintf(text, sizeof(text),
		 "cxi1: service %u has VNI 2000 too but is not this lane's, "
		 "left alone\n",
		 id);
	assert_string_equal(bench->all_warnings, text);
	assert_int_equal(bench_services(bench), 1);
}

/* --- lanes that are not well formed --- */

static void malformed_lanes_are_refused(void **state)
{
	static const struct {
		uint32_t id_count;
		uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
		uint32_t cores;
		const char *options;
		const char *part;
	} cases[] = {
		{ 1, { 0 }, 1, "", "VNI 0" },
		{ 1, { 1 }, 1, "", "VNI 1," },
		{ 2, { 2000, 10 }, 1, "", "VNI 10" },
		{ 1, { 65536 }, 1, "", "VNI 65536" },
		{ 2, { 2000, 2000 }, 1, "", "VNI 2000 twice" },
		{ 5, { 2000, 2001, 2002, 2003, 2004 }, 1, "", "5 VNIs" },
		{ 1, { 2000 }, 0, "", "no cores" },
		{ 1, { 2000 }, 1, "tcs=ETH", "options of the lane: " },
	};
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fairlead_lane lane = bench_lane(2000, cases[i].cores);
		struct fairlead_record record;

		lane.id_count = cases[i].id_count;
		memcpy(lane.ids, cases[i].ids, sizeof(lane.ids));
		strcpy(lane.options, cases[i].options);
		assert_int_equal(bench_apply(bench, &lane, &record), -EINVAL);
		assert_has(bench->error.text, cases[i].part);
	}
	assert_int_equal(bench_services(bench), 0);
}

static void a_lane_without_vnis_makes_nothing(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record;

	lane.id_count = 0;
	assert_int_equal(bench_apply(bench, &lane, &record), 0);
	assert_int_equal(bench_services(bench), 0);
	assert_int_equal(bench_revoke(bench, &lane), 0);
}

static void a_node_without_a_nic_has_no_lane(void **state)
{
	struct bench *bench = *state;
	struct fairlead_lane lane = bench_lane(2000, 4);
	struct fairlead_record record;

	softnic_control(&bench->softnic, "remove nic=0");
	assert_int_equal(bench_apply(bench, &lane, &record), -ENODEV);
	assert_has(bench->error.text, "no Slingshot NIC on this node");
	assert_int_equal(bench_revoke(bench, &lane), 0);
}

#define CASE(name, start) \
	cmocka_unit_test_setup_teardown(name, start, bench_stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_fourth_job_goes_without_tles, bench_start_one),
		CASE(jobs_beyond_the_le_pools_share_les, bench_start_one),
		CASE(as_many_processes_as_rgids_share_none, bench_start_one),
		CASE(more_processes_than_rgids_share_them, bench_start_one),
		CASE(processes_are_spread_over_the_nics, bench_start_two),
		CASE(eight_share_an_rgid_at_most, bench_start_one),
		CASE(rgids_that_cannot_be_shared_are_a_warning,
		     bench_start_one),
		CASE(a_dry_run_says_how_many_share_an_rgid, bench_start_one),
		CASE(what_is_not_free_is_scaled_back, start_small),
		CASE(below_the_minimum_a_lane_is_refused_where_it_wants_that,
		     start_small),
		CASE(the_limits_of_the_lane_reach_the_nic, bench_start_one),
		CASE(probe_counts_the_pools, bench_start_one),
		CASE(a_lost_race_is_run_again, bench_start_one),
		CASE(races_are_not_run_for_ever, bench_start_one),
		CASE(a_nic_that_does_not_answer_is_an_error, bench_start_two),
		CASE(revoke_does_not_believe_a_silent_nic, bench_start_one),
		CASE(busy_comes_before_other_errors, bench_start_two),
		CASE(a_busy_service_without_a_process_is_explained,
		     bench_start_one),
		CASE(an_undo_that_fails_is_said_and_found_again,
		     bench_start_two),
		CASE(every_service_of_the_lane_is_destroyed, bench_start_two),
		CASE(a_vni_that_another_has_is_refused_and_left,
		     bench_start_two),
		CASE(malformed_lanes_are_refused, bench_start_one),
		CASE(a_lane_without_vnis_makes_nothing, bench_start_one),
		CASE(a_node_without_a_nic_has_no_lane, bench_start_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
