/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Retries. A node that is up and has not confirmed a part gets another REVOKE,
 * less and less often; one that is down gets it when it registers. So does a
 * node with a grant that is long over, since that REVOKE may be lost as well.
 */
#include <utlist.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"

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
