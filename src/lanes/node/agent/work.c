/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that take a while. An epilog's tries are quick and soon over; those
 * of housekeeping slow down and end with a request for a drain, which is waited
 * for. Both only hurry what the agent does anyway with a lane that is busy.
 *
 *	prolog        wait until the job has a lane here
 *	env           ask for its environment
 *	epilog, ..    rounds of REVOKE until all are gone or the time is over
 *	clean         one round of REVOKE, then one of DESTROY
 */
#include "lanes/node/agent/work.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/hostlist.h"
#include "base/memory.h"
#include "lanes/proto/grant.h"

static void round_begin(struct agent *agent, struct agent_work *work,
			enum work_phase phase);

static bool is_revoke(const struct agent_work *work)
{
	return work->order.kind == WORK_EPILOG ||
	       work->order.kind == WORK_HOUSEKEEPING;
}

/* --- rounds --- */

static void item_answer(struct work_item *item, int result, const char *text)
{
	item->result = result;
	free(item->text);
	item->text = memory_text(text);
}

/*
 * A drain that was known before may have ended while there was no link, so that
 * the manager has to have taken our request.
 */
static void drain_step(struct agent *agent, struct agent_work *work)
{
	if (work_is_over(agent, work)) {
		for (size_t i = 0; i < work->item_count; i++)
			work->items[i].is_done = true;
		work_finish(agent, work);
	} else if ((agent->is_drained && agent->pending_count == 0) ||
		   agent_now_ms(agent) >= work->next_ms) {
		work_finish(agent, work);
	}
}

bool works_await_drain(const struct agent *agent)
{
	const struct agent_work *work = agent->works;

	while (work && work->phase != WORK_DRAIN)
		work = work->next;
	return work != NULL;
}

static void round_end(struct agent *agent, struct agent_work *work)
{
	uint64_t now_ms = agent_now_ms(agent);
	size_t left = 0;
	uint32_t most_ms = work->order.kind == WORK_HOUSEKEEPING
				   ? AGENT_RETRY_MS_MAX
				   : AGENT_QUICK_MS_MAX;

	for (size_t i = 0; i < work->item_count; i++)
		left += !work->items[i].is_done;
	if (work->order.kind == WORK_CLEAN && work->phase == WORK_ITEMS) {
		round_begin(agent, work, WORK_OBJECTS);
		return;
	}
	if (!is_revoke(work) || work->order.is_dry_run || left == 0 ||
	    (now_ms >= work->deadline_ms && work->order.kind == WORK_EPILOG) ||
	    (work->is_last && work->order.is_alone)) {
		work_finish(agent, work);
		return;
	}
	if (work->is_last) {
		work->phase = WORK_DRAIN;
		work->next_ms = now_ms + AGENT_DRAIN_MS;
		drain_step(agent, work);
		return;
	}
	work->phase = WORK_WAITING;
	work->next_ms =
		deadline_min(now_ms + work->pause_ms, work->deadline_ms);
	work->pause_ms =
		work->pause_ms < most_ms / 2 ? 2 * work->pause_ms : most_ms;
}

static void item_done(struct agent *agent, void *arg,
		      const struct guard_reply *reply);
static void object_done(struct agent *agent, void *arg,
			const struct guard_reply *reply);

static int item_ask(struct agent *agent, struct agent_work *work,
		    struct work_item *item)
{
	const struct guard_request request = {
		.type = GUARD_REVOKE,
		.number = item->grant_id,
		.is_dry_run = work->order.is_dry_run,
		.is_last = work->is_last,
		.is_clean = work->order.is_all,
	};

	return agent_ask(agent, &request, item_done, item);
}

static int object_ask(struct agent *agent, struct agent_work *work,
		      struct work_object *object)
{
	const struct guard_request request = {
		.type = GUARD_DESTROY,
		.is_dry_run = work->order.is_dry_run,
		.object = object->object,
	};

