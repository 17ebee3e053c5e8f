/* SPDX-License-Identifier: BSD-3-Clause */
/* What becomes of links within a lane. */
#include "link/links/lane.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct fairlead_error error;

static struct link_text link_of(const char *text)
{
	struct links links;

	assert_int_equal(links_parse(text, &links, NULL), 0);
	assert_int_equal(links.count, 1);
	return links.links[0];
}

static void becomes(const char *text, const char *lane, const char *as)
{
	struct link_text link = link_of(text);
	char again[512];

	assert_int_equal(lane_check(lane, NULL), 0);
	assert_int_equal(lane_confine(lane, &link, &error), 0);
	links_format(&link, again, sizeof(again));
	assert_string_equal(again, as);
}

static void a_rail_without_a_device_is_each_of_the_lane(void **state)
{
	becomes("shm+tcp;ofi_rxm", "f0", "shm+tcp;ofi_rxm:f0");
	becomes("shm+tcp;ofi_rxm", "f0,f1", "shm+tcp;ofi_rxm:f0,f1");
	becomes("net", "f0,f1", "net:f0,f1");
	becomes("net+tcp;ofi_rxm", "f0,f1", "net:f0,f1+tcp;ofi_rxm:f0,f1");
	becomes("shm", "f0,f1", "shm");
}

static void devices_of_the_lane_may_be_named(void **state)
{
	becomes("shm+net:f1", "f0,f1", "shm+net:f1");
	becomes("net:f1,f0", "f0,f1", "net:f1,f0");
	/* Each once, and in the order of the text. */
	becomes("net:f1+net", "f0,f1,f2", "net:f1,f0,f2");
	becomes("net+net:f1", "f0,f1,f2", "net:f0,f1,f2");
}

static void a_link_has_as_many_as_it_can(void **state)
{
	const char *const nine = "a,b,c,d,e,f,g,h,i";

	becomes("net", nine, "net:a,b,c,d,e,f,g,h");
	becomes("shm+net", nine, "shm+net:a,b,c,d,e,f,g");
	becomes("shm+net+udp", nine, "shm+net:a,b,c+udp:a,b,c");
	becomes("net:i+net", nine, "net:i,a,b,c,d,e,f,g");
}

static void is_refused(const char *text, const char *lane, const char *because)
{
	struct link_text link = link_of(text), before = link;

	assert_int_equal(lane_confine(lane, &link, &error), -EINVAL);
	assert_memory_equal(&link, &before, sizeof(link));
	assert_string_equal(error.text, because);
	assert_int_equal(lane_confine(lane, &link, NULL), -EINVAL);
}

static void a_device_that_is_none_of_the_lane_is_refused(void **state)
{
	is_refused("shm+net:eth0", "f0,f1",
		   "net:eth0 is no device of this job's lane, which has f0,f1");
	is_refused("net:f0,f", "f0,f1",
		   "net:f is no device of this job's lane, which has f0,f1");
	is_refused("net+verbs;ofi_rxm:f00", "f0",
		   "verbs;ofi_rxm:f00 is no device of this job's lane, which "
		   "has f0");
}

static void is_no_lane(const char *lane, const char *because)
{
	assert_int_equal(lane_check(lane, &error), -EINVAL);
	assert_string_equal(error.text, because);
}

static void what_is_no_list_of_devices_is_no_lane(void **state)
{
	char text[2 * RAIL_NAME_MAX] = "f0,";

	is_no_lane("", "the name of a device is missing at character 1 of "
		       "\"\"");
	is_no_lane("f0,,f1", "the name of a device is missing at character 4 "
			     "of \"f0,,f1\"");
	is_no_lane("f0,", "the name of a device is missing at character 4 of "
			  "\"f0,\"");
	is_no_lane("f0 f1", "unexpected character at character 3 of \"f0 f1\"");
	memset(text + 3, 'a', RAIL_NAME_MAX - 1);
	assert_int_equal(lane_check(text, NULL), 0);
	text[3 + RAIL_NAME_MAX - 1] = 'a';
	assert_int_equal(lane_check(text, &error), -EINVAL);
	assert_non_null(
		strstr(error.text, "a name is too long at character 4"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rail_without_a_device_is_each_of_the_lane),
		cmocka_unit_test(devices_of_the_lane_may_be_named),
		cmocka_unit_test(a_link_has_as_many_as_it_can),
		cmocka_unit_test(a_device_that_is_none_of_the_lane_is_refused),
		cmocka_unit_test(what_is_no_list_of_devices_is_no_lane),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
