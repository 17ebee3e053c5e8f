/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where the nodes of a group are, as its maker said: one block of bytes, as it
 * is sent, interned by its digest, so that it is in memory once for all groups
 * that have the same addresses, and in a simulation for all members. Nobody
 * reads it through: one address is looked up at a time.
 */
#pragma once

#include "scoll/core/membership.h"

struct addresses {
	struct wire_digest digest;
	uint32_t count; /* nodes */
	uint32_t reference_count;
	size_t size; /* of bytes */
	const uint8_t *bytes;
	const uint32_t *offsets;   /* of each node's address, at its length */
	struct memberships *owner; /* where it is interned */
	UT_hash_handle hh;
};

/*
 * The address of a node: its bytes, at most WIRE_ADDRESS_MAX, or 0 when it is
 * not known. A negative errno ends it.
 */
typedef int (*addresses_lookup_fn)(void *ctx, scoll_nid_t nid,
				   uint8_t ret_bytes[WIRE_ADDRESS_MAX]);

/* --- a reference to one; the caller gives it back --- */

/* NULL: not there. */
struct addresses *addresses_find(struct memberships *memberships,
				 const struct wire_digest *digest);
/* Of all nodes of a list. What lookup returned; -ENOMEM. */
int addresses_collect(const struct membership *membership,
		      addresses_lookup_fn lookup, void *ctx,
		      struct addresses **ret_addresses);
/*
 * As they were sent, of a list of `count` nodes; if the digest is known, they
 * are not looked at. -EBADMSG: malformed, or not so many; -ESTALE: they have
 * another digest; -ENOMEM.
 */
int addresses_decode(struct memberships *memberships,
		     const struct wire_digest *digest, uint32_t count,
		     const void *bytes, size_t size,
		     struct addresses **ret_addresses);
struct addresses *addresses_ref(struct addresses *addresses);
/* NULL is allowed. */
void addresses_unref(struct addresses *addresses);
DEFINE_AUTO(struct addresses, addresses_unref)

/* --- use --- */

/*
 * Bytes of the address of the node with that index, without zeros at its end;
 * 0: not known. *ret_bytes is a view.
 */
size_t addresses_at(const struct addresses *addresses, uint32_t index,
		    const uint8_t **ret_bytes);
/* Bytes without the zeros at their end. */
size_t address_trim(const void *bytes, size_t size);
