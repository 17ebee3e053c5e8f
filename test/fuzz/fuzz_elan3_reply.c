/* SPDX-License-Identifier: BSD-3-Clause */
/* Replies: refused with a text, or encoded again to the same bytes. */
#include <errno.h>

#include "lanes/driver/elan3/reply.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fairlead_error error = { 0 };
	struct writer writer = { 0 };
	struct elan3_reply reply;

	if (elan3_reply_decode(data, size, &reply, &error) < 0) {
		fuzz_check(error.code == -EBADMSG && error.text[0] != 0);
		return 0;
	}
	fuzz_check(elan3_reply_encode(&reply, &writer) == 0);
	fuzz_check(writer.size == size);
	fuzz_check(memcmp(writer.data, data, size) == 0);
	writer_fini(&writer);
	elan3_reply_fini(&reply);
	return 0;
}
