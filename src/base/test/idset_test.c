/* SPDX-License-Identifier: BSD-3-Clause */
/* An id set against an array of booleans, with seeded numbers. */
#include "base/idset.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/heap.h"
#include "sim/rng.h"

#define MODEL_MAX 300

static struct idset *parsed(const char *text, uint32_t limit)
{
	struct fairlead_error error;
	struct idset *set = NULL;

	if (idset_parse(text, limit, &set, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
	return set;
}

static void assert_text(const struct idset *set, const char *expected)
{
	char *text = idset_format(set);

	assert_non_null(text);
	assert_string_equal(text, expected);
	free(text);
}

static void assert_refused(const char *text, uint32_t limit, const char *part)
{
	struct fairlead_error error = { 0 };
	struct idset *set = NULL;

	assert_int_equal(idset_parse(text, limit, &set, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_null(set);
	assert_int_equal(idset_parse(text, limit, &set, NULL), -EINVAL);
}

static void assert_model(const struct idset *set, const bool *model,
			 uint32_t limit)
{
	uint32_t next = IDSET_NONE;
	uint32_t count = 0;

	for (uint32_t id = limit; id-- > 0;) {
		assert_int_equal(idset_has(set, id), model[id]);
		count += model[id];
		if (model[id])
			next = id;
		assert_int_equal(idset_next(set, id), next);
	}
	assert_int_equal(idset_count(set), count);
	idset_foreach (id, set) {
		assert_true(model[id]);
		count--;
	}
	assert_int_equal(count, 0);
}

static struct idset *random_set(struct sim_rng *rng, uint32_t limit,
				bool model[MODEL_MAX])
{
	static const uint32_t densities[] = { 0, 20000, 500000, 980000,
					      1000000 };
	uint32_t density = densities[sim_rng_below(rng, 5)];
	struct idset *set = NULL;

	assert_int_equal(idset_create(limit, &set), 0);
	for (uint32_t id = 0; id < limit; id++) {
		model[id] = sim_rng_chance(rng, density);
		if (model[id])
			idset_add(set, id);
	}
	return set;
}

static void new_set_is_empty(void **state)
{
	_auto_(idset_destroyp) struct idset *set = NULL;

	assert_int_equal(idset_create(100, &set), 0);
	assert_int_equal(idset_count(set), 0);
	assert_int_equal(idset_next(set, 0), IDSET_NONE);
	assert_text(set, "");
}

static void limit_has_a_maximum(void **state)
{
	struct idset *set = NULL;

	assert_int_equal(idset_create(IDSET_LIMIT_MAX + 1, &set), -EINVAL);
	assert_int_equal(idset_create(UINT32_MAX, &set), -EINVAL);
	assert_null(set);
	assert_int_equal(idset_create(IDSET_LIMIT_MAX, &set), 0);
	idset_add(set, IDSET_LIMIT_MAX - 1);
	assert_int_equal(idset_next(set, 1), IDSET_LIMIT_MAX - 1);
	idset_destroy(set);
	assert_refused("1", IDSET_LIMIT_MAX + 1, "id set");
}

static void set_of_no_numbers_has_none(void **state)
{
	_auto_(idset_destroyp) struct idset *set = parsed("", 0);

	assert_false(idset_has(set, 0));
	assert_int_equal(idset_next(set, 0), IDSET_NONE);
	assert_text(set, "");
	assert_refused("0", 0, "'0' is not below 0");
}

static void number_over_the_limit_is_no_member(void **state)
{
	_auto_(idset_destroyp) struct idset *set = parsed("0-69", 70);

	assert_true(idset_has(set, 69));
	assert_false(idset_has(set, 70));
	assert_false(idset_has(set, UINT32_MAX));
	assert_int_equal(idset_next(set, 69), 69);
	assert_int_equal(idset_next(set, 70), IDSET_NONE);
	assert_int_equal(idset_next(set, UINT32_MAX), IDSET_NONE);
}

static void adding_and_removing_twice_counts_once(void **state)
{
	_auto_(idset_destroyp) struct idset *set = parsed("", 100);

	idset_add(set, 64);
	idset_add(set, 64);
	assert_int_equal(idset_count(set), 1);
	idset_remove(set, 64);
	idset_remove(set, 64);
	assert_int_equal(idset_count(set), 0);
}

static void clone_is_apart(void **state)
{
	_auto_(idset_destroyp) struct idset *set = parsed("1,5-9", 100);
	_auto_(idset_destroyp) struct idset *clone = NULL;

	assert_int_equal(idset_clone(set, &clone), 0);
	assert_true(idset_equal(set, clone));
	idset_remove(clone, 5);
	assert_false(idset_equal(set, clone));
	assert_text(set, "1,5-9");
	assert_text(clone, "1,6-9");
}

static void sets_with_other_limits_are_not_equal(void **state)
{
	_auto_(idset_destroyp) struct idset *one = parsed("1", 100);
	_auto_(idset_destroyp) struct idset *two = parsed("1", 101);
	_auto_(idset_destroyp) struct idset *three = parsed("2", 100);

	assert_false(idset_equal(one, two));
	assert_false(idset_equal(one, three));
}

static void text_forms_are_read(void **state)
{
	static const char *const texts[][2] = {
		{ "", "" },
		{ "0", "0" },
		{ "1024-65535", "1024-65535" },
		{ "2,4-7", "2,4-7" },
		{ "63-64", "63-64" },
		{ "63-128", "63-128" },
		{ "0-65535", "0-65535" },
		{ "4-7,2", "2,4-7" },
		{ "1-5,3-9,3", "1-9" },
		{ "1,2,3", "1-3" },
		{ "007-0000000000000009", "7-9" },
		{ "5-5", "5" },
	};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		_auto_(idset_destroyp) struct idset *set =
			parsed(texts[i][0], 65536);

		assert_text(set, texts[i][1]);
	}
}

static void bad_text_is_refused_with_its_part(void **state)
{
	assert_refused("5-3", 10, "'5-3' runs backwards");
	assert_refused("1,10", 10, "'10' is not below 10");
	assert_refused("1-10,2", 10, "'1-10' is not below 10");
	assert_refused("4294967297", 10, "not below");
	assert_refused("99999999999999999999999", 1u << 20, "not below");
	assert_refused(",", 10, "''");
	assert_refused("1,", 10, "comma");
	assert_refused("1,,2", 10, "''");
	assert_refused("1-", 10, "'1-'");
	assert_refused("-1", 10, "'-1'");
	assert_refused("1-2-3", 10, "'1-2-3'");
	assert_refused(" 1", 10, "' 1'");
	assert_refused("1 ", 10, "'1 '");
	assert_refused("+1", 10, "'+1'");
	assert_refused("0x1", 10, "'0x1'");
	assert_refused("1,abc,2", 10, "'abc'");
}

static void long_bad_part_is_quoted_in_part(void **state)
{
	struct fairlead_error error;
	char text[5000];
	struct idset *set;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(idset_parse(text, 10, &set, &error), -EINVAL);
	assert_in_range(strlen(error.text), 10, 120);
}

static void members_are_those_of_the_model(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 11);
	for (int round = 0; round < 200; round++) {
		uint32_t limit = 1 + (uint32_t)sim_rng_below(&rng, MODEL_MAX);
		bool model[MODEL_MAX];
		_auto_(idset_destroyp) struct idset *set =
			random_set(&rng, limit, model);

		for (int i = 0; i < 50; i++) {
			uint32_t id = (uint32_t)sim_rng_below(&rng, limit);

			model[id] = sim_rng_chance(&rng, 500000);
			if (model[id])
				idset_add(set, id);
			else
				idset_remove(set, id);
		}
		assert_model(set, model, limit);
	}
}

static void set_operations_are_those_of_the_model(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 12);
	for (int round = 0; round < 300; round++) {
		uint32_t limit = 1 + (uint32_t)sim_rng_below(&rng, MODEL_MAX);
		bool one_model[MODEL_MAX], two_model[MODEL_MAX];
		_auto_(idset_destroyp) struct idset *one =
			random_set(&rng, limit, one_model);
		_auto_(idset_destroyp) struct idset *two =
			random_set(&rng, limit, two_model);

		for (uint32_t id = 0; id < limit; id++) {
			if (round % 3 == 0)
				one_model[id] |= two_model[id];
			else if (round % 3 == 1)
				one_model[id] &= !two_model[id];
			else
				one_model[id] &= two_model[id];
		}
		if (round % 3 == 0)
			idset_unite(one, two);
		else if (round % 3 == 1)
			idset_subtract(one, two);
		else
			idset_intersect(one, two);
		assert_model(one, one_model, limit);
		assert_model(two, two_model, limit);
	}
}

static void operations_of_a_set_with_itself(void **state)
{
	_auto_(idset_destroyp) struct idset *set = parsed("1,60-70", 100);

	idset_unite(set, set);
	idset_intersect(set, set);
	assert_text(set, "1,60-70");
	idset_subtract(set, set);
	assert_int_equal(idset_count(set), 0);
	assert_text(set, "");
}

static void text_reads_back_as_the_same_set(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 13);
	for (int round = 0; round < 300; round++) {
		uint32_t limit = 1 + (uint32_t)sim_rng_below(&rng, MODEL_MAX);
		bool model[MODEL_MAX];
		_auto_(idset_destroyp) struct idset *set =
			random_set(&rng, limit, model);
		_auto_(freep) char *text = idset_format(set);
		_auto_(idset_destroyp) struct idset *back = parsed(text, limit);

		assert_true(idset_equal(set, back));
		assert_text(back, text);
	}
}

