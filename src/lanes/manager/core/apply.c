/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * All nodes or none. An APPLY goes to all nodes of the job in one fan-out, and
 * only if all of them are up, and the driver can make members of their places.
 * When it is over either every node has the lane, or it is taken back from all
 * of them and there is one answer that names each node that failed and why; it
 * is given when that undo is over.
 *
 * A part counts as applied when the node answered in the incarnation in which
 * it was asked. Whoever calls while an apply is under way gets its answer; who
 * calls after it, whether the lane is still there.
 */
#include <assert.h>
#include <stdio.h>

#include "base/text.h"
#include "lanes/manager/core/out.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

#define REBOOTED "the node was rebooted while the lane was applied"
#define LOST_MAX 3 /* applies in a row, as the text says; then the node fails */

static struct apply_run *run_of(struct job *job)
{
	if (job->apply_run == NULL)
		job->apply_run = memory_array(1, sizeof(*job->apply_run));
	return job->apply_run;
}

void core_apply_run_destroy(struct apply_run *run)
{
	if (run == NULL)
		return;
	groups_fini(&run->failures);
	groups_fini(&run->warnings);
	free(run->members);
	free(run->text);
	free(run->tokens);
	free(run);
}

/* Set the answer of waiting requests; the first one counts. */
static void result_set(struct apply_run *run, enum edge edge, int code,
		       const char *text)
{
	if (run->result < 0)
		return;
	run->edge = edge;
	run->result = code;
	run->text = memory_text_or_null(text);
}

void core_apply_end(struct core *core, struct apply_run *run_owned)
{
	if (run_owned == NULL)
		return;
	result_set(run_owned, EDGE_ERROR_APPLY_ECANCELED, -ECANCELED,
		   "the grant was released");
	for (size_t i = 0; i < run_owned->token_count; i++) {
		core_hit(core, run_owned->edge);
		core_reply_failed(core, run_owned->tokens[i], run_owned->result,
				  "see `fairlead eventlog`", run_owned->text,
				  run_owned->members);
	}
	core->metrics.failed[METRICS_APPLY]++;
	core_apply_run_destroy(run_owned);
}

static void succeed(struct core *core, struct job *job)
{
	struct apply_run *run = run_of(job);
	struct groups *warnings = &run->warnings;
	_auto_(freep) char *list = NULL;
	_auto_(freep) char *members = NULL;
	struct event event;

	core_job_set_state(core, job, JOB_ACTIVE);
	core_store_job(core, job);
	event_begin(&event, core, "applied");
	if (warnings->count > 0) {
		list = groups_json(warnings, &core->nodes, false);
		event_json(&event, "warnings", list);
	}
	if (warnings->more > 0)
		event_number(&event, "more", warnings->more);
	event_store(&event, core, job);
	members = list == NULL ? memory_text("{}")
			       : memory_format("{\"warnings\":%s}", list);
	for (size_t i = 0; i < run->token_count; i++)
		core_reply_done(core, run->tokens[i], members);
	core->metrics.done[METRICS_APPLY]++;
	job->apply_run = NULL;
	core_apply_run_destroy(run);
}

/* The nodes in `failures` have failed: report them, and undo. */
static void fail(struct core *core, struct job *job, enum edge edge, int code)
{
	struct groups *failures = &run_of(job)->failures;
	char text[FAIRLEAD_ERROR_TEXT_MAX];
	_auto_(freep) char *list = NULL;
	int used = snprintf(text, sizeof(text),
			    "failed on %zu of %u nodes: ", failures->node_count,
			    job->part_count);

	groups_format(failures, &core->nodes, text + used,
		      sizeof(text) - (size_t)used);
	result_set(job->apply_run, edge, code, text);
	list = groups_json(failures, &core->nodes, true);
	job->apply_run->members =
		failures->more == 0
			? memory_format("{\"failures\":%s}", list)
			: memory_format("{\"failures\":%s,\"more\":%zu}", list,
					failures->more);
	event_exception(core, job, EVENT_SEVERITY_FATAL, text);
	core_release_begin(core, job, REASON_APPLY_FAILED);
}

/* The driver cannot make members, or secrets: report it, and undo. */
static void refuse(struct core *core, struct job *job,
		   const struct fairlead_error *error)
{
	result_set(run_of(job), EDGE_ERROR_APPLY_MEMBERS, error->code,
		   error->text);
	event_exception(core, job, EVENT_SEVERITY_FATAL, error->text);
	core_release_begin(core, job, REASON_APPLY_FAILED);
}

static void ask_nodes(struct core *core, struct job *job,
		      const struct core_members *members,
		      const struct writer *sealed)
{
	struct event event;

	for (uint32_t i = 0; i < job->part_count; i++) {
		struct part *part = &job->parts[i];
		const struct node *node = nodes_at(&core->nodes, part->node);

		assert(node->serial > 0 && node->serial <= JOB_SERIAL_MAX);
		part->serial = node->serial & JOB_SERIAL_MAX;
		part_set_state(job, part, PART_APPLYING, &core->probe);
	}
	core_job_set_state(core, job, JOB_APPLYING);
	core_store_job(core, job);
	event_begin(&event, core, "apply");
	event_number(&event, "nodes", job->part_count);
	event_store(&event, core, job);
	core_fanout_apply(core, job, members, sealed);
}

