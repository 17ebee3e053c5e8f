/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `list`, `explain` and `quarantine`. A user sees its own grants; keys of
 * others are shown to nobody but root and their submitter.
 *
 * Who had a grant that is over, and of which nothing is left, is in its
 * tombstone or trace. What became of it is in its events, which the caller
 * reads.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/view.h"

/* --- grants that are over --- */

#define GONE_BYTES 5120 /* of an item with what its events add */

static bool is_of(const char *key, const struct core_selector *selector)
{
	size_t size;

	if (selector->key != NULL)
		return strcmp(key, selector->key) == 0;
	size = strlen(selector->job);
	return strncmp(key, selector->job, size) == 0 &&
	       job_name_size(key) == size;
}

/* What has been found so far. */
struct core_selection {
	const struct core_caller *caller;
	uint64_t *ids;
	size_t capacity;
	size_t count;
	size_t hidden; /* found, but not for the caller */
};

static void add(struct core_selection *selection, uint64_t grant_id,
		const char *key, uid_t owner)
{
	if (!core_may_see(selection->caller, key, owner)) {
		selection->hidden++;
		return;
	}
	if (selection->count < selection->capacity)
		selection->ids[selection->count] = grant_id;
	selection->count++;
}

static void add_released(struct core_selection *selection,
			 const struct core *core,
			 const struct core_selector *selector)
{
	const struct tombstone *tombstone;
	const struct trace *trace;

	for (size_t age = 0;
	     (tombstone = tombstones_newest(&core->tombstones, age)) != NULL &&
	     tombstone->key != NULL;
	     age++) {
		if (selector->grant_id == tombstone->grant_id ||
		    (selector->grant_id == 0 &&
		     is_of(tombstone->key, selector)))
			add(selection, tombstone->grant_id, tombstone->key,
			    tombstone->uid);
	}
	DL_FOREACH (core->traces, trace)
		if (selector->grant_id == trace->grant_id ||
		    (selector->grant_id == 0 && is_of(trace->key, selector)))
			add(selection, trace->grant_id, trace->key, trace->uid);
}

