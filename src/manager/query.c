/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of others before it is answered: nodes (node-query), and the
 * journal (eventlog).
 */
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "manager/fanout.h"
#include "manager/internal.h"
#include "manager/past.h"

#define QUERY_TIMEOUT_MS 10000 /* for the nodes to answer */

static int what_parse(const char *text, uint8_t *ret_what,
		      struct fairlead_error *ret_error)
{
	static const char *const names[] = {
		[QUERY_GRANTS] = "grants",
		[QUERY_DEVICES] = "devices",
		[QUERY_OBJECTS] = "objects",
	};

	for (uint8_t i = QUERY_GRANTS; i <= QUERY_OBJECTS; i++) {
		if (strcmp(text, names[i]) == 0) {
			*ret_what = i;
			return 0;
		}
	}
	return error_set(ret_error, -EINVAL,
			 "'what' is grants, devices or objects, not '%s'",
			 text);
}

static int nodes_parse(const char *text, struct hostlist **ret_list,
		       struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	int duplicate;
	int result = hostlist_parse(text, &list, ret_error);

	if (result < 0)
		return result;
	if (list->count > ENGINE_QUERY_MAX)
		return error_set(ret_error, -E2BIG, "at most %d nodes",
				 ENGINE_QUERY_MAX);
	duplicate = hostlist_duplicate(list);
	if (duplicate != -ENOENT)
		return error_set(ret_error, duplicate < 0 ? duplicate : -EINVAL,
				 "a node is there twice");
	*ret_list = take_ptr(list);
	return 0;
}

static int query_encode(const void *arg, uint16_t version,
			struct writer *writer)
{
	return query_body_encode(arg, version, writer);
}

static int plan_query(const struct hostlist *list, const char *nodes,
		      uint8_t what, struct fanout_plan **ret_plan)
{
	_auto_(fanout_plan_destroyp) struct fanout_plan *plan = NULL;
	const struct query_body body = { .nodes = nodes, .what = what };
	int result = fanout_plan_create(COMMAND_QUERY,
					(const char *const *)list->names,
					list->count, &plan);

	if (result == 0)
		result = fanout_plan_encode(plan, query_encode, &body);
	if (result < 0)
		return result;
	plan->owner = FANOUT_OF_CLIENT;
	plan->timeout_ms = QUERY_TIMEOUT_MS;
	*ret_plan = take_ptr(plan);
	return 0;
}

void run_node_query(struct call *call)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	struct fanout_plan *plan = NULL;
	struct fairlead_error error;
	const char *nodes;
	const char *what_text;
	uint8_t what = 0;
	int result = members_text(call->message, "nodes", MEMBER_REQUIRED,
				  &nodes, &error);

	if (result == 0)
		result = members_text(call->message, "what", MEMBER_REQUIRED,
				      &what_text, &error);
	if (result == 0)
		result = what_parse(what_text, &what, &error);
	if (result == 0)
		result = nodes_parse(nodes, &list, &error);
	if (result == 0) {
		result = plan_query(list, nodes, what, &plan);
		if (result < 0)
			error_set(&error, result, "the query: %s",
				  strerror(-result));
	}
	if (result == 0) {
		plan->id = call->token;
		result = fanouts_start(call->engine->fanouts, plan);
		if (result < 0)
			error_set(&error, result, "out of memory");
	}
	if (result < 0)
		clients_answer(call->engine, call->token, error.code,
			       error.text, NULL, NULL);
}

/* One node's part of the answer; NULL when memory is out. */
static json_t *target_json(const struct fanout_target *target)
{
	json_t *answer = NULL;
	int result = target->result;

	if (target->answer != NULL) {
		answer = json_loads(target->answer, JSON_REJECT_DUPLICATES,
				    NULL);
		if (answer == NULL)
			result = -EBADMSG;
	}
	return json_pack("{s:s, s:i, s:s, s:o*}", "node", target->node,
			 "result", result, "error",
			 target->text == NULL ? "" : target->text, "answer",
			 answer);
}

void query_done(struct engine *engine, uint64_t token,
		const struct fanout_target *targets, size_t count)
{
	json_t *members = json_object();
	json_t *answers = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(answers, target_json(&targets[i]));
	if (members != NULL &&
	    json_object_set_new(members, "answers", answers) < 0)
		json_decref(take_ptr(members));
	clients_answer_json(engine, token, members);
}

/* Reading the events of one grant after the other. */
struct events_read {
	struct engine *engine;
	uint64_t token;
	uint64_t *grants;
	size_t count;
	size_t at;
	json_t *events;
	json_t *view; /* NULL: the events are the answer */
	struct events_read *prev, *next;
};

static void read_next(struct events_read *read);

static void read_destroy(struct events_read *read)
{
	json_decref(read->events);
	json_decref(read->view);
	free(read->grants);
	free(read);
}

static void events_end(struct events_read *read, int result, const char *text)
{
	if (result == 0)
		clients_answer_json(read->engine, read->token,
				    read->view != NULL
					    ? json_incref(read->view)
					    : json_pack("{s:O}", "events",
							read->events));
	else
		clients_answer(read->engine, read->token, result, text, NULL,
			       NULL);
	DL_DELETE(read->engine->event_reads, read);
	read_destroy(read);
}

static void on_events(void *arg, int result, const struct store_row *rows,
		      size_t count)
{
	struct events_read *read = arg;

	if (read->view != NULL && result == 0)
		result = past_tell(
			json_array_get(json_object_get(read->view, "grants"),
				       read->at),
			rows, count);
	for (size_t i = 0; i < count && result == 0 && read->view == NULL;
	     i++) {
		json_t *line = json_stringn(rows[i].body, rows[i].size);

		/* NULL: no memory, or bytes that are no text. */
		if (json_array_append_new(read->events, line) < 0)
			result = -EUCLEAN;
	}
	if (result < 0) {
		events_end(read, result,
			   "the events could not be read from the journal");
		return;
	}
	read->at++;
	read_next(read);
}

static void read_next(struct events_read *read)
{
	const struct store_seam *store = &read->engine->store;

	if (read->at == read->count)
		events_end(read, 0, NULL);
	else
		store->ops->read(store->ctx, STORE_EVENT,
				 read->grants[read->at], "", on_events, read);
}

void events_read(struct engine *engine, uint64_t token, const uint64_t *grants,
		 size_t count, json_t *view)
{
	struct events_read *read = calloc(1, sizeof(*read));

	if (read != NULL)
		*read = (struct events_read){
			.engine = engine,
			.token = token,
			.grants = calloc(count + 1, sizeof(*grants)),
			.count = count,
			.events = json_array(),
			.view = json_incref(view),
		};
	if (read == NULL || read->grants == NULL || read->events == NULL) {
		clients_answer(engine, token, -ENOMEM, "out of memory", NULL,
			       NULL);
		if (read != NULL)
			read_destroy(read);
		return;
	}
	memcpy(read->grants, grants, count * sizeof(*grants));
	DL_APPEND(engine->event_reads, read);
	read_next(read);
}

void events_fini(struct engine *engine)
{
	struct events_read *read;
	struct events_read *next;

	DL_FOREACH_SAFE (engine->event_reads, read, next) {
		DL_DELETE(engine->event_reads, read);
		read_destroy(read);
	}
}
