/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/node/guard/test/handle.h"

int guard_handle(struct guard *guard, const void *request, size_t size,
		 struct writer *reply)
{
	struct writer replies = { .limit = FRAME_LENGTH_SIZE +
					   GUARD_MESSAGE_MAX };
	int result = guard_take(guard, request, size, &replies);

	if (result == 0)
		result = guard_settle(guard, &replies);
	if (result == 0) {
		write_bytes(reply, replies.data + FRAME_LENGTH_SIZE,
			    replies.size - FRAME_LENGTH_SIZE);
		result = reply->result;
	}
	writer_fini(&replies);
	return result;
}
