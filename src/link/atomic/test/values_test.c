/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/atomic/atomic.h"

#include <complex.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

__extension__ typedef __int128 int128;
__extension__ typedef unsigned __int128 uint128;

/* --- values of any type, as numbers that all of them have --- */

#define FOR_EACH_TYPE(DO)                                   \
	DO(ATOMIC_INT8, int8_t)                             \
	DO(ATOMIC_UINT8, uint8_t)                           \
	DO(ATOMIC_INT16, int16_t)                           \
	DO(ATOMIC_UINT16, uint16_t)                         \
	DO(ATOMIC_INT32, int32_t)                           \
	DO(ATOMIC_UINT32, uint32_t)                         \
	DO(ATOMIC_INT64, int64_t)                           \
	DO(ATOMIC_UINT64, uint64_t)                         \
	DO(ATOMIC_FLOAT, float)                             \
	DO(ATOMIC_DOUBLE, double)                           \
	DO(ATOMIC_FLOAT_COMPLEX, float complex)             \
	DO(ATOMIC_DOUBLE_COMPLEX, double complex)           \
	DO(ATOMIC_LONG_DOUBLE, long double)                 \
	DO(ATOMIC_LONG_DOUBLE_COMPLEX, long double complex) \
	DO(ATOMIC_INT128, int128)                           \
	DO(ATOMIC_UINT128, uint128)

static void put(enum atomic_type type, int value, void *at)
{
	switch (type) {
#define PUT(name, c_type)                                           \
	case name: {                                                \
		c_type typed = (c_type)value;                       \
		memcpy(at, &typed, sizeof(typed));                  \
		assert_int_equal(atomic_size(type), sizeof(typed)); \
		break;                                              \
	}
		FOR_EACH_TYPE(PUT)
	default:
		fail();
	}
}

static int get(enum atomic_type type, const void *at)
{
	switch (type) {
#define GET(name, c_type)                          \
	case name: {                               \
		c_type typed;                      \
		memcpy(&typed, at, sizeof(typed)); \
		return (int)typed;                 \
	}
		FOR_EACH_TYPE(GET)
	default:
		fail();
		return 0;
	}
}

static bool is_complex(unsigned int type)
{
	return type == ATOMIC_FLOAT_COMPLEX || type == ATOMIC_DOUBLE_COMPLEX ||
	       type == ATOMIC_LONG_DOUBLE_COMPLEX;
}

static bool is_real(unsigned int type)
{
	return type == ATOMIC_FLOAT || type == ATOMIC_DOUBLE ||
	       type == ATOMIC_LONG_DOUBLE;
}

static bool is_signed(unsigned int type)
{
	return is_complex(type) || is_real(type) || type == ATOMIC_INT8 ||
	       type == ATOMIC_INT16 || type == ATOMIC_INT32 ||
	       type == ATOMIC_INT64 || type == ATOMIC_INT128;
}

/* --- what comes of three numbers, by each operation, in the order of their numbers --- */

static const struct {
	int old, with, than;
	int next[ATOMIC_OPS];
} numbers[] = {
	/*            MIN MAX SUM PROD LOR LAND BOR BAND LXOR BXOR READ WRITE
	 *            CSWAP NE LE LT GE GT MSWAP */
	{ 6,
	  5,
	  3,
	  { 5, 6, 11, 30, 1, 1, 7, 4, 0, 3, 6, 5, 6, 5, 5, 5, 6, 6, 5 } },
	{ 6,
	  5,
	  6,
	  { 5, 6, 11, 30, 1, 1, 7, 4, 0, 3, 6, 5, 5, 6, 5, 6, 5, 6, 4 } },
	{ 6,
	  5,
	  7,
	  { 5, 6, 11, 30, 1, 1, 7, 4, 0, 3, 6, 5, 6, 5, 6, 6, 5, 5, 5 } },
	{ 0,
	  9,
	  0,
	  { 0, 9, 9, 0, 1, 0, 9, 0, 1, 9, 0, 9, 9, 0, 9, 0, 9, 0, 0 } },
	{ 0,
	  0,
	  1,
	  { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 } },
	{ 9,
	  0,
	  1,
	  { 0, 9, 9, 0, 1, 0, 9, 0, 1, 9, 9, 0, 9, 0, 0, 0, 9, 9, 8 } },
	{ -3,
	  2,
	  -4,
	  { -3, 2, -1, -6, 1, 1, -1, 0, 0, -1, -3, 2, -3, 2, 2, 2, -3, -3,
	    1 } },
	{ -3,
	  2,
	  1,
	  { -3, 2, -1, -6, 1, 1, -1, 0, 0, -1, -3, 2, -3, 2, -3, -3, 2, 2,
	    -4 } },
};

