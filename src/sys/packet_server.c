/* SPDX-License-Identifier: BSD-3-Clause */
#include "sys/packet_server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "sys/turns.h"

/* Connections that are taken in one turn. Each can cost another one. */
#define ACCEPTS_AT_ONCE 64

/* The one that was served longest ago is first. */
struct sys_client {
	struct sys_client *prev, *next;
	struct packet_server *server;
	struct turns_asker asker;
	uv_poll_t poll;
	int fd;
	void *owned; /* the owner's */
};

struct packet_server {
	uv_poll_t listener;
	uv_loop_t *loop;
	struct turns *turns;
	int listen_fd;
	size_t request_max;
	const struct packet_server_ops *ops;
	void *ctx;
	const struct log *log;
	struct sys_client *list;
	const struct sys_client *served; /* whose turn it is */
	unsigned int count, max;
};

/* --- an end --- */

static void free_client(uv_handle_t *handle)
{
	struct sys_client *client = handle->data;

	close(client->fd);
	free(client);
}

static void close_client(struct sys_client *client)
{
	struct packet_server *server = client->server;

	DL_DELETE(server->list, client);
	server->count--;
	turns_leave(&client->asker);
	server->ops->close(server->ctx, client->owned);
	uv_close((uv_handle_t *)&client->poll, free_client);
}

/* --- turns --- */

static void on_ready(uv_poll_t *poll, int status, int events);

static void serve(void *ctx)
{
	struct sys_client *client = ctx;
	struct packet_server *server = client->server;
	uint8_t bytes[PACKET_REQUEST_MAX];
	ssize_t size;
	bool goes_on = false;

	DL_DELETE(server->list, client);
	DL_APPEND(server->list, client);
	uv_poll_start(&client->poll, UV_READABLE, on_ready);
	size = recv(client->fd, bytes, server->request_max,
		    MSG_DONTWAIT | MSG_TRUNC);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	server->served = client;
	if (size > 0 && (size_t)size > server->request_max)
		server->ops->refuse(client->fd, -EMSGSIZE);
	else if (size > 0)
		goes_on = server->ops->serve(server->ctx, client->owned,
					     client->fd, bytes, (size_t)size);
	server->served = NULL;
	if (!goes_on)
		close_client(client);
	explicit_bzero(bytes, size < 0 || (size_t)size > sizeof(bytes)
				      ? sizeof(bytes)
				      : (size_t)size);
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct sys_client *client = poll->data;

	if (status < 0) {
		close_client(client);
		return;
	}
	uv_poll_stop(poll);
	turns_wait(&client->asker);
}

/* --- who comes --- */

/* Of the user with the most, the one that was served longest ago, or NULL. */
static struct sys_client *find_largest(const struct packet_server *server)
{
	struct sys_client *client, *largest = NULL;

	DL_FOREACH (server->list, client) {
		if (!client->asker.goes_first &&
		    (largest == NULL || turns_of_user(&client->asker) >
						turns_of_user(&largest->asker)))
			largest = client;
	}
	return largest;
}

/* May this user have it, too. -EUSERS. */
static int make_room(struct packet_server *server,
		     const struct sys_client *client)
{
	bool is_root = client->asker.goes_first;
	size_t count = turns_of_user(&client->asker);
	struct sys_client *largest;

	if (!is_root && count > PACKET_CLIENTS_UID_MAX)
		return -EUSERS;
	if (server->count < server->max)
		return 0;
	largest = find_largest(server);
	if (largest == NULL ||
	    (!is_root && turns_of_user(&largest->asker) <= count))
		return -EUSERS;
	server->ops->refuse(largest->fd, -EUSERS);
	close_client(largest);
	return 0;
}

static int open_client(struct packet_server *server, struct sys_client *client)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);
	int result;

	if (getsockopt(client->fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	client->asker.goes_first = peer.uid == 0 || peer.uid == geteuid();
	turns_join(server->turns, &client->asker, peer.uid);
	result = make_room(server, client);
	if (result == 0)
		result = server->ops->open(server->ctx, client->fd, &peer,
					   &client->owned);
	if (result < 0)
		server->ops->refuse(client->fd, result);
	return result;
}

/* Takes the descriptor in any case. */
static int add_client(struct packet_server *server, int fd)
{
	struct sys_client *client = memory_alloc(sizeof(*client));
	int result;

	client->server = server;
	client->fd = fd;
	client->asker.run = serve;
	client->asker.ctx = client;
	result = open_client(server, client);
	if (result == 0) {
		result = uv_poll_init(server->loop, &client->poll, fd);
		if (result < 0)
			server->ops->close(server->ctx, client->owned);
	}
	if (result < 0) {
		turns_leave(&client->asker);
		close(fd);
		free(client);
		return result;
	}
	client->poll.data = client;
	DL_APPEND(server->list, client);
	server->count++;
	uv_poll_start(&client->poll, UV_READABLE, on_ready);
	return 0;
}

static void on_connect(uv_poll_t *poll, int status, int events)
{
	struct packet_server *server = poll->data;

	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(server->listen_fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		int result;

		if (fd < 0)
			return;
		result = add_client(server, fd);
		if (result < 0)
			log_debug(server->log, "client refused error=%s",
				  strerror(-result));
	}
}

/* --- all of them --- */

void packet_server_cut(struct packet_server *server)
{
	struct sys_client *client, *next;

	DL_FOREACH_SAFE (server->list, client, next) {
		if (client != server->served)
			close_client(client);
	}
}

static void free_server(uv_handle_t *handle)
{
	struct packet_server *server = handle->data;

	close(server->listen_fd);
	free(server);
}

void packet_server_destroy(struct packet_server *server)
{
	if (server == NULL)
		return;
	packet_server_cut(server);
	turns_destroy(server->turns);
	uv_close((uv_handle_t *)&server->listener, free_server);
}

int packet_server_create(uv_loop_t *loop, int listen_fd,
			 unsigned int client_max, size_t request_max,
			 const struct packet_server_ops *ops, void *ctx,
			 const struct log *log,
			 struct packet_server **ret_server)
{
	struct packet_server *server = memory_alloc(sizeof(*server));
	int result = uv_poll_init(loop, &server->listener, listen_fd);

	if (result < 0) {
		close(listen_fd);
		free(server);
		return result;
	}
	server->loop = loop;
	server->turns = turns_create(loop);
	server->listener.data = server;
	server->listen_fd = listen_fd;
	server->request_max = request_max;
	server->ops = ops;
	server->ctx = ctx;
	server->log = log;
	server->max = client_max;
	uv_poll_start(&server->listener, UV_READABLE, on_connect);
	*ret_server = server;
	return 0;
}
