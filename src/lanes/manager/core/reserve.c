/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A reservation is decided in one step: the nodes exist and are not drained,
 * the driver says what the lane needs, the pools have it. Nothing has changed
 * until all of that is known. Then either there is a grant, or a trace: a
 * grant id of its own with the events that say why there is none, which does
 * not use up the key (doc/rfc/request-and-grant.md).
 */
#include <assert.h>
#include <ctype.h>
#include <stdio.h>

#include "lanes/manager/core/out.h"
#include "base/text.h"
#include "lanes/manager/core/grant.h"
#include "lanes/proto/request.h"

#define BAD_NODES_MAX 64 /* named in an error */

/* A reservation while it is being decided. */
struct attempt {
	const struct request *request;
	struct interconnect *interconnect;
	struct job *job;
	struct fairlead_plan plan;
	struct fairlead_error error;
	enum edge edge; /* of the error */
	const char *hint;
};

/* The key is known already: true, and it is answered. */
static bool is_known(struct core *core, const struct request *request,
		     uint64_t token)
{
	const struct job *job = jobs_find_key(&core->jobs, request->key_text);
	uint8_t digest[REQUEST_DIGEST_SIZE];

	static_assert(REQUEST_DIGEST_SIZE == JOB_DIGEST_SIZE, "one digest");
	if (job == NULL &&
	    tombstones_find_key(&core->tombstones, request->key_text) == NULL)
		return false;
	if (job == NULL || job->state >= JOB_RELEASING) {
		core_reply_error(core, token, EDGE_ERROR_RESERVE_ESTALE,
				 -ESTALE, "use the next attempt",
				 "the grant of '%s' was released",
				 request->key_text);
		return true;
	}
	request_digest(request, digest);
	if (memcmp(digest, job->digest, sizeof(digest)) != 0) {
		core_reply_error(core, token, EDGE_ERROR_RESERVE_EEXIST,
				 -EEXIST, "use the next attempt",
				 "'%s' is the key of another request",
				 request->key_text);
		return true;
	}
	core_hit(core, EDGE_RESERVE_REPEAT);
	core_grant_answer_again(core, job, token);
	return true;
}

/* The maxima: true, and it is answered. */
static bool is_full(struct core *core, const struct request *request,
		    uint64_t token)
{
	const struct job *job =
		jobs_find_name(&core->jobs, request->key_text,
			       job_name_size(request->key_text));
	size_t count = 0;

	for (; job != NULL; job = job->sibling)
		count++;
	if (count >= CORE_JOB_GRANTS_MAX)
		core_reply_error(core, token, EDGE_LIMIT_RESERVE, -ENOSPC,
				 "release earlier attempts",
				 "the job of '%s' has %d live grants, which "
				 "is the maximum",
				 request->key_text, CORE_JOB_GRANTS_MAX);
	else if (core->jobs.count >= CORE_JOBS_MAX)
		core_reply_error(core, token, EDGE_LIMIT_RESERVE, -ENOSPC,
				 "release what is not needed",
				 "there are %d live grants, which is the "
				 "maximum",
				 CORE_JOBS_MAX);
	else
		return false;
	return true;
}

static struct job *job_of(struct core *core, const struct request *request,
			  uint8_t driver)
{
	struct job *job = job_create((uint32_t)request->nodes->count);

	job->key = memory_text(request->key_text);
	request_digest(request, job->digest);
	job->uid = request->uid;
	job->gid = request->gid;
	job->cpus_per_task = request->cpus_per_task;
	job->cores = memory_text(request->cores_text);
	job->tasks = memory_text(request->tasks_text);
	job->options = memory_text("");
	job->empty_reason = memory_text("");
	job->driver = driver;
	job->epoch = core->epoch;
	job->created_us = clock_wall_us(core->clock);
	return job;
}

/* Reasons against a node for a reservation, the worst last. */
enum node_flaw {
	FLAW_NONE,
	FLAW_FULL,
	FLAW_DRAINED,
	FLAW_UNKNOWN,
};

