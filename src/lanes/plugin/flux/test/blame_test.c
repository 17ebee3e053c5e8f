/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is drained when a lane cannot be made, and who is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/plugin/flux/blame.h"

static json_t *failures_of(int first, int second)
{
	return json_pack("[{s:s, s:i, s:s}, {s:s, s:i, s:s}]", "nodes", "n0",
			 "errno", first, "text", "a", "nodes", "n[1-2]",
			 "errno", second, "text", "b");
}

static json_t *blame(int first, int second)
{
	json_t *failures = failures_of(first, second);
	json_t *blamed = blame_create(failures);

	/* What it is made of is left as it was. */
	assert_int_equal(json_array_size(failures), 2);
	json_decref(failures);
	assert_non_null(blamed);
	return blamed;
}

static void expect_only(const json_t *blamed, const char *nodes)
{
	assert_int_equal(json_array_size(blamed), 1);
	assert_string_equal(json_string_value(json_object_get(
				    json_array_get(blamed, 0), "nodes")),
			    nodes);
}

static void who_has_failed_is_to_blame(void **state)
{
	json_t *blamed = blame(-EIO, -EHOSTUNREACH);

	assert_int_equal(json_array_size(blamed), 2);
	json_decref(blamed);
}

static void who_is_full_is_not(void **state)
{
	json_t *blamed = blame(-ENOSPC, -EIO);

	expect_only(blamed, "n[1-2]");
	json_decref(blamed);
	blamed = blame(-ENOSPC, -ENOSPC);
	assert_int_equal(json_array_size(blamed), 0);
	assert_false(blame_is_unreached(blamed));
	json_decref(blamed);
}

static void who_was_started_again_meanwhile_is_not(void **state)
{
	json_t *blamed = blame(-EIO, -ESTALE);

	expect_only(blamed, "n0");
	json_decref(blamed);
	blamed = blame(-ESTALE, -EHOSTUNREACH);
	assert_true(blame_is_unreached(blamed));
	json_decref(blamed);
}

static void unreached_nodes_are_listed_and_taken_out(void **state)
{
	json_t *blamed = blame(-EHOSTUNREACH, -EIO);

	assert_true(blame_has_unreached(blamed));
	assert_false(blame_is_unreached(blamed));
	blame_remove_unreached(blamed);
	assert_false(blame_has_unreached(blamed));
	expect_only(blamed, "n[1-2]");
	json_decref(blamed);
	blamed = blame(-EHOSTUNREACH, -EHOSTUNREACH);
	assert_true(blame_is_unreached(blamed));
	blame_remove_unreached(blamed);
	assert_int_equal(json_array_size(blamed), 0);
	json_decref(blamed);
	/* One that is full does not make the other's a failure of its own. */
	blamed = blame(-ENOSPC, -EHOSTUNREACH);
	assert_true(blame_is_unreached(blamed));
	json_decref(blamed);
}

static void without_failures_nobody_is(void **state)
{
	json_t *blamed = blame_create(NULL);

	assert_int_equal(json_array_size(blamed), 0);
	assert_false(blame_has_unreached(blamed));
	assert_false(blame_is_unreached(NULL));
	blame_remove_unreached(NULL);
	json_decref(blamed);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_has_failed_is_to_blame),
		cmocka_unit_test(who_is_full_is_not),
		cmocka_unit_test(who_was_started_again_meanwhile_is_not),
		cmocka_unit_test(unreached_nodes_are_listed_and_taken_out),
		cmocka_unit_test(without_failures_nobody_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
