/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two queues, one of requests to open and one of answers to seal. A connection
 * may be gone when its task is done: tasks know it by its handle. One that the
 * owner closes ends when its answers are sealed and sent. A few places are kept
 * for those that are being closed, so that there is one for who comes.
 */
#include "lanes/manager/tcp_clients.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/memory.h"
#include "sys/credential.h"
#include "lanes/manager/munge_queue.h"
#include "lanes/proto/envelope.h"

#define PEER_FLAG   (UINT64_C(1) << 63) /* of handles of clients over TCP */
#define CLOSING_MAX 16                  /* places for last words */

struct manager_connection {
	uint64_t peer; /* of the net */
	bool is_known; /* and open for the owner */
	uid_t uid;
	uint8_t nonce[ENVELOPE_NONCE_SIZE];
	bool is_ending;      /* takes no more requests */
	bool is_closed;      /* by the net */
	bool has_request;    /* to be opened */
	size_t answer_count; /* to be sealed */
	size_t answer_bytes;
	char address[64];
	struct manager_connection *prev,
		*next; /* while neither known nor closed */
	UT_hash_handle hh;
};

struct tcp_clients {
	struct tcp_clients_options options;
	struct munge *munge;
	struct net *net;
	struct manager_connection *connections;  /* by peer */
	struct manager_connection *unidentified; /* the first came first */
	size_t open_count; /* of connections: not closed */
	struct munge_queue requests;
	struct munge_queue answers;
	bool is_destroyed;
};

/* When nothing is in a thread any more. */
static void clients_free(struct tcp_clients *clients)
{
	if (clients->requests.count > 0 || clients->answers.count > 0)
		return;
	munge_close(clients->munge);
	free(clients);
}

static void on_queue_empty(void *ctx)
{
	struct tcp_clients *clients = ctx;

	if (clients->is_destroyed)
		clients_free(clients);
}

/* A request or an answer of this connection waits for munged. */
static void add_task(struct munge_queue *queue,
		     const struct manager_connection *connection,
		     const void *bytes, size_t size)
{
	munge_queue_add(queue, connection->peer, connection->uid,
			connection->nonce, bytes, size);
}

/* --- connections --- */

static struct manager_connection *find(const struct tcp_clients *clients,
				       uint64_t peer)
{
	struct manager_connection *connection;

	HASH_FIND(hh, clients->connections, &peer, sizeof(peer), connection);
	return connection;
}

static int net_send(struct tcp_clients *clients,
		    struct manager_connection *connection,
		    const struct writer *frame)
{
	struct net_seam seam = net_seam(clients->net);

	return seam.ops->send(seam.ctx, connection->peer, frame->data,
			      frame->size);
}

static void end(struct tcp_clients *clients,
		struct manager_connection *connection)
{
	struct net_seam seam = net_seam(clients->net);

	connection->is_ending = true;
	if (connection->is_closed)
		return;
	if (!connection->is_known)
		DL_DELETE(clients->unidentified, connection);
	connection->is_closed = true;
	clients->open_count--;
	seam.ops->close(seam.ctx, connection->peer);
}

/* Not authenticated, and the end of the connection. */
static void refuse(struct tcp_clients *clients,
		   struct manager_connection *connection, int code,
		   const char *text)
{
	const char *hint = munge_hint(code);
	struct writer frame = { 0 };

	log_info(clients->options.log, "client refused address=%s why=%s",
		 connection->address, text);
	if (client_answer_encode(0, code, text, *hint == 0 ? NULL : hint, NULL,
				 NULL, &frame) == 0)
		net_send(clients, connection, &frame);
	writer_fini(&frame);
	end(clients, connection);
}

/* A client whose request is with munged will be known soon, or refused. */
static void make_room(struct tcp_clients *clients)
{
	size_t all = clients->options.connections_max;
	size_t closing = all / 2 < CLOSING_MAX ? all / 2 : CLOSING_MAX;
	struct manager_connection *waiting;

	if (clients->open_count + closing < all)
		return;
	DL_FOREACH (clients->unidentified, waiting)
		if (!waiting->has_request)
			break;
	if (waiting != NULL)
		refuse(clients, waiting, -EAGAIN,
		       "no request in time while others waited");
}

/* What waits for munged is bounded by the connections. */
static void hold(struct tcp_clients *clients,
		 const struct manager_connection *connection)
{
	net_hold(clients->net, connection->peer,
		 connection->has_request ||
			 connection->answer_count >= TCP_CLIENT_ANSWERS_MAX);
}