static const struct {
	int code;
	enum edge edge;
	const char *text, *hint;
} node_flaws[] = {
	[FLAW_FULL] = { -ENOSPC, EDGE_LIMIT_RESERVE,
			"nodes with 4096 live grants, which is the maximum",
			"release what is not needed" },
	[FLAW_DRAINED] = { -EHOSTDOWN, EDGE_ERROR_RESERVE_EHOSTDOWN,
			   "drained nodes",
			   "see `fairlead node list` for why" },
	[FLAW_UNKNOWN] = { -ENOENT, EDGE_ERROR_RESERVE_ENOENT,
			   "not among the manager's nodes",
			   "see `fairlead node list`" },
};

static enum node_flaw node_check(const struct node *node)
{
	static_assert(CORE_NODE_JOBS_MAX == 4096, "as the text says");
	if (node == NULL || !node->is_configured)
		return FLAW_UNKNOWN;
	if (node->is_drained)
		return FLAW_DRAINED;
	return node->job_count >= CORE_NODE_JOBS_MAX ? FLAW_FULL : FLAW_NONE;
}

static int nodes_refuse(struct core *core, struct attempt *attempt,
			enum node_flaw flaw)
{
	const struct hostlist *nodes = attempt->request->nodes;
	int code = node_flaws[flaw].code;
	const char *names[BAD_NODES_MAX];
	_auto_(freep) char *list = NULL;
	size_t count = 0, more = 0;

	for (size_t i = 0; i < nodes->count; i++) {
		if (node_check(nodes_find(&core->nodes, nodes->names[i])) !=
		    flaw)
			continue;
		if (count < BAD_NODES_MAX)
			names[count++] = nodes->names[i];
		else
			more++;
	}
	list = memory_have(hostlist_format(names, count));
	attempt->edge = node_flaws[flaw].edge;
	attempt->hint = node_flaws[flaw].hint;
	error_set(&attempt->error, code, "%s: %s", node_flaws[flaw].text, list);
	if (more > 0)
		error_prefix(&attempt->error, "%zu nodes", count + more);
	return code;
}

static int nodes_resolve(struct core *core, struct attempt *attempt)
{
	const struct hostlist *nodes = attempt->request->nodes;
	enum node_flaw worst = FLAW_NONE;

	for (size_t i = 0; i < nodes->count; i++) {
		const struct node *node =
			nodes_find(&core->nodes, nodes->names[i]);
		enum node_flaw flaw = node_check(node);

		if (flaw > worst)
			worst = flaw;
		if (flaw == FLAW_NONE)
			attempt->job->parts[i].node = node->index;
	}
	return worst == FLAW_NONE ? 0 : nodes_refuse(core, attempt, worst);
}

static int plan_make(struct attempt *attempt)
{
	const struct request *request = attempt->request;
	const struct interconnect *ic = attempt->interconnect;
	struct fairlead_driver_request driver_request = {
		.key = request->key_text,
		.uid = request->uid,
		.gid = request->gid,
		.options = request->options,
		.node_count = request->nodes->count,
		.nodes = (const char *const *)request->nodes->names,
		.cores = request->cores,
		.tasks = request->tasks,
	};
	int result = ic->driver->manager->reserve(
		ic->state, &driver_request, &attempt->plan, &attempt->error);

	attempt->edge = EDGE_ERROR_RESERVE_DRIVER;
	attempt->hint = NULL;
	return core_driver_result(result, &attempt->error);
}

static void name_format(const struct pool *pool,
			char name[FAIRLEAD_POOL_NAME_MAX + 1])
{
	for (size_t i = 0; i <= FAIRLEAD_POOL_NAME_MAX; i++)
		name[i] = (char)toupper((unsigned char)pool->name[i]);
}

/* "failed to reserve 2 VNIs (1 available)" */
static void shortage_format(const struct pool *pool, uint32_t count,
			    uint32_t available, struct fairlead_error *error)
{
	char name[FAIRLEAD_POOL_NAME_MAX + 1];

	name_format(pool, name);
	error_set(error, -EAGAIN, "failed to reserve %u %s%s (%u available)",
		  count, name, count == 1 ? "" : "s", available);
}

