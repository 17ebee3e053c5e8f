/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libfabric's atomic operations do to memory: each datatype with each
 * operation that fi_atomic(3) has for it. Pure.
 *
 * Values of up to 8 bytes that lie at multiples of their size change by the
 * processor's own atomic instructions, so that nobody else's come in between.
 * For all others the caller sees to it that only one changes them at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Numbers as in libfabric, and in frames. */
enum atomic_type {
	ATOMIC_INT8,
	ATOMIC_UINT8,
	ATOMIC_INT16,
	ATOMIC_UINT16,
	ATOMIC_INT32,
	ATOMIC_UINT32,
	ATOMIC_INT64,
	ATOMIC_UINT64,
	ATOMIC_FLOAT,
	ATOMIC_DOUBLE,
	ATOMIC_FLOAT_COMPLEX,
	ATOMIC_DOUBLE_COMPLEX,
	ATOMIC_LONG_DOUBLE,
	ATOMIC_LONG_DOUBLE_COMPLEX,
	ATOMIC_INT128,
	ATOMIC_UINT128,
	ATOMIC_TYPES
};

enum atomic_op {
	ATOMIC_MIN,
	ATOMIC_MAX,
	ATOMIC_SUM,
	ATOMIC_PROD,
	ATOMIC_LOR,
	ATOMIC_LAND,
	ATOMIC_BOR,
	ATOMIC_BAND,
	ATOMIC_LXOR,
	ATOMIC_BXOR,
	ATOMIC_READ,
	ATOMIC_WRITE,
	ATOMIC_CSWAP,
	ATOMIC_CSWAP_NE,
	ATOMIC_CSWAP_LE,
	ATOMIC_CSWAP_LT,
	ATOMIC_CSWAP_GE,
	ATOMIC_CSWAP_GT,
	ATOMIC_MSWAP,
	ATOMIC_OPS
};

/* The three families of calls. */
enum atomic_family {
	ATOMIC_BASE,    /* changes the target */
	ATOMIC_FETCH,   /* and gives back what was there */
	ATOMIC_COMPARE, /* and depends on a comparison */
};

#define ATOMIC_SIZE_MAX 32 /* of a value of any type */

/* Bytes of a value; 0 for what is no type, or none of this machine. */
size_t atomic_size(unsigned int type);

/* Whether there is this operation for this type in this family. */
bool atomic_is_valid(enum atomic_family family, unsigned int type,
		     unsigned int op);

/*
 * Changes `count` values at `target`, each by the one at its place in
 * `operands` (not looked at by ATOMIC_READ) and `compares` (by CSWAPs and MSWAP
 * alone). What was there is put to `ret_before`, where that is not NULL. No
 * place needs to be aligned. The operation is valid in some family.
 */
void atomic_apply(enum atomic_type type, enum atomic_op op, void *target,
		  const void *operands, const void *compares, void *ret_before,
		  size_t count);
