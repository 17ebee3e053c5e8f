/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Recovery: the journal may be older than the world. Grant ids jump over all
 * that may have been given since, and every identifier counts as used until
 * each configured node has said what it holds, or was waived by name. They
 * jump by the epoch, which no other recovery has had, so that two recoveries
 * from one backup do not meet.
 *
 * A recovery goes by the epoch in which it began; a node that has reported
 * remembers it, so that a restart in the middle awaits only the others. It may
 * have been cut short before a word of the core was on disk, with nothing but
 * the store's note that it has begun: so each restart jumps again.
 */
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/out.h"

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
	members = core_json_text(json_pack("{s:s}", "awaited", awaited));
	core_reply_done(core, token, members);
}
