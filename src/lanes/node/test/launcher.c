/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One request at a time, each with its answer: with the path of a
 * configuration, to start a guard, whose descriptor comes along; without, to
 * wait until the guard has ended.
 */
#include "lanes/node/test/launcher.h"

#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "lanes/node/role.h"
#include "sys/log.h"

struct request {
	char config_path[128];
};

struct answer {
	int result;
	struct guard_handle guard; /* fd: of the launcher */
	struct fairlead_error error;
};

struct child {
	int fd;
	unsigned int roles;
	const struct fairlead_driver *const *drivers;
	struct log log;
	pid_t guard; /* 0: none */
};

union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

/* --- the launcher --- */

static int answer_send(int fd, const struct answer *answer)
{
	struct iovec iovec = { (void *)answer, sizeof(*answer) };
	union control control = { .head = { 0 } };
	struct msghdr message = { .msg_iov = &iovec, .msg_iovlen = 1 };

	if (answer->guard.fd >= 0) {
		control.head.cmsg_level = SOL_SOCKET;
		control.head.cmsg_type = SCM_RIGHTS;
		control.head.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.head), &answer->guard.fd,
		       sizeof(int));
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
	}
	return sendmsg(fd, &message, MSG_NOSIGNAL) < 0 ? -1 : 0;
}

static void guard_launch(struct child *child, const char *config_path,
			 struct answer *answer)
{
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(freep) char *errors = NULL;
	size_t driver_count = 0;

	while (child->drivers[driver_count])
		driver_count++;
	answer->result = config_load(config_path, child->roles, child->drivers,
				     driver_count, &config, &errors);
	if (answer->result < 0) {
		error_set(&answer->error, answer->result, "%s", errors);
		return;
	}
	answer->result = node_guard_start(config, &child->log, &answer->guard,
					  &answer->error);
	if (answer->result == 0)
		child->guard = answer->guard.pid;
}

/* False: the test is gone, and the guard with it. */
static bool guard_wait(struct child *child)
{
	_auto_(closep) int pid_fd = pidfd_open(child->guard, 0);
	struct pollfd fds[] = {
		{ .fd = pid_fd, .events = POLLIN },
		{ .fd = child->fd, .events = POLLIN },
	};
	bool is_gone;

	if (poll(fds, 2, -1) < 0 || !fds[0].revents)
		kill(child->guard, SIGKILL);
	is_gone = fds[1].revents != 0;
	waitpid(child->guard, NULL, 0);
	child->guard = 0;
	return !is_gone;
}

static void serve(struct child *child)
{
	struct request request;

	while (recv(child->fd, &request, sizeof(request), 0) ==
	       sizeof(request)) {
		struct answer answer = { .guard.fd = -1 };
		int result;

		if (request.config_path[0])
			guard_launch(child, request.config_path, &answer);
		else if (child->guard && !guard_wait(child))
			return;
		result = answer_send(child->fd, &answer);
		closep(&answer.guard.fd);
		if (result < 0)
			break;
	}
	if (child->guard)
		kill(child->guard, SIGKILL);
}

/* --- the test --- */

void launcher_start(unsigned int roles,
		    const struct fairlead_driver *const *drivers,
		    struct launcher *ret_launcher)
{
	int ends[2];
	pid_t pid;

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct child child = {
			.fd = ends[1],
			.roles = roles,
			.drivers = drivers,
		};

		close(ends[0]);
		sys_log_init(&child.log, "guard", LOG_LEVEL_INFO);
		serve(&child);
		_exit(0);
	}
	close(ends[1]);
	*ret_launcher = (struct launcher){ .fd = ends[0], .pid = pid };
}

void launcher_stop(struct launcher *launcher)
{
	int status;

	close(launcher->fd);
	assert_int_equal(waitpid(launcher->pid, &status, 0), launcher->pid);
	assert_int_equal(status, 0);
}

static void call(const struct launcher *launcher, const char *config_path,
		 struct answer *answer)
{
	struct iovec iovec = { answer, sizeof(*answer) };
	struct request request = { .config_path = "" };
	union control control;
	struct msghdr message = {
		.msg_iov = &iovec,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};

	assert_true(strlen(config_path) < sizeof(request.config_path));
	strcpy(request.config_path, config_path);
	assert_int_equal(send(launcher->fd, &request, sizeof(request),
			      MSG_NOSIGNAL),
			 sizeof(request));
	assert_int_equal(recvmsg(launcher->fd, &message, MSG_CMSG_CLOEXEC),
			 sizeof(*answer));
	if (answer->guard.fd < 0)
		return;
	assert_non_null(CMSG_FIRSTHDR(&message));
	memcpy(&answer->guard.fd, CMSG_DATA(CMSG_FIRSTHDR(&message)),
	       sizeof(int));
}

int launcher_guard_start(const struct launcher *launcher,
			 const char *config_path,
			 struct guard_handle *ret_guard,
			 struct fairlead_error *ret_error)
{
	struct answer answer;

	call(launcher, config_path, &answer);
	if (answer.result < 0)
		*ret_error = answer.error;
	else
		*ret_guard = answer.guard;
	return answer.result;
}

void launcher_guard_stop(const struct launcher *launcher,
			 struct guard_handle *guard)
{
	struct answer answer;

	close(guard->fd);
	call(launcher, "", &answer);
}
