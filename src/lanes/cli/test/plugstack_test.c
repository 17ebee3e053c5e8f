/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines of plugstack.conf, as Slurm reads them. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lanes/cli/slurm/plugstack.h"

static enum plugstack_kind parsed(char room[256], const char *text,
				  struct plugstack_line *ret_line)
{
	strcpy(room, text);
	return plugstack_parse(room, ret_line);
}

static void a_plugin_has_a_path_and_arguments(void **state)
{
	struct plugstack_line line;
	char room[256];

	assert_int_equal(parsed(room, "optional /a/b.so x=1  y # not this\n",
				&line),
			 PLUGSTACK_PLUGIN);
	assert_false(line.is_required);
	assert_string_equal(line.path, "/a/b.so");
	assert_string_equal(line.arguments, "x=1  y ");
	assert_true(plugstack_is(&line, "b.so"));
	assert_false(plugstack_is(&line, "a"));
	assert_int_equal(parsed(room, "\tREQUIRED\tb.so", &line),
			 PLUGSTACK_PLUGIN);
	assert_true(line.is_required);
	assert_string_equal(line.arguments, "");
	assert_true(plugstack_is(&line, "b.so"));
}

static void other_lines_are_distinguished(void **state)
{
	struct plugstack_line line;
	char room[256];

	assert_int_equal(parsed(room, "include /etc/slurm/p.d/*\n", &line),
			 PLUGSTACK_INCLUDE);
	assert_string_equal(line.path, "/etc/slurm/p.d/*");
	assert_int_equal(parsed(room, "", &line), PLUGSTACK_NOTHING);
	assert_int_equal(parsed(room, " \t\r\n", &line), PLUGSTACK_NOTHING);
	assert_int_equal(parsed(room, "# optional b.so", &line),
			 PLUGSTACK_NOTHING);
	assert_int_equal(parsed(room, "optional", &line), PLUGSTACK_UNKNOWN);
	assert_int_equal(parsed(room, "optional # b.so", &line),
			 PLUGSTACK_UNKNOWN);
	assert_int_equal(parsed(room, "maybe b.so", &line), PLUGSTACK_UNKNOWN);
}

static void expect(char *value_owned, const char *wanted)
{
	if (wanted)
		assert_string_equal(value_owned, wanted);
	else
		assert_null(value_owned);
	free(value_owned);
}

static void the_last_of_several_arguments_counts(void **state)
{
	const char *text = "default=must  submitter= xdefault=1 default=none";

	expect(plugstack_argument(text, "default"), "none");
	expect(plugstack_argument(text, "submitter"), "");
	expect(plugstack_argument(text, "jobs_dir"), NULL);
	expect(plugstack_argument("default", "default"), NULL);
	expect(plugstack_argument("default=", "default"), "");
	expect(plugstack_argument("", "default"), NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plugin_has_a_path_and_arguments),
		cmocka_unit_test(other_lines_are_distinguished),
		cmocka_unit_test(the_last_of_several_arguments_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
