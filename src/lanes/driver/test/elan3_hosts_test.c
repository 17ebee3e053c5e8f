/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of ElanIDs, and elanhosts files. */
#include "lanes/driver/elan3/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void assert_refused(const char *text, const char *part)
{
	struct fairlead_error error = { 0 };
	struct elan_hosts *hosts = NULL;

	assert_int_equal(elanhosts_parse(text, strlen(text), &hosts, &error),
			 -EINVAL);
	assert_int_equal(error.code, -EINVAL);
	assert_null(hosts);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void names_of_each_kind_have_elan_ids(void **state)
{
	static const char text[] = "# type ids    hosts\n"
				   "eip   [0-3]  node[0-3]\n"
				   "\n"
				   "eth\t[0-1,3] enode[0,1,3]   # a comment\n"
				   "other 7      login\n";
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(elanhosts_parse(text, strlen(text), &hosts, &error),
			 0);
	assert_int_equal(elan_hosts_count(hosts), 8);
	assert_int_equal(elan_hosts_find(hosts, "node2"), 2);
	assert_int_equal(elan_hosts_find(hosts, "enode3"), 3);
	assert_int_equal(elan_hosts_find(hosts, "login"), 7);
	assert_int_equal(elan_hosts_find(hosts, "node4"), -ENOENT);
	assert_string_equal(elan_hosts_name(hosts, ELAN_HOST_EIP, 3), "node3");
	assert_string_equal(elan_hosts_name(hosts, ELAN_HOST_ETH, 3), "enode3");
	assert_null(elan_hosts_name(hosts, ELAN_HOST_OTHER, 3));
	assert_null(elan_hosts_name(hosts, ELAN_HOST_EIP, UINT32_MAX));
}

static void malformed_lines_are_refused_with_their_number(void **state)
{
	assert_refused("eip [0-3]\n", "line 1: has to be");
	assert_refused("\neip [0-3] n[0-3] x\n", "line 2: has to be");
	assert_refused("eip 0 a b c\n", "line 1");
	assert_refused("elan 0 a\n", "line 1: 'elan' is not");
	assert_refused("eip [0-3] n[0-2]\n", "has 4 ElanIDs and 3 names");
	assert_refused("eip 16384 n\n", "'16384' is no ElanID");
	assert_refused("eip x n\n", "'x' is no ElanID");
	assert_refused("eip [0- n\n", "line 1: ");
	assert_refused("eip 0 n[\n", "line 1: ");
}

static void a_name_or_an_id_twice_is_refused(void **state)
{
	assert_refused("eip 0 n\neip 1 n\n", "line 2: 'n' is there twice");
	assert_refused("eip 0 n\neth 0 n\n", "'n' is there twice");
	assert_refused("eip 0 n\neip 0 m\n", "'n' and 'm' both have ElanID 0");
}

static void what_is_too_large_is_refused(void **state)
{
	_auto_(freep) char *text = calloc(1, ELAN_HOSTS_FILE_MAX + 2);
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct fairlead_error error = { 0 };

	memset(text, '\n', ELAN_HOSTS_FILE_MAX + 1);
	assert_int_equal(elanhosts_parse(text, ELAN_HOSTS_FILE_MAX + 1, &hosts,
					 &error),
			 -E2BIG);
	assert_int_equal(
		elanhosts_parse(text, ELAN_HOSTS_FILE_MAX, &hosts, &error), 0);
	assert_int_equal(elan_hosts_add(hosts, "n", ELAN_HOST_EIP,
					ELAN_ID_MAX + 1, &error),
			 -EINVAL);
	assert_int_equal(elan_hosts_add(hosts, "n", ELAN_HOST_EIP, ELAN_ID_MAX,
					&error),
			 0);
	assert_int_equal(elan_hosts_find(hosts, "n"), ELAN_ID_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_each_kind_have_elan_ids),
		cmocka_unit_test(malformed_lines_are_refused_with_their_number),
		cmocka_unit_test(a_name_or_an_id_twice_is_refused),
		cmocka_unit_test(what_is_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
