/* SPDX-License-Identifier: BSD-3-Clause */
/* The directory of a small daemon: its path, its owner, its lock. */
#include "sys/rundir.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int opened(const char *path)
{
	struct rundir rundir;
	struct fairlead_error error;
	int result = rundir_open(&rundir, "daemon", path, &error);

	rundir_close(&rundir);
	return result;
}

static void an_empty_path_is_refused(void **state)
{
	assert_int_equal(opened(""), -ENOENT);
}

static void a_path_has_room_for_the_socket(void **state)
{
	char path[128];

	memset(path, 'x', sizeof(path));
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(opened(path), -ENAMETOOLONG);
}

static void parents_are_made_and_one_daemon_is_in(void **state)
{
	char top[] = "/tmp/rundir-XXXXXX";
	char middle[64], path[80], pid[96];
	struct rundir rundir;
	struct fairlead_error error;

	assert_non_null(mkdtemp(top));
	snprintf(middle, sizeof(middle), "%s/a", top);
	snprintf(path, sizeof(path), "%s/b/", middle);
	snprintf(pid, sizeof(pid), "%spid", path);
	assert_int_equal(rundir_open(&rundir, "daemon", path, &error), 0);
	assert_int_equal(opened(path), -EBUSY);
	rundir_close(&rundir);
	assert_int_equal(opened(path), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(opened(path), -EPERM);
	assert_int_equal(unlink(pid), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(middle), 0);
	assert_int_equal(rmdir(top), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_path_is_refused),
		cmocka_unit_test(a_path_has_room_for_the_socket),
		cmocka_unit_test(parents_are_made_and_one_daemon_is_in),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
