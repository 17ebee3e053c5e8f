/* SPDX-License-Identifier: BSD-3-Clause */
/* Members written by hand against the text that they have to be. */
#include "base/json_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>

#include "sim/heap.h"

static char *take(struct json_text *text)
{
	char *taken = json_text_take(text);

	assert_non_null(taken);
	return taken;
}

static void members_of_each_kind_are_written(void **state)
{
	static const uint32_t ids[] = { 1024, 0, UINT32_MAX };
	static const char *const raws[] = { "{}", "1" };
	struct json_text text = { 0 };
	char *taken;

	json_text_begin(&text);
	json_text_string(&text, "key", "slurm/1/0");
	json_text_string(&text, "none", NULL);
	json_text_number(&text, "most", UINT64_MAX);
	json_text_number(&text, "least", 0);
	json_text_signed(&text, "errno", -11);
	json_text_signed(&text, "deepest", INT64_MIN);
	json_text_signed(&text, "up", 7);
	json_text_bool(&text, "yes", true);
	json_text_bool(&text, "no", false);
	json_text_numbers(&text, "ids", ids, 3);
	json_text_numbers(&text, "empty", ids, 0);
	json_text_raw(&text, "raw", "[null]");
	json_text_raws(&text, "raws", raws, 2);
	json_text_end(&text);
	taken = take(&text);
	assert_string_equal(taken,
			    "{\"key\":\"slurm/1/0\",\"none\":\"\","
			    "\"most\":18446744073709551615,\"least\":0,"
			    "\"errno\":-11,\"deepest\":-9223372036854775808,"
			    "\"up\":7,\"yes\":true,\"no\":false,"
			    "\"ids\":[1024,0,4294967295],\"empty\":[],"
			    "\"raw\":[null],\"raws\":[{},1]}");
	free(taken);
}

static void objects_stand_in_objects(void **state)
{
	struct json_text text = { 0 };
	char *taken;

	json_text_begin(&text);
	json_text_object(&text, "outer");
	json_text_object(&text, "inner");
	json_text_end(&text);
	json_text_number(&text, "a", 1);
	json_text_end(&text);
	json_text_number(&text, "b", 2);
	json_text_end(&text);
	taken = take(&text);
	assert_string_equal(taken,
			    "{\"outer\":{\"inner\":{},\"a\":1},\"b\":2}");
	free(taken);
}

static void members_of_another_object_are_taken_in(void **state)
{
	struct json_text text = { 0 };
	char *taken;

	json_text_begin(&text);
	json_text_members(&text, "{}");
	json_text_members(&text, "{\"a\":{\"b\":1}}");
	json_text_members(&text, "{}");
	json_text_members(&text, "{\"c\":2,\"d\":3}");
	json_text_end(&text);
	taken = take(&text);
	assert_string_equal(taken, "{\"a\":{\"b\":1},\"c\":2,\"d\":3}");
	free(taken);
}

static void values_are_made_clean_and_escaped(void **state)
{
	static const struct {
		const char *value, *expected;
	} cases[] = {
		{ "a\"b\\c", "{\"v\":\"a\\\"b\\\\c\"}" },
		{ "one\ntwo\t", "{\"v\":\"one\\ntwo?\"}" },
		{ "\xc3\xa9\x80\x1b[0m", "{\"v\":\"\xc3\xa9??[0m\"}" },
		{ "\"", "{\"v\":\"\\\"\"}" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct json_text text = { 0 };
		char *taken;

		json_text_begin(&text);
		json_text_string(&text, "v", cases[i].value);
		json_text_end(&text);
		taken = take(&text);
		assert_string_equal(taken, cases[i].expected);
		free(taken);
	}
}

static int write_escaped_value(void *ctx)
{
	struct json_text text = { 0 };
	char *taken;
	int result;

	json_text_begin(&text);
	json_text_string(&text, "v", "\"");
	json_text_end(&text);
	taken = json_text_take(&text);
	result = text.writer.result;
	assert_true((taken == NULL) == (result < 0));
	free(taken);
	return result;
}

static void no_memory_gives_no_text(void **state)
{
	unsigned int n = 1;
	int result;

	for (; sim_heap_fails(n, &result, write_escaped_value, NULL); n++)
		assert_int_equal(result, -ENOMEM);
	assert_true(n > 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_each_kind_are_written),
		cmocka_unit_test(objects_stand_in_objects),
		cmocka_unit_test(members_of_another_object_are_taken_in),
		cmocka_unit_test(values_are_made_clean_and_escaped),
		cmocka_unit_test(no_memory_gives_no_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