static void each_operation_gives_what_it_should(void **state)
{
	for (unsigned int type = 0; type < ATOMIC_TYPES; type++)
		for (unsigned int op = 0; op < ATOMIC_OPS; op++)
			for (size_t i = 0; i < COUNT_OF(numbers); i++) {
				enum atomic_family family =
					op >= ATOMIC_CSWAP ? ATOMIC_COMPARE
							   : ATOMIC_FETCH;
				_Alignas(32) uint8_t target[32], with[32],
					than[32], before[32];
				if (!atomic_is_valid(family, type, op) ||
				    (numbers[i].old < 0 && !is_signed(type)))
					continue;
				put(type, numbers[i].old, target);
				put(type, numbers[i].with, with);
				put(type, numbers[i].than, than);
				atomic_apply(type, op, target, with, than,
					     before, 1);
				assert_int_equal(get(type, before),
						 numbers[i].old);
				assert_int_equal(get(type, target),
						 numbers[i].next[op]);
			}
}

static void each_family_has_its_operations(void **state)
{
	for (unsigned int type = 0; type < ATOMIC_TYPES; type++)
		for (unsigned int op = 0; op < ATOMIC_OPS; op++) {
			bool of_bits = op == ATOMIC_BOR || op == ATOMIC_BAND ||
				       op == ATOMIC_BXOR || op == ATOMIC_MSWAP;
			bool in_order = op == ATOMIC_MIN || op == ATOMIC_MAX ||
					op == ATOMIC_CSWAP_LE ||
					op == ATOMIC_CSWAP_LT ||
					op == ATOMIC_CSWAP_GE ||
					op == ATOMIC_CSWAP_GT;
			bool fits = !(of_bits &&
				      (is_real(type) || is_complex(type))) &&
				    !(in_order && is_complex(type));
			assert_int_equal(atomic_is_valid(ATOMIC_BASE, type, op),
					 fits && op < ATOMIC_CSWAP &&
						 op != ATOMIC_READ);
			assert_int_equal(atomic_is_valid(ATOMIC_FETCH, type,
							 op),
					 fits && op < ATOMIC_CSWAP);
			assert_int_equal(atomic_is_valid(ATOMIC_COMPARE, type,
							 op),
					 fits && op >= ATOMIC_CSWAP);
		}
	assert_false(atomic_is_valid(ATOMIC_BASE, ATOMIC_TYPES, ATOMIC_SUM));
	assert_false(atomic_is_valid(ATOMIC_COMPARE, ATOMIC_INT8, ATOMIC_OPS));
	assert_false(atomic_is_valid(ATOMIC_BASE, UINT32_MAX, UINT32_MAX));
	assert_int_equal(atomic_size(ATOMIC_TYPES), 0);
}

#define SUM_IS(type, c_type, op, a, b, result)                         \
	do {                                                           \
		c_type target = (a), with = (b);                       \
		atomic_apply(type, op, &target, &with, NULL, NULL, 1); \
		assert_true(target == (c_type)(result));               \
	} while (0)

static void what_does_not_fit_wraps_around(void **state)
{
	SUM_IS(ATOMIC_INT8, int8_t, ATOMIC_SUM, 100, 100, -56);
	SUM_IS(ATOMIC_UINT8, uint8_t, ATOMIC_PROD, 255, 255, 1);
	SUM_IS(ATOMIC_INT16, int16_t, ATOMIC_SUM, INT16_MIN, -1, INT16_MAX);
	SUM_IS(ATOMIC_UINT16, uint16_t, ATOMIC_PROD, 65535, 65535, 1);
	SUM_IS(ATOMIC_INT32, int32_t, ATOMIC_SUM, INT32_MAX, 1, INT32_MIN);
	SUM_IS(ATOMIC_UINT32, uint32_t, ATOMIC_SUM, UINT32_MAX, 2, 1);
	SUM_IS(ATOMIC_INT64, int64_t, ATOMIC_PROD, INT64_MIN, -1, INT64_MIN);
	SUM_IS(ATOMIC_UINT64, uint64_t, ATOMIC_SUM, UINT64_MAX, 2, 1);
	SUM_IS(ATOMIC_UINT128, uint128, ATOMIC_SUM, ~(uint128)0, 2, 1);
}

