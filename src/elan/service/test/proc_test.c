/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts of /proc, some of which users have a hand in. */
#include "elan/service/proc.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIELDS                                                             \
	" S 10 42 43 0 -1 4194560 100 200 3 4 50 60 70 80 20 0 1 0 12345 " \
	"1000000 250 18446744073709551615 1 1\n"

static void stat_has_its_fields(void **state)
{
	struct proc_stat stat;

	assert_int_equal(proc_stat_parse("42 (sleep)" FIELDS, &stat), 0);
	assert_int_equal(stat.pid, 42);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 10);
	assert_int_equal(stat.session, 43);
	assert_int_equal(stat.faults, 103);
	assert_int_equal(stat.waited_faults, 204);
	assert_int_equal(stat.user, 50);
	assert_int_equal(stat.system, 60);
	assert_int_equal(stat.waited_user, 70);
	assert_int_equal(stat.waited_system, 80);
	assert_int_equal(stat.threads, 1);
	assert_int_equal(stat.start, 12345);
	assert_int_equal(stat.pages, 250);
}

static void a_name_cannot_pretend_to_be_fields(void **state)
{
	struct proc_stat stat;

	assert_int_equal(proc_stat_parse("42 (x) R 1 1 1 (y)" FIELDS, &stat),
			 0);
	assert_int_equal(stat.state, 'S');
	assert_int_equal(stat.parent, 10);
}

static void what_is_no_stat_is_refused(void **state)
{
	static const char words[] = "42 (x) S a b c d e f g h i j k l m n o "
				    "p q r s t u v w";
	static const char no_pid[] = "x" FIELDS;
	static const char below_zero[] = "-1 (x)" FIELDS;
	const char *const texts[] = {
		"",        "42",       "42 (x)",
		"42 (x) ", "42 (x) S", "42 (x) S 1 2",
		words,     no_pid,     below_zero,
	};
	struct proc_stat stat;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(proc_stat_parse(texts[i], &stat), -EPROTO);
}

static void cgroup_is_the_path_of_version_2(void **state)
{
	char path[16];

	assert_int_equal(proc_cgroup_parse("4:memory:/x\n0::/a/b\n", path,
					   sizeof(path)),
			 0);
	assert_string_equal(path, "/a/b");
	assert_int_equal(proc_cgroup_parse("0::/\n", path, sizeof(path)), 0);
	assert_string_equal(path, "/");
	assert_int_equal(proc_cgroup_parse("4:memory:/x\n", path, sizeof(path)),
			 -ENOENT);
	assert_int_equal(proc_cgroup_parse("", path, sizeof(path)), -ENOENT);
	assert_int_equal(proc_cgroup_parse("0::/../x\n", path, sizeof(path)),
			 -EPROTO);
	assert_int_equal(proc_cgroup_parse("0::x\n", path, sizeof(path)),
			 -EPROTO);
	assert_int_equal(proc_cgroup_parse("0::/0123456789abcdef\n", path,
					   sizeof(path)),
			 -EPROTO);
}

static void mount_is_a_whole_hierarchy_of_version_2(void **state)
{
	static const char part[] =
		"30 1 0:2 /part /p rw - cgroup2 cgroup2 rw\n";
	static const char text[] =
		"25 1 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
		"30 1 0:2 /part /p rw - cgroup2 cgroup2 rw\n"
		"31 1 0:2 / /sys/fs/cgroup/unified rw,relatime shared:9 - "
		"cgroup2 cgroup2 rw\n";
	char path[32];

	assert_int_equal(proc_mount_parse(text, path, sizeof(path)), 0);
	assert_string_equal(path, "/sys/fs/cgroup/unified");
	assert_int_equal(proc_mount_parse(part, path, sizeof(path)), -ENOENT);
	assert_int_equal(proc_mount_parse(text, path, 8), -ENOENT);
	assert_int_equal(proc_mount_parse("x - cgroup2 \n", path, 8), -ENOENT);
}

static void a_process_is_the_users_with_all_its_ids(void **state)
{
	assert_true(proc_is_users("Name:\tx\nUid:\t7\t7\t7\t7\n", 7));
	assert_false(proc_is_users("Name:\tx\nUid:\t7\t0\t7\t7\n", 7));
	assert_false(proc_is_users("Name:\tx\nUid:\t7\t7\t0\t0\n", 7));
	assert_false(proc_is_users("Name:\tx\nUid:\t7\t7\t7\n", 7));
	assert_false(proc_is_users("Uid:\t7\t7\t7\t7\n", 7));
	assert_false(proc_is_users("", 7));
}

static void a_descriptor_is_of_this_process_only(void **state)
{
	struct rms_process process = { .pid = getpid() };
	struct proc_stat stat;
	int pidfd;

	assert_int_equal(proc_stat(getpid(), &stat), 0);
	process.start = stat.start;
	pidfd = proc_open(&process);
	assert_true(pidfd >= 0);
	assert_false(proc_has_ended(pidfd));
	close(pidfd);
	/* Another one that has the same pid now. */
	process.start--;
	assert_int_equal(proc_open(&process), -ESRCH);
}

static void an_ended_process_is_none(void **state)
{
	struct rms_process process;
	struct proc_stat stat;
	pid_t pid = fork();
	siginfo_t info;
	int pidfd;

	assert_true(pid >= 0);
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(proc_stat(pid, &stat), 0);
	process = (struct rms_process){ .pid = pid, .start = stat.start };
	pidfd = proc_open(&process);
	assert_true(pidfd >= 0);
	assert_int_equal(proc_signal(pidfd, SIGKILL), 0);
	/* It has ended, and nobody has waited for it. */
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_true(proc_has_ended(pidfd));
	assert_int_equal(proc_open(&process), -ESRCH);
	assert_int_equal(proc_stat(pid, &stat), 0);
	assert_true(proc_stat_is_dead(&stat));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(proc_stat(pid, &stat), -ESRCH);
	assert_int_equal(proc_signal(pidfd, 0), -ESRCH);
	close(pidfd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stat_has_its_fields),
		cmocka_unit_test(a_name_cannot_pretend_to_be_fields),
		cmocka_unit_test(what_is_no_stat_is_refused),
		cmocka_unit_test(cgroup_is_the_path_of_version_2),
		cmocka_unit_test(mount_is_a_whole_hierarchy_of_version_2),
		cmocka_unit_test(a_process_is_the_users_with_all_its_ids),
		cmocka_unit_test(a_descriptor_is_of_this_process_only),
		cmocka_unit_test(an_ended_process_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
