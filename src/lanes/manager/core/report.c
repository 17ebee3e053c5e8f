/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a node reports and should not hold. Its identifiers are withheld: not
 * handed out for as long as the node reports them. Nothing of it is destroyed
 * by itself; only a grant that was given back is revoked again.
 *
 * An object that has the owner and the identifiers of a job whose part there is
 * unconfirmed is that job's, and the node has lost its record of it: the REVOKE
 * of the job takes it. Its identifiers are withheld all the same until the node
 * says that it is gone, whatever ends the job before.
 *
 * An object names no pool, so that its identifiers are withheld in every pool
 * of its interconnect, and on all positions of a pool of runs. A report
 * outlives the manager, and the node's lease: it ends when the node registers
 * without it, says that it is gone when it is asked, or confirms the grant.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"

void core_report_each(const struct report *report, struct pool *pool,
		      void (*fn)(struct pool *pool, uint32_t id, void *arg),
		      void *arg)
{
	uint32_t first = UINT32_MAX, last = 0;

	for (uint32_t i = 0; i < report->id_count; i++) {
		uint32_t id = report->ids[i];

		if (id >= pool->limit)
			continue;
		if (pool->runs == NULL)
			fn(pool, id, arg);
		first = id < first ? id : first;
		last = id > last ? id : last;
	}
	for (uint32_t id = first; pool->runs != NULL && id <= last; id++)
		fn(pool, id, arg);
}

static void withhold(struct pool *pool, uint32_t id, void *arg)
{
	pool_withhold(pool, id);
}

static void unwithhold(struct pool *pool, uint32_t id, void *arg)
{
	pool_unwithhold(pool, id);
}

static void report_each(struct core *core, const struct report *report,
			void (*fn)(struct pool *pool, uint32_t id, void *arg))
{
	uint8_t driver =
		interconnect_find(&core->interconnects, report->driver);
	struct interconnect *ic;

	if (driver == DRIVER_NONE)
		return;
	ic = &core->interconnects.list[driver];
	for (size_t n = 0; n < ic->pool_count; n++)
		core_report_each(report, &ic->pools[n], fn, NULL);
}

void core_reports_attach(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->report_count; i++)
		report_each(core, &node->reports[i], withhold);
}

void core_reports_detach(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->report_count; i++)
		report_each(core, &node->reports[i], unwithhold);
}

void core_reports_set(struct core *core, struct node *node,
		      struct report *reports_owned, uint32_t count)
{
	struct report *old = node->reports;
	uint32_t old_count = node->report_count;
	struct node before = { .reports = old, .report_count = old_count };

	/* First the new ones: so those that stay are never free in between. */
	node->reports = reports_owned;
	node->report_count = count;
	core_reports_attach(core, node);
	core_reports_detach(core, &before);
	free(old);
}

bool core_reports_clear(struct core *core, struct node *node, uint64_t grant_id)
{
	struct report *kept = memory_array(node->report_count, sizeof(*kept));
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

void core_reports_add(struct core *core, struct node *node,
		      const struct report *report)
{
	uint32_t count = node->report_count;
	struct report *reports = memory_array(count + 1, sizeof(*reports));

	assert(count < CORE_REPORTS_MAX);
	if (count > 0)
		memcpy(reports, node->reports, count * sizeof(*reports));
	reports[count] = *report;
	core_reports_set(core, node, reports, count + 1);
}

bool core_report_is_revoked(const struct core *core, const struct node *node,
			    const struct report *report)
{
	const struct job *job = jobs_find(&core->jobs, report->grant_id);
	const struct part *part =
		job == NULL ? NULL : job_part(job, node->index);

	if (report->kind == REPORT_RELEASED)
		return part == NULL || !part_is_unconfirmed(part);
	return report->kind == REPORT_CONFIRMED;
}

static bool has_id(const uint32_t *ids, uint32_t count, uint32_t id)
{
	while (count > 0 && ids[count - 1] != id)
		count--;
	return count > 0;
}

/* In any order; a report may have one twice. */
static bool has_ids(const struct job *job, const struct report *report)
{
	for (uint32_t i = 0; i < report->id_count; i++)
		if (!has_id(job->ids, job->id_count, report->ids[i]))
			return false;
	for (uint32_t i = 0; i < job->id_count; i++)
		if (!has_id(report->ids, report->id_count, job->ids[i]))
			return false;
	return job->id_count > 0;
}

uint64_t core_report_owner(const struct core *core, const struct node *node,
			   const struct report *report)
{
	for (uint32_t i = 0; i < node->job_count; i++) {
		const struct job *job = jobs_at(&core->jobs, node->jobs[i]);
		const struct part *part = job_part(job, node->index);
		const struct interconnect *ic =
			&core->interconnects.list[job->driver];

		/* Objects of an earlier boot are gone. */
		if (part_is_unconfirmed(part) && part->serial >= node->serial &&
		    job->uid == report->uid && job->waived == 0 &&
		    strcmp(ic->driver->name, report->driver) == 0 &&
		    has_ids(job, report))
			return job->grant_id;
	}
	return 0;
}

static void object_why(const struct core *core,
		       const struct core_caller *caller,
		       const struct report *report, char *text, size_t capacity)
{
	const struct job *job = jobs_find(&core->jobs, report->grant_id);
	bool is_shown = job != NULL && core_may_see(caller, job->key, job->uid);
	char user[24] = "";

	if (report->uid != UINT32_MAX)
		snprintf(user, sizeof(user), ", of uid %u,", report->uid);
	if (report->grant_id == 0)
		snprintf(text, capacity, "object %u on %s%s is not ours",
			 report->object_id, report->device, user);
	else
		snprintf(text, capacity,
			 "object %u on %s%s is of grant %" PRIu64
			 "%s%s%s, which the node's journal lost",
			 report->object_id, report->device, user,
			 report->grant_id, is_shown ? " (" : "",
			 is_shown ? job->key : "", is_shown ? ")" : "");
}

void core_report_why(const struct core *core, const struct core_caller *caller,
		     const struct report *report, char *text, size_t capacity)
{
	static const char *const words[REPORT_KIND_COUNT] = {
		[REPORT_UNKNOWN] = "is not known to the manager",
		[REPORT_RELEASED] = "was released, and is being revoked again",
		[REPORT_UNAPPLIED] = "was never applied there",
		[REPORT_CONFIRMED] = "was confirmed as revoked there, and is "
				     "being revoked again",
		[REPORT_DIFFERENT] = "has other identifiers there",
	};

	if (report->kind == REPORT_OBJECT)
		object_why(core, caller, report, text, capacity);
	else
		snprintf(text, capacity, "grant %" PRIu64 " %s",
			 report->grant_id, words[report->kind]);
}

void core_reports_revoke(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->report_count; i++) {
		const struct report *report = &node->reports[i];
		struct job *job;

		if (!core_report_is_revoked(core, node, report))
			continue;
		job = jobs_find(&core->jobs, report->grant_id);
		if (job != NULL)
			core_fanout_revoke_one(core, job, node);
		else
			core_fanout_revoke_report(core, node, report);
		core_retry_reports(core);
	}
}
