/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/conf.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

static void parse(const char *text, struct conf *conf, const char *expected)
{
	struct settings_errors errors = { 0 };
	char *said;

	conf_parse(text, strlen(text), conf, &errors);
	said = settings_errors_format(&errors, "f");
	assert_string_equal(said, expected);
	free(said);
}

static void refuse(const char *text, const char *expected)
{
	struct conf conf;

	parse(text, &conf, expected);
	conf_fini(&conf);
}

static void sections_have_settings(void **state)
{
	struct conf conf;
	const struct conf_section *section;

	parse("a = 1 # two\n"
	      "b=\"x # y\"c='it \"is\"'\n"
	      "one {\n"
	      "  inner \"t 1\" { d = \"\" }\n"
	      "  e = tcp://h:1\n"
	      "}\n"
	      "empty{}",
	      &conf, "");
	assert_int_equal(conf.count, 4);
	section = conf_find(&conf, 0, "", "");
	assert_int_equal(section->count, 3);
	assert_string_equal(section->settings[0].name, "a");
	assert_string_equal(section->settings[0].value, "1");
	assert_int_equal(section->settings[0].line, 1);
	assert_string_equal(section->settings[1].value, "x # y");
	assert_string_equal(section->settings[2].name, "c");
	assert_string_equal(section->settings[2].value, "it \"is\"");
	section = conf_find(&conf, 0, "one", "");
	assert_int_equal(section->line, 3);
	assert_int_equal(section->count, 1);
	assert_string_equal(section->settings[0].value, "tcp://h:1");
	section = conf_find(&conf, 1, "inner", "t 1");
	assert_int_equal(section->line, 4);
	assert_string_equal(section->settings[0].value, "");
	assert_non_null(conf_find(&conf, 0, "empty", ""));
	assert_null(conf_find(&conf, 0, "inner", "t 1"));
	assert_null(conf_find(&conf, 0, "none", ""));
	conf_fini(&conf);
}

static void each_line_that_makes_no_sense_is_reported(void **state)
{
	struct conf conf;

	parse("level debug\n"
	      "a = 1\n"
	      "b =\n"
	      "c = = 2\n"
	      "= 3\n"
	      "}\n"
	      "{ d = 4 }\n"
	      "list = { 1, 2 }\n"
	      "e = 5\n",
	      &conf,
	      "f:1: 'level': = and a value, or { is missing\n"
	      "f:3: 'b': a value is missing behind =\n"
	      "f:4: 'c': a value is missing behind =\n"
	      "f:5: a name is missing before =\n"
	      "f:6: } closes no section\n"
	      "f:7: a name is missing before {\n"
	      "f:8: 'list': a value is missing behind =");
	assert_int_equal(conf.sections[0].count, 2);
	assert_string_equal(conf.sections[0].settings[1].name, "e");
	conf_fini(&conf);
}

static void sections_and_texts_have_to_be_closed(void **state)
{
	refuse("one {\n two {\n a = 1\n",
	       "f:1: section is not closed: } is missing\n"
	       "f:2: section is not closed: } is missing");
	refuse("a = \"x\nb = 'y }\nc = 1\n",
	       "f:1: text is not closed on its line: \" is missing\n"
	       "f:2: text is not closed on its line: ' is missing");
	refuse("a = \"", "f:1: text is not closed on its line: \" is missing");
	refuse("a", "f:1: 'a': = and a value, or { is missing");
	refuse("a =", "f:1: 'a': a value is missing behind =");
	refuse("a \"b", "f:1: text is not closed on its line: \" is missing\n"
			"f:1: 'a': = and a value, or { is missing");
	refuse("", "");
	refuse(" # nothing", "");
}

static void control_characters_are_refused(void **state)
{
	struct settings_errors errors = { 0 };
	static const char zero[] = "a = 1\nb\0 = 2\n";
	struct conf conf;

	refuse("a\001 = \"\033[1m\"\r\n\tb = 2\n",
	       "f:1: control character 0x01\nf:1: control character 0x1b");
	conf_parse(zero, sizeof(zero) - 1, &conf, &errors);
	assert_int_equal(errors.count, 1);
	assert_int_equal(errors.list[0].line, 2);
	assert_int_equal(settings_finish(&errors, NULL), -EINVAL);
	conf_fini(&conf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_have_settings),
		cmocka_unit_test(each_line_that_makes_no_sense_is_reported),
		cmocka_unit_test(sections_and_texts_have_to_be_closed),
		cmocka_unit_test(control_characters_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
