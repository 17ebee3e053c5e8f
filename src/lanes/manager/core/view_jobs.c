/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `list`, `explain` and `quarantine`. A user sees its own grants; keys of
 * others are shown to nobody but root and their submitter.
 */
#include <inttypes.h>
#include <stdio.h>

#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/view.h"

#define JOB_BYTES            512  /* of an item without its node list */
#define EXPLAIN_BYTES        2048 /* likewise */
#define IDENTIFIER_BYTES     384  /* likewise */
#define IDENTIFIER_NODES_MAX 8192 /* bytes; a longer list is left out */

/* --- list --- */

/* Host list of the nodes that have lost the lane; NULL: none has. */
static char *lost_text(const struct core *core, const struct job *job)
{
	_auto_(freep) const char **names = NULL;
	size_t count = 0;

	for (uint32_t i = 0; i < job->part_count; i++) {
		if (!part_is_lost(job, &job->parts[i]))
			continue;
		if (names == NULL)
			names = memory_array(job->part_count, sizeof(*names));
		names[count++] =
			nodes_at(&core->nodes, job->parts[i].node)->name;
	}
	return count == 0 ? NULL : memory_have(hostlist_format(names, count));
}

static json_t *job_json(const struct core *core, const struct job *job,
			const char *nodes)
{
	_auto_(freep) char *lost = lost_text(core, job);
	json_t *item = memory_have(json_object());

	view_number(item, "grant_id", job->grant_id);
	view_text(item, "key", job->key);
	view_text(item, "state", job_state_name((enum job_state)job->state));
	view_text(item, "interconnect",
		  core->interconnects.list[job->driver].driver->name);
	view_number(item, "uid", job->uid);
	view_text(item, "nodes", nodes);
	view_number(item, "node_count", job->part_count);
	view_set(item, "ids", core_ids_json(core, job));
	view_moment(item, "since", job->created_us);
	if (lost != NULL)
		view_text(item, "lost", lost);
	return item;
}

static bool is_listed(const struct core *core, const struct job *job,
		      const struct core_caller *caller,
		      const struct core_filter *filter)
{
	const char *interconnect =
		core->interconnects.list[job->driver].driver->name;

	return core_may_see(caller, job->key, job->uid) &&
	       (!filter->has_uid || filter->uid == job->uid) &&
	       (filter->state == NULL ||
		strcmp(filter->state,
		       job_state_name((enum job_state)job->state)) == 0) &&
	       (filter->interconnect == NULL ||
		strcmp(filter->interconnect, interconnect) == 0);
}

bool core_is_state(const char *name)
{
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		if (strcmp(job_state_name((enum job_state)i), name) == 0)
			return true;
	return false;
}

json_t *core_view_list(const struct core *core,
		       const struct core_caller *caller,
		       const struct core_filter *filter)
{
	struct view_array array;
	const struct job *job = jobs_after(&core->jobs, filter->after);
	uint64_t last = filter->after;
	size_t looked_count = 0;

	view_array_init(&array);
	for (; job != NULL; last = job->grant_id, job = job->hh.next) {
		_auto_(freep) char *nodes = NULL;

		if (looked_count++ == CORE_VIEW_JOBS_MAX) {
			array.has_more = true;
			break;
		}
		if (!is_listed(core, job, caller, filter))
			continue;
		if (filter->limit > 0 &&
		    json_array_size(array.items) == filter->limit) {
			array.has_more = true;
			break;
		}
		nodes = core_nodes_text(core, job);
		if (!view_array_add(&array, job_json(core, job, nodes),
				    JOB_BYTES + 2 * strlen(nodes)))
			break;
	}
	return view_array_end(&array, "jobs", json_integer((json_int_t)last));
}

/* --- explain --- */

/* How a part is called: one that cannot be asked now is unreachable. */
static const char *part_words(const struct core *core, const struct part *part)
{
	const struct node *node = nodes_at(&core->nodes, part->node);

	if (part->state == PART_REVOKING && node->state != NODE_UP)
		return "unreachable";
	return part_state_name((enum part_state)part->state);
}

static json_t *holds_json(const struct core *core, const struct job *job)
{
	static const char *const states[] = {
		"pending",  "applying",    "applied", "lost",
		"revoking", "unreachable", "revoked",
	};
	_auto_(freep) const char **names =
		memory_array(job->part_count, sizeof(*names));
	json_t *holds = memory_have(json_array());

	for (size_t n = 0; n < sizeof(states) / sizeof(states[0]); n++) {
		_auto_(freep) char *text = NULL;
		size_t count = 0;
		json_t *item;

		for (uint32_t i = 0; i < job->part_count; i++) {
			const struct part *part = &job->parts[i];

			if (strcmp(part_words(core, part), states[n]) == 0)
				names[count++] =
					nodes_at(&core->nodes, part->node)
						->name;
		}
		/* Where there is no lane nothing is, or will be, pending. */
		if (count == 0 || !job->has_lane)
			continue;
		text = memory_have(hostlist_format(names, count));
		item = memory_have(json_object());
		view_text(item, "nodes", text);
		view_text(item, "state", states[n]);
		json_array_append_new(holds, item);
	}
	return holds;
}

