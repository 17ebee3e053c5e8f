/* SPDX-License-Identifier: BSD-3-Clause */
/* Genders files, also as `nodeattr` reads them, where it is there. */
#include "lanes/driver/elan3/genders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"

/* "node.name=value\n" of each attribute. */
static int note(void *arg, const struct genders_attribute *attribute,
		struct fairlead_error *ret_error)
{
	struct writer *writer = arg;

	write_plain(writer, attribute->node);
	write_plain(writer, ".");
	write_plain(writer, attribute->name);
	if (attribute->value) {
		write_plain(writer, "=");
		write_plain(writer, attribute->value);
	}
	write_plain(writer, "\n");
	return 0;
}

/* The caller frees *ret_notes, which is written on success. */
static int parse(const char *text, char **ret_notes,
		 struct fairlead_error *error)
{
	struct writer writer = { 0 };
	int result = genders_parse(text, strlen(text), note, &writer, error);

	write_u8(&writer, 0);
	if (result == 0)
		*ret_notes = (char *)writer_take(&writer, NULL);
	writer_fini(&writer);
	return result;
}

static void assert_notes(const char *text, const char *expected)
{
	_auto_(freep) char *notes = NULL;
	struct fairlead_error error = { 0 };

	if (parse(text, &notes, &error) < 0)
		fail_msg("'%s': %s", text, error.text);
	assert_string_equal(notes, expected);
}

static void assert_refused(const char *text, const char *part)
{
	struct fairlead_error error = { 0 };
	char *notes = NULL;
	int result = parse(text, &notes, &error);

	if (result != -EINVAL)
		fail_msg("'%s' gives %d", text, result);
	assert_int_equal(error.code, result);
	assert_null(notes);
	if (!strstr(error.text, part))
		fail_msg("'%s' is not in '%s'", part, error.text);
}

static void each_attribute_goes_to_each_node_of_its_line(void **state)
{
	assert_notes("", "");
	assert_notes("# nothing\n\n   \n", "");
	assert_notes("n1", "");
	assert_notes("n1 a", "n1.a\n");
	assert_notes("n[0-1],m a,b=2\nn1 c\n",
		     "n0.a\nn1.a\nm.a\nn0.b=2\nn1.b=2\nm.b=2\nn1.c\n");
	assert_notes("\t n1 \t a=b=c # not d\r\nn2 e#f\n", "n1.a=b=c\nn2.e\n");
}

static void a_value_can_have_its_node_s_name(void **state)
{
	assert_notes("n[1-2] a=x%ny\n", "n1.a=xn1y\nn2.a=xn2y\n");
	assert_notes("n1 a=%%n,b=5%,c=%q\n", "n1.a=%n\nn1.b=5%\nn1.c=%q\n");
}

static void malformed_lines_are_refused_with_their_number(void **state)
{
	assert_refused("n1 a\nn2 b c\n", "line 2: 'c'");
	assert_refused("n1 a b c d e\n", "line 1");
	assert_refused("n1 a,\n", "line 1: an attribute has no name");
	assert_refused("n1 ,a\n", "line 1: an attribute has no name");
	assert_refused("n1 =1\n", "line 1: an attribute has no name");
	assert_refused("n1 a=\n", "line 1: 'a' has no value");
	assert_refused("\nn[3-1] a\n", "line 2: ");
	assert_refused("n1,-x a\n", "line 1: ");
	assert_refused("n/1 a\n", "line 1: ");
}

static void an_attribute_twice_for_a_node_is_refused(void **state)
{
	assert_refused("n1 a,a\n", "node 'n1' has the attribute 'a' twice");
	assert_refused("n1 a\nn[0-3] b,a=2\n", "line 2: node 'n1'");
	assert_refused("n1,n1 a\n", "node 'n1'");
	assert_notes("n1 a\nn2 a\nn1 b\n", "n1.a\nn2.a\nn1.b\n");
}

static void a_zero_byte_is_refused(void **state)
{
	static const char text[] = "n1 a\nn2\0 b\n";
	struct fairlead_error error = { 0 };
	struct writer writer = { 0 };

	assert_int_equal(genders_parse(text, sizeof(text) - 1, note, &writer,
				       &error),
			 -EINVAL);
	assert_non_null(strstr(error.text, "line 2"));
	writer_fini(&writer);
}

static void long_texts_are_refused(void **state)
{
	_auto_(freep) char *text = calloc(1, ELAN_HOSTS_FILE_MAX + 2);
	struct fairlead_error error = { 0 };
	char line[GENDERS_VALUE_MAX + 64];
	char many[] = "n[1-65536] a,b,c,d,e";
	char *notes;
	int size;

	memset(text, '#', ELAN_HOSTS_FILE_MAX + 1);
	assert_int_equal(parse(text, &notes, &error), -E2BIG);
	text[ELAN_HOSTS_FILE_MAX] = 0;
	assert_notes(text, "");
	size = snprintf(line, sizeof(line), "n1 a=%%n");
	memset(line + size, 'v', GENDERS_VALUE_MAX - 2);
	line[size + GENDERS_VALUE_MAX - 2] = 0;
	assert_int_equal(parse(line, &notes, &error), 0);
	free(notes);
	line[1] = '0';
	strcpy(line + size + GENDERS_VALUE_MAX - 2, "v");
	assert_refused(line, "too long for a value");
	size = snprintf(line, sizeof(line), "n1 ");
	memset(line + size, 'a', GENDERS_ATTRIBUTE_MAX + 1);
	line[size + GENDERS_ATTRIBUTE_MAX + 1] = 0;
	assert_refused(line, "too long for an attribute");
	assert_int_equal(parse(many, &notes, &error), -E2BIG);
	assert_non_null(strstr(error.text, "too many"));
}

