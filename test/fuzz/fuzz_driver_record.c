/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Records of lanes, as a node's journal gives them back: refused with a text,
 * or the variables that are added again to the same bytes.
 */
#include <errno.h>

#include "lanes/driver/common/variables.h"
#include "lanes/driver/elan3/record.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fairlead_record record = { .size = size };
	struct fairlead_record again = { 0 };
	struct elan3_share share = { 0 };
	struct fairlead_error error = { 0 };

	if (size > 0 && size <= sizeof(record.bytes))
		memcpy(record.bytes, data, size);
	if (variables_check(&record, elan3_variables, &error) < 0) {
		fuzz_check(error.code == -EBADMSG && error.text[0] != 0);
		return 0;
	}
	for (size_t i = 0; size > 0 && elan3_variables[i]; i++)
		variables_add(&again, elan3_variables[i],
			      variables_get(&record, elan3_variables[i]));
	fuzz_check(again.size == size);
	fuzz_check(memcmp(again.bytes, data, size) == 0);
	if (elan3_record_decode(&record, &share, &error) == 0)
		fuzz_check(size == 0 ? share.nodes == 0
				     : share.node < share.nodes);
	return 0;
}
