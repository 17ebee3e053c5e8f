/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Subjects and answers of works. The manager's CLEAN gets the same members as a
 * client's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/node/agent/work.h"

/* --- what it is about --- */

bool work_matches(const struct work_order *order,
		  const struct mirror_grant *grant)
{
	struct request_key key;

	if (!order->has_job)
		return false;
	/* A grant that was lost from the journal may have no key. */
	return request_key_parse(grant->key, &key, NULL) == 0 &&
	       strcmp(key.submitter, order->job.submitter) == 0 &&
	       strcmp(key.job, order->job.job) == 0 &&
	       (!order->job.has_attempt || key.attempt == order->job.attempt) &&
	       (order->lane.grant_id == 0 ||
		grant->grant_id == order->lane.grant_id);
}

static bool is_wanted(const struct work_order *order,
		      const struct mirror_grant *grant)
{
	if (order->has_job)
		return work_matches(order, grant);
	if (order->has_object)
		return false;
	return order->is_all || grant->state == GRANT_REVOKING;
}

void work_collect(struct agent *agent, struct agent_work *work)
{
	work->items =
		memory_array(HASH_COUNT(agent->grants), sizeof(*work->items));
	for (const struct mirror_grant *grant = agent->grants; grant;
	     grant = grant->hh.next) {
		if (!is_wanted(&work->order, grant))
			continue;
		work->items[work->item_count++] = (struct work_item){
			.work = work,
			.grant_id = grant->grant_id,
		};
	}
}

bool work_is_over(const struct agent *agent, const struct agent_work *work)
{
	const struct mirror_grant *grant;

	for (size_t i = 0; i < work->item_count; i++) {
		HASH_FIND(hh, agent->grants, &work->items[i].grant_id,
			  sizeof(work->items[i].grant_id), grant);
		if (grant)
			return false;
	}
	return true;
}

static bool is_wanted_object(const struct work_order *order,
			     const struct mirror_grant *grant,
			     const struct registration_object *object)
{
	if (order->has_object)
		return strcmp(order->device, object->device) == 0 &&
		       order->object_id == object->id;
	if (object->flags & (FAIRLEAD_OBJECT_SYSTEM | FAIRLEAD_OBJECT_DEFAULT))
		return false;
	return grant ? is_wanted(order, grant) : order->is_all;
}

void work_take_objects(struct agent *agent, struct agent_work *work,
		       const struct guard_object *list, size_t count)
{
	size_t most = count < WORK_OBJECTS_MAX ? count : WORK_OBJECTS_MAX;

	work->objects = memory_array(most, sizeof(*work->objects));
	for (size_t i = 0; i < count; i++) {
		const struct registration_object *object = &list[i].object;
		const struct mirror_grant *grant = view_owner(agent, object);

		if (!is_wanted_object(&work->order, grant, object))
			continue;
		if (work->object_count == most) {
			work->is_full = true;
			return;
		}
		work->objects[work->object_count++] = (struct work_object){
			.work = work,
			.grant_id = grant ? grant->grant_id : 0,
			.object = *object,
		};
	}
}

/* --- the end --- */

void work_remove(struct agent *agent, struct agent_work *work)
{
	DL_DELETE(agent->works, work);
	agent->work_count--;
	agent->others_work_count -= work->order.uid != 0;
	for (size_t i = 0; i < work->item_count; i++)
		free(work->items[i].text);
	for (size_t i = 0; i < work->object_count; i++)
		free(work->objects[i].text);
	free(work->items);
	free(work->objects);
	free(work);
}

/* Answer the client of the work; takes the reference. */
static void work_answer(struct agent *agent, struct agent_work *work,
			int result, json_t *answer)
{
	struct guard_request request = {
		.type = GUARD_ANSWER,
		.number = work->order.id,
		.result = result,
	};
	char *text;

	if (work->order.is_alone) {
		json_decref(answer);
		work_remove(agent, work);
		return;
	}
	if (work->order.peer != 0) {
		client_work_done(agent, work->order.peer);
		client_reply(agent, work->order.peer, work->order.id, answer);
		work_remove(agent, work);
		return;
	}
	text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	json_decref(answer);
	if (text && strlen(text) <= CONFIRM_ANSWER_MAX) {
		request.bytes = (const uint8_t *)text;
		request.size = strlen(text);
	}
	commands_answer(agent, &request);
	free(text);
	work_remove(agent, work);
}

void work_fail(struct agent *agent, struct agent_work *work, int code,
	       const char *text, const char *hint)
{
	work_answer(agent, work, code,
		    client_error(work->order.id, code, text, hint));
}

static json_t *answer_begin(const struct agent_work *work, int result,
			    const char *text, const char *hint)
{
	return result < 0 ? client_error(work->order.id, result, text, hint)
			  : client_answer(work->order.id);
}

/* --- prolog --- */

/* Describe what a prolog would do with a grant that is here. */
static json_t *prolog_outlook(const struct mirror_grant *grant)
{
	return json_sprintf("%s: %s", grant->key,
			    grant->state == GRANT_REVOKING
				    ? "its lane is being taken back, and would "
				      "not be made again"
				    : "its lane is here, and nothing would be "
				      "done");
}