/* Over TCP root has no rights of its own. */
static bool goes_first(void *ctx, uid_t uid)
{
	const struct tcp_clients *clients = ctx;

	return uid != (uid_t)-1 && uid != 0 &&
	       clients->options.events->goes_first(clients->options.events_ctx,
						   uid);
}

/* The first good request decides the connection's uid. */
static bool know(struct tcp_clients *clients,
		 struct manager_connection *connection, const struct task *task)
{
	struct net_peer_info info = {
		.uid = task->uid,
		.gid = (gid_t)-1,
	};

	if (connection->is_known) {
		if (connection->uid == task->uid &&
		    memcmp(connection->nonce, task->nonce,
			   sizeof(task->nonce)) == 0)
			return true;
		refuse(clients, connection, -EKEYREJECTED,
		       "the connection is another one's: its uid or its nonce "
		       "has changed");
		return false;
	}
	if (net_identify(clients->net, connection->peer, task->uid) >
	    TCP_CLIENTS_OF_USER_MAX) {
		refuse(clients, connection, -EAGAIN,
		       "this user has too many connections; close some");
		return false;
	}
	DL_DELETE(clients->unidentified, connection);
	connection->is_known = true;
	connection->uid = task->uid;
	memcpy(connection->nonce, task->nonce, sizeof(connection->nonce));
	memcpy(info.address, connection->address, sizeof(info.address));
	clients->options.events->opened(clients->options.events_ctx,
					connection->peer | PEER_FLAG, &info);
	return !connection->is_ending;
}

static void on_request_opened(void *ctx, const struct task *task)
{
	struct tcp_clients *clients = ctx;
	struct manager_connection *connection = find(clients, task->peer);
	uint64_t begun_ns = uv_hrtime();

	if (connection == NULL)
		return;
	connection->has_request = false;
	if (connection->is_ending)
		return;
	if (task->result < 0) {
		refuse(clients, connection, task->result, task->error.text);
		return;
	}
	if (!know(clients, connection, task))
		return;
	clients->options.events->received(clients->options.events_ctx,
					  task->peer | PEER_FLAG,
					  task->envelope.text,
					  task->envelope.size);
	if (!goes_first(clients, task->uid))
		turns_charge(clients->options.turns, uv_hrtime() - begun_ns);
	hold(clients, connection);
}

static void on_answer_sealed(void *ctx, const struct task *task)
{
	struct tcp_clients *clients = ctx;
	struct manager_connection *connection = find(clients, task->peer);

	if (connection == NULL)
		return;
	connection->answer_count--;
	connection->answer_bytes -= task->size;
	if (connection->is_closed)
		return;
	if (task->result < 0)
		refuse(clients, connection, task->result, task->error.text);
	else if (net_send(clients, connection, &task->frame) < 0 ||
		 (connection->is_ending && connection->answer_count == 0))
		end(clients, connection);
	else
		hold(clients, connection);
}

/* --- events of the net --- */

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct tcp_clients *clients = ctx;
	struct manager_connection *connection =
		memory_alloc(sizeof(*connection));

	connection->peer = peer;
	memcpy(connection->address, info->address, sizeof(info->address));
	HASH_ADD(hh, clients->connections, peer, sizeof(connection->peer),
		 connection);
	memory_have(connection->hh.tbl);
	make_room(clients);
	DL_APPEND(clients->unidentified, connection);
	clients->open_count++;
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct tcp_clients *clients = ctx;
	struct manager_connection *connection = find(clients, peer);

	if (connection == NULL || connection->is_ending)
		return;
	add_task(&clients->requests, connection, frame, size);
	connection->has_request = true;
	hold(clients, connection);
}

static void on_violated(void *ctx, uint64_t peer, int reason)
{
	struct tcp_clients *clients = ctx;
	struct manager_connection *connection = find(clients, peer);

	if (connection != NULL && !connection->is_closed)
		refuse(clients, connection, reason,
		       reason == -EMSGSIZE
			       ? "a request is longer than a frame, or empty"
			       : "a request was not complete in time");
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
	struct tcp_clients *clients = ctx;
	struct manager_connection *connection = find(clients, peer);

	if (connection == NULL)
		return;
	HASH_DEL(clients->connections, connection);
	if (!connection->is_closed) {
		clients->open_count--;
		if (!connection->is_known)
			DL_DELETE(clients->unidentified, connection);
	}
	if (connection->is_known)
		clients->options.events->closed(clients->options.events_ctx,
						peer | PEER_FLAG, reason);
	free(connection);
}

