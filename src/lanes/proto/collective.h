/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The manager and its nodes as peers of libscoll (doc/rfc/fan-out.md): their
 * NIDs, what a broadcast carries, and the seals of their messages. Nothing of a
 * parcel is signed but the command.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/hostlist.h"
#include "lanes/proto/keyfile.h"
#include "lanes/proto/message.h"
#include "scoll.h"

/* --- NIDs: a node's follows from its name --- */

/* The type of network in the upper 16 bits of each NID: "FL". */
#define NID_NET 0x464c

/* The manager's: a name has it once in 2^48. */
#define NID_MANAGER ((uint64_t)NID_NET << 48)

/* A scoll_nid_t. */
uint64_t nid_of_node(const char *name);

/*
 * The lowest index of a name that has the NID of a name at a lower index, which
 * is *ret_other. -ENOENT when all NIDs differ; -ENOMEM.
 */
int nid_duplicate(const struct hostlist *list, size_t *ret_other);

/* --- parcels: a command, and how it is to be answered --- */

/* Bytes of one part of a combined answer: a whole CONFIRM fits. */
#define PARCEL_PART_MIN 8192
#define PARCEL_PART_MAX FRAME_SIZE_MAX

/* The service of libscoll that takes them, on every member. */
#define PARCEL_SERVICE 1

struct parcel {
	bool is_separate;       /* nobody's answer is combined with another's */
	bool is_bulk;           /* the command is the collective's bulk data */
	uint32_t patience_ms;   /* then a node answers without its own */
	uint32_t part_bytes;    /* PARCEL_PART_MIN to _MAX: of an answer */
	const uint8_t *command; /* somebody else's bytes; NULL: is_bulk */
	size_t command_size;
};

/* -EINVAL: part_bytes; -ENOMEM, or the writer's limit. */
int parcel_encode(const struct parcel *parcel, struct writer *writer);
/* -EBADMSG. ret_parcel->command points into bytes. */
int parcel_decode(const void *bytes, size_t size, struct parcel *ret_parcel);

/*
 * How many parts the answer of so many nodes may have: room for them is made
 * before the command is sent. What has none is left out, and asked again.
 */
#define PARCEL_PARTS_MAX 8
int parcel_parts(const struct parcel *parcel, int node_count);

/*
 * The host list of a command that has one, for who passes it on: nothing is
 * verified. -EBADMSG: it has none, or is no command; -ENOMEM. The caller frees
 * it.
 */
int command_nodes_read(const void *bytes, size_t size, char **ret_nodes);

/*
 * --- seals ---
 *
 * Peers seal their messages to each other with the hop keys, of which there
 * are several while they are rotated (doc/rfc/keys.md).
 * All nodes have them; so whatever the manager says as the root of a collective
 * it signs with its command key as well, and nobody else is a root.
 *
 *	hop_init -> hop_take* -> hop_fini
 *	    hop.authenticator is libscoll's, from hop_init on
 */

#define HOP_SEAL_SIZE (sizeof(uint32_t) + MAC_SIZE)

/* Not moved while the authenticator is in use. */
struct hop {
	struct scoll_authenticator authenticator;
	uint64_t nid; /* ours */
	struct hop_keys keys;
};

/*
 * Without keys nothing verifies, and peers refuse what it seals. A daemon locks
 * `keys` (keys_lock); hop_fini() unlocks them.
 */
void hop_init(struct hop *hop, uint64_t nid);
void hop_fini(struct hop *hop);
/* These from now on; copied. */
void hop_take(struct hop *hop, const struct hop_keys *keys);
