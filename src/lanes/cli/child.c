/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/memory.h"

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

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Until there is something to read, or, of a pidfd, until it has ended. */
static int await(int fd, int64_t end_ms)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };
	int64_t left_ms = end_ms - now_ms();
	int count;

	do {
		count = poll(&entry, 1, left_ms > 0 ? (int)left_ms : 0);
		left_ms = end_ms - now_ms();
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	return count == 0 ? -ETIMEDOUT : 0;
}

/* Until the end of what it prints. */
static int read_all(int fd, int64_t end_ms, char **ret_output, size_t *ret_size)
{
	_auto_(freep) char *output = NULL;
	size_t size = 0, capacity = 0;
	ssize_t got;

	do {
		int result = await(fd, end_ms);

		if (result < 0)
			return result;
		if (capacity - size < READ_BYTES) {
			capacity = capacity * 2 + 2 * READ_BYTES;
			output = memory_resize(output, capacity, 1);
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

/* It may have closed what it printed to, and go on. */
static int await_end(pid_t pid, int64_t end_ms)
{
	_auto_(closep) int fd = pidfd_open(pid, 0);

	return fd < 0 ? -errno : await(fd, end_ms);
}

static int take_end(pid_t pid, const char *path,
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

/* pid has ended, or is killed. */
static int finish(pid_t pid, const char *path, int result, uint32_t timeout_ms,
		  struct fairlead_error *ret_error)
{
	int ended;

	if (result < 0)
		kill(pid, SIGKILL);
	ended = take_end(pid, path, ret_error);
	if (result == -ETIMEDOUT)
		return error_set(ret_error, result,
				 "'%s' has not ended within %u ms", path,
				 timeout_ms);
	if (result < 0)
		return error_set(ret_error, result,
				 "cannot read what '%s' prints: %s", path,
				 strerror(-result));
	return ended;
}

int child_run(const char *folder, const char *const *argv, uint32_t timeout_ms,
	      char **ret_output, size_t *ret_size,
	      struct fairlead_error *ret_error)
{
	int64_t end_ms = now_ms() + timeout_ms;
	_auto_(freep) char *path = NULL;
	_auto_(freep) char *output = NULL;
	int fds[2], result;
	size_t size = 0;
	pid_t pid;

	path = memory_format("%s/%s", folder, argv[0]);
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
	result = read_all(fds[0], end_ms, &output, &size);
	close(fds[0]);
	if (result == 0)
		result = await_end(pid, end_ms);
	result = finish(pid, path, result, timeout_ms, ret_error);
	if (result < 0)
		return result;
	if (ret_size)
		*ret_size = size;
	if (ret_output)
		*ret_output = take_ptr(output);
	return 0;
}
