/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections of clients, and which request an answer belongs to. */
#include "clients.h"

#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "oracle.h"

#define DIAL_MS 200

struct call {
	struct client *client;
	uint64_t id;
	char *text;
	bool is_sent;
	uint64_t asked_ms;
	uint64_t handle; /* of the event that gives it up */
	client_answer_fn *done;
	void *ctx;
	struct call *prev, *next;
};

struct client {
	struct clients *clients;
	enum client_who who;
	struct sim_host *host;
	uint64_t peer; /* 0: none; else perhaps not open yet */
	bool is_open;
	uint64_t dial_event;
	uint64_t id_last;
	struct call *calls;
};

struct clients {
	struct world *world;
	struct client list[CLIENT_COUNT];
};

uid_t client_uid(enum client_who who)
{
	static const uid_t uids[CLIENT_COUNT] = {
		[CLIENT_SLURM] = 450,
		[CLIENT_FLUX] = 451,
		[CLIENT_ROOT] = 0,
		[CLIENT_USER] = 1000,
	};

	return uids[who];
}

const char *client_name(enum client_who who)
{
	static const char *const names[CLIENT_COUNT] = {
		[CLIENT_SLURM] = "slurm",
		[CLIENT_FLUX] = "flux",
		[CLIENT_ROOT] = "root",
		[CLIENT_USER] = "user",
	};

	return names[who];
}

int answer_result(const json_t *answer)
{
	return (int)json_integer_value(json_object_get(answer, "result"));
}

const char *answer_error(const json_t *answer)
{
	const char *text = json_string_value(json_object_get(answer, "error"));

	return text == NULL ? "" : text;
}

/* --- calls --- */

static void call_end(struct call *call, json_t *answer)
{
	struct client *client = call->client;
	client_answer_fn *done = call->done;
	void *ctx = call->ctx;

	DL_DELETE(client->calls, call);
	sim_queue_cancel(client->clients->world->queue, call->handle);
	free(call->text);
	free(call);
	if (done != NULL)
		done(ctx, answer);
}

static void on_impatient(void *ctx)
{
	struct call *call = ctx;
	struct world *world = call->client->clients->world;

	call->handle = 0;
	if (world->is_calm &&
	    call->asked_ms >= world->calm_ms + WORLD_MINUTE_MS)
		world_fail(world, "LIVENESS: a request gets no answer: %s",
			   call->text);
	coverage_hit(world->coverage, "client:gives-up");
	world_trace(world, "%s gives up %s", client_name(call->client->who),
		    call->text);
	call_end(call, NULL);
}

static void dial(struct client *client);

static void call_send(struct call *call)
{
	struct client *client = call->client;
	struct net_seam net = sim_host_seam(client->host);

	call->is_sent = true;
	net.ops->send(net.ctx, client->peer, call->text, strlen(call->text));
}

void client_ask(struct clients *clients, enum client_who who, const char *op,
		json_t *members_owned, bool is_forbidden,
		client_answer_fn *done, void *ctx)
{
	struct client *client = &clients->list[who];
	struct call *call = world_allocate(sizeof(*call));
	json_t *request;

	call->client = client;
	call->id = ++client->id_last;
	call->asked_ms = world_now_ms(clients->world);
	call->done = done;
	call->ctx = ctx;
	request = json_pack("{s:i, s:I, s:s}", "v", 1, "id",
			    (json_int_t)call->id, "op", op);
	if (members_owned != NULL &&
	    json_object_update(request, members_owned) < 0)
		abort();
	json_decref(members_owned);
	call->text = json_dumps(request, JSON_COMPACT);
	if (!is_forbidden)
		oracle_asked(clients->world->oracle, request);
	json_decref(request);
	call->handle = sim_queue_add(clients->world->queue, CLIENT_PATIENCE_MS,
				     on_impatient, call);
	DL_APPEND(client->calls, call);
	if (client->is_open)
		call_send(call);
	else if (client->peer == 0 && client->dial_event == 0)
		dial(client);
}

