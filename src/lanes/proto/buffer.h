/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Room for the parts of an answer, which a member posts before it sends a
 * command, and parts of its own that are on their way. On libscoll, whose
 * functions the program brings.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lanes/proto/collective.h"
#include "scoll.h"

struct buffer {
	struct buffer *prev, *next; /* of a list of utlist.h */
	size_t size;                /* in use; 0: nothing has come */
	uint8_t bytes[];
};

/* In no list. */
struct buffer *buffer_create(size_t size);
/*
 * Room for all parts that those below may answer to a request with that parcel,
 * each its reply's srp_private. What was posted is in the list, also when this
 * fails, as scoll_reply_buffer_post() does.
 */
int buffers_post(scoll_request_t *request, const struct parcel *parcel,
		 struct buffer **list);
/* All of the list. NULL is allowed. */
void buffers_free(struct buffer *list);
