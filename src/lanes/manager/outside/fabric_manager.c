/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which requests an operation takes, and how it ends: the table of statuses is
 * in doc/rfc/external-reservations.md.
 */
#include "lanes/manager/outside/fabric_manager.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "lanes/manager/outside/answer.h"

#define JOBS           "/fabric/collectives/jobs"
#define USER           "cxi"
#define REPLY_MAX      (64u << 10) /* bytes */
#define LIST_REPLY_MAX (16u << 20) /* bytes: 65,536 links and more */

#define TOKEN_REQUEST  UINT64_MAX       /* id of that for an access token */
#define REQUEST_WAITS  0                /* not sent: for an access token */
#define REQUEST_FAILED (UINT64_MAX - 1) /* not sent: there is none */

enum verb {
	VERB_MAKE,
	VERB_DROP,
	VERB_FIND,
	VERB_LIST,
};

static const char *const verb_texts[] = {
	[VERB_MAKE] = "cannot reserve",
	[VERB_DROP] = "cannot release",
	[VERB_FIND] = "cannot look for",
	[VERB_LIST] = "cannot list",
};

struct fabric_operation {
	uint64_t id;
	uint64_t request; /* id of the one under way, or REQUEST_ */
	enum verb verb;
	uint32_t limit;
	bool is_taking_over; /* VERB_MAKE: it exists, so it is read */
	bool is_second;      /* sent again after its token was refused */
	uint64_t token_age;  /* of the access token that it went with */
	char name[FABRIC_MANAGER_NAME_MAX + 1];
	struct fabric_operation *prev, *next;
};

struct fabric_manager {
	const struct fabric_manager_config *config;
	struct http_seam http;
	void (*done)(void *ctx, uint64_t id,
		     const struct fabric_manager_outcome *outcome);
	void *ctx;
	uint64_t next_request;
	struct fabric_operation *operations;
	char *authorization; /* the header with token or password, or NULL */
	uint64_t token_age;  /* how many tokens there were */
	bool is_fetching;    /* a token */
};

/* --- ends --- */

static void finish(struct fabric_manager *manager,
		   struct fabric_operation *operation,
		   const struct fabric_manager_outcome *outcome)
{
	struct fabric_manager_outcome named = *outcome;

	DL_DELETE(manager->operations, operation);
	named.name = operation->name;
	manager->done(manager->ctx, operation->id, &named);
	free(operation);
}

static void fail_status(struct fabric_manager *manager,
			struct fabric_operation *operation,
			const struct http_reply *reply)
{
	const struct fabric_manager_config *config = manager->config;
	const char *const secrets[] = {
		config->client_secret,
		config->password,
		manager->authorization != NULL
			? strrchr(manager->authorization, ' ') + 1
			: NULL,
	};
	struct fabric_manager_outcome outcome = { .is_reached = true };
	int result = fabric_answer_result(reply->status);
	char quote[FABRIC_ANSWER_QUOTE_MAX + 8];

	/* -EPROTO: it exists and cannot be read. -EAGAIN: it has vanished. */
	if (operation->is_taking_over && result != -EAGAIN)
		result = result == -ENOENT ? -EAGAIN : -EPROTO;
	fabric_answer_quote(reply, secrets,
			    sizeof(secrets) / sizeof(secrets[0]), quote);
	outcome.result = error_set(&outcome.error, result,
				   "%s '%s': the fabric manager answers %u%s",
				   verb_texts[operation->verb], operation->name,
				   reply->status, quote);
	finish(manager, operation, &outcome);
}

static void fail_reply(struct fabric_manager *manager,
		       struct fabric_operation *operation, const char *what)
{
	struct fabric_manager_outcome outcome = { .is_reached = true };

	outcome.result =
		error_set(&outcome.error, -EPROTO,
			  "%s '%s': the fabric manager's answer %s",
			  verb_texts[operation->verb], operation->name, what);
	finish(manager, operation, &outcome);
}

