/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void fail_check(void)
{
	memory_check(-ENOMEM);
}

static void fail_have(void)
{
	char *volatile none = NULL;

	memory_have(none);
}

static void fail_array(void)
{
	volatile size_t large = SIZE_MAX / 2;

	free(memory_array(large, 4));
}

static void fail_resize(void)
{
	volatile size_t large = SIZE_MAX / 2;

	free(memory_resize(NULL, large, 4));
}

/* Run it in a child: how the child ended, and what it printed. */
static int ends(void (*run)(void), char *text, size_t capacity)
{
	int ends[2], status;
	ssize_t size;

	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		dup2(ends[1], STDERR_FILENO);
		run();
		_exit(0);
	}
	close(ends[1]);
	size_t at = 0;
	while ((size = read(ends[0], text + at, capacity - 1 - at)) > 0)
		at += (size_t)size;
	text[at] = '\0';
	close(ends[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void want_of_memory_ends_the_process(void **state)
{
	static void (*const runs[])(void) = { fail_check, fail_have, fail_array,
					      fail_resize };
	char text[256], expected[128];

	snprintf(expected, sizeof(expected), "%s: out of memory\n",
		 program_invocation_short_name);
	for (size_t i = 0; i < sizeof(runs) / sizeof(runs[0]); i++) {
		assert_int_equal(ends(runs[i], text, sizeof(text)), 1);
		assert_string_equal(text, expected);
	}
}

static void memory_is_there(void **state)
{
	_auto_(freep) char *zeroes = memory_alloc(3);
	_auto_(freep) char *none = memory_alloc(0);
	_auto_(freep) char *copy = memory_copy("abc", 4);
	_auto_(freep) char *text = memory_text("abc");
	_auto_(freep) char *number = memory_format("%d-%s", 7, "x");
	_auto_(freep) int *items = memory_array(2, sizeof(*items));

	assert_memory_equal(zeroes, "\0\0", 3);
	assert_non_null(none);
	assert_string_equal(copy, "abc");
	assert_string_equal(text, "abc");
	assert_string_equal(number, "7-x");
	items[1] = 4;
	items = memory_resize(items, 3, sizeof(*items));
	assert_int_equal(items[0], 0);
	assert_int_equal(items[1], 4);
}

static void results_pass_but_for_memory(void **state)
{
	assert_int_equal(memory_check(0), 0);
	assert_int_equal(memory_check(7), 7);
	assert_int_equal(memory_check(-EINVAL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(want_of_memory_ends_the_process),
		cmocka_unit_test(memory_is_there),
		cmocka_unit_test(results_pass_but_for_memory),
	};

	return cmocka_run_group_tests_name("base_memory", tests, NULL, NULL);
}