static void parsed_ranges_are_those_of_the_model(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 14);
	for (int round = 0; round < 300; round++) {
		bool model[MODEL_MAX] = { false };
		char text[256] = "";
		size_t size = 0;

		for (int i = 0; i < 8; i++) {
			uint64_t first = sim_rng_below(&rng, MODEL_MAX);
			uint64_t last =
				first + sim_rng_below(&rng, MODEL_MAX - first);

			size += (size_t)snprintf(text + size,
						 sizeof(text) - size,
						 "%s%" PRIu64 "-%" PRIu64,
						 i > 0 ? "," : "", first, last);
			for (uint64_t id = first; id <= last; id++)
				model[id] = true;
		}
		_auto_(idset_destroyp) struct idset *set =
			parsed(text, MODEL_MAX);
		assert_model(set, model, MODEL_MAX);
	}
}

static int parse_clone_format(void *ctx)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	_auto_(idset_destroyp) struct idset *clone = NULL;
	_auto_(freep) char *text = NULL;
	struct fairlead_error error = { 0 };
	int result = idset_parse("1,3,5,7-100000", 1u << 17, &set, &error);

	if (result < 0) {
		assert_int_equal(error.code, result);
		return result;
	}
	result = idset_clone(set, &clone);
	if (result < 0)
		return result;
	text = idset_format(clone);
	return text == NULL ? -ENOMEM : 0;
}

static void memory_that_is_out_is_an_error(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, parse_clone_format, NULL); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_int_equal(n, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_set_is_empty),
		cmocka_unit_test(limit_has_a_maximum),
		cmocka_unit_test(set_of_no_numbers_has_none),
		cmocka_unit_test(number_over_the_limit_is_no_member),
		cmocka_unit_test(adding_and_removing_twice_counts_once),
		cmocka_unit_test(clone_is_apart),
		cmocka_unit_test(sets_with_other_limits_are_not_equal),
		cmocka_unit_test(text_forms_are_read),
		cmocka_unit_test(bad_text_is_refused_with_its_part),
		cmocka_unit_test(long_bad_part_is_quoted_in_part),
		cmocka_unit_test(members_are_those_of_the_model),
		cmocka_unit_test(set_operations_are_those_of_the_model),
		cmocka_unit_test(operations_of_a_set_with_itself),
		cmocka_unit_test(text_reads_back_as_the_same_set),
		cmocka_unit_test(parsed_ranges_are_those_of_the_model),
		cmocka_unit_test(memory_that_is_out_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
