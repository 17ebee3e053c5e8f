/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Views of the whole and of its nodes, and the pieces that views are made of.
 */
#include <stdio.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/view.h"

/* --- pieces: members, and arrays that fit into an answer --- */

void view_array_init(struct view_array *array)
{
	*array = (struct view_array){ .items = memory_have(json_array()) };
}

/* One always fits: the parts of an item have their own maxima. */
static bool has_room(struct view_array *array, size_t bytes)
{
	if (array->bytes > 0 && array->bytes + bytes > CORE_VIEW_BYTES_MAX)
		array->has_more = true;
	else
		array->bytes += bytes;
	return !array->has_more;
}

bool view_array_add(struct view_array *array, json_t *item_owned, size_t bytes)
{
	if (!has_room(array, bytes)) {
		json_decref(item_owned);
		return false;
	}
	if (json_array_append_new(array->items, item_owned) < 0)
		memory_end();
	return true;
}

bool view_array_extend(struct view_array *array, json_t *items_owned,
		       size_t bytes)
{
	bool is_taken = has_room(array, bytes);

	if (is_taken && json_array_extend(array->items, items_owned) < 0)
		memory_end();
	json_decref(items_owned);
	return is_taken;
}

json_t *view_array_end(struct view_array *array, const char *name,
		       json_t *after_owned)
{
	json_t *object = memory_have(json_object());

	view_set(object, name, array->items);
	if (array->has_more)
		view_set(object, "more", json_true());
	if (array->has_more && after_owned != NULL)
		view_set(object, "after", after_owned);
	else
		json_decref(after_owned);
	array->items = NULL;
	return object;
}

void view_set(json_t *object, const char *name, json_t *value_owned)
{
	if (json_object_set_new(object, name, value_owned) < 0)
		memory_end();
}

void view_text(json_t *object, const char *name, const char *text)
{
	view_set(object, name, json_string(text));
}

void view_number(json_t *object, const char *name, uint64_t number)
{
	view_set(object, name, json_integer((json_int_t)number));
}

void view_moment(json_t *object, const char *name, uint64_t time_us)
{
	view_set(object, name, json_real((double)time_us / 1e6));
}

/* --- `status` and `pools` --- */

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
	view_set(view, "external", view_shares(core));
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
	view_set(view, "external", view_outsides(core));
	return view;
}

/* --- `node-list`: the nodes in the order of the table --- */

/* Of one node, without its withheld identifiers. */
#define NODE_BYTES    (384 + CORE_NODE_ADDED_MAX)
#define REPORT_BYTES  512
#define LOST_BYTES    48
#define REPORTS_SHOWN 256 /* of one node; `withheld_more` counts the others */

static void id_add(struct pool *pool, uint32_t id, void *arg)
{
	idset_add(arg, id);
}

/* Identifiers by pool, as text. */
static json_t *ids_json(const struct core *core, const struct report *report)
{
	uint8_t driver =
		interconnect_find(&core->interconnects, report->driver);
	json_t *object = memory_have(json_object());
	const struct interconnect *ic;
	uint32_t limit = 0;

	if (driver == DRIVER_NONE)
		return object;
	ic = &core->interconnects.list[driver];
	for (uint32_t i = 0; i < report->id_count; i++)
		if (report->ids[i] >= limit && report->ids[i] < IDSET_LIMIT_MAX)
			limit = report->ids[i] + 1;
	for (size_t n = 0; n < ic->pool_count; n++) {
		_auto_(idset_destroyp) struct idset *set = NULL;
		_auto_(freep) char *text = NULL;

		memory_check(idset_create(limit, &set));
		core_report_each(report, (struct pool *)&ic->pools[n], id_add,
				 set);
		text = memory_have(idset_format(set));
		view_text(object, ic->pools[n].name, text);
	}
	return object;
}

