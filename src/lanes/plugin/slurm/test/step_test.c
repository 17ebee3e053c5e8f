/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin in a step: what tasks have, and which do not run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <stdio.h>
#include <unistd.h>

#include "lanes/plugin/slurm/test/bed.h"

static void tasks_have_the_lanes_variables(void **state)
{
	static const char *const options[] = { NULL, "vnis=1" };
	static const char *const defaults[] = { "default=must", "default=may",
						"default=none" };
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\nGONE\nEMPTY=\n", 0600);
	for (size_t i = 0; i < 6; i++) {
		bed->argument_count = 1;
		add_argument(bed, defaults[i % 3]);
		bed_start(bed, S_CTX_REMOTE);
		step_begin(bed, options[i / 3]);
		expect_variable("VNIS", "1024");
		expect_variable("GONE", NULL);
		expect_variable("EMPTY", "");
		assert_int_equal(fake->variable_count, 3);
		assert_int_equal(task(bed, 0), TASK_RUNS);
		assert_string_equal(fake->said, "");
	}
}

static void another_submitters_jobs_are_read_where_it_is_named(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	add_argument(bed, "submitter=other");
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	expect_said("other/17");
}

static void a_promised_lane_that_is_missing_ends_each_task(void **state)
{
	struct bed *bed = *state;

	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, "vnis=2");
	assert_string_equal(fake->said, "");
	assert_int_equal(task(bed, 0), 1);
	expect_said("error: fairlead: job 'slurm/17' has no lane on this node");
	expect_said("when it is submitted");
	fake->said[0] = 0;
	assert_int_equal(task(bed, 1), 1);
	assert_string_equal(fake->said, ""); /* once a node is enough */
	assert_int_equal(fake->variable_count, 0);
}

static void what_nobody_asked_for_is_missed_where_it_is_the_rule(void **state)
{
	struct bed *bed = *state;

	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	expect_said("was to have one");
	expect_said("--fairlead=off");
}

static void a_lane_that_may_be_missing_is_warned_about(void **state)
{
	struct bed *bed = *state;

	add_argument(bed, "default=may");
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), TASK_RUNS);
	expect_said("fairlead: warning: job 'slurm/17' has no lane on this "
		    "node: the tasks run without one");
	fake->said[0] = 0;
	assert_int_equal(task(bed, 1), TASK_RUNS);
	assert_string_equal(fake->said, "");
}

static void who_asks_for_nothing_is_not_touched(void **state)
{
	struct bed *bed = *state;

	add_argument(bed, "default=none");
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), TASK_RUNS);
	assert_int_equal(fake->variable_count, 0);
	assert_string_equal(fake->said, "");
	bed->argument_count = 1;
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, "off");
	assert_int_equal(task(bed, 0), TASK_RUNS);
	assert_int_equal(fake->variable_count, 0);
	assert_string_equal(fake->said, "");
}

static void a_step_may_go_without_its_jobs_lane(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\nGONE\n", 0600);
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, "off");
	expect_variable("VNIS", NULL);
	expect_variable("GONE", NULL);
	assert_int_equal(task(bed, 0), TASK_RUNS);
	assert_string_equal(fake->said, "");
}

#define TREES "FI_CXI_COLL_JOB_ID=c-g1\nFI_CXI_COLL_JOB_STEP_ID\n"

static void HT06_a_step_of_a_job_with_trees_has_its_own_id(void **state)
{
	/* The last is that of a batch script. */
	static const uint32_t ids[] = { 0, 7, 0xfffffffb };
	static const char *const texts[] = { "0", "7", "4294967291" };
	struct bed *bed = *state;

	assert_int_equal(setenv("FAIRLEAD_STEP_CLEAN", "/bin/true", 1), 0);
	write_file(bed, "17", TREES, 0600);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		bed_start(bed, S_CTX_REMOTE);
		fake->step_id = ids[i];
		step_begin(bed, NULL);
		expect_variable("FI_CXI_COLL_JOB_STEP_ID", texts[i]);
		assert_int_equal(task(bed, 0), TASK_RUNS);
	}
}

static void HC02_tasks_run_where_no_clean_up_can_be_started(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", TREES, 0600);
	assert_int_equal(setenv("FAIRLEAD_STEP_CLEAN", "/none", 1), 0);
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	expect_said("warning: multicast trees of this step stay until the job "
		    "ends: cannot start fairlead-step-clean: No such file");
	assert_int_equal(task(bed, 0), TASK_RUNS);
	/* It is the first node's. */
	bed_start(bed, S_CTX_REMOTE);
	fake->node = 1;
	step_begin(bed, NULL);
	assert_string_equal(fake->said, "");
	assert_int_equal(task(bed, 0), TASK_RUNS);
}

static void HT08_a_step_without_its_jobs_trees_has_no_id(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", TREES, 0600);
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, "off");
	expect_variable("FI_CXI_COLL_JOB_ID", NULL);
	expect_variable("FI_CXI_COLL_JOB_STEP_ID", NULL);
	write_file(bed, "17",
		   "VNIS=1024\nFI_CXI_COLL_JOB_ID\nFI_CXI_COLL_JOB_STEP_ID\n",
		   0600);
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	expect_variable("FI_CXI_COLL_JOB_STEP_ID", NULL);
	assert_int_equal(task(bed, 0), TASK_RUNS);
}

static void HT06_no_task_has_trees_under_no_id(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", TREES, 0600);
	bed_start(bed, S_CTX_REMOTE);
	fake->fail_step = ESPANK_BAD_ARG;
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	expect_said("does not say which step this is: Some error");
}