/* --- ElanIDs --- */

static void the_attribute_gives_elan_ids(void **state)
{
	static const char text[] = "n0 elanid=7,io\n"
				   "n[8-010] x\n"
				   "rack[08-09] elanid=%n\n"
				   "login other=3\n";
	static const char good[] = "n0 elanid=7,io\n"
				   "rack[08-09] elanid=%n\n"
				   "login other=3\n";
	_auto_(elan_hosts_destroyp) struct elan_hosts *hosts = NULL;
	struct fairlead_error error = { 0 };

	assert_int_equal(genders_hosts(text, strlen(text), "elanid", &hosts,
				       &error),
			 -EINVAL);
	assert_null(hosts);
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

/* A file of which about every third one is wrong. */
static void file_draw(uint32_t seed, struct writer *text)
{
	static const char *const hosts[] = { "n1", "n[1-3]", "m,n2", "n[4,6]",
					     "r[01-03]" };
	static const char *const attributes[] = {
		"a",   "b=1",   "c=%n", "d=5%%", "a=2",
		"a,b", "e=x=y", "b=%q", "f,c",   "g=",
	};
	uint32_t lines = 1 + draw(&seed, 3);

	for (uint32_t i = 0; i < lines; i++) {
		write_plain(text, draw(&seed, 3) == 0 ? " " : "");
		write_plain(text, hosts[draw(&seed, 5)]);
		write_plain(text, draw(&seed, 2) == 0 ? "\t" : "  ");
		write_plain(text, attributes[draw(&seed, 10)]);
		write_plain(text, draw(&seed, 4) == 0 ? " b" : "");
		write_plain(text, draw(&seed, 4) == 0 ? " # z" : "");
		write_plain(text, "\n");
	}
}

struct compared {
	const char *path;
	size_t count;
};

static int compare(void *arg, const struct genders_attribute *attribute,
		   struct fairlead_error *ret_error)
{
	struct compared *compared = arg;
	char command[256], text[256];

	snprintf(command, sizeof(command),
		 "nodeattr -f %s -v %s %s 2>/dev/null", compared->path,
		 attribute->node, attribute->name);
	run(command, text, sizeof(text));
	text[strcspn(text, "\n")] = 0;
	assert_string_equal(text, attribute->value ? attribute->value : "");
	snprintf(command, sizeof(command), "nodeattr -f %s %s %s",
		 compared->path, attribute->node, attribute->name);
	assert_int_equal(run(command, text, sizeof(text)), 0);
	compared->count++;
	return 0;
}

/* Lines of `nodeattr -n A` for each attribute that there can be. */
static size_t nodeattr_count(const char *path)
{
	char command[256], text[4096];
	size_t count = 0;

	snprintf(command, sizeof(command),
		 "for a in a b c d e f g; do nodeattr -f %s -n $a; done", path);
	run(command, text, sizeof(text));
	for (const char *at = text; (at = strchr(at, '\n')) != NULL; at++)
		count++;
	return count;
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
		struct compared compared = { .path = path };
		struct fairlead_error error = { 0 };
		struct writer text = { 0 };
		int result;

		file_draw(seed * 7919, &text);
		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, text.data, text.size, 0),
				 text.size);
		if (run(command, out, sizeof(out)) != 0) {
			struct writer notes = { 0 };

			assert_int_equal(genders_parse((char *)text.data,
						       text.size, note, &notes,
						       &error),
					 -EINVAL);
			writer_fini(&notes);
			writer_fini(&text);
			continue;
		}
		result = genders_parse((char *)text.data, text.size, compare,
				       &compared, &error);
		if (result < 0)
			fail_msg("seed %u: %s", seed, error.text);
		assert_int_equal(compared.count, nodeattr_count(path));
		good++;
		writer_fini(&text);
	}
	assert_in_range(good, 10, 50);
	close(fd);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_attribute_goes_to_each_node_of_its_line),
		cmocka_unit_test(a_value_can_have_its_node_s_name),
		cmocka_unit_test(malformed_lines_are_refused_with_their_number),
		cmocka_unit_test(an_attribute_twice_for_a_node_is_refused),
		cmocka_unit_test(a_zero_byte_is_refused),
		cmocka_unit_test(long_texts_are_refused),
		cmocka_unit_test(the_attribute_gives_elan_ids),
		cmocka_unit_test(values_that_are_no_elan_ids_are_refused),
		cmocka_unit_test(nodeattr_reads_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
