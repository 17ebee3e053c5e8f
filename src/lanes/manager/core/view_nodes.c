/* SPDX-License-Identifier: BSD-3-Clause */
/* `node-list`: the nodes in the order of the table. */
#include <stdio.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/view.h"

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
