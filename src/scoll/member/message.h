/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gossip says on the wire (doc/rfc/gossip): a header and the signs of
 * life (age.h) of one part of the roster. All parts of a roster but the last
 * one have the same size; a message has a whole part.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "scoll/member/roster.h"

#define MESSAGE_SIZE_MAX    3840 /* leaves 256 of 4096 for a seal */
#define MESSAGE_HEADER_SIZE 64
#define MESSAGE_CYCLE_MAX   (UINT64_C(1) << 62)

/* How a roster of so many nodes is cut into parts. */
struct message_parts {
	uint32_t node_count;
	uint32_t part_count;
	uint32_t part_nodes; /* of all but the last one; whole blocks */
};

struct message_parts message_parts_of(size_t node_count);
static inline uint32_t message_part_first(const struct message_parts *parts,
					  uint32_t part)
{
	return part * parts->part_nodes;
}
uint32_t message_part_count(const struct message_parts *parts, uint32_t part);

struct member_message {
	bool is_request; /* answer with the same part of yours */
	bool is_leave;   /* the sender goes, and does so at `cycle` */
	/*
	 * Cycles for which the sender has received from others without a gap;
	 * clipped.
	 */
	uint8_t listening_cycles;
	uint8_t roster_digest[ROSTER_DIGEST_SIZE];
	uint64_t nid; /* of the sender */
	uint64_t boot_nonce;
	uint64_t cycle;
	uint64_t asker_nonce; /* of an answer: boot nonce of who asked; or 0 */
	uint32_t part;
	uint32_t count;       /* of signs */
	const uint8_t *signs; /* borrowed */
};

/* 0; -ENOMEM, -EMSGSIZE: of the writer. */
int message_encode(const struct member_message *message, struct writer *writer);
/*
 * A view of the bytes. -EBADMSG: it is malformed; -EPROTONOSUPPORT: another
 * version. That the part fits the roster is for message_fits() to say, once
 * the digest is known to be the same.
 */
int message_decode(const void *bytes, size_t size,
		   struct member_message *ret_message);
bool message_fits(const struct member_message *message,
		  const struct message_parts *parts);
