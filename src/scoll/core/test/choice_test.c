/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/core/choice.h"

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
#include "sim/rng.h"

#define COUNT  200
#define NID(i) ((scoll_nid_t)(1000 - (i))) /* falling, so indexes are not it */
#define ON(i)  (1 + (i) % 3)               /* entities on a node */

static struct memberships *memberships;
static struct membership *membership;

static int setup(void **state)
{
	static const scoll_tag_t tags[] = { { "a" }, { "b" }, { "c" } };
	scoll_target_t targets[COUNT];

	for (int i = 0; i < COUNT; i++)
		targets[i] = (scoll_target_t){ NID(i), tags, ON(i) };
	assert_int_equal(memberships_create(&memberships), 0);
	assert_int_equal(memberships_from_targets(memberships, targets, COUNT,
						  NULL, NULL, &membership),
			 0);
	return 0;
}

static int teardown(void **state)
{
	assert_null(membership->choices);
	assert_null(membership->everybody);
	assert_int_equal(membership->reference_count, 1);
	membership_unref(membership);
	memberships_destroy(memberships);
	return 0;
}

static struct choice *of_bits(const uint64_t *words)
{
	struct choice *choice;

	assert_int_equal(choice_of_bits(membership, words, NULL, &choice), 0);
	return choice;
}

static void bit_set(uint64_t *words, uint32_t at)
{
	words[at / 64] |= UINT64_C(1) << at % 64;
}

static bool bit_is_set(const uint64_t *words, uint32_t at)
{
	return (words[at / 64] >> at % 64 & 1) != 0;
}

/* Against the plain list of those whose bit is set. */
static void assert_is(const struct choice *choice, const uint64_t *words)
{
	uint32_t position = 0, sum = 0;

	for (uint32_t i = 0; i < COUNT; i++) {
		if (!bit_is_set(words, i)) {
			assert_int_equal(choice_position(choice, NID(i)),
					 -ENOENT);
			continue;
		}
		assert_int_equal(choice_position(choice, NID(i)), position);
		assert_int_equal(choice_index(choice, position), i);
		assert_int_equal(choice_entities(choice, 0, position), sum);
		assert_int_equal(choice_entities(choice, position, 1), ON(i));
		position++;
		sum += ON(i);
	}
	assert_int_equal(choice->count, position);
	assert_int_equal(choice->entity_count, sum);
	assert_int_equal(choice_entities(choice, 0, position), sum);
	assert_int_equal(choice_position(choice, 5), -ENOENT);
}

static void everybody_is_a_choice_of_one_range(void **state)
{
	uint64_t words[4] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct choice *all, *again, *by_bits;

	assert_int_equal(choice_all(membership, &all), 0);
	assert_int_equal(choice_all(membership, &again), 0);
	by_bits = of_bits(words);
	assert_ptr_equal(all, again);
	assert_ptr_equal(all, by_bits);
	assert_true(choice_is_all(all));
	assert_int_equal(all->range_count, 1);
	assert_is(all, words);
	choice_unref(all);
	choice_unref(again);
	choice_unref(by_bits);
	choice_unref(NULL);
}

static void chosen_nodes_stand_in_the_order_of_the_members(void **state)
{
	const scoll_nid_t nids[] = { NID(9), NID(3), NID(4), NID(199), NID(3) };
	const scoll_nid_t unknown[] = { NID(9), 5 };
	uint64_t words[4] = { 0 };
	struct choice *choice;

	assert_int_equal(choice_of_nids(membership, nids, 5, &choice), 0);
	bit_set(words, 3);
	bit_set(words, 4);
	bit_set(words, 9);
	bit_set(words, 199);
	assert_is(choice, words);
	assert_int_equal(choice->range_count, 3);
	assert_false(choice_is_all(choice));
	choice_unref(choice);
	assert_int_equal(choice_of_nids(membership, unknown, 2, &choice),
			 -ENOENT);
	assert_int_equal(choice_of_nids(membership, nids, 0, &choice), -ENOENT);
}

