/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libscoll in a libuv loop, and the clients of this node. Before each wait the
 * loop gets libscoll's timeout, after it libscoll makes progress. A client has
 * one command at a time, which is stopped when the client disconnects.
 */
#include "front.h"

#include <stdlib.h>
#include <string.h>

#include "ask.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/memory.h"
#include "serve.h"

#define CLIENTS_MAX      128
#define CLIENTS_OF_USER  32
#define CLIENTS_OF_ROOT  8
#define CLIENT_QUEUE_MAX (2 * EXEC_OUTPUTS_MAX)
#define TICK_MS          50
#define NS_OF_MS         1000000

struct exec_client {
	struct front *front;
	uint64_t peer;
	uid_t uid;
	struct exec_ask *ask;
	UT_hash_handle hh;
};

/* --- clients --- */

static void client_send(void *ctx, const void *frame, size_t size)
{
	struct exec_client *client = ctx;
	struct net_seam net = net_seam(client->front->net);

	if (net.ops->send(net.ctx, client->peer, frame, size) == -ENOBUFS)
		net.ops->close(net.ctx, client->peer);
}

static void client_end(struct exec_client *client, int result, const char *text)
{
	_auto_(writer_fini) struct writer frame = { 0 };

	write_u8(&frame, EXEC_FRAME_END);
	write_u32(&frame, (uint32_t)-result);
	write_text(&frame, text);
	memory_check(frame.result);
	client_send(client, frame.data, frame.size);
}

static void client_over(void *ctx, int result, const char *text)
{
	struct exec_client *client = ctx;

	client->ask = NULL;
	client_end(client, result, text);
}

static void on_opened(void *ctx, uint64_t peer,
		      const struct net_peer_info *info)
{
	struct front *front = ctx;
	struct exec_client *client = memory_alloc(sizeof(*client));

	client->front = front;
	client->peer = peer;
	client->uid = info->uid;
	HASH_ADD(hh, front->clients, peer, sizeof(client->peer), client);
	if (!hash_was_added(client))
		memory_end();
}

static void on_closed(void *ctx, uint64_t peer, int reason)
{
	struct front *front = ctx;
	struct exec_client *client;

	HASH_FIND(hh, front->clients, &peer, sizeof(peer), client);
	if (client == NULL)
		return;
	if (client->ask != NULL)
		ask_orphan(client->ask);
	HASH_DEL(front->clients, client);
	free(client);
}

static void take_run(struct exec_client *client, struct reader *reader)
{
	const struct ask_client face = { .send = client_send,
					 .over = client_over,
					 .ctx = client };
	const uint8_t *secret = read_bytes(reader, EXEC_ID_BYTES);
	size_t size;
	const uint8_t *credential =
		read_blob(reader, EXEC_CREDENTIAL_MAX, &size);
	int result;

	if (!reader_is_done(reader) || size == 0 ||
	    memchr(credential, 0, size) != NULL) {
		client_end(client, -EBADMSG, "malformed request");
		return;
	}
	result = ask_create(client->front, &face, client->uid, credential, size,
			    secret, &client->ask);
	if (result < 0)
		client_end(client, result, "the daemon has too many commands");
}

/* The live nodes or the dead ones, in the order of the file. */
static char *names_of(const struct front *front, int liveness)
{
	const struct exec_config *config = front->config;
	size_t count = (size_t)config->node_count, taken = 0;
	_auto_(freep) const char **names = memory_array(count, sizeof(*names));

	for (size_t i = 0; i < count; i++) {
		const struct exec_config_node *node = &config->nodes[i];

		if (scoll_peer_query(front->scoll, node->nid) == liveness)
			names[node->line] = node->name;
	}
	for (size_t i = 0; i < count; i++) {
		if (names[i] != NULL)
			names[taken++] = names[i];
	}
	return memory_have(hostlist_format(names, taken));
}

