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

static size_t sum(const struct descriptor_shares *shares)
{
	return shares->clients + shares->links + shares->accepted;
}

static void shares_leave_what_is_the_roles_own(void **state)
{
	for (size_t count = DESCRIPTORS_OWN + 8; count < 2048; count++) {
		struct descriptor_shares shares = descriptors_share(count);

		assert_true(sum(&shares) + DESCRIPTORS_OWN <= count);
		assert_true(shares.clients >= 2 && shares.links >= 2 &&
			    shares.accepted >= 2);
	}
}

static void shares_have_a_maximum_each(void **state)
{
	struct descriptor_shares shares = descriptors_share(SIZE_MAX);

	assert_int_equal(shares.clients, DESCRIPTORS_CLIENTS);
	assert_int_equal(shares.links, DESCRIPTORS_LINKS);
	assert_int_equal(shares.accepted, DESCRIPTORS_ACCEPTED);
}

static void shares_of_nothing_are_no_less_than_two(void **state)
{
	struct descriptor_shares shares = descriptors_share(0);

	assert_int_equal(sum(&shares), 6);
}

static void what_links_need_is_what_shares_them(void **state)
{
	for (size_t links = 2; links < 4096; links++) {
		size_t need = descriptors_need(links);

		assert_int_equal(descriptors_share(need).links, links);
		assert_true(links == 2 ||
			    descriptors_share(need - 1).links < links);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_limit_is_raised_to_what_is_wanted),
		cmocka_unit_test(the_limit_is_raised_as_far_as_it_can_be),
		cmocka_unit_test(a_limit_that_is_high_enough_stays),
		cmocka_unit_test(shares_leave_what_is_the_roles_own),
		cmocka_unit_test(shares_have_a_maximum_each),
		cmocka_unit_test(shares_of_nothing_are_no_less_than_two),
		cmocka_unit_test(what_links_need_is_what_shares_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
