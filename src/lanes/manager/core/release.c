/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Taking a lane back. The nodes that are up get a REVOKE and have a short time
 * for it; then the job is over for its job manager, whatever they said. Its
 * identifiers are free at once if every node that may hold something has
 * confirmed, and in quarantine otherwise.
 *
 * A release while an apply is under way waits for its end: only then is it
 * known who has to be asked.
 */
#include <assert.h>
#include <stdio.h>
#include <utlist.h>

#include "base/json_text.h"
#include "lanes/manager/core/out.h"
#include "base/text.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

static struct release_run *run_of(struct job *job)
{
	if (job->release_run == NULL)
		job->release_run = memory_array(1, sizeof(*job->release_run));
	return job->release_run;
}

void core_release_wait_destroy(struct core *core, struct release_wait *wait)
{
	DL_DELETE(core->release_waits, wait);
	for (size_t i = 0; i < wait->grant_count; i++)
		free(wait->grants[i]);
	free(wait->grants);
	free(wait);
}

void core_release_run_destroy(struct release_run *run)
{
	if (run == NULL)
		return;
	groups_fini(&run->busy);
	free(run->waits);
	free(run);
}

static void answer(struct core *core, uint64_t token, char *const *grants,
		   size_t count)
{
	struct json_text text = { 0 };
	char *members;

	json_text_begin(&text);
	json_text_raws(&text, "grants", (const char *const *)grants, count);
	json_text_end(&text);
	members = memory_have(json_text_take(&text));
	core_reply_done(core, token, members);
	free(members);
}

static void wait_end(struct core *core, struct release_wait *wait, size_t slot,
		     const char *item)
{
	assert(wait->left > 0);
	wait->grants[slot] = memory_text(item);
	if (--wait->left > 0)
		return;
	core->metrics.done[METRICS_RELEASE]++;
	answer(core, wait->token, wait->grants, wait->grant_count);
	core_release_wait_destroy(core, wait);
}

/* {grant_id, quarantined, nodes, why}: the rest of the grant, if any. */
static char *item_make(uint64_t grant_id, const char *ids, const char *nodes,
		       const char *why)
{
	struct json_text text = { 0 };

	json_text_begin(&text);
	json_text_number(&text, "grant_id", grant_id);
	if (ids != NULL) {
		json_text_raw(&text, "quarantined", ids);
		json_text_string(&text, "nodes", nodes);
	}
	if (ids != NULL && why != NULL)
		json_text_string(&text, "why", why);
	json_text_end(&text);
	return memory_have(json_text_take(&text));
}

static char *item_of(struct core *core, const struct job *job)
{
	_auto_(freep) char *ids = NULL;
	_auto_(freep) char *nodes = NULL;

	if (job->unconfirmed_count > 0) {
		ids = core_json_text(core_ids_json(core, job));
		nodes = core_nodes_text(core, job, CORE_NODES_UNCONFIRMED);
	}
	return item_make(job->grant_id, ids, nodes, job->why);
}

static void run_end(struct core *core, struct release_run *run_owned,
		    const char *item)
{
	for (size_t i = 0; i < run_owned->wait_count; i++)
		wait_end(core, run_owned->waits[i].wait_ref,
			 run_owned->waits[i].slot, item);
	core_release_run_destroy(run_owned);
}

/* All but to ask the nodes. */
static void begin(struct core *core, struct job *job, enum job_reason reason)
{
	struct event event;

	assert(reason != REASON_NONE);
	job->reason = (uint8_t)reason;
	for (uint32_t i = 0; i < job->part_count; i++)
		if (part_is_unconfirmed(&job->parts[i]) &&
		    job->parts[i].state != PART_REVOKING)
			part_set_state(job, &job->parts[i], PART_REVOKING,
				       &core->probe);
	core_job_set_state(core, job, JOB_RELEASING);
	event_begin(&event, core, "release");
	event_text(&event, "reason", job_reason_name(reason));
	event_store(&event, core, job);
	if (job->unconfirmed_count > 0)
		core_store_job(core, job);
}

