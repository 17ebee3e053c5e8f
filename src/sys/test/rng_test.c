/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void numbers_do_not_repeat(void **state)
{
	struct rng_seam rng = sys_rng();
	uint64_t seen[64];

	for (int i = 0; i < 64; i++) {
		seen[i] = rng_u64(&rng);
		for (int k = 0; k < i; k++)
			assert_true(seen[k] != seen[i]);
	}
}

static void fill_writes_all_bytes_and_no_further(void **state)
{
	struct rng_seam rng = sys_rng();
	uint8_t changed[35] = { 0 };
	uint8_t bytes[35];

	for (int round = 0; round < 20; round++) {
		memset(bytes, 0, sizeof(bytes));
		rng_fill(&rng, bytes + 1, 33);
		for (size_t i = 0; i < sizeof(bytes); i++)
			changed[i] |= bytes[i];
	}
	assert_int_equal(changed[0], 0);
	assert_int_equal(changed[34], 0);
	for (size_t i = 1; i < 34; i++)
		assert_int_not_equal(changed[i], 0);
}

static void fill_of_nothing_is_allowed(void **state)
{
	struct rng_seam rng = sys_rng();
	uint8_t byte = 9;

	rng_fill(&rng, &byte, 0);
	assert_int_equal(byte, 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_do_not_repeat),
		cmocka_unit_test(fill_writes_all_bytes_and_no_further),
		cmocka_unit_test(fill_of_nothing_is_allowed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
