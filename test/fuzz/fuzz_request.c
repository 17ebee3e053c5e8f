/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: JSON is refused with a text, or everything in the request is in
 * bounds.
 */
#include <errno.h>

#include "base/runs.h"
#include "fuzz.h"
#include "lanes/proto/client.h"
#include "lanes/proto/message.h"
#include "lanes/proto/request.h"

static void bounds_check(const struct request *request)
{
	fuzz_check(name_is_key(request->key_text));
	fuzz_check(name_is_driver(request->interconnect));
	fuzz_check(name_is_options(request->options));
	fuzz_check(strlen(request->nodes_text) <= NODES_TEXT_MAX);
	fuzz_check(strlen(request->cores_text) <= RUNS_TEXT_MAX);
	fuzz_check(strlen(request->tasks_text) <= RUNS_TEXT_MAX);
	fuzz_check(hostlist_duplicate(request->nodes) == -ENOENT);
	for (size_t i = 0; i < request->nodes->count; i++) {
		fuzz_check(request->cores[i] >= 1 &&
			   request->cores[i] <= RUNS_VALUE_MAX);
		fuzz_check(request->tasks[i] >= 1 &&
			   request->tasks[i] <= RUNS_VALUE_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request *request = NULL;
	struct fairlead_error error;
	json_t *json;
	int result;

	if (client_parse(data, size, &json, &error) < 0) {
		fuzz_check(error.text[0] != 0);
		return 0;
	}
	result = request_parse_json(json, "none", &request, &error);
	json_decref(json);
	if (result < 0) {
		fuzz_check(result == -EINVAL || result == -E2BIG);
		fuzz_check(error.code == result && error.text[0] != 0);
		return 0;
	}
	bounds_check(request);
	request_destroy(request);
	return 0;
}
