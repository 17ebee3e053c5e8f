/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The channel between agent and guard: requests in order, those at a time that
 * the guard takes together, each answered a little later. What the guard was
 * asked and answered is shown to the oracle.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/node/guard/test/handle.h"
#include "node_internal.h"
#include "oracle.h"

#define HEADER_OP    6 /* offsets in a COMMAND (node-protocol.md) */
#define HEADER_EPOCH 12

/* Read a command's header and key without the code that is tested. */
static bool command_read(const void *bytes, size_t size,
			 struct command *ret_command, struct node_order *order)
{
	struct reader reader = reader_of(bytes, size);
	struct command command = { 0 };
	size_t skipped;

	read_bytes(&reader, HEADER_OP);
	command.op = read_u8(&reader);
	read_bytes(&reader, HEADER_EPOCH - HEADER_OP - 1);
	command.epoch = read_u64(&reader);
	command.life = read_u64(&reader);
	command.sequence = read_u64(&reader);
	command.grant_id = read_u64(&reader);
	command.apply_floor = read_u64(&reader);
	read_bytes(&reader, COMMAND_HEADER_SIZE - 52);
	if (reader.failed)
		return false;
	*order = (struct node_order){
		.op = command.op,
		.epoch = command.epoch,
		.life = command.life,
		.grant_id = command.grant_id,
	};
	if (command.op == COMMAND_REVOKE)
		read_blob(&reader, NODES_TEXT_MAX, &skipped);
	if (command.op == COMMAND_APPLY || command.op == COMMAND_REVOKE)
		read_text(&reader, order->key, sizeof(order->key));
	*ret_command = command;
	return true;
}

static const char *result_name(int result)
{
	return result == 0 ? "0" : strerrorname_np(-result);
}

static const char *const request_names[] = {
	[GUARD_COMMAND] = "command", [GUARD_REGISTER] = "register",
	[GUARD_GRANTS] = "grants",   [GUARD_PENDING] = "pending",
	[GUARD_ANSWER] = "answer",   [GUARD_REVOKE] = "revoke",
	[GUARD_DESTROY] = "destroy", [GUARD_ENVIRONMENT] = "env",
	[GUARD_RELOAD] = "reload",   [GUARD_HOPS] = "hops",
	[GUARD_DRIVERS] = "drivers", [GUARD_OBJECTS] = "objects",
};

/*
 * Does the REGISTER say that every driver could tell what is there? And the
 * number of the place in it, 0: none.
 */
static bool has_listed(struct node *node, const struct guard_request *request,
		       const struct guard_reply *reply, uint32_t *ret_number)
{
	struct node_master masters[KEYS_MAX];
	size_t count = manager_keys_masters(&node->world->keys, masters);
	struct registration registration;
	bool result = true;

	if (registration_open(masters, count, request->nonce, reply->bytes,
			      reply->size, &registration) < 0)
		return false; /* with a key that is gone meanwhile */
	for (size_t i = 0; i < registration.driver_count; i++) {
		const struct fairlead_place *place =
			&registration.drivers[i].place;

		result = result && registration.drivers[i].is_usable;
		if (strcmp(registration.drivers[i].name, "fabric") == 0 &&
		    place->size > 0)
			*ret_number =
				fabric_place_read(place->bytes, place->size)
					.number;
	}
	registration_fini(&registration);
	return result;
}

static void obeyed_keep(struct node *node, const struct guard_request *request)
{
	struct writer *obeyed;

	for (size_t i = 0; i < NODE_OBEYED_MAX; i++) {
		obeyed = &node->obeyed[i];
		if (obeyed->size == request->size &&
		    memcmp(obeyed->data, request->bytes, request->size) == 0)
			return;
	}
	obeyed = &node->obeyed[node->obeyed_count++ % NODE_OBEYED_MAX];
	obeyed->size = 0;
	write_bytes(obeyed, request->bytes, request->size);
}

