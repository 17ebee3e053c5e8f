/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as drivers and people see it. Identifiers that an operator has waived
 * are the job's no more: they are left out wherever it says what it holds, but
 * its nodes still know them, so that a lane keeps them.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "manager/core/state.h"

struct interconnect *core_interconnect(struct core *core, const struct job *job)
{
	assert(job->driver < CORE_DRIVERS_MAX);
	return &core->interconnects.list[job->driver];
}

void core_lane(const struct job *job, struct fairlead_lane *ret_lane)
{
	*ret_lane = (struct fairlead_lane){
		.grant_id = job->grant_id,
		.uid = job->uid,
		.gid = job->gid,
		.id_count = job->id_count,
	};
	memcpy(ret_lane->ids, job->ids, sizeof(job->ids));
	strcpy(ret_lane->options, job->options);
}

int core_driver_result(int result, struct fairlead_error *error)
{
	if (result == -ENOMEM)
		abort();
	if (result < 0 && error->code == 0)
		error_set(error, result, "%s", strerrordesc_np(-result));
	return result;
}

void core_describe(const struct core *core, const struct job *job,
		   const char *reason, const char **ret_event_name,
		   char **ret_context)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];
	struct fairlead_lane lane;

	core_lane(job, &lane);
	if (ic->driver->manager->describe(ic->state, &lane, reason,
					  ret_event_name, ret_context) < 0)
		abort();
}

void core_ids_each(const struct core *core, const struct job *job,
		   void (*fn)(size_t pool, uint32_t id, void *arg), void *arg)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];
	size_t next = 0;

	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		for (size_t n = 0; n < job->id_counts[i]; n++, next++) {
			assert(i < ic->pool_count);
			if (!(job->waived >> next & 1))
				fn(i, job->ids[next], arg);
		}
	}
	assert(next == job->id_count);
}

/* The identifiers of one pool while they are gathered. */
struct id_list {
	uint32_t ids[FAIRLEAD_LANE_IDS_MAX];
	size_t count;
};

/* Into its place: a lane has few identifiers, mostly in order. */
static void id_insert(size_t pool, uint32_t id, void *arg)
{
	struct id_list *list = (struct id_list *)arg + pool;
	size_t i = list->count++;

	for (; i > 0 && list->ids[i - 1] > id; i--)
		list->ids[i] = list->ids[i - 1];
	list->ids[i] = id;
}

/* As an id set's text: "1024-1025,1030". */
static void list_format(const struct id_list *list, char text[CORE_IDS_TEXT])
{
	size_t used = 0;

	text[0] = 0;
	for (size_t from = 0, to; from < list->count; from = to) {
		to = from + 1;
		while (to < list->count &&
		       list->ids[to] == list->ids[to - 1] + 1)
			to++;
		used += (size_t)snprintf(text + used, CORE_IDS_TEXT - used,
					 "%s%" PRIu32, from > 0 ? "," : "",
					 list->ids[from]);
		if (to > from + 1)
			used += (size_t)snprintf(text + used,
						 CORE_IDS_TEXT - used,
						 "-%" PRIu32,
						 list->ids[to - 1]);
	}
}

void core_ids_texts(const struct core *core, const struct job *job,
		    char texts[FAIRLEAD_POOLS_MAX][CORE_IDS_TEXT])
{
	struct id_list lists[FAIRLEAD_POOLS_MAX];

	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++)
		lists[i].count = 0;
	core_ids_each(core, job, id_insert, lists);
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++)
		list_format(&lists[i], texts[i]);
}

json_t *core_ids_json(const struct core *core, const struct job *job)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];
	char texts[FAIRLEAD_POOLS_MAX][CORE_IDS_TEXT];
	json_t *object = memory_check(json_object());

	core_ids_texts(core, job, texts);
	for (size_t i = 0; i < ic->pool_count; i++)
		if (texts[i][0] != 0)
			json_object_set_new(
				object, ic->pools[i].name,
				memory_check(json_string(texts[i])));
	return object;
}

char *core_nodes_text(const struct core *core, const struct job *job)
{
	const char **names = memory_zero(job->part_count, sizeof(*names));
	char *text;

	for (uint32_t i = 0; i < job->part_count; i++)
		names[i] = nodes_at(&core->nodes, job->parts[i].node)->name;
	text = memory_check(hostlist_format(names, job->part_count));
	free(names);
	return text;
}
