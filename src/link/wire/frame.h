/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What endpoints say to each other: frames, each an untagged message of a core
 * provider. Pure. All numbers are little-endian; a frame is of fixed size, but
 * for the data that an EAGER or PIECE ends with and for the rails of a READY.
 *
 *	0   kind
 *	1   flags
 *	2   number of rails (READY), else 0
 *	3   0
 *	4   sequence: counts the frames from one endpoint to another, from 1;
 *	    0 in an ACK, which is not counted
 *	8   number of the endpoint that sends it, as in its address
 *
 *	EAGER   16 tag       24 remote data  32 request  36 size
 *	READY   16 tag       24 remote data  32 request  36 0      40 size
 *	        48 the sender's address, 64 bytes
 *	        112 for each rail: address, key; over shared memory the
 *	        address in the sender's process, and its number
 *	DONE    16 request   20 error        24 size
 *	PUSH    16 request   20 reader
 *	PIECE   16 reader    20 size         24 offset
 *	ACK     16 up to     20 0
 *	KNOWN   nothing
 *
 * A *request* is a number that the sender of a message gave it, a *reader* one
 * that its receiver did; both come back in answers. Decoders check that all is
 * there and nothing else; who gets a frame checks what it means.
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
	FRAME_KNOWN,     /* who is told this is in the other's address vector */
};

enum frame_flags {
	FRAME_UNTAGGED = 1, /* EAGER, READY: not of the tagged kind */
	FRAME_HAS_DATA = 2, /* EAGER, READY: with remote data */
	FRAME_ANSWER = 4,   /* EAGER: a DONE is wanted when it is delivered */
};

#define FRAME_HEAD_SIZE  16
#define FRAME_EAGER_SIZE 40  /* and its data */
#define FRAME_READY_SIZE 112 /* and 16 for each rail */
#define FRAME_READY_MAX  (FRAME_READY_SIZE + 16 * RAILS_MAX)
#define FRAME_DONE_SIZE  32
#define FRAME_PUSH_SIZE  24
#define FRAME_PIECE_SIZE 32 /* and its data */
#define FRAME_ACK_SIZE   24
#define FRAME_KNOWN_SIZE FRAME_HEAD_SIZE

struct frame_rail {
	uint64_t address, key;
};

struct frame {
	enum frame_kind kind;
	unsigned int flags;
	uint32_t sequence;
	uint64_t sender;
	uint64_t tag;
	uint64_t data; /* remote data */
	uint32_t request, reader;
	uint32_t up_to;
	int error; /* DONE: 0, or a positive errno of libfabric */
	uint64_t
		size; /* of the message; PIECE: of the piece. DONE: delivered */
	uint64_t offset;
	unsigned int rail_count; /* READY: at least 1 */
	struct frame_rail rails[RAILS_MAX];
	/* READY: the sender's, since the receiver may not have it. */
	uint8_t from[LINK_ADDRESS_SIZE];
	/* EAGER, PIECE: within the bytes that were decoded. */
	const uint8_t *payload;
};

/*
 * Encodes all but the payload, which follows it: `ret_bytes` has room for
 * FRAME_READY_MAX bytes. Returns how many were written.
 */
size_t frame_encode(const struct frame *frame, uint8_t *ret_bytes);

/*
 * Returns 0, or -EPROTO for what is no frame; `ret_frame` is then undefined. The
 * bytes may be more than the frame's (a buffer in which it lies) where
 * `is_within`; what is behind it is not looked at.
 */
int frame_decode(const uint8_t *bytes, size_t size, bool is_within,
		 struct frame *ret_frame);