void core_release_begin(struct core *core, struct job *job,
			enum job_reason reason)
{
	begin(core, job, reason);
	core_release_ask(core, job);
}

void core_release_ask(struct core *core, struct job *job)
{
	core_grace_end(core, job);
	run_of(job)->started_ms = core_now_ms(core);
	if (core_fanout_revoke(core, job, true) == 0)
		core_release_over(core, job);
}

/* --- the end of the quick tries --- */

static void revoked_event(struct core *core, struct job *job,
			  const char *unreachable)
{
	const struct groups *busy = &run_of(job)->busy;
	uint32_t revoked_count = 0;
	struct event event;

	for (uint32_t i = 0; i < job->part_count; i++)
		revoked_count += part_is_gone(&job->parts[i]);
	event_begin(&event, core, "revoked");
	event_number(&event, "nodes", revoked_count);
	if (busy->count > 0) {
		_auto_(freep) char *list =
			groups_json(busy, &core->nodes, false);

		event_json(&event, "busy", list);
	}
	if (busy->more > 0)
		event_number(&event, "more", busy->more);
	if (unreachable != NULL)
		event_text(&event, "unreachable", unreachable);
	event_store(&event, core, job);
}

static char *why_text(const struct core *core, const struct job *job,
		      const char *unreachable)
{
	const struct groups *busy = &job->release_run->busy;
	char text[JOB_WHY_MAX + 1] = "not confirmed";
	char nodes[JOB_WHY_MAX / 2];
	int used = 0;

	if (unreachable != NULL) {
		text_fit(nodes, sizeof(nodes), unreachable);
		used = snprintf(text, sizeof(text), "not reachable: %s%s",
				nodes, busy->count > 0 ? "; " : "");
	}
	if (busy->count > 0)
		groups_format(busy, &core->nodes, text + used,
			      sizeof(text) - (size_t)used);
	return memory_text(text);
}

static bool was_asked(const struct job *job)
{
	for (uint32_t i = 0; i < job->part_count; i++)
		if (job->parts[i].state != PART_PENDING)
			return true;
	return false;
}

static void revoke_end(struct core *core, struct job *job)
{
	_auto_(freep) char *unreachable =
		core_nodes_text(core, job, CORE_NODES_UNREACHABLE);

	revoked_event(core, job, unreachable);
	if (job->unconfirmed_count > 0)
		job->why = why_text(core, job, unreachable);
	histogram_add(&core->metrics.revoke_ms,
		      core_now_ms(core) - run_of(job)->started_ms);
}

void core_release_over(struct core *core, struct job *job)
{
	struct apply_run *apply_run = take_ptr(job->apply_run);
	struct release_run *release_run;
	bool has_failed = job->reason == REASON_APPLY_FAILED ||
			  job->reason == REASON_RESERVE_FAILED;
	char *item;

	if (was_asked(job))
		revoke_end(core, job);
	core_job_set_state(core, job, has_failed ? JOB_FAILED : JOB_RELEASED);
	core_outside_release(core, job);
	release_run = take_ptr(job->release_run);
	item = item_of(core, job);
	if (job->unconfirmed_count > 0)
		core_quarantine_enter(core, job);
	if (!core_settle(core, job))
		core_store_job(core, job);
	core_apply_end(core, apply_run);
	run_end(core, release_run, item);
	free(item);
}

/* Nodes have answered that the lane is gone; those already known are left out. */
static void parts_revoked(struct core *core, struct job *job,
			  struct part **parts, size_t count)
{
	size_t unconfirmed_count = 0;

