/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node reports and should not hold. Its identifiers are withheld: not
 * handed out for as long as the node reports them. Nothing of it is destroyed
 * by itself; only a grant that was given back is revoked again.
 *
 * An object names no pool, so that its identifiers are withheld in every pool
 * of its interconnect. A report outlives the manager, and the node's lease: it
 * ends when the node registers without it, says that it is gone when it is asked,
 * or confirms the grant.
 */
#include <inttypes.h>
#include <stdio.h>

#include "manager/core/state.h"

static void report_each(struct core *core, const struct report *report,
			void (*fn)(struct pool *pool, uint32_t id))
{
	uint8_t driver =
		interconnect_find(&core->interconnects, report->driver);
	struct interconnect *ic;

	if (driver == DRIVER_NONE)
		return;
	ic = &core->interconnects.list[driver];
	for (size_t n = 0; n < ic->pool_count; n++)
		for (uint32_t i = 0; i < report->id_count; i++)
			if (report->ids[i] < ic->pools[n].limit)
				fn(&ic->pools[n], report->ids[i]);
}

void core_reports_attach(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->report_count; i++)
		report_each(core, &node->reports[i], pool_withhold);
}

void core_reports_detach(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->report_count; i++)
		report_each(core, &node->reports[i], pool_unwithhold);
}

void core_reports_set(struct core *core, struct node *node,
		      struct report *reports_owned, uint32_t count)
{
	struct report *old = node->reports;
	uint32_t old_count = node->report_count;
	struct node before = { .reports = old, .report_count = old_count };

	/* First the new ones: what stays is never free in between. */
	node->reports = reports_owned;
	node->report_count = count;
	core_reports_attach(core, node);
	core_reports_detach(core, &before);
	free(old);
}

bool core_reports_clear(struct core *core, struct node *node, uint64_t grant_id)
{
	struct report *kept = memory_zero(node->report_count, sizeof(*kept));
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->report_count; i++)
		if (node->reports[i].kind == REPORT_OBJECT ||
		    node->reports[i].grant_id != grant_id)
			kept[count++] = node->reports[i];
	if (count == node->report_count) {
		free(kept);
		return false;
	}
	core_reports_set(core, node, kept, count);
	core_store_node(core, node);
	return true;
}

bool report_is_revoked(const struct report *report)
{
	return report->kind == REPORT_RELEASED ||
	       report->kind == REPORT_CONFIRMED;
}

void report_why(const struct report *report, char *text, size_t capacity)
{
	static const char *const words[REPORT_KIND_COUNT] = {
		[REPORT_UNKNOWN] = "is not known to the manager",
		[REPORT_RELEASED] = "was released, and is being revoked again",
		[REPORT_UNAPPLIED] = "was never applied there",
		[REPORT_CONFIRMED] = "was confirmed as revoked there, and is "
				     "being revoked again",
		[REPORT_DIFFERENT] = "has other identifiers there",
	};

	if (report->kind != REPORT_OBJECT)
		snprintf(text, capacity, "grant %" PRIu64 " %s",
			 report->grant_id, words[report->kind]);
	else if (report->uid == UINT32_MAX)
		snprintf(text, capacity, "object %u on %s is not ours",
			 report->object_id, report->device);
	else
		snprintf(text, capacity,
			 "object %u on %s, of uid %u, is not ours",
			 report->object_id, report->device, report->uid);
}

void core_reports_revoke(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->report_count; i++) {
		const struct report *report = &node->reports[i];
		struct job *job;

		if (!report_is_revoked(report))
			continue;
		job = jobs_find(&core->jobs, report->grant_id);
		if (job != NULL)
			core_fanout_revoke_one(core, job, node);
		else
			core_fanout_revoke_report(core, node, report);
		core_retry_reports(core);
	}
}
