/* SPDX-License-Identifier: BSD-3-Clause */
/* A child of the test, and what it does to the world, call by call. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#include "lanes/driver/test/crash_world.h"

#define POINTS_MAX 1000 /* far more than anything has */

static bool is_effect(const struct ptrace_syscall_info *info)
{
	switch (info->entry.nr) {
	case SYS_openat:
		return (info->entry.args[2] & O_CREAT) != 0;
	case SYS_clone: /* the thread that enters a namespace */
	case SYS_clone3:
	case SYS_sendto: /* netlink */
	case SYS_sendmsg:
	case SYS_bpf:
	case SYS_mount:
	case SYS_umount2:
	case SYS_unshare:
	case SYS_unlink:
	case SYS_mkdir:
	case SYS_ioctl:
		return true;
	default:
		return false;
	}
}

static void live(int (*act)(void *state))
{
	struct fairlead_error error = { 0 };
	void *state = NULL;

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		_exit(1);
	if (act && crash_try_open(&state, &error) < 0)
		_exit(2);
	raise(SIGSTOP);
	if (act ? act(state) < 0 : crash_try_open(&state, &error) < 0)
		_exit(3);
	_exit(0);
}

/* The next stop of any of its threads; false: the process has ended. */
static bool next_stop(pid_t child, pid_t *ret_task, int *ret_status)
{
	do {
		*ret_task = waitpid(-1, ret_status, __WALL);
		assert_int_not_equal(*ret_task, -1);
		if (*ret_task == child && !WIFSTOPPED(*ret_status))
			return false;
	} while (!WIFSTOPPED(*ret_status));
	return true;
}

static bool is_at_effect(pid_t task, int status)
{
	struct ptrace_syscall_info info;

	return WSTOPSIG(status) == (SIGTRAP | 0x80) &&
	       ptrace(PTRACE_GET_SYSCALL_INFO, task, (void *)sizeof(info),
		      &info) > 0 &&
	       info.op == PTRACE_SYSCALL_INFO_ENTRY && is_effect(&info);
}

/* All of its children have ended, and what these have left. */
static void crash_await_orphans(void)
{
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	assert_int_equal(errno, ECHILD);
}

bool crash_kill_at(int (*act)(void *state), unsigned int nth)
{
	pid_t child = fork(), task;
	unsigned int count = 0;
	int status;

	assert_int_not_equal(child, -1);
	if (child == 0)
		live(act);
	assert_true(next_stop(child, &task, &status));
	assert_int_equal(
		ptrace(PTRACE_SETOPTIONS, child, NULL,
		       (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE |
				PTRACE_O_EXITKILL)),
		0);
	do {
		ptrace(PTRACE_SYSCALL, task, NULL, NULL);
		if (!next_stop(child, &task, &status)) {
			assert_int_equal(status, 0);
			crash_await_orphans();
			return false;
		}
		count += is_at_effect(task, status);
		assert_true(count < POINTS_MAX);
	} while (count < nth);
	assert_int_equal(kill(child, SIGKILL), 0);
	crash_await_orphans();
	return true;
}
