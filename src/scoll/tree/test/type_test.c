/* SPDX-License-Identifier: BSD-3-Clause */
#include "scoll/tree/tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

static void assert_read(const char *text, scoll_tree_type_t expected)
{
	struct fairlead_error error;
	scoll_tree_type_t type;

	if (tree_type_parse(NULL, text, &type, &error) < 0)
		fail_msg("'%s' was refused: %s", text, error.text);
	assert_int_equal(type, expected);
}

static void assert_refused(const char *text, const char *part)
{
	struct fairlead_error error = { 0 };
	scoll_tree_type_t type = 7;

	assert_int_equal(tree_type_parse(NULL, text, &type, &error), -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	if (strstr(error.text, part) == NULL)
		fail_msg("'%s' is not in '%s'", part, error.text);
	assert_int_equal(type, 7);
}

static void assert_written(scoll_tree_type_t type, const char *expected)
{
	char text[SCOLL_TREE_TEXT];

	assert_string_equal(tree_type_format(NULL, type, text), expected);
}

static void texts_are_read(void **state)
{
	assert_read("flat", SCOLL_TREE_FLAT);
	assert_read("binomial", SCOLL_TREE_BINOMIAL);
	assert_read("knomial:4", SCOLL_TREE_KNOMIAL(4));
	assert_read("knomial:4096", SCOLL_TREE_KNOMIAL(4096));
	assert_read("kary:8", SCOLL_TREE_KARY(8));
	assert_read("logp:8.5", SCOLL_TREE(5, 8 * 256 + 128));
	assert_read("logp:1", SCOLL_TREE_LOGP(1));
	assert_read("logp:1.0", SCOLL_TREE_LOGP(1));
	assert_read("logp:65535.99", SCOLL_TREE(5, 0xfffffd));
}

static void fractions_are_rounded_to_the_nearest(void **state)
{
	assert_read("logp:1.00195", SCOLL_TREE(5, 256));
	assert_read("logp:1.00196", SCOLL_TREE(5, 257));
	assert_read("logp:8.3", SCOLL_TREE(5, 2125));
	assert_refused("logp:65535.999", "from 1 to 65535.996");
}

static void texts_are_written(void **state)
{
	assert_written(SCOLL_TREE_FLAT, "flat");
	assert_written(SCOLL_TREE_BINOMIAL, "binomial");
	assert_written(SCOLL_TREE_KNOMIAL(4), "knomial:4");
	assert_written(SCOLL_TREE_KARY(8), "kary:8");
	assert_written(SCOLL_TREE(5, 8 * 256 + 128), "logp:8.5");
	assert_written(SCOLL_TREE(5, 2125), "logp:8.3");
	assert_written(SCOLL_TREE_LOGP(16), "logp:16");
	assert_written(0, "?");
	assert_written(SCOLL_TREE(200, 1), "?");
	assert_written(SCOLL_TREE_KARY(1), "?");
}

static void what_is_written_reads_back(void **state)
{
	for (uint32_t option = 256; option < 3000; option++) {
		char text[SCOLL_TREE_TEXT];

		assert_read(tree_type_format(NULL, SCOLL_TREE(5, option), text),
			    SCOLL_TREE(5, option));
	}
	assert_read("logp:65535.996", SCOLL_TREE(5, 0xffffff));
	assert_written(SCOLL_TREE(5, 0xffffff), "logp:65535.996");
}

static void errors_say_what_may_be_chosen(void **state)
{
	assert_refused("", "there is no tree ''");
	assert_refused("knomal:4", "there is no tree 'knomal'");
	assert_refused("Flat", "choose flat, binomial, knomial:K");
	assert_refused("flat:2", "tree 'flat' takes no option, but has '2'");
	assert_refused("binomial:", "takes no option");
	assert_refused("knomial", "such as 'knomial:2'");
	assert_refused("knomial:", "not a number from 2 to 4096");
	assert_refused("knomial:1", "option '1' of tree 'knomial' is not");
	assert_refused("kary:4097", "from 2 to 4096");
	assert_refused("kary:4.5", "option '4.5'");
	assert_refused("kary:-4", "option '-4'");
	assert_refused("kary: 4", "option ' 4'");
	assert_refused("kary:4294967298", "from 2 to 4096");
	assert_refused("kary:99999999999999999999", "from 2 to 4096");
	assert_refused("logp:0.5", "from 1 to 65535.996");
	assert_refused("logp:8.", "option '8.'");
	assert_refused("logp:.5", "option '.5'");
	assert_refused("logp:8.1234567", "option '8.1234567'");
	assert_refused("logp:8x", "option '8x'");
}

static void options_from_elsewhere_are_checked(void **state)
{
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE_FLAT), 0);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE(1, 1)), -EINVAL);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE(2, 2)), -EINVAL);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE_KNOMIAL(1)), -EINVAL);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE_KNOMIAL(4097)),
			 -EINVAL);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE(5, 255)), -EINVAL);
	assert_int_equal(tree_type_check(NULL, 0), -ENOENT);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE(6, 0)), -ENOENT);
	assert_int_equal(tree_type_check(NULL, SCOLL_TREE(128, 0)), -ENOENT);
	assert_int_equal(tree_type_check(NULL, UINT32_MAX), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read),
		cmocka_unit_test(fractions_are_rounded_to_the_nearest),
		cmocka_unit_test(texts_are_written),
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(errors_say_what_may_be_chosen),
		cmocka_unit_test(options_from_elsewhere_are_checked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