static void fail_transport(struct fabric_manager *manager,
			   struct fabric_operation *operation, const char *text)
{
	struct fabric_manager_outcome outcome = { .is_reached = false };

	outcome.result =
		error_set(&outcome.error, -EAGAIN, "no answer from %s: %s",
			  manager->config->url, text);
	finish(manager, operation, &outcome);
}

static void succeed(struct fabric_manager *manager,
		    struct fabric_operation *operation)
{
	const struct fabric_manager_outcome outcome = { .is_reached = true };

	finish(manager, operation, &outcome);
}

/* --- requests --- */

static const char *method_of(const struct fabric_operation *operation)
{
	if (operation->verb == VERB_DROP)
		return "DELETE";
	return operation->verb == VERB_MAKE && !operation->is_taking_over
		       ? "POST"
		       : "GET";
}

/* A value of a form. */
static void write_encoded(struct writer *writer, const char *value)
{
	static const char digits[] = "0123456789ABCDEF";

	for (const char *c = value; *c != '\0'; c++) {
		const uint8_t byte = (uint8_t)*c;
		const char code[] = { '%', digits[byte >> 4],
				      digits[byte & 15] };
		bool is_plain = isalnum(byte) || strchr("-._~", byte) != NULL;

		write_bytes(writer, is_plain ? c : code, is_plain ? 1 : 3);
	}
}

static void token_fetch(struct fabric_manager *manager)
{
	const struct fabric_manager_config *config = manager->config;
	struct writer form = { 0 };
	struct http_request request = {
		.method = "POST",
		.url = config->endpoint,
		.headers = { "Content-Type: application/x-www-form-urlencoded",
			     "Accept: application/json" },
		.reply_max = REPLY_MAX,
		.timeout_ms = config->timeout_ms,
	};

	if (manager->is_fetching)
		return;
	manager->is_fetching = true;
	write_plain(&form, "grant_type=client_credentials&client_id=");
	write_encoded(&form, config->client_id);
	write_plain(&form, "&client_secret=");
	write_encoded(&form, config->client_secret);
	write_plain(&form, "&scope=openid");
	memory_check(form.result);
	request.body = (const char *)form.data;
	request.size = form.size;
	http_send(&manager->http, TOKEN_REQUEST, &request);
	sodium_memzero(form.data, form.size);
	writer_fini(&form);
}

/* Send it; or fetch a token first, and leave it waiting. */
static void send(struct fabric_manager *manager,
		 struct fabric_operation *operation)
{
	const struct fabric_manager_config *config = manager->config;
	const bool is_list = operation->verb == VERB_LIST;
	const char *method = method_of(operation);
	const bool is_post = strcmp(method, "POST") == 0;
	_auto_(freep) char *url =
		memory_format("%s" JOBS "%s%s", config->url, is_post ? "" : "/",
			      is_post || is_list ? "" : operation->name);
	_auto_(freep) char *body =
		memory_format("{\"jobID\": \"%s\", \"mcastLimit\": %u}",
			      operation->name, operation->limit);
	const struct http_request request = {
		.method = method,
		.url = url,
		.headers = { "Content-Type: application/json",
			     "Accept: application/json",
			     manager->authorization },
		.body = is_post ? body : NULL,
		.size = strlen(body),
		.reply_max = is_list ? LIST_REPLY_MAX : REPLY_MAX,
		.timeout_ms = config->timeout_ms,
	};

	if (config->auth == FABRIC_MANAGER_OAUTH &&
	    manager->authorization == NULL) {
		operation->request = REQUEST_WAITS;
		token_fetch(manager);
		return;
	}
	operation->request = manager->next_request++;
	operation->token_age = manager->token_age;
	http_send(&manager->http, operation->request, &request);
}

/* --- replies --- */

