/* SPDX-License-Identifier: BSD-3-Clause */
/* What a job's nodes are in the Elan, and its capabilities. */
#include "lanes/driver/elan3/geometry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <string.h>

#include "lanes/driver/elan3/hosts.h"
#include "elan/capability.h"

static const uint8_t key[ELAN3_KEY_SIZE] = { 1, 0, 0, 0, 2, 0, 0, 0,
					     3, 0, 0, 0, 4, 0, 0, 0x80 };

static int set_up(void **state)
{
	static const char text[] = "eip [0-63,100] n[0-63,100]\n"
				   "eth 5 eth5\n";
	struct elan_hosts *hosts;

	assert_int_equal(elanhosts_parse(text, strlen(text), &hosts, NULL), 0);
	*state = hosts;
	return 0;
}

static int tear_down(void **state)
{
	elan_hosts_destroy(*state);
	return 0;
}

static void make(const struct elan_hosts *hosts, const char *const *nodes,
		 const uint32_t *tasks, size_t count,
		 struct elan3_geometry *geometry)
{
	struct fairlead_error error = { 0 };

	if (elan3_geometry_make(hosts, nodes, tasks, count, geometry, &error) <
	    0)
		fail_msg("%s", error.text);
}

static void nodes_in_any_order_span_a_range(void **state)
{
	static const char *const nodes[] = { "n7", "n5", "n6" };
	static const uint32_t tasks[] = { 1, 3, 2 };
	struct elan3_geometry geometry;

	make(*state, nodes, tasks, 3, &geometry);
	assert_int_equal(geometry.low, 5);
	assert_int_equal(geometry.high, 7);
	assert_int_equal(geometry.most, 3);
	assert_true(elan3_geometry_is_contiguous(&geometry));
	elan3_geometry_fini(&geometry);
	make(*state, nodes, tasks, 1, &geometry);
	assert_true(elan3_geometry_is_contiguous(&geometry));
	elan3_geometry_fini(&geometry);
	make(*state, (const char *[]){ "n5", "n7" }, tasks, 2, &geometry);
	assert_false(elan3_geometry_is_contiguous(&geometry));
	elan3_geometry_fini(&geometry);
}

