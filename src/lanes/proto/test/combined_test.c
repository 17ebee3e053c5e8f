/* SPDX-License-Identifier: BSD-3-Clause */
/* Answers combined on the way up, by honest nodes and by others. */
#include "lanes/proto/combined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define PLACES 12

struct bench {
	struct node_master masters[2]; /* ids 1 and 2 */
	struct command command;
	uint8_t incarnations[PLACES][INCARNATION_SIZE];
	struct combined combined;
	char name[16];
};

static int setup(void **state)
{
	static struct bench bench;

	memset(&bench, 0, sizeof(bench));
	for (uint32_t i = 0; i < 2; i++) {
		uint8_t seed[KEY_SIZE] = { (uint8_t)i };

		node_master_derive(i + 1, seed, &bench.masters[i]);
	}
	bench.command = (struct command){
		.version = WIRE_VERSION,
		.op = COMMAND_APPLY,
		.epoch = 3,
		.life = 4,
		.sequence = 5,
		.grant_id = 6,
	};
	for (size_t i = 0; i < PLACES; i++)
		memset(bench.incarnations[i], (int)i, INCARNATION_SIZE);
	assert_int_equal(combined_init(&bench.combined, PLACES), 0);
	*state = &bench;
	return 0;
}

static int teardown(void **state)
{
	struct bench *bench = *state;

	combined_fini(&bench->combined);
	return 0;
}

static const char *name_of(struct bench *bench, uint32_t place)
{
	snprintf(bench->name, sizeof(bench->name), "n%u", place);
	return bench->name;
}

static struct combined_node node_of(void *ctx, uint32_t place)
{
	struct bench *bench = ctx;

	return (struct combined_node){
		.name = name_of(bench, place),
		.incarnation = bench->incarnations[place],
	};
}

/* What the guard of that place answers. */
static struct writer confirm_make(struct bench *bench, uint32_t place,
				  size_t master, int result, const char *reason)
{
	struct writer writer = { 0 };
	struct confirm confirm;
	struct node_key key;

	confirm_answer(&bench->command, name_of(bench, place),
		       bench->incarnations[place], result, &confirm);
	snprintf(confirm.reason, sizeof(confirm.reason), "%s", reason);
	node_key_derive(&bench->masters[master], bench->name, &key);
	assert_int_equal(confirm_encode(&confirm, &key, &writer), 0);
	return writer;
}

static int add(struct bench *bench, struct combined *combined, uint32_t place,
	       size_t master, int result, const char *reason)
{
	struct writer confirm =
		confirm_make(bench, place, master, result, reason);
	int added = combined_add(combined, place, confirm.data, confirm.size);

	writer_fini(&confirm);
	return added;
}

static int merge(struct combined *combined, const struct combined *other)
{
	struct writer writer = { 0 };
	int result;

	assert_int_equal(combined_encode(other, &writer), 0);
	result = combined_merge(combined, writer.data, writer.size);
	writer_fini(&writer);
	return result;
}

static int verify(struct bench *bench, size_t set)
{
	return combined_verify(&bench->combined.sets[set], &bench->command,
			       bench->masters, 2, node_of, bench);
}

static void answers_of_a_tree_are_verified_together(void **state)
{
	struct bench *bench = *state;
	struct combined child;

	assert_int_equal(combined_init(&child, PLACES), 0);
	for (uint32_t i = 0; i < PLACES; i++)
		assert_int_equal(add(bench, i % 3 ? &child : &bench->combined,
				     i, 0, 0, ""),
				 0);
	assert_int_equal(merge(&bench->combined, &child), 0);
	combined_fini(&child);
	assert_int_equal(bench->combined.set_count, 1);
	assert_int_equal(idset_count(bench->combined.sets[0].places), PLACES);
	assert_int_equal(verify(bench, 0), 0);
}

