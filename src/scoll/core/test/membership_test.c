/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/membership.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "sim/heap.h"

static struct memberships *memberships;

static int setup(void **state)
{
	return memberships_create(&memberships);
}

/* Nothing is left when all references are given back. */
static int teardown(void **state)
{
	assert_int_equal(memberships_count(memberships), 0);
	assert_int_equal(memberships_size(memberships), 0);
	memberships_destroy(memberships);
	return 0;
}

static const scoll_tag_t tags[] = { { "ost0............" },
				    { "ost1............" },
				    { "ost2............" } };

static struct membership *made(const scoll_target_t *targets, int count)
{
	struct membership *membership = NULL;

	assert_int_equal(memberships_from_targets(memberships, targets, count,
						  NULL, NULL, &membership),
			 0);
	return membership;
}

static int refused(const scoll_target_t *targets, int count)
{
	struct membership *membership;

	return memberships_from_targets(memberships, targets, count, NULL, NULL,
					&membership);
}

static void members_S07_are_tags_on_nodes_and_counted_by_node(void **state)
{
	const scoll_target_t targets[] = { { 20, tags, 3 }, { 10, tags, 1 } };
	struct membership *membership = made(targets, 2);
	scoll_target_t target;

	assert_int_equal(membership->count, 2);
	assert_int_equal(membership->entity_count, 4);
	assert_int_equal(membership_index(membership, 20), 0);
	assert_int_equal(membership_index(membership, 10), 1);
	assert_int_equal(membership_index(membership, 15), -ENOENT);
	assert_int_equal(membership_entities(membership, 0, 1), 3);
	assert_int_equal(membership_entities(membership, 1, 1), 1);
	assert_int_equal(membership_entities(membership, 0, 2), 4);
	assert_int_equal(membership_entities(membership, 1, 0), 0);
	membership_target(membership, 0, &target);
	assert_int_equal(target.nid, 20);
	assert_int_equal(target.count, 3);
	assert_memory_equal(target.tags, tags, sizeof(tags));
	membership_unref(membership);
}

static void targets_of_one_node_are_merged_where_the_first_is(void **state)
{
	const scoll_target_t apart[] = { { 5, &tags[2], 1 },
					 { 9, &tags[0], 1 },
					 { 5, &tags[0], 2 } };
	const scoll_tag_t merged[] = { tags[2], tags[0], tags[1] };
	const scoll_target_t together[] = { { 5, merged, 3 },
					    { 9, &tags[0], 1 } };
	struct membership *membership = made(apart, 3);
	struct membership *same = made(together, 2);

	assert_ptr_equal(membership, same);
	assert_int_equal(membership->count, 2);
	assert_int_equal(membership->nids[0], 5);
	membership_unref(membership);
	membership_unref(same);
}

static void targets_that_are_no_list_are_refused(void **state)
{
	const scoll_tag_t again[] = { tags[0], tags[1], tags[0] };
	const scoll_target_t twice[] = { { 5, again, 3 } };
	const scoll_target_t apart[] = { { 5, tags, 1 },
					 { 6, tags, 1 },
					 { 5, tags, 1 } };
	const scoll_target_t empty[] = { { 5, tags, 1 }, { 6, tags, 0 } };
	const scoll_target_t negative[] = { { 5, tags, -1 } };
	const scoll_target_t no_tags[] = { { 5, NULL, 1 } };
	const scoll_target_t any[] = { { SCOLL_NID_ANY, tags, 1 } };

	assert_int_equal(refused(twice, 1), -EINVAL);
	assert_int_equal(refused(apart, 3), -EINVAL);
	assert_int_equal(refused(empty, 2), -EINVAL);
	assert_int_equal(refused(negative, 1), -EINVAL);
	assert_int_equal(refused(no_tags, 1), -EINVAL);
	assert_int_equal(refused(any, 1), -EINVAL);
	assert_int_equal(refused(apart, 0), -EINVAL);
	assert_int_equal(refused(apart, -1), -EINVAL);
	assert_int_equal(refused(NULL, 1), -EINVAL);
}

