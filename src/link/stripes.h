/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data that a peer lets us read, by several rails, in pieces: which by which
 * rail is decided as they go (order/stripe.h). A piece that a rail did not
 * bring is read again by another. The fabric rails are locked in all of this.
 */
#pragma once

#include "link/flow.h"

/* Where it is at each rail; a piece lies within one part. */
struct stripes_part {
	uint64_t size;
	struct frame_rail rails[RAILS_MAX];
};

struct stripes;

/* What they are read for. */
struct stripes_use {
	/* Bytes are there. 0 or a positive errno, with which all of it ends. */
	int (*put)(struct stripes *stripes, uint64_t offset,
		   const uint8_t *bytes, size_t size);
	/* All are there, or there is an error; no callback of a core is under
	 * way. 0: they are the owner's again. -FI_ENOMEM: not now. */
	int (*end)(struct stripes *stripes);
	/* The endpoint is closed: as end(), but nobody is notified. */
	void (*drop)(struct stripes *stripes);
};

struct stripes {
	/* The owner's: */
	const struct stripes_use *use;
	struct link_ep *ep;
	uint64_t number; /* of the peer's endpoint */
	const struct stripes_part *parts;
	uint64_t size;      /* to be read; all parts have as much at least */
	int error;          /* 0, or positive: nothing is read then */
	bool has_other_way; /* to get it, which end() takes: see flow.h */
	/* From stripes_start() to the end, its peer; NULL: it is not known. */
	struct flow *flow;
	/* Others read only the rest in stripes.c. */
	struct stripes *next;           /* that have just come, or are over */
	struct stripes *before, *after; /* of all that are read */
	struct stripes *first, *last;   /* of the flow's that have to go on */
	bool is_waiting, is_over;       /* in which of these lists */
	bool is_tried;                  /* a piece may be in neither list */
	uint64_t piece;                 /* bytes of each */
	uint64_t begun;                 /* up to there there are pieces */
	unsigned int under_way;
	struct piece *again;
};

/* Any lock may be held. */
void stripes_start(struct stripes *stripes);

/* --- striped.c: messages that are read so. No lock is held. --- */

/* What one takes of its arrival's memory. */
size_t striped_capacity(void);
void striped_start(struct receive *receive, struct arrival *arrival);
