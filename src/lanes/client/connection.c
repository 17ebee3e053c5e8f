/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a connection. A callback may close the handle that is calling
 * it: the calls are cancelled at once, but the memory stays until the last
 * function of ours that uses it has left (handle_enter, handle_leave).
 *
 * The blocking forms start a call, then poll and process until the answer is
 * there or the time is up. A call that is given up is forgotten: its answer may
 * still come, and nobody is called.
 */
#include "lanes/client/handle.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"

const char *fairlead_version(void)
{
	return FAIRLEAD_VERSION;
}

int handle_create(int fd_owned, struct tunnel *tunnel_owned,
		  struct fairlead **ret_handle)
{
	struct fairlead *handle = calloc(1, sizeof(*handle));

	if (!handle) {
		close(fd_owned);
		tunnel_close(tunnel_owned);
		return -ENOMEM;
	}
	handle->fd = fd_owned;
	handle->tunnel = tunnel_owned;
	handle->timeout_ms = HANDLE_TIMEOUT_MS;
	handle->next_id = 1;
	splitter_init(&handle->in,
		      tunnel_owned ? ENVELOPE_FRAME_MAX : FAIRLEAD_FRAME_MAX);
	*ret_handle = handle;
	return 0;
}

static const char *socket_path_default(void)
{
	const char *path = secure_getenv("FAIRLEAD_SOCKET");

	return path && *path ? path : FAIRLEAD_MANAGER_SOCKET;
}

static int refuse(const char *path, int code, struct fairlead_error *ret_error)
{
	switch (code) {
	case -ENOENT:
	case -ECONNREFUSED:
		return error_set(ret_error, code, "no daemon listens at '%s'",
				 path);
	case -EAGAIN:
		return error_set(ret_error, code,
				 "the daemon at '%s' is too busy to answer",
				 path);
	default:
		return error_set(ret_error, code, "cannot connect to '%s': %s",
				 path, strerror(-code));
	}
}

static int open_tunnel(const char *url, struct fairlead **ret_handle,
		       struct fairlead_error *ret_error)
{
	struct tunnel *tunnel;
	int fd;
	int result = tunnel_open(url, &fd, &tunnel, ret_error);

	if (result < 0)
		return result;
	result = handle_create(fd, tunnel, ret_handle);
	if (result < 0)
		return error_set(ret_error, result, "out of memory");
	return 0;
}

