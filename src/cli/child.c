/* SPDX-License-Identifier: BSD-3-Clause */
#include "cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define READ_BYTES 65536

extern char **environ;

static int start(const char *path, const char *const *argv, int output,
		 pid_t *ret_pid)
{
	posix_spawn_file_actions_t actions;
	int result = posix_spawn_file_actions_init(&actions);

	if (result != 0)
		return -result;
	result = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO,
						  "/dev/null", O_RDONLY, 0);
	if (result == 0)
		result = posix_spawn_file_actions_adddup2(&actions, output,
							  STDOUT_FILENO);
	if (result == 0)
		result = posix_spawn(ret_pid, path, &actions, NULL,
				     (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	return -result;
}

/* Until the end of what it prints. */
static int read_all(int fd, char **ret_output, size_t *ret_size)
{
	_auto_(freep) char *output = NULL;
	size_t size = 0, capacity = 0;
	ssize_t got;

	do {
		if (capacity - size < READ_BYTES) {
			char *larger;

			capacity = capacity * 2 + 2 * READ_BYTES;
			larger = realloc(output, capacity);
			if (!larger)
				return -ENOMEM;
			output = larger;
		}
		got = read(fd, output + size, capacity - size - 1);
		if (got < 0 && errno != EINTR)
			return -errno;
		size += got > 0 ? (size_t)got : 0;
		if (size > CHILD_OUTPUT_MAX)
			return -EFBIG;
	} while (got != 0);
	output[size] = 0;
	*ret_size = size;
	*ret_output = take_ptr(output);
	return 0;
}

static int wait_end(pid_t pid, const char *path,
		    struct fairlead_error *ret_error)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return error_set(ret_error, -errno, "'%s': %s", path,
					 strerror(errno));
	if (WIFSIGNALED(status))
		return error_set(ret_error, -ECHILD,
				 "'%s' was ended by signal %d", path,
				 WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return error_set(ret_error, -ECHILD, "'%s' failed (exit %d)",
				 path, WEXITSTATUS(status));
	return 0;
}

int child_run(const char *folder, const char *const *argv, char **ret_output,
	      size_t *ret_size, struct fairlead_error *ret_error)
{
	_auto_(freep) char *path = NULL;
	_auto_(freep) char *output = NULL;
	int fds[2], result, ended;
	size_t size = 0;
	pid_t pid;

	if (asprintf(&path, "%s/%s", folder, argv[0]) < 0) {
		path = NULL;
		return error_set(ret_error, -ENOMEM, "memory is out");
	}
	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(ret_error, -errno, "'%s': %s", path,
				 strerror(errno));
	result = start(path, argv, fds[1], &pid);
	close(fds[1]);
	if (result < 0) {
		close(fds[0]);
		return error_set(ret_error, result, "cannot run '%s': %s", path,
				 strerror(-result));
	}
	result = read_all(fds[0], &output, &size);
	close(fds[0]);
	if (result < 0)
		kill(pid, SIGKILL);
	ended = wait_end(pid, path, ret_error);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot read what '%s' prints: %s", path,
				 strerror(-result));
	if (ended < 0)
		return ended;
	if (ret_size)
		*ret_size = size;
	if (ret_output)
		*ret_output = take_ptr(output);
	return 0;
}
