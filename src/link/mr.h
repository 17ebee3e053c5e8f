/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory. */
#pragma once

#include "link/domain.h"
#include "link/wire/frame.h"

struct rail;

extern struct fi_ops_mr link_mr_ops;
/* An endpoint is enabled: what peers may reach is registered at its rails. */
int mr_endpoint_comes(struct link_ep *ep);
/* It is about to be closed, or could not be enabled. */
void mr_endpoint_goes(struct link_ep *ep);
/* Its descriptor at a rail, which is locked; NULL: it cannot be registered. */
void *mr_desc_at(struct link_mr *mr, struct rail *rail);
/*
 * What a rail's core has for a region (or NULL), which a peer wants to know:
 * its key, and the address of its beginning. 0, or a positive errno. Reaching
 * is locked.
 */
int mr_key_at(struct link_mr *mr, const struct rail *rail, uint64_t number,
	      const uint8_t from[LINK_ADDRESS_SIZE], uint64_t *ret_key,
	      uint64_t *ret_base);
/* These four with reaching locked. The region that has a key, or NULL. */
struct link_mr *mr_of_key(struct link_domain *domain, uint64_t key);
/*
 * Where a part of a region is that peers may reach so: adds at most
 * LINK_IOV_MAX places to their number. Returns 0 or a positive errno.
 */
int mr_find(struct link_domain *domain, uint64_t key, uint64_t address,
	    size_t size, uint64_t access, struct iovec *iov, size_t *count,
	    struct link_mr **ret_mr);
/* And by what a peer reads it there at a rail. 0, or a positive errno. */
int mr_place_at(const struct link_mr *mr, const struct rail *rail,
		uint64_t address, struct frame_rail *ret_place);
/* Who holds it may unlock: it is not closed before that is given back. */
void mr_hold(struct link_mr *mr, int count);
/* Counts an access to a region; NULL: to none that there is any more. */
void mr_touched(struct link_mr *mr, bool writes);