static void random_words(struct sim_rng *rng, uint64_t words[4])
{
	uint64_t kind = sim_rng_below(rng, 3);

	for (int i = 0; i < 4; i++) {
		words[i] = sim_rng_u64(rng);
		if (kind == 1) /* few */
			words[i] &= sim_rng_u64(rng) & sim_rng_u64(rng);
		if (kind == 2) /* nearly all */
			words[i] |= sim_rng_u64(rng) | sim_rng_u64(rng);
	}
	bit_set(words, (uint32_t)sim_rng_below(rng, COUNT));
}

/* As it is sent and read by another member; takes the reference. */
static void assert_travels(struct choice *choice, const uint64_t *words)
{
	size_t size = choice_encoded_size(choice);
	struct wire_digest digest = choice->digest;
	uint8_t *bytes = malloc(size);
	struct choice *got;

	choice_encode(choice, bytes);
	choice_unref(choice);
	assert_null(membership->choices);
	assert_int_equal(choice_decode(membership, &digest, bytes, size, &got),
			 0);
	assert_is(got, words);
	assert_true(wire_digest_equals(&got->digest, &digest));
	choice_unref(got);
	digest.bytes[3] ^= 1;
	assert_int_equal(choice_decode(membership, &digest, bytes, size, &got),
			 -ESTALE);
	free(bytes);
}

static void choice_is_the_same_after_the_wire(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 3);
	for (int i = 0; i < 200; i++) {
		uint64_t words[4];
		struct choice *choice;

		random_words(&rng, words);
		choice = of_bits(words);
		assert_is(choice, words);
		assert_travels(choice, words);
	}
}

static void shorter_form_is_sent(void **state)
{
	uint64_t odd[4] = { 0xaaaaaaaaaaaaaaaa, 0xaaaaaaaaaaaaaaaa,
			    0xaaaaaaaaaaaaaaaa, 0xaa };
	uint64_t some[4] = { ~UINT64_C(0x80), UINT64_MAX, UINT64_MAX, 0 };
	struct choice *choice = of_bits(odd);
	uint8_t bytes[64];

	assert_int_equal(choice_encoded_size(choice), 1 + 4 + 25);
	choice_encode(choice, bytes);
	assert_int_equal(bytes[0], 2);
	assert_travels(choice, odd);
	choice = of_bits(some);
	assert_int_equal(choice_encoded_size(choice), 1 + 2 * 8);
	choice_encode(choice, bytes);
	assert_int_equal(bytes[0], 1);
	assert_travels(choice, some);
}

static void both_forms_of_a_choice_are_one(void **state)
{
	static const uint8_t ranges[] = { 1, 3, 0, 0, 0, 2, 0, 0, 0 };
	static const uint8_t bitmap[] = { 2, 1, 0, 0, 0, 0x0c };
	struct wire_digest digest;
	struct choice *choice;
	uint64_t words[4] = { 0 };

	bit_set(words, 3);
	bit_set(words, 4);
	choice = of_bits(words);
	digest = choice->digest;
	choice_unref(choice);
	assert_int_equal(choice_decode(membership, &digest, ranges,
				       sizeof(ranges), &choice),
			 0);
	assert_is(choice, words);
	choice_unref(choice);
	assert_int_equal(choice_decode(membership, &digest, bitmap,
				       sizeof(bitmap), &choice),
			 0);
	assert_is(choice, words);
	choice_unref(choice);
}

static void living_ones_of_a_choice_are_a_choice(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 4);
	for (int i = 0; i < 100; i++) {
		uint64_t within[4], alive[4], both[4];
		struct choice *outer, *choice;
		bool is_any = false;
		int result;

		random_words(&rng, within);
		random_words(&rng, alive);
		if (i % 10 == 0)
			memset(alive, 0, sizeof(alive));
		for (int k = 0; k < 4; k++)
			both[k] = within[k] & alive[k];
		for (uint32_t k = 0; k < COUNT; k++)
			is_any |= bit_is_set(both, k);
		outer = of_bits(within);
		result = choice_of_bits(membership, alive, outer, &choice);
		choice_unref(outer);
		assert_int_equal(result, is_any ? 0 : -ENOENT);
		if (result < 0)
			continue;
		assert_is(choice, both);
		choice_unref(choice);
	}
}

