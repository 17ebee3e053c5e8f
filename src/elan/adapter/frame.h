/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the software adapters of two nodes send to each other, one datagram a
 * frame:
 *
 *	u8 version (1), u8 type, u8 rail, u8 0, u32 program, u16 from, u16 to,
 *	u64 epoch, u64 sequence, u64 incarnation, 24 bytes nonce, sealed payload
 *
 * little endian; from and to are ranks. The payload is encrypted, and the whole
 * is authenticated, by XChaCha20-Poly1305 under a key that follows from the
 * capability's: without it nobody can read or write one. Pure.
 */
#pragma once

#include "base/bytes.h"
#include "fairlead/rms.h"

#define FRAME_KEY_SIZE   32
#define FRAME_NONCE_SIZE 24
#define FRAME_HEAD_SIZE  36
#define FRAME_TAG_SIZE   16
#define FRAME_SIZE_MIN   (FRAME_HEAD_SIZE + FRAME_NONCE_SIZE + FRAME_TAG_SIZE)
#define FRAME_SIZE_MAX   (FRAME_SIZE_MIN + RMS_MESSAGE_MAX)

enum rms_frame_type {
	FRAME_MESSAGE = 1, /* payload: the message */
	FRAME_TAKEN,       /* it was delivered */
	FRAME_AGAIN,       /* not: say it with this incarnation */
	FRAME_TYPES,
};

struct rms_frame {
	enum rms_frame_type type;
	uint8_t rail;
	uint32_t program;
	uint16_t from, to;    /* ranks */
	uint64_t epoch;       /* of the message's sender: each rises */
	uint64_t sequence;    /* of the message in its epoch: it rises */
	uint64_t incarnation; /* of the message's receiver; 0: not known */
};

/* The key of a capability's frames. */
void frame_key(const struct elan_userkey *userkey,
	       uint8_t ret_key[FRAME_KEY_SIZE]);
/* At most FRAME_SIZE_MAX bytes; returns how many. size: at most RMS_MESSAGE_MAX. */
size_t frame_seal(const struct rms_frame *frame,
		  const uint8_t key[FRAME_KEY_SIZE],
		  const uint8_t nonce[FRAME_NONCE_SIZE], const void *payload,
		  size_t size, uint8_t *ret_bytes);
/* What it says to be, before anybody has authenticated it. -EBADMSG. */
int frame_peek(const void *bytes, size_t size, struct rms_frame *ret_frame);
/*
 * Authenticate one that could be peeked at, and open it into RMS_MESSAGE_MAX
 * bytes: how many there are. -EBADMSG.
 */
int frame_open(const void *bytes, size_t size,
	       const uint8_t key[FRAME_KEY_SIZE], uint8_t *ret_payload);
