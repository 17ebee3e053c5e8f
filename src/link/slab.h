/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers for frames, of one rail. The rail is locked. */
#pragma once

#include "link/endpoint.h"

/* One for a frame that goes; NULL without memory. */
struct slab *slab_take(struct rail *rail);
void slab_put(struct rail *rail, struct slab *slab);
/* The core has it: slab_sent() will follow. */
void slab_taken(struct rail *rail, struct slab *slab);
/* The core is done with one that it had. */
void slab_sent(struct rail *rail, struct slab *slab, int error);

/* Makes those for frames that come, and registers them where the core wants it. */
int slabs_open(struct rail *rail);
/* Gives the core those that are free. */
void slabs_post(struct rail *rail);
/* A frame or message has come in one, as the core says. */
void slab_came(struct rail *rail, struct slab *slab,
	       const struct fi_cq_tagged_entry *entry, fi_addr_t source);
/*
 * Takes them in in the order in which they came. One for which there is no room
 * waits, and those behind it with it; their buffers are not posted meanwhile, so
 * that senders wait in the end.
 */
void slabs_take(struct rail *rail);
/* What was in it is taken in: it is posted again with the next poll. */
void slab_used(struct rail *rail, struct slab *slab);
