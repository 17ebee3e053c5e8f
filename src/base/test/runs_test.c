/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/runs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sim/heap.h"
#include "sim/rng.h"

#define COUNT_MAX 200

static void assert_values(const char *text, const uint32_t *expected,
			  size_t count)
{
	_auto_(freep) uint32_t *values = NULL;
	struct fairlead_error error;

	if (runs_parse(text, count, &values, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
	assert_memory_equal(values, expected, count * sizeof(*values));
	for (size_t i = 0; i < count; i++)
		assert_int_equal(runs_at(text, i), expected[i]);
}

static void assert_refused(const char *text, size_t count, const char *part)
{
	struct fairlead_error error = { 0 };
	uint32_t *values = NULL;

	assert_int_equal(runs_parse(text, count, &values, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_null(values);
	assert_int_equal(runs_parse(text, count, &values, NULL), -EINVAL);
}

static void assert_text(const uint32_t *values, size_t count,
			const char *expected)
{
	_auto_(freep) char *text = runs_format(values, count);

	assert_string_equal(text, expected);
}

#define VALUES(...) ((const uint32_t[]){ __VA_ARGS__ })

static void text_forms_are_read(void **state)
{
	assert_values("4(x3),2", VALUES(4, 4, 4, 2), 4);
	assert_values("4,4,4,2", VALUES(4, 4, 4, 2), 4);
	assert_values("2,4(x1),4(x2)", VALUES(2, 4, 4, 4), 4);
	assert_values("0,65535", VALUES(0, 65535), 2);
	assert_values("007(x002)", VALUES(7, 7), 2);
}

static void one_number_holds_for_every_node(void **state)
{
	assert_values("7", VALUES(7), 1);
	assert_values("7", VALUES(7, 7, 7), 3);
	assert_int_equal(runs_at("7", 65535), 7);
}

static void one_run_is_as_long_as_it_says(void **state)
{
	assert_values("7(x3)", VALUES(7, 7, 7), 3);
	assert_refused("7(x3)", 4, "3 values for 4 nodes");
	assert_refused("7(x1)", 2, "1 values for 2 nodes");
	assert_refused("7(x3)", 2, "more than 2 values");
}

static void other_lengths_are_refused(void **state)
{
	assert_refused("1,2", 3, "2 values for 3 nodes");
	assert_refused("1,2,3", 2, "more than 2 values");
	assert_refused("1,1", 1, "more than 1 values");
	assert_refused("1(x4294967295),1(x4294967295)", 3, "more than 3");
	assert_refused("1", 0, "no nodes");
	assert_refused("", 0, "no nodes");
}

static const char *const bad_texts[] = {
	"",
	",",
	"1,",
	",1",
	"1,,1",
	"1(x0)",
	"1(x",
	"1(x2",
	"1(x)",
	"1(2)",
	"1x2",
	"(x2)",
	"-1",
	"+1",
	" 1",
	"1 ",
	"a",
	"1(x2)3",
	"65536",
	"1(x2))",
	"1(x2)(x2)",
	"0x1",
	"1(x-1)",
	"1(X2)",
	"1(x4294967296)",
	"99999999999999999999999",
	"1(x99999999999999999999999)",
};

static void bad_syntax_is_refused_with_its_part(void **state)
{
	for (size_t i = 0; i < sizeof(bad_texts) / sizeof(bad_texts[0]); i++) {
		assert_refused(bad_texts[i], 2, "bad run list at '");
		assert_int_equal(runs_at(bad_texts[i], 9), -EINVAL);
	}
	assert_refused("1,2(y3)", 2, "'2(y3)'");
}

static void index_behind_the_end_is_out_of_range(void **state)
{
	assert_int_equal(runs_at("4(x3),2", 4), -ERANGE);
	assert_int_equal(runs_at("4(x3)", 3), -ERANGE);
	assert_int_equal(runs_at("4,2", SIZE_MAX), -ERANGE);
	assert_int_equal(runs_at("1(x4294967295),2,3", 4294967295), 2);
}

static void text_is_the_shortest(void **state)
{
	assert_text(NULL, 0, "");
	assert_text(VALUES(4), 1, "4");
	assert_text(VALUES(4, 4), 2, "4");
	assert_text(VALUES(4, 4, 4, 2), 4, "4,4,4,2");
	assert_text(VALUES(4, 4, 4, 4, 2), 5, "4(x4),2");
	assert_text(VALUES(2, 16, 16, 16), 4, "2,16(x3)");
	assert_text(VALUES(2, 16, 16), 3, "2,16,16");
	assert_text(VALUES(65535, 65535, 0), 3, "65535(x2),0");
}

static void values_read_back(void **state)
{
	struct sim_rng rng;

	sim_rng_init(&rng, 21);
	for (int round = 0; round < 500; round++) {
		size_t count = 1 + sim_rng_below(&rng, COUNT_MAX);
		uint32_t repeat_chance = (uint32_t)sim_rng_below(&rng, 1000001);
		_auto_(freep) char *text = NULL;
		uint32_t values[COUNT_MAX];

		for (size_t i = 0; i < count; i++) {
			uint64_t below = sim_rng_chance(&rng, 500000)
						 ? 3
						 : RUNS_VALUE_MAX + 1;

			values[i] = (uint32_t)sim_rng_below(&rng, below);
			if (i > 0 && sim_rng_chance(&rng, repeat_chance))
				values[i] = values[i - 1];
		}
		text = runs_format(values, count);
		assert_values(text, values, count);
		if (strpbrk(text, ",(") != NULL)
			assert_int_equal(runs_at(text, count), -ERANGE);
	}
}

static int parse_and_format(void *ctx)
{
	_auto_(freep) uint32_t *values = NULL;
	_auto_(freep) char *text = NULL;
	int result = runs_parse("1,2(x40)", 41, &values, NULL);

	if (result < 0)
		return result;
	text = runs_format(values, 41);
	return text == NULL ? -ENOMEM : 0;
}

static void memory_that_is_out_is_an_error(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, parse_and_format, NULL); n++)
		assert_int_equal(result, -ENOMEM);
	assert_int_equal(result, 0);
	assert_int_equal(n, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_forms_are_read),
		cmocka_unit_test(one_number_holds_for_every_node),
		cmocka_unit_test(one_run_is_as_long_as_it_says),
		cmocka_unit_test(other_lengths_are_refused),
		cmocka_unit_test(bad_syntax_is_refused_with_its_part),
		cmocka_unit_test(index_behind_the_end_is_out_of_range),
		cmocka_unit_test(text_is_the_shortest),
		cmocka_unit_test(values_read_back),
		cmocka_unit_test(memory_that_is_out_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