	return agent_ask(agent, &request, object_done, object);
}

/* Ask about the next one, if it is to be asked about. */
static void round_next(struct agent *agent, struct agent_work *work)
{
	size_t i = work->cursor++;
	int result;

	if (work->phase == WORK_ITEMS && !work->items[i].is_done) {
		result = item_ask(agent, work, &work->items[i]);
		if (result < 0)
			item_answer(&work->items[i], result,
				    "the guard is too busy");
		work->asks_open += result == 0;
	} else if (work->phase == WORK_OBJECTS &&
		   work->objects[i].grant_id == 0) {
		result = object_ask(agent, work, &work->objects[i]);
		if (result < 0)
			work->objects[i].result = result;
		work->asks_open += result == 0;
	}
}

static void round_go_on(struct agent *agent, struct agent_work *work)
{
	size_t count = work->phase == WORK_ITEMS ? work->item_count
						 : work->object_count;

	while (work->cursor < count && work->asks_open < WORK_WINDOW)
		round_next(agent, work);
	if (work->asks_open == 0)
		round_end(agent, work);
}

static void round_begin(struct agent *agent, struct agent_work *work,
			enum work_phase phase)
{
	work->phase = phase;
	work->cursor = 0;
	work->next_ms = DEADLINE_NONE;
	if (work->order.kind == WORK_HOUSEKEEPING && !work->order.is_dry_run)
		work->is_last = agent_now_ms(agent) >= work->deadline_ms;
	round_go_on(agent, work);
}

static void item_done(struct agent *agent, void *arg,
		      const struct guard_reply *reply)
{
	struct work_item *item = arg;
	struct agent_work *work = item->work;

	item_answer(item, reply->result, reply->text);
	/* A missing one was revoked by another request. */
	item->is_done = reply->result == 0 || reply->result == -ENOENT;
	work->asks_open--;
	round_go_on(agent, work);
}

static void object_done(struct agent *agent, void *arg,
			const struct guard_reply *reply)
{
	struct work_object *object = arg;

	object->result = reply->result == -ENOENT ? 0 : reply->result;
	object->text = memory_text(reply->text);
	object->work->asks_open--;
	round_go_on(agent, object->work);
}

/* --- beginning --- */

static void environment_done(struct agent *agent, void *arg,
			     const struct guard_reply *reply)
{
	struct agent_work *work = arg;

	work->asks_open--;
	work_finish_environment(agent, work, reply);
}

static void environment_begin(struct agent *agent, struct agent_work *work)
{
	struct guard_request request = { .type = GUARD_ENVIRONMENT };
	const struct mirror_grant *found = NULL;
	const struct mirror_grant *grant;

	for (grant = agent->grants; grant; grant = grant->hh.next) {
		if (grant->state == GRANT_APPLIED &&
		    work_matches(&work->order, grant) &&
		    (!found || found->grant_id < grant->grant_id))
			found = grant;
	}
	if (!found) {
		work_fail(agent, work, -ENOENT, "the job has no lane here",
			  NULL);
		return;
	}
	if (work->order.uid != 0 && work->order.uid != found->uid) {
		work_fail(agent, work, -EPERM, "the job is another user's",
			  NULL);
		return;
	}
	request.number = found->grant_id;
	if (agent_ask(agent, &request, environment_done, work) < 0)
		work_fail(agent, work, -EAGAIN, "the guard is too busy", NULL);
	else
		work->asks_open++;
}

