/* SPDX-License-Identifier: BSD-3-Clause */
/* How things look to people. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lanes/cli/output.h"

static void durations_have_two_units_at_most(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {
		{ 0, "0 s" },         { -5, "0 s" },
		{ 0.25, "250 ms" },   { 0.0004, "0 ms" },
		{ 1, "1 s" },         { 59.9, "59 s" },
		{ 60, "1 m 0 s" },    { 3599, "59 m 59 s" },
		{ 3600, "1 h 0 m" },  { 86399, "23 h 59 m" },
		{ 86400, "1 d 0 h" }, { 8640000, "100 d 0 h" },
		{ 1e300, "0 s" },
	};
	char text[OUTPUT_DURATION_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		output_duration(cases[i].seconds, text);
		assert_string_equal(text, cases[i].text);
	}
}

static void moments_are_local_time(void **state)
{
	char text[OUTPUT_TIME_MAX];

	setenv("TZ", "CET-1", 1);
	tzset();
	output_time(1751386927.84, text);
	assert_string_equal(text, "2025-07-01 17:22:07");
	output_time(0, text);
	assert_string_equal(text, "-");
	output_time(-1, text);
	assert_string_equal(text, "-");
	output_time(1e300, text);
	assert_string_equal(text, "-");
}

static void a_grant_that_is_released_is_not_live(void **state)
{
	static const struct {
		const char *state;
		bool is_live;
	} cases[] = {
		{ "reserved", true }, { "applying", true },
		{ "active", true },   { "releasing", false },
		{ "", false },        { "actives", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		json_t *grant = json_pack("{s:s}", "state", cases[i].state);

		assert_true(output_is_live(grant) == cases[i].is_live);
		json_decref(grant);
	}
	assert_false(output_is_live(NULL));
}

static void expect_text(char *text_owned, const char *wanted)
{
	assert_non_null(text_owned);
	assert_string_equal(text_owned, wanted);
	free(text_owned);
}

static void expect_of(char *(*format)(const json_t *json), const char *json,
		      const char *wanted)
{
	json_auto_t *value = json_loads(json, JSON_DECODE_ANY, NULL);

	assert_non_null(value);
	expect_text(format(value), wanted);
}

static void identifiers_are_sets_or_arrays(void **state)
{
	expect_of(output_ids, "{\"vni\":\"1024-1025\"}", "vni 1024-1025");
	expect_of(output_ids, "{\"vni\":\"1\",\"mc\":\"\",\"ctx\":\"2,5\"}",
		  "vni 1, ctx 2,5");
	expect_of(output_ids, "{\"vni\":\"\"}", "-");
	expect_of(output_ids, "{\"vni\":3}", "-");
	expect_of(output_ids, "{}", "-");
	expect_of(output_ids, "[1024,1030]", "1024,1030");
	expect_of(output_ids, "[]", "-");
	expect_text(output_ids(NULL), "-");
}

static void counts_leave_zeros_out(void **state)
{
	expect_of(output_counts, "{\"up\":3,\"down\":0,\"leaving\":1}",
		  "3 up, 1 leaving");
	expect_of(output_counts, "{\"up\":0}", "none");
	expect_text(output_counts(NULL), "none");
}

static void texts_are_joined(void **state)
{
	expect_of(output_join, "[\"a\",\"b\"]", "a,b");
	expect_of(output_join, "[\"a\",1]", "a,?");
	expect_of(output_join, "\"n[0-3]\"", "n[0-3]");
	expect_of(output_join, "[]", "-");
	expect_text(output_join(NULL), "-");
}

static void a_shell_takes_what_is_quoted_as_one_word(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	assert_non_null(stream);
	output_quoted(stream, "it's $(x) \\");
	fclose(stream);
	expect_text(text, "'it'\\''s $(x) \\'");
}

static void users_have_names_or_numbers(void **state)
{
	uid_t uid = 7;

	expect_text(output_user(0), "root");
	expect_text(output_user(4000000000), "4000000000");
	assert_true(output_parse_user("root", &uid));
	assert_int_equal(uid, 0);
	assert_true(output_parse_user("4000000000", &uid));
	assert_int_equal(uid, 4000000000);
	assert_false(output_parse_user("no-such-user", &uid));
	assert_false(output_parse_user("4294967295", &uid));
	assert_false(output_parse_user("-1", &uid));
	assert_false(output_parse_user("1x", &uid));
	assert_false(output_parse_user("", &uid));
	assert_int_equal(uid, 4000000000);
}

static void absent_members_are_empty(void **state)
{
	json_auto_t *json =
		json_loads("{\"a\":\"x\",\"b\":3,\"c\":1.5}", 0, NULL);

	assert_string_equal(output_text(json, "a"), "x");
	assert_string_equal(output_text(json, "b"), "");
	assert_string_equal(output_text(json, "z"), "");
	assert_string_equal(output_text(NULL, "a"), "");
	assert_int_equal(output_number(json, "b"), 3);
	assert_int_equal(output_number(json, "a"), 0);
	assert_int_equal(output_number(NULL, "b"), 0);
	assert_true(output_real(json, "c") == 1.5);
	assert_true(output_real(json, "b") == 3);
	assert_true(output_real(NULL, "c") == 0);
}

static char *format_state(const json_t *row)
{
	return strdup(json_is_true(json_object_get(row, "drained"))
			      ? "up,\ndrained"
			      : "up");
}

static const struct column columns[] = {
	{ "NAME", 0, "name" },
	{ "COUNT", COLUMN_RIGHT, "count" },
	{ "STATE", COLUMN_STATE, NULL, format_state },
	{ 0 },
};

/* The table of rows, as it is printed; the caller frees it. */
static char *print_table(const char *rows_json, bool is_colored, bool is_headed)
{
	static const struct option_spec options[] = { OPTION_NO_HEADER, { 0 } };
	const struct subcommand command = { .name = "x", .options = options };
	struct cli cli = { .command = &command, .is_colored = is_colored };
	json_auto_t *rows = json_loads(rows_json, 0, NULL);
	char *text = NULL;
	size_t size;

	cli.out = open_memstream(&text, &size);
	if (!is_headed)
		cli.values[0] = (char *)"";
	output_table(&cli, columns, rows);
	fclose(cli.out);
	return text;
}