/* False: its external reservation is awaited, or refused, so that it fails. */
static bool is_outside_settled(struct core *core, struct job *job)
{
	const struct outside_item *item = core_outside_find(core, job);
	struct fairlead_error error;
	char text[OUTSIDE_REASON_MAX + 64];

	if (item == NULL || item->state == OUTSIDE_HELD)
		return true;
	if (item->state == OUTSIDE_WANTED) {
		run_of(job)->is_gated = true;
		return false;
	}
	snprintf(text, sizeof(text), "no external reservation: %s",
		 item->reason);
	if (item->is_fatal) {
		error_set(&error, -EAGAIN, "%s", text);
		refuse(core, job, &error);
		return false;
	}
	for (uint32_t i = 0; i < job->part_count; i++)
		groups_add(&run_of(job)->warnings, 0, text, job->parts[i].node);
	return true;
}

static void begin(struct core *core, struct job *job)
{
	struct apply_run *run = run_of(job);
	struct writer sealed = { 0 };
	struct core_members members;
	struct fairlead_error error;

	if (!is_outside_settled(core, job))
		return;
	run->started_ms = core_now_ms(core);
	if (!job->has_lane) {
		succeed(core, job);
		return;
	}
	for (uint32_t i = 0; i < job->part_count; i++) {
		uint32_t index = job->parts[i].node;

		if (nodes_at(&core->nodes, index)->state != NODE_UP)
			groups_add(&run->failures, -EHOSTUNREACH,
				   "not connected", index);
	}
	if (run->failures.count > 0) {
		fail(core, job, EDGE_ERROR_APPLY_EHOSTUNREACH, -EHOSTUNREACH);
		return;
	}
	if (core_members_assemble(core, job, &members, &error) < 0) {
		refuse(core, job, &error);
		return;
	}
	if (core_secret_seal(core, job, core_outside_find(core, job), &sealed,
			     &error) < 0)
		refuse(core, job, &error);
	else
		ask_nodes(core, job, &members, &sealed);
	writer_fini(&sealed);
	free(members.bytes);
}

void core_apply_go_on(struct core *core, struct job *job)
{
	if (job->state != JOB_RESERVED || job->apply_run == NULL ||
	    !job->apply_run->is_gated)
		return;
	job->apply_run->is_gated = false;
	begin(core, job);
}

/* --- the end of the fan-out --- */

/* It has registered since the apply began: its daemon, or it, is another. */
static bool is_restarted(const struct node *node, const struct apply_run *run)
{
	return node->state == NODE_UP && run->started_ms > 0 &&
	       node->registered_ms > run->started_ms;
}

/* Why the lane is not there although the node is well; NULL: it is not so. */
static const char *why_lost(const struct part *part, const struct node *node,
			    const struct apply_run *run,
			    const struct core_answer *answer)
{
	if (answer->result == -ESTALE ||
	    (answer->result == -EHOSTUNREACH && is_restarted(node, run)))
		return answer->text;
	if (answer->result < 0)
		return NULL;
	if (part->state != PART_APPLYING)
		return "the lane was taken back while it was applied";
	if (part->serial != node->serial || !node_is(node, answer->incarnation))
		return REBOOTED;
	return NULL;
}

/*
 * A node that took the lane back while it made it, or that has restarted: that
 * is no fault of the node, unless it restarts each time.
 */
static void lane_lost(struct core *core, struct job *job, uint32_t index,
		      const char *why)
{
	struct apply_run *run = run_of(job);
	struct node *node = nodes_at(&core->nodes, index);
	bool is_counted = is_restarted(node, run);

	if (is_counted && node->lost_ms != node->registered_ms) {
		node->lost_ms = node->registered_ms;
		node->lost_count++;
	}
	if (!is_counted || node->lost_count < LOST_MAX)
		groups_add(&run->failures, -ESTALE, why, index);
	else
		groups_add(&run->failures, -ECONNRESET,
			   "the node restarted during three applies; see its "
			   "log",
			   index);
}

/* Group warnings per line: nodes share single lines more often than whole texts. */
static void warnings_add(struct apply_run *run, const char *text, uint32_t node)
{
	const char *rest = text == NULL ? "" : text;
	const char *line;
	size_t size;

	while ((line = text_line(&rest, &size)) != NULL) {
		char *copy = memory_have(strndup(line, size));

		groups_add(&run->warnings, 0, copy, node);
		free(copy);
	}
}

