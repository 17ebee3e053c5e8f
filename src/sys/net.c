/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connections: framing, limits, closing. See net.h for the life cycle.
 *
 * A connection's buffer grows with what was received, never with what a
 * length claims. The time of a frame runs from its first byte, so that
 * trickling does not keep a connection. The closed event is given when libuv
 * has let go of the handles, never from within a call of the owner.
 */
#include "sys/net.h"

#include <assert.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "sys/net_internal.h"

#define READ_SIZE   4096  /* least space that is offered to a read */
#define BUFFER_KEEP 65536 /* an idle connection keeps at most this */
#define KEEPALIVE_S 60    /* of silence, until the kernel asks the peer */

/* Who comes over TCP is another user than who comes by a Unix socket. */
#define OVER_TCP (UINT64_C(1) << 32)

void net_released(struct net *net)
{
	if (!net->is_destroyed || net->connection_count > 0)
		return;
	for (size_t i = 0; i < net->listener_count; i++) {
		if (net->listeners[i].is_open)
			return;
	}
	free(net);
}

static void connection_free(struct connection *connection)
{
	uv_freeaddrinfo(connection->addresses);
	free(connection->bytes);
	free(connection);
}

void connection_released(struct connection *connection)
{
	struct net *net = connection->net;

	assert(connection->pending > 0);
	if (--connection->pending > 0)
		return;
	HASH_DEL(net->connections, connection);
	if (connection->is_announced && !net->is_destroyed)
		net->options.events->closed(net->options.events_ctx,
					    connection->peer,
					    connection->reason);
	connection_free(connection);
	net->connection_count--;
	net_released(net);
}

static void on_timer_closed(uv_handle_t *handle)
{
	connection_released(handle->data);
}

static void on_stream_closed(uv_handle_t *handle)
{
	connection_released(handle->data);
}

void connection_drop(struct connection *connection, int reason)
{
	if (connection->state == CONNECTION_CLOSED)
		return;
	if (connection->state == CONNECTION_ENDING)
		DL_DELETE(connection->net->ending, connection);
	else
		connection->reason = reason;
	connection->state = CONNECTION_CLOSED;
	connection->net->open_count--;
	turns_leave(&connection->asker);
	if (connection->resolve.data != NULL)
		uv_cancel((uv_req_t *)&connection->resolve);
	uv_close((uv_handle_t *)&connection->timer, on_timer_closed);
	if (connection->has_stream)
		uv_close(&connection->handle, on_stream_closed);
}

struct connection *connection_create(struct net *net, bool is_unix)
{
	struct connection *connection = memory_alloc(sizeof(*connection));

	connection->net = net;
	connection->is_unix = is_unix;
	connection->state = CONNECTION_DIALING;
	connection->peer = ++net->peer_last;
	connection->uid = (uid_t)-1;
	connection->pending = 1;
	HASH_ADD(hh, net->connections, peer, sizeof(connection->peer),
		 connection);
	if (!hash_was_added(connection))
		memory_end();
	uv_timer_init(net->loop, &connection->timer);
	connection->timer.data = connection;
	net->connection_count++;
	net->open_count++;
	return connection;
}

int connection_stream_init(struct connection *connection)
{
	uv_loop_t *loop = connection->net->loop;
	int result = connection->is_unix
			     ? uv_pipe_init(loop, &connection->pipe, 0)
			     : uv_tcp_init(loop, &connection->tcp);

	if (result < 0)
		return result;
	connection->handle.data = connection;
	connection->has_stream = true;
	connection->pending++;
	return 0;
}

void connection_timer_start(struct connection *connection, uv_timer_cb callback,
			    uint64_t timeout_ms)
{
	uv_update_time(connection->net->loop);
	uv_timer_start(&connection->timer, callback, timeout_ms, 0);
}

static void on_linger_over(uv_timer_t *timer)
{
	struct connection *connection = timer->data;

	connection_drop(connection, connection->reason);
}

static void on_shutdown(uv_shutdown_t *request, int status)
{
	struct connection *connection = request->data;

	if (status < 0)
		connection_drop(connection, connection->reason);
	connection_released(connection);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer);
static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer);

