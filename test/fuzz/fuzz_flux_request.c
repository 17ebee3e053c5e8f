/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A jobspec's shell options, which come from users: they are refused with a
 * text, or what is passed on is made of what may be in an option.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "lanes/plugin/flux/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *options = json_loadb((const char *)data, size, 0, NULL);
	struct fairlead_error error = { 0 };
	struct lane_request request;
	int result;

	if (!json_is_object(options)) {
		json_decref(options);
		return 0;
	}
	result = lane_request_parse(options, &request, &error);
	if (result < 0) {
		fuzz_check(result == -EINVAL && error.code == result);
		fuzz_check(error.text[0] != 0);
	} else {
		fuzz_check(request.options[strspn(
				   request.options,
				   "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "=,_.:+-")] == '\0');
		fuzz_check(strlen(request.interconnect) <=
			   FAIRLEAD_DRIVER_NAME_MAX);
		fuzz_check(request.kind == LANE_REQUEST_LANE ||
			   request.kind == LANE_REQUEST_NONE ||
			   !request.options[0]);
	}
	json_decref(options);
	return 0;
}
