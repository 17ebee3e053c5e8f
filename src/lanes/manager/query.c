/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is asked of others before it is answered: nodes (node-query,
 * node-clean), and the journal (eventlog).
 */
#include <errno.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/fanout.h"
#include "lanes/manager/internal.h"
#include "lanes/manager/past.h"

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

/* What nodes are asked. */
struct question {
	enum command_op op;
	uint32_t timeout_ms;
	const char *nodes;
	uint8_t what;    /* of QUERY */
	bool is_dry_run; /* of CLEAN */
};

/* A CLEAN may be played back, and so takes no lane that somebody may use. */
static int question_encode(const void *arg, uint16_t version,
			   struct writer *writer)
{
	const struct question *question = arg;
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
		       ? query_body_encode(&query, version, writer)
		       : clean_body_encode(&clean, version, writer);
}

static int plan_question(const struct hostlist *list,
			 const struct question *question,
			 struct fanout_plan **ret_plan)
{
	_auto_(fanout_plan_destroyp) struct fanout_plan *plan = NULL;
	int result = fanout_plan_create(question->op,
					(const char *const *)list->names,
					list->count, &plan);

	if (result == 0)
		result = fanout_plan_encode(plan, question_encode, question);
	if (result < 0)
		return result;
	plan->owner = FANOUT_OF_CLIENT;
	plan->timeout_ms = question->timeout_ms;
	*ret_plan = take_ptr(plan);
	return 0;
}

/* Its nodes are in the call. */
static int ask(struct call *call, struct question *question,
	       struct fairlead_error *ret_error)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	struct fanout_plan *plan;
	int result = members_text(call->message, "nodes", MEMBER_REQUIRED,
				  &question->nodes, ret_error);

	if (result == 0)
		result = nodes_parse(question->nodes, &list, ret_error);
	if (result < 0)
		return result;
	result = plan_question(list, question, &plan);
	if (result < 0)
		return error_set(ret_error, result, "the command: %s",
				 strerror(-result));
	plan->id = call->token;
	result = fanouts_start(call->engine->fanouts, plan);
	if (result < 0)
		return error_set(ret_error, result, "out of memory");
	return 0;
}

static void refuse(struct call *call, const struct fairlead_error *error)
{
	clients_answer(call->engine, call->token, error->code, error->text,
		       NULL, NULL);
}

void run_node_query(struct call *call)
{
	struct question question = {
		.op = COMMAND_QUERY,
		.timeout_ms = QUERY_TIMEOUT_MS,
	};
	struct fairlead_error error;
	const char *what;
	int result = members_text(call->message, "what", MEMBER_REQUIRED, &what,
				  &error);

	if (result == 0)
		result = what_parse(what, &question.what, &error);
	if (result == 0)
		result = ask(call, &question, &error);
	if (result < 0)
		refuse(call, &error);
}

void run_node_clean(struct call *call)
{
	struct question question = {
		.op = COMMAND_CLEAN,
		.timeout_ms = CLEAN_TIMEOUT_MS,
	};
	struct fairlead_error error;
	int result = members_bool(call->message, "dry_run", MEMBER_OPTIONAL,
				  &question.is_dry_run, &error);

	call_log_act(call);
	if (result == 0)
		result = ask(call, &question, &error);
	if (result < 0)
		refuse(call, &error);
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