/* Close gently: the rest goes out, what still comes in is thrown away. */
static void connection_end(struct connection *connection, int reason)
{
	connection->reason = reason;
	connection->state = CONNECTION_ENDING;
	connection->size = 0;
	connection->is_clogged = false;
	turns_wait_end(&connection->asker);
	DL_APPEND(connection->net->ending, connection);
	uv_read_start(&connection->stream, on_alloc, on_read);
	connection->shutdown.data = connection;
	if (uv_shutdown(&connection->shutdown, &connection->stream,
			on_shutdown) < 0) {
		connection_drop(connection, reason);
		return;
	}
	connection->pending++;
	connection_timer_start(connection, on_linger_over,
			       connection->net->options.linger_ms);
}

static void violate(struct connection *connection, int reason)
{
	struct net *net = connection->net;

	if (net->options.events->violated != NULL)
		net->options.events->violated(net->options.events_ctx,
					      connection->peer, reason);
	if (connection->state == CONNECTION_OPEN)
		connection_end(connection, reason);
}

static void on_frame_late(uv_timer_t *timer)
{
	violate(timer->data, -ETIMEDOUT);
}

/* The peer has to read what it was sent, before more is taken from it. */
static bool is_clogged(const struct connection *connection)
{
	size_t most = connection->net->options.clog_bytes;

	return connection->is_held ||
	       (most > 0 &&
		uv_stream_get_write_queue_size(&connection->stream) > most);
}

/* Read no more until it had another turn, or is clogged no more. */
static void connection_wait(struct connection *connection)
{
	connection->is_clogged = is_clogged(connection);
	if (!connection->is_clogged)
		turns_wait(&connection->asker);
}

void connection_flowed(struct connection *connection)
{
	if (connection->state == CONNECTION_OPEN && connection->is_clogged)
		connection_wait(connection);
}

/*
 * Deliver the whole frames in the buffer, but not more than the turn has;
 * return the bytes that they took. The owner may close the connection in any of
 * the calls.
 */
static size_t deliver_frames(struct connection *connection,
			     unsigned int frames_max, bool *ret_is_over)
{
	const struct net_options *options = &connection->net->options;
	size_t at = 0, count = 0;

	*ret_is_over = false;
	while (connection->state == CONNECTION_OPEN &&
	       connection->size - at >= NET_HEADER_SIZE) {
		struct reader reader =
			reader_of(connection->bytes + at, NET_HEADER_SIZE);
		size_t size = read_u32(&reader);

		if (size < NET_FRAME_SIZE_MIN ||
		    size > options->frame_bytes_max) {
			violate(connection, -EMSGSIZE);
			break;
		}
		if (connection->size - at - NET_HEADER_SIZE < size)
			break;
		if (count++ == frames_max || is_clogged(connection)) {
			*ret_is_over = true;
			break;
		}
		options->events->received(
			options->events_ctx, connection->peer,
			connection->bytes + at + NET_HEADER_SIZE, size);
		at += NET_HEADER_SIZE + size;
	}
	return at;
}

static void connection_take(struct connection *connection,
			    unsigned int frames_max)
{
	bool is_begun = uv_is_active((uv_handle_t *)&connection->timer);
	bool is_over;
	size_t taken = deliver_frames(connection, frames_max, &is_over);

	if (connection->state != CONNECTION_OPEN)
		return;
	connection->size -= taken;
	memmove(connection->bytes, connection->bytes + taken, connection->size);
	if (is_over) {
		/* The peer is in time. It is us who let it wait. */
		uv_timer_stop(&connection->timer);
		uv_read_stop(&connection->stream);
		connection_wait(connection);
		return;
	}
	uv_read_start(&connection->stream, on_alloc, on_read);
	if (connection->size == 0) {
		uv_timer_stop(&connection->timer);
		if (connection->capacity > BUFFER_KEEP) {
			free(take_ptr(connection->bytes));
			connection->capacity = 0;
		}
	} else if (!is_begun || taken > 0) {
		connection_timer_start(
			connection, on_frame_late,
			connection->net->options.frame_timeout_ms);
	}
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
	struct connection *connection = handle->data;
	size_t capacity = connection->capacity;

	if (capacity - connection->size < READ_SIZE) {
		capacity = capacity == 0 ? READ_SIZE : 2 * capacity;
		connection->bytes =
			memory_resize(connection->bytes, capacity, 1);
		connection->capacity = capacity;
	}
	*buffer = uv_buf_init((char *)connection->bytes + connection->size,
			      (unsigned int)(capacity - connection->size));
}

