/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a REACH asks its receiver to do to memory of its own: reads and writes,
 * where both share memory, atomic operations, and what the core calls it. Pure.
 * It follows the frame's fixed part, little-endian:
 *
 *	 0  kind
 *	 1  datatype      2  operation (of atomics, else 0)
 *	 3  number of ranges, from 1     4  of places near the sender
 *	 5  flags
 *	 6  number of rails, or 0              7  0
 *	 8  remote data
 *	16  the sender's address, 64 bytes
 *	80  the sender's process, where there are places, else 0
 *	88  for each range: address (an offset), count of values, key
 *	    then for each place: address, size
 *	    then of a WRITE for each rail: address, key, as of a READY
 *	    then the operands; of a COMPARE what is compared follows them
 *
 * A KEY has one range, of nothing: its address is the rail's place. A value of
 * a READ or WRITE is a byte. Its data is in places of the sender's memory,
 * which the receiver copies to or from; where there are none it comes as the
 * operand, or goes back with the RESULT. With rails the receiver of a WRITE
 * reads it by these, and the RESULT of a READ says for each range, and for each
 * rail, the address and key by which it is to be read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "link/address/address.h"
#include "link/atomic/atomic.h"
#include "link/wire/frame.h"

enum reach_kind {
	REACH_READ = 1,
	REACH_WRITE,
	REACH_ATOMIC, /* families of atomic operations */
	REACH_FETCH,
	REACH_COMPARE,
	REACH_KEY, /* nothing: what does the core of a rail call it? */
};

enum reach_flags {
	REACH_HAS_DATA = 1, /* with remote data */
};

#define REACH_RANGES_MAX 4
#define REACH_HEAD_MAX   (88 + 24 * REACH_RANGES_MAX + 16 * RAILS_MAX)
/* Of atomic operations: these have neither places nor rails. */
#define REACH_ATOMIC_HEAD_MAX (88 + 24 * REACH_RANGES_MAX)
/* Operands and what is compared; data of a READ in its RESULT. */
#define REACH_DATA_MAX 3840
/* The RESULT of a KEY: the core's key, and where the region is in its eyes. */
#define REACH_KEY_SIZE   16
#define REACH_WHERE_SIZE 16

struct reach_range {
	uint64_t address, count, key;
};

struct reach_place {
	uint64_t address, size;
};

struct reach {
	enum reach_kind kind;
	enum atomic_type type;
	enum atomic_op op;
	unsigned int flags;
	uint64_t data;
	uint8_t from[LINK_ADDRESS_SIZE];
	uint64_t process;
	unsigned int range_count, place_count, rail_count;
	struct reach_range ranges[REACH_RANGES_MAX];
	struct reach_place places[REACH_RANGES_MAX];
	struct frame_rail rails[RAILS_MAX]; /* of a WRITE */
	const uint8_t *operands;            /* within what was decoded */
	size_t operand_size;
};

/* Bytes of a value: 1 of a READ or WRITE. */
size_t reach_value_size(const struct reach *reach);
/* Bytes that all ranges have together. */
size_t reach_size(const struct reach *reach);
/*
 * Bytes of what is to be sent back: of a READ without places, FETCH, COMPARE,
 * KEY, and REACH_WHERE_SIZE for each range and rail.
 */
size_t reach_result_size(const struct reach *reach);

/*
 * Encodes all but the operands, which follow it: `ret_bytes` has space for
 * REACH_HEAD_MAX bytes. Returns how many were written.
 */
size_t reach_encode(const struct reach *reach, uint8_t *ret_bytes);

/*
 * Returns 0, or -EPROTO: sizes that do not agree, or no operation at all;
 * `ret_reach` is then undefined.
 */
int reach_decode(const uint8_t *bytes, size_t size, struct reach *ret_reach);
