/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports of failures, from the child and to the tag that they name: what is
 * opened is written the same again.
 */
#include "base/bytes.h"
#include "fuzz.h"
#include "scoll/wire/wire.h"

#define OFFSET_TAG 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_failure failures[WIRE_REPORT_FAILURES_MAX];
	struct reader names = reader_of(data, size);
	uint8_t again[WIRE_REPORT_MAX];
	struct wire_report report;
	enum wire_result result;
	scoll_nid_t sender;
	uint64_t tag;

	read_bytes(&names, OFFSET_TAG);
	tag = read_u64(&names);
	sender = read_u64(&names);
	result = wire_report_open(data, size, sender, tag, NULL, &report);
	fuzz_check(result < WIRE_RESULT_COUNT && result != WIRE_SEAL &&
		   result != WIRE_DIGEST);
	if (result != WIRE_OK)
		return 0;
	for (unsigned int i = 0; i < report.failure_count; i++)
		wire_failure_at(&report, i, &failures[i]);
	fuzz_check(wire_report_encode(&report, failures, 1, NULL, again) ==
		   (int)size);
	fuzz_check(memcmp(again, data, size) == 0);
	return 0;
}
