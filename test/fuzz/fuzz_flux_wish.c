/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A jobspec's shell options, which come from users: they are refused with a
 * text, or what is passed on is made of what may be in an option.
 */
#include <errno.h>
#include <string.h>

#include "fuzz.h"
#include "lanes/plugin/flux/wish.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *options = json_loadb((const char *)data, size, 0, NULL);
	struct fairlead_error error = { 0 };
	struct wish wish;
	int result;

	if (!json_is_object(options)) {
		json_decref(options);
		return 0;
	}
	result = wish_parse(options, &wish, &error);
	if (result < 0) {
		fuzz_check(result == -EINVAL && error.code == result);
		fuzz_check(error.text[0] != 0);
	} else {
		fuzz_check(wish.options[strspn(
				   wish.options,
				   "abcdefghijklmnopqrstuvwxyz"
				   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "=,_.:+-")] == '\0');
		fuzz_check(strlen(wish.interconnect) <=
			   FAIRLEAD_DRIVER_NAME_MAX);
		fuzz_check(wish.kind == WISH_LANE || wish.kind == WISH_NONE ||
			   !wish.options[0]);
	}
	json_decref(options);
	return 0;
}