static void on_read(uv_stream_t *stream, ssize_t count, const uv_buf_t *buffer)
{
	struct connection *connection = stream->data;

	if (count < 0) {
		connection_drop(connection, count == UV_EOF ? 0 : (int)count);
		return;
	}
	if (connection->state != CONNECTION_OPEN)
		return;
	connection->size += (size_t)count;
	connection_take(connection,
			connection->asker.goes_first ? NET_TURN_FRAMES : 0);
}

static void on_turn(void *ctx)
{
	struct connection *connection = ctx;

	connection_take(connection,
			connection->asker.goes_first ? NET_TURN_FRAMES : 1);
}

static bool goes_first(const struct connection *connection)
{
	const struct net_options *options = &connection->net->options;
	uid_t uid = connection->uid;

	if (!connection->is_accepted)
		return true;
	if (options->events->goes_first != NULL)
		return options->events->goes_first(options->events_ctx, uid);
	return uid == 0 || uid == (uid_t)-1;
}

void connection_join(struct connection *connection)
{
	uid_t uid = connection->uid;

	connection->asker.run = on_turn;
	connection->asker.ctx = connection;
	connection->asker.goes_first = goes_first(connection);
	turns_join(connection->net->options.turns, &connection->asker,
		   connection->is_unix ? uid : OVER_TCP | uid);
}

static void describe_unix(struct connection *connection,
			  struct net_peer_info *info)
{
	struct ucred credentials = { 0 };
	socklen_t size = sizeof(credentials);
	uv_os_fd_t fd;

	if (uv_fileno(&connection->handle, &fd) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0)
		return;
	connection->uid = credentials.uid;
	info->uid = credentials.uid;
	info->gid = credentials.gid;
	info->pid = credentials.pid;
	snprintf(info->address, sizeof(info->address), "uid %u pid %d",
		 credentials.uid, credentials.pid);
}

static void describe_tcp(struct connection *connection,
			 struct net_peer_info *info)
{
	struct sockaddr_storage storage = { 0 };
	struct sockaddr_storage local = { 0 };
	int local_size = sizeof(local);
	const struct sockaddr *address = (const struct sockaddr *)&storage;
	int size = sizeof(storage);
	char host[INET6_ADDRSTRLEN] = "";
	in_port_t port;

	if (uv_tcp_getpeername(&connection->tcp, (struct sockaddr *)&storage,
			       &size) < 0)
		return;
	if (uv_tcp_getsockname(&connection->tcp, (struct sockaddr *)&local,
			       &local_size) == 0)
		uv_ip_name((const struct sockaddr *)&local, info->local,
			   sizeof(info->local));
	uv_ip_name(address, host, sizeof(host));
	port = address->sa_family == AF_INET6
		       ? ((const struct sockaddr_in6 *)address)->sin6_port
		       : ((const struct sockaddr_in *)address)->sin_port;
	snprintf(info->address, sizeof(info->address),
		 address->sa_family == AF_INET6 ? "[%s]:%u" : "%s:%u", host,
		 ntohs(port));
}

/* So that nobody keeps root out, nor one user all others. */
static bool has_capacity(const struct connection *connection)
{
	const struct net *net = connection->net;
	const struct net_options *options = &net->options;

	if (connection->uid == 0)
		return true;
	if (net->open_count + options->root_connections >
	    options->connections_max)
		return false;
	return options->user_connections_max == 0 ||
	       turns_of_user(&connection->asker) <=
		       options->user_connections_max;
}

int connection_read(struct connection *connection)
{
	int result = uv_read_start(&connection->stream, on_alloc, on_read);

	if (result < 0)
		return result;
	connection->state = CONNECTION_OPEN;
	connection->is_announced = true;
	return 0;
}

