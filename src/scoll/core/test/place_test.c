/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose word about where a group's nodes are counts. */
#include "scoll/core/group.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>

#define COUNT   3
#define NONCE   UINT64_C(77)
#define CREATOR 1
#define OTHER   2
#define SERVICE 7

static const struct group_oob no_oob;
static struct memberships *memberships, *elsewhere;
static struct group_table *ours, *theirs;
static struct scoll_group *group;
static struct wire_bcast bcast;
static uint8_t bytes[1024];

static int setup(void **state)
{
	static const scoll_tag_t tag = { "a" };
	struct membership *membership;
	struct group_options options = {
		.nid = CREATOR,
		.nonce = NONCE,
		.lifetime_ns = 1000,
	};
	scoll_target_t targets[COUNT];

	for (int i = 0; i < COUNT; i++)
		targets[i] = (scoll_target_t){ (scoll_nid_t)i + 1, &tag, 1 };
	assert_int_equal(memberships_create(&memberships), 0);
	assert_int_equal(memberships_create(&elsewhere), 0);
	options.memberships = memberships;
	assert_int_equal(group_table_create(&options, &ours), 0);
	options.nid = OTHER;
	options.memberships = elsewhere;
	assert_int_equal(group_table_create(&options, &theirs), 0);
	assert_int_equal(memberships_from_targets(memberships, targets, COUNT,
						  NULL, NULL, &membership),
			 0);
	assert_int_equal(group_create(ours, SERVICE, "lane", membership,
				      SCOLL_TREE_FLAT, NULL, &group),
			 0);
	membership_unref(membership);
	return 0;
}

static int teardown(void **state)
{
	group_table_destroy(ours);
	group_table_destroy(theirs);
	assert_int_equal(memberships_size(memberships), 0);
	assert_int_equal(memberships_size(elsewhere), 0);
	memberships_destroy(memberships);
	memberships_destroy(elsewhere);
	return 0;
}

static int look_up(void *ctx, scoll_nid_t nid,
		   uint8_t ret_bytes[WIRE_ADDRESS_MAX])
{
	ret_bytes[0] = (uint8_t)nid;
	ret_bytes[1] = *(const uint8_t *)ctx;
	return 2;
}

/* The creator's nodes are there; a message says so. */
static void say(uint8_t where, uint16_t flags, scoll_nid_t root,
		uint64_t number)
{
	bool is_inline = !(flags & WIRE_MEMBERS_BULK);
	struct addresses *addresses;

	assert_int_equal(addresses_collect(group->membership, look_up, &where,
					   &addresses),
			 0);
	group_addresses_set(group, addresses);
	addresses_unref(addresses);
	bcast = (struct wire_bcast){
		.flags = flags | WIRE_ADDRESSES,
		.tree = SCOLL_TREE_FLAT,
		.root = root,
		.root_nonce = NONCE,
		.number = number,
		.addresses = group->addresses->digest,
		.params = bytes,
	};
	group_id_write(group, root, NONCE, &bcast);
	bcast.params_size = (uint16_t)group_params_size(group, is_inline);
	assert_true(bcast.params_size <= sizeof(bytes));
	group_params_encode(group, is_inline, bytes);
}

static int resolve(struct group_table *table)
{
	struct scoll_group *got;
	int result = group_resolve(table, &bcast, &no_oob, 1, &got);

	if (result == 0)
		group_unref(got, 1);
	return result;
}

/* The list as bulk data. */
static int learn(size_t cut)
{
	uint8_t list[1024];
	size_t size = group_list_size(group->membership, group->addresses);
	struct scoll_group *got;
	int result;

	assert_true(size <= sizeof(list));
	group_list_encode(group->membership, group->addresses, list);
	result = group_learn(theirs, &bcast, list, size - cut, 1, &got);
	if (result == 0)
		group_unref(got, 1);
	return result;
}

/* What they think of the group that they have learned. */
static void assert_where(uint8_t where)
{
	struct wire_bcast plain = bcast;
	struct scoll_group *got;
	const uint8_t *at;

	plain.flags &= (uint16_t)~WIRE_ADDRESSES;
	assert_int_equal(group_resolve(theirs, &plain, &no_oob, 1, &got), 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(addresses_at(got->addresses, i, &at), 2);
		assert_int_equal(at[0], i + 1);
		assert_int_equal(at[1], where);
	}
	group_unref(got, 1);
}