static void wait_add(json_t *waits, const char *what, const char *nodes,
		     const char *why, uint64_t since_us)
{
	json_t *item = memory_have(json_object());

	view_text(item, "what", what);
	if (nodes != NULL)
		view_text(item, "nodes", nodes);
	view_text(item, "why", why);
	if (since_us > 0)
		view_moment(item, "since", since_us);
	json_array_append_new(waits, item);
}

static json_t *waits_json(const struct core *core, const struct job *job)
{
	_auto_(freep) char *nodes = core_parts_text(core, job, false);
	json_t *waits = memory_have(json_array());

	if (job->state == JOB_APPLYING)
		wait_add(waits, "apply", nodes, "the nodes make the lane", 0);
	else if (job->state == JOB_RELEASING)
		wait_add(waits, "revoke", nodes, "the nodes take the lane back",
			 0);
	else if (job->state >= JOB_RELEASED && job->unconfirmed_count > 0)
		wait_add(waits, "confirm", nodes, job->why, job->since_us);
	return waits;
}

static json_t *explain_json(const struct core *core, const struct job *job,
			    const char *nodes)
{
	json_t *item = job_json(core, job, nodes);

	view_number(item, "gid", job->gid);
	view_text(item, "options", job->options);
	view_text(item, "reason",
		  job->reason != REASON_NONE
			  ? job_reason_name((enum job_reason)job->reason)
			  : job->empty_reason);
	json_object_set_new(item, "has_lane",
			    memory_have(json_boolean(job->has_lane)));
	view_set(item, "holds", holds_json(core, job));
	view_set(item, "waits", waits_json(core, job));
	view_set(item, "quarantined",
		 job->is_quarantined ? core_ids_json(core, job)
				     : json_object());
	return item;
}

int core_view_explain(const struct core *core, const struct core_caller *caller,
		      const struct core_selector *selector, json_t **ret_view,
		      struct fairlead_error *ret_error)
{
	const struct job *job = NULL;
	struct view_array array;
	size_t hidden = 0;
	int result = 0;

	view_array_init(&array);
	while ((job = core_select_next(core, selector, job)) != NULL) {
		_auto_(freep) char *nodes = NULL;

		if (!core_may_see(caller, job->key, job->uid)) {
			hidden++;
			continue;
		}
		nodes = core_nodes_text(core, job);
		if (!view_array_add(&array, explain_json(core, job, nodes),
				    EXPLAIN_BYTES + 3 * strlen(nodes)))
			break;
	}
	if (hidden > 0 && json_array_size(array.items) == 0)
		result = error_set(ret_error, -EPERM,
				   "the grant belongs to another user");
	else if (json_array_size(array.items) == 0)
		result = view_gone(core, caller, selector, &array, ret_error);
	if (result < 0)
		json_decref(array.items);
	else
		*ret_view = view_array_end(&array, "grants", NULL);
	return result;
}

/* --- quarantine --- */

/* One job's identifiers. */
struct identifiers {
	const struct core *core;
	const struct job *job;
	char *nodes; /* NULL: too long to be shown */
	json_t *items;
	size_t bytes;
};

static void identifier_add(const struct core_held *held, void *arg)
{
	struct identifiers *all = arg;
	const struct job *job = all->job;
	const struct interconnect *ic =
		&all->core->interconnects.list[job->driver];
	json_t *item = memory_have(json_object());

	view_text(item, "interconnect", ic->driver->name);
	view_text(item, "pool", ic->pools[held->pool].name);
	view_number(item, "id", held->first);
	if (held->run != NULL)
		view_number(item, "last", held->last);
	view_number(item, "grant_id", job->grant_id);
	view_number(item, "node_count", job->unconfirmed_count);
	if (all->nodes != NULL)
		view_text(item, "nodes", all->nodes);
	view_moment(item, "since", job->since_us);
	view_text(item, "why", job->why);
	json_array_append_new(all->items, item);
	all->bytes += IDENTIFIER_BYTES + strlen(job->why) +
		      (all->nodes == NULL ? 0 : strlen(all->nodes));
}

json_t *core_view_quarantine(const struct core *core, uint64_t after)
{
	struct view_array array;
	const struct job *job = jobs_after(&core->jobs, after);
	uint64_t last = after;
	size_t looked_count = 0;

	view_array_init(&array);
	for (; job != NULL; last = job->grant_id, job = job->hh.next) {
		struct identifiers all = { .core = core, .job = job };
		bool was_taken;

		if (looked_count++ == CORE_VIEW_JOBS_MAX) {
			array.has_more = true;
			break;
		}
		if (!job->is_quarantined)
			continue;
		all.items = memory_have(json_array());
		all.nodes = core_parts_text(core, job, false);
		if (all.nodes != NULL &&
		    strlen(all.nodes) > IDENTIFIER_NODES_MAX) {
			free(all.nodes);
			all.nodes = NULL;
		}
		core_ids_each(core, job, identifier_add, &all);
		was_taken = view_array_extend(&array, all.items, all.bytes);
		free(all.nodes);
		if (!was_taken)
			break;
	}
	return view_array_end(&array, "identifiers",
			      json_integer((json_int_t)last));
}
