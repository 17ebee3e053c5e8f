/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers that are not in the vector. The rail is locked. */
#pragma once

#include "link/peer.h"

/*
 * Who is to be answered by a rail, by the number of its endpoint and its
 * address: it may not be in the vector. 0; -FI_ENOMEM: not now;
 * -FI_EADDRNOTAVAIL: it cannot be reached. No callback of the rail's core is
 * under way.
 */
int ep_peer_or_unlisted(struct rail *rail, uint64_t number,
			const uint8_t from[LINK_ADDRESS_SIZE],
			struct peer **ret_peer);
/* The same, but only a known one. */
struct peer *ep_peer_by_number(struct rail *rail, uint64_t number);
/* Who is not in the vector, or NULL. */
struct peer *unlisted_peer(struct rail *rail, uint64_t number);
/* The same, made if need be; it may not be known to the core. */
int unlisted_take(struct rail *rail, uint64_t number,
		  const uint8_t from[LINK_ADDRESS_SIZE],
		  struct peer **ret_peer);
void unlisted_drop(struct rail *rail, uint64_t number);
/* One of them has ended, as a shared rail sees. */
void unlisted_gone(struct rail *rail, uint64_t number);
/* Forgets all. */
void unlisted_drop_all(struct rail *rail);
