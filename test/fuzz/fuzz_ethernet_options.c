/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's options on Ethernet, which come from users: refused with a text, or
 * within what the site has; and what is made of them reads back as the same at
 * a node. The same bytes as a completed text, for a node.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/driver/ethernet/policy.h"
#include "fuzz.h"

static const struct ethernet_policy site = {
	.classes = 0x0a,
	.isolations = 1u << ETHERNET_HOST,
	.first_class = ETHERNET_LOW_LATENCY,
	.reserved_mbit = 1000,
	.max_mbit = 25000,
};

static void site_check(const struct ethernet_request *request)
{
	fuzz_check((request->classes & ~site.classes) == 0);
	fuzz_check(request->isolation == ETHERNET_HOST);
	fuzz_check(request->reserved_mbit <= site.reserved_mbit);
	fuzz_check(request->max_mbit > 0);
	fuzz_check(request->max_mbit <= site.max_mbit);
}

static void request_check(const char *text,
			  const struct ethernet_policy *policy)
{
	struct ethernet_request request = { 0 };
	struct ethernet_request back = { 0 };
	struct fairlead_error error = { 0 };
	char formatted[FAIRLEAD_OPTIONS_MAX + 1];
	char again[FAIRLEAD_OPTIONS_MAX + 1];
	int result = ethernet_request_parse(text, policy, 1, &request, &error);

	if (result < 0) {
		fuzz_check(result == -EINVAL || result == -E2BIG);
		fuzz_check(error.code == result && error.text[0] != 0);
		return;
	}
	fuzz_check(request.vni_count <= ETHERNET_VNIS_MAX);
	fuzz_check(request.classes & 1u << request.first_class);
	fuzz_check(!request.max_mbit ||
		   request.reserved_mbit <= request.max_mbit);
	if (policy)
		site_check(&request);
	ethernet_request_format(&request, formatted);
	fuzz_check(ethernet_request_parse(formatted, NULL, 2, &back, &error) ==
		   0);
	ethernet_request_format(&back, again);
	fuzz_check(strcmp(formatted, again) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(freep) char *text = fuzz_text(data, size);

	request_check(text, &site);
	request_check(text, NULL);
	return 0;
}
