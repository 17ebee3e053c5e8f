/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user asks for with --fairlead, at both ends: what the plugin lets a
 * command submit is what the job's hooks take, and the other way round. What is
 * said of it has printable characters only, and fits.
 */
#include <ctype.h>

#include "lanes/cli/slurm/job.h"
#include "fuzz.h"
#include "lanes/plugin/slurm/lane.h"
#include "lanes/plugin/slurm/option.h"

static void check_printable(const char *text)
{
	fuzz_check(*text != 0);
	for (; *text; text++)
		fuzz_check(isprint((unsigned char)*text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	struct slurm_job job = { 0 };
	char told[LANE_TEXT_MAX];
	int result = option_check(text, &error);

	/* Nothing at all is nothing to the hooks, and no option. */
	if (*text)
		fuzz_check(result == slurm_job_options(text, &job, NULL));
	else
		fuzz_check(result < 0);
	if (result < 0) {
		fuzz_check(error.code == result);
		check_printable(error.text);
		lane_explain(LANE_FAIL, "slurm/1", text, &error, told);
		check_printable(told);
	} else {
		fuzz_check(lane_intent(text, LANE_MUST).is_refused ==
			   option_is_none(text));
	}
	fuzz_check(lane_leader(text, 7) != 7);
	free(text);
	return 0;
}
