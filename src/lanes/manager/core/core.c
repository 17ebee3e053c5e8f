/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and ending a core. */
#include "lanes/manager/core/core.h"

#include <assert.h>
#include <utlist.h>

#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/configure.h"
#include "lanes/manager/core/load.h"

/* Names of edges, from the one table. */
static const char *const edge_names[] = {
#define EDGE_TEXT(name, text) [EDGE_##name] = text,
	EDGE_TABLE(EDGE_TEXT)
#undef EDGE_TEXT
		[EDGE_COUNT] = NULL,
};

void edge_hit(const struct edge_probe *probe, enum edge edge)
{
	assert(edge < EDGE_COUNT);
	if (probe->hit != NULL)
		probe->hit(probe->ctx, edge_names[edge]);
}

int core_create(const struct core_config *config, const struct core_ops *ops,
		void *ops_ctx, const struct clock_seam *clock,
		const struct rng_seam *rng, const struct log *log,
		struct core **ret_core, struct fairlead_error *ret_error)
{
	struct core *core = memory_array(1, sizeof(*core));
	struct fairlead_error error;
	struct config_plan plan;
	int result;

	core->ops = ops;
	core->ops_ctx = ops_ctx;
	core->clock = clock;
	core->rng = rng;
	core->log = log;
	core->next_grant_id = 1;
	core->retry_at_ms = DEADLINE_NONE;
	core->grace_at_ms = DEADLINE_NONE;
	core->reports_at_ms = DEADLINE_NONE;
	core->notify_at_ms = DEADLINE_NONE;
	nodes_init(&core->nodes);
	jobs_init(&core->jobs);
	tombstones_init(&core->tombstones, CORE_TOMBSTONES_MAX,
			config->events_keep);
	result = config_plan(core, config, &plan, &error);
	if (result == 0) {
		config_take(core, config, &plan);
		core->configured_nodes = take_ptr(plan.nodes);
		*ret_core = take_ptr(core);
	} else if (ret_error != NULL) {
		*ret_error = error;
	}
	config_plan_fini(&plan);
	core_destroy(core);
	return result;
}

static void runs_free(struct core *core)
{
	struct release_wait *wait, *next_wait;
	struct job *job, *next;

	HASH_ITER (hh, core->jobs.by_id, job, next) {
		core_apply_run_destroy(job->apply_run);
		core_release_run_destroy(job->release_run);
	}
	DL_FOREACH_SAFE (core->release_waits, wait, next_wait)
		core_release_wait_destroy(core, wait);
}

static void lists_free(struct core *core)
{
	struct fanout_entry *fanout, *next_fanout;
	struct trace *trace, *next_trace;
	struct core_cursor *cursor, *next_cursor;

	HASH_ITER (hh, core->fanouts, fanout, next_fanout) {
		HASH_DEL(core->fanouts, fanout);
		free(fanout);
	}
	DL_FOREACH_SAFE (core->cursors, cursor, next_cursor)
		free(cursor);
	DL_FOREACH_SAFE (core->traces, trace, next_trace) {
		free(trace->key);
		free(trace);
	}
}

void core_destroy(struct core *core)
{
	if (core == NULL)
		return;
	runs_free(core);
	lists_free(core);
	core_loaded_free(core);
	jobs_fini(&core->jobs);
	nodes_fini(&core->nodes);
	tombstones_fini(&core->tombstones);
	drivers_fini(&core->interconnects);
	hostlist_destroy(core->configured_nodes);
	writer_fini(&core->scratch);
	free(core->places);
	free(core->resume);
	free(core);
}

const char *const *core_edges(void)
{
	return edge_names;
}

void core_set_probe(struct core *core,
		    void (*probe)(void *ctx, const char *edge), void *ctx)
{
	core->probe.hit = probe;
	core->probe.ctx = ctx;
}
