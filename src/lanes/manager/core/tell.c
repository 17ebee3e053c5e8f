/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Telling the site's tools that a node is drained, or no more: at least once,
 * over crashes and failures. The node's row says that a change is *untold*
 * until a call has ended well; a start, and time after a failure, calls again.
 *
 * One call of a node is under way at a time, so that the last one tells the
 * last change. What changes meanwhile is told when the call has ended.
 */
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/out.h"

#define TELL_FIRST_MS 30000 /* after a failure; then twice as long */
#define TELL_MAX_MS   600000
#define TELL_STEP     1024 /* nodes at one tick */

static void call(struct core *core, struct node *node)
{
	node->tell_id = core->next_tell_id++;
	node->is_tell_stale = false;
	node->tell_at_ms = DEADLINE_NONE;
	core->ops->tell(core->ops_ctx, node->tell_id, node->name,
			node->is_drained,
			node->reason == NULL ? "" : node->reason);
}

static void call_at(struct core *core, struct node *node, uint64_t at_ms)
{
	node->tell_at_ms = at_ms;
	if (at_ms < core->tell_at_ms)
		core->tell_at_ms = at_ms;
}

void core_tell(struct core *core, struct node *node)
{
	node->tell_delay_ms = TELL_FIRST_MS;
	if (node->tell_id == 0)
		call(core, node);
	else
		node->is_tell_stale = true;
}

void core_tell_resume(struct core *core)
{
	uint64_t now_ms = core_now_ms(core);

	core->next_tell_id = core->epoch << 32 | 1;
	nodes_foreach(node, &core->nodes)
	{
		if (!node->is_untold)
			continue;
		node->tell_delay_ms = TELL_FIRST_MS;
		call_at(core, node, now_ms);
	}
}

void core_tell_tick(struct core *core, uint64_t now_ms)
{
	int count = 0;

	if (now_ms < core->tell_at_ms)
		return;
	core->tell_at_ms = DEADLINE_NONE;
	nodes_foreach(node, &core->nodes)
	{
		if (!node->is_untold || node->tell_id != 0)
			continue;
		if (node->tell_at_ms <= now_ms && count < TELL_STEP) {
			count++;
			call(core, node);
		} else if (node->tell_at_ms < core->tell_at_ms) {
			core->tell_at_ms = node->tell_at_ms;
		}
	}
}

static void told(struct core *core, struct node *node)
{
	node->is_untold = false;
	nodes_changed(&core->nodes, node);
	if (!node->is_drained) {
		free(node->reason);
		node->reason = NULL;
	}
	core_store_node(core, node);
	core_node_settle(core, node);
}

void core_told(struct core *core, const char *name, uint64_t id, int result)
{
	struct node *node = nodes_find(&core->nodes, name);

	/* Of an earlier core, whose call was made again. */
	if (node == NULL || node->tell_id != id)
		return;
	node->tell_id = 0;
	if (node->is_tell_stale) {
		call(core, node);
	} else if (result < 0) {
		call_at(core, node, core_now_ms(core) + node->tell_delay_ms);
		node->tell_delay_ms *= 2;
		if (node->tell_delay_ms > TELL_MAX_MS)
			node->tell_delay_ms = TELL_MAX_MS;
	} else {
		told(core, node);
	}
}