static void union_has_who_is_in_one_of_two(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 9);
	for (int i = 0; i < 300; i++) {
		uint64_t words[3][4];
		struct choice *choices[3];
		bool is_within = true;

		/* Now and then one is in the other. */
		random_words(&rng, words[0]);
		random_words(&rng, words[1]);
		for (int k = 0; k < 4; k++) {
			if (i % 3 == 0)
				words[1][k] &= words[0][k];
			words[2][k] = words[0][k] | words[1][k];
		}
		for (uint32_t k = 0; k < COUNT; k++)
			is_within &= bit_is_set(words[2], k) ==
				     bit_is_set(words[0], k);
		if (choice_of_bits(membership, words[1], NULL, &choices[1]) < 0)
			continue; /* nobody */
		choices[0] = of_bits(words[0]);
		assert_int_equal(
			choice_union(choices[0], choices[1], &choices[2]), 0);
		assert_is(choices[2], words[2]);
		assert_int_equal(choice_covers(choices[0], choices[1]),
				 is_within);
		assert_true(choice_covers(choices[2], choices[0]));
		assert_true(choice_covers(choices[2], choices[1]));
		for (int k = 0; k < 3; k++)
			choice_unref(choices[k]);
	}
}

static void nobody_is_no_choice(void **state)
{
	/* Behind the last member there may be anything. */
	const uint64_t none[4] = { 0, 0, 0, ~UINT64_C(0xff) };
	struct choice *choice;

	assert_int_equal(choice_of_bits(membership, none, NULL, &choice),
			 -ENOENT);
}

static int decoded(const void *bytes, size_t size)
{
	const struct wire_digest none = { 0 };
	uint8_t *copy = malloc(size > 0 ? size : 1);
	struct choice *choice;
	int result;

	memcpy(copy, bytes, size);
	result = choice_decode(membership, &none, copy, size, &choice);
	free(copy);
	return result;
}

static int range_decoded(uint32_t first, uint32_t count, uint32_t next)
{
	struct writer writer = { 0 };
	int result;

	write_u8(&writer, 1);
	write_u32(&writer, first);
	write_u32(&writer, count);
	write_u32(&writer, next);
	write_u32(&writer, 1);
	result = decoded(writer.data, writer.size);
	writer_fini(&writer);
	return result;
}

static void decode_rejects_what_is_no_choice(void **state)
{
	static const uint8_t bits_none[] = { 2, 0, 0, 0, 0, 0, 0 };
	static const uint8_t bits_behind[] = { 2, 199, 0, 0, 0, 2 };
	static const uint8_t bits_far[] = { 2, 255, 255, 255, 255, 0, 1 };
	static const uint8_t one[] = { 1, 0, 0, 0, 0, 1, 0, 0, 0 };
	static const uint8_t form[] = { 3, 0, 0, 0, 0, 1, 0, 0, 0 };

	assert_int_equal(range_decoded(3, 2, 7), -ESTALE); /* well-formed */
	assert_int_equal(range_decoded(3, 0, 7), -EBADMSG);
	assert_int_equal(range_decoded(3, 2, 4), -EBADMSG);
	assert_int_equal(range_decoded(3, 2, 5), -EBADMSG); /* one range */
	assert_int_equal(range_decoded(3, 2, 0), -EBADMSG);
	assert_int_equal(range_decoded(3, 2, COUNT), -EBADMSG);
	assert_int_equal(range_decoded(3, COUNT, 7), -EBADMSG);
	assert_int_equal(range_decoded(3, UINT32_MAX, 7), -EBADMSG);
	for (size_t cut = 0; cut < sizeof(one); cut++)
		assert_int_equal(decoded(one, cut), -EBADMSG);
	assert_int_equal(decoded(one, sizeof(one)), -ESTALE);
	assert_int_equal(decoded(form, sizeof(form)), -EBADMSG);
	assert_int_equal(decoded(bits_none, sizeof(bits_none)), -EBADMSG);
	assert_int_equal(decoded(bits_behind, sizeof(bits_behind)), -EBADMSG);
	assert_int_equal(decoded(bits_far, sizeof(bits_far)), -EBADMSG);
}

/* --- rankings --- */

