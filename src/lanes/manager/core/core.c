/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The life of a core: making and ending it, its begin, the passing of time.
 *
 * What a crash has interrupted is gone on with: a reservation stays, an active
 * lane stays, an apply is undone (nobody can tell any more who has answered),
 * a release goes on. That is done step by step, a number of jobs at each tick,
 * so that one commit can hold what each step causes; until its turn a job
 * looks as if its fan-out were still under way.
 *
 * Recovery: the journal may be older than the world. Grant ids jump over all
 * that may have been given since, and every identifier counts as used until
 * each configured node has said what it holds, or was waived by name. They
 * jump by the epoch, which no other recovery has had, so that two recoveries
 * from one backup do not meet. A recovery goes by the epoch in which it began;
 * a node that has reported remembers it, so that a restart in the middle
 * awaits only the others. It may have been cut short before a row of the core
 * was on disk, with nothing but the store's note that it has begun: so each
 * restart jumps again.
 */
#include "lanes/manager/core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <utlist.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"

int core_create(const struct core_config *config, const struct core_ops *ops,
		void *ops_ctx, const struct clock_seam *clock,
		const struct rng_seam *rng, const struct log *log,
		struct core **ret_core, struct fairlead_error *ret_error)
{
	struct core *core = memory_array(1, sizeof(*core));
	struct fairlead_error error;
	struct config_plan plan;
	int result;

	core->ops = ops;
	core->ops_ctx = ops_ctx;
	core->clock = clock;
	core->rng = rng;
	core->log = log;
	core->next_grant_id = 1;
	core->retry_at_ms = DEADLINE_NONE;
	core->grace_at_ms = DEADLINE_NONE;
	core->reports_at_ms = DEADLINE_NONE;
	core->notify_at_ms = DEADLINE_NONE;
	core_outside_init(core);
	nodes_init(&core->nodes);
	jobs_init(&core->jobs);
	tombstones_init(&core->tombstones, CORE_TOMBSTONES_MAX,
			config->events_keep);
	result = config_plan(core, config, &plan, &error);
	if (result == 0) {
		config_take(core, config, &plan);
		core->configured_nodes = take_ptr(plan.nodes);
		*ret_core = take_ptr(core);
	} else if (ret_error != NULL) {
		*ret_error = error;
	}
	config_plan_fini(&plan);
	core_destroy(core);
	return result;
}

static void runs_free(struct core *core)
{
	struct release_wait *wait, *next_wait;
	struct job *job, *next;

	HASH_ITER (hh, core->jobs.by_id, job, next) {
		core_apply_run_destroy(job->apply_run);
		core_release_run_destroy(job->release_run);
	}
	DL_FOREACH_SAFE (core->release_waits, wait, next_wait)
		core_release_wait_destroy(core, wait);
}

static void lists_free(struct core *core)
{
	struct fanout_entry *fanout, *next_fanout;
	struct trace *trace, *next_trace;
	struct core_cursor *cursor, *next_cursor;

	HASH_ITER (hh, core->fanouts, fanout, next_fanout) {
		HASH_DEL(core->fanouts, fanout);
		free(fanout);
	}
	DL_FOREACH_SAFE (core->cursors, cursor, next_cursor)
		free(cursor);
	DL_FOREACH_SAFE (core->traces, trace, next_trace) {
		free(trace->key);
		free(trace);
	}
}

void core_destroy(struct core *core)
{
	if (core == NULL)
		return;
	runs_free(core);
	lists_free(core);
	core_loaded_free(core);
	core_outside_fini(core);
	jobs_fini(&core->jobs);
	nodes_fini(&core->nodes);
	tombstones_fini(&core->tombstones);
	drivers_fini(&core->interconnects);
	hostlist_destroy(core->configured_nodes);
	writer_fini(&core->scratch);
	free(core->part_numbers);
	free(core->resume);
	free(core);
}

const char *const *core_edges(void)
{
	return edge_texts;
}

void core_set_probe(struct core *core,
		    void (*probe)(void *ctx, const char *edge), void *ctx)
{
	core->probe.hit = probe;
	core->probe.ctx = ctx;
}

#define RESUME_STEP 512       /* jobs */
#define EPOCH_MAX   INT32_MAX /* events are numbered by epoch * 2^32 */

/* --- what was interrupted --- */

static bool is_interrupted(const struct job *job)
{
	return job->state == JOB_APPLYING || job->state == JOB_RELEASING;
}

static void job_resume(struct core *core, struct job *job)
{
	if (job->state == JOB_APPLYING) {
		event_exception(core, job, EVENT_SEVERITY_FATAL,
				"the manager was restarted while the lane was "
				"applied");
		core_release_begin(core, job, REASON_APPLY_FAILED);
	} else {
		core_release_ask(core, job);
	}
}

static void resume(struct core *core)
{
	struct job *job;

	for (size_t n = 0;
	     n < RESUME_STEP && core->resume_next < core->resume_count;
	     core->resume_next++) {
		job = jobs_find(&core->jobs, core->resume[core->resume_next]);
		if (job == NULL || !is_interrupted(job))
			continue;
		job_resume(core, job);
		n++;
	}
}

static void resume_collect(struct core *core)
{
	struct job *job, *next;

	core->resume = memory_array(core->jobs.count, sizeof(*core->resume));
	HASH_ITER (hh, core->jobs.by_id, job, next)
		if (is_interrupted(job))
			core->resume[core->resume_count++] = job->grant_id;
}

