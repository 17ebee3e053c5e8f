/* SPDX-License-Identifier: BSD-3-Clause */
/* Lists of jobs, good and hostile, and what they say of grants. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/cli/reconcile/listing.h"

typedef int parse_fn(const char *text, size_t size,
		     struct job_listing **ret_listing,
		     struct fairlead_error *ret_error);

static struct job_listing *parsed(parse_fn *parse, const char *text)
{
	struct job_listing *listing = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(parse(text, strlen(text), &listing, &error), 0);
	assert_non_null(listing);
	return listing;
}

static void assert_refused(parse_fn *parse, const char *text, size_t size,
			   const char *wanted)
{
	struct job_listing *listing = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(parse(text, size, &listing, &error), -EINVAL);
	assert_null(listing);
	if (!strstr(error.text, wanted))
		fail_msg("'%s' is not in '%s'", wanted, error.text);
}

static void slurm_states_are_read(void **state)
{
	_auto_(listing_destroyp) struct job_listing *listing =
		parsed(listing_parse_slurm, "5|5|RUNNING\n"
					    "6|6|COMPLETED\n"
					    "7|7|COMPLETING\n"
					    "8|8|PENDING\n"
					    "9|9|CONFIGURING\n"
					    "10|10|SUSPENDED\n"
					    "11|11|NODE_FAIL\n"
					    "12|12|REVOKED\n"
					    "13|13|SOMETHING_NEW\n"
					    "4294967295|4294967295|RUNNING\n");

	assert_int_equal(listing->line_count, 10);
	assert_int_equal(listing->count, 10);
	assert_int_equal(listing_state(listing, "5"), LISTED_RUNNING);
	assert_int_equal(listing_state(listing, "6"), LISTED_OVER);
	assert_int_equal(listing_state(listing, "7"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "8"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "9"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "10"), LISTED_RUNNING);
	assert_int_equal(listing_state(listing, "11"), LISTED_OVER);
	assert_int_equal(listing_state(listing, "12"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "13"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "4294967295"), LISTED_RUNNING);
	assert_int_equal(listing_state(listing, "14"), LISTED_NOT);
	assert_int_equal(listing_state(listing, ""), LISTED_NOT);
	assert_int_equal(listing_state(listing, "55555555555555555555"),
			 LISTED_NOT);
}

/* As squeue 22.05 has printed it. */
static void a_job_of_an_array_goes_by_its_own_id(void **state)
{
	_auto_(listing_destroyp) struct job_listing *listing =
		parsed(listing_parse_slurm, "4|1_0|RUNNING\n"
					    "5|1_1|COMPLETED\n"
					    "1|1_[2-7,9,11%2]|PENDING\n"
					    "20|19_[1,3,5...]|PENDING\n");

	assert_int_equal(listing_state(listing, "4"), LISTED_RUNNING);
	assert_int_equal(listing_state(listing, "5"), LISTED_OVER);
	assert_int_equal(listing_state(listing, "1"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "20"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "19"), LISTED_NOT);
}

static void a_component_that_lives_keeps_the_leaders_grant(void **state)
{
	_auto_(listing_destroyp) struct job_listing *listing =
		parsed(listing_parse_slurm, "9|8+1|RUNNING\n"
					    "8|8+0|COMPLETED\n"
					    "12|12+0|CANCELLED\n"
					    "13|12+1|TIMEOUT\n");

	assert_int_equal(listing_state(listing, "8"), LISTED_RUNNING);
	/* Its own grant would be none: it does not lack one. */
	assert_int_equal(listing_state(listing, "9"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "12"), LISTED_OVER);
	assert_int_equal(listing_state(listing, "13"), LISTED_OVER);
}

static void an_empty_list_has_no_lines(void **state)
{
	_auto_(listing_destroyp) struct job_listing *listing =
		parsed(listing_parse_slurm, "");

	assert_int_equal(listing->line_count, 0);
	assert_int_equal(listing_state(listing, "1"), LISTED_NOT);
}

