/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as drivers and people see it. Waived identifiers no longer belong to
 * the job: its views leave them out. Its nodes still know them, so the lane
 * keeps them.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "lanes/manager/core/grants.h"

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
	memory_check(result);
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

struct run_area core_held_area(const struct core_held *held)
{
	return (struct run_area){ .low = held->run->low,
				  .high = held->run->high,
				  .first = held->first,
				  .last = held->last };
}

void core_ids_each(const struct core *core, const struct job *job,
		   void (*fn)(const struct core_held *held, void *arg),
		   void *arg)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];
	size_t next = 0;

	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		bool is_run = job->runs != NULL && job->runs[i].length > 0;
		size_t step = is_run ? 2 : 1;

		for (size_t n = 0; n < job->id_counts[i]; n += step) {
			struct core_held held = {
				.pool = i,
				.first = job->ids[next],
				.last = job->ids[next + step - 1],
				.run = is_run ? &job->runs[i] : NULL,
			};

			assert(i < ic->pool_count);
			if (!(job->waived >> next & 1))
				fn(&held, arg);
			next += step;
		}
	}
	assert(next == job->id_count);
}

/* A job's identifiers of one pool, while they are collected. */
struct id_list {
	struct {
		uint32_t first, last;
	} spans[FAIRLEAD_LANE_IDS_MAX];
	size_t count;
};

/* Into its place: a lane has few identifiers, mostly in order. */
static void id_insert(const struct core_held *held, void *arg)
{
	struct id_list *list = (struct id_list *)arg + held->pool;
	size_t i = list->count++;

	for (; i > 0 && list->spans[i - 1].first > held->first; i--)
		list->spans[i] = list->spans[i - 1];
	list->spans[i].first = held->first;
	list->spans[i].last = held->last;
}

/* As an id set's text: "1024-1025,1030". */
static void list_format(const struct id_list *list, char text[CORE_IDS_TEXT])
{
	size_t used = 0;

	text[0] = 0;
	for (size_t from = 0, to; from < list->count; from = to) {
		uint32_t first = list->spans[from].first, last;

		to = from + 1;
		while (to < list->count &&
		       list->spans[to].first == list->spans[to - 1].last + 1)
			to++;
		last = list->spans[to - 1].last;
		used += (size_t)snprintf(text + used, CORE_IDS_TEXT - used,
					 "%s%" PRIu32, from > 0 ? "," : "",
					 first);
		if (last > first)
			used += (size_t)snprintf(text + used,
						 CORE_IDS_TEXT - used,
						 "-%" PRIu32, last);
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
	json_t *object = memory_have(json_object());

	core_ids_texts(core, job, texts);
	for (size_t i = 0; i < ic->pool_count; i++)
		if (texts[i][0] != 0)
			json_object_set_new(object, ic->pools[i].name,
					    memory_have(json_string(texts[i])));
	return object;
}

char *core_nodes_text(const struct core *core, const struct job *job)
{
	const char **names = memory_array(job->part_count, sizeof(*names));
	char *text;

	for (uint32_t i = 0; i < job->part_count; i++)
		names[i] = nodes_at(&core->nodes, job->parts[i].node)->name;
	text = memory_have(hostlist_format(names, job->part_count));
	free(names);
	return text;
}