static void observe(struct node *node, const struct guard_request *request,
		    const struct command *command, const struct writer *bytes)
{
	struct world *world = node->world;
	struct guard_reply reply;

	if (guard_reply_decode(bytes->data, bytes->size, &reply) < 0)
		world_fail(world, "%s: the guard's reply cannot be read",
			   node->name);
	if (request->type == GUARD_COMMAND) {
		coverage_hit(world->coverage, "guard:%s:%s",
			     reply.op == 0 ? "unbelieved"
					   : command_op_name(reply.op),
			     result_name(reply.result));
		world_trace(world, "%s %s grant=%llu epoch=%llu: %s %s",
			    node->name,
			    reply.op == 0 ? "unbelieved"
					  : command_op_name(reply.op),
			    (unsigned long long)command->grant_id,
			    (unsigned long long)command->epoch,
			    result_name(reply.result), reply.text);
	} else {
		assert(request->type <
		       sizeof(request_names) / sizeof(request_names[0]));
		coverage_hit(world->coverage, "guard:%s:%s",
			     request_names[request->type],
			     result_name(reply.result));
		if (request->type == GUARD_REVOKE ||
		    request->type == GUARD_DESTROY)
			world_trace(world, "%s %s grant=%llu: %s %s",
				    node->name, request_names[request->type],
				    (unsigned long long)request->number,
				    result_name(reply.result), reply.text);
	}
	if (request->type == GUARD_REGISTER && reply.result == 0) {
		uint32_t number = 0;
		bool is_whole = has_listed(node, request, &reply, &number);

		oracle_listed(world->oracle, node, is_whole, number);
	}
	if (request->type == GUARD_REGISTER)
		world_trace(world, "%s makes a REGISTER: %s", node->name,
			    result_name(reply.result));
	if (reply.op == COMMAND_APPLY && reply.result == 0)
		obeyed_keep(node, request);
	if (request->type == GUARD_COMMAND && reply.op != 0)
		oracle_obeyed(world->oracle, node, command, request->bytes,
			      reply.result);
	if (request->type == GUARD_REVOKE && !request->is_dry_run &&
	    reply.result == 0)
		oracle_revoked(world->oracle, node, request->number);
	guard_reply_fini(&reply);
}

static void on_reply(struct node *node, const void *bytes, size_t size)
{
	if (agent_guard_received(node->agent, bytes, size) < 0)
		world_fail(node->world,
			   "%s: the agent does not understand the guard",
			   node->name);
}

static void on_turn(struct node *node, const void *bytes, size_t size);

static void turn_later(struct node *node)
{
	if (node->is_turning || node->asked == NULL)
		return;
	node->is_turning = true;
	node_later(node, sim_rng_below(&node->rng, 3), on_turn, NULL, 0);
}

/* The request, as the guard is to read it. */
static void request_begin(struct node *node,
			  const struct guard_request *request,
			  struct command *command)
{
	node->has_order = false;
	if (request->type == GUARD_COMMAND)
		node->has_order = command_read(request->bytes, request->size,
					       command, &node->order);
	node->has_order = node->has_order && (node->order.op == COMMAND_APPLY ||
					      node->order.op == COMMAND_REVOKE);
}

/* Hand the guard its next request, which is then one of the turn's. */
static int turn_take(struct node *node, struct node_task **turn,
		     struct writer *replies)
{
	struct node_task *task = node->asked;
	struct command command = { 0 };
	struct guard_request request;
	int result;

	DL_DELETE(node->asked, task);
	if (guard_request_decode(task->bytes, task->size, &request) < 0)
		world_fail(node->world, "%s: the agent's request is malformed",
			   node->name);
	request_begin(node, &request, &command);
	result = guard_take(node->guard, task->bytes, task->size, replies);
	node->has_order = false;
	guard_request_fini(&request);
	DL_APPEND(*turn, task);
	return result;
}

/* The request has this reply. */
static void turn_answer(struct node *node, const struct node_task *task,
			const struct writer *reply)
{
	struct command command = { 0 };
	struct guard_request request;
	struct node_order order;

	if (guard_request_decode(task->bytes, task->size, &request) < 0)
		world_fail(node->world, "%s: a request is lost", node->name);
	if (request.type == GUARD_COMMAND)
		command_read(request.bytes, request.size, &command, &order);
	observe(node, &request, &command, reply);
	node_later(node, 1, on_reply, reply->data, reply->size);
	guard_request_fini(&request);
}

