/* SPDX-License-Identifier: BSD-3-Clause */
/* The privileged half answers whatever it is asked, and goes on. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "launcher.h"
#include "sys/log.h"

static int fd;

static int setup(void **state)
{
	static struct exec_config_node nodes[1] = { { .name = "n1" } };
	static struct exec_config config = { .munge_socket = "/nonexistent",
					     .commands_max = 4,
					     .nodes = nodes,
					     .node_count = 1 };
	static struct log log;
	struct fairlead_error error;

	sys_log_init(&log, "test", LOG_LEVEL_ERROR);
	return launcher_start(&config, &log, &fd, &error);
}

/* Its end is ours: it is 0 when it was alive until then. */
static int teardown(void **state)
{
	int status;

	close(fd);
	wait(&status);
	return !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

/* The next answer's result, and its tag; fails the test when it is gone. */
static int result_of(uint64_t tag)
{
	struct pollfd readable = { .fd = fd, .events = POLLIN };
	struct launcher_answer answer;

	assert_int_equal(poll(&readable, 1, -1), 1);
	assert_int_equal(launcher_receive(fd, &answer), 0);
	assert_int_equal(answer.tag, tag);
	assert_true(answer.text[0] != '\0');
	free(answer.nodes);
	return answer.result;
}

static void ask(uint64_t tag, const char *credential, size_t size)
{
	assert_int_equal(
		launcher_ask(fd, LAUNCHER_START, tag, 0, credential, size), 0);
}

static void question_that_it_cannot_read_is_answered(void **state)
{
	ask(7, "MU\0GE:xx", 8);
	assert_int_equal(result_of(7), -EBADMSG);
	/* No operation, and nothing behind it. */
	assert_int_equal(send(fd, "\x09\x08\0\0\0\0\0\0\0", 9, 0), 9);
	assert_int_equal(result_of(8), -EBADMSG);
	assert_int_equal(send(fd, "\x01", 1, 0), 1);
	assert_int_equal(result_of(0), -EBADMSG);
	/* It is there for the next one: munged is not. */
	ask(9, "MUNGE:xx", 8);
	assert_int_equal(result_of(9), -EHOSTDOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			question_that_it_cannot_read_is_answered, setup,
			teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
