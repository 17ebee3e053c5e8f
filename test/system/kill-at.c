/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * kill-at: end a process with SIGKILL before the N-th of its system calls that
 * somebody else could notice, whichever of its threads makes it. What a process
 * does between two such calls is lost with it in any case, so that counting N
 * up visits every point at which a crash makes a difference.
 *
 * Says "attached" when the process is being watched, and then "killed at NAME";
 * "gone" when the process ended by itself. Ended by a signal it lets the
 * process go on.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"

#define EXIT_FAILED 1
#define EXIT_USAGE  2
#define EXIT_GONE   3

struct call {
	long number;
	const char *name;
};

/*
 * Files, sockets, processes, mounts, maps of BPF: what lasts, or what another
 * process sees.
 */
static const struct call effects[] = {
	{ SYS_write, "write" },
	{ SYS_writev, "writev" },
	{ SYS_pwrite64, "pwrite64" },
	{ SYS_pwritev, "pwritev" },
	{ SYS_sendto, "sendto" },
	{ SYS_sendmsg, "sendmsg" },
	{ SYS_sendmmsg, "sendmmsg" },
	{ SYS_fsync, "fsync" },
	{ SYS_fdatasync, "fdatasync" },
	{ SYS_ftruncate, "ftruncate" },
	{ SYS_fallocate, "fallocate" },
	{ SYS_openat, "openat" }, /* that makes files */
	{ SYS_mkdirat, "mkdirat" },
	{ SYS_linkat, "linkat" },
	{ SYS_unlinkat, "unlinkat" },
	{ SYS_renameat2, "renameat2" },
	{ SYS_fchown, "fchown" },
	{ SYS_fchownat, "fchownat" },
	{ SYS_fchmod, "fchmod" },
	{ SYS_fchmodat, "fchmodat" },
	{ SYS_kill, "kill" },
	{ SYS_clone, "clone" }, /* of a program; threads are made by clone3 */
	{ SYS_bpf, "bpf" },
	{ SYS_mount, "mount" },
	{ SYS_umount2, "umount2" },
#ifdef SYS_renameat
	{ SYS_renameat, "renameat" },
#endif
#ifdef SYS_rename /* architectures of before 2012 have these */
	{ SYS_mkdir, "mkdir" },
	{ SYS_rmdir, "rmdir" },
	{ SYS_link, "link" },
	{ SYS_unlink, "unlink" },
	{ SYS_rename, "rename" },
	{ SYS_chown, "chown" },
	{ SYS_chmod, "chmod" },
#endif
};

static const char *effect_name(const struct __ptrace_syscall_info *info)
{
	long number = (long)info->entry.nr;

	if (number == SYS_openat && (info->entry.args[2] & O_CREAT) == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(effects) / sizeof(effects[0]); i++)
		if (effects[i].number == number)
			return effects[i].name;
	return NULL;
}

static int attach(pid_t pid)
{
	char path[64];
	_auto_(closedirp) DIR *tasks = NULL;
	struct dirent *entry;
	size_t count = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (tasks == NULL)
		return -errno;
	while ((entry = readdir(tasks)) != NULL) {
		pid_t task = atoi(entry->d_name);

		if (task == 0)
			continue;
		if (ptrace(PTRACE_SEIZE, task, NULL,
			   PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE) < 0 ||
		    ptrace(PTRACE_INTERRUPT, task, NULL, NULL) < 0)
			return -errno;
		count++;
	}
	return count > 0 ? 0 : -ESRCH;
}

/* The name of the effect that a task is about to have, or NULL. */
static const char *next_effect(pid_t task)
{
	struct __ptrace_syscall_info info;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, task, sizeof(info), &info) <= 0 ||
	    info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return NULL;
	return effect_name(&info);
}

static bool is_syscall_stop(int status)
{
	return WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80);
}

/* A signal that is on its way to the task, not one of ptrace's own stops. */
static long signal_of(int status)
{
	if (is_syscall_stop(status) || status >> 16 != 0)
		return 0;
	return WSTOPSIG(status);
}

static int watch(pid_t pid, uint64_t nth)
{
	int status;
	pid_t task;

	while ((task = waitpid(-1, &status, __WALL)) > 0) {
		const char *name =
			is_syscall_stop(status) ? next_effect(task) : NULL;

		if (!WIFSTOPPED(status)) {
			if (task == pid)
				break;
			continue;
		}
		if (name != NULL && --nth == 0) {
			/* Who waits for what dies of it must not end us here. */
			signal(SIGTERM, SIG_IGN);
			kill(pid, SIGKILL);
			printf("killed at %s\n", name);
			return 0;
		}
		ptrace(PTRACE_SYSCALL, task, NULL, signal_of(status));
	}
	printf("gone\n");
	return EXIT_GONE;
}

int main(int argc, char **argv)
{
	uint64_t nth;
	pid_t pid;
	int result;

	if (argc != 3) {
		fputs("usage: kill-at PID N\n", stderr);
		return EXIT_USAGE;
	}
	pid = atoi(argv[1]);
	nth = strtoull(argv[2], NULL, 10);
	if (pid <= 0 || nth == 0) {
		fputs("kill-at: PID and N count from 1\n", stderr);
		return EXIT_USAGE;
	}
	setvbuf(stdout, NULL, _IONBF, 0);
	result = attach(pid);
	if (result < 0) {
		fprintf(stderr, "kill-at: cannot watch process %d: %s\n",
			(int)pid, strerror(-result));
		return EXIT_FAILED;
	}
	puts("attached");
	return watch(pid, nth);
}
