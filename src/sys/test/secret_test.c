/* SPDX-License-Identifier: BSD-3-Clause */
/* Key files, and what others may have done to them. */
#include "sys/secret.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define SOMEBODY 1234

struct place {
	char folder[64];
	char key[80];
};

static int setup(void **state)
{
	struct place *place = calloc(1, sizeof(*place));

	assert_non_null(place);
	strcpy(place->folder, "/tmp/secret-XXXXXX");
	assert_non_null(mkdtemp(place->folder));
	snprintf(place->key, sizeof(place->key), "%s/key", place->folder);
	*state = place;
	return 0;
}

static int teardown(void **state)
{
	struct place *place = *state;

	remove(place->key);
	assert_int_equal(rmdir(place->folder), 0);
	free(place);
	return 0;
}

static void put(const struct place *place, const char *text, mode_t mode)
{
	int fd = open(place->key, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

/* Nothing of what cannot be had may be in memory afterwards. */
static void assert_refused(const struct place *place, int code,
			   const char *text)
{
	static const char untouched[16];
	struct fairlead_error error;
	char bytes[16] = "";

	assert_int_equal(secret_read(place->key, bytes, sizeof(bytes), &error),
			 code);
	assert_int_equal(error.code, code);
	assert_non_null(strstr(error.text, place->key));
	assert_non_null(strstr(error.text, text));
	assert_memory_equal(bytes, untouched, sizeof(bytes));
}

static void secret_is_read_up_to_capacity(void **state)
{
	struct place *place = *state;
	struct fairlead_error error;
	char bytes[8];

	put(place, "secret", 0600);
	assert_int_equal(secret_read(place->key, bytes, sizeof(bytes), &error),
			 6);
	assert_memory_equal(bytes, "secret", 6);
	put(place, "8 bytes!", 0600);
	assert_int_equal(secret_read(place->key, bytes, sizeof(bytes), &error),
			 8);
	assert_memory_equal(bytes, "8 bytes!", 8);
	put(place, "", 0600);
	assert_int_equal(secret_read(place->key, bytes, sizeof(bytes), &error),
			 0);
}

static void secret_that_is_too_long_is_refused(void **state)
{
	put(*state, "seventeen bytes !", 0600);
	assert_refused(*state, -EFBIG, "too long");
}

static void missing_secret_is_reported(void **state)
{
	assert_refused(*state, -ENOENT, "No such file");
}

static void secret_that_others_can_use_is_refused(void **state)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602, 0610, 0601 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put(*state, "secret", modes[i]);
		assert_refused(*state, -EPERM, "chmod 600");
	}
}

static void secret_of_somebody_else_is_refused(void **state)
{
	struct place *place = *state;
	struct fairlead_error error;
	char bytes[16];
	int fd;

	if (geteuid() != 0)
		skip(); /* only root can give a file away */
	put(place, "secret", 0600);
	assert_int_equal(chown(place->key, SOMEBODY, SOMEBODY), 0);
	assert_refused(place, -EPERM, "belongs to uid 1234");
	assert_int_equal(secret_open(place->key, &fd, &error), 0);
	assert_int_equal(secret_read_open(fd, place->key, bytes, sizeof(bytes),
					  &error),
			 6);
	close(fd);
}

static void secret_behind_a_link_is_refused(void **state)
{
	struct place *place = *state;

	assert_int_equal(symlink("/etc/hostname", place->key), 0);
	assert_refused(place, -ELOOP, "links are not followed");
}

/* Nobody writes to the pipe: a read that waited would not come back. */
static void secret_is_a_regular_file(void **state)
{
	struct place *place = *state;

	assert_int_equal(mkfifo(place->key, 0600), 0);
	assert_refused(place, -EPERM, "not a regular file");
	assert_int_equal(unlink(place->key), 0);
	assert_int_equal(mkdir(place->key, 0700), 0);
	assert_refused(place, -EPERM, "not a regular file");
}

static void process_is_hidden(void **state)
{
	assert_int_equal(prctl(PR_GET_DUMPABLE), 1);
	secret_hide_process();
	assert_int_equal(prctl(PR_GET_DUMPABLE), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(secret_is_read_up_to_capacity),
		TEST(secret_that_is_too_long_is_refused),
		TEST(missing_secret_is_reported),
		TEST(secret_that_others_can_use_is_refused),
		TEST(secret_of_somebody_else_is_refused),
		TEST(secret_behind_a_link_is_refused),
		TEST(secret_is_a_regular_file),
		cmocka_unit_test(process_is_hidden), /* for good */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
