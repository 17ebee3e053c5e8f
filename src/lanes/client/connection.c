/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a connection. A callback may close the handle that is calling
 * it: the calls are cancelled at once, but the memory stays until the last
 * function of ours that uses it has left (handle_enter, handle_leave).
 */
#include "lanes/client/handle.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
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
