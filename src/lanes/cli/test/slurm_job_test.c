/* SPDX-License-Identifier: BSD-3-Clause */
/* A job as Slurm's environment has it, and what its user asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/cli/slurm/job.h"

struct variable {
	const char *name, *value;
};
static struct variable *variables;

static char *variable(const char *name)
{
	for (const struct variable *v = variables; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return (char *)v->value;
	return NULL;
}

#define READ(job, error, ...)                                            \
	(variables = (struct variable[]){ __VA_ARGS__, { NULL, NULL } }, \
	 slurm_job_read(variable, job, error))

static void a_job_at_the_controller(void **state)
{
	struct slurm_job job;

	assert_int_equal(READ(&job, NULL, { "SLURM_JOB_ID", "17" },
			      { "SLURM_JOB_UID", "1001" },
			      { "SLURM_JOB_GID", "100" },
			      { "SLURM_JOB_NODELIST", "n[0-1]" },
			      { "SLURM_JOB_CPUS_PER_NODE", "4(x2)" },
			      { "SLURM_JOB_RESTART_COUNT", "3" }),
			 0);
	assert_int_equal(job.id, 17);
	assert_int_equal(job.leader, 17);
	assert_false(job.is_component);
	assert_int_equal(job.uid, 1001);
	assert_int_equal(job.gid, 100);
	assert_int_equal(job.restart_count, 3);
	assert_string_equal(job.nodes, "n[0-1]");
	assert_string_equal(job.cores, "4(x2)");
	assert_null(job.node);
}

static void a_component_has_a_leader(void **state)
{
	struct slurm_job job;

	assert_int_equal(
		READ(&job, NULL, { "SLURM_JOB_ID", "18" },
		     { "SLURM_JOB_UID", "1001" }, { "SLURM_NODELIST", "n2" },
		     { "SLURMD_NODENAME", "n2" }, { "SLURM_HET_JOB_ID", "17" }),
		0);
	assert_int_equal(job.leader, 17);
	assert_true(job.is_component);
	assert_int_equal(job.gid, SLURM_GID_UNKNOWN);
	assert_string_equal(job.nodes, "n2");
	assert_string_equal(job.node, "n2");
	assert_null(job.all_nodes);
}

/* The last one of an array that starts has the id of the array. */
static void one_of_an_array_is_no_other(void **state)
{
	char text[SLURM_JOB_TEXT_MAX];
	struct slurm_job job;

	assert_int_equal(READ(&job, NULL, { "SLURM_JOB_ID", "17" },
			      { "SLURM_JOB_UID", "1001" },
			      { "SLURM_ARRAY_JOB_ID", "17" },
			      { "SLURM_ARRAY_TASK_ID", "0" }),
			 0);
	slurm_job_format(&job, text);
	assert_string_equal(text, "17_0");
	assert_int_equal(READ(&job, NULL, { "SLURM_JOB_ID", "4294967294" },
			      { "SLURM_JOB_UID", "1001" },
			      { "SLURM_ARRAY_JOB_ID", "4294967290" },
			      { "SLURM_ARRAY_TASK_ID", "4294967294" }),
			 0);
	slurm_job_format(&job, text);
	assert_string_equal(text, "4294967290_4294967294");
	assert_int_equal(READ(&job, NULL, { "SLURM_JOB_ID", "17" },
			      { "SLURM_JOB_UID", "1001" }),
			 0);
	slurm_job_format(&job, text);
	assert_string_equal(text, "17");
}

static void wrong_variables_are_named(void **state)
{
	static const char *const numbers[] = { "",           "-1", "1x",
					       " 1",         "0x", "4294967295",
					       "99999999999" };
	struct fairlead_error error;
	struct slurm_job job;

	assert_int_equal(READ(&job, &error, { "SLURM_JOB_UID", "1" }),
			 -ENODATA);
	assert_non_null(strstr(error.text, "SLURM_JOB_ID"));
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_true(READ(&job, &error, { "SLURM_JOB_ID", "1" },
				 { "SLURM_JOB_UID", numbers[i] }) < 0);
		assert_non_null(strstr(error.text, "SLURM_JOB_UID"));
		if (i > 0)
			assert_int_equal(
				READ(&job, &error, { "SLURM_JOB_ID", "1" },
				     { "SLURM_JOB_UID", "1" },
				     { "SLURM_HET_JOB_ID", numbers[i] }),
				-EINVAL);
	}
}

static void options_are_taken_as_they_are(void **state)
{
	struct slurm_job job = { 0 };

	assert_int_equal(slurm_job_options(NULL, &job, NULL), 0);
	assert_string_equal(job.options, "");
	assert_int_equal(slurm_job_options("", &job, NULL), 0);
	assert_int_equal(slurm_job_options("vnis=2,tcs=A:B,reserved=1.5G", &job,
					   NULL),
			 0);
	assert_string_equal(job.options, "vnis=2,tcs=A:B,reserved=1.5G");
	assert_string_equal(job.interconnect, "");
	assert_int_equal(slurm_job_options("off", &job, NULL), 0);
	assert_string_equal(job.options, "off");
	assert_int_equal(slurm_job_options("max=", &job, NULL), 0);
	assert_string_equal(job.options, "max=");
}

static void interconnect_is_taken_out(void **state)
{
	struct slurm_job job = { 0 };

	assert_int_equal(slurm_job_options("interconnect=ethernet", &job, NULL),
			 0);
	assert_string_equal(job.interconnect, "ethernet");
	assert_string_equal(job.options, "");
	assert_int_equal(slurm_job_options("vnis=1,interconnect=elan3,max=3",
					   &job, NULL),
			 0);
	assert_string_equal(job.interconnect, "elan3");
	assert_string_equal(job.options, "vnis=1,max=3");
}

static void more_variables_of_the_user_than_fit_a_hook_are_refused(void **state)
{
	static char first[SLURM_SPANK_MAX / 2 + 1] = "SPANK_FAIRLEAD=";
	static char second[SLURM_SPANK_MAX / 2] = "SPANK_";
	static char others[SLURM_SPANK_MAX] = "PATH=";
	char *environment[] = { others, first, NULL, NULL };
	struct fairlead_error error;

	memset(first + strlen(first), 'a', sizeof(first) - 1 - strlen(first));
	memset(second + strlen(second), 'a',
	       sizeof(second) - 1 - strlen(second));
	memset(others + strlen(others), 'a',
	       sizeof(others) - 1 - strlen(others));
	assert_int_equal(slurm_job_spank_check(environment, &error), 0);
	environment[2] = second;
	assert_int_equal(slurm_job_spank_check(environment, &error), -E2BIG);
	assert_string_equal(error.text,
			    "the job's SPANK variables have 1048577 bytes; at "
			    "most 1048576");
	first[sizeof(first) - 2] = 0;
	assert_int_equal(slurm_job_spank_check(environment, NULL), 0);
	environment[0] = NULL;
	assert_int_equal(slurm_job_spank_check(environment, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_at_the_controller),
		cmocka_unit_test(a_component_has_a_leader),
		cmocka_unit_test(one_of_an_array_is_no_other),
		cmocka_unit_test(wrong_variables_are_named),
		cmocka_unit_test(options_are_taken_as_they_are),
		cmocka_unit_test(interconnect_is_taken_out),
		cmocka_unit_test(
			more_variables_of_the_user_than_fit_a_hook_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
