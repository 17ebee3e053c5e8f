/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job as drivers and people see it. Identifiers that an operator has waived
 * are the job's no more: they are left out wherever it says what it holds, but
 * its nodes still know them, so that a lane keeps them.
 */
#include <assert.h>

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

struct id_sets {
	const struct interconnect *ic;
	struct idset *sets[FAIRLEAD_POOLS_MAX];
};

static void id_add(size_t pool, uint32_t id, void *arg)
{
	struct id_sets *all = arg;

	if (all->sets[pool] == NULL &&
	    idset_create(all->ic->pools[pool].limit, &all->sets[pool]) < 0)
		abort();
	idset_add(all->sets[pool], id);
}

json_t *core_ids_json(const struct core *core, const struct job *job)
{
	struct id_sets all = { .ic = &core->interconnects.list[job->driver] };
	json_t *object = memory_check(json_object());

	core_ids_each(core, job, id_add, &all);
	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		char *text;

		if (all.sets[i] == NULL)
			continue;
		text = memory_check(idset_format(all.sets[i]));
		json_object_set_new(object, all.ic->pools[i].name,
				    memory_check(json_string(text)));
		free(text);
		idset_destroy(all.sets[i]);
	}
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
