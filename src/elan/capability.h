/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Capabilities of the Elan interconnect as bytes, and what of them is valid.
 * The structure and its constants are in fairlead/rms.h, which programs have.
 *
 * As bytes: the fields in the order of the structure, little endian, without
 * gaps, but only those words of the bitmap that nodes times contexts need.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "fairlead/rms.h"

#define CAPABILITY_SIZE      2096
#define CAPABILITY_HEAD_SIZE 48 /* without a bitmap */

/*
 * The one that says nothing: every number -1, the flags and the rail mask too,
 * but spare 0, the version set and an empty bitmap.
 */
void capability_init(struct elan_capability *ret_cap);

/*
 * May a program have it: its version, no HWTEST, BLOCK or CYCLIC, ranges that
 * are set and run upwards, no context of one's own, at most ELAN_MAX_VPS, in
 * this order; then contexts in the range of RMS, ElanIDs from 0 to 0xfffe, and
 * a rail. -EINVAL.
 */
int capability_check(const struct elan_capability *cap);

/* Of a capability that was checked. */
uint32_t capability_context_count(const struct elan_capability *cap);
uint32_t capability_node_count(const struct elan_capability *cap);
/* Virtual processes: set bits, or all with NO_BITMAP. */
uint32_t capability_process_count(const struct elan_capability *cap);

/*
 * Virtual processes are the set bits of the bitmap, numbered node by node, or
 * context by context with CYCLIC: that number is a process's *rank*. Node and
 * context are counted from the low ends, and within them.
 */
bool capability_has_process(const struct elan_capability *cap, uint32_t node,
			    uint32_t context);
/* Where a rank is. -ENOENT: there is no such process. */
int capability_locate(const struct elan_capability *cap, uint32_t rank,
		      uint32_t *ret_node, uint32_t *ret_context);
/* The rank of the process there. -ENOENT: none. */
int capability_rank_of(const struct elan_capability *cap, uint32_t node,
		       uint32_t context);

/* Bytes of what is written. Of any capability: at most CAPABILITY_SIZE. */
size_t capability_size(const struct elan_capability *cap);
void capability_write(const struct elan_capability *cap, struct writer *writer);
/* The words that are not written are 0. Nothing is checked. */
void capability_read(struct reader *reader, struct elan_capability *ret_cap);

/* The same key. Takes as long for any two. */
bool capability_has_key_of(const struct elan_capability *cap,
			   const struct elan_capability *other);
/* Type, version, ranges, rails and bitmap are the same; not key nor my-context. */
bool capability_is_like(const struct elan_capability *cap,
			const struct elan_capability *other);
/* Contexts and nodes and rails have something in common, each. */
bool capability_overlaps(const struct elan_capability *cap,
			 const struct elan_capability *other);
