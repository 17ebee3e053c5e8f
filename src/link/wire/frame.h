/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What endpoints say to each other: frames, each an untagged message of a core
 * provider. Pure. All numbers are little-endian; a frame is of fixed size, but
 * for what an EAGER, PIECE, REACH or RESULT ends with and for the rails of a
 * READY.
 *
 *	0   kind
 *	1   flags
 *	2   number of rails (READY, RAILS), else 0
 *	3   0
 *	4   sequence: counts the frames from one endpoint to another, from 1,
 *	    and from 1 again after 2^32 - 1; 0 in those that are not counted:
 *	    ACK, RAILS, HELLO and NAME
 *	8   number of the endpoint that sends it, as in its address
 *
 *	EAGER   16 tag       24 remote data  32 0        36 size
 *	READY   16 tag       24 remote data  32 request  36 0      40 size
 *	        48 the sender's address, 64 bytes
 *	        112 for each rail: address, key; over shared memory the
 *	        address in the sender's process, and its number
 *	DONE    16 request   20 error        24 size
 *	PUSH    16 request   20 reader       24 size
 *	PIECE   16 reader    20 size         24 offset
 *	ACK     16 up to     20 the probe that is answered, or 0
 *	RAILS   16 probe     20 0            24 the sender's address, 64 bytes
 *	        88 the rails that it does not tell: size, then 56 bytes
 *	KNOWN   nothing
 *	REACH   16 request   20 size: of what link/wire/reach.h has
 *	RESULT  16 request   20 error        24 size: of what was there
 *	TOUCHED 16 key
 *	HELLO   16 request   20 0            24 the sender's address, 64 bytes
 *	NAME    as HELLO
 *	GREET   16 the sender's address, 64 bytes
 *	FORGET  16 key
 *
 * A *request* is a number that the sender of a message gave it, a *reader* one
 * that its receiver did; both come back in answers. Decoders check that all is
 * there and nothing else; the receiver checks the values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/address/address.h"

enum frame_kind {
	FRAME_EAGER = 1, /* a message whose data comes with it */
	FRAME_READY,     /* a message whose data is there to be read */
	FRAME_DONE,      /* a request has ended, well or not */
	FRAME_PUSH,      /* it cannot be read: send it in pieces */
	FRAME_PIECE,     /* a piece of it */
	FRAME_ACK,       /* all frames up to this one have been taken in */
	FRAME_KNOWN,     /* the receiver is in the sender's address vector */
	FRAME_RAILS,   /* where the sender is reached, and whether this came */
	FRAME_REACH,   /* do something to memory of yours */
	FRAME_RESULT,  /* what came of it */
	FRAME_TOUCHED, /* the sender has read or written memory of yours */
	FRAME_HELLO,   /* to a peer known by place only: who are you? */
	FRAME_NAME,    /* the answer */
	FRAME_GREET,   /* who the sender is: a KNOWN is wanted */
	FRAME_FORGET,  /* a key that you asked for is none any more */
};

enum frame_flags {
	FRAME_UNTAGGED = 1, /* EAGER, READY: not of the tagged kind */
	FRAME_HAS_DATA = 2, /* EAGER, READY: with remote data */
	FRAME_URGENT = 8,   /* EAGER: an ACK is wanted at once */
	FRAME_MISSING = 1,  /* ACK: one came that is not the next one */
	FRAME_WRITTEN = 8,  /* TOUCHED: not read */
};

#define FRAME_HEAD_SIZE    16
#define FRAME_EAGER_SIZE   40  /* and its data */
#define FRAME_READY_SIZE   112 /* and 16 for each rail */
#define FRAME_READY_MAX    (FRAME_READY_SIZE + 16 * RAILS_MAX)
#define FRAME_DONE_SIZE    32
#define FRAME_PUSH_SIZE    32
#define FRAME_PIECE_SIZE   32 /* and its data */
#define FRAME_ACK_SIZE     24
#define FRAME_KNOWN_SIZE   FRAME_HEAD_SIZE
#define FRAME_GREET_SIZE   (FRAME_HEAD_SIZE + LINK_ADDRESS_SIZE)
#define FRAME_RAILS_SIZE   88 /* and of each rail: */
#define FRAME_RAIL_SIZE    (1 + RAIL_ADDRESS_MAX)
#define FRAME_REACH_SIZE   24 /* and what is to be done */
#define FRAME_RESULT_SIZE  32 /* and what was there */
#define FRAME_TOUCHED_SIZE 24
#define FRAME_HELLO_SIZE   88
#define FRAME_FORGET_SIZE  24

struct frame_rail {
	uint64_t address, key;
};

struct link_frame {
	enum frame_kind kind;
	unsigned int flags;
	uint32_t sequence;
	uint64_t sender;
	uint64_t tag;
	uint64_t data; /* remote data */
	uint32_t request, reader;
	uint32_t up_to;
	uint32_t probe; /* ACK, RAILS: 0 is none */
	int error;      /* DONE, RESULT: 0, or a positive errno of libfabric */
	/*
	 * Of the message; PUSH: of what is wanted; DONE: delivered. PIECE and
	 * others: of the payload.
	 */
	uint64_t size;
	uint64_t offset;
	uint64_t key;            /* TOUCHED, FORGET: of the memory */
	unsigned int rail_count; /* READY: at least 1. RAILS: in the payload */
	struct frame_rail rails[RAILS_MAX];
	/*
	 * READY, RAILS, HELLO, NAME, GREET: the sender's. Its receiver may not
	 * know.
	 */
	uint8_t from[LINK_ADDRESS_SIZE];
	/* Of kinds that have one: within the bytes that were decoded. */
	const uint8_t *payload;
};

/* Whether such frames have a sequence. */
bool frame_is_counted(enum frame_kind kind);

/*
 * Encodes all but the payload, which follows it: `ret_bytes` has space for
 * FRAME_READY_MAX bytes. Returns how many were written.
 */
size_t frame_encode(const struct link_frame *frame, uint8_t *ret_bytes);

/*
 * Returns 0, or -EPROTO for what is no frame; `ret_frame` is then undefined.
 * The bytes may be more than the frame's (a buffer in which it lies) where
 * `is_within`; what is behind it is not looked at.
 */
int frame_decode(const uint8_t *bytes, size_t size, bool is_within,
		 struct link_frame *ret_frame);

/* A rail's address as it is in the payload of a RAILS. */
void frame_put_rail(const struct rail_address *address,
		    uint8_t ret_bytes[FRAME_RAIL_SIZE]);
/* That of a RAILS, by its place in it; -EPROTO when it is none. */
int frame_get_rail(const struct link_frame *frame, unsigned int place,
		   struct rail_address *ret_address);
