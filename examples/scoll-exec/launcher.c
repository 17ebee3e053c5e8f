/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Credentials are remembered by their digest until they expire, so that a node
 * runs each once, also when other nodes share its munged (munged_is_shared). One
 * that was checked and not started keeps its order.
 */
#include "launcher.h"

#include <fcntl.h>
#include <munge.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/hash.h"
#include "base/memory.h"
#include "order.h"
#include "supervise.h"
#include "sys/packet.h"

#define PACKET_MAX (EXEC_CREDENTIAL_MAX + 64)
#define SEEN_MAX   16384
#define SKEW_S     60

struct seen {
	uint8_t key[EXEC_ID_BYTES];
	uid_t uid;
	time_t end; /* the credential has expired */
	bool is_started;
	struct exec_order order; /* until it is started */
	UT_hash_handle hh;
};

struct running {
	pid_t pid;
	uid_t uid;
};

struct launcher {
	const struct exec_config *config;
	const struct log *log;
	int fd, signal_fd;
	struct seen *seen;
	struct running *running;
	uint32_t running_count;
};

struct launcher_request {
	uint8_t op;
	uint64_t tag;
	uid_t uid;
	const char *credential; /* ends with a zero */
	size_t size;
};

/* --- credentials --- */

static void seen_remove(struct launcher *launcher, struct seen *seen)
{
	HASH_DEL(launcher->seen, seen);
	order_fini(&seen->order);
	free(seen);
}

static void seen_expire(struct launcher *launcher)
{
	struct seen *seen, *next;
	time_t now = time(NULL);

	HASH_ITER (hh, launcher->seen, seen, next) {
		if (seen->end < now)
			seen_remove(launcher, seen);
	}
}

static int code_of(munge_err_t error)
{
	switch (error) {
	case EMUNGE_NO_MEMORY:
		return -ENOMEM;
	case EMUNGE_SOCKET:
	case EMUNGE_TIMEOUT:
	case EMUNGE_SNAFU:
		return -EHOSTDOWN;
	case EMUNGE_CRED_EXPIRED:
	case EMUNGE_CRED_REWOUND:
		return -EKEYEXPIRED;
	default:
		return -EKEYREJECTED;
	}
}

static time_t end_of(munge_ctx_t ctx)
{
	time_t encoded = time(NULL);
	int ttl = 0;

	munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &encoded);
	munge_ctx_get(ctx, MUNGE_OPT_TTL, &ttl);
	return encoded + ttl + SKEW_S;
}

static int unseal(struct launcher *launcher, munge_ctx_t ctx,
		  const char *credential, struct seen *seen,
		  struct fairlead_error *ret_error)
{
	const struct exec_config *config = launcher->config;
	_auto_(freep) void *payload = NULL;
	munge_err_t error = EMUNGE_SUCCESS;
	int size = 0, result;
	gid_t gid;

	if (*config->munge_socket != 0)
		error = munge_ctx_set(ctx, MUNGE_OPT_SOCKET,
				      config->munge_socket);
	if (error == EMUNGE_SUCCESS)
		error = munge_decode(credential, ctx, &payload, &size,
				     &seen->uid, &gid);
	if (error == EMUNGE_CRED_REPLAYED && config->is_munged_shared)
		error = EMUNGE_SUCCESS;
	if (error != EMUNGE_SUCCESS) {
		const char *text = munge_ctx_strerror(ctx);

		return error_set(ret_error, code_of(error), "MUNGE: %s",
				 text != NULL ? text : munge_strerror(error));
	}
	result = order_decode(payload, (size_t)size, &seen->order);
	if (result < 0)
		return error_set(ret_error, result,
				 result == -EPROTONOSUPPORT
					 ? "made by another version"
					 : "no order of scoll-exec");
	seen->end = end_of(ctx);
	return 0;
}

static int seen_create(struct launcher *launcher, const char *credential,
		       const uint8_t key[EXEC_ID_BYTES], struct seen **ret_seen,
		       struct fairlead_error *ret_error)
{
	struct seen *seen;
	munge_ctx_t ctx;
	int result;

	if (HASH_COUNT(launcher->seen) >= SEEN_MAX)
		seen_expire(launcher);
	if (HASH_COUNT(launcher->seen) >= SEEN_MAX)
		return error_set(ret_error, -EBUSY, "too many commands");
	seen = memory_alloc(sizeof(*seen));
	ctx = memory_have(munge_ctx_create());
	result = unseal(launcher, ctx, credential, seen, ret_error);
	munge_ctx_destroy(ctx);
	if (result < 0) {
		free(seen);
		return result;
	}
	memcpy(seen->key, key, EXEC_ID_BYTES);
	HASH_ADD(hh, launcher->seen, key, sizeof(seen->key), seen);
	if (!hash_was_added(seen))
		memory_end();
	*ret_seen = seen;
	return 0;
}

/* --- permission --- */

static int permit(const struct launcher *launcher, const struct seen *seen,
		  const struct passwd **ret_user,
		  struct fairlead_error *ret_error)
{
	const struct passwd *user;

