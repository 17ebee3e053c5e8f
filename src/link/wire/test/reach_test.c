/* SPDX-License-Identifier: BSD-3-Clause */
#include "link/wire/reach.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const struct reach samples[] = {
	{ .kind = REACH_READ,
	  .from = { 0xfa, 1, 2 },
	  .range_count = 1,
	  .ranges = { { UINT64_C(1) << 40, 100, 7 } } },
	{ .kind = REACH_WRITE,
	  .flags = REACH_HAS_DATA,
	  .data = UINT64_MAX,
	  .range_count = 2,
	  .ranges = { { 1, 5, 7 }, { 2, 6, UINT64_MAX } },
	  .operand_size = 11 },
	{ .kind = REACH_WRITE,
	  .process = 4711,
	  .range_count = 1,
	  .place_count = 2,
	  .ranges = { { 0, UINT64_C(1) << 32, 7 } },
	  .places = { { 1, 5 }, { 2, (UINT64_C(1) << 32) - 5 } } },
	{ .kind = REACH_WRITE,
	  .range_count = 1,
	  .rail_count = 2,
	  .ranges = { { 0, UINT64_C(1) << 32, 7 } },
	  .rails = { { 1, 5 }, { 2, UINT64_MAX } } },
	{ .kind = REACH_READ,
	  .range_count = 2,
	  .rail_count = RAILS_MAX,
	  .ranges = { { 0, UINT64_C(1) << 32, 7 }, { 0, 4, 8 } } },
	{ .kind = REACH_ATOMIC,
	  .type = ATOMIC_INT32,
	  .op = ATOMIC_SUM,
	  .range_count = 4,
	  .ranges = { { 0, 1, 7 }, { 4, 2, 8 }, { 6, 0, 1 }, { 1, 1, 1 } },
	  .operand_size = 16 },
	{ .kind = REACH_FETCH,
	  .type = ATOMIC_LONG_DOUBLE,
	  .op = ATOMIC_READ,
	  .range_count = 1,
	  .ranges = { { 0, 240, 7 } } },
	{ .kind = REACH_COMPARE,
	  .type = ATOMIC_UINT64,
	  .op = ATOMIC_MSWAP,
	  .range_count = 1,
	  .ranges = { { 0, 240, 7 } },
	  .operand_size = 3840 },
	{ .kind = REACH_KEY, .range_count = 1, .ranges = { { 0, 0, 7 } } },
};
#define SAMPLES (sizeof(samples) / sizeof(samples[0]))

static uint8_t bytes[REACH_HEAD_MAX + REACH_DATA_MAX + 16];
static struct reach back;

static size_t encode(const struct reach *reach)
{
	memset(bytes, 0xaa, sizeof(bytes));
	return reach_encode(reach, bytes) + reach->operand_size;
}

static int encode_and_decode(const struct reach *reach)
{
	size_t size = encode(reach);

	return reach_decode(bytes, size, &back);
}

static void what_is_encoded_is_decoded(void **state)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t size = encode(&samples[i]);
		assert_int_equal(reach_decode(bytes, size, &back), 0);
		assert_ptr_equal(back.operands + back.operand_size,
				 bytes + size);
		back.operands = NULL;
		assert_memory_equal(&back, &samples[i], sizeof(back));
	}
}

static void each_size_but_the_right_one_is_refused(void **state)
{
	for (size_t i = 0; i < SAMPLES; i++) {
		size_t right = encode(&samples[i]);
		for (size_t size = 0; size <= right + 8; size++)
			assert_int_equal(reach_decode(bytes, size, &back),
					 size == right ? 0 : -EPROTO);
	}
}

static void is_refused(size_t which, size_t at, uint8_t value)
{
	size_t size = encode(&samples[which]);

	bytes[at] = value;
	assert_int_equal(reach_decode(bytes, size, &back), -EPROTO);
}

static void what_no_endpoint_asks_is_refused(void **state)
{
	is_refused(0, 0, 0);
	is_refused(0, 0, REACH_KEY + 1);
	is_refused(0, 0, REACH_KEY); /* of something */
	is_refused(0, 1, 1);         /* a READ has no type */
	is_refused(0, 2, 1);
	is_refused(0, 3, 0);
	is_refused(0, 3, REACH_RANGES_MAX + 1);
	is_refused(2, 4, REACH_RANGES_MAX + 1);
	is_refused(0, 5, 2);
	is_refused(2, 6, 1); /* places and rails */
	is_refused(3, 6, 1);
	is_refused(3, 6, 3); /* not as many rails as it tells of */
	is_refused(4, 6, RAILS_MAX + 1);
	is_refused(5, 6, 1); /* not of an atomic operation */
	is_refused(0, 7, 1);
	is_refused(0, 80, 1); /* a process without places */
	is_refused(5, 1, ATOMIC_TYPES);
	is_refused(5, 1, ATOMIC_INT64); /* not as many operands */
	is_refused(5, 2, ATOMIC_READ);
	is_refused(5, 2, ATOMIC_CSWAP);
	is_refused(7, 2, ATOMIC_SUM);
}

static void sizes_that_no_memory_has_are_refused(void **state)
{
	struct reach reach = samples[2];

	reach.ranges[0].count = reach.places[0].size = UINT64_MAX / 32 - 5;
	reach.places[1].size = 0;
	assert_int_equal(encode_and_decode(&reach), 0);
	reach.ranges[0].count = reach.places[0].size = UINT64_MAX;
	assert_int_equal(encode_and_decode(&reach), -EPROTO);
	reach = samples[2];
	reach.places[0].size++;
	assert_int_equal(encode_and_decode(&reach), -EPROTO);
	reach = samples[0];
	reach.ranges[0].count = REACH_DATA_MAX;
	assert_int_equal(encode_and_decode(&reach), 0);
	reach.ranges[0].count++; /* more than a RESULT has room for */
	assert_int_equal(encode_and_decode(&reach), -EPROTO);
	reach = samples[6];
	reach.ranges[0].count++;
	assert_int_equal(encode_and_decode(&reach), -EPROTO);
	reach = samples[7];
	reach.ranges[0].count++;
	reach.operand_size += 16;
	assert_int_equal(encode_and_decode(&reach), -EPROTO);
}

static void places_are_for_reads_and_writes(void **state)
{
	struct reach reach = samples[6];

	reach.place_count = 1;
	reach.places[0].size = 240;
	assert_int_equal(encode_and_decode(&reach), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_encoded_is_decoded),
		cmocka_unit_test(each_size_but_the_right_one_is_refused),
		cmocka_unit_test(what_no_endpoint_asks_is_refused),
		cmocka_unit_test(sizes_that_no_memory_has_are_refused),
		cmocka_unit_test(places_are_for_reads_and_writes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
