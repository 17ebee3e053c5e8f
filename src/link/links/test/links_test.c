/* SPDX-License-Identifier: BSD-3-Clause */
/* What links may say, and what is said of what they may not. */
#include "link/links/links.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct links links;
static struct fairlead_error error;

static void is_written_again(const char *text, const char *as)
{
	char again[256];
	assert_int_equal(links_parse(text, &links, NULL), 0);
	assert_int_equal(links.count, 1);
	links_format(&links.links[0], again, sizeof(again));
	assert_string_equal(again, as);
}

static void what_sites_write_is_understood(void **state)
{
	is_written_again("shm", "shm");
	is_written_again("shm+tcp;ofi_rxm", "shm+tcp;ofi_rxm");
	is_written_again("shm+cxi:cxi0,cxi1", "shm+cxi:cxi0,cxi1");
	is_written_again("net:eth0+verbs;ofi_rxm:mlx5_0",
			 "net:eth0+verbs;ofi_rxm:mlx5_0");
	is_written_again("net:eth0+net:eth1", "net:eth0,eth1");
	is_written_again("net+net:eth1", "net+net:eth1");
}

static void shared_memory_comes_first(void **state)
{
	is_written_again("tcp;ofi_rxm:eth0,eth1+shm",
			 "shm+tcp;ofi_rxm:eth0,eth1");
	assert_int_equal(links.links[0].count, 3);
	assert_string_equal(links.links[0].rails[2].domain, "eth1");
	assert_string_equal(links.links[0].rails[2].provider, "tcp;ofi_rxm");
}

static void links_keep_their_order(void **state)
{
	assert_int_equal(
		links_parse("shm+net|shm+tcp;ofi_rxm|net", &links, NULL), 0);
	assert_int_equal(links.count, 3);
	assert_string_equal(links.links[1].rails[1].provider, "tcp;ofi_rxm");
	assert_int_equal(links.links[2].count, 1);
}

static void is_refused(const char *text, const char *because)
{
	memset(&links, 0x55, sizeof(links));
	struct links before = links;
	assert_int_equal(links_parse(text, &links, &error), -EINVAL);
	assert_memory_equal(&links, &before, sizeof(links));
	assert_string_equal(error.text, because);
	assert_int_equal(links_parse(text, &links, NULL), -EINVAL);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
	is_refused("",
		   "the name of a provider is missing at character 1 of \"\"");
	is_refused("shm+",
		   "the name of a provider is missing at character 5 of "
		   "\"shm+\"");
	is_refused("|net",
		   "the name of a provider is missing at character 1 of "
		   "\"|net\"");
	is_refused("shm+net:",
		   "the name of a domain is missing at character 9 of "
		   "\"shm+net:\"");
	is_refused("net:eth0,+shm", "the name of a domain is missing at "
				    "character 10 of \"net:eth0,+shm\"");
	is_refused("shm net",
		   "unexpected character at character 4 of \"shm net\"");
	is_refused("net:eth0:eth1",
		   "unexpected character at character 9 of \"net:eth0:eth1\"");
	is_refused("shm+net+shm",
		   "the same rail is there twice at character 9 of "
		   "\"shm+net+shm\"");
	is_refused("shm:eth0", "shared memory has no domains at character 4 of "
			       "\"shm:eth0\"");
	is_refused("a:1,2,3,4,5,6,7,8,9", "a link has too many rails at "
					  "character 19 of "
					  "\"a:1,2,3,4,5,6,7,8,9\"");
	is_refused("a|a|a|a|a|a|a|a|a", "there are too many links at character "
					"17 of \"a|a|a|a|a|a|a|a|a\"");
}

static void the_longest_name_is_63_characters(void **state)
{
	char text[RAIL_NAME_MAX + 1] = "";
	memset(text, 'a', RAIL_NAME_MAX - 1);
	assert_int_equal(links_parse(text, &links, NULL), 0);
	text[RAIL_NAME_MAX - 1] = 'a';
	text[RAIL_NAME_MAX] = '\0';
	assert_int_equal(links_parse(text, &links, &error), -EINVAL);
	assert_non_null(
		strstr(error.text, "a name is too long at character 1"));
}

static void a_link_that_does_not_fit_is_cut(void **state)
{
	char text[8];
	assert_int_equal(links_parse("shm+net:eth0", &links, NULL), 0);
	links_format(&links.links[0], text, sizeof(text));
	assert_int_equal(strlen(text), sizeof(text) - 1);
	assert_memory_equal(text, "shm+net", sizeof(text) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_sites_write_is_understood),
		cmocka_unit_test(shared_memory_comes_first),
		cmocka_unit_test(links_keep_their_order),
		cmocka_unit_test(what_is_wrong_is_said_with_its_place),
		cmocka_unit_test(the_longest_name_is_63_characters),
		cmocka_unit_test(a_link_that_does_not_fit_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