/* --- the begin --- */

int core_start(struct core *core, uint64_t epoch, bool is_recovery,
	       struct fairlead_error *ret_error)
{
	int result;

	if (epoch == 0 || epoch > EPOCH_MAX)
		return error_set(ret_error, -EBADMSG,
				 "epoch %" PRIu64 " is out of range", epoch);
	core->epoch = epoch;
	/* An answer to an earlier core is for none of these. */
	core->next_fanout_id = epoch << 32 | 1;
	result = core_loaded(core, ret_error);
	if (result == 0 && core->secret_error.code != 0 && !is_recovery)
		result = error_set(ret_error, core->secret_error.code, "%s",
				   core->secret_error.text);
	if (result == 0)
		result = config_nodes_start(core, core->configured_nodes,
					    ret_error);
	if (result < 0)
		return result;
	hostlist_destroy(take_ptr(core->configured_nodes));
	nodes_foreach(node, &core->nodes) core_reports_attach(core, node);
	core->is_started = true;
	core->started_ms = core_now_ms(core);
	if (is_recovery)
		core_recovery_begin(core);
	else
		core_recovery_resume(core);
	core_notify_resume(core);
	core_outside_start(core);
	resume_collect(core);
	resume(core);
	return 0;
}

/* --- time --- */

uint64_t core_deadline_ms(const struct core *core)
{
	uint64_t retry_ms = core_retry_deadline_ms(core);
	uint64_t first_ms = core->notify_at_ms;

	if (core->grace_at_ms < first_ms)
		first_ms = core->grace_at_ms;
	if (core->resume_next < core->resume_count)
		return 0;
	if (core_outside_deadline_ms(core) < first_ms)
		first_ms = core_outside_deadline_ms(core);
	return retry_ms < first_ms ? retry_ms : first_ms;
}

void core_tick(struct core *core)
{
	uint64_t now_ms = core_now_ms(core);

	resume(core);
	core_grace_tick(core, now_ms);
	core_retry_tick(core, now_ms);
	core_notify_tick(core, now_ms);
	core_outside_tick(core, now_ms);
}

/* --- recovery --- */

#define GRANT_ID_STEP (1ull << 32)

static bool core_is_awaited(const struct core *core, const struct node *node)
{
	return core->recovery > 0 && node->is_configured &&
	       node->accounted != core->recovery;
}

void core_recovery_settle(struct core *core)
{
	if (core->recovery == 0)
		return;
	nodes_foreach(node,
		      &core->nodes) if (core_is_awaited(core, node)) return;
	core->recovery = 0;
	core_hit(core, EDGE_RECOVERY_END);
	core_store_meta(core, "recovering", 0);
}

static void ids_jump(struct core *core)
{
	core->next_grant_id =
		(core->next_grant_id / GRANT_ID_STEP + 1) * GRANT_ID_STEP;
	if (core->next_grant_id < core->epoch * GRANT_ID_STEP)
		core->next_grant_id = core->epoch * GRANT_ID_STEP;
	core_store_meta(core, "next_grant_id", core->next_grant_id);
}

void core_recovery_begin(struct core *core)
{
	core->recovery = core->epoch;
	core_hit(core, EDGE_RECOVERY_BEGIN);
	core_store_meta(core, "recovering", core->recovery);
	ids_jump(core);
	core_recovery_settle(core);
}

void core_recovery_resume(struct core *core)
{
	if (core->recovery == 0)
		return;
	ids_jump(core);
	core_recovery_settle(core);
}

void core_account(struct core *core, struct node *node)
{
	/* One that is leaving is not awaited, but may come back before. */
	if (core->recovery == 0 || node->accounted == core->recovery)
		return;
	node->accounted = core->recovery;
	core_recovery_settle(core);
}

static char *awaited_text(const struct core *core)
{
	const char **names = memory_array(core->nodes.count, sizeof(*names));
	size_t count = 0;
	char *text;

	nodes_foreach(node, &core->nodes) if (core_is_awaited(core, node))
		names[count++] = node->name;
	text = memory_have(hostlist_format(names, count));
	free(names);
	return text;
}

bool core_is_recovering(const struct core *core, char **ret_awaited)
{
	if (core->recovery > 0 && ret_awaited != NULL)
		*ret_awaited = awaited_text(core);
	return core->recovery > 0;
}

void core_recover_waive(struct core *core, const struct core_operator *by,
			const char *text, uint64_t token)
{
	_auto_(freep) struct node **nodes = NULL;
	_auto_(freep) char *awaited = NULL;
	_auto_(freep) char *members = NULL;
	bool was_recovering = core->recovery > 0;
	size_t count, touched = 0, configured = 0;

	if (!core_nodes_named(core, text, token, &nodes, &count))
		return;
	for (size_t i = 0; i < count; i++)
		touched += core_is_awaited(core, nodes[i]);
	nodes_foreach(node, &core->nodes) configured += node->is_configured;
	if (!core_operator_check(core, by, touched, configured, "nodes", token))
		return;
	for (size_t i = 0; i < count; i++) {
		if (!core_is_awaited(core, nodes[i]))
			continue;
		nodes[i]->accounted = core->recovery;
		core_store_node(core, nodes[i]);
	}
	core_recovery_settle(core);
	awaited = awaited_text(core);
	members = core_json_text(json_pack("{s:s, s:b}", "awaited", awaited,
					   "was_recovering", was_recovering));
	core_reply_done(core, token, members);
}
