/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plugin in srun, sbatch and salloc, and where SPANK tells nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dlfcn.h>

#include "lanes/plugin/slurm/test/bed.h"

/* --- srun, sbatch, salloc --- */

static const spank_context_t commands[] = { S_CTX_LOCAL, S_CTX_ALLOCATOR };

static void commands_hand_the_option_on(void **state)
{
	struct bed *bed = *state;

	for (size_t i = 0; i < 2; i++) {
		bed_start(bed, commands[i]);
		assert_int_equal(hook(bed, "slurm_spank_init"), 0);
		assert_string_equal(fake->option.name, "fairlead");
		assert_int_equal(fake->option.has_arg, 1);
		assert_int_equal(give_option("vnis=2", 0), 0);
		assert_int_equal(hook(bed, "slurm_spank_init_post_opt"), 0);
		assert_string_equal(fake->control, "vnis=2");
		assert_string_equal(fake->said, "");
	}
}

static void without_the_option_nothing_is_handed_on(void **state)
{
	struct bed *bed = *state;

	bed_start(bed, S_CTX_LOCAL);
	assert_int_equal(hook(bed, "slurm_spank_init"), 0);
	fake->call_count = 0;
	assert_int_equal(hook(bed, "slurm_spank_init_post_opt"), 0);
	assert_int_equal(fake->call_count, 0);
}

static void a_wrong_option_is_refused_by_the_command(void **state)
{
	struct bed *bed = *state;
	char endless[5000];

	memset(endless, 'x', sizeof(endless) - 1);
	endless[sizeof(endless) - 1] = 0;
	for (size_t i = 0; i < 2; i++) {
		const char *const wrong[] = { "", "a b", "$(id)", NULL,
					      endless };

		for (size_t k = 0; k < 5; k++) {
			bed_start(bed, commands[i]);
			assert_int_equal(hook(bed, "slurm_spank_init"), 0);
			assert_true(give_option(wrong[k], 0) < 0);
			expect_said("error: fairlead: --fairlead: ");
		}
	}
}

static void the_last_option_counts(void **state)
{
	struct bed *bed = *state;

	bed_start(bed, S_CTX_ALLOCATOR);
	assert_int_equal(hook(bed, "slurm_spank_init"), 0);
	assert_int_equal(give_option("vnis=2", 0), 0);
	assert_int_equal(give_option("off", 0), 0);
	assert_int_equal(hook(bed, "slurm_spank_init_post_opt"), 0);
	assert_string_equal(fake->control, "off");
}

static void commands_say_what_is_wrong_in_plugstack_conf(void **state)
{
	struct bed *bed = *state;

	add_argument(bed, "default=yes");
	bed_start(bed, S_CTX_LOCAL);
	assert_int_equal(hook(bed, "slurm_spank_init"), 0);
	assert_true(hook(bed, "slurm_spank_init_post_opt") < 0);
	expect_said("plugstack.conf: default=yes is not must, may or none");
}

static void what_slurm_refuses_is_said(void **state)
{
	struct bed *bed = *state;

	bed_start(bed, S_CTX_LOCAL);
	fake->fail_register = ESPANK_BAD_ARG;
	assert_true(hook(bed, "slurm_spank_init") < 0);
	expect_said("cannot offer --fairlead: Some error");
	bed_start(bed, S_CTX_LOCAL);
	fake->fail_control = ESPANK_NOT_LOCAL;
	assert_int_equal(hook(bed, "slurm_spank_init"), 0);
	assert_int_equal(give_option("off", 0), 0);
	assert_true(hook(bed, "slurm_spank_init_post_opt") < 0);
	expect_said("cannot hand --fairlead on to the job: Some error");
}

/* --- where SPANK tells nothing --- */

static void nothing_is_done_in_slurmd_and_beside_prologs(void **state)
{
	static const spank_context_t contexts[] = { S_CTX_SLURMD,
						    S_CTX_JOB_SCRIPT,
						    S_CTX_ERROR };
	static const char *const hooks[] = { "slurm_spank_init",
					     "slurm_spank_init_post_opt",
					     "slurm_spank_user_init",
					     "slurm_spank_task_init" };
	struct bed *bed = *state;

	add_argument(bed, "default=wrong");
	for (size_t i = 0; i < 3; i++)
		for (size_t k = 0; k < 4; k++) {
			bed_start(bed, contexts[i]);
			assert_int_equal(hook(bed, hooks[k]), 0);
			assert_int_equal(fake->call_count, 0);
			assert_string_equal(fake->said, "");
		}
}

static void prologs_epilogs_and_slurmd_have_no_hook_of_ours(void **state)
{
	static const char *const hooks[] = { "slurm_spank_job_prolog",
					     "slurm_spank_job_epilog",
					     "slurm_spank_slurmd_exit",
					     "slurm_spank_exit" };
	struct bed *bed = *state;

	bed_start(bed, S_CTX_SLURMD);
	for (size_t i = 0; i < 4; i++)
		assert_null(dlsym(bed->plugin, hooks[i]));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_make, bed_destroy)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(commands_hand_the_option_on),
		TEST(without_the_option_nothing_is_handed_on),
		TEST(a_wrong_option_is_refused_by_the_command),
		TEST(the_last_option_counts),
		TEST(commands_say_what_is_wrong_in_plugstack_conf),
		TEST(what_slurm_refuses_is_said),
		TEST(nothing_is_done_in_slurmd_and_beside_prologs),
		TEST(prologs_epilogs_and_slurmd_have_no_hook_of_ours),
	};

	if (argc != 2)
		return 1;
	plugin_path = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
