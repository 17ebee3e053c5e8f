/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Listeners. A Unix socket gets its mode and owner between bind and listen,
 * when nobody can connect yet. A stale one, which refuses connections, is
 * replaced; a live one never is. Two processes that start in the same instant
 * are kept apart by the locks on their state, not here.
 */
#include "sys/net.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/memory.h"
#include "sys/net_internal.h"

#define BACKLOG   1024
#define LISTENERS UINT64_MAX /* as a user, who goes first */

/* Accept over the maximum and close: the peer sees the end at once. */
struct refusal {
	union {
		uv_handle_t handle;
		uv_stream_t stream;
		uv_tcp_t tcp;
		uv_pipe_t pipe;
	};
};

static void on_refusal_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static void refuse(struct listener *listener)
{
	struct refusal *refusal = memory_alloc(sizeof(*refusal));
	int result;

	result = listener->is_unix
			 ? uv_pipe_init(listener->net->loop, &refusal->pipe, 0)
			 : uv_tcp_init(listener->net->loop, &refusal->tcp);
	if (result < 0) {
		free(refusal);
		turns_wait(&listener->asker);
		return;
	}
	refusal->handle.data = refusal;
	uv_accept(&listener->stream, &refusal->stream);
	uv_close(&refusal->handle, on_refusal_closed);
}

static void let_in(struct listener *listener)
{
	struct net *net = listener->net;
	struct connection *connection;
	int result;

	/* On a Unix socket nobody has more than its share to close. */
	if (net->open_count >= net->options.connections_max &&
	    !listener->is_unix && net->ending != NULL)
		connection_drop(net->ending, net->ending->reason);
	if (net->open_count >= net->options.connections_max) {
		refuse(listener);
		return;
	}
	connection = connection_create(net, listener->is_unix);
	connection->is_accepted = true;
	result = connection_stream_init(connection);
	if (result == 0)
		result = uv_accept(&listener->stream, &connection->stream);
	if (result < 0)
		connection_drop(connection, result);
	else
		connection_opened(connection);
}

/*
 * libuv asks again and again, as long as somebody connects, and does nothing
 * else meanwhile; but for when one was not accepted: then it waits for that,
 * and asks again in the listener's next turn.
 */
static void on_connection(uv_stream_t *stream, int status)
{
	struct listener *listener = stream->data;

	if (status < 0)
		return;
	if (listener->let_in < NET_TURN_CONNECTIONS) {
		listener->let_in++;
		let_in(listener);
		return;
	}
	turns_wait(&listener->asker);
}

static void on_turn(void *ctx)
{
	struct listener *listener = ctx;

	listener->let_in = 1;
	let_in(listener);
}

static int listener_init(struct net *net, bool is_unix,
			 struct listener **ret_listener,
			 struct fairlead_error *ret_error)
{
	struct listener *listener;
	int result;

	if (net->listener_count == NET_LISTENERS_MAX)
		return error_set(ret_error, -ENOSPC, "at most %d listeners",
				 NET_LISTENERS_MAX);
	listener = &net->listeners[net->listener_count];
	*listener = (struct listener){ .net = net, .is_unix = is_unix };
	result = is_unix ? uv_pipe_init(net->loop, &listener->pipe, 0)
			 : uv_tcp_init(net->loop, &listener->tcp);
	if (result < 0)
		return error_set(ret_error, result, "listener: %s",
				 uv_strerror(result));
	listener->handle.data = listener;
	listener->is_open = true;
	listener->asker = (struct turns_asker){
		.goes_first = true,
		.run = on_turn,
		.ctx = listener,
	};
	turns_join(net->options.turns, &listener->asker, LISTENERS);
	net->listener_count++;
	*ret_listener = listener;
	return 0;
}

static void on_listener_closed(uv_handle_t *handle)
{
	struct listener *listener = handle->data;

	listener->is_open = false;
	net_released(listener->net);
}

static void listener_close(struct listener *listener)
{
	struct stat status;

	if (listener->path != NULL) {
		if (lstat(listener->path, &status) == 0 &&
		    status.st_dev == listener->path_dev &&
		    status.st_ino == listener->path_ino)
			unlink(listener->path);
		free(take_ptr(listener->path));
	}
	turns_leave(&listener->asker);
	if (listener->is_open && !uv_is_closing(&listener->handle))
		uv_close(&listener->handle, on_listener_closed);
}

/* Closes the listener. */
static int cannot_listen(struct listener *listener, const char *where,
			 int result, struct fairlead_error *ret_error)
{
	listener_close(listener);
	return error_set(ret_error, result, "cannot listen on %s: %s%s", where,
			 uv_strerror(result),
			 result == UV_EADDRINUSE
				 ? "; is another fairleadd running?"
				 : "");
}

int net_parse_numeric(const char *address, struct sockaddr_storage *ret_storage,
		      struct fairlead_error *ret_error)
{
	struct sockaddr_storage storage = { 0 };
	struct address parts;
	int result = address_parse(address, &parts, ret_error);

