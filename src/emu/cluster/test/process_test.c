/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cluster/process.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char log_path[64];

static int make_log(void **state)
{
	snprintf(log_path, sizeof(log_path), "/tmp/fl-process-XXXXXX");
	close(mkstemp(log_path));
	return 0;
}

static int remove_log(void **state)
{
	return unlink(log_path);
}

static struct process_spec shell(const char *const argv[])
{
	return (struct process_spec){ .argv = argv,
				      .log_path = log_path,
				      .tells_ready = true,
				      .timeout_ms = 20000 };
}

static void start_waits_until_it_is_ready(void **state)
{
	const char *const argv[] = { "/bin/sh", "-c",
				     "echo serving; echo >&3; exec sleep 1000",
				     NULL };
	struct process_spec spec = shell(argv);
	struct fairlead_error error;
	struct cluster_process process;

	assert_int_equal(process_start(&spec, &process, &error), 0);
	assert_true(process_is_alive(&process));
	assert_int_equal(process_stop(&process, 20000), 0);
	assert_int_equal(process.pid, 0);
}

static void start_says_the_last_line_of_one_that_failed(void **state)
{
	const char *const argv[] = { "/bin/sh", "-c",
				     "echo first; echo the reason; exit 1",
				     NULL };
	struct process_spec spec = shell(argv);
	struct fairlead_error error;
	struct cluster_process process = { .pid = 7 };

	assert_int_equal(process_start(&spec, &process, &error), -ECHILD);
	assert_non_null(strstr(error.text, "the reason"));
	assert_null(strstr(error.text, "first"));
	assert_int_equal(process.pid, 7);
}

static void start_says_that_a_program_is_not_there(void **state)
{
	const char *const argv[] = { "/nowhere/program", NULL };
	struct process_spec spec = shell(argv);
	struct fairlead_error error;
	struct cluster_process process;

	assert_int_equal(process_start(&spec, &process, &error), -ECHILD);
	assert_non_null(strstr(error.text, "No such file"));
}

static void stop_kills_what_does_not_listen(void **state)
{
	const char *const argv[] = {
		"/bin/sh", "-c",
		"trap '' TERM; echo >&3; while :; do read x </dev/zero; done",
		NULL
	};
	struct process_spec spec = shell(argv);
	struct fairlead_error error;
	struct cluster_process process;

	assert_int_equal(process_start(&spec, &process, &error), 0);
	assert_int_equal(process_stop(&process, 1), 0);
	assert_false(process_is_alive(&process));
}

static void an_id_with_another_start_is_another_process(void **state)
{
	struct cluster_process self;

	assert_int_equal(process_of(getpid(), &self), 0);
	assert_true(process_is_alive(&self));
	self.start++;
	assert_false(process_is_alive(&self));
	assert_int_equal(process_stop(&self, 0), 0); /* and we still live */
}

static void a_dead_child_is_not_alive(void **state)
{
	pid_t pid = fork();
	struct cluster_process process;
	siginfo_t info;

	if (pid == 0)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	assert_int_equal(process_of(pid, &process), -ESRCH);
	waitpid(pid, NULL, 0);
	assert_int_equal(process_of(pid, &process), -ESRCH);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return NULL;
}

static void a_process_whose_first_thread_has_ended_is_alive(void **state)
{
	struct cluster_process process;
	pid_t pid = fork();
	char path[64], text[16] = "";
	pthread_t thread;

	if (pid == 0) {
		if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0)
			_exit(1);
		pthread_exit(NULL);
	}
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	while (strcmp(text, "Z") != 0) {
		FILE *file = fopen(path, "re");

		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*d (%*[^)]) %15s", text), 1);
		fclose(file);
	}
	assert_int_equal(process_of(pid, &process), 0);
	assert_int_equal(process_stop(&process, 0), 0);
	assert_int_equal(process_of(pid, &process), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(start_waits_until_it_is_ready),
		cmocka_unit_test(start_says_the_last_line_of_one_that_failed),
		cmocka_unit_test(start_says_that_a_program_is_not_there),
		cmocka_unit_test(stop_kills_what_does_not_listen),
		cmocka_unit_test(an_id_with_another_start_is_another_process),
		cmocka_unit_test(a_dead_child_is_not_alive),
		cmocka_unit_test(
			a_process_whose_first_thread_has_ended_is_alive),
	};

	return cmocka_run_group_tests(tests, make_log, remove_log);
}