/* Of a lane that is not here, or never will be. */
static json_t *prolog_preview(const struct agent *agent,
			      const struct work_order *order, json_t *lines)
{
	struct fairlead_error error;

	if (!order->has_lane)
		json_array_append_new(lines,
				      json_string("the grant has no lane, and "
						  "nothing would be made"));
	else if (order_preview(agent, order, lines, &error) < 0)
		return client_error(order->id, error.code, error.text, NULL);
	return client_answer(order->id);
}

static void finish_prolog(struct agent *agent, struct agent_work *work)
{
	json_t *grants = json_array(), *warnings = json_array();
	json_t *answer = work->order.is_dry_run && work->item_count == 0
				 ? prolog_preview(agent, &work->order, warnings)
				 : client_answer(work->order.id);
	const struct mirror_grant *grant;

	for (size_t i = 0; i < work->item_count; i++) {
		const struct work_item *item = &work->items[i];

		HASH_FIND(hh, agent->grants, &item->grant_id,
			  sizeof(item->grant_id), grant);
		if (!grant)
			continue;
		json_array_append_new(grants, view_grant(grant, true));
		if (work->order.is_dry_run)
			json_array_append_new(warnings, prolog_outlook(grant));
		else
			view_lines(warnings, grant->text);
	}
	json_object_set_new(answer, "grants", grants);
	json_object_set_new(answer, "warnings", warnings);
	work_answer(agent, work, 0, answer);
}

/* --- epilog and housekeeping --- */

static json_t *revoke_answer(const struct agent *agent,
			     const struct agent_work *work, int result)
{
	const char *hint;

	if (work->order.is_dry_run)
		return answer_begin(work, result,
				    "not all of it can be revoked at once",
				    "it would be retried; 'busy' names what "
				    "holds it");
	if (!work->is_last)
		hint = "it is retried until it is done; 'busy' names what "
		       "holds it";
	else if (agent->is_drained)
		hint = "this node is drained; 'busy' names what holds it";
	else
		hint = "the manager was asked to drain this node, and has not "
		       "yet: see its log; 'busy' names what holds it";
	return answer_begin(work, result, "not all of it is revoked yet", hint);
}

/* Retries without a client: of these grants, and no later ones. */
static void housekeeping_begin(struct agent *agent,
			       const struct agent_work *work)
{
	struct work_order order = work->order;

	order.kind = WORK_HOUSEKEEPING;
	order.is_followed = false;
	order.is_alone = true;
	order.timeout_ms = agent->options.timeouts.housekeeping_ms;
	if (work_begin(agent, &order) < 0)
		log_warning(agent->options.log,
			    "too much is under way for housekeeping job=%s/%s",
			    order.job.submitter, order.job.job);
}

static void finish_revoke(struct agent *agent, struct agent_work *work)
{
	json_t *revoked = json_array(), *busy = json_array();
	json_t *warnings = json_array();
	json_t *answer;
	int result = 0;

	for (size_t i = 0; i < work->item_count; i++) {
		const struct work_item *item = &work->items[i];
		json_int_t id = (json_int_t)item->grant_id;

		if (item->is_done) {
			json_array_append_new(revoked, json_integer(id));
			view_lines(warnings, item->text);
			continue;
		}
		result = -EBUSY;
		json_array_append_new(
			busy, json_pack("{s:I, s:s}", "grant_id", id, "text",
					item->text ? item->text : ""));
	}
	if (work->item_count == 0 && work->order.has_job)
		json_array_append_new(
			warnings,
			json_sprintf("this node knows nothing of job '%s/%s': "
				     "it had no lane here, or has none any "
				     "more; where this node's journal was "
				     "lost, releasing the job takes back what "
				     "is left",
				     work->order.job.submitter,
				     work->order.job.job));
	answer = revoke_answer(agent, work, result);
	json_object_set_new(answer, "revoked", revoked);
	json_object_set_new(answer, "warnings", warnings);
	json_object_set_new(answer, "busy", busy);
	if (result < 0 && work->order.is_followed && !work->order.is_dry_run)
		housekeeping_begin(agent, work);
	work_answer(agent, work, result, answer);
}

/* --- clean --- */

/* Of a clean of one object. */
static int object_check(const struct agent_work *work,
			struct fairlead_error *ret_error)
{
	const struct work_order *order = &work->order;
	const struct work_object *object = work->objects;

	if (work->object_count == 0)
		return error_set(ret_error, -ENOENT,
				 "there is no object %u on '%s'",
				 order->object_id, order->device);
	if (object->object.flags &
	    (FAIRLEAD_OBJECT_SYSTEM | FAIRLEAD_OBJECT_DEFAULT))
		return error_set(ret_error, -EPERM,
				 "object %u on '%s' is the system's",
				 order->object_id, order->device);
	if (object->grant_id > 0)
		return error_set(ret_error, -EPERM,
				 "object %u on '%s' is of grant %" PRIu64
				 ": release that",
				 order->object_id, order->device,
				 object->grant_id);
	return 0;
}

