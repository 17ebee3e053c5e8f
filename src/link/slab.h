/* SPDX-License-Identifier: BSD-3-Clause */
/* Buffers for frames, of one rail. The rail is locked. */
#pragma once

#include "link/op.h"
#include "link/rail.h"
#include "link/wire/frame.h"

/*
 * A buffer of a rail for frames or direct messages that come, or one that goes.
 */
struct slab {
	struct link_op op;
	struct rail *rail;
	struct slab *next;
	struct slab *next_made; /* of those that were made to be sent */
	/* Of frames that wait: whose they are, and of the first of each peer
	 * the last, and the next peer's first. */
	struct peer *peer;
	struct slab *last, *next_peer;
	uint16_t ends;         /* so many frames have ended when this one has */
	bool needs_completion; /* the core has to tell its end */
	bool was_seen;         /* waits since before the last look: loss.c */
	bool is_direct;        /* it came as a message, with a tag: direct.c */
	bool ends_send; /* a send of the program's ends with it, as follows */
	void *context;
	uint64_t flags;
	fi_addr_t to;   /* the core's address */
	fi_addr_t core; /* of a direct one: its sender's there */
	uint64_t tag;
	/* Of a flow: kept until it is acknowledged, and while a core has it. */
	struct flow *flow;
	struct rail *at; /* whose core has it, or NULL */
	bool is_kept;
	uint32_t sequence;
	struct fid_mr *mrs[RAILS_MAX]; /* where a core wants it registered */
	size_t size;
	uint8_t bytes[]; /* of one that goes LINK_FRAME_SIZE */
};

/* One for a frame that goes; NULL without memory. */
struct slab *slab_take(struct rail *rail);
void slab_put(struct rail *rail, struct slab *slab);
/* The core has it: slab_sent() will follow. */
void slab_taken(struct rail *rail, struct slab *slab);
/* The core is done with one that it had. */
void slab_sent(struct rail *rail, struct slab *slab, int error);

/*
 * Makes those for frames that come, and registers them where the core wants it.
 */
int slabs_open(struct rail *rail);
/* Gives the core those that are free. */
void slabs_post(struct rail *rail);
/* A frame or message has come in one, as the core says. */
void slab_came(struct rail *rail, struct slab *slab,
	       const struct fi_cq_tagged_entry *entry, fi_addr_t source);
/*
 * Takes them in in the order in which they came. One that does not fit waits,
 * and those behind it with it; their buffers are not posted meanwhile, so that
 * senders wait in the end.
 */
void slabs_take(struct rail *rail);
/* What was in it is taken in: it is posted again with the next poll. */
void slab_used(struct rail *rail, struct slab *slab);

/* --- frames to and from a core --- */

/*
 * Bytes that came as a core's untagged message. -FI_ENOMEM: not now. The rail
 * is locked.
 */
int rail_take_frame(struct rail *rail, const uint8_t *bytes, size_t size);
/*
 * Sends a frame with a payload. Returns 0; -FI_EAGAIN when others wait (not
 * with `must`: it waits with them), or -FI_ENOMEM. The rail is locked. When
 * `with` is not NULL, its send ends with the frame's.
 */
struct frame_end {
	void *context;
	uint64_t flags;
};
int rail_send_frame(struct rail *rail, struct peer *peer,
		    struct link_frame *frame, const struct iovec *iov,
		    size_t count, const struct frame_end *with, bool must);
/* Hands a frame to the core. It has ended, unless -FI_EAGAIN is returned. */
ssize_t rail_slab_send(struct rail *rail, struct slab *slab);
/* A peer is removed: what is under way to it is nobody's. */
void rail_forget(struct rail *rail, const struct peer *peer);
/* A frame has ended: so has its send. */
void rail_frame_gone(struct rail *rail, struct slab *slab, int error);
/*
 * An answer will come to what was sent by it, or has come: with several fabric
 * rails perhaps by another one. The rail is locked.
 */
void rail_asked(struct rail *rail);
void rail_answered(struct rail *rail);