static void each_key_has_a_set_of_its_own(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(add(bench, &bench->combined, 0, 0, 0, ""), 0);
	assert_int_equal(add(bench, &bench->combined, 1, 1, 0, ""), 0);
	assert_int_equal(bench->combined.set_count, 2);
	assert_int_equal(verify(bench, 0), 0);
	assert_int_equal(verify(bench, 1), 0);
	bench->combined.sets[1].key_id = 9;
	assert_int_equal(verify(bench, 1), -ENOKEY);
}

static void failures_and_warnings_are_carried_whole(void **state)
{
	struct bench *bench = *state;
	const uint8_t *bytes;
	size_t size, cursor = 0, count = 0;
	struct combined child;

	assert_int_equal(combined_init(&child, PLACES), 0);
	assert_int_equal(add(bench, &child, 1, 0, -EBUSY, "in use"), 0);
	assert_int_equal(add(bench, &child, 2, 0, 0, "a warning"), 0);
	assert_int_equal(merge(&bench->combined, &child), 0);
	combined_fini(&child);
	assert_int_equal(bench->combined.set_count, 0);
	while (combined_carried_next(&bench->combined, &cursor, &bytes,
				     &size)) {
		struct confirm confirm;

		assert_int_equal(confirm_open(bench->masters, 2, bytes, size,
					      &confirm),
				 0);
		assert_int_equal(confirm.result, count == 0 ? -EBUSY : 0);
		confirm_fini(&confirm);
		count++;
	}
	assert_int_equal(count, 2);
}

static void relay_cannot_answer_for_another_node(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(add(bench, &bench->combined, 4, 0, 0, ""), 0);
	idset_add(bench->combined.sets[0].places, 5);
	assert_int_equal(verify(bench, 0), -EKEYREJECTED);
}

static void answer_to_another_command_does_not_count(void **state)
{
	struct bench *bench = *state;

	assert_int_equal(add(bench, &bench->combined, 4, 0, 0, ""), 0);
	bench->command.sequence++;
	assert_int_equal(verify(bench, 0), -EKEYREJECTED);
	bench->command.sequence--;
	bench->incarnations[4][0] ^= 1;
	assert_int_equal(verify(bench, 0), -EKEYREJECTED);
}

static void failure_cannot_be_turned_into_done(void **state)
{
	struct bench *bench = *state;
	struct writer refused = confirm_make(bench, 4, 0, -EBUSY, "in use");

	assert_int_equal(add(bench, &bench->combined, 4, 0, 0, ""), 0);
	memcpy(bench->combined.sets[0].tag,
	       refused.data + refused.size - MAC_SIZE, MAC_SIZE);
	assert_int_equal(verify(bench, 0), -EKEYREJECTED);
	writer_fini(&refused);
}

static void no_place_counts_twice(void **state)
{
	struct bench *bench = *state;
	struct combined child;

	assert_int_equal(combined_init(&child, PLACES), 0);
	assert_int_equal(add(bench, &bench->combined, 4, 0, 0, ""), 0);
	assert_int_equal(add(bench, &bench->combined, 4, 0, 0, ""), -EEXIST);
	assert_int_equal(add(bench, &child, 3, 0, 0, ""), 0);
	assert_int_equal(add(bench, &child, 4, 1, 0, ""), 0);
	assert_int_equal(merge(&bench->combined, &child), -EEXIST);
	combined_fini(&child);
	assert_int_equal(bench->combined.set_count, 1);
	assert_int_equal(idset_count(bench->combined.sets[0].places), 1);
	assert_int_equal(verify(bench, 0), 0);
}

static void places_are_within_the_command(void **state)
{
	struct bench *bench = *state;
	struct combined other;

	assert_int_equal(combined_init(&other, 0), -EINVAL);
	assert_int_equal(combined_init(&other, COMBINED_NODES_MAX + 1),
			 -EINVAL);
	assert_int_equal(add(bench, &bench->combined, PLACES, 0, 0, ""),
			 -EINVAL);
	assert_int_equal(combined_init(&other, PLACES + 1), 0);
	assert_int_equal(merge(&bench->combined, &other), -EBADMSG);
	combined_fini(&other);
}