static void prolog_step(struct agent *agent, struct agent_work *work)
{
	/* The grant says that there is no lane, or what the lane would be. */
	bool is_known = work->order.lane.grant_id != 0 &&
			(!work->order.has_lane || work->order.is_dry_run);
	const struct mirror_grant *grant;
	char text[256];

	for (grant = agent->grants; grant; grant = grant->hh.next) {
		if (work_matches(&work->order, grant) &&
		    (grant->state == GRANT_APPLIED || work->order.is_dry_run))
			break;
	}
	if (grant || is_known) {
		work_collect(agent, work);
		work_finish(agent, work);
	} else if (work->order.is_dry_run) {
		work_fail(agent, work, -ENOENT,
			  "this node knows no reservation of the job",
			  "the manager sends it when the job is applied; with "
			  "the grant instead of the job's name a dry run says "
			  "what would be made");
	} else if (agent_now_ms(agent) >= work->deadline_ms) {
		snprintf(text, sizeof(text),
			 "no lane of the job was applied here within %u ms",
			 work->order.timeout_ms);
		work_fail(
			agent, work, -ETIMEDOUT, text,
			"'fairlead explain JOB' says what it waits for; where "
			"the grant is given instead of the job's name, a job "
			"without a lane waits for nothing");
	}
}

/* list: for clean, else NULL. */
static void rounds_begin(struct agent *agent, struct agent_work *work,
			 const struct guard_object *list, size_t count)
{
	struct fairlead_error error;
	int result = 0;

	work_collect(agent, work);
	work_take_objects(agent, work, list, count);
	if (work->order.kind == WORK_CLEAN)
		result = work_check_clean(agent, work, &error);
	if (result < 0)
		work_fail(agent, work, result, error.text,
			  work->order.is_all
				  ? "wait until the jobs are over, or add "
				    "--force: they lose their network"
				  : NULL);
	else
		round_begin(agent, work, WORK_ITEMS);
}

static void objects_listed(struct agent *agent, void *arg, uint64_t number,
			   const struct guard_object *list, size_t count,
			   const struct fairlead_error *error)
{
	struct agent_work *work = arg;

	if (list)
		rounds_begin(agent, work, list, count);
	else
		work_fail(agent, work, error->code, error->text, NULL);
}

static void revoke_begin(struct agent *agent, struct agent_work *work)
{
	work->is_begun = true;
	if (work->order.kind != WORK_CLEAN)
		rounds_begin(agent, work, NULL, 0);
	else if (objects_ask(agent, objects_listed, work, 0) < 0)
		work_fail(agent, work, -EAGAIN, "the guard is too busy", NULL);
}

static void work_step(struct agent *agent, struct agent_work *work)
{
	if (!agent->is_synced)
		return;
	switch (work->order.kind) {
	case WORK_PROLOG:
		prolog_step(agent, work);
		break;
	case WORK_ENVIRONMENT:
		if (work->asks_open == 0)
			environment_begin(agent, work);
		break;
	case WORK_EPILOG:
	case WORK_HOUSEKEEPING:
	case WORK_CLEAN:
		if (!work->is_begun)
			revoke_begin(agent, work);
		else if (work->phase == WORK_DRAIN)
			drain_step(agent, work);
		else if (work->phase == WORK_WAITING &&
			 agent_now_ms(agent) >= work->next_ms)
			round_begin(agent, work, WORK_ITEMS);
		break;
	}
}

int work_begin(struct agent *agent, const struct work_order *order)
{
	struct agent_work *work;

	if (agent->work_count >= AGENT_WORKS_MAX ||
	    (order->uid != 0 &&
	     agent->others_work_count >= AGENT_OTHERS_WORKS_MAX))
		return -EAGAIN;
	work = memory_alloc(sizeof(*work));
	work->order = *order;
	work->deadline_ms = agent_now_ms(agent) + order->timeout_ms;
	work->next_ms =
		order->kind == WORK_PROLOG ? work->deadline_ms : DEADLINE_NONE;
	work->pause_ms = order->kind == WORK_HOUSEKEEPING ? AGENT_RETRY_MS
							  : AGENT_QUICK_MS;
	DL_APPEND(agent->works, work);
	agent->work_count++;
	agent->others_work_count += order->uid != 0;
	work_step(agent, work);
	return 0;
}

/* --- events --- */

