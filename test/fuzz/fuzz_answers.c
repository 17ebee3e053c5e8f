/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a daemon sends to libfairlead: each call is answered exactly once, with
 * texts that are there, whatever comes and however it is cut.
 *
 * Input: one byte for the size of the pieces, then the stream.
 */
#include <unistd.h>

#include "lanes/client/handle.h"
#include "fuzz.h"

#define CALLS 3

struct seen {
	struct fairlead *handle;
	int count;
};

static void see(void *arg, const struct fairlead_answer *answer)
{
	struct seen *seen = arg;

	seen->count++;
	fuzz_check(seen->count == 1);
	fuzz_check(answer->result <= 0);
	fuzz_check(answer->error != NULL && answer->hint != NULL);
	fuzz_check((answer->result == 0) == (*answer->error == 0) ||
		   answer->result < 0);
	fuzz_check(answer->result < 0 || answer->json != NULL);
	fuzz_check(fairlead_process(seen->handle) == -EDEADLK);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct seen seen[CALLS] = { 0 };
	struct fairlead *handle;
	size_t piece;
	int delivered = 0;
	int result = 0;

	if (size == 0)
		return 0;
	piece = 1 + (size_t)data[0];
	fuzz_check(handle_create(dup(STDERR_FILENO), NULL, &handle) == 0);
	for (size_t i = 0; i < CALLS; i++) {
		seen[i].handle = handle;
		fuzz_check(fairlead_call_start(handle, "status", NULL, see,
					       &seen[i], NULL) == 0);
	}
	for (size_t at = 1; at < size && result == 0; at += piece)
		result = handle_feed(handle, data + at,
				     size - at < piece ? size - at : piece,
				     &delivered);
	fuzz_check(result == 0 || result == -EPROTO);
	fuzz_check(delivered <= CALLS);
	fairlead_close(handle);
	for (size_t i = 0; i < CALLS; i++)
		fuzz_check(seen[i].count == 1);
	return 0;
}
