/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two lanes, one of requests to open and one of answers to seal. A connection
 * may be gone when its task is done: tasks know it by its handle. One that the
 * owner closes ends when its answers are sealed and sent. A few places are kept
 * for those that are being closed, so that there is one for who comes.
 */
#include "lanes/manager/gate.h"

#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "base/hash.h"
#include "base/memory.h"
#include "lanes/credential/credential.h"
#include "lanes/manager/gate_lane.h"
#include "lanes/proto/envelope.h"

#define PEER_FLAG   (UINT64_C(1) << 63) /* of handles that are the gate's */
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

struct gate {
	struct gate_options options;
	struct munge *munge;
	struct net *net;
	struct manager_connection *connections;  /* by peer */
	struct manager_connection *unidentified; /* the first came first */
	size_t open_count; /* of connections: not closed */
	struct lane requests;
	struct lane answers;
	bool is_destroyed;
};

/* When nothing is in a thread any more. */
static void gate_free(struct gate *gate)
{
	if (gate->requests.count > 0 || gate->answers.count > 0)
		return;
	munge_close(gate->munge);
	free(gate);
}

static void on_lane_empty(void *ctx)
{
	struct gate *gate = ctx;

	if (gate->is_destroyed)
		gate_free(gate);
}

/* A request or an answer of this connection waits for munged. */
static void add_task(struct lane *lane,
		     const struct manager_connection *connection,
		     const void *bytes, size_t size)
{
	lane_add(lane, connection->peer, connection->uid, connection->nonce,
		 bytes, size);
}

/* --- connections --- */

static struct manager_connection *find(const struct gate *gate, uint64_t peer)
{
	struct manager_connection *connection;

	HASH_FIND(hh, gate->connections, &peer, sizeof(peer), connection);
	return connection;
}

static int net_send(struct gate *gate, struct manager_connection *connection,
		    const struct writer *frame)
{
	struct net_seam seam = net_seam(gate->net);

	return seam.ops->send(seam.ctx, connection->peer, frame->data,
			      frame->size);
}

static void end(struct gate *gate, struct manager_connection *connection)
{
	struct net_seam seam = net_seam(gate->net);

	connection->is_ending = true;
	if (connection->is_closed)
		return;
	if (!connection->is_known)
		DL_DELETE(gate->unidentified, connection);
	connection->is_closed = true;
	gate->open_count--;
	seam.ops->close(seam.ctx, connection->peer);
}

/* Not authenticated, and the end of the connection. */
static void refuse(struct gate *gate, struct manager_connection *connection,
		   int code, const char *text)
{
	const char *hint = munge_hint(code);
	struct writer frame = { 0 };

	log_info(gate->options.log, "client refused address=%s why=%s",
		 connection->address, text);
	if (client_answer_encode(0, code, text, *hint == 0 ? NULL : hint, NULL,
				 NULL, &frame) == 0)
		net_send(gate, connection, &frame);
	writer_fini(&frame);
	end(gate, connection);
}

/* Whose request is with munged will be known soon, or refused. */
static void make_room(struct gate *gate)
{
	size_t all = gate->options.connections_max;
	size_t closing = all / 2 < CLOSING_MAX ? all / 2 : CLOSING_MAX;
	struct manager_connection *waiting;

	if (gate->open_count + closing < all)
		return;
	DL_FOREACH (gate->unidentified, waiting)
		if (!waiting->has_request)
			break;
	if (waiting != NULL)
		refuse(gate, waiting, -EAGAIN,
		       "no request in time while others waited");
}

/* What waits for munged is bounded by the connections. */
static void hold(struct gate *gate, const struct manager_connection *connection)
{
	net_hold(gate->net, connection->peer,
		 connection->has_request ||
			 connection->answer_count >= GATE_ANSWERS_MAX);
}

