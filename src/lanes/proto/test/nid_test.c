/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/proto/collective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

#include "sim/heap.h"

/* A pair that a search of 2^24 steps has found. */
#define TWIN_A "n8c8e25ac98a2"
#define TWIN_B "n90e2d49a107a"

static int duplicate(const char *text, size_t *ret_other)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;

	assert_int_equal(hostlist_parse(text, &list, NULL), 0);
	return nid_duplicate(list, ret_other);
}

/* Reckoned by hashlib.blake2b of Python. */
static void nid_of_a_node_follows_from_its_name(void **state)
{
	assert_int_equal(nid_of_node("n3"), 0x464c8704129c002a);
	assert_int_equal(nid_of_node(TWIN_A), 0x464c5942cf14b857);
	assert_int_not_equal(nid_of_node("n3"), nid_of_node("n03"));
	assert_int_equal(NID_MANAGER, 0x464c000000000000);
}

static void names_of_a_cluster_have_different_nids(void **state)
{
	size_t other;

	assert_int_equal(duplicate("n[0-9999],login[1-4]", &other), -ENOENT);
}

static void two_names_of_one_nid_are_found(void **state)
{
	size_t other = 99;

	assert_int_equal(nid_of_node(TWIN_A), nid_of_node(TWIN_B));
	assert_int_equal(duplicate("n0," TWIN_B ",n1," TWIN_A, &other), 3);
	assert_int_equal(other, 1);
}

static void first_of_several_pairs_is_reported(void **state)
{
	size_t other = 99;

	assert_int_equal(duplicate(TWIN_A ",n5,n5," TWIN_B, &other), 2);
	assert_int_equal(other, 1);
	assert_int_equal(duplicate("n5," TWIN_A "," TWIN_B ",n5", &other), 2);
	assert_int_equal(other, 1);
}

static int duplicate_in(void *ctx)
{
	size_t other;

	return nid_duplicate(ctx, &other);
}

static void lack_of_memory_is_reported(void **state)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	int result = 0;

	assert_int_equal(hostlist_parse("n[0-9]", &list, NULL), 0);
	assert_true(sim_heap_fails(1, &result, duplicate_in, list));
	assert_int_equal(result, -ENOMEM);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nid_of_a_node_follows_from_its_name),
		cmocka_unit_test(names_of_a_cluster_have_different_nids),
		cmocka_unit_test(two_names_of_one_nid_are_found),
		cmocka_unit_test(first_of_several_pairs_is_reported),
		cmocka_unit_test(lack_of_memory_is_reported),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
