/* SPDX-License-Identifier: BSD-3-Clause */
/* Genders files, also as `nodeattr` reads them, where it is there. */
#include "lanes/driver/elan3/hosts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"

static void the_attribute_gives_elan_ids(void **state)
{
	static const char good[] = "# comment\n\n   \nn0 \t elanid=7,io\r\n"
				   "n[8-010] x,,y=\n"
				   "rack[08-09] elanid=%n # not d\n"
				   "n2\nlogin other=3,elanids=4";
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(
		genders_hosts(good, strlen(good), "elanid", &hosts, &error), 0);
	assert_int_equal(elan_hosts_count(hosts), 3);
	assert_int_equal(elan_hosts_find(hosts, "n0"), 7);
	assert_int_equal(elan_hosts_find(hosts, "rack08"), 8);
	assert_int_equal(elan_hosts_find(hosts, "rack09"), 9);
	assert_int_equal(elan_hosts_find(hosts, "login"), -ENOENT);
}

static void values_that_are_no_elan_ids_are_refused(void **state)
{
	static const struct {
		const char *text, *part;
	} bad[] = {
		{ "n0 elanid\n", "line 1: 'elanid' of node 'n0'" },
		{ "n0 elanid=x\n", "is no ElanID" },
		{ "n0 elanid=-1\n", "is no ElanID" },
		{ "n0 elanid=16384\n", "is no ElanID" },
		{ "n16384 elanid=%n\n", "is no ElanID" },
		{ "login elanid=%n\n", "is no ElanID" },
		{ "n0 elanid=1\nn1 elanid=1\n", "line 2: 'n0' and 'n1'" },
		{ "n0 elanid=1\nn0 elanid=2\n", "line 2: 'n0' is there twice" },
		{ "n0 elanid=1,elanid=1\n", "line 1: 'n0' is there twice" },
		{ "n0 elanid=\n", "is no ElanID" },
		{ "n0 a\nn2 b c\n", "line 2: 'c'" },
		{ "n0 a b c d e\n", "line 1: has more words" },
		{ "\nn[3-1] elanid=%n\n", "line 2: " },
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct fairlead_error error = { 0 };
		struct elan_hosts *hosts = NULL;

		assert_int_equal(genders_hosts(bad[i].text, strlen(bad[i].text),
					       "elanid", &hosts, &error),
				 -EINVAL);
		assert_null(hosts);
		if (!strstr(error.text, bad[i].part))
			fail_msg("'%s' is not in '%s'", bad[i].part,
				 error.text);
	}
}

static void a_zero_byte_and_a_long_file_are_refused(void **state)
{
	static const char zero[] = "n1 a\nn2\0 b\n";
	_auto_(freep) char *text = calloc(1, ELAN_HOSTS_FILE_MAX + 2);
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(genders_hosts(zero, sizeof(zero) - 1, "z", &hosts,
				       &error),
			 -EINVAL);
	assert_non_null(strstr(error.text, "line 2"));
	memset(text, '#', ELAN_HOSTS_FILE_MAX + 1);
	assert_int_equal(genders_hosts(text, ELAN_HOSTS_FILE_MAX + 1, "a",
				       &hosts, &error),
			 -E2BIG);
	assert_int_equal(genders_hosts(text, ELAN_HOSTS_FILE_MAX, "a", &hosts,
				       &error),
			 0);
}

/* --- the oracle --- */

/* What a command prints; its exit is returned. */
static int run(const char *command, char *text, size_t capacity)
{
	FILE *pipe = popen(command, "r");
	size_t size;

	assert_non_null(pipe);
	size = fread(text, 1, capacity - 1, pipe);
	text[size] = 0;
	return pclose(pipe);
}

static uint32_t draw(uint32_t *seed, uint32_t count)
{
	*seed = *seed * 1664525u + 1013904223u;
	return (*seed >> 8) % count;
}

static void file_draw(uint32_t seed, struct writer *text)
{
	static const char *const hosts[] = { "n1", "n[1-3]", "m,n2", "n[4,6]",
					     "r[01-03]" };
	static const char *const attributes[] = {
		"a", "id=7", "id=%n", "d=5%%,id=9", "id=%n,a",
	};
	uint32_t lines = 1 + draw(&seed, 3);

	for (uint32_t i = 0; i < lines; i++) {
		write_plain(text, draw(&seed, 3) == 0 ? " " : "");
		write_plain(text, hosts[draw(&seed, 5)]);
		write_plain(text, draw(&seed, 2) == 0 ? "\t" : "  ");
		write_plain(text, attributes[draw(&seed, 5)]);
		write_plain(text, draw(&seed, 4) == 0 ? " # z" : "");
		write_plain(text, "\n");
	}
}

/* The ElanID that nodeattr's value of a node is; -ENOENT. */
static int nodeattr_id(const char *path, const char *node)
{
	char command[256], text[256];
	const char *digits = text;

	snprintf(command, sizeof(command),
		 "nodeattr -f %s -v %s id 2>/dev/null", path, node);
	run(command, text, sizeof(text));
	text[strcspn(text, "\n")] = 0;
	digits += strcspn(text, "0123456789");
	return *digits != 0 ? (int)strtol(digits, NULL, 10) : -ENOENT;
}

static void nodeattr_reads_the_same(void **state)
{
	char path[] = "/tmp/genders-XXXXXX";
	char command[128], out[256];
	size_t good = 0;
	int fd;

	if (run("nodeattr --version 2>&1", out, sizeof(out)) != 0 &&
	    !strstr(out, "genders")) {
		print_message("nodeattr is not installed: nothing to compare "
			      "with\n");
		skip();
	}
	fd = mkstemp(path);
	assert_true(fd >= 0);
	snprintf(command, sizeof(command), "nodeattr -f %s -k 2>/dev/null",
		 path);
	for (uint32_t seed = 1; seed <= 60; seed++) {
		static const char *const nodes[] = { "n1", "n2",  "n3",  "n4",
						     "n6", "r01", "r03", "m" };
		_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
		struct writer text = { 0 };

		file_draw(seed * 7919, &text);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, text.data, text.size, 0),
				 text.size);
		/* Others have an ElanID twice, or one that is none. */
		if (run(command, out, sizeof(out)) == 0 &&
		    genders_hosts((char *)text.data, text.size, "id", &hosts,
				  NULL) == 0) {
			for (int i = 0; i < 8; i++)
				assert_int_equal(elan_hosts_find(hosts,
								 nodes[i]),
						 nodeattr_id(path, nodes[i]));
			good++;
		}
		writer_fini(&text);
	}
	assert_in_range(good, 10, 55);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_attribute_gives_elan_ids),
		cmocka_unit_test(values_that_are_no_elan_ids_are_refused),
		cmocka_unit_test(a_zero_byte_and_a_long_file_are_refused),
		cmocka_unit_test(nodeattr_reads_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
