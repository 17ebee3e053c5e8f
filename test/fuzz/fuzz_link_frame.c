/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames: refused, or encoded again to the same bytes. */
#include "fuzz.h"
#include "link/wire/frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct link_frame frame;
	uint8_t again[FRAME_READY_MAX];
	bool is_whole = frame_decode(data, size, false, &frame) == 0;

	if (frame_decode(data, size, true, &frame) != 0) {
		fuzz_check(!is_whole);
		return 0;
	}
	size_t fixed = frame_encode(&frame, again);
	size_t payload = frame.payload == NULL ? 0 : (size_t)frame.size;
	fuzz_check(fixed + payload <= size);
	fuzz_check(is_whole == (fixed + payload == size));
	fuzz_check(memcmp(data, again, fixed) == 0);
	fuzz_check(frame.payload == NULL || frame.payload == data + fixed);
	if (frame.kind != FRAME_RAILS)
		return 0;
	for (unsigned int i = 0; i <= frame.rail_count; i++) {
		struct rail_address rail;
		if (frame_get_rail(&frame, i, &rail) == 0)
			fuzz_check(i < frame.rail_count && rail.size > 0 &&
				   rail.size <= RAIL_ADDRESS_MAX);
	}
	return 0;
}
