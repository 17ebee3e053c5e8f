/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole at a glance: `status` and `pools`. */
#include "lanes/manager/core/view.h"

struct pool_counts view_pool_counts(const struct core *core,
				    const struct pool *pool)
{
	struct pool_counts counts = {
		.universe = idset_count(pool->universe),
		.free = idset_count(pool->free),
		.held = idset_count(pool->held),
		.quarantined = pool_quarantined_only(pool),
		.withheld = idset_count(pool->withheld),
		.draining = idset_count(pool->draining),
	};

	if (core->recovery > 0) {
		counts.withheld += counts.free;
		counts.free = 0;
	}
	return counts;
}

static json_t *counts_json(const struct core *core, const struct pool *pool)
{
	struct pool_counts counts = view_pool_counts(core, pool);
	json_t *object = memory_have(json_object());

	view_number(object, "universe", counts.universe);
	view_number(object, "free", counts.free);
	view_number(object, "held", counts.held);
	view_number(object, "quarantined", counts.quarantined);
	view_number(object, "withheld", counts.withheld);
	view_number(object, "draining", counts.draining);
	return object;
}

static void view_ids(json_t *object, const char *name, const struct idset *set)
{
	_auto_(freep) char *text = memory_have(idset_format(set));

	view_text(object, name, text);
}

static json_t *sets_json(const struct core *core, const struct pool *pool)
{
	_auto_(idset_destroyp) struct idset *both = NULL;
	json_t *object = memory_have(json_object());
	const struct idset *withheld = pool->withheld;

	if (core->recovery > 0) {
		memory_check(idset_clone(pool->withheld, &both));
		idset_unite(both, pool->free);
		withheld = both;
		view_text(object, "free", "");
	} else {
		view_ids(object, "free", pool->free);
	}
	view_ids(object, "universe", pool->universe);
	view_ids(object, "held", pool->held);
	view_ids(object, "quarantined", pool->quarantined);
	view_ids(object, "withheld", withheld);
	view_ids(object, "draining", pool->draining);
	return object;
}

/* {interconnect: {pool: ...}} */
static json_t *pools_json(const struct core *core,
			  json_t *(*fn)(const struct core *core,
					const struct pool *pool))
{
	json_t *all = memory_have(json_object());

	interconnects_foreach(ic, &core->interconnects)
	{
		json_t *pools = memory_have(json_object());

		for (size_t i = 0; i < ic->pool_count; i++)
			view_set(pools, ic->pools[i].name,
				 fn(core, &ic->pools[i]));
		view_set(all, ic->driver->name, pools);
	}
	return all;
}

json_t *core_view_pools(const struct core *core)
{
	json_t *view = memory_have(json_object());

	view_set(view, "pools", pools_json(core, sets_json));
	return view;
}

static json_t *nodes_json(const struct core *core)
{
	const uint32_t *counts = core->nodes.counts;
	json_t *object = memory_have(json_object());

	view_number(object, "up", counts[NODE_COUNT_UP]);
	view_number(object, "down", counts[NODE_COUNT_DOWN]);
	view_number(object, "leaving", counts[NODE_COUNT_LEAVING]);
	view_number(object, "drained", counts[NODE_COUNT_DRAINED]);
	return object;
}

static json_t *jobs_json(const struct core *core)
{
	json_t *object = memory_have(json_object());

	for (int i = 0; i < JOB_STATE_COUNT; i++)
		view_number(object, job_state_name((enum job_state)i),
			    core->jobs.state_counts[i]);
	return object;
}

json_t *core_view_status(const struct core *core)
{
	json_t *view = memory_have(json_object());
	_auto_(freep) char *awaited = NULL;
	bool is_recovering = core_is_recovering(core, &awaited);

	view_text(view, "version", FAIRLEAD_VERSION);
	view_number(view, "epoch", core->epoch);
	view_number(view, "uptime_s",
		    (core_now_ms(core) - core->started_ms) / 1000);
	view_number(view, "time_us", clock_wall_us(core->clock));
	view_set(view, "recovering", json_boolean(is_recovering));
	view_text(view, "awaited", is_recovering ? awaited : "");
	view_set(view, "nodes", nodes_json(core));
	view_set(view, "jobs", jobs_json(core));
	view_set(view, "pools", pools_json(core, counts_json));
	return view;
}
