/* SPDX-License-Identifier: BSD-3-Clause */
/* What is to be done to memory: refused, or encoded again to the same bytes. */
#include "fuzz.h"
#include "link/wire/reach.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reach reach;
	uint8_t again[REACH_HEAD_MAX];

	if (reach_decode(data, size, &reach) != 0)
		return 0;
	size_t head = reach_encode(&reach, again);
	fuzz_check(head + reach.operand_size == size);
	fuzz_check(memcmp(data, again, head) == 0);
	fuzz_check(reach.operands == data + head);
	fuzz_check(reach_result_size(&reach) <= REACH_DATA_MAX);
	fuzz_check(reach.operand_size == 0 ||
		   reach.operand_size % reach_value_size(&reach) == 0);
	fuzz_check(reach.kind <= REACH_WRITE ||
		   reach_size(&reach) <= REACH_DATA_MAX);
	return 0;
}
