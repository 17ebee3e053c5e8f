/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients' connections (doc/rfc/client-protocol.md). A well-formed request gets
 * a token, under which it is open until it is answered once. A malformed one is
 * answered with its id, or 0; bytes that are no JSON object cost the
 * connection.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"
#include "lanes/manager/session.h"

#define WARNING_MAX 256

static struct manager_client *find(const struct engine *engine, uint64_t peer)
{
	struct manager_client *client;

	HASH_FIND(hh, engine->clients, &peer, sizeof(peer), client);
	return client;
}

static void close_peer(struct engine *engine, uint64_t peer)
{
	engine->clients_net.ops->close(engine->clients_net.ctx, peer);
}

/*
 * A warning in every answer while no node has registered since the start: this
 * may be a second manager, started on a copy of the journal. NULL: one has.
 */
static const char *warning_make(const struct engine *engine,
				char text[WARNING_MAX])
{
	if (engine->has_registered)
		return NULL;
	snprintf(text, WARNING_MAX,
		 "no node has registered with this manager since it started "
		 "%" PRIu64 " s ago: it can make no lane; if the nodes are up, "
		 "another manager may be running",
		 (engine_now_ms(engine) - engine->started_ms) / 1000);
	return text;
}

/* A client that does not read its answers is disconnected. */
static void send_answer(struct engine *engine, uint64_t peer, uint64_t id,
			int code, const char *text, const char *hint,
			const char *members)
{
	struct writer writer = writer_borrow(&engine->answer);
	char warning_text[WARNING_MAX];
	const char *warning = warning_make(engine, warning_text);
	int result = client_answer_encode(id, code, text, hint, warning,
					  members, &writer);

	if (result == -EMSGSIZE)
		result = client_answer_encode(
			id, -EMSGSIZE, "the answer is longer than a frame",
			"ask for less: one job, or fewer nodes", warning, NULL,
			&writer);
	if (result == 0)
		result = engine->clients_net.ops->send(engine->clients_net.ctx,
						       peer, writer.data,
						       writer.size);
	if (result < 0)
		close_peer(engine, peer);
	writer_return(&engine->answer, &writer);
}

/* An error that belongs to no open request. */
static void refuse(struct engine *engine, uint64_t peer, uint64_t id, int code,
		   const char *text, const char *hint)
{
	engine->counters.client_refused_count++;
	send_answer(engine, peer, id, code, text, hint, NULL);
}

static void count(struct engine *engine, const struct open_request *request,
		  int result)
{
	struct op_metrics *metrics = &engine->counters.ops[request->op];

	metrics->failed_count += result < 0;
	histogram_add(&metrics->times,
		      engine_now_ms(engine) - request->started_ms);
}

bool clients_goes_first(const struct engine *engine, uint64_t token)
{
	const struct open_request *request;
	const struct manager_client *client = NULL;

	HASH_FIND(hh, engine->requests, &token, sizeof(token), request);
	if (request != NULL)
		client = find(engine, request->peer);
	return client != NULL && engine_goes_first(engine, client->uid);
}

void clients_answer(struct engine *engine, uint64_t token, int result,
		    const char *text, const char *hint, const char *members)
{
	struct open_request *request;
	struct manager_client *client;

	HASH_FIND(hh, engine->requests, &token, sizeof(token), request);
	if (request == NULL)
		return;
	HASH_DEL(engine->requests, request);
	count(engine, request, result);
	client = find(engine, request->peer);
	if (client != NULL) {
		client->open_count--;
		send_answer(engine, client->peer, request->id, result, text,
			    hint, members);
	}
	free(request);
}

void clients_answer_json(struct engine *engine, uint64_t token,
			 json_t *members_owned)
{
	_auto_(freep) char *text =
		memory_have(json_dumps(members_owned, JSON_COMPACT));

	json_decref(members_owned);
	clients_answer(engine, token, 0, NULL, NULL, text);
}

void clients_fail_all(struct engine *engine, int result, const char *text,
		      const char *hint)
{
	struct open_request *request;
	struct open_request *next;

	HASH_ITER (hh, engine->requests, request, next)
		clients_answer(engine, request->token, result, text, hint,
			       NULL);
}

void engine_client_opened(struct engine *engine, uint64_t peer, uid_t uid,
			  bool is_remote)
{
	struct manager_client *client;

	if (HASH_COUNT(engine->clients) >= CLIENT_CONNECTIONS_MAX) {
		refuse(engine, peer, 0, -EAGAIN,
		       "the manager has too many clients", "ask again later");
		close_peer(engine, peer);
		return;
	}
	client = memory_alloc(sizeof(*client));
	client->peer = peer;
	client->uid = uid;
	client->is_remote = is_remote;
	HASH_ADD(hh, engine->clients, peer, sizeof(client->peer), client);
	memory_have(client->hh.tbl);
}

void engine_client_closed(struct engine *engine, uint64_t peer)
{
	struct manager_client *client = find(engine, peer);

	if (client == NULL)
		return;
	HASH_DEL(engine->clients, client);
	free(client);
}

void engine_client_violated(struct engine *engine, uint64_t peer, int reason)
{
	if (find(engine, peer) == NULL)
		return;
	if (reason == -EMSGSIZE)
		refuse(engine, peer, 0, reason,
		       "a request is longer than a frame, or empty", NULL);
	else
		refuse(engine, peer, 0, reason,
		       "a request was not complete in time", NULL);
	close_peer(engine, peer);
}

