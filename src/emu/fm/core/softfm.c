/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes, answers, and the life of the state. A request is taken apart
 * here: operations find a known path, a permitted caller and a parsed body.
 */
#include "emu/fm/core/model.h"

#include <ctype.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"

/* Administrators may do all; for session tokens: exchange_is_permitted(). */
struct softfm_route {
	const char *method;
	const char *path; /* of the collection */
	bool has_id;
	bool has_body;
	enum softfm_op op;
};

static const struct softfm_route routes[] = {
	{ "POST", SOFTFM_TOKEN_PATH, false, false, SOFTFM_OP_TOKEN },
	{ "GET", SOFTFM_JOBS_PATH, false, false, SOFTFM_OP_LIST },
	{ "POST", SOFTFM_JOBS_PATH, false, true, SOFTFM_OP_CREATE },
	{ "GET", SOFTFM_JOBS_PATH, true, false, SOFTFM_OP_GET },
	{ "PATCH", SOFTFM_JOBS_PATH, true, true, SOFTFM_OP_PATCH },
	{ "DELETE", SOFTFM_JOBS_PATH, true, false, SOFTFM_OP_DELETE },
	{ "POST", SOFTFM_MULTICAST_PATH, false, true, SOFTFM_OP_TREE },
	{ "DELETE", SOFTFM_MULTICAST_PATH, true, false, SOFTFM_OP_UNTREE },
};

/* --- answers --- */

static const char *status_title(unsigned int status)
{
	switch (status) {
	case 400:
		return "Bad Request";
	case 401:
		return "Unauthorized";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 409:
		return "Conflict";
	case 413:
		return "Content Too Large";
	case 415:
		return "Unsupported Media Type";
	case 507:
		return "Insufficient Storage";
	default:
		return status < 500 ? "Error" : "Server Error";
	}
}

void exchange_answer(struct softfm_exchange *exchange, unsigned int status,
		     json_t *body)
{
	json_decref(exchange->answer->body);
	exchange->answer->status = status;
	exchange->answer->body = memory_have(body);
}

void exchange_refuse(struct softfm_exchange *exchange, unsigned int status,
		     unsigned int code, const char *format, ...)
{
	struct fairlead_error error; /* makes it valid UTF-8 */
	char detail[256];
	char message[sizeof(error.text) + 16];
	va_list args;

	va_start(args, format);
	vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	error_set(&error, -EINVAL, "%s", detail);
	snprintf(message, sizeof(message), "%02u: %s", code, error.text);
	exchange_answer(exchange, status,
			json_pack("{s:i, s:s, s:s, s:s}", "status", (int)status,
				  "title", status_title(status), "detail",
				  error.text, "message", message));
}

void exchange_name_job(struct softfm_exchange *exchange, const char *job)
{
	char *name = exchange->answer->job;

	snprintf(name, SOFTFM_JOB_ID_MAX + 1, "%s", job);
	for (; *name != '\0'; name++)
		if (!isgraph((unsigned char)*name))
			*name = '?';
}

void softfm_secret_make(struct softfm *softfm, char secret[SOFTFM_SECRET_SIZE])
{
	uint8_t bytes[SOFTFM_SECRET_BYTES];

	rng_fill(softfm->rng, bytes, sizeof(bytes));
	sodium_bin2hex(secret, SOFTFM_SECRET_SIZE, bytes, sizeof(bytes));
}

/* --- requests --- */

bool exchange_has_type(const struct softfm_exchange *exchange, const char *type)
{
	const char *given = exchange->request->content_type;
	size_t size = strlen(type);

	return given != NULL && strncasecmp(given, type, size) == 0 &&
	       (given[size] == '\0' || given[size] == ';' ||
		given[size] == ' ');
}

/* What follows the collection's path and a slash, or NULL: it is another. */
static const char *path_id(const char *path, const char *collection)
{
	size_t size = strlen(collection);

	if (strncmp(path, collection, size) != 0)
		return NULL;
	if (path[size] == '\0')
		return "";
	return path[size] == '/' ? path + size + 1 : NULL;
}

