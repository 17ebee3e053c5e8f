/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that are run, and what comes back of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "lanes/cli/child.h"

static int run_shell(const char *script, char **ret_output, size_t *ret_size,
		     struct fairlead_error *ret_error)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	return child_run("/bin", argv, CHILD_TIMEOUT_MS, ret_output, ret_size,
			 ret_error);
}

static size_t descriptor_count(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void output_comes_whole(void **state)
{
	_auto_(freep) char *text = NULL;
	_auto_(freep) char *large = NULL;
	size_t size = 0;

	assert_int_equal(run_shell("printf 'a\\0b\\n'", &text, &size, NULL), 0);
	assert_int_equal(size, 4);
	assert_memory_equal(text, "a\0b\n", 5);
	assert_int_equal(
		run_shell("head -c 1000000 /dev/zero", &large, &size, NULL), 0);
	assert_int_equal(size, 1000000);
	assert_int_equal(large[size], 0);
}

static void nothing_is_there_to_read(void **state)
{
	_auto_(freep) char *text = NULL;
	size_t size = 1;

	assert_int_equal(run_shell("cat", &text, &size, NULL), 0);
	assert_int_equal(size, 0);
	assert_string_equal(text, "");
	assert_int_equal(run_shell("true", NULL, NULL, NULL), 0);
}

static void failures_say_which_and_how(void **state)
{
	static const char *const missing[] = { "no-such-program", NULL };
	static const char *const folder[] = { "..", NULL };
	struct fairlead_error error;
	char *text = NULL;

	assert_int_equal(child_run("/bin", missing, CHILD_TIMEOUT_MS, &text,
				   NULL, &error),
			 -ENOENT);
	assert_non_null(strstr(error.text, "/bin/no-such-program"));
	assert_int_equal(child_run("/bin", folder, CHILD_TIMEOUT_MS, &text,
				   NULL, &error),
			 -EACCES);
	assert_int_equal(run_shell("echo half; exit 3", &text, NULL, &error),
			 -ECHILD);
	assert_non_null(strstr(error.text, "exit 3"));
	assert_int_equal(run_shell("kill -9 $$", &text, NULL, &error), -ECHILD);
	assert_non_null(strstr(error.text, "signal 9"));
	assert_null(text);
}

static void what_never_ends_is_ended(void **state)
{
	static const char *const argv[] = { "yes", NULL };
	struct fairlead_error error;
	char *text = NULL;

	assert_int_equal(child_run("/usr/bin", argv, CHILD_TIMEOUT_MS, &text,
				   NULL, &error),
			 -EFBIG);
	assert_non_null(strstr(error.text, "/usr/bin/yes"));
	assert_null(text);
}

static void expect_ended(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };
	struct fairlead_error error;
	char *text = NULL;

	assert_int_equal(child_run("/bin", argv, 50, &text, NULL, &error),
			 -ETIMEDOUT);
	assert_non_null(strstr(error.text, "/bin/sh"));
	assert_null(text);
}

static void what_hangs_is_ended(void **state)
{
	expect_ended("exec sleep infinity");
	expect_ended("echo half; exec sleep infinity");
	expect_ended("exec >&-; exec sleep infinity");
}

static void what_it_leaves_behind_is_not_waited_for(void **state)
{
	char script[64];
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(fcntl(fds[0], F_SETFD, 0), 0);
	/* Until the test closes its end. */
	snprintf(script, sizeof(script), "cat <&%d & exit 0", fds[0]);
	expect_ended(script);
	close(fds[0]);
	close(fds[1]);
}

static void no_descriptor_is_left(void **state)
{
	static const char *const missing[] = { "no-such-program", NULL };
	size_t before = descriptor_count();

	for (int i = 0; i < 3; i++) {
		assert_int_equal(child_run("/bin", missing, CHILD_TIMEOUT_MS,
					   NULL, NULL, NULL),
				 -ENOENT);
		assert_int_equal(run_shell("exit 1", NULL, NULL, NULL),
				 -ECHILD);
		assert_int_equal(run_shell("true", NULL, NULL, NULL), 0);
	}
	assert_int_equal(descriptor_count(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(output_comes_whole),
		cmocka_unit_test(nothing_is_there_to_read),
		cmocka_unit_test(failures_say_which_and_how),
		cmocka_unit_test(what_never_ends_is_ended),
		cmocka_unit_test(what_hangs_is_ended),
		cmocka_unit_test(what_it_leaves_behind_is_not_waited_for),
		cmocka_unit_test(no_descriptor_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
