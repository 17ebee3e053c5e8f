/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A release that leaves the nodes time. Tasks that are to end may need
 * their lane until they have; the node's epilog runs when they are gone, and
 * revokes it. Nodes that have not by the end of the grace get REVOKE, as in any
 * release. The grace ends early when the last node that is up has confirmed.
 *
 * The grace is not on disk: after a restart the nodes are asked at once.
 */
#include <assert.h>
#include <utlist.h>

#include "lanes/manager/core/grants.h"

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
