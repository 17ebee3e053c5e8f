/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sockets in, sockets out; what requests mean is dispatch's. A client is who
 * it was when it connected (SO_PEERCRED: effective ids). When its last
 * descriptor closes, by whatever death, the model lets go of its device and
 * LNIs. A reboot cuts everybody off except the one who asked for it.
 */
#include "emu/cxi/daemon/server.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>
#include <uv.h>

#include "sys/descriptors.h"

struct connection {
	struct connection *prev;
	struct connection *next;
	struct server *server;
	uv_poll_t poll;
	int fd;
	struct session session;
	struct answer answer;
	struct writer packet; /* what is being sent */
	bool is_answering;
	bool closes; /* after the answer */
};

struct server {
	uv_loop_t loop;
	uv_poll_t listener;
	uv_signal_t signals[2];
	int listen_fd;
	bool owner_is_root;
	struct softnic *softnic;
	struct rundir *rundir;
	const struct clock_seam *clock;
	const struct log *log;
	struct connection *connections;
	unsigned int connection_count;
	unsigned int connection_max;
	const struct connection *current; /* whose request is being done */
};

static void on_event(uv_poll_t *poll, int status, int events);

static void free_connection(uv_handle_t *handle)
{
	struct connection *connection = handle->data;

	closep(&connection->fd);
	answer_fini(&connection->answer);
	writer_fini(&connection->packet);
	free(connection);
}

static void advance(struct server *server)
{
	softnic_advance(server->softnic, clock_monotonic_ms(server->clock));
}

static void close_connection(struct connection *connection)
{
	struct server *server = connection->server;

	advance(server);
	DL_DELETE(server->connections, connection);
	server->connection_count--;
	session_fini(&connection->session);
	uv_close((uv_handle_t *)&connection->poll, free_connection);
}

static uint32_t netns_of(pid_t pid)
{
	char path[40];
	struct stat status;

	snprintf(path, sizeof(path), "/proc/%ld/ns/net", (long)pid);
	return stat(path, &status) == 0 ? (uint32_t)status.st_ino : 0;
}

static int identify(const struct server *server, int fd,
		    struct session *session)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	session->is_owner = peer.uid == 0 || peer.uid == geteuid();
	session->caller = (struct softnic_caller){
		.uid = peer.uid,
		.gid = peer.gid,
		.pid = peer.pid,
		.netns = netns_of(peer.pid),
		.is_privileged = peer.uid == 0 || (server->owner_is_root &&
						   peer.uid == geteuid()),
	};
	return 0;
}

static bool has_room(const struct server *server, const struct session *session)
{
	const struct connection *other;
	unsigned int of_uid = 0;

	if (server->connection_count >= server->connection_max)
		return false;
	if (session->is_owner)
		return true;
	DL_FOREACH (server->connections, other) {
		of_uid += other->session.caller.uid == session->caller.uid;
	}
	return of_uid < SERVER_CLIENT_UID_MAX;
}

