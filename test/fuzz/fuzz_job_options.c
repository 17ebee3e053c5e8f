/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a user asks for with --fairlead: errors have printable characters only
 * and fit, and what is taken from a good text is in bounds.
 */
#include <ctype.h>

#include "fuzz.h"
#include "lanes/plugin/common/job_options.h"
#include "lanes/plugin/slurm/lane.h"

static void check_printable(const char *text)
{
	fuzz_check(*text != 0);
	for (; *text; text++)
		fuzz_check(isprint((unsigned char)*text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char options[FAIRLEAD_OPTIONS_MAX + 1];
	struct fairlead_error error = { 0 };
	char line[LANE_TEXT_MAX];
	int result = job_options_split(text, interconnect, options, &error);

	if (result < 0) {
		fuzz_check(error.code == result);
		check_printable(error.text);
		lane_explain(LANE_FAIL, "slurm/1", text, &error, line);
		check_printable(line);
	} else {
		fuzz_check(strlen(options) <= strlen(text));
		fuzz_check(strpbrk(options, " \n'\"$;&|<>/\\") == NULL);
		fuzz_check(strncmp(options, "interconnect=", 13) != 0 &&
			   strstr(options, ",interconnect=") == NULL);
		fuzz_check(lane_intent(text, LANE_MUST).is_refused ==
			   (lane_intent(text, LANE_MUST).expectation ==
			    LANE_NONE));
	}
	fuzz_check(lane_leader(text, 7) != 7);
	free(text);
	return 0;
}
