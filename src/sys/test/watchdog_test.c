/* SPDX-License-Identifier: BSD-3-Clause */
/* A test that hangs, as another process, with its time already over. */
#include "sys/test/watchdog.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "sys/fd.h"

/* What the process says that comes to this; it has to abort. */
static void hang(const char *lines, char *said, size_t size)
{
	int ends[2], status;
	ssize_t count;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		watchdog_start(lines);
		raise(SIGALRM);
		_exit(0);
	}
	assert_true(pid > 0);
	close(ends[1]);
	count = fd_read(ends[0], said, size - 1);
	assert_true(count > 0);
	said[count] = 0;
	close(ends[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void test_that_hangs_ends_with_its_log(void **state)
{
	char said[128];

	hang("warning: too late\n", said, sizeof(said));
	assert_non_null(strstr(said, "hangs; its log:\nwarning: too late\n"));
}

static void test_without_a_log_ends_too(void **state)
{
	char said[128];

	hang(NULL, said, sizeof(said));
	assert_string_equal(said, "the test hangs\n");
}

static void test_that_has_ended_is_left_alone(void **state)
{
	watchdog_start(NULL);
	assert_in_range(alarm(WATCHDOG_S), 1, WATCHDOG_S);
	watchdog_stop();
	assert_int_equal(alarm(0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_that_hangs_ends_with_its_log),
		cmocka_unit_test(test_without_a_log_ends_too),
		cmocka_unit_test(test_that_has_ended_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
