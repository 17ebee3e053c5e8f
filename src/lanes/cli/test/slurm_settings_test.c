/* SPDX-License-Identifier: BSD-3-Clause */
/* What `scontrol show config` says, of several versions of Slurm. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "lanes/cli/slurm/settings.h"

static const char text[] = "Configuration data as of 2026-11-26T23:26:32\n"
			   "Epilog                  = /a/epilog\n"
			   "EpilogSlurmctld         = (null)\n"
			   "PrologFlags             = Alloc,DeferBatch\n"
			   "Prolog[0]               = /a/first\n"
			   "Prolog[1]               = /a/second \n"
			   "SlurmUser               = slurm(64030)\n"
			   "SwitchParameters        = \n"
			   "Odd                     = (n\n"
			   "PrologFlags             = other\n"
			   "Last                    = x = y";

static void expect(char *value_owned, const char *wanted)
{
	if (wanted)
		assert_string_equal(value_owned, wanted);
	else
		assert_null(value_owned);
	free(value_owned);
}

static void a_setting_is_found_by_its_whole_name(void **state)
{
	expect(slurm_setting(text, "Epilog"), "/a/epilog");
	expect(slurm_setting(text, "PrologFlags"), "Alloc,DeferBatch");
	expect(slurm_setting(text, "Odd"), "(n");
	expect(slurm_setting(text, "Last"), "x = y");
	expect(slurm_setting(text, "EpilogSlurmctld"), NULL);
	expect(slurm_setting(text, "SwitchParameters"), NULL);
	expect(slurm_setting(text, "Slurm"), NULL);
	expect(slurm_setting(text, "Configuration"), NULL);
	expect(slurm_setting("", "Epilog"), NULL);
	expect(slurm_setting("Epilog", "Epilog"), NULL);
	expect(slurm_setting("Epilog =", "Epilog"), NULL);
}

static void a_setting_may_have_several_values(void **state)
{
	expect(slurm_setting_at(text, "Prolog", 0), "/a/first");
	expect(slurm_setting_at(text, "Prolog", 1), "/a/second");
	expect(slurm_setting_at(text, "Prolog", 2), NULL);
	expect(slurm_setting_at(text, "Epilog", 0), "/a/epilog");
	expect(slurm_setting_at(text, "Epilog", 1), NULL);
}

static void words_are_whole(void **state)
{
	assert_true(slurm_setting_has("Alloc,DeferBatch", "deferbatch"));
	assert_true(slurm_setting_has("Alloc", "Alloc"));
	assert_false(slurm_setting_has("NoAlloc,Allocate", "Alloc"));
	assert_false(slurm_setting_has("", "Alloc"));
	assert_false(slurm_setting_has(NULL, "Alloc"));
}

static void a_uid_stands_in_brackets(void **state)
{
	uid_t uid = 7;

	assert_true(slurm_setting_uid("slurm(64030)", &uid));
	assert_int_equal(uid, 64030);
	assert_true(slurm_setting_uid("a(b)(0)", &uid));
	assert_int_equal(uid, 0);
	assert_false(slurm_setting_uid(NULL, &uid));
	assert_false(slurm_setting_uid("slurm", &uid));
	assert_false(slurm_setting_uid("slurm()", &uid));
	assert_false(slurm_setting_uid("slurm(1", &uid));
	assert_false(slurm_setting_uid("slurm(-1)", &uid));
	assert_false(slurm_setting_uid("slurm(4294967295)", &uid));
	assert_false(slurm_setting_uid("slurm(99999999999999999999999)", &uid));
	assert_int_equal(uid, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_setting_is_found_by_its_whole_name),
		cmocka_unit_test(a_setting_may_have_several_values),
		cmocka_unit_test(words_are_whole),
		cmocka_unit_test(a_uid_stands_in_brackets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