static void a_wrong_file_ends_tasks_whatever_was_asked_for(void **state)
{
	static const char *const options[] = { NULL, "vnis=1", "off" };
	struct bed *bed = *state;
	char path[80];

	add_argument(bed, "default=none");
	for (size_t i = 0; i < 9; i++) {
		write_file(bed, "17", i % 3 == 0 ? "no end of line" : "A=1\n",
			   i % 3 == 1 ? 0644 : 0600);
		bed_start(bed, S_CTX_REMOTE);
		if (i % 3 == 2)
			fake->uid = getuid() + 1;
		step_begin(bed, options[i / 3]);
		assert_int_equal(task(bed, 0), 1);
		expect_said(i % 3 == 0   ? "damaged"
			    : i % 3 == 1 ? "mode 0644"
					 : "of user");
		expect_said("tell your administrator");
		assert_int_equal(fake->variable_count, 0);
	}
	snprintf(path, sizeof(path), "%s/slurm/17/0", bed->jobs);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	expect_said("is a link");
}

static void a_component_has_its_leaders_lane(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	bed_start(bed, S_CTX_REMOTE);
	fake->job_id = 18;
	step_begin(bed, "vnis=1");
	expect_variable("VNIS", "1024");
	assert_int_equal(task(bed, 0), TASK_RUNS);
}

static void a_lane_of_its_own_goes_before_any_leaders(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	write_file(bed, "18", "VNIS=1025\n", 0600);
	bed_start(bed, S_CTX_REMOTE);
	fake->job_id = 18;
	step_begin(bed, NULL);
	expect_variable("VNIS", "1025");
	assert_int_equal(fake->variable_count, 1);
}

static void no_leader_helps_out_for_a_lane_that_is_wrong(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	write_file(bed, "18", "VNIS=1025\n", 0644);
	bed_start(bed, S_CTX_REMOTE);
	fake->job_id = 18;
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	assert_int_equal(fake->variable_count, 0);
	expect_said("slurm/18");
}

static void anothers_job_is_nobodys_leader(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	add_argument(bed, "default=none");
	bed_start(bed, S_CTX_REMOTE);
	fake->job_id = 18;
	fake->uid = getuid() + 1;
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	assert_int_equal(fake->variable_count, 0);
	expect_said("slurm/17");
}

static void hostile_job_ids_are_no_paths(void **state)
{
	static const char *const texts[] = {
		NULL, "", "../17", "17/", "0017x", "x", "99999999999999999999"
	};
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		bed_start(bed, S_CTX_REMOTE);
		fake->job_id = 18;
		fake->job_id_text = texts[i];
		step_begin(bed, NULL);
		assert_int_equal(task(bed, 0), 1);
		expect_said("slurm/18");
	}
}

static void a_forged_option_ends_the_task_and_not_the_step(void **state)
{
	struct bed *bed = *state;
	char endless[5000];

	write_file(bed, "17", "VNIS=1024\n", 0600);
	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = 0;
	for (size_t i = 0; i < 3; i++) {
		const char *const forged[] = { "$(id)\n", endless, "" };

		bed_start(bed, S_CTX_REMOTE);
		step_begin(bed, forged[i]);
		assert_int_equal(task(bed, 0), 1);
		expect_said("error: fairlead: --fairlead: ");
		assert_int_equal(fake->variable_count, 0);
	}
}

static void what_slurm_does_not_do_ends_the_task(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	bed_start(bed, S_CTX_REMOTE);
	fake->fail_setenv = ESPANK_ENV_EXISTS;
	step_begin(bed, NULL);
	assert_int_equal(task(bed, 0), 1);
	expect_said("cannot change the tasks' environment: Some error");
	bed_start(bed, S_CTX_REMOTE);
	fake->fail_item = ESPANK_BAD_ARG;
	step_begin(bed, "off");
	assert_int_equal(task(bed, 0), 1);
	expect_said("does not say which job this is, and whose: Some error");
}

static void a_wrong_line_of_plugstack_conf_ends_the_task(void **state)
{
	struct bed *bed = *state;

	write_file(bed, "17", "VNIS=1024\n", 0600);
	add_argument(bed, "jobsdir=/x");
	bed_start(bed, S_CTX_REMOTE);
	step_begin(bed, "off");
	assert_int_equal(task(bed, 0), 1);
	expect_said("plugstack.conf: jobsdir=/x is not default=");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_make, bed_destroy)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(tasks_have_the_lanes_variables),
		TEST(another_submitters_jobs_are_read_where_it_is_named),
		TEST(a_promised_lane_that_is_missing_ends_each_task),
		TEST(what_nobody_asked_for_is_missed_where_it_is_the_rule),
		TEST(a_lane_that_may_be_missing_is_warned_about),
		TEST(who_asks_for_nothing_is_not_touched),
		TEST(a_step_may_go_without_its_jobs_lane),
		TEST(HT06_a_step_of_a_job_with_trees_has_its_own_id),
		TEST(HC02_tasks_run_where_no_clean_up_can_be_started),
		TEST(HT08_a_step_without_its_jobs_trees_has_no_id),
		TEST(HT06_no_task_has_trees_under_no_id),
		TEST(a_wrong_file_ends_tasks_whatever_was_asked_for),
		TEST(a_component_has_its_leaders_lane),
		TEST(a_lane_of_its_own_goes_before_any_leaders),
		TEST(no_leader_helps_out_for_a_lane_that_is_wrong),
		TEST(anothers_job_is_nobodys_leader),
		TEST(hostile_job_ids_are_no_paths),
		TEST(a_forged_option_ends_the_task_and_not_the_step),
		TEST(what_slurm_does_not_do_ends_the_task),
		TEST(a_wrong_line_of_plugstack_conf_ends_the_task),
	};

	if (argc != 2)
		return 1;
	plugin_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
