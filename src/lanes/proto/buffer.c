/* SPDX-License-Identifier: BSD-3-Clause */
/* For each child as many as the answers of its subtree may have parts. */
#include "lanes/proto/buffer.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/memory.h"

struct buffer *buffer_create(size_t size)
{
	struct buffer *buffer = memory_have(malloc(sizeof(*buffer) + size));

	buffer->size = 0;
	return buffer;
}

void buffers_free(struct buffer *list)
{
	struct buffer *buffer, *next;

	DL_FOREACH_SAFE (list, buffer, next)
		free(buffer);
}

static int buffer_post(scoll_request_t *request, int child, size_t size,
		       struct buffer **list)
{
	struct buffer *buffer = buffer_create(size);
	int result;

	result = scoll_reply_buffer_post(child, buffer->bytes, size, request,
					 buffer);
	if (result < 0)
		free(buffer);
	else
		DL_APPEND(*list, buffer);
	return result;
}

int buffers_post(scoll_request_t *request, const struct parcel *parcel,
		 struct buffer **list)
{
	int count = scoll_request_nchildren(request);

	for (int i = 0; i < count; i++) {
		int parts = parcel_parts(
			parcel, scoll_request_childtree_nodes(request, i));

		for (int j = 0; j < parts; j++) {
			int result = buffer_post(request, i, parcel->part_bytes,
						 list);

			if (result < 0)
				return result;
		}
	}
	return 0;
}
