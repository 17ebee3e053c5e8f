/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/addresses.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>

#define COUNT 5

static struct memberships *memberships;
static struct membership *membership;

static int setup(void **state)
{
	static const scoll_tag_t tag = { "a" };
	scoll_target_t targets[COUNT];

	for (int i = 0; i < COUNT; i++)
		targets[i] = (scoll_target_t){ (scoll_nid_t)i + 1, &tag, 1 };
	assert_int_equal(memberships_create(&memberships), 0);
	assert_int_equal(memberships_from_targets(memberships, targets, COUNT,
						  NULL, NULL, &membership),
			 0);
	return 0;
}

static int teardown(void **state)
{
	membership_unref(membership);
	assert_int_equal(memberships_size(memberships), 0);
	memberships_destroy(memberships);
	return 0;
}

/* 1: unknown; 2 and 3: the same one; 4: the longest; 5: a short one. */
static int look_up(void *ctx, scoll_nid_t nid,
		   uint8_t ret_bytes[WIRE_ADDRESS_MAX])
{
	static const uint8_t sizes[] = { 0, 3, 3, WIRE_ADDRESS_MAX, 1 };
	const int *result = ctx;

	if (result != NULL && nid == 3)
		return *result;
	memset(ret_bytes, nid == 3 ? 2 : (int)nid, sizes[nid - 1]);
	return sizes[nid - 1];
}

static struct addresses *collected(void)
{
	struct addresses *addresses = NULL;

	assert_int_equal(
		addresses_collect(membership, look_up, NULL, &addresses), 0);
	return addresses;
}

static void each_node_has_the_address_that_was_said(void **state)
{
	struct addresses *addresses = collected(), *again = collected();
	const uint8_t *at, *same;

	assert_ptr_equal(addresses, again);
	addresses_unref(again);
	assert_int_equal(addresses->count, COUNT);
	/* What is the same as before costs one byte. */
	assert_int_equal(addresses->size, 1 + 4 + 1 + 65 + 2);
	assert_int_equal(addresses_at(addresses, 0, &at), 0);
	assert_int_equal(addresses_at(addresses, 1, &at), 3);
	assert_memory_equal(at, "\2\2\2", 3);
	assert_int_equal(addresses_at(addresses, 2, &same), 3);
	assert_ptr_equal(same, at);
	assert_int_equal(addresses_at(addresses, 3, &at), WIRE_ADDRESS_MAX);
	assert_int_equal(at[WIRE_ADDRESS_MAX - 1], 4);
	assert_int_equal(addresses_at(addresses, 4, &at), 1);
	assert_int_equal(at[0], 5);
	addresses_unref(addresses);
}

static void what_was_sent_is_what_is_known(void **state)
{
	struct addresses *addresses = collected(), *again;
	struct wire_digest digest = addresses->digest;
	size_t size = addresses->size;
	uint8_t bytes[256];

	assert_true(size <= sizeof(bytes));
	memcpy(bytes, addresses->bytes, size);
	/* Known: only the number of nodes is checked, not the bytes. */
	assert_int_equal(addresses_decode(memberships, &digest, COUNT, NULL, 0,
					  &again),
			 0);
	assert_ptr_equal(again, addresses);
	addresses_unref(again);
	assert_int_equal(addresses_decode(memberships, &digest, COUNT - 1,
					  bytes, size, &again),
			 -EBADMSG);
	addresses_unref(addresses);
	assert_null(addresses_find(memberships, &digest));
	assert_int_equal(addresses_decode(memberships, &digest, COUNT, bytes,
					  size, &again),
			 0);
	assert_true(wire_digest_equals(&again->digest, &digest));
	addresses_unref(again);
	bytes[2] ^= 1;
	assert_int_equal(addresses_decode(memberships, &digest, COUNT, bytes,
					  size, &again),
			 -ESTALE);
}

/* Of `count` nodes, with the digest that they have. */
static int decoded(const char *bytes, size_t size, uint32_t count)
{
	struct addresses *addresses;
	struct wire_digest digest;
	uint8_t *copy = malloc(size > 0 ? size : 1);
	int result;

	memcpy(copy, bytes, size);
	wire_digest_of(copy, size, &digest);
	result = addresses_decode(memberships, &digest, count, copy, size,
				  &addresses);
	free(copy);
	if (result == 0)
		addresses_unref(addresses);
	return result;
}

static void malformed_addresses_are_refused(void **state)
{
	char longest[1 + WIRE_ADDRESS_MAX + 1];

	memset(longest, 1, sizeof(longest));
	longest[0] = WIRE_ADDRESS_MAX;
	assert_int_equal(decoded("\2ab\0\377", 5, 3), 0);
	assert_int_equal(decoded(longest, sizeof(longest) - 1, 1), 0);
	assert_int_equal(decoded("", 0, 1), -EBADMSG);
	assert_int_equal(decoded("\2ab\0\377", 5, 2), -EBADMSG);
	assert_int_equal(decoded("\2ab\0\377", 5, 4), -EBADMSG);
	assert_int_equal(decoded("\2ab\0\377", 5, UINT32_MAX), -EBADMSG);
	assert_int_equal(decoded("\377", 1, 1), -EBADMSG);
	assert_int_equal(decoded("\2a", 2, 1), -EBADMSG);
	assert_int_equal(decoded("\2a\0", 3, 1), -EBADMSG);
	longest[0]++;
	assert_int_equal(decoded(longest, sizeof(longest), 1), -EBADMSG);
}

static void lookup_that_fails_ends_it(void **state)
{
	struct addresses *addresses;
	int result = -ENOSPC;

	assert_int_equal(addresses_collect(membership, look_up, &result,
					   &addresses),
			 -ENOSPC);
}

static void zeros_at_the_end_are_cut(void **state)
{
	assert_int_equal(address_trim("a\0b\0\0", 5), 3);
	assert_int_equal(address_trim("\0\0", 2), 0);
	assert_int_equal(address_trim("ab", 2), 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_node_has_the_address_that_was_said),
		cmocka_unit_test(what_was_sent_is_what_is_known),
		cmocka_unit_test(malformed_addresses_are_refused),
		cmocka_unit_test(lookup_that_fails_ends_it),
		cmocka_unit_test(zeros_at_the_end_are_cut),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_core_addresses", tests, setup,
					   teardown);
}
