/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Dialling: look the name up, then try its addresses one after the other
 * within NET_DIAL_TIMEOUT_MS for all of it. Each try needs a new stream, made
 * when the loop has let go of the one before.
 */
#include "sys/net.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#include "sys/net_internal.h"

static void try_address(struct connection *connection);

static void on_try_closed(uv_handle_t *handle)
{
	struct connection *connection = handle->data;

	if (connection->state == CONNECTION_DIALING)
		try_address(connection);
	connection_released(connection);
}

static void on_connected(uv_connect_t *request, int status)
{
	struct connection *connection = request->data;

	if (connection->state == CONNECTION_DIALING) {
		if (status == 0) {
			connection_opened(connection);
		} else if (connection->address == NULL) {
			connection_drop(connection, status);
		} else {
			connection->has_stream = false;
			uv_close(&connection->handle, on_try_closed);
		}
	}
	connection_released(connection);
}

/* One address a stream; the next one waits in connection->address. */
static void try_address(struct connection *connection)
{
	const struct addrinfo *address = connection->address;
	int result = connection_stream_init(connection);

	if (result == 0) {
		connection->connect.data = connection;
		result = uv_tcp_connect(&connection->connect, &connection->tcp,
					address->ai_addr, on_connected);
	}
	if (result < 0) {
		connection_drop(connection, result);
		return;
	}
	connection->address = address->ai_next;
	connection->pending++;
}

static void on_resolved(uv_getaddrinfo_t *request, int status,
			struct addrinfo *addresses)
{
	struct connection *connection = request->data;

	request->data = NULL;
	connection->addresses = addresses;
	connection->address = addresses;
	if (connection->state == CONNECTION_DIALING) {
		if (status < 0)
			connection_drop(connection, -EHOSTUNREACH);
		else
			try_address(connection);
	}
	connection_released(connection);
}

static void on_dial_late(uv_timer_t *timer)
{
	connection_drop(timer->data, -ETIMEDOUT);
}

static int dial_tcp(struct connection *connection,
		    const struct address *address)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char port[8];
	int result;

	snprintf(port, sizeof(port), "%u", address->port);
	connection->resolve.data = connection;
	result = uv_getaddrinfo(connection->net->loop, &connection->resolve,
				on_resolved, address->host, port, &hints);
	if (result < 0)
		connection->resolve.data = NULL;
	else
		connection->pending++;
	return result;
}

static int dial_unix(struct connection *connection, const char *path)
{
	int result = connection_stream_init(connection);

	if (result < 0)
		return result;
	connection->connect.data = connection;
	uv_pipe_connect(&connection->connect, &connection->pipe, path,
			on_connected);
	connection->pending++;
	return 0;
}

int net_dial(struct net *net, const char *address, uint64_t *ret_peer,
	     struct fairlead_error *ret_error)
{
	bool is_unix = address[0] == '/';
	struct address parsed = { 0 };
	struct connection *connection;
	int result = 0;

	if (is_unix &&
	    strlen(address) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return error_set(ret_error, -EINVAL,
				 "socket '%s': the path is too long", address);
	if (!is_unix)
		result = address_parse(address, &parsed, ret_error);
	if (result < 0)
		return result;
	if (net->connection_count >= net->options.connections_max)
		return error_set(ret_error, -EMFILE, "at most %zu connections",
				 net->options.connections_max);
	connection = connection_create(net, is_unix);
	connection->is_announced = true;
	*ret_peer = connection->peer;
	connection_timer_start(connection, on_dial_late, NET_DIAL_TIMEOUT_MS);
	result = is_unix ? dial_unix(connection, address)
			 : dial_tcp(connection, &parsed);
	if (result < 0)
		connection_drop(connection, result);
	return 0;
}

int net_adopt(struct net *net, int fd, uint64_t *ret_peer)
{
	struct connection *connection = connection_create(net, true);
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int result = copy < 0 ? -errno : connection_stream_init(connection);

	if (result == 0)
		result = uv_pipe_open(&connection->pipe, copy);
	if (result < 0) {
		if (copy >= 0)
			close(copy);
		connection_drop(connection, result);
		return result;
	}
	connection_join(connection);
	result = connection_read(connection);
	if (result < 0) {
		connection_drop(connection, result);
		return result;
	}
	*ret_peer = connection->peer;
	return 0;
}