/* "failed to reserve a run of 8 CONTEXTs (the longest free one has 3)" */
static int run_check(struct core *core, struct attempt *attempt, size_t i)
{
	const struct fairlead_run *run = &attempt->plan.runs[i];
	const struct pool *pool = &attempt->interconnect->pools[i];
	char name[FAIRLEAD_POOL_NAME_MAX + 1];
	uint32_t first;

	assert(pool->runs != NULL && run->low <= run->high &&
	       run->high < pool->runs->positions);
	if (core->recovery == 0 && pool_run_find(pool, run, &first))
		return 0;
	name_format(pool, name);
	return error_set(&attempt->error, -EAGAIN,
			 "failed to reserve a run of %u %s%s (the longest free "
			 "one has %u)",
			 run->length, name, run->length == 1 ? "" : "s",
			 core->recovery > 0 ? 0 : pool_run_longest(pool, run));
}

static int pools_check(struct core *core, struct attempt *attempt)
{
	struct interconnect *ic = attempt->interconnect;
	uint32_t sum = 0;

	attempt->edge = EDGE_ERROR_RESERVE_EAGAIN;
	attempt->hint = core->recovery > 0
				? "a recovery is under way: see `fairlead "
				  "status` for the nodes that are awaited"
				: "try again when other jobs have ended";
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		uint32_t count = attempt->plan.counts[i];
		uint32_t available;

		if (attempt->plan.runs[i].length > 0) {
			sum += 2;
			assert(i < ic->pool_count && count == 0 &&
			       sum <= FAIRLEAD_LANE_IDS_MAX);
			if (run_check(core, attempt, i) < 0)
				return -EAGAIN;
			continue;
		}
		if (count == 0)
			continue;
		sum += count;
		assert(i < ic->pool_count && ic->pools[i].runs == NULL &&
		       sum <= FAIRLEAD_LANE_IDS_MAX);
		available =
			core->recovery > 0 ? 0 : pool_available(&ic->pools[i]);
		if (available >= count)
			continue;
		shortage_format(&ic->pools[i], count, available,
				&attempt->error);
		return -EAGAIN;
	}
	return 0;
}

/* The pools have not enough, but the job may go on without. */
static void plan_empty(struct core *core, struct attempt *attempt)
{
	struct fairlead_plan *plan = &attempt->plan;

	memset(plan->counts, 0, sizeof(plan->counts));
	memset(plan->runs, 0, sizeof(plan->runs));
	plan->secret_size = 0;
	plan->outside[0] = '\0';
	plan->has_lane = false;
	text_fit(plan->reason, sizeof(plan->reason), attempt->error.text);
	core_hit(core, EDGE_RESERVE_EMPTY);
}

static void run_take(struct attempt *attempt, size_t i)
{
	const struct fairlead_run *run = &attempt->plan.runs[i];
	struct job *job = attempt->job;

	if (job->runs == NULL)
		job->runs =
			memory_array(FAIRLEAD_POOLS_MAX, sizeof(*job->runs));
	job->runs[i] = *run;
	pool_run_take(&attempt->interconnect->pools[i], run,
		      job->ids + job->id_count);
	job->id_counts[i] = 2;
	job->id_count += 2;
}

static void ids_take(struct core *core, struct attempt *attempt)
{
	struct job *job = attempt->job;

	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		struct pool *pool = &attempt->interconnect->pools[i];
		uint32_t count = attempt->plan.counts[i];

		if (attempt->plan.runs[i].length > 0)
			run_take(attempt, i);
		if (count == 0)
			continue;
		pool_take(pool, count, job->ids + job->id_count);
		job->id_counts[i] = (uint8_t)count;
		job->id_count = (uint8_t)(job->id_count + count);
		core_store_cursor(core, pool);
	}
}

