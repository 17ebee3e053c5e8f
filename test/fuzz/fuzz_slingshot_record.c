/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of lanes, as a node's journal gives them back: refused with a text,
 * or encoded again to the same bytes.
 */
#include <errno.h>

#include "lanes/driver/slingshot/record.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fairlead_record record = { .size = size };
	struct fairlead_record again = { 0 };
	struct slingshot_services services = { 0 };
	struct fairlead_error error = { 0 };

	if (size > 0 && size <= sizeof(record.bytes))
		memcpy(record.bytes, data, size);
	if (slingshot_record_decode(&record, &services, &error) < 0) {
		fuzz_check(error.code == -EBADMSG && error.text[0] != 0);
		return 0;
	}
	fuzz_check(services.count <= SLINGSHOT_DEVICES_MAX);
	if (size == 0) {
		fuzz_check(services.count == 0);
		return 0;
	}
	slingshot_record_encode(&services, &again);
	fuzz_check(again.size == size);
	fuzz_check(memcmp(again.bytes, data, size) == 0);
	return 0;
}
