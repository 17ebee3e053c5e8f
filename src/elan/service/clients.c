/* SPDX-License-Identifier: BSD-3-Clause */
#include "elan/service/clients.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "elan/service/identity.h"
#include "elan/service/proc.h"
#include "elan/wire/wire.h"

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
	struct clients *clients;
	struct user *user;
	uv_poll_t poll;
	int fd;
	int pidfd; /* of who connected */
	struct caller caller;
	bool is_ready;
};

struct clients {
	uv_poll_t listener;
	uv_check_t turns;
	int listen_fd;
	clients_serve serve;
	void *ctx;
	const struct log *log;
	struct client *list;
	struct user *users;
	unsigned int count, max;
	unsigned int handles; /* that are not closed yet */
};

/* --- users --- */

static struct user *find_user(const struct clients *clients, uint32_t uid)
{
	struct user *user;

	DL_FOREACH (clients->users, user) {
		if (user->uid == uid)
			return user;
	}
	return NULL;
}

static struct user *join_user(struct clients *clients, uint32_t uid)
{
	struct user *user = find_user(clients, uid);

	if (user == NULL) {
		user = calloc(1, sizeof(*user));
		if (user == NULL)
			return NULL;
		user->uid = uid;
		DL_APPEND(clients->users, user);
	}
	user->client_count++;
	return user;
}

static void leave_user(struct clients *clients, struct user *user)
{
	if (--user->client_count > 0)
		return;
	DL_DELETE(clients->users, user);
	free(user);
}

/* --- an end --- */

bool clients_refuse(int fd, int result)
{
	struct writer packet = { 0 };
	bool was_sent;

	wire_reply_encode(WIRE_NONE, result, &packet);
	was_sent = packet.result == 0 &&
		   send(fd, packet.data, packet.size,
			MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)packet.size;
	writer_fini(&packet);
	return was_sent;
}

static void free_client(uv_handle_t *handle)
{
	struct client *client = handle->data;

	closep(&client->fd);
	closep(&client->pidfd);
	free(client);
}

static void close_client(struct client *client)
{
	struct clients *clients = client->clients;

	DL_DELETE(clients->list, client);
	clients->count--;
	leave_user(clients, client->user);
	uv_close((uv_handle_t *)&client->poll, free_client);
}

/* --- turns --- */

static void serve(struct client *client)
{
	struct clients *clients = client->clients;
	uint8_t bytes[WIRE_REQUEST_MAX];
	ssize_t size = recv(client->fd, bytes, sizeof(bytes),
			    MSG_DONTWAIT | MSG_TRUNC);

	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0 || proc_has_ended(client->pidfd)) {
		close_client(client);
		return;
	}
	if ((size_t)size > sizeof(bytes)) {
		clients_refuse(client->fd, -EMSGSIZE);
		close_client(client);
		return;
	}
	if (!clients->serve(clients->ctx, client->fd, &client->caller, bytes,
			    (size_t)size))
		close_client(client);
	explicit_bzero(bytes, (size_t)size);
}

