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

/* Connections that are taken in one turn. Each can cost another one. */
#define ACCEPTS_AT_ONCE 64

struct user {
	struct user *prev, *next;
	uint32_t uid;
	unsigned int client_count; /* never 0 */
	bool had_turn;
};

/* The one that was served longest ago is first. */
struct client {
	struct client *prev, *next;
	struct packet_server *server;
	struct user *user;
	uv_poll_t poll;
	int fd;
	void *owned; /* the owner's */
	bool is_ready;
};

struct packet_server {
	uv_poll_t listener;
	uv_check_t turns;
	int listen_fd;
	size_t request_max;
	const struct packet_server_ops *ops;
	void *ctx;
	const struct log *log;
	struct client *list;
	const struct client *served; /* whose turn it is */
	struct user *users;
	unsigned int count, max;
	unsigned int handles; /* that are not closed yet */
};

/* --- users --- */

static bool is_root(uint32_t uid)
{
	return uid == 0 || uid == geteuid();
}

static struct user *find_user(const struct packet_server *server, uint32_t uid)
{
	struct user *user;

	DL_FOREACH (server->users, user) {
		if (user->uid == uid)
			return user;
	}
	return NULL;
}

static struct user *join_user(struct packet_server *server, uint32_t uid)
{
	struct user *user = find_user(server, uid);

	if (user == NULL) {
		user = memory_alloc(sizeof(*user));
		user->uid = uid;
		DL_APPEND(server->users, user);
	}
	user->client_count++;
	return user;
}

static void leave_user(struct packet_server *server, struct user *user)
{
	if (--user->client_count > 0)
		return;
	DL_DELETE(server->users, user);
	free(user);
}

/* --- an end --- */

static void free_client(uv_handle_t *handle)
{
	struct client *client = handle->data;

	close(client->fd);
	free(client);
}

static void close_client(struct client *client)
{
	struct packet_server *server = client->server;

	client->is_ready = false; /* it may be the next in a turn */
	DL_DELETE(server->list, client);
	server->count--;
	leave_user(server, client->user);
	server->ops->close(server->ctx, client->owned);
	uv_close((uv_handle_t *)&client->poll, free_client);
}

/* --- turns --- */

static void serve(struct client *client)
{
	struct packet_server *server = client->server;
	uint8_t bytes[PACKET_REQUEST_MAX];
	ssize_t size = recv(client->fd, bytes, server->request_max,
			    MSG_DONTWAIT | MSG_TRUNC);
	bool goes_on = false;

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

/* Who has no turn now is ready again when the loop looks next. */
static void on_turn(uv_check_t *check)
{
	struct packet_server *server = check->data;
	struct client *client, *next;
	struct user *user;

	DL_FOREACH (server->users, user) {
		user->had_turn = false;
	}
	DL_FOREACH_SAFE (server->list, client, next) {
		bool has_turn = client->is_ready && !client->user->had_turn;

		client->is_ready = false;
		if (!has_turn)
			continue;
		client->user->had_turn = !is_root(client->user->uid);
		DL_DELETE(server->list, client);
		DL_APPEND(server->list, client);
		serve(client);
	}
}

static void on_ready(uv_poll_t *poll, int status, int events)
{
	struct client *client = poll->data;

	if (status < 0)
		close_client(client);
	else
		client->is_ready = true;
}

/* --- who comes --- */

static struct user *find_largest(const struct packet_server *server)
{
	struct user *user, *largest = NULL;

	DL_FOREACH (server->users, user) {
		if (!is_root(user->uid) &&
		    (largest == NULL ||
		     user->client_count > largest->client_count))
			largest = user;
	}
	return largest;
}

/* May this user have one more. -EUSERS. */
static int make_room(struct packet_server *server, uint32_t uid)
{
	const struct user *user = find_user(server, uid);
	unsigned int count = user != NULL ? user->client_count : 0;
	const struct user *largest;
	struct client *client;

	if (!is_root(uid) && count >= PACKET_CLIENTS_UID_MAX)
		return -EUSERS;
	if (server->count < server->max)
		return 0;
	largest = find_largest(server);
	if (largest == NULL ||
	    (!is_root(uid) && largest->client_count <= count + 1))
		return -EUSERS;
	DL_FOREACH (server->list, client) {
		if (client->user == largest)
			break;
	}
	server->ops->refuse(client->fd, -EUSERS);
	close_client(client);
	return 0;
}

static int open_client(struct packet_server *server, int fd,
		       struct ucred *ret_peer, void **ret_owned)
{
	socklen_t size = sizeof(*ret_peer);
	int result;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &size) < 0)
		return -errno;
	result = make_room(server, ret_peer->uid);
	if (result == 0)
		result =
			server->ops->open(server->ctx, fd, ret_peer, ret_owned);
	return result;
}

/* Takes the descriptor in any case. */
static int add_client(struct packet_server *server, int fd)
{
	_auto_(closep) int fd_owned = fd;
	struct client *client;
	struct ucred peer;
	void *owned = NULL;
	int result = open_client(server, fd, &peer, &owned);

	if (result < 0) {
		server->ops->refuse(fd, result);
		return result;
	}
	client = memory_alloc(sizeof(*client));
	result = uv_poll_init(server->turns.loop, &client->poll, fd);
	if (result < 0) {
		server->ops->close(server->ctx, owned);
		free(client);
		return result;
	}
	client->user = join_user(server, peer.uid);
	client->server = server;
	client->fd = fd;
	client->owned = owned;
	fd_owned = -1;
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
	struct client *client, *next;

	DL_FOREACH_SAFE (server->list, client, next) {
		if (client != server->served)
			close_client(client);
	}
}

static void free_server(uv_handle_t *handle)
{
	struct packet_server *server = handle->data;

	if (--server->handles > 0)
		return;
	close(server->listen_fd);
	free(server);
}

void packet_server_destroy(struct packet_server *server)
{
	if (server == NULL)
		return;
	packet_server_cut(server);
	uv_close((uv_handle_t *)&server->listener, free_server);
	uv_close((uv_handle_t *)&server->turns, free_server);
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
	uv_check_init(loop, &server->turns);
	server->listener.data = server;
	server->turns.data = server;
	server->handles = 2;
	server->listen_fd = listen_fd;
	server->request_max = request_max;
	server->ops = ops;
	server->ctx = ctx;
	server->log = log;
	server->max = client_max;
	uv_check_start(&server->turns, on_turn);
	uv_poll_start(&server->listener, UV_READABLE, on_connect);
	*ret_server = server;
	return 0;
}