static void limits_have_a_refusal(void **state)
{
	uint32_t count = SCOLL_ENTITIES_MAX + 1;
	scoll_tag_t *many = calloc(count, sizeof(*many));
	scoll_target_t *targets = calloc(300, sizeof(*targets));
	struct membership *membership;

	for (uint32_t i = 0; i < count; i++)
		memcpy(many[i].bytes, &i, sizeof(i));
	targets[0] = (scoll_target_t){ 1, many, SCOLL_ENTITIES_MAX };
	membership = made(targets, 1);
	assert_int_equal(membership->entity_count, SCOLL_ENTITIES_MAX);
	membership_unref(membership);
	targets[0].count++;
	assert_int_equal(refused(targets, 1), -E2BIG);
	/* Each of them alone would be allowed. */
	for (uint32_t i = 0; i < 300; i++)
		targets[i] = (scoll_target_t){ i, many, SCOLL_ENTITIES_MAX };
	assert_int_equal(refused(targets, 300), -E2BIG);
	free(many);
	free(targets);
}

static void digest_G13_covers_order_nodes_and_tags(void **state)
{
	const scoll_tag_t swapped[] = { tags[1], tags[0] };
	const scoll_target_t lists[6][2] = {
		{ { 1, tags, 2 }, { 2, tags, 1 } },
		{ { 2, tags, 1 }, { 1, tags, 2 } },     /* order */
		{ { 1, tags, 2 }, { 3, tags, 1 } },     /* a node */
		{ { 1, tags, 2 }, { 2, &tags[1], 1 } }, /* a tag */
		{ { 1, swapped, 2 }, { 2, tags, 1 } },  /* their order */
		{ { 1, tags, 2 } },                     /* a node less */
	};
	struct membership *all[6];

	for (int i = 0; i < 6; i++) {
		all[i] = made(lists[i], i == 5 ? 1 : 2);
		for (int k = 0; k < i; k++)
			assert_false(wire_digest_equals(&all[i]->digest,
							&all[k]->digest));
	}
	assert_int_equal(memberships_count(memberships), 6);
	for (int i = 0; i < 6; i++)
		membership_unref(all[i]);
}

static void digest_is_what_the_document_says(void **state)
{
	const scoll_target_t targets[] = { { 7, tags, 2 }, { 3, tags, 1 } };
	struct membership *membership = made(targets, 2);
	struct writer writer = { 0 };
	struct wire_digest digest;

	write_u32(&writer, 2);
	write_u64(&writer, 7);
	write_u16(&writer, 2);
	write_bytes(&writer, tags, 2 * sizeof(tags[0]));
	write_u64(&writer, 3);
	write_u16(&writer, 1);
	write_bytes(&writer, tags, sizeof(tags[0]));
	wire_digest_of(writer.data, writer.size, &digest);
	assert_true(wire_digest_equals(&membership->digest, &digest));
	writer_fini(&writer);
	membership_unref(membership);
}

/* Every member has the same list, in the same order. */
static void list_G12_is_the_same_after_the_wire(void **state)
{
	enum {
		COUNT = 1000
	};
	scoll_target_t targets[COUNT], target;
	struct membership *membership, *known, *got;
	struct memberships *elsewhere;
	_auto_(freep) uint8_t *bytes = NULL;
	size_t size;

	for (uint64_t i = 0; i < COUNT; i++)
		targets[i] = (scoll_target_t){ i * 7919 % 1009, tags,
					       1 + (int)(i / 10 % 3) };
	membership = made(targets, COUNT);
	size = membership_encoded_size(membership);
	bytes = malloc(size);
	membership_encode(membership, bytes);
	assert_int_equal(memberships_create(&elsewhere), 0);
	assert_int_equal(memberships_decode(elsewhere, &membership->digest,
					    bytes, size, &got),
			 0);
	assert_int_equal(got->count, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		assert_int_equal(membership_index(got, targets[i].nid), i);
		membership_target(got, i, &target);
		assert_int_equal(target.count, targets[i].count);
		assert_memory_equal(target.tags, tags,
				    (size_t)target.count * sizeof(tags[0]));
	}
	assert_true(membership_is(got, targets, COUNT));
	/* What is known is not read again. */
	assert_int_equal(memberships_decode(elsewhere, &membership->digest,
					    NULL, 0, &known),
			 0);
	assert_ptr_equal(known, got);
	membership_unref(known);
	membership_unref(got);
	memberships_destroy(elsewhere);
	membership_unref(membership);
}