static void refuse(const struct elan_hosts *hosts, const char *const *nodes,
		   size_t count, const char *part)
{
	static const uint32_t tasks[] = { 1, 1, 1, 1 };
	struct elan3_geometry geometry = { .count = 77 };
	struct fairlead_error error = { 0 };

	assert_int_equal(elan3_geometry_make(hosts, nodes, tasks, count,
					     &geometry, &error),
			 -EINVAL);
	assert_int_equal(geometry.count, 77);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void nodes_without_an_elan_id_are_named(void **state)
{
	refuse(*state, (const char *[]){ "n1", "x1", "n2", "x2" }, 4,
	       "2 nodes without an ElanID: x[1-2]");
	refuse(*state, (const char *[]){ "x1" }, 1,
	       "1 node without an ElanID: x1");
	refuse(*state, NULL, 0, "no nodes");
}

static void two_names_of_a_node_are_refused(void **state)
{
	refuse(*state, (const char *[]){ "n5", "n6", "eth5" }, 3,
	       "'n5' and 'eth5' are one");
}

static void more_tasks_than_contexts_are_refused(void **state)
{
	static const uint32_t tasks[] = { 4, 5 };
	struct fairlead_error error = { 0 };
	struct elan3_geometry geometry;

	make(*state, (const char *[]){ "n0", "n1" }, tasks, 2, &geometry);
	assert_int_equal(elan3_geometry_check(&geometry, 5, &error), 0);
	assert_int_equal(elan3_geometry_check(&geometry, 4, &error), -EINVAL);
	assert_non_null(strstr(error.text, "5 tasks"));
	elan3_geometry_fini(&geometry);
}

static void more_processes_than_a_capability_has_are_refused(void **state)
{
	static const uint32_t tasks[] = { 1, 1 };
	struct fairlead_error error = { 0 };
	struct elan3_geometry geometry;

	make(*state, (const char *[]){ "n0", "n63" }, tasks, 2, &geometry);
	assert_int_equal(elan3_geometry_check(&geometry, 256, &error), 0);
	assert_int_equal(elan3_geometry_check(&geometry, 257, &error), -EINVAL);
	assert_non_null(strstr(error.text, "16448 virtual processes"));
	elan3_geometry_fini(&geometry);
}

static void block_goes_node_by_node(void **state)
{
	static const uint32_t tasks[] = { 1, 2 };
	struct elan3_geometry geometry;
	struct elan_capability cap;

	make(*state, (const char *[]){ "n6", "n4" }, tasks, 2, &geometry);
	elan3_capability_make(&geometry, 0x410, 0x412, false, 1, key, &cap);
	assert_int_equal(capability_check(&cap), 0);
	assert_int_equal(cap.cap_type, ELAN_CAP_TYPE_BLOCK);
	assert_int_equal(cap.cap_lownode, 4);
	assert_int_equal(cap.cap_highnode, 6);
	assert_int_equal(cap.cap_lowcontext, 0x410);
	assert_int_equal(cap.cap_highcontext, 0x412);
	assert_int_equal(cap.cap_mycontext, ELAN_CAP_UNINITIALISED);
	assert_int_equal(cap.cap_railmask, 1);
	/* n4 has tasks 0 and 1, n6 has one, of three contexts each. */
	assert_int_equal(cap.cap_bitmap[0], 1u << 0 | 1u << 1 | 1u << 6);
	assert_int_equal(cap.cap_userkey.key_values[0], 1);
	assert_int_equal(cap.cap_userkey.key_values[3], 0x80000004);
	elan3_geometry_fini(&geometry);
}

static void cyclic_goes_context_by_context(void **state)
{
	static const uint32_t tasks[] = { 1, 2 };
	struct elan3_geometry geometry;
	struct elan_capability cap;

	make(*state, (const char *[]){ "n6", "n4" }, tasks, 2, &geometry);
	elan3_capability_make(&geometry, 0x410, 0x412, true, 1, key, &cap);
	assert_int_equal(cap.cap_type, ELAN_CAP_TYPE_CYCLIC);
	assert_int_equal(cap.cap_bitmap[0], 1u << 0 | 1u << 2 | 1u << 3);
	assert_int_equal(capability_process_count(&cap), 3);
	elan3_geometry_fini(&geometry);
}

static void flags_tell_of_rails_and_of_gaps(void **state)
{
	static const uint32_t tasks[] = { 1, 1 };
	struct elan3_geometry geometry;
	struct elan_capability cap;

	make(*state, (const char *[]){ "n1", "n0" }, tasks, 2, &geometry);
	elan3_capability_make(&geometry, 0x400, 0x400, false, 1, key, &cap);
	assert_int_equal(cap.cap_type,
			 ELAN_CAP_TYPE_BLOCK | ELAN_CAP_TYPE_BROADCASTABLE);
	elan3_capability_make(&geometry, 0x400, 0x400, false, 2, key, &cap);
	assert_int_equal(cap.cap_type, ELAN_CAP_TYPE_BLOCK |
					       ELAN_CAP_TYPE_BROADCASTABLE |
					       ELAN_CAP_TYPE_MULTI_RAIL);
	assert_int_equal(cap.cap_railmask, 2);
	elan3_geometry_fini(&geometry);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nodes_in_any_order_span_a_range),
		T(nodes_without_an_elan_id_are_named),
		T(two_names_of_a_node_are_refused),
		T(more_tasks_than_contexts_are_refused),
		T(more_processes_than_a_capability_has_are_refused),
		T(block_goes_node_by_node),
		T(cyclic_goes_context_by_context),
		T(flags_tell_of_rails_and_of_gaps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
