/* SPDX-License-Identifier: BSD-3-Clause */
/* Starting and ending daemons of the emulated cluster. */
#include "emu/cluster/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"

#define STAT_BYTES_MAX 1024
#define LOG_TAIL_MAX   512

int process_of(pid_t pid, struct cluster_process *ret_process)
{
	char path[64], text[STAT_BYTES_MAX];
	_auto_(closep) int fd = -1;
	unsigned int threads;
	uint64_t start;
	ssize_t size;
	bool is_dead;
	char *at;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -ESRCH;
	size = read(fd, text, sizeof(text) - 1);
	if (size <= 0)
		return -ESRCH;
	text[size] = '\0';
	at = strrchr(text, ')'); /* the name may hold anything */
	if (at == NULL)
		return -ESRCH;
	is_dead = at[1] == ' ' && at[2] == 'Z';
	for (int field = 2; field < 20 && at != NULL; field++)
		at = strchr(at + 1, ' ');
	if (at == NULL || sscanf(at, "%u %*d %" SCNu64, &threads, &start) != 2)
		return -ESRCH;
	/* A thread may outlive the first one, with all that is open. */
	if (is_dead && threads <= 1)
		return -ESRCH;
	*ret_process = (struct cluster_process){ .pid = pid, .start = start };
	return 0;
}

bool process_is_alive(const struct cluster_process *process)
{
	struct cluster_process now;

	return process->pid > 0 && process_of(process->pid, &now) == 0 &&
	       now.start == process->start;
}

static void log_tail(const char *path, char *text, size_t capacity)
{
	_auto_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	char tail[LOG_TAIL_MAX + 1];
	ssize_t size = 0;
	char *line;

	if (fd >= 0) {
		off_t end = lseek(fd, 0, SEEK_END);
		off_t from = end > LOG_TAIL_MAX ? end - LOG_TAIL_MAX : 0;

		size = pread(fd, tail, LOG_TAIL_MAX, from);
	}
	if (size < 0)
		size = 0;
	while (size > 0 && tail[size - 1] == '\n')
		size--;
	tail[size] = '\0';
	line = strrchr(tail, '\n');
	snprintf(text, capacity, "%s", line ? line + 1 : tail);
}

static void run_child(const struct process_spec *spec, int ready_fd)
{
	int in = open("/dev/null", O_RDONLY);
	int out = spec->log_path == NULL
			  ? open("/dev/null", O_WRONLY)
			  : open(spec->log_path, O_WRONLY | O_CREAT | O_APPEND,
				 0644);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (in < 0 || out < 0 || dup2(out, STDERR_FILENO) < 0 ||
	    dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(126);
	if (ready_fd != PROCESS_READY_FD &&
	    dup2(ready_fd, PROCESS_READY_FD) < 0)
		_exit(126);
	if (ready_fd == PROCESS_READY_FD)
		fcntl(ready_fd, F_SETFD, 0);
	close_range(PROCESS_READY_FD + 1, ~0u, 0);
	if (spec->prepare != NULL && spec->prepare(spec->prepare_arg) != 0)
		_exit(126);
	execv(spec->argv[0], (char *const *)spec->argv);
	dprintf(STDERR_FILENO, "cannot run '%s': %s\n", spec->argv[0],
		strerror(errno));
	_exit(127);
}

/* 0 when the byte came; -ECHILD when the other end went away without. */
static int wait_ready(int fd, uint32_t timeout_ms)
{
	struct pollfd pollfd = { .fd = fd, .events = POLLIN };
	char byte;
	int count;

	do {
		count = poll(&pollfd, 1, (int)timeout_ms);
	} while (count < 0 && errno == EINTR);
	if (count < 0)
		return -errno;
	if (count == 0)
		return -ETIMEDOUT;
	return read(fd, &byte, 1) == 1 ? 0 : -ECHILD;
}

int process_start(const struct process_spec *spec,
		  struct cluster_process *ret_process,
		  struct fairlead_error *ret_error)
{
	_auto_(closep) int read_fd = -1;
	struct cluster_process process = { 0 };
	char tail[LOG_TAIL_MAX + 1];
	int fds[2], result = 0;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set(ret_error, -errno, "cannot make a pipe: %s",
				 strerror(errno));
	read_fd = fds[0];
	pid = fork();
	if (pid < 0) {
		close(fds[1]);
		return error_set(ret_error, -errno, "cannot fork: %s",
				 strerror(errno));
	}
	if (pid == 0)
		run_child(spec, fds[1]);
	close(fds[1]);
	process_of(pid, &process);
	if (spec->tells_ready)
		result = wait_ready(read_fd, spec->timeout_ms);
	if (result == 0) {
		*ret_process = process;
		return 0;
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	log_tail(spec->log_path, tail, sizeof(tail));
	return error_set(ret_error, result, "'%s' %s: %s (log: %s)",
			 spec->argv[0],
			 result == -ETIMEDOUT ? "is not ready in time"
					      : "ended before it was ready",
			 tail[0] ? tail : "it said nothing", spec->log_path);
}

int process_stop(struct cluster_process *process, uint32_t grace_ms)
{
	_auto_(closep) int fd = -1;
	struct pollfd pollfd;

	if (!process_is_alive(process)) {
		*process = (struct cluster_process){ 0 };
		return 0;
	}
	fd = pidfd_open(process->pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : -errno;
	if (!process_is_alive(process)) /* the id may just have been reused */
		return 0;
	pollfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	pidfd_send_signal(fd, SIGTERM, NULL, 0);
	if (poll(&pollfd, 1, (int)grace_ms) == 0) {
		pidfd_send_signal(fd, SIGKILL, NULL, 0);
		poll(&pollfd, 1, -1);
	}
	waitpid(process->pid, NULL, WNOHANG); /* when it was our child */
	*process = (struct cluster_process){ 0 };
	return 0;
}
