/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/lane.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID_DIGITS_MAX 10

static bool is_refused(const char *option)
{
	return job_options_has(option, "off") ||
	       job_options_has(option, "vnis=0") ||
	       job_options_has(option, "interconnect=none");
}

struct lane_intent lane_intent(const char *option,
			       enum lane_expectation otherwise)
{
	struct lane_intent intent = { .expectation = otherwise };

	if (!option)
		return intent;
	intent.is_refused = is_refused(option);
	if (intent.is_refused)
		intent.expectation = LANE_NONE;
	else if (otherwise != LANE_MAY)
		intent.expectation = LANE_MUST;
	return intent;
}

enum lane_verdict lane_judge(const struct lane_intent *intent, int result)
{
	if (result == 0)
		return LANE_GO;
	if (result != -ENOENT || intent->expectation == LANE_MUST)
		return LANE_FAIL;
	return intent->expectation == LANE_MAY ? LANE_WARN : LANE_GO;
}

void lane_explain(enum lane_verdict verdict, const char *job,
		  const char *option, const struct fairlead_error *error,
		  char ret_text[LANE_TEXT_MAX])
{
	if (verdict == LANE_WARN)
		snprintf(ret_text, LANE_TEXT_MAX,
			 "%s: the tasks run without one", error->text);
	else if (error->code != -ENOENT)
		snprintf(ret_text, LANE_TEXT_MAX,
			 "%s: no task of job '%s' runs here; tell your "
			 "administrator",
			 error->text, job);
	else if (option)
		snprintf(ret_text, LANE_TEXT_MAX,
			 "%s, and --fairlead asks for one: a job asks for it "
			 "when it is submitted, not by a step; if it did, see "
			 "'fairlead explain %s'",
			 error->text, job);
	else
		snprintf(ret_text, LANE_TEXT_MAX,
			 "%s, and was to have one: see 'fairlead explain %s', "
			 "or go without, by --fairlead=off",
			 error->text, job);
}

uint32_t lane_leader(const char *text, uint32_t id)
{
	unsigned long long number;
	size_t size = text ? strnlen(text, ID_DIGITS_MAX + 1) : 0;

	if (size == 0 || size > ID_DIGITS_MAX ||
	    strspn(text, "0123456789") < size)
		return 0;
	number = strtoull(text, NULL, 10);
	return number <= UINT32_MAX && number != id ? (uint32_t)number : 0;
}