static void list_of_equal_nodes_takes_24_bytes_each(void **state)
{
	scoll_target_t targets[100];
	struct membership *membership;

	for (uint64_t i = 0; i < 100; i++)
		targets[i] = (scoll_target_t){ i, tags, 1 };
	membership = made(targets, 100);
	assert_int_equal(membership_encoded_size(membership), 4 + 6 + 2400);
	/* In memory, too. */
	assert_int_equal(membership->size, sizeof(*membership) + 2400);
	membership_unref(membership);
	/* Where NIDs do not rise, and where one has two entities: 4 more. */
	targets[0].nid = 1000;
	membership = made(targets, 100);
	assert_int_equal(membership->size, sizeof(*membership) + 2800);
	membership_unref(membership);
	targets[0].nid = 0;
	targets[50].count = 2;
	membership = made(targets, 100);
	assert_int_equal(membership->size,
			 sizeof(*membership) + 2400 + 16 + 101 * 4);
	membership_unref(membership);
}

static int decoded(const struct wire_digest *digest, const void *bytes,
		   size_t size)
{
	struct membership *membership;
	/* Exactly so many bytes, so that a read behind them is seen. */
	uint8_t *copy = malloc(size > 0 ? size : 1);
	int result;

	memcpy(copy, bytes, size);
	result = memberships_decode(memberships, digest, copy, size,
				    &membership);
	if (result == 0)
		membership_unref(membership);
	free(copy);
	return result;
}