#define ROWS "[{\"name\":\"a\",\"count\":7},{\"count\":123,\"drained\":true}]"

static void tables_are_aligned(void **state)
{
	expect_text(print_table(ROWS, false, true),
		    "NAME COUNT STATE\n"
		    "a        7 up\n"
		    "-      123 up,; drained\n");
	expect_text(print_table(ROWS, false, false),
		    "a        7 up\n"
		    "-      123 up,; drained\n");
}

static void states_have_colours(void **state)
{
	char *text = print_table(ROWS, true, false);

	assert_non_null(strstr(text, "\033[32mup"));
	assert_non_null(strstr(text, "\033[31mup,; drained"));
	free(text);
}

static void a_table_without_rows_is_nothing(void **state)
{
	expect_text(print_table("[]", false, true), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_have_two_units_at_most),
		cmocka_unit_test(moments_are_local_time),
		cmocka_unit_test(a_grant_that_is_released_is_not_live),
		cmocka_unit_test(identifiers_are_sets_or_arrays),
		cmocka_unit_test(counts_leave_zeros_out),
		cmocka_unit_test(texts_are_joined),
		cmocka_unit_test(a_shell_takes_what_is_quoted_as_one_word),
		cmocka_unit_test(users_have_names_or_numbers),
		cmocka_unit_test(absent_members_are_empty),
		cmocka_unit_test(tables_are_aligned),
		cmocka_unit_test(states_have_colours),
		cmocka_unit_test(a_table_without_rows_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
