/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Local clients: permissions, and the requests that are answered at once. The
 * table of ops is that of doc/rfc/client-protocol.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/node/agent/internal.h"

struct agent_request {
	struct agent_client *client;
	uint64_t id;
	const json_t *object;
};

/* --- answering --- */

void client_reply(struct agent *agent, uint64_t peer, uint64_t id,
		  json_t *answer)
{
	const struct net_seam *net = &agent->options.clients_net;
	struct writer frame = { 0 };
	int result = answer ? client_encode(answer, &frame) : -ENOMEM;

	json_decref(answer);
	if (result < 0) {
		answer = client_error(id, result,
				      result == -EMSGSIZE
					      ? "the answer is too long"
					      : "memory is out",
				      NULL);
		result = answer ? client_encode(answer, &frame) : -ENOMEM;
		json_decref(answer);
	}
	/* A client that does not listen has itself to blame. */
	if (result == 0)
		(void)net->ops->send(net->ctx, peer, frame.data, frame.size);
	writer_fini(&frame);
}

void client_refuse(struct agent *agent, uint64_t peer, uint64_t id, int code,
		   const char *text, const char *hint)
{
	client_reply(agent, peer, id, client_error(id, code, text, hint));
}

static int refuse(struct agent *agent, const struct agent_request *request,
		  const struct fairlead_error *error)
{
	client_refuse(agent, request->client->peer, request->id, error->code,
		      error->text, NULL);
	return error->code;
}

void client_reply_view(struct agent *agent, uint64_t peer, uint64_t id,
		       json_t *view)
{
	json_t *answer = view ? client_answer(id) : NULL;

	if (answer && json_object_update(answer, view) < 0) {
		json_decref(answer);
		answer = NULL;
	}
	json_decref(view);
	client_reply(agent, peer, id, answer);
}

static void answer_view(struct agent *agent,
			const struct agent_request *request, json_t *view)
{
	client_reply_view(agent, request->client->peer, request->id, view);
}

/* --- ops that are answered at once --- */

static void op_status(struct agent *agent, const struct agent_request *request)
{
	status_answer(agent, request->client->peer, request->id,
		      request->client->uid);
}

static void op_devices(struct agent *agent, const struct agent_request *request)
{
	struct fairlead_error error;
	json_t *view;

	if (view_devices(agent, &view, &error) < 0)
		refuse(agent, request, &error);
	else
		answer_view(agent, request, view);
}

static void op_objects(struct agent *agent, const struct agent_request *request)
{
	objects_answer(agent, request->client->peer, request->id,
		       request->client->uid);
}

/* A variable of [[name, value], ...], or NULL. */
static const char *variable_get(void *arg, const char *name)
{
	json_t *pair;
	size_t i;

	json_array_foreach ((json_t *)arg, i, pair) {
		const char *found = json_string_value(json_array_get(pair, 0));

		if (found && strcmp(found, name) == 0)
			return json_string_value(json_array_get(pair, 1));
	}
	return NULL;
}

static void op_inherit(struct agent *agent, const struct agent_request *request)
{
	json_t *variables = json_object_get(request->object, "variables");
	struct fairlead_error error;

	if (!json_is_array(variables)) {
		error_set(&error, -EINVAL,
			  "'variables' has to be an array of [name, value]");
		refuse(agent, request, &error);
		return;
	}
	for (size_t i = 0; i < agent->options.driver_count; i++) {
		const struct guard_driver *driver = &agent->options.drivers[i];

		if (!driver->is_open || !driver->driver->node->inherit)
			continue;
		if (driver->driver->node->inherit(
			    driver->state, request->client->uid, variable_get,
			    variables, &error) < 0) {
			refuse(agent, request, &error);
			return;
		}
	}
	client_reply(agent, request->client->peer, request->id,
		     client_answer(request->id));
}

/* --- ops that take a while --- */

static int order_read(const struct agent *agent,
		      const struct agent_request *request,
		      struct work_order *order,
		      struct fairlead_error *ret_error)
{
	const struct agent_timeouts *timeouts = &agent->options.timeouts;
	const char *job = NULL;
	int64_t timeout_ms = AGENT_PROLOG_MS;
	int result;

