/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The launcher starts the watcher with the step, since a launcher that is killed
 * cannot start anything. The watcher reads from a pipe; only the launcher has
 * the other end, which tasks close by their exec. End of file is the end of the
 * launcher, and so of the step: Slurm's slurmstepd of the first node waits for
 * the other nodes, and Flux's first shell for the output of all.
 *
 * The watcher has its own session, since the step's processes may be killed as a
 * group. The job's token reaches it as a variable, not as an argument.
 */
#include "lanes/plugin/common/step_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLES_MAX 32 /* of a driver */

struct step_watch {
	const char *program;
	char *variables[VARIABLES_MAX + 1]; /* ended by NULL */
	int end;                            /* of the pipe */
};

static int variables_copy(struct step_watch *watch,
			  const struct fairlead_driver *driver,
			  const char *(*get)(void *arg, const char *name),
			  void *arg)
{
	size_t count = 0;

	for (const char *const *name = driver->variables; *name; name++) {
		const char *value = get(arg, *name);

		if (!value)
			continue;
		if (count == VARIABLES_MAX)
			return -E2BIG;
		if (asprintf(&watch->variables[count], "%s=%s", *name, value) <
		    0) {
			watch->variables[count] = NULL;
			return -ENOMEM;
		}
		count++;
	}
	return 0;
}

/*
 * In a child of the launcher, which may be root with the effective user of a job
 * and may have threads, so nothing is allocated. It forks again, so that init
 * and not the launcher waits for the watcher.
 */
static _Noreturn void become_watcher(const struct step_watch *watch)
{
	char *arguments[] = { (char *)"fairlead-step-clean", (char *)"--wait",
			      NULL };
	sigset_t none;
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	gid_t gid = getegid();
	uid_t uid = geteuid();

	if (setsid() < 0 || fork() != 0)
		_exit(0);
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
	    chdir("/") < 0 || dup2(watch->end, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0 || dup2(null, STDERR_FILENO) < 0 ||
	    close_range(STDERR_FILENO + 1, ~0u, 0) < 0)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(watch->program, arguments, watch->variables);
	_exit(1);
}

static int watcher_start(const struct step_watch *watch)
{
	pid_t pid = fork();

	if (pid < 0)
		return -errno;
	if (pid == 0)
		become_watcher(watch);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

int step_watch(const struct fairlead_driver *driver,
	       const char *(*get)(void *arg, const char *name), void *arg)
{
	struct step_watch watch = { .program = getenv(STEP_WATCH_PROGRAM) };
	int result, ends[2];

	if (!watch.program)
		watch.program = COMMANDS_DIR "/fairlead-step-clean";
	if (access(watch.program, X_OK) < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	watch.end = ends[0];
	result = variables_copy(&watch, driver, get, arg);
	if (result == 0)
		result = watcher_start(&watch);
	for (size_t i = 0; watch.variables[i]; i++)
		free(watch.variables[i]);
	close(ends[0]);
	if (result < 0)
		close(ends[1]);
	return result; /* ends[1] stays open until this process has ended */
}
