/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Identifiers of a job that is over and that some node may still hold. They
 * are free again when each of its nodes has confirmed, was fenced or was
 * waived.
 */
#include <assert.h>
#include <utlist.h>

#include "lanes/manager/core/out.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

static void id_quarantine(const struct core_held *held, void *arg)
{
	struct interconnect *ic = arg;
	struct run_area area;

	if (held->run == NULL) {
		pool_quarantine(&ic->pools[held->pool], held->first);
		return;
	}
	area = core_held_area(held);
	pool_run_quarantine(&ic->pools[held->pool], &area);
}

void core_quarantine_enter(struct core *core, struct job *job)
{
	_auto_(freep) char *nodes =
		core_nodes_text(core, job, CORE_NODES_UNCONFIRMED);
	struct interconnect *ic = core_interconnect(core, job);
	char texts[FAIRLEAD_POOLS_MAX][CORE_IDS_TEXT];

	assert(!job->is_quarantined && job->unconfirmed_count > 0);
	core_ids_each(core, job, id_quarantine, ic);
	job->is_quarantined = true;
	job->since_us = clock_wall_us(core->clock);
	core_ids_texts(core, job, texts);
	for (size_t i = 0; i < ic->pool_count; i++) {
		struct event event;

		if (texts[i][0] == 0)
			continue;
		event_begin(&event, core, "quarantine");
		event_text(&event, "pool", ic->pools[i].name);
		event_text(&event, "ids", texts[i]);
		event_text(&event, "nodes", nodes);
		event_text(&event, "why", job->why);
		event_store(&event, core, job);
	}
	core_retry_schedule(core, job);
}

/* A job while its identifiers are put back. */
struct putting {
	struct interconnect *ic;
	bool was_quarantined;
};

static void id_put(const struct core_held *held, void *arg)
{
	const struct putting *putting = arg;
	struct pool *pool = &putting->ic->pools[held->pool];
	struct run_area area;

	if (held->run == NULL) {
		pool_put(pool, held->first);
		return;
	}
	area = core_held_area(held);
	pool_run_put(pool, &area, putting->was_quarantined);
}

void core_free_event(struct core *core, struct job *job, const char *pool,
		     const char *ids, const struct core_operator *by)
{
	struct event event;

	event_begin(&event, core, "free");
	event_text(&event, "pool", pool);
	event_text(&event, "ids", ids);
	if (by != NULL)
		event_number(&event, "uid", by->uid);
	event_store(&event, core, job);
}

void core_ids_free(struct core *core, struct job *job)
{
	struct interconnect *ic = core_interconnect(core, job);
	char texts[FAIRLEAD_POOLS_MAX][CORE_IDS_TEXT];

	core_ids_texts(core, job, texts);
	for (size_t i = 0; i < ic->pool_count; i++)
		if (texts[i][0] != 0)
			core_free_event(core, job, ic->pools[i].name, texts[i],
					NULL);
	core_ids_each(core, job, id_put,
		      &(struct putting){ ic, job->is_quarantined });
}

/* --- what an operator has freed, by what was quarantined before --- */

void core_quarantine_copy(const struct core *core,
			  struct idset *copies[][FAIRLEAD_POOLS_MAX])
{
	const struct interconnects *all = &core->interconnects;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		for (size_t n = 0; n < all->list[i].pool_count; n++)
			memory_check(
				idset_clone(all->list[i].pools[n].quarantined,
					    &copies[i][n]));
}

static void ids_put(json_t *ids, const char *pool, const struct idset *set)
{
	_auto_(freep) char *text = memory_have(idset_format(set));

	if (text[0] != 0)
		json_object_set_new(ids, pool, memory_have(json_string(text)));
}

/* What has left quarantine: free now, or withheld; `before` is used up. */
static void freed_split(const struct interconnect *ic,
			struct idset *before[FAIRLEAD_POOLS_MAX], json_t *freed,
			json_t *withheld)
{
	_auto_(json_decrefp) json_t *free_ids = memory_have(json_object());
	_auto_(json_decrefp) json_t *kept_ids = memory_have(json_object());

	for (size_t n = 0; n < ic->pool_count; n++) {
		const struct pool *pool = &ic->pools[n];
		_auto_(idset_destroyp) struct idset *set = before[n];
		_auto_(idset_destroyp) struct idset *kept = NULL;

		idset_subtract(set, pool->quarantined);
		memory_check(idset_clone(set, &kept));
		idset_intersect(kept, pool->withheld);
		idset_subtract(set, kept);
		ids_put(free_ids, pool->name, set);
		ids_put(kept_ids, pool->name, kept);
	}
	if (json_object_size(free_ids) > 0)
		json_object_set(freed, ic->driver->name, free_ids);
	if (json_object_size(kept_ids) > 0)
		json_object_set(withheld, ic->driver->name, kept_ids);
}

/* {"freed":{interconnect: {pool: ids}}, "withheld": likewise} */
void core_quarantine_answer(struct core *core, uint64_t token,
			    struct idset *before[][FAIRLEAD_POOLS_MAX])
{
	json_t *freed = memory_have(json_object());
	json_t *withheld = memory_have(json_object());
	_auto_(freep) char *text = NULL;
	json_t *members;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		freed_split(&core->interconnects.list[i], before[i], freed,
			    withheld);
	members = memory_have(json_pack("{s:o}", "freed", freed));
	if (json_object_size(withheld) > 0)
		json_object_set(members, "withheld", withheld);
	json_decref(withheld);
	text = core_json_text(members);
	core_reply_done(core, token, text);
}
