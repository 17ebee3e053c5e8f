/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lanes/plugin/common/step_id.h"

static void expect(const char *outer, const char *path, const char *id)
{
	char text[STEP_ID_MAX];

	step_id_make(outer, path, text);
	assert_string_equal(text, id);
}

static void a_step_is_named_within_the_outer_one(void **state)
{
	expect(NULL, "/fABC", "/fABC");
	expect("/", "/fABC", "/fABC");
	expect("/fABC", "/f2", "/fABC/f2");
	expect("0", "/fABC", "0/fABC");
	expect("4294967291", "fABC", "4294967291/fABC");
	expect("0/fABC/", "/f2", "0/fABC/f2");
	expect("", "/f2", "/f2");
}

static void ids_of_flux_have_one_form(void **state)
{
	expect("/\u01922Q49jcT", "/\u0192bUxJAB", "/f2Q49jcT/fbUxJAB");
	expect("0", "\u0192", "0/f");
	expect("\x92", "\xC6", "/");
	expect("\xC6", "\x92", "/");
}

static void what_would_break_json_is_dropped(void **state)
{
	expect("1'\"\\\n\t\x7f(null)?", "/f{}[]:,\xC3\xBC 2", "1null/f2");
	expect("._-", "Az09", "._-/Az09");
}

static void of_too_long_a_name_the_end_is_kept(void **state)
{
	char outer[2 * STEP_ID_MAX], text[STEP_ID_MAX];

	memset(outer, 'x', sizeof(outer));
	outer[sizeof(outer) - 1] = '\0';
	step_id_make(outer, "/fABC", text);
	assert_int_equal(strlen(text), STEP_ID_MAX - 1);
	assert_string_equal(text + STEP_ID_MAX - 7, "x/fABC");
	step_id_make("0", outer, text);
	assert_int_equal(strlen(text), STEP_ID_MAX - 1);
	assert_int_equal(strspn(text, "x"), STEP_ID_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_named_within_the_outer_one),
		cmocka_unit_test(ids_of_flux_have_one_form),
		cmocka_unit_test(what_would_break_json_is_dropped),
		cmocka_unit_test(of_too_long_a_name_the_end_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