/* Over TCP root has no rights of its own. */
static bool goes_first(void *ctx, uid_t uid)
{
	const struct gate *gate = ctx;

	return uid != (uid_t)-1 && uid != 0 &&
	       gate->options.events->goes_first(gate->options.events_ctx, uid);
}

/* The first good request decides whose the connection is. */
static bool know(struct gate *gate, struct manager_connection *connection,
		 const struct task *task)
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
		refuse(gate, connection, -EKEYREJECTED,
		       "the connection is another one's: its uid or its nonce "
		       "has changed");
		return false;
	}
	if (net_identify(gate->net, connection->peer, task->uid) >
	    GATE_OF_USER_MAX) {
		refuse(gate, connection, -EAGAIN,
		       "this user has too many connections; close some");
		return false;
	}
	DL_DELETE(gate->unidentified, connection);
	connection->is_known = true;
	connection->uid = task->uid;
	memcpy(connection->nonce, task->nonce, sizeof(connection->nonce));
	memcpy(info.address, connection->address, sizeof(info.address));
	gate->options.events->opened(gate->options.events_ctx,
				     connection->peer | PEER_FLAG, &info);
	return !connection->is_ending;
}

static void on_request_opened(void *ctx, const struct task *task)
{
	struct gate *gate = ctx;
	struct manager_connection *connection = find(gate, task->peer);
	uint64_t begun_ns = uv_hrtime();

	if (connection == NULL)
		return;
	connection->has_request = false;
	if (connection->is_ending)
		return;
	if (task->result < 0) {
		refuse(gate, connection, task->result, task->error.text);
		return;
	}
	if (!know(gate, connection, task))
		return;
	gate->options.events->received(gate->options.events_ctx,
				       task->peer | PEER_FLAG,
				       task->envelope.text,
				       task->envelope.size);
	if (!goes_first(gate, task->uid))
		turns_charge(gate->options.turns, uv_hrtime() - begun_ns);
	hold(gate, connection);
}

static void on_answer_sealed(void *ctx, const struct task *task)
{
	struct gate *gate = ctx;
	struct manager_connection *connection = find(gate, task->peer);

	if (connection == NULL)
		return;
	connection->answer_count--;
	connection->answer_bytes -= task->size;
	if (connection->is_closed)
		return;
	if (task->result < 0)
		refuse(gate, connection, task->result, task->error.text);
	else if (net_send(gate, connection, &task->frame) < 0 ||
		 (connection->is_ending && connection->answer_count == 0))
		end(gate, connection);
	else
		hold(gate, connection);
}

/* --- events of the net --- */

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct gate *gate = ctx;
	struct manager_connection *connection =
		memory_alloc(sizeof(*connection));

	connection->peer = peer;
	memcpy(connection->address, info->address, sizeof(info->address));
	HASH_ADD(hh, gate->connections, peer, sizeof(connection->peer),
		 connection);
	memory_have(connection->hh.tbl);
	make_room(gate);
	DL_APPEND(gate->unidentified, connection);
	gate->open_count++;
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct gate *gate = ctx;
	struct manager_connection *connection = find(gate, peer);

	if (connection == NULL || connection->is_ending)
		return;
	add_task(&gate->requests, connection, frame, size);
	connection->has_request = true;
	hold(gate, connection);
}

