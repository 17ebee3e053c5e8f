/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reserve, apply and release: what fairlead.h offers of the client protocol
 * with types of its own. The rest goes through fairlead_call.
 */
#include "lanes/client/handle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static int out_of_memory(struct fairlead_error *ret_error)
{
	return error_set(ret_error, -ENOMEM, "out of memory");
}

/* Members of an operation on one grant. */
static json_t *members_of_grant(uint64_t grant_id)
{
	return json_pack("{s:I}", "grant_id", (json_int_t)grant_id);
}

static json_t *members_of_request(const struct fairlead_request *request)
{
	return json_pack(
		"{s:{s:s, s:I, s:I, s:s, s:s*, s:s*, s:o*, s:s*, s:s*}}",
		"request", "key", request->key, "uid", (json_int_t)request->uid,
		"gid", (json_int_t)request->gid, "nodes", request->nodes,
		"cores", request->cores, "tasks", request->tasks,
		"cpus_per_task",
		request->cpus_per_task ? json_integer(request->cpus_per_task)
				       : NULL,
		"interconnect", request->interconnect, "options",
		request->options);
}

static int make_members(const struct fairlead_request *request,
			json_t **ret_members, struct fairlead_error *ret_error)
{
	if (!request->key || !request->nodes)
		return error_set(ret_error, -EINVAL,
				 "a request needs a key and nodes");
	*ret_members = members_of_request(request);
	if (!*ret_members)
		return error_set(ret_error, -EINVAL,
				 "a text of the request is not UTF-8");
	return 0;
}

/* The grant of an answer that succeeded. */
static int read_grant(const json_t *answer, struct fairlead_grant **ret_grant,
		      struct fairlead_error *ret_error)
{
	const char *text = json_string_value(json_object_get(answer, "grant"));

	if (!text)
		return error_set(ret_error, -EPROTO,
				 "the daemon's answer has no grant");
	return fairlead_grant_parse(text, ret_grant, ret_error);
}

int fairlead_reserve(struct fairlead *handle,
		     const struct fairlead_request *request,
		     struct fairlead_grant **ret_grant,
		     struct fairlead_error *ret_error)
{
	json_auto_t *members = NULL;
	json_auto_t *answer = NULL;
	int result = make_members(request, &members, ret_error);

	if (result == 0)
		result = handle_call(handle, "reserve", members, true, &answer,
				     ret_error);
	if (result < 0)
		return result;
	return read_grant(answer, ret_grant, ret_error);
}

struct reserving {
	fairlead_reserve_fn *fn;
	void *arg;
};

static void reserved(void *arg, const struct fairlead_answer *answer)
{
	_auto_(freep) struct reserving *reserving = arg;
	struct fairlead_grant *grant = NULL;
	struct fairlead_error error = { 0 };
	int result = answer->result < 0
			     ? handle_error_hinted(answer, &error)
			     : read_grant(handle_answer_object(answer), &grant,
					  &error);

	reserving->fn(reserving->arg, result, grant, &error);
	fairlead_grant_destroy(grant);
}

int fairlead_reserve_start(struct fairlead *handle,
			   const struct fairlead_request *request,
			   fairlead_reserve_fn *fn, void *arg,
			   struct fairlead_error *ret_error)
{
	_auto_(freep) struct reserving *reserving = malloc(sizeof(*reserving));
	json_auto_t *members = NULL;
	uint64_t id;
	int result;

	if (!reserving)
		return out_of_memory(ret_error);
	*reserving = (struct reserving){ .fn = fn, .arg = arg };
	result = make_members(request, &members, ret_error);
	if (result == 0)
		result = handle_start(handle, "reserve", members,
				      (struct client_call){ .fn = reserved,
							    .arg = reserving },
				      &id, ret_error);
	if (result == 0)
		reserving = NULL;
	return result;
}

/* Append "NODES: LINE\n" for each line of each element. */
static char *format_warnings(const json_t *warnings)
{
	char *text = NULL;
	size_t size = 0;
	const json_t *warning;
	size_t i;
	FILE *stream;

	if (json_array_size(warnings) == 0)
		return NULL;
	stream = open_memstream(&text, &size);
	if (!stream)
		return NULL;
	json_array_foreach (warnings, i, warning) {
		const char *nodes = "", *reason = "", *line;
		size_t line_size;

		json_unpack((json_t *)warning, "{s?s, s?s}", "nodes", &nodes,
			    "text", &reason);
		while ((line = text_line(&reason, &line_size)))
			fprintf(stream, "%s: %.*s\n", nodes, (int)line_size,
				line);
	}
	fclose(stream);
	return text;
}