void client_babble(struct clients *clients, enum client_who who)
{
	static const char *const texts[] = {
		"{",
		"[]",
		"{\"v\":1,\"id\":1,\"id\":1,\"op\":\"status\"}",
		"\xff\xfe",
		"{\"v\":9,\"id\":7000000,\"op\":\"status\"}",
		"{\"v\":1,\"id\":7000001,\"op\":\"nonsense\"}",
		"{\"v\":1,\"id\":7000002,\"op\":\"status\",\"x\":1}",
		"{\"v\":1,\"id\":7000003,\"op\":\"reserve\"}",
		"{\"v\":1,\"op\":\"status\"}",
	};
	struct client *client = &clients->list[who];
	struct net_seam net = sim_host_seam(client->host);
	const char *text = texts[world_below(clients->world,
					     sizeof(texts) / sizeof(texts[0]))];

	if (!client->is_open)
		return;
	coverage_hit(clients->world->coverage, "fault:client-babbles");
	net.ops->send(net.ctx, client->peer, text, strlen(text));
}

/* --- connections --- */

static void on_opened(void *ctx, uint64_t peer, const char *machine, uid_t uid)
{
	struct client *client = ctx;
	struct call *call;

	client->is_open = true;
	DL_FOREACH (client->calls, call)
		call_send(call);
}

static void on_received(void *ctx, uint64_t peer, const void *frame,
			size_t size)
{
	struct client *client = ctx;
	struct world *world = client->clients->world;
	json_t *answer = json_loadb(frame, size, 0, NULL);
	json_int_t id = json_integer_value(json_object_get(answer, "id"));
	struct call *call;

	if (answer == NULL)
		world_fail(world, "an answer is not JSON: %.*s", (int)size,
			   (const char *)frame);
	DL_FOREACH (client->calls, call) {
		if (call->id == (uint64_t)id)
			break;
	}
	if (call != NULL)
		call_end(call, answer);
	json_decref(answer);
}

static void on_dial(void *ctx)
{
	struct client *client = ctx;

	client->dial_event = 0;
	dial(client);
}

static void on_closed(void *ctx, uint64_t peer)
{
	struct client *client = ctx;
	struct sim_queue *queue = client->clients->world->queue;
	struct call *call, *next;
	bool was_open = client->is_open;

	if (peer != client->peer)
		return;
	client->peer = 0;
	client->is_open = false;
	if (client->dial_event == 0)
		client->dial_event =
			sim_queue_add(queue, DIAL_MS, on_dial, client);
	/* What was sent is lost; the rest waits for the next connection. */
	DL_FOREACH_SAFE (client->calls, call, next) {
		if (was_open && call->is_sent) {
			coverage_hit(client->clients->world->coverage,
				     "client:connection-lost");
			call_end(call, NULL);
		}
	}
}

static void dial(struct client *client)
{
	struct world *world = client->clients->world;

	if (world->is_paused && client->who != CLIENT_ROOT) {
		client->dial_event =
			sim_queue_add(world->queue, DIAL_MS, on_dial, client);
		return;
	}
	client->peer = sim_host_dial(client->host, WORLD_SOCKET,
				     client_uid(client->who));
}

static const struct sim_network_events events = {
	.opened = on_opened,
	.received = on_received,
	.closed = on_closed,
};

static void client_begin(struct client *client)
{
	client->host =
		sim_host_create(client->clients->world->client_network,
				client_name(client->who), &events, client);
	client->peer = 0;
	client->is_open = false;
}

void client_restart(struct clients *clients, enum client_who who)
{
	struct client *client = &clients->list[who];

	coverage_hit(clients->world->coverage, "fault:client-restarts");
	sim_host_destroy(client->host, false);
	client_begin(client);
	while (client->calls != NULL)
		call_end(client->calls, NULL);
}

struct clients *clients_create(struct world *world)
{
	struct clients *clients = world_allocate(sizeof(*clients));

	clients->world = world;
	for (int i = 0; i < CLIENT_COUNT; i++) {
		clients->list[i].clients = clients;
		clients->list[i].who = (enum client_who)i;
		client_begin(&clients->list[i]);
	}
	return clients;
}

void clients_destroy(struct clients *clients)
{
	if (clients == NULL)
		return;
	for (int i = 0; i < CLIENT_COUNT; i++) {
		struct client *client = &clients->list[i];
		struct call *call, *next;

		sim_queue_cancel(clients->world->queue, client->dial_event);
		DL_FOREACH_SAFE (client->calls, call, next) {
			sim_queue_cancel(clients->world->queue, call->handle);
			free(call->text);
			free(call);
		}
		sim_host_destroy(client->host, false);
	}
	free(clients);
}