static void make_finish(struct fabric_manager *manager,
			struct fabric_operation *operation,
			const struct http_reply *reply)
{
	struct fabric_manager_outcome outcome = { .is_reached = true };
	json_t *answer = fabric_answer_read(reply);

	outcome.token = fabric_answer_session_token(answer);
	if (outcome.token != NULL)
		finish(manager, operation, &outcome);
	else
		fail_reply(manager, operation, "has no usable sessionToken");
	json_decref(answer);
}

static void list_finish(struct fabric_manager *manager,
			struct fabric_operation *operation,
			const struct http_reply *reply)
{
	struct fabric_manager_outcome outcome = { .is_reached = true };
	json_t *answer = fabric_answer_read(reply);
	_auto_(freep) const char **names =
		fabric_answer_names(answer, &outcome.name_count);

	outcome.names = names;
	if (names != NULL)
		finish(manager, operation, &outcome);
	else
		fail_reply(manager, operation, "has no documentLinks");
	json_decref(answer);
}

static void reply_take(struct fabric_manager *manager,
		       struct fabric_operation *operation,
		       const struct http_reply *reply)
{
	const bool is_good = reply->status >= 200 && reply->status < 300;

	if (operation->verb == VERB_DROP && (is_good || reply->status == 404)) {
		succeed(manager, operation);
	} else if (operation->verb == VERB_MAKE && reply->status == 409 &&
		   !operation->is_taking_over) {
		operation->is_taking_over = true;
		send(manager, operation);
	} else if (!is_good) {
		fail_status(manager, operation, reply);
	} else if (operation->verb == VERB_MAKE) {
		make_finish(manager, operation, reply);
	} else if (operation->verb == VERB_LIST) {
		list_finish(manager, operation, reply);
	} else {
		succeed(manager, operation);
	}
}

static void token_forget(struct fabric_manager *manager)
{
	if (manager->authorization != NULL)
		sodium_memzero(manager->authorization,
			       strlen(manager->authorization));
	free(manager->authorization);
	manager->authorization = NULL;
}

/* Its access token was refused: send it again with a new one. */
static void retry(struct fabric_manager *manager,
		  struct fabric_operation *operation)
{
	operation->is_second = true;
	if (operation->token_age == manager->token_age)
		token_forget(manager);
	send(manager, operation);
}

/* --- the access token --- */

static bool token_take(struct fabric_manager *manager,
		       const struct http_reply *reply)
{
	json_t *answer =
		reply->status == 200 ? fabric_answer_read(reply) : NULL;
	const char *token = fabric_answer_access_token(answer);

	if (token != NULL) {
		manager->authorization =
			memory_format("Authorization: Bearer %s", token);
		manager->token_age++;
	}
	json_decref(answer);
	return token != NULL;
}

/* All operations that wait for a token fail. */
static void token_failed(struct fabric_manager *manager,
			 const struct http_reply *reply)
{
	const char *endpoint = manager->config->endpoint;
	struct fabric_manager_outcome outcome = {
		.is_reached = reply->result == 0,
	};
	struct fabric_operation *operation, *next;

	if (reply->result < 0)
		outcome.result = error_set(&outcome.error, -EAGAIN,
					   "no answer from %s: %s", endpoint,
					   reply->text);
	else if (fabric_answer_result(reply->status) == -EAGAIN)
		outcome.result =
			error_set(&outcome.error, -EAGAIN, "%s answers %u",
				  endpoint, reply->status);
	else
		outcome.result = error_set(
			&outcome.error, -EACCES,
			"%s answers %u without an access token; see the "
			"client's id and secret",
			endpoint, reply->status);
	/* Operations that begin in `done` do not fail with them. */
	DL_FOREACH (manager->operations, operation)
		if (operation->request == REQUEST_WAITS)
			operation->request = REQUEST_FAILED;
	DL_FOREACH_SAFE (manager->operations, operation, next)
		if (operation->request == REQUEST_FAILED)
			finish(manager, operation, &outcome);
}