	if (seen->uid == 0 && !launcher->config->is_root_allowed)
		return error_set(ret_error, -EPERM,
				 "root's commands are not run here");
	if (geteuid() != 0 && seen->uid != geteuid())
		return error_set(ret_error, -EPERM,
				 "the daemon runs as another user");
	if (seen->order.timeout_ms > launcher->config->timeout_max_ms)
		return error_set(ret_error, -EINVAL, "at most %u s are allowed",
				 launcher->config->timeout_max_ms / 1000);
	user = getpwuid(seen->uid);
	if (user == NULL)
		return error_set(ret_error, -EPERM, "no user %u here",
				 (unsigned)seen->uid);
	*ret_user = user;
	return 0;
}

static int count_check(const struct launcher *launcher, uid_t uid,
		       struct fairlead_error *ret_error)
{
	const struct exec_config *config = launcher->config;
	uint32_t count = 0;

	for (uint32_t i = 0; i < launcher->running_count; i++)
		count += launcher->running[i].uid == uid;
	if (launcher->running_count >= config->commands_max)
		return error_set(ret_error, -EBUSY,
				 "%u commands run here already",
				 launcher->running_count);
	if (count >= config->commands_user)
		return error_set(ret_error, -EBUSY,
				 "%u commands of the user run here already",
				 count);
	return 0;
}

/* --- start --- */

static void become_supervisor(const struct launcher *launcher,
			      const struct seen *seen,
			      const struct passwd *user, int output_fd,
			      int control_fd)
{
	const struct exec_config *config = launcher->config;
	struct supervision supervision = {
		.user = user,
		.command = seen->order.command,
		.node = config->nodes[config->self].name,
		.timeout_ms = seen->order.timeout_ms,
		.output_fd = output_fd,
		.control_fd = control_fd,
	};

	close(launcher->fd);
	close(launcher->signal_fd);
	prctl(PR_SET_PDEATHSIG, 0);
	supervise(&supervision);
}

static int start(struct launcher *launcher, struct seen *seen,
		 const struct passwd *user, struct launcher_answer *answer,
		 struct fairlead_error *ret_error)
{
	_auto_(closep) int output = -1;
	_auto_(closep) int control = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(ret_error, -errno, "pipe: %s",
				 strerror(errno));
	answer->output_fd = ends[0];
	output = ends[1];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(ret_error, -errno, "socketpair: %s",
				 strerror(errno));
	answer->control_fd = ends[0];
	control = ends[1];
	pid = fork();
	if (pid < 0)
		return error_set(ret_error, -errno, "fork: %s",
				 strerror(errno));
	if (pid == 0) {
		close(answer->output_fd);
		close(answer->control_fd);
		become_supervisor(launcher, seen, user, output, control);
	}
	launcher->running[launcher->running_count++] =
		(struct running){ .pid = pid, .uid = seen->uid };
	return 0;
}

static int serve_start(struct launcher *launcher, struct seen *seen,
		       const struct passwd *user,
		       struct launcher_answer *answer,
		       struct fairlead_error *ret_error)
{
	int result;

	if (answer->index == LAUNCHER_NO_INDEX)
		return error_set(ret_error, -EINVAL,
				 "the caller did not name this node");
	result = count_check(launcher, seen->uid, ret_error);
	if (result == 0)
		result = start(launcher, seen, user, answer, ret_error);
	if (result < 0)
		return result;
	seen->is_started = true;
	log_info(launcher->log, "command uid=%u timeout_ms=%u pid=%d",
		 (unsigned)seen->uid, seen->order.timeout_ms,
		 (int)launcher->running[launcher->running_count - 1].pid);
	return 0;
}

static int serve(struct launcher *launcher,
		 const struct launcher_request *request,
		 struct launcher_answer *answer,
		 struct fairlead_error *ret_error)
{
	const struct exec_config *config = launcher->config;
	const struct passwd *user = NULL;
	uint8_t key[EXEC_ID_BYTES];
	struct seen *seen;
	int result = 0, index;

	exec_digest(request->credential, request->size, key);
	HASH_FIND(hh, launcher->seen, key, sizeof(key), seen);
	if (seen != NULL && (seen->is_started || request->op == LAUNCHER_CHECK))
		return error_set(ret_error, -EALREADY,
				 "the credential was used before");
	if (seen == NULL)
		result = seen_create(launcher, request->credential, key, &seen,
				     ret_error);
	if (result == 0 && request->op == LAUNCHER_CHECK &&
	    seen->uid != request->uid)
		result = error_set(ret_error, -EPERM,
				   "the credential is of another user");
	if (result == 0)
		result = permit(launcher, seen, &user, ret_error);
	if (result < 0)
		return result;
	index = hostlist_find(seen->order.nodes,
			      config->nodes[config->self].name);
	answer->index = index < 0 ? LAUNCHER_NO_INDEX : (uint32_t)index;
	answer->timeout_ms = seen->order.timeout_ms;
	memcpy(answer->stop_digest, seen->order.stop_digest, EXEC_ID_BYTES);
	answer->nodes = memory_text(seen->order.nodes);
	if (request->op == LAUNCHER_START)
		result = serve_start(launcher, seen, user, answer, ret_error);
	/* A credential for other nodes is only remembered. */
	if (seen->is_started || index < 0) {
		seen->is_started = true;
		order_fini(&seen->order);
	}
	return result;
}

