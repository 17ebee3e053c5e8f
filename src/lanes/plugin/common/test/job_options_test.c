/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may ask for, and what they, or somebody in their name, may not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <ctype.h>
#include <errno.h>

#include "lanes/plugin/common/job_options.h"

static void what_can_be_meant_is_taken(void **state)
{
	static const char *const good[] = {
		"off",
		"vnis=2",
		"vnis=2,tcs=LOW_LATENCY",
		"interconnect=slingshot,vnis=1",
		"interconnect=123456789012345",
		"a",
		"a=",
		"a,b,c",
		"_x=A-Z.a:z+0_9",
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(job_options_check(good[i], NULL), 0);
}

static void the_longest_is_taken_and_one_more_is_not(void **state)
{
	char text[FAIRLEAD_OPTIONS_MAX + 2];
	struct fairlead_error error;

	memset(text, 'a', sizeof(text));
	text[FAIRLEAD_OPTIONS_MAX] = 0;
	assert_int_equal(job_options_check(text, NULL), 0);
	text[FAIRLEAD_OPTIONS_MAX] = 'a';
	text[FAIRLEAD_OPTIONS_MAX + 1] = 0;
	assert_int_equal(job_options_check(text, &error), -EINVAL);
	assert_non_null(strstr(error.text, "511"));
}

static void hostile_texts_are_refused_in_printable_words(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"a b",
		"a\n",
		"a\x1b[2J",
		"\xc3\xa4",
		"\x7f",
		",",
		"a,",
		",a",
		"a,,b",
		"=",
		"=x",
		"A=1",
		"-a",
		"a==b",
		"a=b=c",
		"a=/etc",
		"a=$(id)",
		"a=`id`",
		"a;reboot",
		"a=%n%n%s",
		"a='b'",
		"a=\\",
		"../../x",
		"interconnect",
		"interconnect=",
		"vnis=1,interconnect=1234567890123456",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fairlead_error error = { 0 };

		assert_int_equal(job_options_check(bad[i], &error), -EINVAL);
		assert_true(error.text[0] != 0);
		for (const char *c = error.text; *c; c++)
			assert_true(isprint((unsigned char)*c));
		assert_int_equal(job_options_check(bad[i], NULL), -EINVAL);
	}
}

static void no_byte_but_the_grammars_is_taken(void **state)
{
	char text[] = "a=?";

	for (int byte = 1; byte < 256; byte++) {
		bool is_good = isalnum(byte) || strchr("_.:+-,", byte);

		text[2] = (char)byte;
		if (byte == ',')
			strcpy(text, "a,b");
		assert_int_equal(job_options_check(text, NULL),
				 is_good ? 0 : -EINVAL);
		strcpy(text, "a=?");
	}
}

static void an_item_is_found_whole(void **state)
{
	assert_true(job_options_has("vnis=0", "vnis=0"));
	assert_true(job_options_has("a,vnis=0,b", "vnis=0"));
	assert_true(job_options_has("b,vnis=0", "vnis=0"));
	assert_false(job_options_has("vnis=00,xvnis=0,vnis", "vnis=0"));
}

static void the_interconnect_is_taken_out(void **state)
{
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1];
	char options[FAIRLEAD_OPTIONS_MAX + 1];
	struct fairlead_error error;

	assert_int_equal(job_options_split("vnis=1,interconnect=a,max=3",
					   interconnect, options, NULL),
			 0);
	assert_string_equal(interconnect, "a");
	assert_string_equal(options, "vnis=1,max=3");
	assert_int_equal(job_options_split("interconnects=a", interconnect,
					   options, NULL),
			 0);
	assert_string_equal(interconnect, "");
	assert_string_equal(options, "interconnects=a");
	assert_int_equal(job_options_split("interconnect=a,interconnect=b",
					   interconnect, options, &error),
			 -EINVAL);
	assert_non_null(strstr(error.text, "twice"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_can_be_meant_is_taken),
		cmocka_unit_test(the_longest_is_taken_and_one_more_is_not),
		cmocka_unit_test(hostile_texts_are_refused_in_printable_words),
		cmocka_unit_test(no_byte_but_the_grammars_is_taken),
		cmocka_unit_test(an_item_is_found_whole),
		cmocka_unit_test(the_interconnect_is_taken_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
