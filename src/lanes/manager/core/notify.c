/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Notify the site's commands that a node is drained, or no more: at least once,
 * over crashes and failures. A flag in the node's row marks a change as
 * unnotified until a call has succeeded. A restart calls again, and so does a
 * timer after a failure.
 *
 * A node has one call under way at a time, so that the last call has the last
 * change. A change during a call is notified when that call has ended.
 */
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/out.h"

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

void core_notify(struct core *core, struct node *node)
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
	if (!node->is_drained) {
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
