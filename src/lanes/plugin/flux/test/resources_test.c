/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes and cores, as Flux's resource sets have them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "lanes/plugin/flux/resources.h"

#define R(lite, nodelist)                                 \
	"{\"version\":1,\"execution\":{\"R_lite\":[" lite \
	"],\"starttime\":0,\"expiration\":0,\"nodelist\":[" nodelist "]}}"

static void expect(const char *text, const char *nodes, const char *cores)
{
	json_t *object = json_loads(text, 0, NULL);
	struct fairlead_error error;
	char *got_nodes, *got_cores;

	assert_non_null(object);
	if (resources_read(object, &got_nodes, &got_cores, &error) < 0)
		fail_msg("%s", error.text);
	assert_string_equal(got_nodes, nodes);
	assert_string_equal(got_cores, cores);
	free(got_nodes);
	free(got_cores);
	json_decref(object);
}

static void refuse(const char *text)
{
	json_t *object = json_loads(text, 0, NULL);
	struct fairlead_error error;
	char *nodes, *cores;

	assert_int_equal(resources_read(object, &nodes, &cores, &error),
			 -EINVAL);
	json_decref(object);
}

static void nodes_that_are_alike_are_one_run(void **state)
{
	expect(R("{\"rank\":\"0-3\",\"children\":{\"core\":\"0-7\"}}",
		 "\"n[0-3]\""),
	       "n[0-3]", "8");
	expect(R("{\"rank\":\"7\",\"children\":{\"core\":\"0,5\"}}", "\"m\""),
	       "m", "2");
}

static void cores_follow_the_order_of_ranks(void **state)
{
	expect(R("{\"rank\":\"0,2\",\"children\":{\"core\":\"0-1\"}},"
		 "{\"rank\":\"1,3-4\",\"children\":{\"core\":\"0-3\",\"gpu\":"
		 "\"0\"}}",
		 "\"a[0-2]\",\"b\",\"c7\""),
	       "a[0-2],b,c7", "2,4,2,4,4");
	expect(R("{\"rank\":\"5\",\"children\":{\"core\":\"0-3\"}},"
		 "{\"rank\":\"1\",\"children\":{\"core\":\"0\"}}",
		 "\"n1\",\"n5\""),
	       "n[1,5]", "1,4");
}

static void brokers_of_one_host_are_one_node(void **state)
{
	expect(R("{\"rank\":\"0-2\",\"children\":{\"core\":\"0-1\"}}",
		 "\"h\",\"h\",\"i\""),
	       "h,i", "4,2");
}

static void a_node_without_cores_counts_as_one_with_one(void **state)
{
	expect(R("{\"rank\":\"0\",\"children\":{\"gpu\":\"0\"}}", "\"n0\""),
	       "n0", "1");
	expect(R("{\"rank\":\"0\"}", "\"n0\""), "n0", "1");
}

static void what_is_not_understood_is_refused(void **state)
{
	refuse("{}");
	refuse(R("", ""));
	refuse(R("{\"rank\":\"0-1\",\"children\":{\"core\":\"0\"}}", "\"n0\""));
	refuse(R("{\"rank\":\"x\",\"children\":{\"core\":\"0\"}}", "\"n0\""));
	refuse(R("{\"rank\":\"0\",\"children\":{\"core\":\"x\"}}", "\"n0\""));
	refuse(R("{\"rank\":0}", "\"n0\""));
	refuse(R("{\"rank\":\"0\"}", "17"));
	refuse(R("{\"rank\":\"0\"}", "\"n[0-1]\""));
	refuse(R("{\"rank\":\"65536\"}", "\"n0\""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_that_are_alike_are_one_run),
		cmocka_unit_test(cores_follow_the_order_of_ranks),
		cmocka_unit_test(brokers_of_one_host_are_one_node),
		cmocka_unit_test(a_node_without_cores_counts_as_one_with_one),
		cmocka_unit_test(what_is_not_understood_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