/* The route of a path without prefix and slashes at the end. */
static const struct softfm_route *route_find(struct softfm_exchange *exchange,
					     const char *path)
{
	bool is_known = false;

	for (size_t i = 0; i < sizeof(routes) / sizeof(routes[0]); i++) {
		const struct softfm_route *route = &routes[i];
		const char *id = path_id(path, route->path);

		if (id == NULL || (*id != '\0') != route->has_id)
			continue;
		is_known = true;
		if (strcmp(exchange->request->method, route->method) != 0)
			continue;
		exchange->id = id;
		exchange->answer->op = route->op;
		return route;
	}
	if (is_known)
		exchange_refuse(exchange, 405, 0, "no such method there");
	else
		exchange_refuse(exchange, 404, 0, "no such path");
	return NULL;
}

static bool body_read(struct softfm_exchange *exchange)
{
	const struct softfm_request *request = exchange->request;
	json_error_t error;

	if (request->size > SOFTFM_BODY_MAX) {
		exchange_refuse(exchange, 413, 0, "the body is too large");
		return false;
	}
	if (!exchange_has_type(exchange, "application/json")) {
		exchange_refuse(exchange, 415, 0, "the body is no JSON");
		return false;
	}
	exchange->body = json_loadb(request->body, request->size,
				    JSON_REJECT_DUPLICATES, &error);
	if (json_is_object(exchange->body))
		return true;
	exchange_refuse(exchange, 400, 0, "the body is no JSON object");
	return false;
}

static void run(struct softfm_exchange *exchange, enum softfm_op op,
		bool is_cut)
{
	switch (op) {
	case SOFTFM_OP_LIST:
		softfm_job_list(exchange, is_cut);
		break;
	case SOFTFM_OP_CREATE:
		softfm_job_create(exchange);
		break;
	case SOFTFM_OP_GET:
		softfm_job_get(exchange);
		break;
	case SOFTFM_OP_PATCH:
		softfm_job_patch(exchange);
		break;
	case SOFTFM_OP_DELETE:
		softfm_job_delete(exchange);
		break;
	case SOFTFM_OP_TREE:
		softfm_tree_create(exchange);
		break;
	default:
		softfm_tree_delete(exchange);
		break;
	}
}

static void serve(struct softfm_exchange *exchange,
		  const struct softfm_route *route, bool is_cut)
{
	if (route->op == SOFTFM_OP_TOKEN)
		softfm_token_create(exchange);
	else if (!exchange_authenticate(exchange))
		exchange_refuse(exchange, 401, 0, "no valid credentials");
	else if (exchange->session != NULL &&
		 !exchange_is_permitted(exchange, route->op))
		exchange_refuse(exchange, 403, 0, "not with a session token");
	else if (!route->has_body || body_read(exchange))
		run(exchange, route->op, is_cut);
	json_decref(exchange->body);
}

static void dispatch(struct softfm_exchange *exchange,
		     const struct softfm_route *route)
{
	struct softfm_answer *answer = exchange->answer;
	const struct softfm_fault *fault =
		softfm_fault_take(exchange->softfm, route->op);

	if (fault != NULL) {
		answer->delay_ms = fault->delay_ms;
		answer->is_lost = fault->is_lost_before || fault->is_lost_after;
	}
	if (fault != NULL && (fault->status != 0 || fault->is_lost_before))
		exchange_refuse(exchange,
				fault->status != 0 ? fault->status : 500,
				fault->code, "a fault that was ordered");
	else
		serve(exchange, route, fault != NULL && fault->is_cut);
}

void softfm_handle(struct softfm *softfm, const struct softfm_request *request,
		   uint64_t now_ms, struct softfm_answer *ret_answer)
{
	struct softfm_exchange exchange = {
		.softfm = softfm,
		.request = request,
		.now_ms = now_ms,
		.id = "",
		.answer = ret_answer,
	};
	const size_t prefix_size = strlen(softfm->config->prefix);
	_auto_(freep) char *path = NULL;
	const struct softfm_route *route;
	size_t size;

	*ret_answer = (struct softfm_answer){ .op = SOFTFM_OP_NONE };
	if (strncmp(request->path, softfm->config->prefix, prefix_size) != 0) {
		exchange_refuse(&exchange, 404, 0, "no such path");
		return;
	}
	path = memory_text(request->path + prefix_size);
	for (size = strlen(path); size > 1 && path[size - 1] == '/'; size--)
		path[size - 1] = '\0';
	route = route_find(&exchange, path);
	if (route != NULL)
		dispatch(&exchange, route);
}

