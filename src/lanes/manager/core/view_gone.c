/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `explain` of grants that are over and of which nothing is left: who they were
 * is in their tombstones and traces. What became of them is in their events,
 * which the caller reads.
 */
#include <errno.h>
#include <utlist.h>

#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/view.h"

#define GONE_BYTES 4096 /* of an item with what its events add */

static json_t *gone_json(uint64_t grant_id, const char *key, uid_t uid)
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
	return item;
}

/* A grant whose events are kept. */
static json_t *kept_json(const struct core *core, uint64_t grant_id)
{
	const struct tombstone *tombstone =
		tombstones_find_id(&core->tombstones, grant_id);
	const struct trace *trace;

	if (tombstone != NULL)
		return gone_json(grant_id, tombstone->key, tombstone->uid);
	DL_FOREACH (core->traces, trace)
		if (trace->grant_id == grant_id)
			break;
	return gone_json(grant_id, trace->key, trace->uid);
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
		       gone_json(tombstone->grant_id, key, tombstone->uid),
		       GONE_BYTES);
	return 0;
}

int view_gone(const struct core *core, const struct core_caller *caller,
	      const struct core_selector *selector, struct view_array *array,
	      struct fairlead_error *ret_error)
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
