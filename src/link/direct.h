/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages by the only fabric rail of a link, without a frame: the core's own
 * untagged ones, with the tag as their remote data. They do not name their
 * sender, so the core's address has to: a peer sends them after it received
 * KNOWN. The rail is locked.
 */
#pragma once

#include "link/send.h"
#include "link/slab.h"

/*
 * How large what goes by a fabric rail at once may be, so that it stays in
 * order with what follows.
 */
size_t frame_max(const char *provider);
/* Frames have to be able to be so large. */
#define FRAME_LEAST 384
/* How many bytes of values an atomic operation may have by any rail. */
size_t atomic_max(const struct core_set *set);
/*
 * How large they may be by a rail; 0 where its core cannot tell what it has to.
 */
size_t direct_max(const struct rail *rail, const struct fi_info *info);
/* Whether one that is not too large may go so. */
static inline bool direct_takes(const struct link_message *message)
{
	return (message->flags & FI_REMOTE_CQ_DATA) == 0 &&
	       (message->count <= 1 || message->size <= LINK_FRAME_SIZE);
}
/* 0, or -FI_EAGAIN and the like: nothing was sent. */
ssize_t direct_send(struct rail *rail, struct peer *peer,
		    const struct link_message *message);
/* As rail_take_frame(). */
int direct_take(struct rail *rail, const struct slab *slab);
