/* SPDX-License-Identifier: BSD-3-Clause */
/* What nodes send up, merged, taken out and merged again. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <sodium.h>

#include "results.h"

#define NODES 40

static struct outcome said(const char *text, uint32_t code)
{
	return (struct outcome){ .kind = OUTCOME_EXITED,
				 .code = code,
				 .output = (const uint8_t *)text,
				 .size = strlen(text) };
}

static int setup(void **state)
{
	*state = results_create(NODES);
	return 0;
}

static int teardown(void **state)
{
	results_destroy(*state);
	return 0;
}

static void add(struct results *results, uint32_t node, const char *text,
		uint32_t code)
{
	struct outcome outcome = said(text, code);

	assert_int_equal(results_add(results, node, &outcome), 0);
}

/* The next entry is this text, of these nodes. */
static void expect(struct results *results, const char *text,
		   const uint32_t *nodes, uint32_t count)
{
	struct outcome outcome;
	const struct idset *got;

	assert_true(results_next(results, &outcome, &got));
	assert_int_equal(outcome.size, strlen(text));
	assert_memory_equal(outcome.output, text, outcome.size);
	assert_int_equal(idset_count(got), count);
	for (uint32_t i = 0; i < count; i++)
		assert_true(idset_has(got, nodes[i]));
}

static void expect_end(struct results *results)
{
	struct outcome outcome;
	const struct idset *nodes;

	assert_false(results_next(results, &outcome, &nodes));
	assert_true(results_is_empty(results));
}

static void equal_outcomes_are_one_entry(void **state)
{
	add(*state, 7, "up", 0);
	add(*state, 3, "down", 0);
	add(*state, 1, "up", 0);
	results_sort(*state);
	expect(*state, "up", (uint32_t[]){ 1, 7 }, 2);
	expect(*state, "down", (uint32_t[]){ 3 }, 1);
	expect_end(*state);
}

static void another_code_kind_or_flag_is_another_entry(void **state)
{
	struct outcome outcome = said("up", 0);

	assert_int_equal(results_add(*state, 0, &outcome), 0);
	outcome.code = 1;
	assert_int_equal(results_add(*state, 1, &outcome), 0);
	outcome.kind = OUTCOME_KILLED;
	assert_int_equal(results_add(*state, 2, &outcome), 0);
	outcome.flags = OUTCOME_TRUNCATED;
	assert_int_equal(results_add(*state, 3, &outcome), 0);
	results_sort(*state);
	for (uint32_t i = 0; i < 4; i++)
		expect(*state, "up", &i, 1);
	expect_end(*state);
}

static void first_outcome_of_a_node_stays(void **state)
{
	struct outcome second = said("second", 0);

	add(*state, 5, "first", 0);
	assert_int_equal(results_add(*state, 5, &second), -EALREADY);
	expect(*state, "first", (uint32_t[]){ 5 }, 1);
	/* Also when it was taken out already. */
	assert_int_equal(results_add(*state, 5, &second), -EALREADY);
	expect_end(*state);
}

static void add_refuses_what_is_no_outcome(void **state)
{
	static uint8_t much[EXEC_OUTPUT_MAX + 1];
	struct outcome good = said("x", 0), bad = good;

	assert_int_equal(results_add(*state, NODES, &good), -EINVAL);
	bad.kind = 0;
	assert_int_equal(results_add(*state, 0, &bad), -EINVAL);
	bad.kind = OUTCOME_KIND_END;
	assert_int_equal(results_add(*state, 0, &bad), -EINVAL);
	bad = good;
	bad.flags = 4;
	assert_int_equal(results_add(*state, 0, &bad), -EINVAL);
	bad.flags = OUTCOME_OMITTED; /* with output */
	assert_int_equal(results_add(*state, 0, &bad), -EINVAL);
	bad = good;
	bad.output = much;
	bad.size = sizeof(much);
	assert_int_equal(results_add(*state, 0, &bad), -EINVAL);
	assert_true(results_is_empty(*state));
}

static void create_refuses_no_node_and_too_many(void **state)
{
	assert_null(results_create(0));
	assert_null(results_create(EXEC_NODES_MAX + 1));
}

/* A part of one entry: "hi" of nodes 0-2 and 5. */
static void make_part(struct writer *writer)
{
	struct results *child = results_create(NODES);

	for (uint32_t i = 0; i < 3; i++)
		add(child, i, "hi", 0);
	add(child, 5, "hi", 0);
	assert_int_equal(results_take(child, EXEC_PART_BYTES, writer), 1);
	assert_int_equal(results_take(child, EXEC_PART_BYTES, writer), 0);
	assert_int_equal(idset_count(results_known(child)), 4);
	results_destroy(child);
}

