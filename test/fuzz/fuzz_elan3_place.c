/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Places, as nodes tell them: refused, or encoded again to the same bytes; and
 * checked against a file, with a text where they do not fit it.
 */
#include <errno.h>

#include "lanes/driver/elan3/place.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fairlead_place bytes = { .size = size }, again;
	struct fairlead_error error = { 0 };
	struct elan3_place place;
	int result;

	if (size > sizeof(bytes.bytes))
		return 0;
	memcpy(bytes.bytes, data, size);
	if (elan3_place_decode(&bytes, &place) < 0)
		return 0;
	elan3_place_encode(&place, &again);
	fuzz_check(again.size == size);
	fuzz_check(memcmp(again.bytes, data, size) == 0);
	result = elan3_place_check(&place, 3, 7, &error);
	fuzz_check(result == error.code && (result == 0) == !error.text[0]);
	return 0;
}