/* Who has no turn now is ready again when the loop looks next. */
static void on_turn(uv_check_t *check)
{
	struct clients *clients = check->data;
	struct client *client, *next;
	struct user *user;

	DL_FOREACH (clients->users, user) {
		user->had_turn = false;
	}
	DL_FOREACH_SAFE (clients->list, client, next) {
		bool has_turn = client->is_ready && !client->user->had_turn;

		client->is_ready = false;
		if (!has_turn)
			continue;
		client->user->had_turn = client->user->uid != 0;
		DL_DELETE(clients->list, client);
		DL_APPEND(clients->list, client);
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

static struct user *find_largest(const struct clients *clients)
{
	struct user *user, *largest = NULL;

	DL_FOREACH (clients->users, user) {
		if (user->uid != 0 &&
		    (largest == NULL ||
		     user->client_count > largest->client_count))
			largest = user;
	}
	return largest;
}

/* May this user have one more. -EUSERS. */
static int make_room(struct clients *clients, uint32_t uid)
{
	const struct user *user = find_user(clients, uid);
	unsigned int count = user != NULL ? user->client_count : 0;
	const struct user *largest;
	struct client *client;

	if (uid != 0 && count >= CLIENTS_UID_MAX)
		return -EUSERS;
	if (clients->count < clients->max)
		return 0;
	largest = find_largest(clients);
	if (largest == NULL || (uid != 0 && largest->client_count <= count + 1))
		return -EUSERS;
	DL_FOREACH (clients->list, client) {
		if (client->user == largest)
			break;
	}
	clients_refuse(client->fd, -EUSERS);
	close_client(client);
	return 0;
}

/* Takes the descriptor in any case. */
static int add_client(struct clients *clients, int fd)
{
	_auto_(freep) struct client *client = NULL;
	_auto_(closep) int fd_owned = fd;
	_auto_(closep) int pidfd = -1;
	int result;

	client = calloc(1, sizeof(*client));
	if (client == NULL)
		return -ENOMEM;
	result = identity_of(fd, &client->caller, &pidfd);
	if (result == 0)
		result = make_room(clients, client->caller.uid);
	if (result < 0) {
		clients_refuse(fd, result);
		return result;
	}
	client->user = join_user(clients, client->caller.uid);
	if (client->user == NULL)
		return -ENOMEM;
	result = uv_poll_init(clients->turns.loop, &client->poll, fd);
	if (result < 0) {
		leave_user(clients, client->user);
		return result;
	}
	client->clients = clients;
	client->fd = fd;
	client->pidfd = pidfd;
	fd_owned = -1;
	pidfd = -1;
	client->poll.data = client;
	DL_APPEND(clients->list, client);
	clients->count++;
	uv_poll_start(&take_ptr(client)->poll, UV_READABLE, on_ready);
	return 0;
}

static void on_connect(uv_poll_t *poll, int status, int events)
{
	struct clients *clients = poll->data;

	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int fd = accept4(clients->listen_fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);
		int result;

		if (fd < 0)
			return;
		result = add_client(clients, fd);
		if (result < 0)
			log_debug(clients->log, "client refused error=%s",
				  strerror(-result));
	}
}

/* --- all of them --- */

static void free_clients(uv_handle_t *handle)
{
	struct clients *clients = handle->data;

	if (--clients->handles > 0)
		return;
	closep(&clients->listen_fd);
	free(clients);
}

void clients_destroy(struct clients *clients)
{
	struct client *client, *next;

	if (clients == NULL)
		return;
	DL_FOREACH_SAFE (clients->list, client, next) {
		close_client(client);
	}
	uv_close((uv_handle_t *)&clients->listener, free_clients);
	uv_close((uv_handle_t *)&clients->turns, free_clients);
}

int clients_create(uv_loop_t *loop, int listen_fd, unsigned int client_max,
		   clients_serve serve_call, void *ctx, const struct log *log,
		   struct clients **ret_clients)
{
	_auto_(freep) struct clients *clients = calloc(1, sizeof(*clients));
	_auto_(closep) int fd = listen_fd;
	int result;

	if (clients == NULL)
		return -ENOMEM;
	result = uv_poll_init(loop, &clients->listener, listen_fd);
	if (result < 0)
		return result;
	uv_check_init(loop, &clients->turns);
	clients->listener.data = clients;
	clients->turns.data = clients;
	clients->handles = 2;
	clients->listen_fd = listen_fd;
	fd = -1;
	clients->serve = serve_call;
	clients->ctx = ctx;
	clients->log = log;
	clients->max = client_max;
	uv_check_start(&clients->turns, on_turn);
	uv_poll_start(&clients->listener, UV_READABLE, on_connect);
	*ret_clients = take_ptr(clients);
	return 0;
}