/* Name each node that failed, unless the daemon's text does already. */
static int make_apply_error(const json_t *answer, int result,
			    struct fairlead_error *ret_error)
{
	const json_t *failures = json_object_get(answer, "failures");
	const json_t *failure;
	size_t i;

	json_array_foreach (failures, i, failure) {
		_auto_(freep) char *line = NULL;
		const char *nodes = "", *text = "";

		json_unpack((json_t *)failure, "{s?s, s?s}", "nodes", &nodes,
			    "text", &text);
		if (asprintf(&line, "%s: %s", nodes, text) < 0)
			line = NULL;
		if (line && ret_error && !strstr(ret_error->text, line))
			error_add(ret_error, result, "%s", line);
	}
	return result;
}

int fairlead_apply(struct fairlead *handle, uint64_t grant_id,
		   char **ret_warnings, struct fairlead_error *ret_error)
{
	json_auto_t *members = members_of_grant(grant_id);
	json_auto_t *answer = NULL;
	int result;

	if (!members)
		return out_of_memory(ret_error);
	result =
		handle_call(handle, "apply", members, true, &answer, ret_error);
	if (result < 0)
		return make_apply_error(answer, result, ret_error);
	if (ret_warnings)
		*ret_warnings =
			format_warnings(json_object_get(answer, "warnings"));
	return 0;
}

static int start(struct fairlead *handle, const char *op, json_t *members_owned,
		 fairlead_answer_fn *fn, void *arg,
		 struct fairlead_error *ret_error)
{
	json_auto_t *members = members_owned;
	uint64_t id;

	if (!members)
		return out_of_memory(ret_error);
	return handle_start(handle, op, members,
			    (struct client_call){ .fn = fn, .arg = arg }, &id,
			    ret_error);
}

/* Why nodes may still hold something: a line for each grant. */
static char *format_left(const json_t *grants)
{
	char *text = NULL;
	const json_t *grant;
	size_t i;

	json_array_foreach (grants, i, grant) {
		_auto_(freep) char *before = text;
		const char *why =
			json_string_value(json_object_get(grant, "why"));

		if (why &&
		    asprintf(&text, "%s%s\n", before ? before : "", why) < 0)
			text = NULL;
		else if (!why)
			before = NULL;
	}
	return text;
}

static int release(struct fairlead *handle, json_t *members_owned,
		   char **ret_warnings, struct fairlead_error *ret_error)
{
	json_auto_t *members = members_owned;
	json_auto_t *answer = NULL;
	int result;

	if (!members)
		return out_of_memory(ret_error);
	result = handle_call(handle, "release", members, true, &answer,
			     ret_error);
	if (result == 0 && ret_warnings)
		*ret_warnings = format_left(json_object_get(answer, "grants"));
	return result;
}

int fairlead_apply_start(struct fairlead *handle, uint64_t grant_id,
			 fairlead_answer_fn *fn, void *arg,
			 struct fairlead_error *ret_error)
{
	return start(handle, "apply", members_of_grant(grant_id), fn, arg,
		     ret_error);
}

int fairlead_release(struct fairlead *handle, uint64_t grant_id,
		     char **ret_warnings, struct fairlead_error *ret_error)
{
	return release(handle, members_of_grant(grant_id), ret_warnings,
		       ret_error);
}

int fairlead_release_start(struct fairlead *handle, uint64_t grant_id,
			   fairlead_answer_fn *fn, void *arg,
			   struct fairlead_error *ret_error)
{
	return start(handle, "release", members_of_grant(grant_id), fn, arg,
		     ret_error);
}

int fairlead_release_job(struct fairlead *handle, const char *job,
			 char **ret_warnings, struct fairlead_error *ret_error)
{
	return release(handle, json_pack("{s:s}", "job", job), ret_warnings,
		       ret_error);
}

int fairlead_release_job_start(struct fairlead *handle, const char *job,
			       fairlead_answer_fn *fn, void *arg,
			       struct fairlead_error *ret_error)
{
	return start(handle, "release", json_pack("{s:s}", "job", job), fn, arg,
		     ret_error);
}