static void part_merges_into_what_is_there(void **state)
{
	_auto_(writer_fini) struct writer part = { 0 };

	make_part(&part);
	add(*state, 4, "hi", 0);
	add(*state, 1, "mine", 0);
	assert_int_equal(results_merge(*state, part.data, part.size), 3);
	results_sort(*state);
	expect(*state, "hi", (uint32_t[]){ 0, 2, 4, 5 }, 4);
	expect(*state, "mine", (uint32_t[]){ 1 }, 1);
	expect_end(*state);
	/* Once more: nothing of it is new. */
	assert_int_equal(results_merge(*state, part.data, part.size), 0);
	expect_end(*state);
}

static int digest_count;

/* In the place of libsodium's: each digest reads all of an output. */
int crypto_generichash_init(crypto_generichash_state *state,
			    const unsigned char *key, size_t keylen,
			    size_t outlen)
{
	int (*real)(crypto_generichash_state *, const unsigned char *, size_t,
		    size_t);

	*(void **)&real = dlsym(RTLD_NEXT, "crypto_generichash_init");
	digest_count++;
	return real(state, key, keylen, outlen);
}

static void merge_reads_an_output_once_for_all_its_nodes(void **state)
{
	_auto_(writer_fini) struct writer part = { 0 };

	make_part(&part);
	digest_count = 0;
	assert_int_equal(results_merge(*state, part.data, part.size), 4);
	assert_int_equal(digest_count, 1);
	/* And not at all when there is nothing new. */
	assert_int_equal(results_merge(*state, part.data, part.size), 0);
	assert_int_equal(digest_count, 1);
}

static void part_has_the_format_of_the_header(void **state)
{
	static const uint8_t wanted[] = {
		1, 1, 0,                    /* version, entries */
		1, 0, 0, 0, 0,   0,         /* exited, 0, no flags */
		2, 0, 0, 0, 'h', 'i',       /* output */
		2, 0, 0, 0,                 /* ranges */
		0, 0, 0, 0, 3,   0,   0, 0, /* 0-2 */
		5, 0, 0, 0, 1,   0,   0, 0, /* 5 */
	};
	_auto_(writer_fini) struct writer part = { 0 };

	make_part(&part);
	assert_int_equal(part.size, sizeof(wanted));
	assert_memory_equal(part.data, wanted, sizeof(wanted));
}

static void merge_refuses_damage_and_takes_nothing_of_it(void **state)
{
	static const struct {
		size_t at;
		uint8_t value;
	} damages[] = {
		{ 0, 2 },   { 1, 2 },  /* version, an entry that is not there */
		{ 1, 0 },   { 3, 0 },  /* no entry, no kind */
		{ 3, 9 },   { 8, 4 },  /* kind, flag */
		{ 9, 200 }, { 15, 0 }, /* output, no range */
		{ 23, 0 },  { 19, 5 }, /* an empty range, ranges that meet */
		{ 27, 3 },  { 27, 39 }, /* ranges that touch, the last node */
		{ 27, 40 }, { 31, 60 }, /* no such node */
	};
	_auto_(writer_fini) struct writer part = { 0 };

	make_part(&part);
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		uint8_t kept = part.data[damages[i].at];
		int result;

		part.data[damages[i].at] = damages[i].value;
		result = results_merge(*state, part.data, part.size);
		if (damages[i].value == 39) {
			assert_int_equal(result, 4); /* it is there */
			results_destroy(*state);
			setup(state);
		} else {
			assert_int_equal(result, -EBADMSG);
		}
		assert_int_equal(idset_count(results_known(*state)), 0);
		part.data[damages[i].at] = kept;
	}
	for (size_t size = 0; size < part.size; size++)
		assert_int_equal(results_merge(*state, part.data, size),
				 -EBADMSG);
	assert_true(results_is_empty(*state));
	assert_int_equal(results_merge(*state, part.data, part.size), 4);
}

