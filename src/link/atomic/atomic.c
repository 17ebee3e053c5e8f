/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A function for each type says what comes after a value. Integers are added
 * and multiplied without a sign, so that what does not fit wraps around.
 */
#include "link/atomic/atomic.h"

#include <complex.h>
#include <stdint.h>
#include <string.h>

#ifdef __SIZEOF_INT128__
__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;
#endif

union value {
	int8_t i8;
	uint8_t u8;
	int16_t i16;
	uint16_t u16;
	int32_t i32;
	uint32_t u32;
	int64_t i64;
	uint64_t u64;
#ifdef __SIZEOF_INT128__
	int128 i128;
	uint128 u128;
#endif
	float f;
	double d;
	long double ld;
	float complex fc;
	double complex dc;
	long double complex ldc;
	uint8_t bytes[ATOMIC_SIZE_MAX];
};

struct atomic_step {
	union value old, with, than;
};

/* The parts of such a function that several kinds of types share. */
#define NEXT_BEGIN(name, type)                                     \
	static void next_##name(enum atomic_op op,                 \
				const struct atomic_step *s,       \
				union value *ret_next)             \
	{                                                          \
		const type old = s->old.name, with = s->with.name; \
		const type than = s->than.name;                    \
		type next = old;                                   \
		switch (op) {                                      \
		case ATOMIC_LOR:                                   \
			next = (type)(old != 0 || with != 0);      \
			break;                                     \
		case ATOMIC_LAND:                                  \
			next = (type)(old != 0 && with != 0);      \
			break;                                     \
		case ATOMIC_LXOR:                                  \
			next = (type)((old != 0) != (with != 0));  \
			break;                                     \
		case ATOMIC_WRITE:                                 \
			next = with;                               \
			break;                                     \
		case ATOMIC_CSWAP:                                 \
			next = than == old ? with : old;           \
			break;                                     \
		case ATOMIC_CSWAP_NE:                              \
			next = than != old ? with : old;           \
			break;

#define NEXT_IN_ORDER                            \
	case ATOMIC_MIN:                         \
		next = with < old ? with : old;  \
		break;                           \
	case ATOMIC_MAX:                         \
		next = with > old ? with : old;  \
		break;                           \
	case ATOMIC_CSWAP_LE:                    \
		next = than <= old ? with : old; \
		break;                           \
	case ATOMIC_CSWAP_LT:                    \
		next = than < old ? with : old;  \
		break;                           \
	case ATOMIC_CSWAP_GE:                    \
		next = than >= old ? with : old; \
		break;                           \
	case ATOMIC_CSWAP_GT:                    \
		next = than > old ? with : old;  \
		break;

#define NEXT_OF_BITS(type)                                          \
	case ATOMIC_BOR:                                            \
		next = (type)(old | with);                          \
		break;                                              \
	case ATOMIC_BAND:                                           \
		next = (type)(old & with);                          \
		break;                                              \
	case ATOMIC_BXOR:                                           \
		next = (type)(old ^ with);                          \
		break;                                              \
	case ATOMIC_MSWAP:                                          \
		next = (type)((with & than) | (old & (type)~than)); \
		break;

/* `work` is where sums are made: no smaller than int, and without a sign. */
#define NEXT_OF_SUMS(type, work)                       \
	case ATOMIC_SUM:                               \
		next = (type)((work)old + (work)with); \
		break;                                 \
	case ATOMIC_PROD:                              \
		next = (type)((work)old * (work)with); \
		break;

#define NEXT_END(name)                 \
	default:                       \
		break;                 \
		}                      \
		ret_next->name = next; \
		}

#define INTEGER(name, type, work) \
	NEXT_BEGIN(name, type)    \
	NEXT_IN_ORDER             \
	NEXT_OF_BITS(type)        \
	NEXT_OF_SUMS(type, work)  \
	NEXT_END(name)
#define REAL(name, type)         \
	NEXT_BEGIN(name, type)   \
	NEXT_IN_ORDER            \
	NEXT_OF_SUMS(type, type) \
	NEXT_END(name)
#define COMPLEX(name, type)      \
	NEXT_BEGIN(name, type)   \
	NEXT_OF_SUMS(type, type) \
	NEXT_END(name)

INTEGER(i8, int8_t, uint32_t)
INTEGER(u8, uint8_t, uint32_t)
INTEGER(i16, int16_t, uint32_t)
INTEGER(u16, uint16_t, uint32_t)
INTEGER(i32, int32_t, uint32_t)
INTEGER(u32, uint32_t, uint32_t)
INTEGER(i64, int64_t, uint64_t)
INTEGER(u64, uint64_t, uint64_t)
#ifdef __SIZEOF_INT128__
INTEGER(i128, int128, uint128)
INTEGER(u128, uint128, uint128)
#endif
REAL(f, float)
REAL(d, double)
REAL(ld, long double)
COMPLEX(fc, float complex)
COMPLEX(dc, double complex)
COMPLEX(ldc, long double complex)

enum atomic_kind {
	KIND_INTEGER,
	KIND_REAL,
	KIND_COMPLEX
};

