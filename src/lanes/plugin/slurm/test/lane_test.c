/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a lane was promised, and what becomes of the tasks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>

#include "lanes/plugin/slurm/lane.h"

static void without_an_option_the_default_holds(void **state)
{
	for (int i = LANE_NONE; i <= LANE_MUST; i++) {
		struct lane_intent intent =
			lane_intent(NULL, (enum lane_expectation)i);

		assert_int_equal(intent.expectation, i);
		assert_false(intent.is_refused);
	}
}

static void an_option_asks_for_a_lane_unless_it_says_none(void **state)
{
	for (int i = LANE_NONE; i <= LANE_MUST; i++) {
		enum lane_expectation otherwise = (enum lane_expectation)i;
		struct lane_intent intent = lane_intent("vnis=2", otherwise);

		assert_int_equal(intent.expectation,
				 otherwise == LANE_MAY ? LANE_MAY : LANE_MUST);
		assert_false(intent.is_refused);
		intent = lane_intent("off", otherwise);
		assert_int_equal(intent.expectation, LANE_NONE);
		assert_true(intent.is_refused);
	}
}

static void what_is_missing_is_judged_by_what_was_promised(void **state)
{
	struct lane_intent intent = { .expectation = LANE_NONE };

	assert_int_equal(lane_judge(&intent, -ENOENT), LANE_GO);
	intent.expectation = LANE_MAY;
	assert_int_equal(lane_judge(&intent, -ENOENT), LANE_WARN);
	intent.expectation = LANE_MUST;
	assert_int_equal(lane_judge(&intent, -ENOENT), LANE_FAIL);
}

static void what_is_there_and_wrong_fails_whatever_was_promised(void **state)
{
	static const int codes[] = { -EBADMSG, -EPERM, -EACCES, -EINVAL,
				     -ENOMEM,  -EIO,   -EMFILE };

	for (int i = LANE_NONE; i <= LANE_MUST; i++) {
		struct lane_intent intent = {
			.expectation = (enum lane_expectation)i
		};

		assert_int_equal(lane_judge(&intent, 0), LANE_GO);
		for (size_t k = 0; k < sizeof(codes) / sizeof(codes[0]); k++)
			assert_int_equal(lane_judge(&intent, codes[k]),
					 LANE_FAIL);
	}
}

static void users_get_messages_with_a_remedy(void **state)
{
	struct fairlead_error error = { .code = -ENOENT,
					.text = "job 's/5' has no lane" };
	char text[LANE_TEXT_MAX];

	lane_explain(LANE_FAIL, "s/5", "vnis=2", &error, text);
	assert_non_null(strstr(text, error.text));
	assert_non_null(strstr(text, "when it is submitted"));
	assert_non_null(strstr(text, "fairlead explain s/5"));
	lane_explain(LANE_FAIL, "s/5", NULL, &error, text);
	assert_non_null(strstr(text, "--fairlead=off"));
	assert_non_null(strstr(text, "fairlead explain s/5"));
	lane_explain(LANE_WARN, "s/5", NULL, &error, text);
	assert_non_null(strstr(text, error.text));
	assert_non_null(strstr(text, "without one"));
	error.code = -EBADMSG;
	lane_explain(LANE_FAIL, "s/5", NULL, &error, text);
	assert_non_null(strstr(text, "administrator"));
	assert_null(strstr(text, "off"));
}

static void the_longest_error_leaves_room_for_what_to_do(void **state)
{
	struct fairlead_error error = { .code = -ENOENT };
	char text[LANE_TEXT_MAX];
	const char *job = "12345678901234567890123456789012/4294967295";

	memset(error.text, 'x', sizeof(error.text) - 1);
	lane_explain(LANE_FAIL, job, "vnis=2", &error, text);
	assert_string_equal(text + strlen(text) - strlen(job) - 1,
			    "12345678901234567890123456789012/4294967295'");
}

static void the_leader_is_another_job_id_that_is_one(void **state)
{
	assert_int_equal(lane_leader("13", 14), 13);
	assert_int_equal(lane_leader("4294967295", 14), UINT32_MAX);
	assert_int_equal(lane_leader("14", 14), 0);
	assert_int_equal(lane_leader(NULL, 14), 0);
	assert_int_equal(lane_leader("", 14), 0);
	assert_int_equal(lane_leader("0", 14), 0);
	assert_int_equal(lane_leader("-1", 14), 0);
	assert_int_equal(lane_leader(" 1", 14), 0);
	assert_int_equal(lane_leader("1/../2", 14), 0);
	assert_int_equal(lane_leader("4294967296", 14), 0);
	assert_int_equal(lane_leader("99999999999", 14), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_option_the_default_holds),
		cmocka_unit_test(an_option_asks_for_a_lane_unless_it_says_none),
		cmocka_unit_test(
			what_is_missing_is_judged_by_what_was_promised),
		cmocka_unit_test(
			what_is_there_and_wrong_fails_whatever_was_promised),
		cmocka_unit_test(users_get_messages_with_a_remedy),
		cmocka_unit_test(the_longest_error_leaves_room_for_what_to_do),
		cmocka_unit_test(the_leader_is_another_job_id_that_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