static void token_reply(struct fabric_manager *manager,
			const struct http_reply *reply)
{
	struct fabric_operation *operation, *next;

	manager->is_fetching = false;
	if (reply->result < 0 || !token_take(manager, reply)) {
		token_failed(manager, reply);
		return;
	}
	DL_FOREACH_SAFE (manager->operations, operation, next)
		if (operation->request == REQUEST_WAITS)
			send(manager, operation);
}

void fabric_manager_reply(struct fabric_manager *manager, uint64_t request,
			  const struct http_reply *reply)
{
	struct fabric_operation *operation;

	if (request == TOKEN_REQUEST) {
		token_reply(manager, reply);
		return;
	}
	DL_FOREACH (manager->operations, operation)
		if (operation->request == request)
			break;
	if (operation == NULL)
		return;
	if (reply->result == -EMSGSIZE)
		fail_reply(manager, operation, "is too large");
	else if (reply->result < 0)
		fail_transport(manager, operation, reply->text);
	else if ((reply->status == 401 || reply->status == 403) &&
		 manager->config->auth == FABRIC_MANAGER_OAUTH &&
		 !operation->is_second)
		retry(manager, operation);
	else
		reply_take(manager, operation, reply);
}

void fabric_manager_cancel(struct fabric_manager *manager, const char *why)
{
	struct fabric_operation *operation, *next;

	DL_FOREACH_SAFE (manager->operations, operation, next)
		fail_transport(manager, operation, why);
}

/* --- operations --- */

static void begin(struct fabric_manager *manager, enum verb verb, uint64_t id,
		  const char *name, uint32_t limit)
{
	struct fabric_operation *operation = memory_alloc(sizeof(*operation));

	operation->id = id;
	operation->verb = verb;
	operation->limit = limit;
	snprintf(operation->name, sizeof(operation->name), "%s", name);
	DL_APPEND(manager->operations, operation);
	send(manager, operation);
}

void fabric_manager_make(struct fabric_manager *manager, uint64_t id,
			 const char *name, uint32_t limit)
{
	begin(manager, VERB_MAKE, id, name, limit);
}

void fabric_manager_drop(struct fabric_manager *manager, uint64_t id,
			 const char *name)
{
	begin(manager, VERB_DROP, id, name, 0);
}

void fabric_manager_find(struct fabric_manager *manager, uint64_t id,
			 const char *name)
{
	begin(manager, VERB_FIND, id, name, 0);
}

void fabric_manager_list(struct fabric_manager *manager, uint64_t id)
{
	begin(manager, VERB_LIST, id, "reservations", 0);
}

static char *basic_header(const char *password)
{
	_auto_(freep) char *pair = memory_format(USER ":%s", password);
	const size_t size = sodium_base64_ENCODED_LEN(
		strlen(pair), sodium_base64_VARIANT_ORIGINAL);
	_auto_(freep) char *encoded = memory_alloc(size);
	char *header;

	sodium_bin2base64(encoded, size, (const uint8_t *)pair, strlen(pair),
			  sodium_base64_VARIANT_ORIGINAL);
	header = memory_format("Authorization: Basic %s", encoded);
	sodium_memzero(pair, strlen(pair));
	sodium_memzero(encoded, size);
	return header;
}

struct fabric_manager *fabric_manager_create(
	const struct fabric_manager_config *config,
	const struct http_seam *http,
	void (*done)(void *ctx, uint64_t id,
		     const struct fabric_manager_outcome *outcome),
	void *ctx)
{
	struct fabric_manager *manager = memory_alloc(sizeof(*manager));

	manager->config = config;
	manager->http = *http;
	manager->done = done;
	manager->ctx = ctx;
	manager->next_request = 1;
	if (config->auth == FABRIC_MANAGER_BASIC)
		manager->authorization = basic_header(config->password);
	return manager;
}

void fabric_manager_destroy(struct fabric_manager *manager)
{
	struct fabric_operation *operation, *next;

	if (manager == NULL)
		return;
	DL_FOREACH_SAFE (manager->operations, operation, next) {
		DL_DELETE(manager->operations, operation);
		free(operation);
	}
	token_forget(manager);
	free(manager);
}
