/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local clients of a node's daemon: each request has a connection of its own,
 * begins a little later, and ends with an answer or with the daemon.
 */
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "node_internal.h"

static void inquiry_end(struct inquiry *inquiry)
{
	struct node *node = inquiry->node;

	DL_DELETE(node->inquiries, inquiry);
	sim_queue_cancel(node->world->queue, inquiry->handle);
	json_decref(inquiry->answer);
	free(inquiry->text);
	free(inquiry);
}

static void on_answered(void *ctx)
{
	struct inquiry *inquiry = ctx;
	struct node *node = inquiry->node;

	inquiry->handle = 0;
	if (node->agent != NULL && inquiry->answer != NULL)
		agent_client_closed(node->agent, inquiry->peer);
	if (inquiry->done != NULL)
		inquiry->done(inquiry->ctx, node, inquiry->answer);
	inquiry_end(inquiry);
	node_settle(node);
}

static void answer_later(struct inquiry *inquiry)
{
	struct sim_queue *queue = inquiry->node->world->queue;

	sim_queue_cancel(queue, inquiry->handle);
	inquiry->handle = sim_queue_add(queue, 1, on_answered, inquiry);
}

static void on_begin(void *ctx)
{
	struct inquiry *inquiry = ctx;
	struct node *node = inquiry->node;

	inquiry->handle = 0;
	if (node->agent == NULL) {
		answer_later(inquiry);
		return;
	}
	hardware_choose(node->hardware);
	agent_client_opened(node->agent, inquiry->peer, inquiry->uid);
	agent_client_received(node->agent, inquiry->peer, inquiry->text,
			      strlen(inquiry->text));
	hardware_choose(NULL);
	node_settle(node);
}

void node_ask(struct node *node, uid_t uid, const char *op,
	      json_t *members_owned, node_answer_fn *done, void *ctx)
{
	struct inquiry *inquiry = world_allocate(sizeof(*inquiry));
	json_t *request =
		json_pack("{s:i, s:i, s:s}", "v", 1, "id", 1, "op", op);

	if (request == NULL || (members_owned != NULL &&
				json_object_update(request, members_owned) < 0))
		abort();
	json_decref(members_owned);
	inquiry->node = node;
	inquiry->peer = ++node->peer_last;
	inquiry->uid = uid;
	inquiry->text = json_dumps(request, JSON_COMPACT);
	inquiry->done = done;
	inquiry->ctx = ctx;
	inquiry->handle =
		sim_queue_add(node->world->queue, 1, on_begin, inquiry);
	DL_APPEND(node->inquiries, inquiry);
	json_decref(request);
}

static int client_send(void *ctx, uint64_t peer, const void *frame, size_t size)
{
	struct node *node = ctx;
	struct inquiry *inquiry;

	DL_FOREACH (node->inquiries, inquiry) {
		if (inquiry->peer == peer)
			break;
	}
	if (inquiry == NULL)
		return -ENOTCONN;
	if (inquiry->answer != NULL)
		world_fail(node->world, "%s: a local client is answered twice",
			   node->name);
	inquiry->answer = json_loadb(frame, size, 0, NULL);
	if (inquiry->answer == NULL)
		world_fail(node->world, "%s: an answer is not JSON: %.*s",
			   node->name, (int)size, (const char *)frame);
	answer_later(inquiry);
	return 0;
}

static void client_close(void *ctx, uint64_t peer)
{
}

const struct net_ops node_clients_ops = {
	.send = client_send,
	.close = client_close,
};

void node_clients_lost(struct node *node)
{
	struct inquiry *inquiry;

	DL_FOREACH (node->inquiries, inquiry)
		answer_later(inquiry);
}

void node_clients_fini(struct node *node)
{
	struct inquiry *inquiry, *next;

	DL_FOREACH_SAFE (node->inquiries, inquiry, next)
		inquiry_end(inquiry);
}