/* Of a clean of all: it takes live lanes from their jobs only by force. */
static int all_check(const struct agent *agent, const struct work_order *order,
		     struct fairlead_error *ret_error)
{
	const struct mirror_grant *first = NULL, *grant;
	size_t count = 0;

	for (grant = agent->grants; grant; grant = grant->hh.next) {
		if (grant->state == GRANT_REVOKING)
			continue;
		if (!first)
			first = grant;
		count++;
	}
	if (!first || order->is_forced || order->is_dry_run)
		return 0;
	return error_set(ret_error, -EBUSY,
			 "%zu %s in use on this node, such as that of job '%s' "
			 "(grant %" PRIu64 ")",
			 count, count == 1 ? "lane is" : "lanes are",
			 first->key, first->grant_id);
}

int work_check_clean(const struct agent *agent, const struct agent_work *work,
		     struct fairlead_error *ret_error)
{
	if (work->order.has_object)
		return object_check(work, ret_error);
	return work->order.is_all ? all_check(agent, &work->order, ret_error)
				  : 0;
}

static json_t *clean_entry(const struct registration_object *object,
			   uint64_t grant_id, const char *text)
{
	return json_pack("{s:s, s:s, s:I, s:I, s:s}", "interconnect",
			 object->driver, "device", object->device, "id",
			 (json_int_t)object->id, "grant_id",
			 (json_int_t)grant_id, "text", text ? text : "");
}

static const struct work_item *item_find(const struct agent_work *work,
					 uint64_t grant_id)
{
	for (size_t i = 0; i < work->item_count; i++) {
		if (work->items[i].grant_id == grant_id)
			return &work->items[i];
	}
	return NULL;
}

static bool has_object(const struct agent_work *work, uint64_t grant_id)
{
	for (size_t i = 0; i < work->object_count; i++) {
		if (work->objects[i].grant_id == grant_id)
			return true;
	}
	return false;
}

static void finish_clean(struct agent *agent, struct agent_work *work)
{
	static const struct registration_object none;
	json_t *destroyed = json_array(), *left = json_array();
	json_t *answer;
	int result;

	for (size_t i = 0; i < work->object_count; i++) {
		const struct work_object *object = &work->objects[i];
		const struct work_item *item =
			item_find(work, object->grant_id);
		int code = item ? (item->is_done ? 0 : item->result)
				: object->result;

		json_array_append_new(
			code < 0 ? left : destroyed,
			clean_entry(&object->object, object->grant_id,
				    item ? item->text : object->text));
	}
	for (size_t i = 0; i < work->item_count; i++) {
		const struct work_item *item = &work->items[i];

		if (!has_object(work, item->grant_id))
			json_array_append_new(item->is_done ? destroyed : left,
					      clean_entry(&none, item->grant_id,
							  item->text));
	}
	result = json_array_size(left) > 0 || work->is_full ? -EBUSY : 0;
	answer =
		answer_begin(work, result,
			     work->is_full
				     ? "there are more objects than one clean "
				       "takes"
				     : "not all could be destroyed",
			     work->is_full ? "clean again" : "'left' says why");
	json_object_set_new(answer, "destroyed", destroyed);
	json_object_set_new(answer, "left", left);
	work_answer(agent, work, result, answer);
}

void work_finish(struct agent *agent, struct agent_work *work)
{
	switch (work->order.kind) {
	case WORK_PROLOG:
		finish_prolog(agent, work);
		break;
	case WORK_EPILOG:
	case WORK_HOUSEKEEPING:
		finish_revoke(agent, work);
		break;
	case WORK_CLEAN:
		finish_clean(agent, work);
		break;
	case WORK_ENVIRONMENT:
		break;
	}
}

/* --- env --- */

/* The lines of the file as [[name, value or null], ...]. */
static json_t *variables_of(const char *text)
{
	json_t *variables = json_array();

	while (*text) {
		size_t size = strcspn(text, "\n");
		const char *equals = memchr(text, '=', size);
		size_t name_size = equals ? (size_t)(equals - text) : size;
		json_t *value =
			equals ? json_stringn(equals + 1, size - name_size - 1)
			       : json_null();

		json_array_append_new(variables,
				      json_pack("[o, o]",
						json_stringn(text, name_size),
						value));
		text += size + (text[size] == '\n');
	}
	return variables;
}

void work_finish_environment(struct agent *agent, struct agent_work *work,
			     const struct guard_reply *reply)
{
	json_t *answer;

	if (reply->result < 0) {
		work_fail(agent, work, reply->result,
			  reply->result == -ENOENT ? "the job has no lane here"
						   : reply->text,
			  NULL);
		return;
	}
	answer = client_answer(work->order.id);
	/* Blobs end in a zero once they are decoded. */
	json_object_set_new(answer, "variables",
			    variables_of((const char *)reply->bytes));
	work_answer(agent, work, 0, answer);
}