static void new_group_is_where_anybody_says(void **state)
{
	say('a', 0, 3, 1);
	assert_int_equal(bcast.flags & WIRE_CREATOR, WIRE_CREATOR);
	assert_int_equal(resolve(theirs), 0);
	assert_where('a');
}

static void known_group_moves_when_its_creator_says_so(void **state)
{
	say('a', 0, CREATOR, 10);
	assert_int_equal(resolve(theirs), 0);
	say('b', 0, CREATOR, 12);
	assert_int_equal(resolve(theirs), 0);
	assert_where('b');
	/* That was said before, and comes late. */
	say('c', 0, CREATOR, 11);
	assert_int_equal(resolve(theirs), 0);
	assert_where('b');
	/* Somebody else, who may hand on what is old. */
	say('d', 0, 3, 100);
	assert_int_equal(resolve(theirs), 0);
	assert_where('b');
}

static void creator_believes_nobody_about_its_own_group(void **state)
{
	struct addresses *before;

	say('a', 0, 3, 1);
	before = group->addresses;
	say('b', 0, 3, 2);
	say('a', 0, 3, 3);
	before = group->addresses;
	bcast.addresses.bytes[0] ^= 1; /* other ones, and not even those */
	assert_int_equal(resolve(ours), -ESTALE);
	assert_ptr_equal(group->addresses, before);
}

static void list_is_wanted_when_only_addresses_are_not_known(void **state)
{
	say('a', WIRE_POPULATE | WIRE_MEMBERS_BULK, CREATOR, 1);
	assert_int_equal(resolve(theirs), -ENODATA);
	assert_int_equal(learn(1), -EBADMSG);
	assert_int_equal(learn(0), 0);
	assert_where('a');
	assert_int_equal(resolve(theirs), 0);
	say('b', WIRE_POPULATE | WIRE_MEMBERS_BULK, CREATOR, 2);
	assert_int_equal(resolve(theirs), -ENODATA);
	assert_where('a');
	assert_int_equal(learn(0), 0);
	assert_where('b');
}

static void parameters_without_their_addresses_are_refused(void **state)
{
	uint16_t whole;

	say('a', 0, CREATOR, 1);
	whole = bcast.params_size;
	for (uint16_t size = 1; size < whole; size++) {
		bcast.params_size = size;
		assert_int_equal(resolve(theirs), -EBADMSG);
	}
	bcast.params_size = whole;
	bytes[1 + 4] = 0xff; /* more addresses than there are bytes */
	assert_int_equal(resolve(theirs), -EBADMSG);
	bytes[1 + 4] = COUNT * 3;
	bcast.addresses.bytes[3] ^= 1;
	assert_int_equal(resolve(theirs), -ESTALE);
	bcast.addresses.bytes[3] ^= 1;
	assert_int_equal(resolve(theirs), 0);
}

static void later_word_counts_unless_one_root_has_said_both(void **state)
{
	struct group_source first = { 1, NONCE, 10, 1 };
	struct group_source later = { 1, NONCE, 9, 2 };
	struct group_source other = { 2, NONCE, 1, 3 };
	struct group_source again = { 1, NONCE + 1, 1, 4 };

	assert_false(group_source_is_newer(&later, &first));
	assert_true(group_source_is_newer(&first, &later));
	assert_true(group_source_is_newer(&first, &first));
	assert_true(group_source_is_newer(&other, &first));
	assert_false(group_source_is_newer(&first, &other));
	assert_true(group_source_is_newer(&again, &first));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(new_group_is_where_anybody_says),
		TEST(known_group_moves_when_its_creator_says_so),
		TEST(creator_believes_nobody_about_its_own_group),
		TEST(list_is_wanted_when_only_addresses_are_not_known),
		TEST(parameters_without_their_addresses_are_refused),
		cmocka_unit_test(
			later_word_counts_unless_one_root_has_said_both),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_core_place", tests, NULL,
					   NULL);
}
