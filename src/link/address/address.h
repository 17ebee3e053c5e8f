/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An endpoint's address: what fi_getname gives and fi_av_insert takes. Pure.
 *
 * It has 64 bytes in every process, since Open MPI and MPICH take it for
 * granted that all peers' addresses are as long as their own, and no longer.
 *
 *	byte 0   0xfa
 *	     1   version: 1
 *	     2   flags
 *	     3   fabric rails: in all (upper four bits), given here (lower four)
 *	     4   kinds of those given: two bits each, the first in the lowest
 *	     6   digest of the link          (little-endian, as what follows)
 *	    10   the endpoint's number
 *	    18   node identity
 *	    26   addresses of the rails, in their order, then zeros
 *
 * A rail's address is 6 bytes for IPv4 (address, port), 18 for IPv6, else a
 * byte with its length and the core's own bytes.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "link/links/links.h"

#define LINK_ADDRESS_SIZE 64
#define RAIL_ADDRESS_MAX  56 /* of a core; the longest known has 48 */

enum link_address_flags {
	LINK_HAS_LOCAL = 1,    /* has a rail over shared memory */
	LINK_READS = 2,        /* may read other processes' memory */
	LINK_READABLE = 4,     /* other processes may read its memory */
	LINK_WANTS_EVENTS = 8, /* wants to know what was done to its memory */
	LINK_NAMED = 16,       /* a name: see below */
	LINK_ANY_NODE = 32,    /* of a name: only the service was said */
};

struct rail_address {
	uint8_t size;
	uint8_t bytes[RAIL_ADDRESS_MAX]; /* as the core wants it */
};

struct link_address {
	unsigned int flags;
	uint32_t
		digest; /* of the link's text and settings: equal, or no peers */
	uint64_t number; /* random: names the endpoint, and its shared memory */
	uint64_t node;   /* equal for those that can share memory */
	unsigned int rail_count;  /* fabric rails, at most RAILS_MAX */
	unsigned int known_count; /* of them: the first that are known */
	struct rail_address rails[RAILS_MAX];
};

/*
 * What node and service tell of an endpoint is its *name*: the place of its
 * first fabric rail, or of a link without fabric the number that follows from
 * the service. It has the form of an address with LINK_NAMED (and
 * LINK_ANY_NODE) alone, and without a node; what is missing the endpoint tells,
 * when it is asked. This makes one of a rail's place (NULL: there is none).
 */
void link_address_name(struct link_address *ret_name, uint32_t digest,
		       const struct rail_address *place);
/* The number that follows from a service of a node: not 0. */
uint64_t link_address_number(uint64_t node, const char *service);

/*
 * Encodes as many of the first rails as fit; known_count is not
 * looked at. Returns their number, or -EMSGSIZE when there are rails, and not
 * even the first one's address fits.
 */
int link_address_encode(const struct link_address *address,
			uint8_t ret_bytes[LINK_ADDRESS_SIZE]);

/*
 * Returns 0, or -EINVAL with the reason in `error`; `ret_address` is then as it
 * was.
 */
int link_address_decode(const uint8_t bytes[LINK_ADDRESS_SIZE],
			struct link_address *ret_address,
			struct fairlead_error *error);

/*
 * Whether two endpoints share memory. Both sides come to the same answer, each
 * by itself.
 */
bool link_address_is_local(const struct link_address *a,
			   const struct link_address *b);