/* Against the list of the choice, turned so that the root is first. */
static void assert_ranked(const struct choice *choice, scoll_nid_t root)
{
	int position = choice_position(choice, root);
	uint32_t entities[COUNT + 2] = { 0 }, count = 0;
	struct ranking ranking;
	scoll_target_t target;

	ranking_init(choice, root, &ranking);
	assert_int_equal(ranking.is_extra, position < 0);
	assert_int_equal(ranking.count, choice->count + (position < 0));
	if (position < 0) {
		assert_int_equal(ranking_nid(&ranking, 0), root);
		assert_int_equal(ranking_rank(&ranking, root), 0);
		ranking_target(&ranking, 0, &target);
		assert_int_equal(target.nid, root);
		assert_int_equal(target.count, 0);
		entities[++count] = 0;
		position = 0;
	}
	for (uint32_t i = 0; i < choice->count; i++, count++) {
		uint32_t index = choice_index(choice, ((uint32_t)position + i) %
							      choice->count);

		assert_int_equal(ranking_nid(&ranking, count), NID(index));
		assert_int_equal(ranking_rank(&ranking, NID(index)), count);
		ranking_target(&ranking, count, &target);
		assert_int_equal(target.nid, NID(index));
		assert_int_equal(target.count, ON(index));
		entities[count + 1] = entities[count] + ON(index);
	}
	assert_int_equal(count, ranking.count);
	for (uint32_t from = 0; from <= count; from += 1 + from / 7)
		for (uint32_t to = from; to <= count; to++)
			assert_int_equal(ranking_entities(&ranking, from,
							  to - from),
					 entities[to] - entities[from]);
	assert_int_equal(ranking_rank(&ranking, 7), -ENOENT);
}

/* Any member finds itself and all others, whoever is the root. */
static void ranking_G12_is_computed_for_any_root(void **state)
{
	uint64_t words[4] = { 0xff00ff00f0f01234, 0x1, 0xffff, 0x80 };
	struct choice *all, *some = of_bits(words);

	assert_int_equal(choice_all(membership, &all), 0);
	for (uint32_t i = 0; i < COUNT; i += 11) {
		assert_ranked(all, NID(i));
		assert_ranked(some, NID(i)); /* also those not in it */
	}
	assert_ranked(all, NID(COUNT - 1));
	assert_ranked(all, 1000000);
	assert_ranked(some, 1000000);
	choice_unref(all);
	choice_unref(some);
}

static int choose_all_ways(void *ctx)
{
	const scoll_nid_t nids[] = { NID(9), NID(3), NID(1) };
	const uint64_t words[4] = { 0x5555, 0, 1, 0 };
	struct choice *choices[3] = { NULL };
	int result;

	result = choice_all(membership, &choices[0]);
	if (result == 0)
		result = choice_of_nids(membership, nids, 3, &choices[1]);
	if (result == 0)
		result = choice_of_bits(membership, words, choices[0],
					&choices[2]);
	for (int i = 0; i < 3; i++)
		choice_unref(choices[i]);
	return result;
}

static void end_of_memory_leaves_no_choice_behind(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, choose_all_ways, NULL); n++) {
		assert_int_equal(result, -ENOMEM);
		assert_null(membership->choices);
		assert_int_equal(membership->reference_count, 1);
	}
	assert_int_equal(result, 0);
	assert_true(n > 6);
}

#define test_of(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		test_of(everybody_is_a_choice_of_one_range),
		test_of(chosen_nodes_stand_in_the_order_of_the_members),
		test_of(choice_is_the_same_after_the_wire),
		test_of(shorter_form_is_sent),
		test_of(both_forms_of_a_choice_are_one),
		test_of(living_ones_of_a_choice_are_a_choice),
		test_of(nobody_is_no_choice),
		test_of(union_has_who_is_in_one_of_two),
		test_of(decode_rejects_what_is_no_choice),
		test_of(ranking_G12_is_computed_for_any_root),
		test_of(end_of_memory_leaves_no_choice_behind),
	};

	return sodium_init() < 0 ||
	       cmocka_run_group_tests_name("scoll_choice", tests, NULL, NULL);
}