	if (order->kind == WORK_EPILOG)
		timeout_ms = timeouts->epilog_ms;
	else if (order->kind == WORK_HOUSEKEEPING)
		timeout_ms = timeouts->housekeeping_ms;
	result = members_text(
		request->object, "job",
		order->kind == WORK_HOUSEKEEPING || order->kind == WORK_CLEAN ||
				json_object_get(request->object, "grant")
			? MEMBER_OPTIONAL
			: MEMBER_REQUIRED,
		&job, ret_error);
	if (result == 0 && job) {
		order->has_job = true;
		result = request_key_parse(job, &order->job, ret_error);
	}
	if (result == 0)
		result = members_bool(request->object, "dry_run",
				      MEMBER_OPTIONAL, &order->is_dry_run,
				      ret_error);
	if (result == 0)
		result = members_bool(request->object, "housekeeping",
				      MEMBER_OPTIONAL, &order->is_followed,
				      ret_error);
	if (result == 0)
		result = members_bool(request->object, "all", MEMBER_OPTIONAL,
				      &order->is_all, ret_error);
	if (result == 0)
		result = members_bool(request->object, "force", MEMBER_OPTIONAL,
				      &order->is_forced, ret_error);
	if (result == 0)
		result =
			members_number(request->object, "timeout_ms",
				       MEMBER_OPTIONAL, 0, AGENT_TIMEOUT_MS_MAX,
				       &timeout_ms, ret_error);
	order->timeout_ms = (uint32_t)timeout_ms;
	return result;
}

/* Alternatives to the job in a prolog request. */
static int order_read_lane(const struct agent *agent,
			   const struct agent_request *request,
			   struct work_order *order,
			   struct fairlead_error *ret_error)
{
	const char *grant = NULL;
	int64_t cores = 1;
	int result = members_text(request->object, "grant", MEMBER_OPTIONAL,
				  &grant, ret_error);

	if (result == 0)
		result = members_number(request->object, "cores",
					MEMBER_OPTIONAL, 1, UINT16_MAX, &cores,
					ret_error);
	order->lane.cores = (uint32_t)cores;
	order->lane.tasks = (uint32_t)cores;
	if (result < 0 || !grant)
		return result;
	if (order->has_job)
		return error_set(ret_error, -EINVAL,
				 "'job' and 'grant' cannot both be given");
	return order_read_grant(agent, grant, order, ret_error);
}

/* DEVICE/ID: what a clean may be given. */
static int order_read_object(const struct agent_request *request,
			     struct work_order *order,
			     struct fairlead_error *ret_error)
{
	const char *object = NULL;
	const char *slash;
	char *end;
	unsigned long id;
	int result = members_text(request->object, "object", MEMBER_OPTIONAL,
				  &object, ret_error);

	if (result < 0 || !object)
		return result;
	slash = strrchr(object, '/');
	if (!slash || slash == object || slash[1] < '0' || slash[1] > '9' ||
	    (size_t)(slash - object) >= sizeof(order->device))
		return error_set(ret_error, -EINVAL,
				 "'object' has to be DEVICE/ID");
	id = strtoul(slash + 1, &end, 10);
	if (*end || id > UINT32_MAX)
		return error_set(ret_error, -EINVAL,
				 "'object' has to be DEVICE/ID");
	if (order->is_all)
		return error_set(ret_error, -EINVAL,
				 "'all' and 'object' cannot both be given");
	order->has_object = true;
	order->object_id = (uint32_t)id;
	memcpy(order->device, object, (size_t)(slash - object));
	return 0;
}

static void work_start(struct agent *agent, const struct agent_request *request,
		       enum agent_work_kind kind)
{
	struct work_order order = {
		.kind = kind,
		.peer = request->client->peer,
		.id = request->id,
		.uid = request->client->uid,
		.has_lane = true,
	};
	struct fairlead_error error;
	int result = order_read(agent, request, &order, &error);

	if (result == 0)
		result = order_read_lane(agent, request, &order, &error);
	if (result == 0)
		result = order_read_object(request, &order, &error);
	if (result == 0) {
		request->client->work_count++;
		result = work_begin(agent, &order);
		if (result == 0)
			return;
		request->client->work_count--;
		error_set(&error, result, "too many requests are under way");
	}
	refuse(agent, request, &error);
}

static void op_prolog(struct agent *agent, const struct agent_request *request)
{
	work_start(agent, request, WORK_PROLOG);
}

static void op_epilog(struct agent *agent, const struct agent_request *request)
{
	work_start(agent, request, WORK_EPILOG);
}

static void op_housekeeping(struct agent *agent,
			    const struct agent_request *request)
{
	work_start(agent, request, WORK_HOUSEKEEPING);
}

static void op_clean(struct agent *agent, const struct agent_request *request)
{
	_auto_(freep) char *text = json_dumps(request->object, JSON_COMPACT);

	log_info(agent->options.log, "request of an operator uid=%u request=%s",
		 request->client->uid, text == NULL ? "" : text);
	work_start(agent, request, WORK_CLEAN);
}

static void op_env(struct agent *agent, const struct agent_request *request)
{
	work_start(agent, request, WORK_ENVIRONMENT);
}

/* --- the table --- */

struct agent_op {
	const char *name;
	bool is_roots;
	void (*run)(struct agent *agent, const struct agent_request *request);
	const char *members[6];
};