static void every_cut_is_refused(void **state)
{
	struct bench *bench = *state;
	struct writer writer = { 0 };

	assert_int_equal(add(bench, &bench->combined, 1, 0, 0, ""), 0);
	assert_int_equal(add(bench, &bench->combined, 7, 0, 0, ""), 0);
	assert_int_equal(add(bench, &bench->combined, 9, 0, -EIO, "broken"), 0);
	assert_int_equal(combined_encode(&bench->combined, &writer), 0);
	for (size_t size = 0; size < writer.size; size++) {
		struct combined other;

		assert_int_equal(combined_init(&other, PLACES), 0);
		assert_int_equal(combined_merge(&other, writer.data, size),
				 -EBADMSG);
		assert_int_equal(other.set_count, 0);
		assert_int_equal(other.carried_count, 0);
		combined_fini(&other);
	}
	writer_fini(&writer);
}

static void what_is_no_confirmation_is_refused(void **state)
{
	struct bench *bench = *state;
	struct writer confirm = confirm_make(bench, 1, 0, 0, "");

	for (size_t size = 0; size < confirm.size; size++)
		assert_true(combined_add(&bench->combined, 1, confirm.data,
					 size) < 0);
	assert_int_equal(bench->combined.set_count, 0);
	writer_fini(&confirm);
}

static size_t encoded_size(const struct combined *combined)
{
	struct writer writer = { 0 };
	size_t size;

	assert_int_equal(combined_encode(combined, &writer), 0);
	size = writer.size;
	writer_fini(&writer);
	assert_int_equal(combined_encoded_size(combined), size);
	return size;
}

/* Who passes it on knows before what fits in a part. */
static void size_is_known_and_merging_adds_none(void **state)
{
	struct bench *bench = *state;
	struct combined child;
	size_t both;

	assert_true(combined_is_empty(&bench->combined));
	encoded_size(&bench->combined);
	assert_int_equal(combined_init(&child, PLACES), 0);
	for (uint32_t i = 0; i < PLACES; i++) {
		struct combined *combined = i % 3 ? &child : &bench->combined;

		assert_int_equal(add(bench, combined, i, i % 2,
				     i == 7 ? -EIO : 0, ""),
				 0);
		assert_false(combined_is_empty(combined));
		encoded_size(combined);
	}
	both = encoded_size(&bench->combined) + encoded_size(&child);
	assert_int_equal(merge(&bench->combined, &child), 0);
	assert_in_range(encoded_size(&bench->combined), 1, both);
	combined_fini(&child);
}

static void done_can_be_carried_as_it_is(void **state)
{
	struct bench *bench = *state;
	struct writer confirm = confirm_make(bench, 3, 0, 0, "");
	const uint8_t *carried;
	size_t cursor = 0, size;

	assert_int_equal(combined_carry(&bench->combined, confirm.data,
					confirm.size),
			 0);
	assert_int_equal(combined_carry(&bench->combined, confirm.data, 7),
			 -EBADMSG);
	assert_int_equal(bench->combined.set_count, 0);
	assert_int_equal(bench->combined.carried_count, 1);
	assert_true(combined_carried_next(&bench->combined, &cursor, &carried,
					  &size));
	assert_int_equal(size, confirm.size);
	assert_memory_equal(carried, confirm.data, size);
	writer_fini(&confirm);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(answers_of_a_tree_are_verified_together),
		TEST(each_key_has_a_set_of_its_own),
		TEST(failures_and_warnings_are_carried_whole),
		TEST(relay_cannot_answer_for_another_node),
		TEST(answer_to_another_command_does_not_count),
		TEST(failure_cannot_be_turned_into_done),
		TEST(no_place_counts_twice),
		TEST(places_are_within_the_command),
		TEST(every_cut_is_refused),
		TEST(what_is_no_confirmation_is_refused),
		TEST(size_is_known_and_merging_adds_none),
		TEST(done_can_be_carried_as_it_is),
	};

	if (sodium_init() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
