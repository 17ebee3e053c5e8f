/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gathered answers: what is refused changes nothing, and what is taken is
 * encoded as it came and never taken twice.
 *
 * Input: the number of places in two bytes, then the message.
 */
#include <errno.h>

#include "fuzz.h"
#include "lanes/proto/gather.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer again = { 0 };
	struct gather gather;
	int result;

	if (size < 2 ||
	    gather_init(&gather, data[0] | (uint32_t)data[1] << 8) < 0)
		return 0;
	data += 2;
	size -= 2;
	result = gather_merge(&gather, data, size);
	fuzz_check(gather_encode(&gather, &again) == 0);
	if (result < 0) {
		fuzz_check(gather.set_count == 0 && gather.carried_count == 0);
	} else {
		fuzz_check(again.size == size);
		fuzz_check(memcmp(again.data, data, size) == 0);
		if (gather.set_count > 0)
			fuzz_check(gather_merge(&gather, data, size) ==
				   -EEXIST);
	}
	writer_fini(&again);
	gather_fini(&gather);
	return 0;
}