static int id_compare(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

int core_select(const struct core *core, const struct core_caller *caller,
		const struct core_selector *selector, uint64_t *ret_ids,
		size_t capacity, struct fairlead_error *ret_error)
{
	struct core_selection selection = { .caller = caller,
					    .ids = ret_ids,
					    .capacity = capacity };
	const struct job *job = NULL;

	while ((job = core_select_next(core, selector, job)) != NULL)
		add(&selection, job->grant_id, job->key, job->uid);
	add_released(&selection, core, selector);
	if (selection.count > capacity)
		selection.count = capacity;
	if (selection.count == 0 && selection.hidden > 0)
		return error_set(ret_error, -EPERM,
				 "the grant belongs to another user");
	if (selection.count == 0)
		return error_set(ret_error, -ENOENT,
				 "no such grant, or its events are not kept "
				 "any more");
	qsort(ret_ids, selection.count, sizeof(*ret_ids), id_compare);
	return (int)selection.count;
}

static json_t *gone_json(const struct core *core, uint64_t grant_id,
			 const char *key, uid_t uid)
{
	json_t *item = memory_have(json_object());

	view_number(item, "grant_id", grant_id);
	view_text(item, "key", key);
	view_text(item, "state", "gone");
	view_number(item, "uid", uid);
	view_set(item, "ids", json_object());
	view_set(item, "holds", json_array());
	view_set(item, "waits", json_array());
	view_set(item, "quarantined", json_object());
	view_outside_add(core, item, grant_id);
	return item;
}

/* A grant whose events are kept. */
static json_t *kept_json(const struct core *core, uint64_t grant_id)
{
	const struct tombstone *tombstone =
		tombstones_find_id(&core->tombstones, grant_id);
	const struct trace *trace;

	if (tombstone != NULL)
		return gone_json(core, grant_id, tombstone->key,
				 tombstone->uid);
	DL_FOREACH (core->traces, trace)
		if (trace->grant_id == grant_id)
			break;
	return gone_json(core, grant_id, trace->key, trace->uid);
}

/* One whose events are not kept: the client knows its key. */
static int forgotten_add(const struct core *core,
			 const struct core_caller *caller,
			 const struct core_selector *selector,
			 struct view_array *array,
			 struct fairlead_error *ret_error)
{
	const char *key = selector->key == NULL ? "" : selector->key;
	const struct tombstone *tombstone =
		selector->job == NULL ? core_select_tombstone(core, selector)
				      : NULL;

	if (tombstone == NULL)
		return error_set(ret_error, -ENOENT, "no such grant");
	if (!core_may_see(caller, key, tombstone->uid))
		return error_set(ret_error, -EPERM,
				 "the grant belongs to another user");
	view_array_add(array,
		       gone_json(core, tombstone->grant_id, key,
				 tombstone->uid),
		       GONE_BYTES);
	return 0;
}

/*
 * Add the grants that are over and are meant. -ENOENT, -EPERM with a text, and
 * none is added.
 */
static int gone_add(const struct core *core, const struct core_caller *caller,
		    const struct core_selector *selector,
		    struct view_array *array, struct fairlead_error *ret_error)
{
	uint64_t ids[CORE_JOB_GRANTS_MAX];
	int count = core_select(core, caller, selector, ids,
				CORE_JOB_GRANTS_MAX, ret_error);

	if (count == -ENOENT)
		return forgotten_add(core, caller, selector, array, ret_error);
	for (int i = 0; i < count; i++)
		if (!view_array_add(array, kept_json(core, ids[i]), GONE_BYTES))
			break;
	return count < 0 ? count : 0;
}

#define JOB_BYTES            512  /* of an item without its node list */
#define EXPLAIN_BYTES        3072 /* likewise */
#define IDENTIFIER_BYTES     384  /* likewise */
#define IDENTIFIER_NODES_MAX 8192 /* bytes; a longer list is left out */

/* --- list --- */

static json_t *job_json(const struct core *core, const struct job *job,
			const char *nodes)
{
	_auto_(freep) char *lost = core_nodes_text(core, job, CORE_NODES_LOST);
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

static bool is_state(const char *name)
{
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		if (strcmp(job_state_name((enum job_state)i), name) == 0)
			return true;
	return false;
}

int core_filter_check(const struct core *core, const struct core_filter *filter,
		      struct fairlead_error *ret_error)
{
	if (filter->state != NULL && !is_state(filter->state))
		return error_set(ret_error, -EINVAL,
				 "'%s' is not the state of a grant: reserved, "
				 "applying, active, releasing, released or "
				 "failed",
				 filter->state);
	if (filter->interconnect != NULL &&
	    interconnect_find(&core->interconnects, filter->interconnect) ==
		    DRIVER_NONE)
		return error_set(ret_error, -EINVAL,
				 "interconnect '%s' is not turned on",
				 filter->interconnect);
	return 0;
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
		nodes = core_nodes_text(core, job, CORE_NODES_ALL);
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
	_auto_(freep) char *nodes =
		core_nodes_text(core, job, CORE_NODES_UNCONFIRMED);
	json_t *waits = memory_have(json_array());

	if (job->apply_run != NULL && job->apply_run->is_gated)
		wait_add(waits, "external", NULL,
			 "the fabric manager has not answered yet", 0);
	else if (job->state == JOB_APPLYING)
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
	view_outside_add(core, item, job->grant_id);
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
		nodes = core_nodes_text(core, job, CORE_NODES_ALL);
		if (!view_array_add(&array, explain_json(core, job, nodes),
				    EXPLAIN_BYTES + 3 * strlen(nodes)))
			break;
	}
	if (hidden > 0 && json_array_size(array.items) == 0)
		result = error_set(ret_error, -EPERM,
				   "the grant belongs to another user");
	else if (json_array_size(array.items) == 0)
		result = gone_add(core, caller, selector, &array, ret_error);
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
		all.nodes = core_nodes_text(core, job, CORE_NODES_UNCONFIRMED);
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