static void take_list(struct exec_client *client)
{
	struct front *front = client->front;
	_auto_(freep) char *alive = names_of(front, SCOLL_ALIVE);
	_auto_(freep) char *dead = names_of(front, SCOLL_DEAD);
	_auto_(writer_fini) struct writer frame = { 0 };

	write_u8(&frame, EXEC_FRAME_NODES);
	write_u8(&frame, scoll_is_stealthy(front->scoll));
	write_text(&frame, alive);
	write_text(&frame, dead);
	memory_check(frame.result);
	client_send(client, frame.data, frame.size);
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct front *front = ctx;
	struct reader reader = reader_of(frame, size);
	uint8_t kind = read_u8(&reader);
	struct exec_client *client;

	HASH_FIND(hh, front->clients, &peer, sizeof(peer), client);
	if (client == NULL)
		return;
	if (kind == EXEC_FRAME_RUN && client->ask == NULL)
		take_run(client, &reader);
	else if (kind == EXEC_FRAME_STOP && client->ask != NULL)
		ask_stop(client->ask);
	else if (kind == EXEC_FRAME_LIST && client->ask == NULL)
		take_list(client);
	else if (kind != EXEC_FRAME_STOP)
		client_end(client, -EBADMSG, "malformed request");
}

static const struct net_events client_events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

/* --- libscoll --- */

static void on_nothing(uv_timer_t *timer)
{
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
}

static void on_tick(uv_timer_t *timer)
{
	struct front *front = timer->data;

	serve_tick(front);
}

/* Wake after libscoll's timeout; tick while there is a command. */
static void on_prepare(uv_prepare_t *prepare)
{
	struct front *front = prepare->data;
	scoll_duration_t wait = scoll_timeout(front->scoll);
	bool is_busy = front->asks != NULL || front->jobs != NULL;

	if (wait < 0)
		uv_timer_stop(&front->scoll_timer);
	else
		uv_timer_start(&front->scoll_timer, on_nothing,
			       (uint64_t)(wait + NS_OF_MS - 1) / NS_OF_MS, 0);
	if (!is_busy)
		uv_timer_stop(&front->tick);
	else if (!uv_is_active((uv_handle_t *)&front->tick))
		uv_timer_start(&front->tick, on_tick, TICK_MS, TICK_MS);
}

static void on_check(uv_check_t *check)
{
	struct front *front = check->data;

	scoll_progress(front->scoll);
	ask_tick(front);
}

static void on_news(void *ctx, scoll_nid_t nid, enum scoll_liveness news)
{
	struct front *front = ctx;
	int node = config_find_nid(front->config, nid);

	log_info(front->log, "node %s %s",
		 node < 0 ? "?" : front->config->nodes[node].name,
		 news == SCOLL_ALIVE  ? "is alive"
		 : news == SCOLL_DEAD ? "is dead"
				      : "has restarted");
	if (news != SCOLL_ALIVE)
		runs_root_lost(front->runs, nid);
}

static int meet(struct front *front, struct fairlead_error *ret_error)
{
	const struct exec_config *config = front->config;
	int result = 0;

	for (int i = 0; i < config->node_count && result == 0; i++) {
		const struct exec_config_node *node = &config->nodes[i];

		if (i != config->self)
			result = scoll_peer_resolve(front->scoll, node->nid,
						    node->address, config->port,
						    ret_error);
	}
	if (result < 0)
		return result;
	scoll_peer_notify(front->scoll, on_news, front);
	result = scoll_service_register(front->scoll, SERVE_ID, &serve_ops,
					front);
	return result == 0 ? 0
			   : error_set(ret_error, result, "libscoll: %s",
				       strerror(-result));
}

static int join(struct front *front, const struct front_options *options,
		struct fairlead_error *ret_error)
{
	const struct exec_config *config = front->config;
	const struct exec_config_node *self = &config->nodes[config->self];
	_auto_(freep) scoll_nid_t *nids =
		memory_array((size_t)config->node_count, sizeof(*nids));
	struct scoll_params params = {
		.size = sizeof(params),
		.nid = self->nid,
		.provider = config->provider,
		.node = self->address,
		.service = config->port,
		.rtt = config->rtt_ms * (scoll_duration_t)NS_OF_MS,
		.discovery = SCOLL_DISCOVERY_GOSSIP,
		.gossip_cycle = config->gossip_ms * (scoll_duration_t)NS_OF_MS,
		.gossip_members = nids,
		.gossip_member_count = config->node_count,
	};
	int result = scoll_key_authenticator_create(self->nid, options->key,
						    &front->auth);

