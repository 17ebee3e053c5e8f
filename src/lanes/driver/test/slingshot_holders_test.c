/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/driver/slingshot/holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILDREN_MAX 12

struct world {
	char dir[64];
	char device[80];
	char other[80];
	pid_t children[CHILDREN_MAX];
	size_t child_count;
};

static int setup(void **state)
{
	struct world *world = calloc(1, sizeof(*world));

	assert_non_null(world);
	strcpy(world->dir, "/tmp/fairlead-holders-XXXXXX");
	assert_non_null(mkdtemp(world->dir));
	snprintf(world->device, sizeof(world->device), "%s/cxi0", world->dir);
	snprintf(world->other, sizeof(world->other), "%s/cxi1", world->dir);
	close(open(world->device, O_CREAT | O_RDWR | O_CLOEXEC, 0666));
	close(open(world->other, O_CREAT | O_RDWR | O_CLOEXEC, 0666));
	*state = world;
	return 0;
}

static int teardown(void **state)
{
	struct world *world = *state;

	for (size_t i = 0; i < world->child_count; i++) {
		kill(world->children[i], SIGKILL);
		waitpid(world->children[i], NULL, 0);
	}
	unlink(world->device);
	unlink(world->other);
	rmdir(world->dir);
	free(world);
	return 0;
}

/* A process that has the file open; it is so when this returns. */
static pid_t spawn(struct world *world, const char *path, const char *name)
{
	int ready[2];
	pid_t pid;
	char byte;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, name);
		if (open(path, O_RDWR) < 0 || write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	assert_true(world->child_count < CHILDREN_MAX);
	world->children[world->child_count++] = pid;
	return pid;
}

static void a_process_is_named(void **state)
{
	struct world *world = *state;
	char expected[64];
	char text[256];
	pid_t pid = spawn(world, world->device, "mpi-hello");

	spawn(world, world->other, "elsewhere");
	assert_int_equal(holders_format(world->device, geteuid(), text,
					sizeof(text)),
			 1);
	snprintf(expected, sizeof(expected), "pid %d (mpi-hello)", pid);
	assert_string_equal(text, expected);
	assert_int_equal(holders_format(world->device, HOLDERS_ANY_UID, text,
					sizeof(text)),
			 1);
	assert_string_equal(text, expected);
}

static void names_are_made_fit_for_a_terminal(void **state)
{
	struct world *world = *state;
	char text[256];

	spawn(world, world->device, "a\x1b[1m");
	assert_int_equal(holders_format(world->device, geteuid(), text,
					sizeof(text)),
			 1);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "(a?[1m)"));
}

static void other_users_and_this_process_are_not_holders(void **state)
{
	struct world *world = *state;
	char text[256];
	int own = open(world->device, O_RDWR | O_CLOEXEC);

	spawn(world, world->device, "child");
	assert_int_equal(holders_format(world->device, geteuid() + 1, text,
					sizeof(text)),
			 0);
	assert_string_equal(text, "");
	assert_int_equal(holders_format(world->device, geteuid(), text,
					sizeof(text)),
			 1);
	close(own);
}

static void many_are_counted(void **state)
{
	struct world *world = *state;
	char text[96];

	for (int i = 0; i < 5; i++)
		spawn(world, world->device, "abcdefghijklmno");
	assert_int_equal(holders_format(world->device, geteuid(), text,
					sizeof(text)),
			 5);
	assert_int_equal(strncmp(text, "pid ", 4), 0);
	assert_non_null(strstr(text, " and "));
	assert_int_equal(strcmp(text + strlen(text) - 5, " more"), 0);
	assert_int_equal(holders_format(world->device, geteuid(), text, 33), 5);
	assert_string_equal(text, "5 more");
}

static void a_device_that_is_gone_has_no_holders(void **state)
{
	struct world *world = *state;
	char text[256];

	spawn(world, world->device, "child");
	assert_int_equal(unlink(world->device), 0);
	assert_int_equal(holders_format(world->device, geteuid(), text,
					sizeof(text)),
			 0);
	/* Another file with the name is another device. */
	close(open(world->device, O_CREAT | O_RDWR | O_CLOEXEC, 0666));
	assert_int_equal(holders_format(world->device, geteuid(), text,
					sizeof(text)),
			 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_process_is_named),
		CASE(names_are_made_fit_for_a_terminal),
		CASE(other_users_and_this_process_are_not_holders),
		CASE(many_are_counted),
		CASE(a_device_that_is_gone_has_no_holders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