static void one_line_that_is_none_refuses_the_list(void **state)
{
	static const char *const lines[] = {
		"\n",
		"x|x|RUNNING\n",
		"5\n",
		"5|5\n",
		"5|5|\n",
		"5|5|RUNNING|\n",
		"5|5|RUNNING|6\n",
		"|5|RUNNING\n",
		"5||RUNNING\n",
		"0|0|RUNNING\n",
		"-5|5|RUNNING\n",
		" 5|5|RUNNING\n",
		"+5|5|RUNNING\n",
		"5|-5|RUNNING\n",
		"4294967296|5|RUNNING\n",
		"5|4294967296|RUNNING\n",
		"18446744073709551621|5|RUNNING\n",
		"5|99999999999999999999999999|RUNNING\n",
		"5|5+|RUNNING\n",
		"5|5+x|RUNNING\n",
		"5|5+1x|RUNNING\n",
		"5|5_|RUNNING\n",
		"5|5x|RUNNING\n",
		"5|5|running\n",
		"5|5|RUN NING\n",
		"5|5|RUNNING\r\n",
		"5|5|\xff\xfe\n",
		"slurm_load_jobs error: Unable to contact slurm controller\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++) {
		char text[256];

		snprintf(text, sizeof(text), "4|4|RUNNING\n%s6|6|RUNNING\n",
			 lines[i]);
		assert_refused(listing_parse_slurm, text, strlen(text),
			       "an invalid line");
	}
}

static void a_list_that_breaks_off_is_refused(void **state)
{
	static const char whole[] = "4|4|RUNNING\n15|15|RUNNING\n";
	static const size_t line = sizeof("4|4|RUNNING\n") - 1;
	struct fairlead_error error;

	for (size_t size = 1; size < sizeof(whole) - 1; size++) {
		struct job_listing *listing = NULL;

		if (size == line)
			continue;
		assert_int_equal(listing_parse_slurm(whole, size, &listing,
						     &error),
				 -EINVAL);
	}
	assert_refused(listing_parse_slurm, whole, sizeof(whole) - 2,
		       "cut off at '15|15|RUNNING'");
}

static void binary_junk_is_refused_and_quoted_clean(void **state)
{
	static const char zero[] = "4|4|RUNNING\n5\0|5|RUNNING\n";
	char junk[4096];
	struct job_listing *listing = NULL;
	struct fairlead_error error;

	assert_refused(listing_parse_slurm, zero, sizeof(zero) - 1,
		       "an invalid line");
	for (size_t i = 0; i < sizeof(junk); i++)
		junk[i] = (char)(i * 37 % 256);
	junk[sizeof(junk) - 1] = '\n';
	assert_int_equal(listing_parse_slurm(junk, sizeof(junk), &listing,
					     &error),
			 -EINVAL);
	assert_int_equal(strcspn(error.text, "\x1b\x01\x7f"),
			 strlen(error.text));
}

static void a_huge_list_is_taken(void **state)
{
	enum {
		COUNT = 200000
	};
	char *text = malloc(COUNT * 40), *end = text;
	_auto_(listing_destroyp) struct job_listing *listing = NULL;

	for (int i = COUNT; i > 0; i--)
		end += sprintf(end, "%d|%d|%s\n", i, i,
			       i % 2 ? "RUNNING" : "TIMEOUT");
	listing = parsed(listing_parse_slurm, text);
	assert_int_equal(listing->count, COUNT);
	assert_int_equal(listing_state(listing, "199999"), LISTED_RUNNING);
	assert_int_equal(listing_state(listing, "199998"), LISTED_OVER);
	free(text);
}

static void flux_states_are_read(void **state)
{
	_auto_(listing_destroyp) struct job_listing *listing =
		parsed(listing_parse_flux, "fMFBCC7|SCHED\n"
					   "fHyQn7y|RUN\n"
					   "fEj8MLB|CLEANUP\n"
					   "fBFW31H|INACTIVE\n"
					   "f1|DEPEND\n"
					   "fzzzzzzzzzzz|NEW\n");

	assert_int_equal(listing->line_count, 6);
	assert_int_equal(listing_state(listing, "fMFBCC7"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "fHyQn7y"), LISTED_RUNNING);
	assert_int_equal(listing_state(listing, "fEj8MLB"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "fBFW31H"), LISTED_OVER);
	assert_int_equal(listing_state(listing, "fzzzzzzzzzzz"), LISTED_LIVE);
	assert_int_equal(listing_state(listing, "fMFBCC8"), LISTED_NOT);
}

