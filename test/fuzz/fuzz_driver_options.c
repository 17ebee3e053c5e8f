/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's options, which come from users: they are refused with a text, or
 * their items are well formed; and what slingshot makes of them is written in
 * a form that reads back as the same.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/driver/common/options.h"
#include "lanes/driver/slingshot/policy.h"
#include "fuzz.h"

static void request_check(const char *text)
{
	const struct slingshot_policy *site = &slingshot_policy_default;
	struct slingshot_request request = { 0 };
	struct slingshot_request back = { 0 };
	struct fairlead_error error = { 0 };
	char formatted[FAIRLEAD_OPTIONS_MAX + 1];
	char again[FAIRLEAD_OPTIONS_MAX + 1];
	int result =
		slingshot_request_parse(text, site, site, 1, &request, &error);

	if (result < 0) {
		fuzz_check(error.code == result && error.text[0] != 0);
		return;
	}
	fuzz_check(request.vni_count <= SLINGSHOT_VNIS_MAX);
	fuzz_check(request.policy.tcs != 0);
	fuzz_check((request.policy.tcs & ~site->tcs) == 0);
	for (int type = 0; type < CXI_RSRC_TYPE_MAX; type++) {
		fuzz_check(request.policy.max[type] <= site->max[type]);
		fuzz_check(request.policy.per_core[type] <=
			   site->per_core[type]);
	}
	slingshot_request_format(&request, formatted);
	fuzz_check(slingshot_request_parse(formatted, site, site, 1, &back,
					   &error) == 0);
	slingshot_request_format(&back, again);
	fuzz_check(strcmp(formatted, again) == 0);
	fuzz_check(back.vni_count == request.vni_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);
	struct fairlead_error error = { 0 };
	struct options options;
	int result = options_parse(&options, text, &error);

	if (result < 0) {
		fuzz_check(result == -EINVAL || result == -E2BIG);
		fuzz_check(error.code == result && error.text[0] != 0);
		return 0;
	}
	fuzz_check(options.count <= OPTIONS_COUNT_MAX);
	for (size_t i = 0; i < options.count; i++) {
		fuzz_check(options.items[i].name[0] != 0);
		fuzz_check(strpbrk(options.items[i].name, "=,") == NULL);
		fuzz_check(!options.items[i].value ||
			   strchr(options.items[i].value, ',') == NULL);
	}
	request_check(text);
	return 0;
}
