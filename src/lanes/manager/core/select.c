/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may do and see what, and which grants a selector means: live ones, then
 * released ones and traces whose events are kept. root may do everything, a
 * submitter what concerns keys under its name, an owner may look.
 */
#include <assert.h>
#include <inttypes.h>
#include <utlist.h>

#include "lanes/manager/core/grants.h"

bool core_may_act(const struct core_caller *caller, const char *key)
{
	size_t size;

	if (caller->is_root)
		return true;
	if (caller->submitter == NULL)
		return false;
	size = strlen(caller->submitter);
	return strncmp(key, caller->submitter, size) == 0 && key[size] == '/';
}

bool core_may_see(const struct core_caller *caller, const char *key,
		  uid_t owner)
{
	return caller->uid == owner || core_may_act(caller, key);
}

static bool is_of(const char *key, const struct core_selector *selector)
{
	size_t size;

	if (selector->key != NULL)
		return strcmp(key, selector->key) == 0;
	size = strlen(selector->job);
	return strncmp(key, selector->job, size) == 0 &&
	       job_name_size(key) == size;
}

/* The next live grant that is meant, after `job` (NULL: the first). */
struct job *core_select_next(const struct core *core,
			     const struct core_selector *selector,
			     const struct job *job)
{
	if (selector->job == NULL) {
		if (job != NULL)
			return NULL;
		return selector->key != NULL
			       ? jobs_find_key(&core->jobs, selector->key)
			       : jobs_find(&core->jobs, selector->grant_id);
	}
	if (job != NULL)
		return job->sibling;
	return jobs_find_name(&core->jobs, selector->job,
			      strlen(selector->job));
}

const struct tombstone *core_select_tombstone(
	const struct core *core, const struct core_selector *selector)
{
	assert(selector->job == NULL);
	if (selector->key != NULL)
		return tombstones_find_key(&core->tombstones, selector->key);
	return tombstones_find_id(&core->tombstones, selector->grant_id);
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