/* Each its own output, more than one part has room for. */
static void large_answers_go_in_parts_and_arrive_whole(void **state)
{
	static uint8_t text[EXEC_OUTPUT_MAX];
	struct results *parent = results_create(NODES);
	int part_count = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		struct outcome outcome = said("", 0);

		memset(text, (int)('a' + i % 26), sizeof(text));
		text[0] = (uint8_t)i;
		outcome.output = text;
		outcome.size = sizeof(text);
		assert_int_equal(results_add(*state, i, &outcome), 0);
	}
	while (!results_is_empty(*state)) {
		_auto_(writer_fini) struct writer part = { 0 };

		assert_true(results_take(*state, results_part_bytes(NODES),
					 &part) > 0);
		assert_true(part.size <= results_part_bytes(NODES));
		assert_true(results_merge(parent, part.data, part.size) > 0);
		part_count++;
	}
	assert_true(part_count > 1);
	assert_true(part_count <= results_part_count(NODES));
	assert_int_equal(idset_count(results_known(parent)), NODES);
	results_destroy(parent);
}

/* The most ranges that there can be, and the most output, fit in a part. */
static void worst_entry_fits_in_a_part(void **state)
{
	static uint8_t text[EXEC_OUTPUT_MAX];
	struct outcome outcome = { .kind = OUTCOME_EXITED,
				   .output = text,
				   .size = sizeof(text) };
	_auto_(writer_fini) struct writer part = { 0 };
	struct results *results = results_create(EXEC_NODES_MAX);

	for (uint32_t i = 0; i < EXEC_NODES_MAX; i += 2)
		assert_int_equal(results_add(results, i, &outcome), 0);
	assert_int_equal(results_take(results, EXEC_PART_BYTES, &part), 1);
	assert_true(part.size < EXEC_PART_BYTES);
	assert_true(results_is_empty(results));
	results_destroy(results);
}

/* As much as a subtree of that size can have: its parts have room for it. */
static void parts_have_room_for_all_that_nodes_can_have(void **state)
{
	static const uint32_t counts[] = { 1, 2, 15, 16, 200, 1000 };
	static uint8_t text[EXEC_OUTPUT_MAX];

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		struct outcome outcome = { .kind = OUTCOME_EXITED,
					   .output = text };
		size_t capacity = results_part_bytes(counts[i]);
		struct results *results = results_create(counts[i]);
		int part_count = 0;

		for (uint32_t node = 0; node < counts[i]; node++) {
			memcpy(text, &node, sizeof(node));
			outcome.size = node % 3 == 2 ? 100 : sizeof(text);
			assert_int_equal(results_add(results, node, &outcome),
					 0);
		}
		while (!results_is_empty(results)) {
			_auto_(writer_fini) struct writer part = { 0 };

			assert_true(results_take(results, capacity, &part) > 0);
			part_count++;
		}
		assert_in_range(part_count, 1, results_part_count(counts[i]));
		results_destroy(results);
	}
}

static void too_much_output_is_omitted_and_its_code_is_kept(void **state)
{
	static uint8_t text[EXEC_OUTPUT_MAX];
	const uint32_t fit = EXEC_OUTPUTS_MAX / EXEC_OUTPUT_MAX;
	struct results *results = results_create(fit + 2);
	struct outcome outcome;
	const struct idset *nodes;
	uint32_t omitted = 0;

	for (uint32_t i = 0; i < fit + 2; i++) {
		outcome = (struct outcome){ .kind = OUTCOME_EXITED,
					    .code = 3,
					    .output = text,
					    .size = sizeof(text) };
		memcpy(text, &i, sizeof(i));
		assert_int_equal(results_add(results, i, &outcome), 0);
	}
	while (results_next(results, &outcome, &nodes)) {
		assert_int_equal(outcome.code, 3);
		if ((outcome.flags & OUTCOME_OMITTED) == 0)
			continue;
		assert_int_equal(outcome.size, 0);
		omitted += idset_count(nodes);
	}
	assert_int_equal(omitted, 2);
	results_destroy(results);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(equal_outcomes_are_one_entry),
		TEST(another_code_kind_or_flag_is_another_entry),
		TEST(first_outcome_of_a_node_stays),
		TEST(add_refuses_what_is_no_outcome),
		TEST(create_refuses_no_node_and_too_many),
		TEST(part_merges_into_what_is_there),
		TEST(merge_reads_an_output_once_for_all_its_nodes),
		TEST(part_has_the_format_of_the_header),
		TEST(merge_refuses_damage_and_takes_nothing_of_it),
		TEST(large_answers_go_in_parts_and_arrive_whole),
		TEST(worst_entry_fits_in_a_part),
		TEST(parts_have_room_for_all_that_nodes_can_have),
		TEST(too_much_output_is_omitted_and_its_code_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
