/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim/heap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* One of each kind; says which of them failed (1..4), or 0. */
static int allocate(void *ctx)
{
	void *volatile one = malloc(1);
	void *volatile two = calloc(1, 1);
	void *volatile three = realloc(NULL, 1);
	char *volatile four = strdup("4");
	int failed = one == NULL     ? 1
		     : two == NULL   ? 2
		     : three == NULL ? 3
		     : four == NULL  ? 4
				     : 0;

	*(int *)ctx += (one == NULL) + (two == NULL) + (three == NULL) +
		       (four == NULL);
	free(one);
	free(two);
	free(three);
	free(four);
	return failed;
}

static void nth_allocation_fails_alone(void **state)
{
	int failed_count = 0;
	int result;

	for (unsigned int n = 1; n <= 4; n++) {
		errno = 0;
		assert_true(
			sim_heap_fails(n, &result, allocate, &failed_count));
		assert_int_equal(result, n);
		assert_int_equal(failed_count, n);
		assert_int_equal(errno, ENOMEM);
	}
}

static void beyond_the_last_allocation_nothing_fails(void **state)
{
	int failed_count = 0;
	int result;

	assert_false(sim_heap_fails(5, &result, allocate, &failed_count));
	assert_int_equal(result, 0);
	assert_int_equal(allocate(&failed_count), 0);
	assert_int_equal(failed_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nth_allocation_fails_alone),
		cmocka_unit_test(beyond_the_last_allocation_nothing_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