static void answers_take(struct core *core, struct job *job,
			 const struct core_answer *answers, size_t count)
{
	struct apply_run *run = run_of(job);
	_auto_(freep) bool *has_answer =
		memory_array(job->part_count, sizeof(*has_answer));

	core_part_index_set(core, job);
	for (size_t i = 0; i < count; i++) {
		const struct core_answer *answer = &answers[i];
		struct part *part =
			core_part_index_find(core, job, answer->node);
		struct node *node;
		const char *why;

		if (part == NULL || has_answer[part - job->parts])
			continue;
		has_answer[part - job->parts] = true;
		node = nodes_at(&core->nodes, part->node);
		why = why_lost(part, node, run, answer);
		if (why != NULL) {
			lane_lost(core, job, part->node, why);
		} else if (answer->result < 0) {
			groups_add(&run->failures, answer->result, answer->text,
				   part->node);
		} else {
			node->lost_count = 0;
			warnings_add(run, answer->text, part->node);
		}
	}
	core_part_index_clear(core, job);
	for (uint32_t i = 0; i < job->part_count; i++)
		if (!has_answer[i])
			groups_add(&run->failures, -ETIMEDOUT,
				   "no answer in time", job->parts[i].node);
}

void core_apply_done(struct core *core, struct job *job,
		     const struct core_answer *answers, size_t count)
{
	struct apply_run *run = run_of(job);

	/* Nothing ends an apply but the end of its fan-out. */
	assert(job->state == JOB_APPLYING);
	answers_take(core, job, answers, count);
	histogram_add(&core->metrics.apply_ms,
		      core_now_ms(core) - run->started_ms);
	if (run->failures.count > 0) {
		fail(core, job, EDGE_ERROR_APPLY_EREMOTEIO, -EREMOTEIO);
		return;
	}
	for (uint32_t i = 0; i < job->part_count; i++)
		part_set_state(job, &job->parts[i], PART_APPLIED, &core->probe);
	if (run->release_reason == REASON_NONE)
		succeed(core, job);
	else
		core_release_begin(core, job, run->release_reason);
}

void core_apply_cancel(struct job *job, enum job_reason reason)
{
	assert(job->state == JOB_APPLYING);
	if (run_of(job)->release_reason == REASON_NONE)
		job->apply_run->release_reason = reason;
}

/* A registration showed that the node has lost the lane. */
void core_apply_reset(struct core *core, struct job *job,
		      const struct part *part)
{
	assert(job->state == JOB_APPLYING);
	lane_lost(core, job, part->node, REBOOTED);
}

/* --- the request --- */

static void wait(struct core *core, struct job *job, uint64_t token)
{
	struct apply_run *run = run_of(job);

	if (run->token_count == CORE_WAITERS_MAX) {
		core_reply_error(core, token, EDGE_LIMIT_APPLY, -ENOBUFS, NULL,
				 "%d callers wait for this apply, which is "
				 "the maximum",
				 CORE_WAITERS_MAX);
		return;
	}
	run->tokens = memory_resize(run->tokens, run->token_count + 1,
				    sizeof(*run->tokens));
	run->tokens[run->token_count++] = token;
}

static void refuse_unknown(struct core *core, uint64_t grant_id, uint64_t token)
{
	if (tombstones_find_id(&core->tombstones, grant_id) != NULL)
		core_reply_error(core, token, EDGE_ERROR_APPLY_ESTALE, -ESTALE,
				 "see `fairlead eventlog`",
				 "the grant was released");
	else
		core_reply_error(core, token, EDGE_ERROR_APPLY_ENOENT, -ENOENT,
				 NULL, "no such grant");
}

/* It was applied; is it so still, on every node? */
static void repeat(struct core *core, const struct job *job, uint64_t token)
{
	_auto_(freep) char *nodes =
		job->has_lane ? core_nodes_text(core, job, CORE_NODES_UNAPPLIED)
			      : NULL;

	if (nodes == NULL) {
		core_hit(core, EDGE_APPLY_REPEAT);
		core_reply_done(core, token, "{}");
		return;
	}
	core_reply_error(core, token, EDGE_ERROR_APPLY_ESTALE, -ESTALE,
			 "release the grant, and reserve again",
			 "the lane was applied, and is gone from %s", nodes);
}

void core_apply(struct core *core, const struct core_caller *caller,
		uint64_t grant_id, uint64_t token)
{
	struct job *job = jobs_find(&core->jobs, grant_id);
	bool is_first;

	if (job == NULL) {
		refuse_unknown(core, grant_id, token);
	} else if (!core_may_act(caller, job->key)) {
		core_reply_error(core, token, EDGE_ERROR_APPLY_EPERM, -EPERM,
				 NULL, "not permitted to apply this grant");
	} else if (job->state == JOB_ACTIVE) {
		repeat(core, job, token);
	} else if (job->state > JOB_ACTIVE) {
		core_reply_error(core, token, EDGE_ERROR_APPLY_ESTALE, -ESTALE,
				 "see `fairlead eventlog`",
				 "the grant was released (%s)",
				 job_reason_name(job->reason));
	} else {
		is_first = job->state == JOB_RESERVED && job->apply_run == NULL;
		wait(core, job, token);
		if (is_first)
			begin(core, job);
		else
			core_hit(core, EDGE_APPLY_JOIN);
	}
}
