/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of lanes on Ethernet, as a node's journal gives them back: refused
 * with a text, or encoded again to the same bytes.
 */
#include <errno.h>

#include "lanes/driver/ethernet/record.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fairlead_record record = { .size = size };
	struct fairlead_record again = { 0 };
	struct ethernet_made made = { 0 };
	struct fairlead_error error = { 0 };

	if (size > 0 && size <= sizeof(record.bytes))
		memcpy(record.bytes, data, size);
	if (ethernet_record_decode(&record, &made, &error) < 0) {
		fuzz_check(error.code == -EBADMSG && error.text[0] != 0);
		return 0;
	}
	fuzz_check(made.count <= ETHERNET_DEVICES_MAX);
	if (size == 0) {
		fuzz_check(made.count == 0);
		return 0;
	}
	ethernet_record_encode(&made, &again);
	fuzz_check(again.size == size);
	fuzz_check(memcmp(again.bytes, data, size) == 0);
	return 0;
}