void works_wake(struct agent *agent)
{
	struct agent_work *work, *next;

	DL_FOREACH_SAFE (agent->works, work, next)
		work_step(agent, work);
}

uint64_t works_deadline_ms(const struct agent *agent)
{
	uint64_t deadline_ms = DEADLINE_NONE;

	for (const struct agent_work *work = agent->works;
	     work && agent->is_synced; work = work->next) {
		if (work->phase == WORK_WAITING || work->phase == WORK_DRAIN)
			deadline_ms = deadline_min(deadline_ms, work->next_ms);
	}
	return deadline_ms;
}

void works_tick(struct agent *agent)
{
	works_wake(agent);
}

void works_fini(struct agent *agent)
{
	while (agent->works)
		work_remove(agent, agent->works);
}

/*
 * --- a prolog that was given its job's grant. It says what no node knows by
 * itself: that a job has no lane, so that nothing is to be waited for; and what
 * a lane that is not here yet is to be. It is believed only so far: what is
 * made comes from the manager, signed. ---
 */

static int order_take(const struct agent *agent,
		      const struct grant_public *public,
		      struct work_order *order,
		      struct fairlead_error *ret_error)
{
	int result = request_key_parse(public->key, &order->job, ret_error);

	if (result < 0)
		return result;
	if (strlen(public->interconnect) > FAIRLEAD_DRIVER_NAME_MAX ||
	    strlen(public->options) > FAIRLEAD_OPTIONS_MAX)
		return error_set(ret_error, -EINVAL,
				 "the grant's interconnect or options are too "
				 "long");
	if (hostlist_find(public->nodes, agent->name) < 0)
		return error_set(ret_error, -EINVAL,
				 "the grant of '%s' does not name this node, "
				 "'%s'",
				 public->key, agent->name);
	order->has_job = true;
	order->has_lane = public->has_lane;
	order->lane.grant_id = public->grant_id;
	order->lane.uid = public->uid;
	order->lane.gid = public->gid;
	order->lane.id_count = public->id_count;
	strcpy(order->lane.options, public->options);
	strcpy(order->driver, public->interconnect);
	return 0;
}

int order_read_grant(const struct agent *agent, const char *text,
		     struct work_order *order, struct fairlead_error *ret_error)
{
	struct grant_public public;
	struct grant grant;
	json_t *object;
	int result = grant_parse(text, &grant, ret_error);

	if (result < 0)
		return result;
	object = json_loads(grant.public_text, JSON_REJECT_DUPLICATES, NULL);
	result = grant_public_read(object, order->lane.ids, &public, ret_error);
	if (result == 0)
		result = order_take(agent, &public, order, ret_error);
	json_decref(object);
	grant_fini(&grant);
	return result;
}

struct agent_collector {
	struct fairlead_warnings warnings;
	json_t *lines;
};

static void collector_add(struct fairlead_warnings *warnings, const char *line)
{
	struct agent_collector *collector = (struct agent_collector *)warnings;

	json_array_append_new(collector->lines, json_string(line));
}

int order_preview(const struct agent *agent, const struct work_order *order,
		  json_t *lines, struct fairlead_error *ret_error)
{
	struct agent_collector collector = {
		.warnings = { .add = collector_add }, .lines = lines
	};
	struct fairlead_lane lane = order->lane;

	lane.job = order->job.job;
	for (size_t i = 0; i < agent->options.driver_count; i++) {
		const struct guard_driver *driver = &agent->options.drivers[i];

		if (strcmp(driver->driver->name, order->driver) != 0)
			continue;
		if (!driver->is_open)
			return error_set(ret_error, -ENODEV, "driver '%s': %s",
					 order->driver, driver->detail);
		return driver->driver->node->apply(driver->state, &lane, true,
						   NULL, &collector.warnings,
						   ret_error);
	}
	return error_set(ret_error, -ENODEV, "this node has no driver '%s'",
			 order->driver);
}