static void decode_rejects_damaged_lists(void **state)
{
	const scoll_target_t targets[] = { { 7, tags, 2 },
					   { 3, tags, 1 },
					   { 5, tags, 1 } };
	struct membership *membership = made(targets, 3);
	size_t size = membership_encoded_size(membership);
	struct wire_digest digest = membership->digest;
	uint8_t bytes[256] = { 0 };

	assert_int_equal(size, 4 + 2 * 6 + 3 * 8 + 4 * 16);
	membership_encode(membership, bytes);
	membership_unref(membership);
	assert_int_equal(decoded(&digest, bytes, size), 0);
	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(decoded(&digest, bytes, cut), -EBADMSG);
	assert_int_equal(decoded(&digest, bytes, size + 1), -EBADMSG);
	for (size_t bit = 0; bit < 8 * size; bit++) {
		int result;

		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
		result = decoded(&digest, bytes, size);
		assert_true(result == -EBADMSG || result == -ESTALE);
		bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	digest.bytes[0] ^= 1;
	assert_int_equal(decoded(&digest, bytes, size), -ESTALE);
}

static struct writer list_begin(uint32_t count, uint32_t run, uint16_t on_each)
{
	struct writer writer = { 0 };

	write_u32(&writer, count);
	write_u32(&writer, run);
	write_u16(&writer, on_each);
	return writer;
}

static int list_decoded(struct writer *writer)
{
	const struct wire_digest none = { 0 };
	int result = decoded(&none, writer->data, writer->size);

	writer_fini(writer);
	return result;
}

static void decode_believes_no_more_than_was_sent(void **state)
{
	static const uint32_t heads[][3] = {
		{ 0, 0, 0 },                   /* nobody */
		{ UINT32_MAX, UINT32_MAX, 1 }, /* too many for its bytes */
		{ 1, 1, 65535 },
		{ 1, 2, 1 }, /* a run beyond the end */
		{ 1, 0, 1 }, /* no run */
		{ 1, 1, 0 }, /* no tag */
	};
	struct writer writer;

	writer = list_begin(1, 1, 1);
	write_bytes(&writer, tags, 24);
	assert_int_equal(list_decoded(&writer), -ESTALE); /* well-formed */
	for (size_t i = 0; i < 6; i++) {
		writer = list_begin(heads[i][0], heads[i][1],
				    (uint16_t)heads[i][2]);
		write_bytes(&writer, tags, 24);
		assert_int_equal(list_decoded(&writer), -EBADMSG);
	}
}

static void decode_rejects_what_is_there_twice(void **state)
{
	struct writer writer = list_begin(2, 2, 1);

	write_u64(&writer, 4);
	write_u64(&writer, 4);
	write_bytes(&writer, tags, 32);
	assert_int_equal(list_decoded(&writer), -EBADMSG);
	writer = list_begin(1, 1, 2);
	write_u64(&writer, 4);
	write_bytes(&writer, &tags[1], 16);
	write_bytes(&writer, &tags[1], 16);
	assert_int_equal(list_decoded(&writer), -EBADMSG);
	writer = list_begin(1, 1, 1);
	write_u64(&writer, SCOLL_NID_ANY);
	write_bytes(&writer, tags, 16);
	assert_int_equal(list_decoded(&writer), -EBADMSG);
}

static void decode_refuses_too_many_entities(void **state)
{
	struct writer writer = { 0 };

	write_u32(&writer, 300);
	for (int i = 0; i < 300; i++) {
		write_u32(&writer, 1);
		write_u16(&writer, 65535);
	}
	for (int i = 0; i < 300 * 24; i++)
		write_u8(&writer, 0);
	assert_int_equal(list_decoded(&writer), -E2BIG);
}

static void same_list_is_in_memory_once(void **state)
{
	const scoll_target_t targets[] = { { 1, tags, 1 }, { 2, tags, 1 } };
	struct membership *one = made(targets, 2), *two = made(targets, 2);
	struct membership *three = memberships_find(memberships, &one->digest);
	struct wire_digest other = { 0 };

	assert_ptr_equal(one, two);
	assert_ptr_equal(one, three);
	assert_int_equal(memberships_count(memberships), 1);
	assert_int_equal(memberships_size(memberships), one->size);
	assert_null(memberships_find(memberships, &other));
	membership_unref(one);
	membership_unref(two);
	assert_int_equal(memberships_count(memberships), 1);
	membership_unref(three);
	membership_unref(NULL);
}

/* --- the order that suits the network --- */

struct hook {
	int call_count;
	int seen; /* nodes */
	scoll_nid_t first;
	int order[4]; /* what it answers */
};

static void hook_permute(void *ctx, const scoll_nid_t *nids, int count,
			 int *order)
{
	struct hook *hook = ctx;

	hook->call_count++;
	hook->seen = count;
	hook->first = nids[0];
	for (int i = 0; i < count; i++)
		assert_int_equal(order[i], i);
	memcpy(order, hook->order, (size_t)count * sizeof(*order));
}

static void list_G17_is_permuted_by_a_hook(void **state)
{
	/* One node is there twice: the hook sees it once. */
	const scoll_target_t targets[] = { { 30, tags, 1 },
					   { 10, tags, 2 },
					   { 20, tags, 3 },
					   { 30, &tags[1], 1 } };
	const scoll_target_t expected[] = { { 20, tags, 3 },
					    { 30, tags, 2 },
					    { 10, tags, 2 } };
	struct hook hook = { .order = { 2, 0, 1 } };
	struct membership *membership;

	assert_int_equal(memberships_from_targets(memberships, targets, 4,
						  hook_permute, &hook,
						  &membership),
			 0);
	assert_int_equal(hook.call_count, 1);
	assert_int_equal(hook.seen, 3);
	assert_int_equal(hook.first, 30);
	assert_true(membership_is(membership, expected, 3));
	assert_int_equal(membership_index(membership, 20), 0);
	assert_int_equal(membership_index(membership, 10), 2);
	membership_unref(membership);
}

static void hook_that_loses_a_node_is_refused(void **state)
{
	static const int orders[][3] = { { 0, 1, 1 },
					 { 0, 1, 3 },
					 { -1, 1, 2 } };
	const scoll_target_t targets[] = { { 30, tags, 1 },
					   { 10, tags, 2 },
					   { 20, tags, 3 } };
	struct membership *membership;

	for (size_t i = 0; i < 3; i++) {
		struct hook hook = { 0 };

		memcpy(hook.order, orders[i], sizeof(orders[i]));
		assert_int_equal(memberships_from_targets(memberships, targets,
							  3, hook_permute,
							  &hook, &membership),
				 -EINVAL);
	}
}

static void is_tells_lists_apart(void **state)
{
	const scoll_target_t targets[] = { { 1, tags, 2 }, { 2, tags, 1 } };
	const scoll_target_t node[] = { { 1, tags, 2 }, { 3, tags, 1 } };
	const scoll_target_t count[] = { { 1, tags, 2 }, { 2, tags, 2 } };
	const scoll_target_t tag[] = { { 1, tags, 2 }, { 2, &tags[1], 1 } };
	struct membership *membership = made(targets, 2);

	assert_true(membership_is(membership, targets, 2));
	assert_false(membership_is(membership, targets, 1));
	assert_false(membership_is(membership, targets, -1));
	assert_false(membership_is(membership, node, 2));
	assert_false(membership_is(membership, count, 2));
	assert_false(membership_is(membership, tag, 2));
	membership_unref(membership);
}

static int make_and_send(void *ctx)
{
	const scoll_target_t targets[] = { { 7, tags, 2 },
					   { 3, tags, 1 },
					   { 7, &tags[2], 1 } };
	struct membership *membership, *got;
	struct memberships *elsewhere;
	uint8_t bytes[256];
	int result;

	result = memberships_from_targets(memberships, targets, 3, NULL, NULL,
					  &membership);
	if (result < 0)
		return result;
	membership_encode(membership, bytes);
	result = memberships_create(&elsewhere);
	if (result == 0) {
		result = memberships_decode(elsewhere, &membership->digest,
					    bytes,
					    membership_encoded_size(membership),
					    &got);
		if (result == 0)
			membership_unref(got);
		memberships_destroy(elsewhere);
	}
	membership_unref(membership);
	return result;
}

static void end_of_memory_leaves_nothing_behind(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, make_and_send, NULL); n++) {
		assert_int_equal(result, -ENOMEM);
		assert_int_equal(memberships_count(memberships), 0);
		assert_int_equal(memberships_size(memberships), 0);
	}
	assert_int_equal(result, 0);
	assert_true(n > 8);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		test_of(members_S07_are_tags_on_nodes_and_counted_by_node),
		test_of(targets_of_one_node_are_merged_where_the_first_is),
		test_of(targets_that_are_no_list_are_refused),
		test_of(limits_have_a_refusal),
		test_of(digest_G13_covers_order_nodes_and_tags),
		test_of(digest_is_what_the_document_says),
		test_of(list_G12_is_the_same_after_the_wire),
		test_of(list_of_equal_nodes_takes_24_bytes_each),
		test_of(decode_rejects_damaged_lists),
		test_of(decode_believes_no_more_than_was_sent),
		test_of(decode_rejects_what_is_there_twice),
		test_of(decode_refuses_too_many_entities),
		test_of(same_list_is_in_memory_once),
		test_of(list_G17_is_permuted_by_a_hook),
		test_of(hook_that_loses_a_node_is_refused),
		test_of(is_tells_lists_apart),
		test_of(end_of_memory_leaves_nothing_behind),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_membership", tests, NULL,
					   NULL);
}