static json_t *report_json(const struct core *core,
			   const struct core_caller *caller,
			   const struct report *report)
{
	json_t *item = memory_have(json_object());
	char why[REPORT_BYTES];

	core_report_why(core, caller, report, why, sizeof(why));
	view_text(item, "interconnect", report->driver);
	view_set(item, "ids", ids_json(core, report));
	if (report->kind == REPORT_OBJECT) {
		view_text(item, "device", report->device);
		view_number(item, "object", report->object_id);
	}
	view_number(item, "grant_id", report->grant_id);
	view_text(item, "why", why);
	return item;
}

/* Lanes of active jobs that the node has lost. */
static json_t *lost_json(const struct core *core,
			 const struct core_caller *caller,
			 const struct node *node, size_t *ret_bytes)
{
	json_t *lost = memory_have(json_array());

	*ret_bytes = 0;
	for (uint32_t i = 0; i < node->job_count; i++) {
		const struct job *job = jobs_at(&core->jobs, node->jobs[i]);
		json_t *item;

		if (!part_is_lost(job, job_part(job, node->index)) ||
		    json_array_size(lost) == REPORTS_SHOWN)
			continue;
		item = memory_have(json_object());
		view_number(item, "grant_id", job->grant_id);
		if (core_may_see(caller, job->key, job->uid))
			view_text(item, "key", job->key);
		json_array_append_new(lost, item);
		*ret_bytes += LOST_BYTES + strlen(job->key);
	}
	return lost;
}

static const char *state_text(const struct node *node)
{
	if (!node->is_configured)
		return "leaving";
	return node->state == NODE_UP ? "up" : "down";
}

static json_t *node_json(const struct core *core,
			 const struct core_caller *caller,
			 const struct node *node, size_t *ret_bytes)
{
	char incarnation[NODE_INCARNATION * 2 + 1];
	json_t *item = memory_have(json_object());
	json_t *reports = memory_have(json_array());
	uint32_t shown = node->report_count;
	size_t lost_bytes;

	node_incarnation_format(node, incarnation);
	if (shown > REPORTS_SHOWN)
		shown = REPORTS_SHOWN;
	for (uint32_t i = 0; i < shown; i++)
		json_array_append_new(reports, report_json(core, caller,
							   &node->reports[i]));
	view_text(item, "name", node->name);
	view_text(item, "state", state_text(node));
	view_text(item, "incarnation", incarnation);
	view_text(item, "version", node->version == NULL ? "" : node->version);
	view_set(item, "drained", json_boolean(node->is_drained));
	view_text(item, "reason",
		  node->is_drained && node->reason != NULL ? node->reason : "");
	view_set(item, "drain_pending", json_boolean(node->is_unnotified));
	view_number(item, "grants", node->job_count);
	view_number(item, "pending", core_node_pending_count(core, node));
	view_set(item, "lost", lost_json(core, caller, node, &lost_bytes));
	view_set(item, "withheld", reports);
	if (shown < node->report_count)
		view_number(item, "withheld_more", node->report_count - shown);
	*ret_bytes = NODE_BYTES + shown * REPORT_BYTES + lost_bytes +
		     (node->reason == NULL ? 0 : strlen(node->reason));
	return item;
}

json_t *core_view_nodes(const struct core *core,
			const struct core_caller *caller, const char *after)
{
	const struct node *node =
		after == NULL ? NULL : nodes_find(&core->nodes, after);
	struct view_array array;
	const struct node *last = NULL;
	size_t bytes;

	view_array_init(&array);
	/* A name that has gone meanwhile: begin again. */
	node = nodes_next(&core->nodes, node == NULL ? 0 : node->index + 1);
	for (; node != NULL; node = nodes_next(&core->nodes, node->index + 1)) {
		json_t *item = node_json(core, caller, node, &bytes);

		if (!view_array_add(&array, item, bytes))
			break;
		last = node;
	}
	return view_array_end(&array, "nodes",
			      last == NULL ? NULL : json_string(last->name));
}