static const struct manager_op *find_op(const char *name)
{
	for (size_t i = 0; i < op_count; i++) {
		if (strcmp(ops[i].name, name) == 0)
			return &ops[i];
	}
	return NULL;
}

/* NULL: it is none. */
static const char *submitter_name(const struct engine *engine, uid_t uid)
{
	const struct engine_config *config = engine->config;

	for (size_t i = 0; i < config->submitter_count; i++) {
		if (config->submitters[i].uid == uid)
			return config->submitters[i].name;
	}
	return NULL;
}

bool engine_goes_first(const struct engine *engine, uid_t uid)
{
	return uid == 0 || submitter_name(engine, uid) != NULL;
}

static struct core_caller caller_of(const struct engine *engine,
				    const struct manager_client *client)
{
	return (struct core_caller){
		.uid = client->uid,
		.is_root = client->uid == 0 && !client->is_remote,
		.submitter = submitter_name(engine, client->uid),
	};
}

/* 0 when this caller may do this now. */
static int check_call(const struct engine *engine, const struct manager_op *op,
		      const struct core_caller *caller, const char **ret_hint,
		      struct fairlead_error *ret_error)
{
	*ret_hint = NULL;
	if (op->who == OP_FOR_ROOT && !caller->is_root) {
		if (caller->uid == 0)
			*ret_hint = "over TCP root has no rights of its own: "
				    "ask on the manager's machine";
		return error_set(ret_error, -EPERM, "'%s' is root's to ask for",
				 op->name);
	}
	if (op->who == OP_FOR_SUBMITTERS && !caller->is_root &&
	    caller->submitter == NULL) {
		*ret_hint = "name this uid in a 'submitter' section of the "
			    "configuration";
		return error_set(ret_error, -EPERM,
				 "'%s' is for root and submitters, and uid %u "
				 "is neither",
				 op->name, caller->uid);
	}
	if (op->is_change && engine->halted_epoch != 0) {
		*ret_hint = HALT_HINT;
		return error_set(ret_error, -ESTALE, HALT_TEXT);
	}
	if (op->needs_core && engine->core == NULL) {
		*ret_hint = engine->failure.code < 0
				    ? commit_failure_hint(engine->failure.code)
				    : "ask again";
		return error_set(ret_error, -EAGAIN,
				 "the journal is being read again: %s",
				 engine->failure.text);
	}
	return 0;
}

/* The token of a new open request; 0 when there is no room. */
static uint64_t open_request(struct engine *engine,
			     struct manager_client *client, uint64_t id,
			     const struct manager_op *op)
{
	struct open_request *request;

	if (client->open_count >= CLIENT_REQUESTS_MAX ||
	    HASH_COUNT(engine->requests) >= ENGINE_OPEN_MAX)
		return 0;
	request = memory_alloc(sizeof(*request));
	request->token = ++engine->token_last;
	request->peer = client->peer;
	request->id = id;
	request->op = (size_t)(op - ops);
	request->started_ms = engine_now_ms(engine);
	HASH_ADD(hh, engine->requests, token, sizeof(request->token), request);
	memory_have(request->hh.tbl);
	client->open_count++;
	return request->token;
}

static void serve(struct engine *engine, struct manager_client *client,
		  const json_t *message)
{
	struct manager_call call = { .engine = engine, .message = message };
	struct fairlead_error error;
	const struct manager_op *op = NULL;
	const char *hint = NULL;
	const char *name;
	uint64_t id;
	int result = client_open(message, &id, &name, &error);

	if (result == 0) {
		op = find_op(name);
		if (op == NULL)
			result =
				error_set(&error, -ENOSYS,
					  "the manager knows no op '%s'", name);
	}
	if (result == 0)
		result = client_members_check(message, op->members, &error);
	if (result == 0) {
		call.caller = caller_of(engine, client);
		result = check_call(engine, op, &call.caller, &hint, &error);
	}
	if (result == 0) {
		call.token = open_request(engine, client, id, op);
		if (call.token == 0) {
			hint = "wait for an answer first";
			result = error_set(&error, -EAGAIN,
					   "too many requests are open");
		}
	}
	if (result < 0)
		refuse(engine, client->peer, client_id(message), result,
		       error.text, hint);
	else if (op->needs_caller &&
		 net_is_over(&engine->clients_net, client->peer))
		clients_answer(engine, call.token, -ECANCELED,
			       "the caller has hung up", NULL, NULL);
	else if (op->run(&call, &error) < 0)
		commit_core_ops.reply(
			engine, call.token,
			&(struct core_reply){ .result = error.code,
					      .text = error.text });
}

void engine_client_received(struct engine *engine, uint64_t peer,
			    const void *text, size_t size)
{
	struct manager_client *client = find(engine, peer);
	struct fairlead_error error;
	json_t *message;
	int result;

	if (client == NULL)
		return;
	result = client_parse(text, size, &message, &error);
	if (result < 0) {
		refuse(engine, peer, 0, result, error.text, NULL);
		close_peer(engine, peer);
		return;
	}
	serve(engine, client, message);
	json_decref(message);
	commit_flush(engine);
}

void engine_clients_fini(struct engine *engine)
{
	struct manager_client *client;
	struct manager_client *next_client;
	struct open_request *request;
	struct open_request *next_request;

	HASH_ITER (hh, engine->clients, client, next_client) {
		HASH_DEL(engine->clients, client);
		free(client);
	}
	HASH_ITER (hh, engine->requests, request, next_request) {
		HASH_DEL(engine->requests, request);
		free(request);
	}
	writer_fini(&engine->answer);
}