static void reals_and_complex_numbers_are_reckoned_exactly(void **state)
{
	SUM_IS(ATOMIC_FLOAT, float, ATOMIC_PROD, 1.5f, 0.25f, 0.375f);
	SUM_IS(ATOMIC_DOUBLE, double, ATOMIC_MIN, -0.5, 1e300, -0.5);
	SUM_IS(ATOMIC_LONG_DOUBLE, long double, ATOMIC_SUM, 0x1p-60L, 1.0L,
	       1.0L + 0x1p-60L);
	SUM_IS(ATOMIC_FLOAT_COMPLEX, float complex, ATOMIC_PROD,
	       1.0f + 2.0f * I, 3.0f - 1.0f * I, 5.0f + 5.0f * I);
	SUM_IS(ATOMIC_DOUBLE_COMPLEX, double complex, ATOMIC_SUM, 1.0 + 2.0 * I,
	       3.0 - 1.0 * I, 4.0 + 1.0 * I);
	SUM_IS(ATOMIC_LONG_DOUBLE_COMPLEX, long double complex, ATOMIC_LAND,
	       1.0L * I, 2.0L * I, 1.0L);
	/* Equal in one part is not equal. */
	double complex target = 1.0 + 2.0 * I, with = 7.0;
	const double complex than = 1.0 + 3.0 * I;
	atomic_apply(ATOMIC_DOUBLE_COMPLEX, ATOMIC_CSWAP, &target, &with, &than,
		     NULL, 1);
	assert_true(target == 1.0 + 2.0 * I);
}

static void each_value_of_many_has_its_own_operand(void **state)
{
	for (unsigned int shift = 0; shift < 8; shift++) {
		uint8_t memory[100];
		uint64_t with[10], than[10], before[10], now[10];
		for (unsigned int i = 0; i < 10; i++) {
			uint64_t value = i * i;
			memcpy(memory + shift + 8 * i, &value, 8);
			with[i] = 1000 + i;
			than[i] = i % 2 == 0 ? value : 5000;
		}
		memory[shift + 80] = 0xee;
		atomic_apply(ATOMIC_UINT64, ATOMIC_CSWAP, memory + shift, with,
			     than, before, 10);
		memcpy(now, memory + shift, sizeof(now));
		for (unsigned int i = 0; i < 10; i++) {
			assert_int_equal(before[i], i * i);
			assert_int_equal(now[i], i % 2 == 0 ? 1000 + i : i * i);
		}
		assert_int_equal(memory[shift + 80], 0xee);
	}
}

static void what_does_not_change_is_not_written(void **state)
{
	uint8_t *page =
		mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t before[4] = { 1, 1, 1, 1 }, seven[4] = { 7, 7, 7, 7 };

	assert_true(page != MAP_FAILED);
	for (unsigned int type = 0; type < ATOMIC_TYPES; type++) {
		atomic_apply(type, ATOMIC_READ, page, NULL, NULL, before, 1);
		for (size_t i = 0; i < atomic_size(type); i++)
			assert_int_equal(((uint8_t *)before)[i], 0);
		atomic_apply(type, ATOMIC_CSWAP, page, seven, seven, before, 1);
	}
	munmap(page, 4096);
}

/* --- two threads at once --- */

#define ROUNDS 100000

static struct {
	uint64_t integer;
	float real;
	uint16_t small[2];
} shared;

static void *add(void *arg)
{
	const uint64_t one = 1;
	const float real = 1;
	const uint16_t small[2] = { 1, 3 };

	for (unsigned int i = 0; i < ROUNDS; i++) {
		atomic_apply(ATOMIC_UINT64, ATOMIC_SUM, &shared.integer, &one,
			     NULL, NULL, 1);
		atomic_apply(ATOMIC_FLOAT, ATOMIC_SUM, &shared.real, &real,
			     NULL, NULL, 1);
		atomic_apply(ATOMIC_UINT16, ATOMIC_SUM, shared.small, small,
			     NULL, NULL, 2);
	}
	return NULL;
}

static void nothing_is_lost_between_threads(void **state)
{
	pthread_t other;

	assert_int_equal(pthread_create(&other, NULL, add, NULL), 0);
	add(NULL);
	pthread_join(other, NULL);
	assert_int_equal(shared.integer, 2 * ROUNDS);
	assert_true(shared.real == 2 * ROUNDS);
	assert_int_equal(shared.small[0], (uint16_t)(2 * ROUNDS));
	assert_int_equal(shared.small[1], (uint16_t)(6 * ROUNDS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_gives_what_it_should),
		cmocka_unit_test(each_family_has_its_operations),
		cmocka_unit_test(what_does_not_fit_wraps_around),
		cmocka_unit_test(
			reals_and_complex_numbers_are_reckoned_exactly),
		cmocka_unit_test(each_value_of_many_has_its_own_operand),
		cmocka_unit_test(what_does_not_change_is_not_written),
		cmocka_unit_test(nothing_is_lost_between_threads),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