	if (result < 0)
		return error_set(ret_error, result, "out of memory");
	for (int i = 0; i < config->node_count; i++)
		nids[i] = config->nodes[i].nid;
	params.authenticator = front->auth;
	result = scoll_init(&params, &front->scoll, ret_error);
	return result < 0 ? result : meet(front, ret_error);
}

/* --- life --- */

static void on_launcher_lost(void *ctx)
{
	struct front *front = ctx;

	front->exit_code = -EPIPE;
	uv_stop(&front->loop.uv);
}

static void on_checked(void *ctx, uint64_t tag,
		       const struct launcher_answer *answer)
{
	ask_checked(ctx, tag, answer);
}

int front_open(struct front *front, const struct front_options *options,
	       struct fairlead_error *ret_error)
{
	const struct net_options net_options = {
		.events = &client_events,
		.events_ctx = front,
		.connections_max = CLIENTS_MAX,
		.frame_bytes_max = EXEC_FRAME_MAX,
		.queue_bytes_max = CLIENT_QUEUE_MAX,
		.root_connections = CLIENTS_OF_ROOT,
		.user_connections_max = CLIENTS_OF_USER,
	};

	int result;

	*front = (struct front){ .config = options->config,
				 .log = options->log };
	result = daemon_loop_init(&front->loop, options->log);
	if (result < 0)
		return error_set(ret_error, result, "libuv: %s",
				 uv_strerror(result));
	front->net = net_create(&front->loop.uv, &net_options);
	return net_listen_unix(front->net, options->config->socket_path, 0666,
			       (uid_t)-1, (gid_t)-1, ret_error);
}

static int handles_open(struct front *front)
{
	uv_loop_t *uv = &front->loop.uv;
	int result =
		uv_poll_init(uv, &front->scoll_poll, scoll_fd(front->scoll));

	if (result < 0)
		return result;
	uv_timer_init(uv, &front->scoll_timer);
	uv_timer_init(uv, &front->tick);
	uv_prepare_init(uv, &front->prepare);
	uv_check_init(uv, &front->check);
	front->tick.data = front->prepare.data = front->check.data = front;
	uv_prepare_start(&front->prepare, on_prepare);
	uv_check_start(&front->check, on_check);
	return uv_poll_start(&front->scoll_poll, UV_READABLE, on_readable);
}

/* libscoll ends after it: nothing may call it from the loop any more. */
static void handles_stop(struct front *front)
{
	uv_close((uv_handle_t *)&front->scoll_poll, NULL);
	uv_prepare_stop(&front->prepare);
	uv_check_stop(&front->check);
	uv_timer_stop(&front->tick);
}

static void clients_free(struct front *front)
{
	struct exec_client *client, *next;

	HASH_ITER (hh, front->clients, client, next) {
		HASH_DEL(front->clients, client);
		free(client);
	}
}

int front_run(struct front *front, const struct front_options *options,
	      struct fairlead_error *ret_error)
{
	const struct runs_options runs_options = {
		.loop = &front->loop.uv,
		.config = front->config,
		.log = front->log,
		.launcher_fd = options->launcher_fd,
		.checked = on_checked,
		.lost = on_launcher_lost,
		.ctx = front,
	};
	int result;

	front->runs = runs_create(&runs_options);
	result = join(front, options, ret_error);
	if (result < 0)
		return result;
	result = handles_open(front);
	if (result < 0)
		return error_set(ret_error, result, "libuv: %s",
				 uv_strerror(result));
	log_info(front->log, "ready node=%s nodes=%d",
		 front->config->nodes[front->config->self].name,
		 front->config->node_count);
	daemon_loop_run(&front->loop, -1);
	handles_stop(front);
	scoll_fini(front->scoll);
	ask_destroy_all(front);
	runs_destroy(front->runs);
	net_destroy(front->net);
	daemon_loop_fini(&front->loop);
	clients_free(front);
	scoll_key_authenticator_destroy(front->auth);
	if (front->exit_code < 0)
		error_set(ret_error, front->exit_code, "the launcher ended");
	return front->exit_code;
}
