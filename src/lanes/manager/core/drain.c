/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drained nodes get no reservations. An operator drains and undrains; a node
 * that cannot take a lane back is drained by us, and undrained when it has
 * confirmed all that it is to take back. An operator's drain is never undone
 * by us, nor is one for a grant of which we know nothing to wait for. A node
 * that gives up again may have another reason, which is notified too.
 *
 * The site's commands are notified of a drain and its end at least once, over
 * crashes and failures. A flag in the node's row marks a change as unnotified
 * until a call has succeeded. A restart calls again, and so does a timer after
 * a failure. A node has one call under way at a time, so that the last call
 * has the last change. A change during a call is notified when that call has
 * ended.
 *
 * The node itself learns of a drain when a call has succeeded: its housekeeping
 * waits for that, since only then does the job manager send no more jobs.
 */

#include "base/text.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/out.h"

/* --- the site's commands --- */

#define NOTIFY_FIRST_MS 30000 /* after a failure; then twice as long */
#define NOTIFY_MAX_MS   600000
#define NOTIFY_STEP     1024 /* nodes at one tick */

static void call(struct core *core, struct node *node)
{
	node->notify_id = core->next_notify_id++;
	node->is_notify_stale = false;
	node->notify_at_ms = DEADLINE_NONE;
	core->ops->notify(core->ops_ctx, node->notify_id, node->name,
			  node->is_drained,
			  node->reason == NULL ? "" : node->reason);
}

static void call_at(struct core *core, struct node *node, uint64_t at_ms)
{
	node->notify_at_ms = at_ms;
	if (at_ms < core->notify_at_ms)
		core->notify_at_ms = at_ms;
}

/* The node's drain has changed; its row marks the change as unnotified. */
static void notify(struct core *core, struct node *node)
{
	node->notify_delay_ms = NOTIFY_FIRST_MS;
	if (node->notify_id == 0)
		call(core, node);
	else
		node->is_notify_stale = true;
}

void core_notify_resume(struct core *core)
{
	uint64_t now_ms = core_now_ms(core);

	core->next_notify_id = core->epoch << 32 | 1;
	nodes_foreach(node, &core->nodes)
	{
		if (!node->is_unnotified)
			continue;
		node->notify_delay_ms = NOTIFY_FIRST_MS;
		call_at(core, node, now_ms);
	}
}

void core_notify_tick(struct core *core, uint64_t now_ms)
{
	int count = 0;

	if (now_ms < core->notify_at_ms)
		return;
	core->notify_at_ms = DEADLINE_NONE;
	nodes_foreach(node, &core->nodes)
	{
		if (!node->is_unnotified || node->notify_id != 0)
			continue;
		if (node->notify_at_ms <= now_ms && count < NOTIFY_STEP) {
			count++;
			call(core, node);
		} else if (node->notify_at_ms < core->notify_at_ms) {
			core->notify_at_ms = node->notify_at_ms;
		}
	}
}

static void notified(struct core *core, struct node *node)
{
	node->is_unnotified = false;
	nodes_changed(&core->nodes, node);
	if (node->is_drained) {
		core->ops->drain(core->ops_ctx, node->name, true, node->reason);
	} else {
		free(node->reason);
		node->reason = NULL;
	}
	core_store_node(core, node);
	core_node_settle(core, node);
}

void core_notified(struct core *core, const char *name, uint64_t id, int result)
{
	struct node *node = nodes_find(&core->nodes, name);

	/* Of an earlier core, whose call was made again. */
	if (node == NULL || node->notify_id != id)
		return;
	node->notify_id = 0;
	if (node->is_notify_stale) {
		call(core, node);
	} else if (result < 0) {
		call_at(core, node, core_now_ms(core) + node->notify_delay_ms);
		node->notify_delay_ms *= 2;
		if (node->notify_delay_ms > NOTIFY_MAX_MS)
			node->notify_delay_ms = NOTIFY_MAX_MS;
	} else {
		notified(core, node);
	}
}

/* --- drains --- */

uint32_t core_node_pending_count(const struct core *core,
				 const struct node *node)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->job_count; i++) {
		const struct job *job = jobs_at(&core->jobs, node->jobs[i]);

		if (job->unconfirmed_count > 0 &&
		    job_part(job, node->index)->state == PART_REVOKING)
			count++;
	}
	for (uint32_t i = 0; i < node->report_count; i++)
		count += core_report_is_revoked(core, node, &node->reports[i]);
	return count;
}

void core_drain(struct core *core, struct node *node, const char *reason,
		enum drain_by by)
{
	char text[NODE_REASON_MAX + 1];

	if (node->is_drained && !node->is_drained_by_us && by != DRAIN_OPERATOR)
		return;
	text_fit(text, sizeof(text), reason);
	if (!node->is_drained)
		core_hit(core, EDGE_NODE_DRAIN);
	node->is_drained = true;
	node->is_drained_by_us = by == DRAIN_UNTIL_CLEAN;
	free(node->reason);
	node->reason = memory_text(text);
	node->is_unnotified = true;
	nodes_changed(&core->nodes, node);
	core_store_node(core, node);
	notify(core, node);
}

static void undrain(struct core *core, struct node *node, enum edge edge)
{
	core_hit(core, edge);
	node->is_drained = false;
	node->is_drained_by_us = false;
	node->is_unnotified = true;
	nodes_changed(&core->nodes, node);
	core_store_node(core, node);
	core->ops->drain(core->ops_ctx, node->name, false,
			 node->reason == NULL ? "" : node->reason);
	notify(core, node);
}

void core_drain_settle(struct core *core, struct node *node)
{
	if (node->is_drained_by_us && core_node_pending_count(core, node) == 0)
		undrain(core, node, EDGE_NODE_UNDRAIN_AUTO);
}

bool core_has_node(const struct core *core, const char *name)
{
	return nodes_find(&core->nodes, name) != NULL;
}

const char *core_node_drained(const struct core *core, const char *name)
{
	const struct node *node = nodes_find(&core->nodes, name);

	if (node == NULL || !node->is_drained || node->is_unnotified)
		return NULL;
	return node->reason == NULL ? "" : node->reason;
}

void core_node_drain(struct core *core, const char *text, bool is_drained,
		     const char *reason, uint64_t token)
{
	_auto_(freep) struct node **nodes = NULL;
	size_t count;

	if (!core_nodes_named(core, text, token, &nodes, &count))
		return;
	for (size_t i = 0; i < count; i++) {
		if (is_drained)
			core_drain(core, nodes[i], reason == NULL ? "" : reason,
				   false);
		else if (nodes[i]->is_drained)
			undrain(core, nodes[i], EDGE_NODE_UNDRAIN);
	}
	core_reply_done(core, token, "{}");
}
