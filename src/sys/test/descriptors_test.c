/* SPDX-License-Identifier: BSD-3-Clause */
/* Each test has a process of its own, since limits are not given back. */
#include "sys/descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process gets that has these limits, and whether it is true. */
static int got(rlim_t soft, rlim_t hard, size_t wanted)
{
	const struct rlimit limit = { .rlim_cur = soft, .rlim_max = hard };
	struct rlimit now;
	size_t count;
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
			_exit(254);
		count = descriptors_want(wanted);
		if (getrlimit(RLIMIT_NOFILE, &now) < 0 || now.rlim_cur != count)
			_exit(255);
		_exit((int)count);
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void the_limit_is_raised_to_what_is_wanted(void **state)
{
	assert_int_equal(got(32, 128, 64), 64);
}

static void the_limit_is_raised_as_far_as_it_can_be(void **state)
{
	assert_int_equal(got(32, 128, 100000), 128);
}

static void a_limit_that_is_high_enough_stays(void **state)
{
	assert_int_equal(got(100, 128, 64), 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_is_raised_to_what_is_wanted),
		cmocka_unit_test(the_limit_is_raised_as_far_as_it_can_be),
		cmocka_unit_test(a_limit_that_is_high_enough_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
