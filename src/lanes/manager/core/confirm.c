/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A node has revoked a lane: by a late answer, by its own epilog, by a reboot,
 * or by an operator's assertion. In each case the part is confirmed, and stays
 * so over a restart: that it was fenced shows in the node's serial, the other
 * ways get a row. A job that is active and did not give it back has lost it.
 *
 * A confirmation counts only in the incarnation that has registered: an older
 * one says nothing about this boot, and a newer one will register.
 */
#include <assert.h>
#include <stdio.h>

#include "lanes/manager/core/out.h"
#include "base/text.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

static const char *how_name(enum confirm_how how)
{
	static const char *const names[] = {
		[CONFIRM_REVOKED] = "revoked",
		[CONFIRM_LOST] = "lost",
		[CONFIRM_FENCED] = "fenced",
		[CONFIRM_WAIVED] = "waived",
	};

	return names[how];
}

static enum edge how_edge(const struct job *job, enum confirm_how how)
{
	if (how == CONFIRM_FENCED)
		return EDGE_CONFIRM_FENCED;
	if (how == CONFIRM_WAIVED)
		return EDGE_CONFIRM_WAIVED;
	return job->state < JOB_RELEASING ? EDGE_CONFIRM_EARLY
					  : EDGE_CONFIRM_LATE;
}

static void reset_event(struct core *core, struct job *job,
			const struct part *part)
{
	const struct node *node = nodes_at(&core->nodes, part->node);
	char text[NODE_INCARNATION * 2 + 1];
	struct event event;

	node_incarnation_format(node, text);
	event_begin(&event, core, "node-reset");
	event_text(&event, "node", node->name);
	event_text(&event, "incarnation", text);
	event_store(&event, core, job);
}

static void confirm_event(struct core *core, struct job *job,
			  struct part *const *parts, size_t count,
			  enum confirm_how how, const struct core_operator *by)
{
	const char **names = memory_array(count, sizeof(*names));
	struct event event;
	char *text;

	for (size_t i = 0; i < count; i++)
		names[i] = nodes_at(&core->nodes, parts[i]->node)->name;
	text = memory_have(hostlist_format(names, count));
	event_begin(&event, core, "confirm");
	event_text(&event, "nodes", text);
	event_text(&event, "how", how_name(how));
	if (by != NULL)
		event_number(&event, "uid", by->uid);
	event_store(&event, core, job);
	free(text);
	free(names);
}

void core_part_lost(struct core *core, struct job *job, const struct part *part,
		    const char *why)
{
	char note[JOB_WHY_MAX + 1];

	core->metrics.lanes_lost++;
	if (why == NULL)
		return;
	snprintf(note, sizeof(note), "node %s has lost the lane: %.900s",
		 nodes_at(&core->nodes, part->node)->name, why);
	event_exception(core, job, EVENT_SEVERITY_WARNING, note);
}

/* The node has not reported it before. */
static void part_confirmed(struct core *core, struct job *job,
			   struct part *part, enum confirm_how how)
{
	bool was_applied = part->state == PART_APPLIED;

	part_set_state(job, part,
		       how == CONFIRM_REVOKED ? PART_REVOKED
					      : part_state_lost(job, part),
		       &core->probe);
	core_hit(core, how_edge(job, how));
	if (was_applied && part->state == PART_LOST && how != CONFIRM_LOST)
		core_part_lost(core, job, part, NULL);
}

void core_parts_confirmed(struct core *core, struct job *job,
			  struct part *const *parts, size_t count,
			  enum confirm_how how, const struct core_operator *by)
{
	assert(count > 0 && (by != NULL) == (how == CONFIRM_WAIVED));
	for (size_t i = 0; i < count; i++)
		part_confirmed(core, job, parts[i], how);
	if (job->state == JOB_ACTIVE && how == CONFIRM_FENCED)
		reset_event(core, job, parts[0]);
	else if (job->state != JOB_RELEASING || how == CONFIRM_WAIVED)
		confirm_event(core, job, parts, count, how, by);
	if (count > 1)
		core_store_job(core, job);
	else if (how != CONFIRM_FENCED)
		core_store_part(core, job, parts[0]);
	for (size_t i = 0; i < count; i++)
		core_drain_settle(core, nodes_at(&core->nodes, parts[i]->node));
	core->metrics.confirmations += count;
	core_grace_settle(core, job);
}