static const struct agent_op ops[] = {
	{ "node-status", false, op_status, { NULL } },
	{ "prolog",
	  true,
	  op_prolog,
	  { "job", "grant", "cores", "dry_run", "timeout_ms" } },
	{ "epilog",
	  true,
	  op_epilog,
	  { "job", "dry_run", "housekeeping", "timeout_ms" } },
	{ "housekeeping",
	  true,
	  op_housekeeping,
	  { "job", "dry_run", "timeout_ms" } },
	{ "clean", true, op_clean, { "all", "force", "object", "dry_run" } },
	{ "devices", false, op_devices, { NULL } },
	{ "objects", false, op_objects, { NULL } },
	{ "env", false, op_env, { "job" } },
	{ "inherit", false, op_inherit, { "variables" } },
};

static const struct agent_op *op_find(const char *name)
{
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	}
	return NULL;
}

static int request_check(const struct agent_request *request, const char *name,
			 const struct agent_op *op,
			 struct fairlead_error *ret_error)
{
	if (!op)
		return error_set(ret_error, -EINVAL,
				 "a node's daemon has no op '%s'", name);
	if (request->client->work_count >= CLIENT_REQUESTS_MAX)
		return error_set(ret_error, -EAGAIN,
				 "%d requests of this connection are open",
				 CLIENT_REQUESTS_MAX);
	if (op->is_roots && request->client->uid != 0)
		return error_set(ret_error, -EPERM,
				 "only root may ask for '%s'", name);
	return client_members_check(request->object, op->members, ret_error);
}

static void request_run(struct agent *agent, struct agent_client *client,
			const json_t *object)
{
	struct agent_request request = { .client = client, .object = object };
	struct fairlead_error error;
	const struct agent_op *op;
	const char *name;

	if (client_open(object, &request.id, &name, &error) < 0) {
		request.id = client_id(object);
		refuse(agent, &request, &error);
		return;
	}
	op = op_find(name);
	if (request_check(&request, name, op, &error) < 0)
		refuse(agent, &request, &error);
	else
		op->run(agent, &request);
}

/* --- connections --- */

static struct agent_client *client_find(const struct agent *agent,
					uint64_t peer)
{
	struct agent_client *client;

	HASH_FIND(hh, agent->clients, &peer, sizeof(peer), client);
	return client;
}

static void client_remove(struct agent *agent, struct agent_client *client)
{
	HASH_DEL(agent->clients, client);
	free(client);
}

/* So that no user can keep root's epilogs out. */
static bool has_too_many(const struct agent *agent, uid_t uid)
{
	size_t count = 0;

	for (const struct agent_client *client = agent->clients; client;
	     client = client->hh.next)
		count += client->uid == uid;
	return uid != 0 && count >= AGENT_USER_CLIENTS_MAX;
}

void agent_client_opened(struct agent *agent, uint64_t peer, uid_t uid)
{
	const struct net_seam *net = &agent->options.clients_net;
	struct agent_client *client;

	if (has_too_many(agent, uid)) {
		client_refuse(agent, peer, 0, -EAGAIN,
			      "too many connections of this user are open",
			      NULL);
		net->ops->close(net->ctx, peer);
		return;
	}
	client = memory_alloc(sizeof(*client));
	client->peer = peer;
	client->uid = uid;
	HASH_ADD(hh, agent->clients, peer, sizeof(peer), client);
	memory_have(client->hh.tbl);
}

void agent_client_received(struct agent *agent, uint64_t peer,
			   const void *frame, size_t size)
{
	const struct net_seam *net = &agent->options.clients_net;
	struct agent_client *client = client_find(agent, peer);
	struct fairlead_error error;
	json_t *object;
	int result;

	if (!client)
		return;
	result = client_parse(frame, size, &object, &error);
	if (result < 0) {
		client_refuse(agent, peer, 0, result, error.text, NULL);
		client_remove(agent, client);
		net->ops->close(net->ctx, peer);
		return;
	}
	request_run(agent, client, object);
	json_decref(object);
}

void agent_client_violated(struct agent *agent, uint64_t peer, int reason)
{
	client_refuse(agent, peer, 0, reason,
		      reason == -ETIMEDOUT
			      ? "a frame was begun and not completed in time"
			      : "a frame is empty or too long",
		      NULL);
}

void agent_client_closed(struct agent *agent, uint64_t peer)
{
	struct agent_client *client = client_find(agent, peer);

	if (client)
		client_remove(agent, client);
}

void client_work_done(struct agent *agent, uint64_t peer)
{
	struct agent_client *client = client_find(agent, peer);

	if (client)
		client->work_count--;
}

void agent_clients_fini(struct agent *agent)
{
	struct agent_client *client, *next;

	HASH_ITER (hh, agent->clients, client, next)
		client_remove(agent, client);
}
