/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Combined answers: what is refused changes nothing, and what is taken is
 * encoded as it came and never taken twice.
 *
 * Input: the number of places in two bytes, then the message.
 */
#include <errno.h>

#include "fuzz.h"
#include "lanes/proto/combined.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer again = { 0 };
	struct combined combined;
	int result;

	if (size < 2 ||
	    combined_init(&combined, data[0] | (uint32_t)data[1] << 8) < 0)
		return 0;
	data += 2;
	size -= 2;
	result = combined_merge(&combined, data, size);
	fuzz_check(combined_encode(&combined, &again) == 0);
	if (result < 0) {
		fuzz_check(combined.set_count == 0 &&
			   combined.carried_count == 0);
	} else {
		fuzz_check(again.size == size);
		fuzz_check(memcmp(again.data, data, size) == 0);
		if (combined.set_count > 0)
			fuzz_check(combined_merge(&combined, data, size) ==
				   -EEXIST);
	}
	writer_fini(&again);
	combined_fini(&combined);
	return 0;
}