/* --- packets --- */

static void answer_send(int fd, const struct launcher_answer *answer)
{
	_auto_(writer_fini) struct writer writer = { 0 };
	const struct packet_fds fds = {
		.fds = { answer->output_fd, answer->control_fd },
		.count = answer->control_fd >= 0 ? 2 : 0,
	};

	write_u64(&writer, answer->tag);
	write_u32(&writer, (uint32_t)-answer->result);
	write_text(&writer, answer->text);
	if (answer->result == 0) {
		write_u32(&writer, answer->index);
		write_u32(&writer, answer->timeout_ms);
		write_bytes(&writer, answer->stop_digest, EXEC_ID_BYTES);
		write_text(&writer, answer->nodes);
	}
	memory_check(writer.result);
	packet_send(fd, writer.data, writer.size, &fds);
}

/* -EBADMSG: ret_request has the tag, or 0. */
static int request_read(void *bytes, size_t size,
			struct launcher_request *ret_request)
{
	struct reader reader = reader_of(bytes, size);
	const uint8_t *credential;

	ret_request->op = read_u8(&reader);
	ret_request->tag = read_u64(&reader);
	ret_request->uid = read_u32(&reader);
	credential =
		read_blob(&reader, EXEC_CREDENTIAL_MAX, &ret_request->size);
	if (!reader_is_done(&reader) || ret_request->size == 0 ||
	    memchr(credential, 0, ret_request->size) != NULL ||
	    (ret_request->op != LAUNCHER_CHECK &&
	     ret_request->op != LAUNCHER_START))
		return -EBADMSG;
	ret_request->credential = (const char *)credential;
	return 0;
}

static int answer_one(struct launcher *launcher, uint8_t *packet)
{
	struct launcher_answer answer = { .output_fd = -1, .control_fd = -1 };
	ssize_t size = recv(launcher->fd, packet, PACKET_MAX, 0);
	struct fairlead_error error = { 0 };
	struct launcher_request request;

	if (size < 0 && errno == EINTR)
		return 0;
	if (size <= 0)
		return -EPIPE;
	packet[size] = 0;
	answer.result = request_read(packet, (size_t)size, &request);
	answer.tag = request.tag;
	if (answer.result == 0)
		answer.result = serve(launcher, &request, &answer, &error);
	else
		error_set(&error, answer.result, "malformed request");
	if (answer.result < 0) {
		snprintf(answer.text, sizeof(answer.text), "%.*s",
			 (int)sizeof(answer.text) - 1, error.text);
		closep(&answer.output_fd);
		closep(&answer.control_fd);
		answer.output_fd = answer.control_fd = -1;
	}
	answer_send(launcher->fd, &answer);
	closep(&answer.output_fd);
	closep(&answer.control_fd);
	free(answer.nodes);
	return 0;
}

static void reap(struct launcher *launcher)
{
	struct signalfd_siginfo info;
	pid_t pid;

	while (read(launcher->signal_fd, &info, sizeof(info)) > 0)
		;
	while ((pid = waitpid(-1, NULL, WNOHANG)) > 0) {
		for (uint32_t i = 0; i < launcher->running_count; i++) {
			if (launcher->running[i].pid == pid)
				launcher->running[i] =
					launcher->running
						[--launcher->running_count];
		}
	}
}

static int serve_all(struct launcher *launcher)
{
	_auto_(freep) uint8_t *packet = memory_alloc(PACKET_MAX + 1);
	struct pollfd fds[] = {
		{ .fd = launcher->fd, .events = POLLIN },
		{ .fd = launcher->signal_fd, .events = POLLIN },
	};
	int result = 0;

	while (result == 0) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents != 0)
			reap(launcher);
		if (fds[0].revents != 0)
			result = answer_one(launcher, packet);
	}
	return result;
}

static _Noreturn void launcher_main(const struct exec_config *config,
				    const struct log *log, int fd)
{
	struct launcher launcher = { .config = config, .log = log, .fd = fd };
	sigset_t mask;

	/* It ends with the other half, and the commands with it. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	sigemptyset(&mask);
	sigaddset(&mask, SIGCHLD);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	launcher.signal_fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	launcher.running =
		memory_array(config->commands_max, sizeof(*launcher.running));
	if (launcher.signal_fd < 0)
		_exit(1);
	_exit(serve_all(&launcher) == -EPIPE ? 0 : 1);
}

int launcher_start(const struct exec_config *config, const struct log *log,
		   int *ret_fd, struct fairlead_error *ret_error)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_set(ret_error, -errno, "socketpair: %s",
				 strerror(errno));
	pid = fork();
	if (pid < 0) {
		close(ends[0]);
		close(ends[1]);
		return error_set(ret_error, -errno, "fork: %s",
				 strerror(errno));
	}
	if (pid == 0) {
		close(ends[0]);
		launcher_main(config, log, ends[1]);
	}
	close(ends[1]);
	*ret_fd = ends[0];
	return 0;
}
