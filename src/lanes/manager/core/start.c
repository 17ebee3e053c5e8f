/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The begin of a life, and the passing of time. What a crash has interrupted
 * is gone on with: a reservation stays, an active lane stays, an apply is
 * undone (nobody can tell any more who has answered), a release goes on. That
 * is done step by step, a number of jobs at each tick, so that one commit can
 * hold what each step causes; until its turn a job looks as if its fan-out
 * were still under way.
 */
#include <inttypes.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/configure.h"
#include "lanes/manager/core/event.h"
#include "lanes/manager/core/load.h"

#define RESUME_STEP 512       /* jobs */
#define EPOCH_MAX   INT32_MAX /* events are numbered by epoch * 2^32 */

/* --- what was interrupted --- */

static bool is_interrupted(const struct job *job)
{
	return job->state == JOB_APPLYING || job->state == JOB_RELEASING;
}

static void job_resume(struct core *core, struct job *job)
{
	if (job->state == JOB_APPLYING) {
		event_exception(core, job, EVENT_SEVERITY_FATAL,
				"the manager was restarted while the lane was "
				"applied");
		core_release_begin(core, job, REASON_APPLY_FAILED);
	} else {
		core_release_ask(core, job);
	}
}

static void resume(struct core *core)
{
	struct job *job;

	for (size_t n = 0;
	     n < RESUME_STEP && core->resume_next < core->resume_count;
	     core->resume_next++) {
		job = jobs_find(&core->jobs, core->resume[core->resume_next]);
		if (job == NULL || !is_interrupted(job))
			continue;
		job_resume(core, job);
		n++;
	}
}

static void resume_collect(struct core *core)
{
	struct job *job, *next;

	core->resume = memory_array(core->jobs.count, sizeof(*core->resume));
	HASH_ITER (hh, core->jobs.by_id, job, next)
		if (is_interrupted(job))
			core->resume[core->resume_count++] = job->grant_id;
}

/* --- the begin --- */

int core_start(struct core *core, uint64_t epoch, bool is_recovery,
	       struct fairlead_error *ret_error)
{
	int result;

	if (epoch == 0 || epoch > EPOCH_MAX)
		return error_set(ret_error, -EBADMSG,
				 "epoch %" PRIu64 " is out of range", epoch);
	core->epoch = epoch;
	/* An answer to an earlier core is for none of these. */
	core->next_fanout_id = epoch << 32 | 1;
	result = core_loaded(core, ret_error);
	if (result == 0)
		result = config_nodes_start(core, core->configured_nodes,
					    ret_error);
	if (result < 0)
		return result;
	hostlist_destroy(take_ptr(core->configured_nodes));
	nodes_foreach(node, &core->nodes) core_reports_attach(core, node);
	core->is_started = true;
	core->started_ms = core_now_ms(core);
	if (is_recovery)
		core_recovery_begin(core);
	else
		core_recovery_resume(core);
	core_notify_resume(core);
	resume_collect(core);
	resume(core);
	return 0;
}

/* --- time --- */

uint64_t core_deadline_ms(const struct core *core)
{
	uint64_t retry_ms = core_retry_deadline_ms(core);
	uint64_t first_ms = core->notify_at_ms;

	if (core->grace_at_ms < first_ms)
		first_ms = core->grace_at_ms;
	if (core->resume_next < core->resume_count)
		return 0;
	return retry_ms < first_ms ? retry_ms : first_ms;
}

void core_tick(struct core *core)
{
	uint64_t now_ms = core_now_ms(core);

	resume(core);
	core_grace_tick(core, now_ms);
	core_retry_tick(core, now_ms);
	core_notify_tick(core, now_ms);
}