static const struct net_events net_events = {
	.opened = on_opened,
	.received = on_received,
	.violated = on_violated,
	.closed = on_closed,
	.goes_first = goes_first,
};

/* --- the seam --- */

static int seam_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct tcp_clients *clients = ctx;
	struct net_seam *local = &clients->options.local;
	struct manager_connection *connection;

	if ((peer & PEER_FLAG) == 0)
		return local->ops->send(local->ctx, peer, frame, size);
	connection = find(clients, peer & ~PEER_FLAG);
	if (connection == NULL || connection->is_ending)
		return -ENOTCONN;
	if (connection->answer_bytes + size > NET_QUEUE_BYTES_MAX)
		return -ENOBUFS;
	add_task(&clients->answers, connection, frame, size);
	connection->answer_count++;
	connection->answer_bytes += size;
	hold(clients, connection);
	return 0;
}

static void seam_close(void *ctx, uint64_t peer)
{
	struct tcp_clients *clients = ctx;
	struct net_seam *local = &clients->options.local;
	struct manager_connection *connection;

	if ((peer & PEER_FLAG) == 0) {
		local->ops->close(local->ctx, peer);
		return;
	}
	connection = find(clients, peer & ~PEER_FLAG);
	if (connection == NULL)
		return;
	connection->is_ending = true;
	if (connection->answer_count == 0)
		end(clients, connection);
}

static bool seam_is_over(void *ctx, uint64_t peer)
{
	struct tcp_clients *clients = ctx;
	struct net_seam remote = net_seam(clients->net);

	if ((peer & PEER_FLAG) == 0)
		return net_is_over(&clients->options.local, peer);
	return net_is_over(&remote, peer & ~PEER_FLAG);
}

static const struct net_ops seam_ops = {
	.send = seam_send,
	.close = seam_close,
	.is_over = seam_is_over,
};

struct net_seam tcp_clients_seam(struct tcp_clients *clients)
{
	return (struct net_seam){ .ops = &seam_ops, .ctx = clients };
}

/* --- life --- */

int tcp_clients_create(const struct tcp_clients_options *options,
		       struct tcp_clients **ret_clients,
		       struct fairlead_error *ret_error)
{
	struct tcp_clients *clients = memory_alloc(sizeof(*clients));
	struct net_options net = {
		.turns = options->turns,
		.events = &net_events,
		.events_ctx = clients,
		.connections_max = options->connections_max,
		.clog_bytes = CLIENT_CLOG_BYTES,
		.frame_bytes_max = ENVELOPE_FRAME_MAX,
		.frame_timeout_ms = CLIENT_FRAME_TIMEOUT_MS,
	};
	int result;

	result = munge_open(options->munge_socket, &clients->munge, ret_error);
	if (result < 0) {
		free(clients);
		return result;
	}
	clients->options = *options;
	clients->net = net_create(options->loop, &net);
	clients->requests = (struct munge_queue){
		.loop = options->loop,
		.munge = clients->munge,
		.run = task_open_request,
		.done = on_request_opened,
		.empty = on_queue_empty,
		.ctx = clients,
	};
	clients->answers = (struct munge_queue){
		.loop = options->loop,
		.munge = clients->munge,
		.run = task_seal_answer,
		.done = on_answer_sealed,
		.empty = on_queue_empty,
		.ctx = clients,
	};
	*ret_clients = clients;
	return 0;
}

int tcp_clients_listen(struct tcp_clients *clients, const char *address,
		       uint16_t *ret_port, struct fairlead_error *ret_error)
{
	return net_listen_tcp(clients->net, address, ret_port, ret_error);
}

void tcp_clients_listen_stop(struct tcp_clients *clients)
{
	net_listen_stop(clients->net);
}

void tcp_clients_destroy(struct tcp_clients *clients)
{
	struct manager_connection *connection;
	struct manager_connection *next;

	if (clients == NULL)
		return;
	clients->is_destroyed = true;
	net_destroy(clients->net);
	HASH_ITER (hh, clients->connections, connection, next) {
		HASH_DEL(clients->connections, connection);
		free(connection);
	}
	munge_queue_cut(&clients->requests);
	munge_queue_cut(&clients->answers);
	clients_free(clients);
}