static const struct {
	size_t size;
	enum atomic_kind kind;
	void (*next)(enum atomic_op op, const struct atomic_step *s,
		     union value *ret_next);
} types[ATOMIC_TYPES] = {
	[ATOMIC_INT8] = { 1, KIND_INTEGER, next_i8 },
	[ATOMIC_UINT8] = { 1, KIND_INTEGER, next_u8 },
	[ATOMIC_INT16] = { 2, KIND_INTEGER, next_i16 },
	[ATOMIC_UINT16] = { 2, KIND_INTEGER, next_u16 },
	[ATOMIC_INT32] = { 4, KIND_INTEGER, next_i32 },
	[ATOMIC_UINT32] = { 4, KIND_INTEGER, next_u32 },
	[ATOMIC_INT64] = { 8, KIND_INTEGER, next_i64 },
	[ATOMIC_UINT64] = { 8, KIND_INTEGER, next_u64 },
	[ATOMIC_FLOAT] = { sizeof(float), KIND_REAL, next_f },
	[ATOMIC_DOUBLE] = { sizeof(double), KIND_REAL, next_d },
	[ATOMIC_LONG_DOUBLE] = { sizeof(long double), KIND_REAL, next_ld },
	[ATOMIC_FLOAT_COMPLEX] = { sizeof(float complex), KIND_COMPLEX,
				   next_fc },
	[ATOMIC_DOUBLE_COMPLEX] = { sizeof(double complex), KIND_COMPLEX,
				    next_dc },
	[ATOMIC_LONG_DOUBLE_COMPLEX] = { sizeof(long double complex),
					 KIND_COMPLEX, next_ldc },
#ifdef __SIZEOF_INT128__
	[ATOMIC_INT128] = { 16, KIND_INTEGER, next_i128 },
	[ATOMIC_UINT128] = { 16, KIND_INTEGER, next_u128 },
#endif
};

size_t atomic_size(unsigned int type)
{
	return type < ATOMIC_TYPES ? types[type].size : 0;
}

static bool is_of_family(enum atomic_family family, unsigned int op)
{
	if (family == ATOMIC_COMPARE)
		return op >= ATOMIC_CSWAP && op < ATOMIC_OPS;
	return op <= ATOMIC_WRITE &&
	       (op != ATOMIC_READ || family == ATOMIC_FETCH);
}

bool atomic_is_valid(enum atomic_family family, unsigned int type,
		     unsigned int op)
{
	if (atomic_size(type) == 0 || !is_of_family(family, op))
		return false;
	switch (op) {
	case ATOMIC_BOR:
	case ATOMIC_BAND:
	case ATOMIC_BXOR:
	case ATOMIC_MSWAP:
		return types[type].kind == KIND_INTEGER;
	case ATOMIC_MIN:
	case ATOMIC_MAX:
	case ATOMIC_CSWAP_LE:
	case ATOMIC_CSWAP_LT:
	case ATOMIC_CSWAP_GE:
	case ATOMIC_CSWAP_GT:
		return types[type].kind != KIND_COMPLEX;
	default:
		return true;
	}
}

/*
 * One value, by instructions of the processor. What does not change is not
 * written: it may be memory that cannot be.
 */
#define SWAP_ATOMICALLY(name)                                                  \
	static void swap_##name(enum atomic_type type, enum atomic_op op,      \
				void *target, struct atomic_step *s)           \
	{                                                                      \
		union value next = { 0 };                                      \
		s->old.name = __atomic_load_n((__typeof__(next.name) *)target, \
					      __ATOMIC_SEQ_CST);               \
		do {                                                           \
			types[type].next(op, s, &next);                        \
			if (next.name == s->old.name)                          \
				break;                                         \
		} while (!__atomic_compare_exchange_n(                         \
			(__typeof__(next.name) *)target, &s->old.name,         \
			next.name, false, __ATOMIC_SEQ_CST,                    \
			__ATOMIC_SEQ_CST));                                    \
	}

SWAP_ATOMICALLY(u8)
SWAP_ATOMICALLY(u16)
SWAP_ATOMICALLY(u32)
SWAP_ATOMICALLY(u64)

static void swap_plainly(enum atomic_type type, enum atomic_op op, void *target,
			 struct atomic_step *s)
{
	size_t size = types[type].size;
	union value next;

	memcpy(&s->old, target, size);
	next = s->old;
	types[type].next(op, s, &next);
	if (memcmp(&next, &s->old, size) != 0)
		memcpy(target, &next, size);
}

static void swap(enum atomic_type type, enum atomic_op op, void *target,
		 struct atomic_step *s)
{
	size_t size = types[type].size;

	if (size > sizeof(uint64_t) || (uintptr_t)target % size != 0)
		swap_plainly(type, op, target, s);
	else if (size == 8)
		swap_u64(type, op, target, s);
	else if (size == 4)
		swap_u32(type, op, target, s);
	else if (size == 2)
		swap_u16(type, op, target, s);
	else
		swap_u8(type, op, target, s);
}

void atomic_apply(enum atomic_type type, enum atomic_op op, void *target,
		  const void *operands, const void *compares, void *ret_before,
		  size_t count)
{
	size_t size = types[type].size;

	for (size_t i = 0; i < count; i++) {
		struct atomic_step s = { 0 };
		if (op != ATOMIC_READ)
			memcpy(&s.with, (const char *)operands + i * size,
			       size);
		if (op >= ATOMIC_CSWAP)
			memcpy(&s.than, (const char *)compares + i * size,
			       size);
		swap(type, op, (char *)target + i * size, &s);
		if (ret_before != NULL)
			memcpy((char *)ret_before + i * size, &s.old, size);
	}
}
