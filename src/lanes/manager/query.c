/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Client requests that need others first: nodes (node-query, node-clean), or
 * the journal (eventlog).
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <utlist.h>

#include "base/cleanup.h"
#include "base/memory.h"
#include "lanes/manager/clients.h"
#include "lanes/manager/commit.h"

#define QUERY_TIMEOUT_MS 10000 /* for the nodes to answer */
#define CLEAN_TIMEOUT_MS 30000 /* the same: their drivers destroy objects */

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

static int nodes_parse(const struct core *core, const char *text,
		       struct hostlist **ret_list,
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
	for (size_t i = 0; i < list->count; i++)
		if (!core_has_node(core, list->names[i]))
			return error_set(ret_error, -ENOENT,
					 "node '%s' is not known; see "
					 "'fairlead node list'",
					 list->names[i]);
	*ret_list = take_ptr(list);
	return 0;
}

/* Requests to nodes. */
struct manager_question {
	enum command_op op;
	uint32_t timeout_ms;
	const char *nodes;
	uint8_t what;    /* of QUERY */
	bool is_dry_run; /* of CLEAN */
};

/* A CLEAN may be played back, and so takes no lane that somebody may use. */
static int question_encode(const struct manager_question *question,
			   struct writer *writer)
{
	const struct query_body query = {
		.nodes = question->nodes,
		.what = question->what,
	};
	const struct clean_body clean = {
		.nodes = question->nodes,
		.is_all = false,
		.is_dry_run = question->is_dry_run,
	};

	return question->op == COMMAND_QUERY
		       ? query_body_encode(&query, writer)
		       : clean_body_encode(&clean, writer);
}

/* Its nodes are in the call. */
static int ask(struct manager_call *call, struct manager_question *question,
	       struct fairlead_error *ret_error)
{
	_auto_(fanout_command_destroyp) struct fanout_command *command = NULL;
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	struct engine *engine = call->engine;
	int result = members_text(call->message, "nodes", MEMBER_REQUIRED,
				  &question->nodes, ret_error);

	if (result == 0)
		result = nodes_parse(engine->core, question->nodes, &list,
				     ret_error);
	if (result < 0)
		return result;
	command = fanout_command_create(
		question->op, (const char *const *)list->names, list->count);
	result = memory_check(question_encode(question, &command->body));
	if (result < 0)
		return error_set(ret_error, result, "the command: %s",
				 strerror(-result));
	command->owner = COMMAND_OF_CLIENT;
	command->timeout_ms = question->timeout_ms;
	command->id = call->token;
	fanouts_start(engine->fanouts, take_ptr(command),
		      engine_now_ms(engine));
	return 0;
}

int run_node_query(struct manager_call *call, struct fairlead_error *ret_error)
{
	struct manager_question question = {
		.op = COMMAND_QUERY,
		.timeout_ms = QUERY_TIMEOUT_MS,
	};
	const char *what;
	int result = members_text(call->message, "what", MEMBER_REQUIRED, &what,
				  ret_error);

	if (result == 0)
		result = what_parse(what, &question.what, ret_error);
	return result < 0 ? result : ask(call, &question, ret_error);
}

int run_node_clean(struct manager_call *call, struct fairlead_error *ret_error)
{
	struct manager_question question = {
		.op = COMMAND_CLEAN,
		.timeout_ms = CLEAN_TIMEOUT_MS,
	};
	int result = members_bool(call->message, "dry_run", MEMBER_OPTIONAL,
				  &question.is_dry_run, ret_error);

	call_log_act(call);
	return result < 0 ? result : ask(call, &question, ret_error);
}

/* One node's part of the answer. */
static json_t *answer_json(const struct fanout_answer *answer)
{
	int result = answer->result;
	json_t *object = NULL;

	if (answer->said_size > 0) {
		object = json_loads((const char *)answer->said,
				    JSON_REJECT_DUPLICATES, NULL);
		if (object == NULL)
			result = -EBADMSG;
	}
	return json_pack("{s:s, s:i, s:s, s:o*}", "node", answer->node,
			 "result", result, "error", answer->text, "answer",
			 object);
}

void query_done(struct engine *engine, uint64_t token,
		const struct fanout_answer *answers, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, answer_json(&answers[i]));
	clients_answer_json(engine, token, json_pack("{s:o}", "answers", list));
}

/*
 * Reading the events of one grant after the other. Commits wait behind reads,
 * so that one read at a time is at the store for all who do not go first.
 */