	for (size_t i = 0; i < count; i++) {
		struct node *node = nodes_at(&core->nodes, parts[i]->node);

		core_reports_clear(core, node, job->grant_id);
		if (part_is_unconfirmed(parts[i]))
			parts[unconfirmed_count++] = parts[i];
	}
	if (job->state != JOB_RELEASING && unconfirmed_count > 0) {
		core_parts_confirmed(core, job, parts, unconfirmed_count,
				     CONFIRM_REVOKED, NULL);
		return;
	}
	/* The end of the release has a record and an event of them all. */
	for (size_t i = 0; i < unconfirmed_count; i++) {
		part_set_state(job, parts[i], PART_REVOKED, &core->probe);
		core_hit(core, EDGE_CONFIRM_FANOUT);
	}
	core->metrics.confirmations += unconfirmed_count;
}

/* Sort the answers into successes and failures. */
static void answers_take(struct core *core, struct job *job,
			 const struct core_answer *answers, size_t count,
			 bool is_main)
{
	struct part **revoked = memory_array(count, sizeof(*revoked));
	size_t revoked_count = 0;

	core_part_index_set(core, job);
	for (size_t i = 0; i < count; i++) {
		const struct core_answer *answer = &answers[i];
		struct part *part =
			core_part_index_find(core, job, answer->node);
		const struct node *node;

		if (part == NULL)
			continue;
		node = nodes_at(&core->nodes, part->node);
		if (answer->result == 0 && node_is(node, answer->incarnation))
			revoked[revoked_count++] = part;
		else if (is_main && answer->result < 0 &&
			 node->state == NODE_UP && part_is_unconfirmed(part))
			groups_add(&run_of(job)->busy, answer->result,
				   answer->text, part->node);
	}
	core_part_index_clear(core, job);
	parts_revoked(core, job, revoked, revoked_count);
	free(revoked);
}

/* Undrain nodes that we drained and that have nothing else pending. */
static void drains_settle(struct core *core, const struct core_answer *answers,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct node *node = nodes_find(&core->nodes, answers[i].node);

		if (node != NULL)
			core_drain_settle(core, node);
	}
}

void core_revoke_done(struct core *core, struct job *job,
		      const struct core_answer *answers, size_t count,
		      bool is_main)
{
	answers_take(core, job, answers, count, is_main);
	drains_settle(core, answers, count);
	if (is_main)
		core_release_over(core, job);
	else if (job->state >= JOB_RELEASED)
		core_settle(core, job);
}

bool core_settle(struct core *core, struct job *job)
{
	assert(job->state >= JOB_RELEASED);
	if (job->unconfirmed_count > 0)
		return false;
	core_ids_free(core, job);
	core_store_tombstone(core, job);
	core_job_remove(core, job);
	return true;
}

/* --- the request --- */

/* It is answered with the rest, and goes on by itself. */
static void leave_to_nodes(struct core *core, struct job *job,
			   struct release_wait *wait, size_t slot,
			   enum job_reason reason, uint32_t grace_ms)
{
	_auto_(freep) char *item = NULL;

	if (job->state != JOB_RELEASING) {
		begin(core, job, reason);
		core_grace_begin(core, job, grace_ms);
	}
	item = item_of(core, job);
	wait_end(core, wait, slot, item);
}

static void join_releasing(struct core *core, struct job *job)
{
	core_hit(core, EDGE_RELEASE_JOIN);
	if (!job->is_in_grace)
		return;
	core_hit(core, EDGE_RELEASE_GRACE_JOIN);
	core_release_ask(core, job);
}

