/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Secrets of a lane, sealed to its nodes (doc/rfc/node-protocol.md, "Sealed
 * secrets"): the manager encrypts once, each node of the list can open it, and
 * nobody else can. It is carried in APPLY's `sealed`.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/seam.h"
#include "lanes/proto/sign.h"

#define SEAL_NODES_MAX  65536 /* as many as a job can have */
#define SEAL_SECRET_MAX 16128 /* bytes */
/* Bytes of a secret that is sealed to so many nodes. */
#define SEAL_SIZE(nodes, secret_size) \
	(1 + 4 + 24 + 4 + (nodes)*48 + 4 + (secret_size) + 16)

struct secret {
	size_t size;
	uint8_t bytes[SEAL_SECRET_MAX];
};

void secret_fini(struct secret *secret); /* wipes it */

/*
 * Append the sealed form of a secret for the nodes of a grant, in the order of
 * its node list. -EINVAL: no nodes; -E2BIG: over SEAL_NODES_MAX or
 * SEAL_SECRET_MAX; the writer's errors.
 */
int seal_make(const struct rng_seam *rng, const struct node_master *master,
	      uint64_t grant_id, const char *const *nodes, size_t node_count,
	      const void *secret, size_t secret_size, struct writer *writer);

/*
 * Random bytes for seal_make that are the same each time for one secret of one
 * grant, and those of no other: from a seed that is random itself and has at
 * least 16 bytes, and all that is sealed. So the sealed form can be made again.
 */
struct seal_stream {
	uint8_t key[KEY_SIZE];
	uint64_t next;
};

void seal_stream_init(struct seal_stream *stream, const void *seed,
		      size_t seed_size, uint64_t grant_id, const void *secret,
		      size_t secret_size);
/* Draws from stream, which has to outlive it. */
struct rng_seam seal_stream_seam(struct seal_stream *stream);
void seal_stream_fini(struct seal_stream *stream); /* wipes it */

/*
 * Open it with a node's keys; index: of the node in the grant's node list.
 * -EBADMSG: not sealed secrets; -ENOKEY: sealed under another key id; -EPERM:
 * sealed to fewer nodes; -EKEYREJECTED: not to this node, or forged.
 */
int seal_open(const struct node_key *keys, size_t key_count, uint64_t grant_id,
	      size_t index, const void *sealed, size_t size,
	      struct secret *ret_secret);