int fairlead_open(const char *socket_path, struct fairlead **ret_handle,
		  struct fairlead_error *ret_error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = socket_path ? socket_path : socket_path_default();
	size_t size = strlen(path);
	_auto_(closep) int fd = -1;
	int result;

	if (tunnel_is_url(path))
		return open_tunnel(path, ret_handle, ret_error);
	if (size >= sizeof(address.sun_path))
		return error_set(ret_error, -ENAMETOOLONG,
				 "path of a socket is longer than %zu bytes",
				 sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, size + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(ret_error, -errno, "cannot make a socket: %s",
				 strerror(errno));
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return refuse(path, -errno, ret_error);
	result = handle_create(fd, NULL, ret_handle);
	fd = -1;
	if (result < 0)
		return error_set(ret_error, result, "out of memory");
	return 0;
}

static void destroy(struct fairlead *handle)
{
	close(handle->fd);
	tunnel_close(handle->tunnel);
	writer_fini(&handle->out);
	splitter_fini(&handle->in);
	free(handle);
}

void handle_enter(struct fairlead *handle)
{
	handle->depth++;
}

void handle_leave(struct fairlead *handle)
{
	assert(handle->depth > 0);
	handle->depth--;
	if (handle->depth == 0 && handle->is_closed)
		destroy(handle);
}

void fairlead_close(struct fairlead *handle)
{
	if (!handle || handle->is_closed)
		return;
	handle->is_closed = true;
	handle_enter(handle);
	handle_lose(handle, -ECANCELED, "the connection was closed", "");
	handle_leave(handle);
}

int fairlead_fd(const struct fairlead *handle)
{
	return handle->fd;
}

short fairlead_events(const struct fairlead *handle)
{
	short events = POLLIN;

	if (handle->out.size > handle->sent_bytes)
		events |= POLLOUT;
	return events;
}

void fairlead_set_timeout(struct fairlead *handle, uint32_t timeout_ms)
{
	handle->timeout_ms = timeout_ms;
}

/* --- blocking forms --- */

struct waiting {
	bool is_done;
	bool is_hinted;
	bool has_text; /* the caller wants the answer as text */
	int result;
	json_t *answer;
	char *text;
	struct fairlead_error *ret_error;
};

static void finish(void *arg, const struct fairlead_answer *answer)
{
	struct waiting *waiting = arg;

	waiting->is_done = true;
	waiting->result = answer->result;
	if (answer->result < 0 && waiting->is_hinted)
		handle_error_hinted(answer, waiting->ret_error);
	else if (answer->result < 0)
		error_set(waiting->ret_error, answer->result, "%s",
			  answer->error);
	waiting->answer = json_incref(handle_answer_object(answer));
	if (!waiting->has_text || !answer->json)
		return;
	waiting->text = strdup(answer->json);
	if (!waiting->text)
		waiting->result =
			error_set(waiting->ret_error, -ENOMEM, "out of memory");
}

static uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Wait for the socket: 0, or -ETIMEDOUT. */
static int wait_until(struct fairlead *handle, uint64_t deadline_ms)
{
	struct pollfd poll_fd = {
		.fd = handle->fd,
		.events = fairlead_events(handle),
	};
	uint64_t now = now_ms();
	int timeout_ms = -1;

	if (deadline_ms && now >= deadline_ms)
		return -ETIMEDOUT;
	if (deadline_ms)
		timeout_ms = deadline_ms - now > INT_MAX ? INT_MAX
							 : deadline_ms - now;
	if (poll(&poll_fd, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

static int wait_answer(struct fairlead *handle, uint64_t id,
		       struct waiting *waiting)
{
	uint64_t deadline_ms =
		handle->timeout_ms ? now_ms() + handle->timeout_ms : 0;
	int result = 0;

	/* Sent in any case, however short the time is. */
	fairlead_process(handle);
	while (!waiting->is_done && result == 0) {
		result = wait_until(handle, deadline_ms);
		if (result == 0)
			fairlead_process(handle);
	}
	if (waiting->is_done)
		return waiting->result;
	handle_forget(handle, id);
	if (result != -ETIMEDOUT)
		return error_set(waiting->ret_error, result,
				 "cannot wait for the daemon: %s",
				 strerror(-result));
	return error_set(waiting->ret_error, result,
			 "no answer from the daemon within %u ms; it is not "
			 "known whether it was done",
			 handle->timeout_ms);
}

static int call_and_wait(struct fairlead *handle, const char *op,
			 const json_t *members, struct waiting *waiting)
{
	uint64_t id;
	int result;

	if (handle->is_delivering)
		return error_set(waiting->ret_error, -EDEADLK,
				 "a callback must not wait for an answer");
	result = handle_start(handle, op, members,
			      (struct client_call){ .fn = finish,
						    .arg = waiting },
			      &id, waiting->ret_error);
	if (result < 0)
		return result;
	handle_enter(handle);
	result = wait_answer(handle, id, waiting);
	handle_leave(handle);
	return result;
}

int handle_call(struct fairlead *handle, const char *op, const json_t *members,
		bool is_hinted, json_t **ret_answer,
		struct fairlead_error *ret_error)
{
	struct waiting waiting = {
		.is_hinted = is_hinted,
		.ret_error = ret_error,
	};
	int result = call_and_wait(handle, op, members, &waiting);

	if (ret_answer)
		*ret_answer = waiting.answer;
	else
		json_decref(waiting.answer);
	return result;
}

int fairlead_call(struct fairlead *handle, const char *op, const char *members,
		  char **ret_json, struct fairlead_error *ret_error)
{
	struct waiting waiting = {
		.has_text = ret_json != NULL,
		.ret_error = ret_error,
	};
	json_auto_t *object = NULL;
	int result = handle_members(members, &object, ret_error);

	if (result == 0)
		result = call_and_wait(handle, op, object, &waiting);
	json_decref(waiting.answer);
	if (ret_json)
		*ret_json = waiting.text;
	return result;
}
