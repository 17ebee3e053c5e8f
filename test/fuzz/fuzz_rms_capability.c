/* SPDX-License-Identifier: BSD-3-Clause */
/* A capability is refused, or it encodes, in its form, to the same bytes. */
#include <string.h>

#include "fuzz.h"
#include "elan/capability.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader reader = reader_of(data, size);
	struct elan_capability cap;
	struct writer writer = { 0 };

	capability_read(&reader, &cap);
	if (!reader_is_done(&reader))
		return 0;
	capability_write(&cap, &writer);
	fuzz_check(writer.size == size);
	fuzz_check(memcmp(writer.data, data, size) == 0);
	fuzz_check(capability_is_like(&cap, &cap));
	if (capability_check(&cap) == 0) {
		fuzz_check(capability_process_count(&cap) <=
			   capability_context_count(&cap) *
				   capability_node_count(&cap));
		fuzz_check(capability_overlaps(&cap, &cap));
	}
	writer_fini(&writer);
	return 0;
}