void core_job_waived(struct core *core, struct job *job,
		     const struct core_operator *by)
{
	struct part **parts =
		memory_array(job->unconfirmed_count, sizeof(*parts));
	size_t count = 0;

	for (uint32_t i = 0; i < job->part_count; i++)
		if (part_is_unconfirmed(&job->parts[i]))
			parts[count++] = &job->parts[i];
	if (count > 0)
		core_parts_confirmed(core, job, parts, count, CONFIRM_WAIVED,
				     by);
	free(parts);
}

static void why_set(struct core *core, struct job *job, const char *node,
		    const char *text)
{
	char why[JOB_WHY_MAX + 1];
	_auto_(freep) char *whole = memory_format("%s: %s", node, text);

	text_fit(why, sizeof(why), whole);
	free(job->why);
	job->why = memory_text(why);
	core_store_job(core, job);
}

/* The node gives up for now: it gets no more jobs until it is clean. */
static void give_up(struct core *core, struct node *node, struct job *job,
		    struct part *part,
		    const struct core_confirmation *confirmation)
{
	const char *text = confirmation->text == NULL ? "" : confirmation->text;
	bool is_awaited = core_node_pending_count(core, node) > 0;

	core_hit(core, EDGE_CONFIRM_BUSY);
	if (part != NULL && part_is_unconfirmed(part)) {
		is_awaited = true;
		/* Its own epilog has begun before we asked for it. */
		if (part->state != PART_REVOKING) {
			part_set_state(job, part, PART_REVOKING, &core->probe);
			core_store_part(core, job, part);
		}
		if (job->is_quarantined)
			why_set(core, job, node->name, text);
	}
	core_drain(core, node, text,
		   is_awaited ? DRAIN_UNTIL_CLEAN : DRAIN_FOR_GOOD);
}

/* A node reports why it has revoked a lane without a request. */
static enum confirm_how how_of(struct core *core, struct job *job,
			       const struct part *part, const char *why)
{
	if (part->state == PART_MISSING)
		return CONFIRM_LOST;
	if (part->state != PART_APPLIED || job->state != JOB_ACTIVE ||
	    why == NULL || *why == '\0')
		return CONFIRM_REVOKED;
	core_part_lost(core, job, part, why);
	return CONFIRM_LOST;
}

static void take(struct core *core, struct node *node,
		 const struct core_confirmation *confirmation)
{
	struct job *job = jobs_find(&core->jobs, confirmation->grant_id);
	struct part *part = job == NULL ? NULL : job_part(job, node->index);

	if (confirmation->result < 0) {
		give_up(core, node, job, part, confirmation);
		return;
	}
	core_reports_clear(core, node, confirmation->grant_id);
	if (part != NULL && part_is_unconfirmed(part)) {
		core_parts_confirmed(
			core, job, &part, 1,
			how_of(core, job, part, confirmation->text), NULL);
		if (job->state >= JOB_RELEASED)
			core_settle(core, job);
	}
	core_drain_settle(core, node);
}

void core_confirm(struct core *core,
		  const struct core_confirmation *confirmation)
{
	struct node *node = nodes_find(&core->nodes, confirmation->node);

	if (node != NULL && node_is(node, confirmation->incarnation)) {
		node->is_pinned = true;
		take(core, node, confirmation);
		core_node_unpin(core, node);
	} else {
		core_hit(core, EDGE_CONFIRM_FOREIGN);
	}
	core->ops->acknowledge(core->ops_ctx, confirmation->node,
			       confirmation->sequence);
}
