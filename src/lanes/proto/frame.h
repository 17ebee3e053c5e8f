/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames. A *frame* is u8 type and payload, and is what a net seam sends. On a
 * byte stream each frame stands after its length (u32, little-endian).
 *
 *	an empty writer    -> frame_begin, x_encode        -> a frame
 *	bytes of a stream  -> splitter_feed, splitter_next -> frames
 *	a frame            -> frame_parse                  -> type, payload
 *
 * The splitter knows lengths only, so that it serves every length-prefixed
 * stream. It keeps at most one incomplete frame and what was fed last.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

#define FRAME_SIZE_MAX    1048576 /* bytes of a frame: type and payload */
#define FRAME_LENGTH_SIZE 4       /* bytes of the length before it */

enum frame_type {
	FRAME_CHALLENGE = 1,
	FRAME_REGISTER,
	FRAME_COMMAND,
	FRAME_CONFIRM,
	FRAME_PING,
	FRAME_PONG,
	FRAME_REFUSE,
};

/* A view of somebody else's bytes. */
struct frame {
	enum frame_type type;
	const uint8_t *payload;
	size_t size; /* bytes of payload */
};

/*
 * -EBADMSG: empty, a type that does not exist, or a PING or PONG that is more
 * than its type; -EMSGSIZE: too long.
 */
int frame_parse(const void *bytes, size_t size, struct frame *ret_frame);

/*
 * Begin a frame in an empty writer, which from then on takes at most
 * FRAME_SIZE_MAX bytes; its payload is what is written next.
 */
void frame_begin(struct writer *writer, enum frame_type type);

/* Write the length that goes before `size` bytes on a stream. */
void frame_length(size_t size, uint8_t ret_length[FRAME_LENGTH_SIZE]);

struct splitter {
	uint8_t *data;
	size_t begin, end, capacity; /* unread bytes are [begin, end) */
	size_t size_max;             /* of a frame */
	int result;                  /* 0, or why nothing more is taken */
};

/* Frames have 1..size_max bytes. */
void splitter_init(struct splitter *splitter, size_t size_max);
void splitter_fini(struct splitter *splitter);

/*
 * Take a copy of the next bytes of the stream; then call splitter_next until
 * it returns 0. -EMSGSIZE: a frame was announced that is too long; -EBADMSG:
 * an empty one; -ENOMEM; -ENOBUFS: whole frames were left unread. After an
 * error the stream is lost: each further call returns the same.
 */
int splitter_feed(struct splitter *splitter, const void *bytes, size_t size);

/*
 * The next whole frame: 1 and a view that is valid until the next call, 0
 * when there is none yet, or the error of the stream, once the whole frames
 * before it were handed out.
 */
int splitter_next(struct splitter *splitter, const uint8_t **ret_bytes,
		  size_t *ret_size);
