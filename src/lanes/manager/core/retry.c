/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * REVOKEs that are sent later.
 *
 * Grace: tasks that are to end may need their lane until they have; the node's
 * epilog runs when they are gone, and revokes it. Nodes that have not by the
 * end of the grace get REVOKE, as in any release. The grace ends early when
 * the last node that is up has confirmed. It is not on disk: after a restart
 * the nodes are asked at once.
 *
 * Retries: a node that is up and has not confirmed a part gets another REVOKE,
 * less and less often; one that is down gets it when it registers. So does a
 * node with a grant that is long over, since that REVOKE may be lost as well.
 */
#include <assert.h>
#include <utlist.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"

/* --- grace --- */

#define GRACE_STEP 1024 /* jobs at one tick */

static void wake_at(struct core *core, uint64_t at_ms)
{
	if (at_ms < core->grace_at_ms)
		core->grace_at_ms = at_ms;
}

void core_grace_begin(struct core *core, struct job *job, uint32_t grace_ms)
{
	assert(job->state == JOB_RELEASING && !job->is_in_grace);
	core_hit(core, EDGE_RELEASE_GRACE);
	job->is_in_grace = true;
	job->retry_at_ms = core_now_ms(core) + grace_ms;
	DL_APPEND(core->in_grace, job);
	wake_at(core, job->retry_at_ms);
}

void core_grace_end(struct core *core, struct job *job)
{
	if (!job->is_in_grace)
		return;
	job->is_in_grace = false;
	job->retry_at_ms = DEADLINE_NONE;
	DL_DELETE(core->in_grace, job);
}

/* A node that is up and still has it may confirm by itself. */
static bool is_awaited(const struct core *core, const struct job *job)
{
	for (uint32_t i = 0; i < job->part_count; i++) {
		const struct part *part = &job->parts[i];

		if (part_is_unconfirmed(part) &&
		    nodes_at(&core->nodes, part->node)->state == NODE_UP)
			return true;
	}
	return false;
}

void core_grace_settle(struct core *core, struct job *job)
{
	if (!job->is_in_grace || is_awaited(core, job))
		return;
	core_hit(core, EDGE_RELEASE_GRACE_DONE);
	job->retry_at_ms = core_now_ms(core);
	wake_at(core, job->retry_at_ms);
}

void core_grace_node_lost(struct core *core, const struct node *node)
{
	for (uint32_t i = 0; i < node->job_count; i++)
		core_grace_settle(core, jobs_at(&core->jobs, node->jobs[i]));
}

void core_grace_tick(struct core *core, uint64_t now_ms)
{
	struct job *job, *next;
	int count = 0;

	if (now_ms < core->grace_at_ms)
		return;
	core->grace_at_ms = DEADLINE_NONE;
	DL_FOREACH_SAFE (core->in_grace, job, next) {
		if (job->retry_at_ms <= now_ms && count < GRACE_STEP) {
			count++;
			core_release_ask(core, job);
		} else {
			wake_at(core, job->retry_at_ms);
		}
	}
}

/* --- retries --- */

#define RETRY_FIRST_MS 30000
#define RETRY_MAX_MS   600000
#define RETRY_STEP     1024 /* jobs at one tick */

void core_retry_schedule(struct core *core, struct job *job)
{
	if (job->retry_delay_ms == 0)
		job->retry_delay_ms = RETRY_FIRST_MS;
	job->retry_at_ms = core_now_ms(core) + job->retry_delay_ms;
	if (job->retry_at_ms < core->retry_at_ms)
		core->retry_at_ms = job->retry_at_ms;
}

void core_retry_reports(struct core *core)
{
	uint64_t at_ms = core_now_ms(core) + RETRY_MAX_MS;

	if (at_ms < core->reports_at_ms)
		core->reports_at_ms = at_ms;
}

static void jobs_retry(struct core *core, uint64_t now_ms)
{
	struct job *job;
	int count = 0;

	if (now_ms < core->retry_at_ms)
		return;
	core->retry_at_ms = DEADLINE_NONE;
	DL_FOREACH (core->unconfirmed, job) {
		if (job->retry_at_ms <= now_ms && count < RETRY_STEP) {
			count++;
			core_hit(core, EDGE_PART_RETRY);
			job->retry_at_ms = DEADLINE_NONE;
			job->retry_delay_ms *= 2;
			if (job->retry_delay_ms > RETRY_MAX_MS)
				job->retry_delay_ms = RETRY_MAX_MS;
			if (core_fanout_revoke(core, job, false) > 0)
				core_retry_schedule(core, job);
		} else if (job->retry_at_ms < core->retry_at_ms) {
			core->retry_at_ms = job->retry_at_ms;
		}
	}
}

static void reports_retry(struct core *core, uint64_t now_ms)
{
	if (now_ms < core->reports_at_ms)
		return;
	core->reports_at_ms = DEADLINE_NONE;
	nodes_foreach(node, &core->nodes) if (node->state == NODE_UP)
		core_reports_revoke(core, node);
}

void core_retry_tick(struct core *core, uint64_t now_ms)
{
	jobs_retry(core, now_ms);
	reports_retry(core, now_ms);
}

uint64_t core_retry_deadline_ms(const struct core *core)
{
	return core->retry_at_ms < core->reports_at_ms ? core->retry_at_ms
						       : core->reports_at_ms;
}