static void join(struct core *core, struct job *job, struct release_wait *wait,
		 size_t slot, enum job_reason reason, uint32_t grace_ms)
{
	_auto_(freep) char *item = NULL;
	struct release_run *run;

	if (job->state >= JOB_RELEASED) {
		core_hit(core, EDGE_RELEASE_REPEAT);
		item = item_of(core, job);
		wait_end(core, wait, slot, item);
		return;
	}
	if (grace_ms > 0 && job->unconfirmed_count > 0 &&
	    (job->state == JOB_ACTIVE || job->is_in_grace)) {
		leave_to_nodes(core, job, wait, slot, reason, grace_ms);
		return;
	}
	run = run_of(job);
	run->waits = memory_resize(run->waits, run->wait_count + 1,
				   sizeof(*run->waits));
	run->waits[run->wait_count].wait_ref = wait;
	run->waits[run->wait_count].slot = slot;
	run->wait_count++;
	if (job->state == JOB_RELEASING) {
		join_releasing(core, job);
	} else if (job->state == JOB_APPLYING) {
		core_hit(core, EDGE_RELEASE_APPLYING);
		core_apply_cancel(job, reason);
	} else {
		core_release_begin(core, job, reason);
	}
}

/* None of the selected grants is live. */
static void answer_released(struct core *core, const struct core_caller *caller,
			    const struct core_selector *selector,
			    uint64_t token)
{
	const struct tombstone *tombstone = NULL;
	char *item = NULL;

	if (selector->job == NULL)
		tombstone = core_select_tombstone(core, selector);
	if (selector->job == NULL && tombstone == NULL) {
		core_reply_error(core, token, EDGE_ERROR_RELEASE_ENOENT,
				 -ENOENT, NULL, "no such grant");
	} else if (tombstone != NULL && tombstone->key != NULL &&
		   !core_may_act(caller, tombstone->key)) {
		core_reply_error(core, token, EDGE_ERROR_RELEASE_EPERM, -EPERM,
				 NULL, "not permitted to release this grant");
	} else {
		core_hit(core, EDGE_RELEASE_REPEAT);
		if (tombstone != NULL)
			item = item_make(tombstone->grant_id, NULL, NULL, NULL);
		answer(core, token, &item, item != NULL);
		free(item);
	}
}

/* The grants that are meant, by rising ids; 0: it is answered already. */
static size_t collect(struct core *core, const struct core_caller *caller,
		      const struct core_selector *selector, uint64_t token,
		      uint64_t ids[CORE_JOB_GRANTS_MAX])
{
	const struct job *job = NULL;
	size_t count = 0;

	while ((job = core_select_next(core, selector, job)) != NULL) {
		if (!core_may_act(caller, job->key)) {
			core_reply_error(core, token, EDGE_ERROR_RELEASE_EPERM,
					 -EPERM, NULL,
					 "not permitted to release this grant");
			return 0;
		}
		if (job->release_run != NULL &&
		    job->release_run->wait_count == CORE_WAITERS_MAX) {
			core_reply_error(core, token, EDGE_LIMIT_RELEASE,
					 -ENOBUFS, NULL,
					 "%d callers wait for this release, "
					 "which is the maximum",
					 CORE_WAITERS_MAX);
			return 0;
		}
		assert(count < CORE_JOB_GRANTS_MAX);
		ids[count++] = job->grant_id;
	}
	if (count == 0)
		answer_released(core, caller, selector, token);
	return count;
}

void core_release(struct core *core, const struct core_caller *caller,
		  const struct core_selector *selector, uint32_t grace_ms,
		  uint64_t token)
{
	uint64_t ids[CORE_JOB_GRANTS_MAX];
	size_t count = collect(core, caller, selector, token, ids);
	struct release_wait *wait;

	if (count == 0)
		return;
	wait = memory_array(1, sizeof(*wait));
	wait->token = token;
	wait->left = count;
	wait->grants = memory_array(count, sizeof(*wait->grants));
	wait->grant_count = count;
	DL_APPEND(core->release_waits, wait);
	/* `wait` is gone with the last join that ends at once. */
	for (size_t i = 0; i < count; i++) {
		struct job *job = jobs_find(&core->jobs, ids[i]);
		const struct core_caller as_submitter = {
			.uid = caller->uid, .submitter = caller->submitter
		};

		join(core, job, wait, i,
		     core_may_act(&as_submitter, job->key) ? REASON_REQUEST
							   : REASON_OPERATOR,
		     grace_ms);
	}
}