	if (result < 0)
		return result;
	if (uv_ip4_addr(parts.host, parts.port,
			(struct sockaddr_in *)&storage) < 0 &&
	    uv_ip6_addr(parts.host, parts.port,
			(struct sockaddr_in6 *)&storage) < 0)
		return error_set(ret_error, -EINVAL,
				 "address '%s': to listen on, it is numeric",
				 address);
	*ret_storage = storage;
	return 0;
}

static uint16_t bound_port(const uv_tcp_t *tcp)
{
	struct sockaddr_storage storage = { 0 };
	int size = sizeof(storage);

	if (uv_tcp_getsockname(tcp, (struct sockaddr *)&storage, &size) < 0)
		return 0;
	return ntohs(storage.ss_family == AF_INET6
			     ? ((struct sockaddr_in6 *)&storage)->sin6_port
			     : ((struct sockaddr_in *)&storage)->sin_port);
}

int net_listen_tcp(struct net *net, const char *address, uint16_t *ret_port,
		   struct fairlead_error *ret_error)
{
	struct sockaddr_storage storage;
	struct listener *listener;
	int result = net_parse_numeric(address, &storage, ret_error);

	if (result == 0)
		result = listener_init(net, false, &listener, ret_error);
	if (result < 0)
		return result;
	result = uv_tcp_bind(&listener->tcp, (struct sockaddr *)&storage, 0);
	if (result == 0)
		result = uv_listen(&listener->stream, BACKLOG, on_connection);
	if (result < 0)
		return cannot_listen(listener, address, result, ret_error);
	if (ret_port != NULL)
		*ret_port = bound_port(&listener->tcp);
	return 0;
}

static int path_address(const char *path, struct sockaddr_un *ret_address,
			struct fairlead_error *ret_error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (path[0] != '/')
		return error_set(ret_error, -EINVAL,
				 "socket '%s': the path is absolute", path);
	if (strlen(path) >= sizeof(address.sun_path))
		return error_set(ret_error, -ENAMETOOLONG,
				 "socket '%s': a path has at most %zu bytes",
				 path, sizeof(address.sun_path) - 1);
	strcpy(address.sun_path, path);
	*ret_address = address;
	return 0;
}

/* 0 when nothing is there any more. */
static int clear_path(const struct sockaddr_un *address,
		      struct fairlead_error *ret_error)
{
	const char *path = address->sun_path;
	_auto_(closep) int fd = -1;
	struct stat status;

	if (lstat(path, &status) < 0)
		return errno == ENOENT ? 0
				       : error_set(ret_error, -errno, "%s: %s",
						   path, strerror(errno));
	if (!S_ISSOCK(status.st_mode))
		return error_set(ret_error, -EEXIST,
				 "%s: something else than a socket is there",
				 path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(ret_error, -errno, "socket: %s",
				 strerror(errno));
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) ==
		    0 ||
	    errno == EAGAIN)
		return error_set(
			ret_error, -EADDRINUSE,
			"cannot listen on %s: another process does; is "
			"another fairleadd running?",
			path);
	if (errno != ECONNREFUSED)
		return error_set(ret_error, -errno, "%s: %s", path,
				 strerror(errno));
	if (unlink(path) < 0)
		return error_set(ret_error, -errno, "remove stale %s: %s", path,
				 strerror(errno));
	return 0;
}

/* A bound socket with its mode and owner; *ret_fd is the caller's. */
static int bind_path(const struct sockaddr_un *address, mode_t mode, uid_t uid,
		     gid_t gid, int *ret_fd, struct stat *ret_status,
		     struct fairlead_error *ret_error)
{
	const char *path = address->sun_path;
	_auto_(closep) int fd = -1;

	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return error_set(ret_error, -errno, "socket: %s",
				 strerror(errno));
	if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) < 0)
		return error_set(ret_error, -errno, "bind %s: %s", path,
				 strerror(errno));
	if (lchown(path, uid, gid) < 0 || chmod(path, mode) < 0 ||
	    lstat(path, ret_status) < 0) {
		int code = -errno;

		unlink(path);
		return error_set(ret_error, code, "%s: mode and owner: %s",
				 path, strerror(-code));
	}
	*ret_fd = fd;
	fd = -1;
	return 0;
}

int net_listen_unix(struct net *net, const char *path, mode_t mode, uid_t uid,
		    gid_t gid, struct fairlead_error *ret_error)
{
	struct sockaddr_un address;
	struct listener *listener;
	struct stat status;
	_auto_(closep) int fd = -1;
	int result = path_address(path, &address, ret_error);

	if (result == 0)
		result = clear_path(&address, ret_error);
	if (result == 0)
		result = bind_path(&address, mode, uid, gid, &fd, &status,
				   ret_error);
	if (result == 0)
		result = listener_init(net, true, &listener, ret_error);
	if (result < 0)
		return result;
	listener->path_dev = status.st_dev;
	listener->path_ino = status.st_ino;
	listener->path = memory_text(path);
	result = uv_pipe_open(&listener->pipe, fd);
	if (result == 0) {
		fd = -1;
		result = uv_listen(&listener->stream, BACKLOG, on_connection);
	}
	if (result < 0)
		return cannot_listen(listener, path, result, ret_error);
	return 0;
}

void net_listen_stop(struct net *net)
{
	for (size_t i = 0; i < net->listener_count; i++)
		listener_close(&net->listeners[i]);
}
