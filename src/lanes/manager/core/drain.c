/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Drained nodes get no reservations. An operator drains and undrains; a node
 * that cannot take a lane back is drained by us, and undrained when it has
 * confirmed all that it is to take back. An operator's drain is never undone
 * by us, nor is one for a grant of which we know nothing to wait for.
 * A node that gives up again may have another reason, which is notified too.
 */
#include "lanes/manager/core/fit.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/out.h"

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
	core->ops->drain(core->ops_ctx, node->name, true, node->reason);
	core_notify(core, node);
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
	core_notify(core, node);
}

void core_drain_settle(struct core *core, struct node *node)
{
	if (node->is_drained_by_us && core_node_pending_count(core, node) == 0)
		undrain(core, node, EDGE_NODE_UNDRAIN_AUTO);
}

const char *core_node_drained(const struct core *core, const char *name)
{
	const struct node *node = nodes_find(&core->nodes, name);

	if (node == NULL || !node->is_drained)
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
