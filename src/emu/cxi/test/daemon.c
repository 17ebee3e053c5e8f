/* SPDX-License-Identifier: BSD-3-Clause */
#include "emu/cxi/test/daemon.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "emu/cxi/wire/wire.h"

#define EXIT_EXEC_FAILED 127

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		assert(errno == EINTR);
	return status;
}

static void become(uid_t uid, gid_t gid)
{
	if (geteuid() == 0 && setgroups(0, NULL) < 0)
		_exit(EXIT_EXEC_FAILED);
	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		_exit(EXIT_EXEC_FAILED);
}

void daemon_init(struct daemon *daemon, const char *program)
{
	*daemon = (struct daemon){ .program = program };
	strcpy(daemon->folder, "/tmp/softnic-test-XXXXXX");
	if (mkdtemp(daemon->folder) == NULL ||
	    chmod(daemon->folder, 0777) < 0) {
		perror(daemon->folder);
		exit(1);
	}
	snprintf(daemon->dir, sizeof(daemon->dir), "%s/node", daemon->folder);
	setenv(WIRE_DIR_VARIABLE, daemon->dir, 1);
}

void daemon_fini(struct daemon *daemon)
{
	if (daemon->pid != 0)
		daemon_stop(daemon, SIGTERM);
	rmdir(daemon->dir);
	if (rmdir(daemon->folder) < 0)
		perror(daemon->folder);
}

static void collect(char **arguments, char *ready_fd,
		    const struct daemon *daemon, va_list list)
{
	size_t count = 0;
	char *argument;

	arguments[count++] = (char *)daemon->program;
	arguments[count++] = "--dir";
	arguments[count++] = (char *)daemon->dir;
	arguments[count++] = "--ready-fd";
	arguments[count++] = ready_fd;
	while ((argument = va_arg(list, char *)) != NULL) {
		assert(count < DAEMON_ARGUMENT_MAX - 1);
		arguments[count++] = argument;
	}
	arguments[count] = NULL;
}

static bool start(struct daemon *daemon, uid_t uid, gid_t gid, va_list list)
{
	char *arguments[DAEMON_ARGUMENT_MAX];
	char ready_fd[16];
	int ready[2];
	char byte;
	ssize_t size;

	assert(daemon->pid == 0 && pipe(ready) == 0);
	fcntl(ready[0], F_SETFD, FD_CLOEXEC);
	snprintf(ready_fd, sizeof(ready_fd), "%d", ready[1]);
	collect(arguments, ready_fd, daemon, list);
	daemon->pid = fork();
	assert(daemon->pid >= 0);
	if (daemon->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (uid != geteuid())
			become(uid, gid);
		execv(daemon->program, arguments);
		_exit(EXIT_EXEC_FAILED);
	}
	close(ready[1]);
	size = read(ready[0], &byte, 1);
	close(ready[0]);
	if (size == 1)
		return true;
	wait_for(daemon->pid);
	daemon->pid = 0;
	return false;
}

bool daemon_start(struct daemon *daemon, ...)
{
	va_list list;
	bool started;

	va_start(list, daemon);
	started = start(daemon, geteuid(), getegid(), list);
	va_end(list);
	return started;
}

bool daemon_start_as(struct daemon *daemon, uid_t uid, gid_t gid, ...)
{
	va_list list;
	bool started;

	va_start(list, gid);
	started = start(daemon, uid, gid, list);
	va_end(list);
	return started;
}

int daemon_stop(struct daemon *daemon, int signal)
{
	int status;

	assert(daemon->pid != 0);
	kill(daemon->pid, signal);
	status = wait_for(daemon->pid);
	daemon->pid = 0;
	return status;
}

int daemon_ctl(const struct daemon *daemon, const char *command)
{
	pid_t pid = fork();
	int status;

	assert(pid >= 0);
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execl(daemon->program, daemon->program, "ctl", "--dir",
		      daemon->dir, command, NULL);
		_exit(EXIT_EXEC_FAILED);
	}
	status = wait_for(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

char *daemon_read(const struct daemon *daemon, const char *name)
{
	_auto_(freep) char *path = NULL;
	_auto_(closep) int fd = -1;
	char *text;
	ssize_t size;

	if (asprintf(&path, "%s/%s", daemon->dir, name) < 0)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	text = fd < 0 ? NULL : calloc(1, 256);
	if (text == NULL)
		return NULL;
	size = read(fd, text, 255);
	assert(size >= 0);
	return text;
}

int run_as(uid_t uid, gid_t gid, int (*run)(void *ctx), void *ctx)
{
	pid_t pid = fork();
	int status;

	assert(pid >= 0);
	if (pid == 0) {
		become(uid, gid);
		_exit(run(ctx));
	}
	status = wait_for(pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}