static void flux_lists_are_refused_as_a_whole(void **state)
{
	static const char *const lines[] = {
		"\n",
		"f|RUN\n",
		"fMFB0C7|RUN\n", /* no 0 in base 58 */
		"MFBCC7|RUN\n",
		"\xc6\x92MFBCC7|RUN\n",
		"fzzzzzzzzzzzz|RUN\n",
		"fMFBCC7\n",
		"fMFBCC7|\n",
		"fMFBCC7|Run\n",
		"fMFBCC7|RUN|x\n",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		assert_refused(listing_parse_flux, lines[i], strlen(lines[i]),
			       "an invalid line");
	assert_refused(listing_parse_flux, "f1|RUN", 6, "cut off");
}

static void only_names_that_hooks_make_are_judged(void **state)
{
	assert_true(listing_is_slurm_name("1"));
	assert_true(listing_is_slurm_name("4294967295"));
	assert_false(listing_is_slurm_name("4294967296"));
	assert_false(listing_is_slurm_name("0"));
	assert_false(listing_is_slurm_name("01"));
	assert_false(listing_is_slurm_name("1_2"));
	assert_false(listing_is_slurm_name("test"));
	assert_false(listing_is_slurm_name(""));
	assert_true(listing_is_flux_name("fMFBCC7"));
	assert_false(listing_is_flux_name("f"));
	assert_false(listing_is_flux_name("17"));
	assert_false(listing_is_flux_name(""));
}

static void more_than_eight_and_a_twentieth_need_force(void **state)
{
	assert_false(listing_is_much(0, 0));
	assert_false(listing_is_much(8, 9));
	assert_true(listing_is_much(9, 10));
	assert_true(listing_is_much(9, 179));
	assert_false(listing_is_much(9, 180));
	assert_false(listing_is_much(50, 1000));
	assert_true(listing_is_much(51, 1000));
}

static void all_of_several_need_force(void **state)
{
	assert_false(listing_is_much(1, 1));
	assert_true(listing_is_much(2, 2));
	assert_false(listing_is_much(2, 3));
}

static void only_what_both_lists_have_as_running_runs(void **state)
{
	_auto_(listing_destroyp) struct job_listing *first =
		parsed(listing_parse_slurm,
		       "1|1|RUNNING\n2|2|SUSPENDED\n3|3|RUNNING\n"
		       "4|4|PENDING\n8|8+0|RUNNING\n9|8+1|RUNNING\n");
	_auto_(listing_destroyp) struct job_listing *second =
		parsed(listing_parse_slurm,
		       "1|1|RUNNING\n2|2|RUNNING\n3|3|COMPLETED\n"
		       "4|4|RUNNING\n8|8+0|RUNNING\n9|8+1|RUNNING\n");

	assert_true(listing_is_running(first, second, "1"));
	assert_true(listing_is_running(first, second, "2"));
	assert_false(listing_is_running(first, second, "3"));
	assert_false(listing_is_running(first, second, "4"));
	assert_true(listing_is_running(first, second, "8"));
	assert_false(listing_is_running(first, second, "9"));
	assert_false(listing_is_running(first, second, "5"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slurm_states_are_read),
		cmocka_unit_test(a_job_of_an_array_goes_by_its_own_id),
		cmocka_unit_test(
			a_component_that_lives_keeps_the_leaders_grant),
		cmocka_unit_test(an_empty_list_has_no_lines),
		cmocka_unit_test(one_line_that_is_none_refuses_the_list),
		cmocka_unit_test(a_list_that_breaks_off_is_refused),
		cmocka_unit_test(binary_junk_is_refused_and_quoted_clean),
		cmocka_unit_test(a_huge_list_is_taken),
		cmocka_unit_test(flux_states_are_read),
		cmocka_unit_test(flux_lists_are_refused_as_a_whole),
		cmocka_unit_test(only_names_that_hooks_make_are_judged),
		cmocka_unit_test(only_what_both_lists_have_as_running_runs),
		cmocka_unit_test(more_than_eight_and_a_twentieth_need_force),
		cmocka_unit_test(all_of_several_need_force),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