static void on_violated(void *ctx, uint64_t peer, int reason)
{
	struct gate *gate = ctx;
	struct manager_connection *connection = find(gate, peer);

	if (connection != NULL && !connection->is_closed)
		refuse(gate, connection, reason,
		       reason == -EMSGSIZE
			       ? "a request is longer than a frame, or empty"
			       : "a request was not complete in time");
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
	struct gate *gate = ctx;
	struct manager_connection *connection = find(gate, peer);

	if (connection == NULL)
		return;
	HASH_DEL(gate->connections, connection);
	if (!connection->is_closed) {
		gate->open_count--;
		if (!connection->is_known)
			DL_DELETE(gate->unidentified, connection);
	}
	if (connection->is_known)
		gate->options.events->closed(gate->options.events_ctx,
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
	struct gate *gate = ctx;
	struct net_seam *local = &gate->options.local;
	struct manager_connection *connection;

	if ((peer & PEER_FLAG) == 0)
		return local->ops->send(local->ctx, peer, frame, size);
	connection = find(gate, peer & ~PEER_FLAG);
	if (connection == NULL || connection->is_ending)
		return -ENOTCONN;
	if (connection->answer_bytes + size > NET_QUEUE_BYTES_MAX)
		return -ENOBUFS;
	add_task(&gate->answers, connection, frame, size);
	connection->answer_count++;
	connection->answer_bytes += size;
	hold(gate, connection);
	return 0;
}

static void seam_close(void *ctx, uint64_t peer)
{
	struct gate *gate = ctx;
	struct net_seam *local = &gate->options.local;
	struct manager_connection *connection;

	if ((peer & PEER_FLAG) == 0) {
		local->ops->close(local->ctx, peer);
		return;
	}
	connection = find(gate, peer & ~PEER_FLAG);
	if (connection == NULL)
		return;
	connection->is_ending = true;
	if (connection->answer_count == 0)
		end(gate, connection);
}

static bool seam_is_over(void *ctx, uint64_t peer)
{
	struct gate *gate = ctx;
	struct net_seam remote = net_seam(gate->net);

	if ((peer & PEER_FLAG) == 0)
		return net_is_over(&gate->options.local, peer);
	return net_is_over(&remote, peer & ~PEER_FLAG);
}

static const struct net_ops seam_ops = {
	.send = seam_send,
	.close = seam_close,
	.is_over = seam_is_over,
};

struct net_seam gate_seam(struct gate *gate)
{
	return (struct net_seam){ .ops = &seam_ops, .ctx = gate };
}

/* --- life --- */

int gate_create(const struct gate_options *options, struct gate **ret_gate,
		struct fairlead_error *ret_error)
{
	struct gate *gate = memory_alloc(sizeof(*gate));
	struct net_options net = {
		.turns = options->turns,
		.events = &net_events,
		.events_ctx = gate,
		.connections_max = options->connections_max,
		.clog_bytes = CLIENT_CLOG_BYTES,
		.frame_bytes_max = ENVELOPE_FRAME_MAX,
		.frame_timeout_ms = CLIENT_FRAME_TIMEOUT_MS,
	};
	int result;

	result = munge_open(options->munge_socket, &gate->munge, ret_error);
	if (result < 0) {
		free(gate);
		return result;
	}
	gate->options = *options;
	gate->net = net_create(options->loop, &net);
	gate->requests = (struct lane){
		.loop = options->loop,
		.munge = gate->munge,
		.run = task_open_request,
		.done = on_request_opened,
		.empty = on_lane_empty,
		.ctx = gate,
	};
	gate->answers = (struct lane){
		.loop = options->loop,
		.munge = gate->munge,
		.run = task_seal_answer,
		.done = on_answer_sealed,
		.empty = on_lane_empty,
		.ctx = gate,
	};
	*ret_gate = gate;
	return 0;
}

int gate_listen(struct gate *gate, const char *address, uint16_t *ret_port,
		struct fairlead_error *ret_error)
{
	return net_listen_tcp(gate->net, address, ret_port, ret_error);
}

void gate_listen_stop(struct gate *gate)
{
	net_listen_stop(gate->net);
}

void gate_destroy(struct gate *gate)
{
	struct manager_connection *connection;
	struct manager_connection *next;

	if (gate == NULL)
		return;
	gate->is_destroyed = true;
	net_destroy(gate->net);
	HASH_ITER (hh, gate->connections, connection, next) {
		HASH_DEL(gate->connections, connection);
		free(connection);
	}
	lane_cut(&gate->requests);
	lane_cut(&gate->answers);
	gate_free(gate);
}
