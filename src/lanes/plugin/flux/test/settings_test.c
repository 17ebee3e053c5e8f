/* SPDX-License-Identifier: BSD-3-Clause */
/* The table [fairlead] of Flux's configuration. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/plugin/flux/settings.h"

static int take(struct flux_settings *settings, const char *text,
		struct fairlead_error *error)
{
	json_t *table = json_loads(text, JSON_DECODE_ANY, NULL);
	int result;

	assert_non_null(table);
	result = settings_take(settings, table, error);
	json_decref(table);
	return result;
}

static void nothing_has_to_be_said(void **state)
{
	struct flux_settings settings;

	settings_init(&settings);
	assert_int_equal(settings_take(&settings, NULL, NULL), 0);
	assert_string_equal(settings.manager, "");
	assert_string_equal(settings.submitter, "flux");
	assert_int_equal(settings.otherwise, LANE_MUST);
	assert_true(settings.prolog_timeout_s == 60);
	assert_true(settings.epilog_timeout_s == 60);
}

static void every_setting_is_taken(void **state)
{
	struct flux_settings settings;
	struct fairlead_error error;

	settings_init(&settings);
	assert_int_equal(
		take(&settings,
		     "{\"manager\":\"tcp://head:7172\",\"submitter\":\"f-2\","
		     "\"default\":\"none\",\"prolog-timeout\":\"5m\","
		     "\"epilog-timeout\":\"90\"}",
		     &error),
		0);
	assert_string_equal(settings.manager, "tcp://head:7172");
	assert_string_equal(settings.submitter, "f-2");
	assert_int_equal(settings.otherwise, LANE_NONE);
	assert_true(settings.prolog_timeout_s == 300);
	assert_true(settings.epilog_timeout_s == 90);
	assert_int_equal(
		take(&settings, "{\"prolog-timeout\":\"1500ms\"}", &error), 0);
	assert_true(settings.prolog_timeout_s == 1.5);
}

static void what_is_wrong_is_named_and_changes_nothing(void **state)
{
	static const char *const wrong[][2] = {
		{ "{\"colour\":\"red\"}", "there is no setting 'colour'" },
		{ "{\"default\":\"maybe\"}", "default=maybe is not must" },
		{ "{\"default\":1}", "default is no text" },
		{ "{\"submitter\":\"a/b\"}", "submitter=a/b is not" },
		{ "{\"submitter\":\"\"}", "submitter= is not" },
		{ "{\"prolog-timeout\":\"0s\"}", "prolog-timeout is '0s'" },
		{ "{\"prolog-timeout\":\"-5s\"}", "prolog-timeout is '-5s'" },
		{ "{\"epilog-timeout\":\"5 s\"}", "epilog-timeout is '5 s'" },
		{ "{\"epilog-timeout\":\"25h\"}", "at most" },
		{ "[]", "no table" },
	};
	struct flux_settings settings, before;
	struct fairlead_error error;

	settings_init(&settings);
	before = settings;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(take(&settings, wrong[i][0], &error), -EINVAL);
		if (!strstr(error.text, wrong[i][1]))
			fail_msg("no '%s' in: %s", wrong[i][1], error.text);
		assert_memory_equal(&settings, &before, sizeof(before));
	}
	assert_int_equal(take(&settings,
			      "{\"submitter\":\"x\",\"default\":\"maybe\"}",
			      &error),
			 -EINVAL);
	assert_string_equal(settings.submitter, "flux");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_has_to_be_said),
		cmocka_unit_test(every_setting_is_taken),
		cmocka_unit_test(what_is_wrong_is_named_and_changes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