/* Send packets of the answer. 1: all sent; 0: the socket is full. */
static int send_answer(struct connection *connection)
{
	for (;;) {
		struct writer *packet = &connection->packet;

		if (packet->size == 0) {
			if (connection->answer.is_done)
				return 1;
			answer_next(&connection->answer, packet);
			if (packet->result < 0)
				return packet->result;
		}
		if (send(connection->fd, packet->data, packet->size,
			 MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			return errno == EAGAIN ? 0 : -errno;
		packet->size = 0;
	}
}

/* Go on with the answer and then wait for what is next, or close. */
static void progress(struct connection *connection)
{
	int result = send_answer(connection);

	if (result < 0 || (result == 1 && connection->closes)) {
		close_connection(connection);
		return;
	}
	connection->is_answering = result == 0;
	uv_poll_start(&connection->poll,
		      connection->is_answering ? UV_WRITABLE : UV_READABLE,
		      on_event);
}

static void begin_answer(struct connection *connection)
{
	answer_fini(&connection->answer);
	connection->answer = (struct answer){ 0 };
}

static void serve(struct connection *connection)
{
	struct server *server = connection->server;
	uint8_t packet[WIRE_REQUEST_MAX];
	ssize_t size;

	size = recv(connection->fd, packet, sizeof(packet),
		    MSG_DONTWAIT | MSG_TRUNC);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size <= 0) {
		close_connection(connection);
		return;
	}
	begin_answer(connection);
	if ((size_t)size > sizeof(packet)) {
		connection->answer.result = -EMSGSIZE;
		connection->closes = true;
	} else {
		advance(server);
		server->current = connection;
		connection->closes =
			dispatch(&connection->session, packet, (size_t)size,
				 &connection->answer) < 0;
		server->current = NULL;
	}
	progress(connection);
}

static void on_event(uv_poll_t *poll, int status, int events)
{
	struct connection *connection = poll->data;

	if (status < 0)
		close_connection(connection);
	else if (connection->is_answering)
		progress(connection);
	else
		serve(connection);
}

static int nic_changed(void *ctx, uint32_t nic)
{
	struct server *server = ctx;
	bool is_present = softnic_nic_is_present(server->softnic, nic);

	log_info(server->log, "device changed nic=%u present=%d", nic,
		 is_present);
	return rundir_set_device(server->rundir, nic, is_present);
}

static int boot(struct server *server)
{
	int result;

	result = rundir_new_boot_id(server->rundir);
	for (uint32_t i = 0; result == 0 && i < SOFTNIC_NIC_MAX; i++)
		result = rundir_set_device(
			server->rundir, i,
			softnic_nic_is_present(server->softnic, i));
	if (result == 0)
		log_info(server->log, "node booted boot_id=%s",
			 server->rundir->boot_id);
	return result;
}

static int reboot_node(void *ctx, char ret_boot_id[BOOT_ID_SIZE])
{
	struct server *server = ctx;
	struct connection *connection;
	struct connection *next;
	int result;

	DL_FOREACH_SAFE (server->connections, connection, next) {
		if (connection != server->current)
			close_connection(connection);
	}
	result = softnic_reboot(server->softnic);
	if (result == 0)
		result = boot(server);
	if (result == 0)
		memcpy(ret_boot_id, server->rundir->boot_id, BOOT_ID_SIZE);
	return result;
}

static const char *boot_id(void *ctx)
{
	const struct server *server = ctx;

	return server->rundir->boot_id;
}

static const struct control_ops control_ops = {
	.nic_changed = nic_changed,
	.reboot = reboot_node,
	.boot_id = boot_id,
};

/* Takes the descriptor in any case. */
static int add_connection(struct server *server, int fd)
{
	_auto_(freep) struct connection *connection = NULL;
	_auto_(closep) int fd_owned = fd;
	int result;

	connection = calloc(1, sizeof(*connection));
	if (connection == NULL)
		return -ENOMEM;
	connection->server = server;
	connection->session.softnic = server->softnic;
	connection->session.control = &control_ops;
	connection->session.control_ctx = server;
	result = identify(server, fd, &connection->session);
	if (result < 0)
		return result;
	if (!has_room(server, &connection->session)) {
		connection->answer.result = -EUSERS;
		connection->closes = true;
	}
	result = uv_poll_init(&server->loop, &connection->poll, fd);
	if (result < 0)
		return result;
	connection->fd = fd;
	fd_owned = -1;
	connection->poll.data = connection;
	DL_APPEND(server->connections, connection);
	server->connection_count++;
	connection->answer.is_done = !connection->closes;
	progress(take_ptr(connection));
	return 0;
}

static void on_connect(uv_poll_t *poll, int status, int events)
{
	struct server *server = poll->data;
	int fd;
	int result;

	fd = accept4(server->listen_fd, NULL, NULL,
		     SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	result = add_connection(server, fd);
	if (result < 0)
		log_warning(server->log, "client refused error=%s",
			    strerror(-result));
}

static void on_signal(uv_signal_t *handle, int number)
{
	struct server *server = handle->data;

	log_info(server->log, "stopping signal=%d", number);
	uv_stop(&server->loop);
}

static int start_handles(struct server *server)
{
	static const int numbers[] = { SIGTERM, SIGINT };
	int result = 0;

	for (size_t i = 0; result == 0 && i < 2; i++) {
		result = uv_signal_init(&server->loop, &server->signals[i]);
		server->signals[i].data = server;
		if (result == 0)
			result = uv_signal_start(&server->signals[i], on_signal,
						 numbers[i]);
	}
	if (result == 0)
		result = uv_poll_init(&server->loop, &server->listener,
				      server->listen_fd);
	server->listener.data = server;
	if (result == 0)
		result = uv_poll_start(&server->listener, UV_READABLE,
				       on_connect);
	return result;
}

static unsigned int find_connection_max(void)
{
	const size_t wanted = SERVER_CLIENT_MAX + SERVER_DESCRIPTOR_RESERVE;
	size_t count = descriptors_want(wanted);

	if (count >= wanted)
		return SERVER_CLIENT_MAX;
	if (count <= SERVER_DESCRIPTOR_RESERVE)
		return 0;
	return (unsigned int)(count - SERVER_DESCRIPTOR_RESERVE);
}

static int announce(int ready_fd)
{
	if (ready_fd < 0)
		return 0;
	if (write(ready_fd, "\n", 1) != 1)
		return -errno;
	close(ready_fd);
	return 0;
}

int server_create(const struct server_options *options, struct rundir *rundir,
		  const struct clock_seam *clock, const struct log *log,
		  struct server **ret_server)
{
	_auto_(freep) struct server *allocated = NULL;
	_auto_(server_destroyp) struct server *server = NULL;
	int result;

	allocated = calloc(1, sizeof(*allocated));
	if (allocated == NULL)
		return -ENOMEM;
	result = uv_loop_init(&allocated->loop);
	if (result < 0)
		return result;
	server = take_ptr(allocated);
	server->listen_fd = -1;
	server->connection_max = find_connection_max();
	server->owner_is_root = options->owner_is_root;
	server->rundir = rundir;
	server->clock = clock;
	server->log = log;
	result = softnic_create(&options->config, &server->softnic);
	if (result == 0)
		result = boot(server);
	if (result < 0)
		return result;
	server->listen_fd = rundir_listen(rundir);
	if (server->listen_fd < 0)
		return server->listen_fd;
	result = start_handles(server);
	if (result == 0)
		result = announce(options->ready_fd);
	if (result < 0)
		return result;
	*ret_server = take_ptr(server);
	return 0;
}

int server_run(struct server *server)
{
	return uv_run(&server->loop, UV_RUN_DEFAULT) < 0 ? -EIO : 0;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
	if (!uv_is_closing(handle))
		uv_close(handle, NULL);
}

void server_destroy(struct server *server)
{
	struct connection *connection;
	struct connection *next;

	if (server == NULL)
		return;
	DL_FOREACH_SAFE (server->connections, connection, next) {
		close_connection(connection);
	}
	uv_walk(&server->loop, close_handle, NULL);
	uv_run(&server->loop, UV_RUN_DEFAULT);
	uv_loop_close(&server->loop);
	closep(&server->listen_fd);
	softnic_destroy(server->softnic);
	free(server);
}