/* A reply for each request of the turn, in order, and no more. */
static void turn_end(struct node *node, const struct node_task *turn,
		     const struct writer *replies)
{
	struct reader reader = reader_of(replies->data, replies->size);
	const struct node_task *task;

	if (turn->next != NULL)
		coverage_hit(node->world->coverage, "guard:together");
	DL_FOREACH (turn, task) {
		struct writer reply = { 0 };
		size_t size = read_u32(&reader);

		write_bytes(&reply, read_bytes(&reader, size), size);
		if (reader.failed)
			world_fail(node->world, "%s: a reply is missing",
				   node->name);
		turn_answer(node, task, &reply);
		writer_fini(&reply);
	}
	if (reader.left > 0)
		world_fail(node->world, "%s: a reply too many", node->name);
}

/* While lanes wait to be taken back, what is there already is read, too. */
static void on_turn(struct node *node, const void *bytes, size_t size)
{
	struct node_task *turn = NULL, *task, *next;
	struct writer replies = { 0 };
	int result;

	node->is_turning = false;
	hardware_choose(node->hardware);
	do {
		result = turn_take(node, &turn, &replies);
	} while (result == 0 && !node->is_dead && node->asked != NULL &&
		 guard_is_waiting(node->guard));
	if (result == 0)
		result = guard_settle(node->guard, &replies);
	hardware_choose(NULL);
	if (result < 0)
		world_fail(node->world, "%s: the guard gives up: %s",
			   node->name, result_name(result));
	if (!node->is_dead) {
		turn_end(node, turn, &replies);
		turn_later(node);
	}
	DL_FOREACH_SAFE (turn, task, next)
		free(task);
	writer_fini(&replies);
}

void node_hand(struct node *node, const void *bytes, size_t size)
{
	struct guard_request request = {
		.type = GUARD_COMMAND,
		.bytes = bytes,
		.size = size,
	};
	struct command command = { 0 };
	struct writer asked = { 0 }, reply = { 0 };

	if (node->guard == NULL || guard_request_encode(&request, &asked) < 0)
		return;
	request_begin(node, &request, &command);
	hardware_choose(node->hardware);
	if (guard_handle(node->guard, asked.data, asked.size, &reply) < 0)
		world_fail(node->world, "%s: the guard gives up", node->name);
	hardware_choose(NULL);
	node->has_order = false;
	if (!node->is_dead)
		observe(node, &request, &command, &reply);
	writer_fini(&asked);
	writer_fini(&reply);
	node_settle(node);
}

bool node_hand_obeyed(struct node *node)
{
	size_t count = node->obeyed_count < NODE_OBEYED_MAX ? node->obeyed_count
							    : NODE_OBEYED_MAX;
	struct writer command = { 0 };
	const struct writer *obeyed;

	if (count == 0)
		return false;
	obeyed = &node->obeyed[world_below(node->world, count)];
	/* What is handed over may take its place. */
	write_bytes(&command, obeyed->data, obeyed->size);
	node_hand(node, command.data, command.size);
	writer_fini(&command);
	return true;
}

int node_guard_ask(void *ctx, const void *request, size_t size)
{
	struct node *node = ctx;
	struct node_task *task = world_allocate(sizeof(*task) + size);

	task->node = node;
	task->size = size;
	memcpy(task->bytes, request, size);
	DL_APPEND(node->asked, task);
	turn_later(node);
	return 0;
}

void node_guard_fini(struct node *node)
{
	for (size_t i = 0; i < NODE_OBEYED_MAX; i++)
		writer_fini(&node->obeyed[i]);
}

/* --- for the oracle: the guard's own word, aside from its conversation --- */

static unsigned int count(const struct node *node, enum guard_type type)
{
	struct guard_request request = { .type = (uint8_t)type };
	struct writer asked = { 0 }, answered = { 0 };
	struct guard_reply reply;
	unsigned int result;

	if (guard_request_encode(&request, &asked) < 0 ||
	    guard_handle(node->guard, asked.data, asked.size, &answered) < 0 ||
	    guard_reply_decode(answered.data, answered.size, &reply) < 0)
		world_fail(node->world, "%s: the guard does not answer",
			   node->name);
	result = type == GUARD_GRANTS ? (unsigned int)reply.grant_count
				      : reply.pending_count;
	guard_reply_fini(&reply);
	writer_fini(&asked);
	writer_fini(&answered);
	return result;
}

unsigned int node_grant_count(const struct node *node)
{
	return count(node, GUARD_GRANTS);
}

unsigned int node_pending_count(const struct node *node)
{
	return count(node, GUARD_PENDING);
}