struct events_read {
	struct engine *engine;
	uint64_t token;
	bool goes_first;
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

static void begin_other(struct engine *engine)
{
	struct events_read *read;

	if (engine->reads_for_others)
		return;
	DL_SEARCH_SCALAR(engine->event_reads, read, goes_first, false);
	if (read == NULL)
		return;
	engine->reads_for_others = true;
	read_next(read);
}

static void events_end(struct events_read *read, int result, const char *text)
{
	struct engine *engine = read->engine;
	bool goes_first = read->goes_first;

	if (result == 0)
		clients_answer_json(read->engine, read->token,
				    read->view != NULL
					    ? json_incref(read->view)
					    : json_pack("{s:O}", "events",
							read->events));
	else
		clients_answer(read->engine, read->token, result, text, NULL,
			       NULL);
	DL_DELETE(engine->event_reads, read);
	read_destroy(read);
	if (goes_first)
		return;
	engine->reads_for_others = false;
	begin_other(engine);
}

static void on_events(void *arg, int result, const struct store_row *rows,
		      size_t count)
{
	struct events_read *read = arg;

	if (read->view != NULL && result == 0)
		history_add(
			json_array_get(json_object_get(read->view, "grants"),
				       read->at),
			rows, count);
	for (size_t i = 0; i < count && result == 0 && read->view == NULL;
	     i++) {
		json_t *line = json_stringn(rows[i].body, rows[i].size);

		/* NULL: bytes that are no text. */
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
	struct events_read *read = memory_alloc(sizeof(*read));

	*read = (struct events_read){
		.engine = engine,
		.token = token,
		.goes_first = clients_goes_first(engine, token),
		.grants = memory_copy(grants, count * sizeof(*grants)),
		.count = count,
		.events = memory_have(json_array()),
		.view = json_incref(view),
	};
	DL_APPEND(engine->event_reads, read);
	if (read->goes_first)
		read_next(read);
	else
		begin_other(engine);
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

/*
 * --- the end of a grant that is gone ---
 *
 * A grant is over for its job manager with its event `revoked`, or, where no
 * node was asked, with the `release`. What came later was quarantine.
 */

struct history {
	json_t *item;
	json_t *had;       /* {pool: ids} */
	json_t *confirmed; /* [{nodes, how, since}] */
	bool is_failed;
};

static void put(struct history *history, const char *name, json_t *value_owned)
{
	if (json_object_set_new(history->item, name, value_owned) < 0)
		memory_end();
}

static void copy(struct history *history, const char *name,
		 const json_t *context, const char *member)
{
	json_t *value = json_object_get(context, member);

	if (value != NULL)
		put(history, name, json_incref(value));
}

static void take_request(struct history *history, const json_t *context)
{
	static const char *const members[] = { "nodes", "interconnect",
					       "options" };

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		copy(history, members[i], context, members[i]);
}

static void take_exception(struct history *history, const json_t *context)
{
	const json_t *severity = json_object_get(context, "severity");

	if (!json_is_integer(severity) || json_integer_value(severity) != 0)
		return;
	history->is_failed = true;
	copy(history, "failure", context, "note");
}

static void take_release(struct history *history, const json_t *context)
{
	const char *reason =
		json_string_value(json_object_get(context, "reason"));

	copy(history, "reason", context, "reason");
	if (reason != NULL && strstr(reason, "failed") != NULL)
		history->is_failed = true;
}

static void take_free(struct history *history, const json_t *context)
{
	const char *pool = json_string_value(json_object_get(context, "pool"));
	const char *ids = json_string_value(json_object_get(context, "ids"));
	const char *before;
	_auto_(freep) char *all = NULL;

	if (pool == NULL || ids == NULL)
		return;
	before = json_string_value(json_object_get(history->had, pool));
	all = memory_format("%s%s%s", before == NULL ? "" : before,
			    before == NULL ? "" : ",", ids);
	if (json_object_set_new(history->had, pool, json_string(all)) < 0)
		memory_end();
}

static void take_confirm(struct history *history, const json_t *context,
			 json_t *moment)
{
	json_t *late;

	/* Before the end it was no news of the quarantine. */
	if (json_object_get(history->item, "ended") == NULL)
		return;
	late = json_pack("{s:O?, s:O?, s:O?}", "nodes",
			 json_object_get(context, "nodes"), "how",
			 json_object_get(context, "how"), "since", moment);

	if (json_array_append_new(history->confirmed, late) < 0)
		memory_end();
}

static void take(struct history *history, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "name"));
	const json_t *context = json_object_get(event, "context");
	json_t *moment = json_object_get(event, "timestamp");

	if (name == NULL || !json_is_number(moment))
		return;
	if (strcmp(name, "request") == 0) {
		take_request(history, context);
		put(history, "since", json_incref(moment));
	} else if (strcmp(name, "applied") == 0) {
		put(history, "applied", json_incref(moment));
	} else if (strcmp(name, "exception") == 0) {
		take_exception(history, context);
	} else if (strcmp(name, "release") == 0) {
		take_release(history, context);
		put(history, "ended", json_incref(moment));
	} else if (strcmp(name, "revoked") == 0) {
		put(history, "ended", json_incref(moment));
	} else if (strcmp(name, "confirm") == 0) {
		take_confirm(history, context, moment);
	} else if (strcmp(name, "free") == 0) {
		take_free(history, context);
	}
	put(history, "gone", json_incref(moment));
}

void history_add(json_t *item, const struct store_row *rows, size_t count)
{
	struct history history = {
		.item = item,
		.had = json_object(),
		.confirmed = json_array(),
	};

	for (size_t i = 0; i < count; i++) {
		json_t *event = json_loadb(rows[i].body, rows[i].size,
					   JSON_REJECT_DUPLICATES, NULL);

		take(&history, event);
		json_decref(event);
	}
	if (count > 0)
		put(&history, "outcome",
		    json_string(history.is_failed ? "failed" : "released"));
	put(&history, "had", history.had);
	put(&history, "confirmed", history.confirmed);
}
