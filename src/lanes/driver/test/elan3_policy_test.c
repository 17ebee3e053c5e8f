/* SPDX-License-Identifier: BSD-3-Clause */
/* What the site allows, and what a job may ask for. */
#include "lanes/driver/elan3/policy.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/elan3/settings.h"

#define RAILS 4

static int policy_of(const struct fairlead_setting *list, size_t count,
		     struct elan3_policy *policy, struct fairlead_error *error)
{
	struct settings_errors errors = { 0 };
	const struct settings settings = { list, count, &errors };
	struct elan3_settings values = { 0 };
	int result;

	settings_read(&settings, &elan3_settings, &values);
	result = settings_finish(&errors, error);
	if (result == 0)
		elan3_policy_init(policy, &values);
	return result;
}

static void a_site_that_says_nothing_has_what_rms_had(void **state)
{
	struct elan3_policy policy;

	assert_int_equal(policy_of(NULL, 0, &policy, NULL), 0);
	assert_int_equal(idset_next(policy.contexts, 0), 0x400);
	assert_int_equal(idset_count(policy.contexts), 0x7fe - 0x400 + 1);
	assert_false(idset_has(policy.programs, 0));
	assert_int_equal(policy.rail_count, 1);
	assert_true(policy.is_reserve_fatal);
	assert_false(elan3_policy_is_down(&policy, 0, UINT32_MAX));
	elan3_policy_fini(&policy);
}

static void nodes_and_ports_are_down_as_the_site_says(void **state)
{
	static const struct fairlead_setting list[] = {
		{ .name = "down", .value = "3,8-9", .line = 1 },
		{ .name = "down_ports", .value = "0:1  2:5-6 2:7", .line = 2 },
	};
	struct elan3_policy policy;

	assert_int_equal(policy_of(list, 2, &policy, NULL), 0);
	assert_true(elan3_policy_is_down(&policy, 3, 1));
	assert_true(elan3_policy_is_down(&policy, 9, 1));
	assert_true(elan3_policy_is_down(&policy, 1, 1));
	assert_false(elan3_policy_is_down(&policy, 1, 2));
	assert_false(elan3_policy_is_down(&policy, 5, 3));
	assert_true(elan3_policy_is_down(&policy, 5, 7));
	assert_true(elan3_policy_is_down(&policy, 7, 4));
	assert_false(elan3_policy_is_down(&policy, 4, UINT32_MAX));
	elan3_policy_fini(&policy);
}

static void wrong_settings_are_all_named(void **state)
{
	static const struct fairlead_setting list[] = {
		{ .name = "contexts", .value = "1000-1100", .line = 1 },
		{ .name = "programs", .value = "0-5", .line = 2 },
		{ .name = "rails", .value = "32", .line = 3 },
		{ .name = "down", .value = "16384", .line = 4 },
		{ .name = "down_ports", .value = "1:2 3", .line = 5 },
		{ .name = "reserve_fatal", .value = "maybe", .line = 6 },
	};
	static const char *const parts[] = {
		"line 1: 'contexts': has 1000",
		"line 2: 'programs': has 0",
		"line 3: 'rails'",
		"line 4: 'down'",
		"line 5: 'down_ports': '3'",
		"line 6: 'reserve_fatal'",
	};
	struct fairlead_error error = { 0 };
	struct elan3_policy policy;

	assert_int_equal(policy_of(list, 6, &policy, &error), -EINVAL);
	for (size_t i = 0; i < 6; i++)
		if (!strstr(error.text, parts[i]))
			fail_msg("'%s' is not in '%s'", parts[i], error.text);
}

static void contexts_end_before_the_last(void **state)
{
	static const struct fairlead_setting bad[] = {
		{ .name = "contexts", .value = "1024-2047", .line = 1 },
	};
	static const struct fairlead_setting empty[] = {
		{ .name = "contexts", .value = "", .line = 1 },
	};
	struct fairlead_error error = { 0 };
	struct elan3_policy policy;

	assert_int_equal(policy_of(bad, 1, &policy, &error), -EINVAL);
	assert_int_equal(policy_of(empty, 1, &policy, &error), -EINVAL);
}

/* --- options --- */