/* --- state --- */

struct softfm *softfm_create(const struct softfm_config *config,
			     const struct rng_seam *rng)
{
	struct softfm *softfm = memory_alloc(sizeof(*softfm));
	_auto_(freep) char *pair =
		memory_format("%s:%s", SOFTFM_USER, config->password);
	const size_t size = sodium_base64_ENCODED_LEN(
		strlen(pair), sodium_base64_VARIANT_ORIGINAL);
	_auto_(freep) char *encoded = memory_alloc(size);

	sodium_bin2base64(encoded, size, (const uint8_t *)pair, strlen(pair),
			  sodium_base64_VARIANT_ORIGINAL);
	softfm->basic = memory_format("Basic %s", encoded);
	softfm->config = config;
	softfm->rng = rng;
	softfm->jobs = memory_have(json_object());
	softfm->trees = memory_have(json_object());
	softfm->sessions = memory_have(json_object());
	softfm->roots = memory_have(json_object());
	softfm->access = memory_have(json_object());
	return softfm;
}

void softfm_destroy(struct softfm *softfm)
{
	if (softfm == NULL)
		return;
	json_decref(softfm->jobs);
	json_decref(softfm->trees);
	json_decref(softfm->sessions);
	json_decref(softfm->roots);
	json_decref(softfm->access);
	free(softfm->basic);
	free(softfm);
}

void softfm_expire(struct softfm *softfm)
{
	json_object_clear(softfm->access);
}

int softfm_vanish(struct softfm *softfm, const char *job)
{
	if (json_object_get(softfm->jobs, job) == NULL)
		return -ENOENT;
	softfm_job_remove(softfm, job);
	return 0;
}

json_t *softfm_save(const struct softfm *softfm)
{
	return memory_have(json_pack("{s:O, s:O}", "jobs", softfm->jobs,
				     "multicasts", softfm->trees));
}

int softfm_load(struct softfm *softfm, json_t *state,
		struct fairlead_error *ret_error)
{
	json_t *jobs, *trees, *item;
	const char *key;

	if (json_unpack(state, "{s:o, s:o}", "jobs", &jobs, "multicasts",
			&trees) < 0 ||
	    !json_is_object(jobs) || !json_is_object(trees))
		return error_set(ret_error, -EINVAL,
				 "the state has no objects 'jobs' and "
				 "'multicasts'");
	json_object_foreach (jobs, key, item) {
		const char *token = json_string_value(
			json_object_get(item, "sessionToken"));

		if (token == NULL ||
		    !json_is_object(json_object_get(item, "jobSteps")))
			return error_set(ret_error, -EINVAL,
					 "job '%s' has no sessionToken or "
					 "jobSteps",
					 key);
	}
	json_object_foreach (trees, key, item) {
		const char *job, *step, *root;

		if (json_unpack(item, "{s:s, s:s, s:s}", "jobID", &job,
				"jobStepID", &step, "hwRoot", &root) < 0 ||
		    json_object_get(jobs, job) == NULL)
			return error_set(ret_error, -EINVAL,
					 "multicast %s is of no job", key);
	}
	json_object_clear(softfm->sessions);
	json_object_clear(softfm->roots);
	json_object_foreach (jobs, key, item)
		json_object_set_new(softfm->sessions,
				    json_string_value(json_object_get(
					    item, "sessionToken")),
				    json_string(key));
	json_object_foreach (trees, key, item)
		json_object_set_new(
			softfm->roots,
			json_string_value(json_object_get(item, "hwRoot")),
			json_true());
	json_decref(softfm->jobs);
	json_decref(softfm->trees);
	softfm->jobs = json_incref(jobs);
	softfm->trees = json_incref(trees);
	return 0;
}
