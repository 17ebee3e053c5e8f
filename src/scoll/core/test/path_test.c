/* SPDX-License-Identifier: BSD-3-Clause */
/* The way down and up, callback by callback. */
#include "cast.h"

static void flat_request_runs_once_on_each_node(void **state)
{
	struct cast cast;
	scoll_group_t *group;

	cast_init(&cast, 4, SCOLL_TREE_FLAT);
	group = cast_group(&cast, 0, 0, 4);
	cast_bcast(&cast, 0, group, "hello");
	assert_string_equal(cast.members[0].script,
			    "request reply:0 reply:1 reply:2 post");
	for (int i = 1; i < 4; i++) {
		assert_string_equal(cast.members[i].script,
				    "pre request post out");
		assert_int_equal(cast.members[i].payload_len, 5);
		assert_memory_equal(cast.members[i].payload, "hello", 5);
	}
	assert_int_equal(cast.members[0].status, 0);
	assert_int_equal(cast.members[0].sum, 4);
	cast_assert_idle(&cast);
	scoll_core_group_destroy(group, cast.now_ns);
	cast_run(&cast);
	cast_fini(&cast);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flat_request_runs_once_on_each_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