static void completed_options_say_what_was_asked_for(void **state)
{
	static const struct {
		const char *options, *completed;
	} good[] = {
		{ "", "layout=block,rails=0" },
		{ "off", "off" },
		{ "layout=cyclic", "layout=cyclic,rails=0" },
		{ "rails=3", "layout=block,rails=3" },
		{ "rails=2+0:1,contexts=4",
		  "layout=block,rails=0+2:1,contexts=4" },
		{ "contiguous,layout=block",
		  "layout=block,rails=0,contiguous" },
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char text[FAIRLEAD_OPTIONS_MAX + 1];
		char again[FAIRLEAD_OPTIONS_MAX + 1];
		struct elan3_request request;

		assert_int_equal(elan3_request_parse(good[i].options, RAILS,
						     &request, NULL),
				 0);
		elan3_request_format(&request, text);
		assert_string_equal(text, good[i].completed);
		assert_int_equal(
			elan3_request_parse(text, RAILS, &request, NULL), 0);
		elan3_request_format(&request, again);
		assert_string_equal(text, again);
	}
}

static void rail_sets_become_masks(void **state)
{
	struct elan3_request request;

	assert_int_equal(
		elan3_request_parse("rails=0+2:3:1", RAILS, &request, NULL), 0);
	assert_int_equal(request.set_count, 3);
	assert_int_equal(request.sets[0], 5);
	assert_int_equal(request.sets[1], 8);
	assert_int_equal(request.sets[2], 2);
	assert_int_equal(elan3_request_rails(&request), 15);
}

static void wrong_options_are_refused(void **state)
{
	static const struct {
		const char *options, *part;
	} bad[] = {
		{ "colour=red", "no option 'colour'" },
		{ "off,rails=0", "'off' leaves nothing" },
		{ "off=1", "'off' takes no value" },
		{ "contiguous=yes", "'contiguous' takes no value" },
		{ "layout", "block or cyclic" },
		{ "layout=random", "block or cyclic" },
		{ "contexts", "contexts" },
		{ "contexts=0", "contexts" },
		{ "contexts=1024", "contexts" },
		{ "rails", "'' is no rail" },
		{ "rails=", "'' is no rail" },
		{ "rails=4", "'4' is no rail, 0 to 3" },
		{ "rails=0:0", "rail 0 twice" },
		{ "rails=1+1", "rail 1 twice" },
		{ "rails=0:", "'' is no rail" },
		{ "rails=0++1", "'' is no rail" },
		{ "rails=0,rails=1", "rails" },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct elan3_request request = { .contexts = 99 };
		struct fairlead_error error = { 0 };

		if (elan3_request_parse(bad[i].options, RAILS, &request,
					&error) != -EINVAL)
			fail_msg("'%s' is taken", bad[i].options);
		assert_int_equal(request.contexts, 99);
		if (!strstr(error.text, bad[i].part))
			fail_msg("'%s' is not in '%s'", bad[i].part,
				 error.text);
	}
}

static void more_sets_than_a_program_has_are_refused(void **state)
{
	char text[FAIRLEAD_OPTIONS_MAX + 1] = "rails=0";
	struct fairlead_error error = { 0 };
	struct elan3_request request;

	for (int i = 1; i < ELAN3_CAPS_MAX; i++)
		snprintf(text + strlen(text), 8, ":%d", i);
	assert_int_equal(elan3_request_parse(text, ELAN3_RAILS_MAX, &request,
					     &error),
			 0);
	strcat(text, ":30");
	assert_int_equal(elan3_request_parse(text, ELAN3_RAILS_MAX, &request,
					     &error),
			 -EINVAL);
	assert_non_null(strstr(error.text, "more than 16 sets"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_site_that_says_nothing_has_what_rms_had),
		cmocka_unit_test(nodes_and_ports_are_down_as_the_site_says),
		cmocka_unit_test(wrong_settings_are_all_named),
		cmocka_unit_test(contexts_end_before_the_last),
		cmocka_unit_test(completed_options_say_what_was_asked_for),
		cmocka_unit_test(rail_sets_become_masks),
		cmocka_unit_test(wrong_options_are_refused),
		cmocka_unit_test(more_sets_than_a_program_has_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
