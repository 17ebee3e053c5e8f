/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What members of collectives seal their messages to each other with: the hop
 * keys, of which there are several while they are rotated (doc/rfc/keys.md).
 * All nodes have them; so whatever the manager says as the root of a collective
 * it signs with its command key as well, and nobody else is a root.
 *
 *	hop_init -> hop_take* -> hop_fini
 *	    hop.authenticator is libscoll's, from hop_init on
 */
#pragma once

#include "lanes/proto/keyfile.h"
#include "scoll.h"

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
