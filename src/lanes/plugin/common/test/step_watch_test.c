/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lanes/plugin/common/step_watch.h"

/* A program that tells by a FIFO when it begins, and what it has at the end. */
struct bed {
	char folder[32], program[64], fifo[64];
};

static int bed_make(void **state)
{
	struct bed *bed = calloc(1, sizeof(*bed));
	FILE *file;

	assert_non_null(bed);
	strcpy(bed->folder, "/tmp/fairlead-watch-XXXXXX");
	assert_non_null(mkdtemp(bed->folder));
	snprintf(bed->program, sizeof(bed->program), "%s/clean", bed->folder);
	snprintf(bed->fifo, sizeof(bed->fifo), "%s/fifo", bed->folder);
	assert_int_equal(mkfifo(bed->fifo, 0600), 0);
	file = fopen(bed->program, "w");
	assert_non_null(file);
	fprintf(file,
		"#!/bin/sh\nexec >%s\necho begin\nread -r _\n[ -e "
		"/proc/$$/fd/9 ] && TOKEN=leak\n"
		"echo \"[$*]\" $TOKEN ${OTHER-unset} ${ABSENT-unset}\n",
		bed->fifo);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(bed->program, 0700), 0);
	assert_int_equal(setenv(STEP_WATCH_PROGRAM, bed->program, 1), 0);
	assert_int_equal(setenv("OTHER", "1", 1), 0);
	*state = bed;
	return 0;
}

static int bed_destroy(void **state)
{
	struct bed *bed = *state;

	unlink(bed->program);
	unlink(bed->fifo);
	assert_int_equal(rmdir(bed->folder), 0);
	free(bed);
	return 0;
}

static const char *const names[] = { "TOKEN", "ABSENT", NULL };
static const struct fairlead_driver driver = { .variables = names };

static const char *get(void *arg, const char *name)
{
	return strcmp(name, "TOKEN") == 0 ? "secret" : NULL;
}

static pid_t launcher_start(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* As of slurmstepd: what its children must not have. */
		sigset_t all;

		dup2(STDIN_FILENO, 9);
		sigfillset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		if (step_watch(&driver, get, NULL) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	return pid;
}

static void expect_line(FILE *fifo, const char *wanted)
{
	char line[200];

	assert_non_null(fgets(line, sizeof(line), fifo));
	assert_string_equal(line, wanted);
}

static void HC01_a_step_is_cleaned_up_after_when_its_launcher_is_killed(
	void **state)
{
	struct bed *bed = *state;
	pid_t pid = launcher_start();
	FILE *fifo = fopen(bed->fifo, "r");

	assert_non_null(fifo);
	expect_line(fifo, "begin\n");
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	expect_line(fifo, "[--wait] secret unset unset\n");
	fclose(fifo);
}

static void HC02_a_launcher_learns_that_the_program_is_missing(void **state)
{
	struct bed *bed = *state;

	assert_int_equal(unlink(bed->program), 0);
	assert_int_equal(step_watch(&driver, get, NULL), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, bed_make, bed_destroy)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(HC01_a_step_is_cleaned_up_after_when_its_launcher_is_killed),
		TEST(HC02_a_launcher_learns_that_the_program_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