void connection_opened(struct connection *connection)
{
	const struct net_options *options = &connection->net->options;
	struct net_peer_info info = {
		.is_unix = connection->is_unix,
		.uid = (uid_t)-1,
		.gid = (gid_t)-1,
		.address = "unknown",
	};
	int result;

	uv_timer_stop(&connection->timer);
	if (connection->is_unix) {
		describe_unix(connection, &info);
		connection_join(connection);
		if (connection->is_accepted && !has_capacity(connection)) {
			connection_drop(connection, -EUSERS);
			return;
		}
	} else {
		uv_tcp_nodelay(&connection->tcp, 1);
		uv_tcp_keepalive(&connection->tcp, 1, KEEPALIVE_S);
		describe_tcp(connection, &info);
		connection_join(connection);
	}
	result = connection_read(connection);
	if (result < 0) {
		connection_drop(connection, result);
		return;
	}
	options->events->opened(options->events_ctx, connection->peer, &info);
}

struct connection *net_find(struct net *net, uint64_t peer)
{
	struct connection *connection;

	HASH_FIND(hh, net->connections, &peer, sizeof(peer), connection);
	return connection;
}

static void seam_close(void *ctx, uint64_t peer)
{
	struct connection *connection = net_find(ctx, peer);

	if (connection == NULL)
		return;
	if (connection->state == CONNECTION_OPEN)
		connection_end(connection, 0);
	else if (connection->state == CONNECTION_DIALING)
		connection_drop(connection, 0);
}

static bool seam_is_over(void *ctx, uint64_t peer)
{
	struct connection *connection = net_find(ctx, peer);
	struct pollfd poll_fd = { .events = POLLRDHUP };

	if (connection == NULL || connection->state != CONNECTION_OPEN)
		return true;
	return uv_fileno(&connection->handle, &poll_fd.fd) == 0 &&
	       poll(&poll_fd, 1, 0) == 1;
}

size_t net_identify(struct net *net, uint64_t peer, uid_t uid)
{
	struct connection *connection = net_find(net, peer);
	bool was_waiting;

	if (connection == NULL || connection->state != CONNECTION_OPEN)
		return 0;
	was_waiting = connection->asker.is_waiting;
	turns_leave(&connection->asker);
	connection->uid = uid;
	connection_join(connection);
	if (was_waiting)
		turns_wait(&connection->asker);
	return turns_of_user(&connection->asker);
}

void net_hold(struct net *net, uint64_t peer, bool is_held)
{
	struct connection *connection = net_find(net, peer);

	if (connection == NULL)
		return;
	connection->is_held = is_held;
	connection_flowed(connection);
}

static const struct net_ops seam_ops = {
	.send = net_send,
	.close = seam_close,
	.is_over = seam_is_over,
};

struct net_seam net_seam(struct net *net)
{
	return (struct net_seam){ .ops = &seam_ops, .ctx = net };
}

size_t net_connection_count(const struct net *net)
{
	return net->connection_count;
}

struct net *net_create(uv_loop_t *loop, const struct net_options *options)
{
	struct net *net = memory_alloc(sizeof(*net));

	assert(options->connections_max > 0 && options->events != NULL &&
	       options->frame_bytes_max <= NET_FRAME_BYTES_MOST);
	net->loop = loop;
	net->options = *options;
	if (net->options.frame_bytes_max == 0)
		net->options.frame_bytes_max = NET_FRAME_BYTES_MAX;
	if (net->options.queue_bytes_max == 0)
		net->options.queue_bytes_max = NET_QUEUE_BYTES_MAX;
	if (net->options.frame_timeout_ms == 0)
		net->options.frame_timeout_ms = NET_FRAME_TIMEOUT_MS;
	if (net->options.linger_ms == 0)
		net->options.linger_ms = NET_LINGER_MS;
	if (net->options.turns == NULL) {
		net->turns_owned = turns_create(loop);
		net->options.turns = net->turns_owned;
	}
	return net;
}

void net_destroy(struct net *net)
{
	struct connection *connection;
	struct connection *next;

	if (net == NULL)
		return;
	net_listen_stop(net);
	net->is_destroyed = true;
	HASH_ITER (hh, net->connections, connection, next) {
		if (connection->resolve.data != NULL)
			uv_cancel((uv_req_t *)&connection->resolve);
		connection_drop(connection, 0);
	}
	turns_destroy(net->turns_owned);
	net_released(net);
}
