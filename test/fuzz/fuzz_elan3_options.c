/* SPDX-License-Identifier: BSD-3-Clause */
/* A job's options: refused with a text, or completed to the same request. */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/driver/elan3/policy.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	char completed[FAIRLEAD_OPTIONS_MAX + 1];
	char again[FAIRLEAD_OPTIONS_MAX + 1];
	struct fairlead_error error = { 0 };
	struct elan3_request request;
	uint32_t rails = 0;

	if (elan3_request_parse(text, 4, &request, &error) < 0) {
		fuzz_check((error.code == -EINVAL || error.code == -E2BIG) &&
			   error.text[0] != 0);
		return 0;
	}
	for (uint32_t i = 0; i < request.set_count; i++) {
		fuzz_check(request.sets[i] != 0 && request.sets[i] < 16);
		fuzz_check((rails & request.sets[i]) == 0);
		rails |= request.sets[i];
	}
	elan3_request_format(&request, completed);
	fuzz_check(elan3_request_parse(completed, 4, &request, &error) == 0);
	elan3_request_format(&request, again);
	fuzz_check(strcmp(completed, again) == 0);
	return 0;
}
