/* SPDX-License-Identifier: BSD-3-Clause */
/* What flux prints, in good lists and others. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/cli/flux/said.h"

static void a_plugin_is_found_by_its_whole_name(void **state)
{
	const char *list = "perilog.so\nfairlead-jobtap.so\n.history\n";

	assert_true(flux_list_has(list, "fairlead-jobtap.so"));
	assert_true(flux_list_has("fairlead-jobtap.so", "fairlead-jobtap.so"));
	assert_false(flux_list_has(list, "jobtap.so"));
	assert_false(flux_list_has(list, "fairlead"));
	assert_false(
		flux_list_has("my-fairlead-jobtap.so\n", "fairlead-jobtap.so"));
	assert_false(flux_list_has("", "fairlead-jobtap.so"));
	assert_false(flux_list_has("\n\n", "fairlead-jobtap.so"));
}

static void expect_rival(const char *list, const char *wanted)
{
	char *rival = flux_list_rival(list);

	if (wanted)
		assert_string_equal(rival, wanted);
	else
		assert_null(rival);
	free(rival);
}

static void a_rival_is_known_by_its_name(void **state)
{
	expect_rival("perilog.so\nfairlead-jobtap.so\n", NULL);
	expect_rival("perilog.so\ncray-slingshot.so\nx", "cray-slingshot.so");
	expect_rival("cray_slingshot.so", "cray_slingshot.so");
	expect_rival("", NULL);
}

/* -EINVAL, false or true */
static int loads(const char *text)
{
	struct fairlead_error error;
	bool does = false;
	int result = flux_config_loads(text, FLUX_JOBTAP_FILE, &does, &error);

	return result < 0 ? result : does;
}

static void the_configuration_names_files_in_any_folder(void **state)
{
	assert_int_equal(loads("{}"), 0);
	assert_int_equal(loads("{\"job-manager\":{\"plugins\":[]}}"), 0);
	assert_int_equal(loads("{\"job-manager\":{\"plugins\":[{\"load\":"
			       "\"perilog.so\"},{\"load\":\"/usr/lib/fairlead/"
			       "flux/fairlead-jobtap.so\",\"conf\":{}}]}}"),
			 1);
	assert_int_equal(loads("{\"job-manager\":{\"plugins\":[{\"load\":"
			       "\"fairlead-jobtap.so\"}]}}"),
			 1);
	assert_int_equal(loads("{\"job-manager\":{\"plugins\":[{\"remove\":"
			       "\"fairlead-jobtap.so\"},7]}}"),
			 0);
	assert_int_equal(loads("{\"job-manager\":[]}"), 0);
	assert_int_equal(loads(""), -EINVAL);
	assert_int_equal(loads("[]"), -EINVAL);
	assert_int_equal(loads("{} x"), -EINVAL);
}

static void the_plugin_says_what_it_goes_by(void **state)
{
	struct flux_jobtap jobtap;
	struct fairlead_error error;

	assert_int_equal(
		flux_jobtap_parse(
			"{\"name\":\"fairlead-jobtap.so\",\"path\":\"/a/b.so\","
			"\"version\":\"0.1.0\",\"submitter\":\"flux\","
			"\"default\":\"may\",\"prolog_timeout_s\":60.0,"
			"\"epilog_timeout_s\":90,\"inside\":\"\",\"manager\":"
			"{\"address\":\"tcp://h:1\",\"is_up\":true,"
			"\"trouble\":\"\"},\"jobs\":{}}\n",
			&jobtap, &error),
		0);
	assert_string_equal(jobtap.path, "/a/b.so");
	assert_string_equal(jobtap.version, "0.1.0");
	assert_string_equal(jobtap.submitter, "flux");
	assert_string_equal(jobtap.otherwise, "may");
	assert_string_equal(jobtap.inside, "");
	assert_string_equal(jobtap.manager, "tcp://h:1");
	assert_string_equal(jobtap.trouble, "");
	assert_true(jobtap.is_up);
	assert_true(jobtap.prolog_timeout_s == 60);
	assert_true(jobtap.epilog_timeout_s == 90);
	flux_jobtap_fini(&jobtap);
}

/* As one of another release may. */
static void what_it_does_not_say_is_empty(void **state)
{
	struct flux_jobtap jobtap;
	struct fairlead_error error;

	assert_int_equal(flux_jobtap_parse("{\"manager\":{\"is_up\":1},"
					   "\"default\":null,"
					   "\"prolog_timeout_s\":-1}",
					   &jobtap, &error),
			 0);
	assert_string_equal(jobtap.otherwise, "");
	assert_string_equal(jobtap.manager, "");
	assert_false(jobtap.is_up);
	assert_true(jobtap.prolog_timeout_s == 0);
	flux_jobtap_fini(&jobtap);
}

static void what_another_plugin_says_is_refused(void **state)
{
	static const char *const texts[] = {
		"",
		"{",
		"[]",
		"{\"name\":\"perilog.so\"}",
		"{\"manager\":\"x\"}",
	};
	struct flux_jobtap jobtap;
	struct fairlead_error error;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		assert_int_equal(flux_jobtap_parse(texts[i], &jobtap, &error),
				 -EINVAL);
		flux_jobtap_fini(&jobtap);
	}
}

static void a_number_is_alone_in_its_line(void **state)
{
	uint32_t number = 7;

	assert_true(flux_number("0\n", &number));
	assert_int_equal(number, 0);
	assert_true(flux_number("4294967294", &number));
	assert_int_equal(number, 4294967294);
	assert_false(flux_number("", &number));
	assert_false(flux_number("\n", &number));
	assert_false(flux_number("1\n2\n", &number));
	assert_false(flux_number("-1\n", &number));
	assert_false(flux_number("4294967296\n", &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plugin_is_found_by_its_whole_name),
		cmocka_unit_test(a_rival_is_known_by_its_name),
		cmocka_unit_test(the_configuration_names_files_in_any_folder),
		cmocka_unit_test(the_plugin_says_what_it_goes_by),
		cmocka_unit_test(what_it_does_not_say_is_empty),
		cmocka_unit_test(what_another_plugin_says_is_refused),
		cmocka_unit_test(a_number_is_alone_in_its_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
