/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What flux prints of its job manager's plugins: each text is read to its end,
 * and what is found is in it.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/cli/flux/said.h"
#include "fuzz.h"

static void list_check(const char *text)
{
	_auto_(freep) char *rival = flux_list_rival(text);

	fuzz_check(!rival || strstr(text, rival));
	fuzz_check(!rival || !strchr(rival, '\n'));
	fuzz_check(!rival || flux_list_has(text, rival));
	fuzz_check(!flux_list_has(text, FLUX_JOBTAP_FILE) ||
		   strstr(text, FLUX_JOBTAP_FILE));
}

static void json_check(const char *text)
{
	struct fairlead_error error = { 0 };
	struct flux_jobtap jobtap;
	bool does_load = false;
	int result = flux_config_loads(text, "x.so", &does_load, &error);

	fuzz_check(result == 0 || (result == -EINVAL && error.text[0]));
	fuzz_check(!does_load || strstr(text, "x.so") || strchr(text, '\\'));
	result = flux_jobtap_parse(text, &jobtap, &error);
	fuzz_check(result == 0 || (result == -EINVAL && error.text[0]));
	fuzz_check(jobtap.path && jobtap.version && jobtap.submitter &&
		   jobtap.otherwise && jobtap.inside && jobtap.manager &&
		   jobtap.trouble);
	fuzz_check(jobtap.prolog_timeout_s >= 0);
	flux_jobtap_fini(&jobtap);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	uint32_t number;

	list_check(text);
	json_check(text);
	flux_number(text, &number);
	return 0;
}