static void request_event(struct core *core, const struct attempt *attempt)
{
	const struct request *request = attempt->request;
	struct event event;

	event_begin(&event, core, "request");
	event_text(&event, "key", request->key_text);
	event_number(&event, "grant_id", attempt->job->grant_id);
	event_number(&event, "uid", request->uid);
	event_text(&event, "nodes", request->nodes_text);
	event_text(&event, "interconnect", request->interconnect);
	event_text(&event, "options", request->options);
	event_store(&event, core, attempt->job);
}

static void grant_id_give(struct core *core, struct job *job)
{
	job->grant_id = core->next_grant_id++;
	core_store_meta(core, "next_grant_id", core->next_grant_id);
}

static void refuse(struct core *core, struct attempt *attempt, uint64_t token)
{
	struct event event;

	grant_id_give(core, attempt->job);
	request_event(core, attempt);
	event_exception(core, attempt->job, EVENT_SEVERITY_FATAL,
			attempt->error.text);
	event_begin(&event, core, "release");
	event_text(&event, "reason", job_reason_name(REASON_RESERVE_FAILED));
	event_store(&event, core, attempt->job);
	core_store_trace(core, attempt->job);
	core->metrics.failed[METRICS_RESERVE]++;
	core_reply_error(core, token, attempt->edge, attempt->error.code,
			 attempt->hint, "%s", attempt->error.text);
}

/* The attempt's job is the core's from now on. */
static void accept(struct core *core, struct attempt *attempt, uint64_t token)
{
	struct job *job = attempt->job;
	const char *name;
	char *context;
	struct event event;

	ids_take(core, attempt);
	grant_id_give(core, job);
	job->has_lane = attempt->plan.has_lane;
	if (attempt->plan.secret_size > 0)
		core_secret_draw(core, job, attempt->plan.secret_size);
	free(job->options);
	job->options = memory_text(attempt->plan.options);
	free(job->empty_reason);
	job->empty_reason = memory_text(attempt->plan.reason);
	core_job_add(core, job);
	core_hit(core, EDGE_JOB_RESERVE);
	core_store_job(core, job);
	request_event(core, attempt);
	core_describe(core, job, job->empty_reason, &name, &context);
	event_begin(&event, core, name);
	event_context(&event, context);
	event_store(&event, core, job);
	core->metrics.done[METRICS_RESERVE]++;
	if (attempt->plan.outside[0] != '\0')
		core_outside_want(core, job, &attempt->plan);
	/* The grant could not be delivered, so release it. */
	if (!core_grant_answer(core, job, attempt->request->nodes_text, context,
			       token))
		core_release_begin(core, job, REASON_RESERVE_FAILED);
	free(context);
}

static int decide(struct core *core, struct attempt *attempt)
{
	int result = nodes_resolve(core, attempt);

	if (result == 0)
		result = plan_make(attempt);
	if (result < 0)
		return result;
	result = pools_check(core, attempt);
	if (result < 0 && !attempt->plan.is_fatal) {
		plan_empty(core, attempt);
		result = 0;
	}
	return result;
}

void core_reserve(struct core *core, const struct core_caller *caller,
		  const struct request *request, uint64_t token)
{
	struct attempt attempt = { .request = request };
	uint8_t driver =
		interconnect_find(&core->interconnects, request->interconnect);

	if (!core_may_act(caller, request->key_text)) {
		core_reply_error(core, token, EDGE_ERROR_RESERVE_EPERM, -EPERM,
				 "see `submitter` in the configuration",
				 "not permitted to reserve for '%s'",
				 request->key.submitter);
		return;
	}
	if (is_known(core, request, token) || is_full(core, request, token))
		return;
	if (driver == DRIVER_NONE) {
		core_reply_error(core, token, EDGE_ERROR_RESERVE_EINVAL,
				 -EINVAL, "see `driver` in the configuration",
				 "interconnect '%s' is not turned on",
				 request->interconnect);
		return;
	}
	attempt.interconnect = &core->interconnects.list[driver];
	attempt.job = job_of(core, request, driver);
	if (decide(core, &attempt) == 0) {
		accept(core, &attempt, token);
		return;
	}
	refuse(core, &attempt, token);
	job_destroy(attempt.job);
}
