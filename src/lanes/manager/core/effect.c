/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Effects: requests to the outside that a driver's decision brings.
 *
 * Those of a reservation gate its apply, and are never repeated: after a
 * restart nobody knows how they ended, and the driver is told -ETIMEDOUT.
 * Those of a release take things back, which may be done twice: after a
 * restart the driver is asked for them again. A job is not gone before they
 * have ended, one way or the other; that they failed is an event, and holds
 * back no identifier, since nodes are not concerned.
 */
#include <assert.h>
#include <stdio.h>
#include <utlist.h>

#include "lanes/manager/core/event.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"

#define EFFECTS_STEP 1024 /* that end at one tick */

static int list_add(struct fairlead_effects *effects,
		    const struct fairlead_effect *effect)
{
	struct effect_list *list = (struct effect_list *)effects;
	size_t i = list->count;

	if (i == list->room)
		return -ENOSPC;
	list->list[i].effect = *effect;
	list->list[i].kind = memory_text_or_null(effect->kind);
	list->list[i].body = memory_text_or_null(effect->body);
	list->list[i].effect.kind = list->list[i].kind;
	list->list[i].effect.body = list->list[i].body;
	list->count++;
	return 0;
}

void effect_list_init(struct effect_list *list, size_t pending)
{
	assert(pending <= CORE_EFFECTS_MAX);
	list->effects.add = list_add;
	list->count = 0;
	list->room = CORE_EFFECTS_MAX - pending;
}

void effect_list_fini(struct effect_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->list[i].kind);
		free(list->list[i].body);
	}
	list->count = 0;
}

void core_effects_pend(struct job *job, const struct effect_list *list)
{
	job->effects =
		memory_resize(job->effects, job->effect_count + list->count,
			      sizeof(*job->effects));
	for (size_t i = 0; i < list->count; i++)
		job->effects[job->effect_count++] = list->list[i].effect.id;
}

void core_effects_run(struct core *core, struct job *job,
		      const struct effect_list *list, bool is_release)
{
	const char *driver = core_interconnect(core, job)->driver->name;

	for (size_t i = 0; i < list->count; i++) {
		const struct fairlead_effect *effect = &list->list[i].effect;
		struct effect_entry *entry = memory_array(1, sizeof(*entry));

		entry->grant_id = job->grant_id;
		entry->effect_id = effect->id;
		entry->is_release = is_release;
		entry->deadline_ms = core_now_ms(core) + effect->deadline_ms;
		DL_APPEND(core->effects, entry);
		core_hit(core, EDGE_EFFECT_ADD);
		core->ops->effect(core->ops_ctx, job->grant_id, driver, effect);
	}
}

static void entry_remove(struct core *core, struct effect_entry *entry)
{
	DL_DELETE(core->effects, entry);
	free(entry);
}

static struct effect_entry *entry_find(const struct core *core,
				       uint64_t grant_id, uint32_t effect_id)
{
	struct effect_entry *entry;

	DL_FOREACH (core->effects, entry)
		if (entry->grant_id == grant_id &&
		    entry->effect_id == effect_id)
			return entry;
	return NULL;
}

void core_effects_forget(struct core *core, struct job *job)
{
	struct effect_entry *entry, *next;

	DL_FOREACH_SAFE (core->effects, entry, next)
		if (entry->grant_id == job->grant_id && !entry->is_release)
			entry_remove(core, entry);
	job->effect_count = 0;
}

static void reservation_fail(struct core *core, struct job *job,
			     const struct fairlead_error *error)
{
	event_exception(core, job, EVENT_SEVERITY_FATAL, error->text);
	core_apply_refuse(job, EDGE_ERROR_APPLY_EFFECT, error);
	core_release_begin(core, job, REASON_RESERVE_FAILED);
}

/* What the driver makes of an effect's end; it may want further effects. */
static int complete(struct core *core, struct job *job, uint32_t effect_id,
		    int result, const char *body, struct effect_list *list,
		    struct fairlead_error *error)
{
	const struct interconnect *ic = core_interconnect(core, job);
	struct fairlead_lane lane;

	if (ic->driver->manager->complete == NULL) {
		if (result == 0)
			return 0;
		return error_set(error, result,
				 "a request to the outside "
				 "failed: %s",
				 strerrordesc_np(-result));
	}
	core_lane(job, &lane);
	result = ic->driver->manager->complete(ic->state, &lane, effect_id,
					       result, body, &list->effects,
					       error);
	return core_driver_result(result, error);
}

static void reservation_effect_end(struct core *core, struct job *job,
				   uint32_t effect_id, int result,
				   const char *body)
{
	struct fairlead_error error = { 0 };
	struct effect_list list;
	uint32_t i;

	for (i = 0; job->effects[i] != effect_id; i++)
		assert(i + 1 < job->effect_count);
	job->effects[i] = job->effects[--job->effect_count];
	effect_list_init(&list, job->effect_count);
	if (complete(core, job, effect_id, result, body, &list, &error) < 0) {
		core_hit(core, EDGE_EFFECT_FAILED);
		reservation_fail(core, job, &error);
	} else {
		core_hit(core, EDGE_EFFECT_DONE);
		core_effects_pend(job, &list);
		core_store_job(core, job);
		core_effects_run(core, job, &list, false);
		if (job->effect_count == 0)
			core_apply_ready(core, job);
	}
	effect_list_fini(&list);
}

static void release_effect_end(struct core *core, struct job *job, int result,
			       const char *body)
{
	assert(job->release_effect_count > 0);
	job->release_effect_count--;
	core_hit(core, result < 0 ? EDGE_EFFECT_FAILED : EDGE_EFFECT_DONE);
	if (result < 0) {
		char note[256];

		snprintf(note, sizeof(note),
			 "a request to the outside that takes something back "
			 "failed: %s%s%s",
			 strerrordesc_np(-result), body == NULL ? "" : ": ",
			 body == NULL ? "" : body);
		event_exception(core, job, EVENT_SEVERITY_WARNING, note);
	}
	core_store_job(core, job);
	if (job->state != JOB_RELEASING)
		core_settle(core, job);
}

static void entry_end(struct core *core, struct effect_entry *entry, int result,
		      const char *body)
{
	struct job *job = jobs_find(&core->jobs, entry->grant_id);
	uint32_t effect_id = entry->effect_id;
	bool is_release = entry->is_release;

	assert(job != NULL);
	entry_remove(core, entry);
	if (is_release)
		release_effect_end(core, job, result, body);
	else
		reservation_effect_end(core, job, effect_id, result, body);
}

void core_effect_done(struct core *core, uint64_t grant_id, uint32_t effect_id,
		      int result, const char *body)
{
	struct effect_entry *entry = entry_find(core, grant_id, effect_id);

	if (entry == NULL)
		core_hit(core, EDGE_EFFECT_LATE);
	else
		entry_end(core, entry, result, body);
}

static struct effect_entry *entry_due(const struct core *core, uint64_t now_ms)
{
	struct effect_entry *entry;

	DL_FOREACH (core->effects, entry)
		if (entry->deadline_ms <= now_ms)
			return entry;
	return NULL;
}

/* One at a time: the end of an effect may begin and forget others. */
void core_effects_tick(struct core *core, uint64_t now_ms)
{
	struct effect_entry *entry;

	/* What is left is due at once, in a commit of its own. */
	for (int i = 0; i < EFFECTS_STEP; i++) {
		entry = entry_due(core, now_ms);
		if (entry == NULL)
			return;
		entry_end(core, entry, -ETIMEDOUT, NULL);
	}
}

uint64_t core_effects_deadline_ms(const struct core *core)
{
	uint64_t deadline_ms = DEADLINE_NONE;
	const struct effect_entry *entry;

	DL_FOREACH (core->effects, entry)
		if (entry->deadline_ms < deadline_ms)
			deadline_ms = entry->deadline_ms;
	return deadline_ms;
}

size_t core_effects_count(const struct core *core)
{
	const struct effect_entry *entry;
	size_t count;

	DL_COUNT(core->effects, entry, count);
	return count;
}

void core_release_effects(struct core *core, struct job *job,
			  struct effect_list *list)
{
	const struct interconnect *ic = core_interconnect(core, job);
	struct fairlead_lane lane;

	effect_list_init(list, 0);
	core_lane(job, &lane);
	if (ic->driver->manager->release != NULL &&
	    ic->driver->manager->release(ic->state, &lane, &list->effects) < 0)
		abort();
	job->release_effect_count = (uint32_t)list->count;
}

void core_effects_restart(struct core *core, uint64_t grant_id)
{
	struct job *job = jobs_find(&core->jobs, grant_id);
	struct effect_list list;

	if (job->release_effect_count > 0) {
		core_release_effects(core, job, &list);
		core_store_job(core, job);
		core_effects_run(core, job, &list, true);
		effect_list_fini(&list);
	}
	while (job != NULL && job->state == JOB_RESERVED &&
	       job->effect_count > 0) {
		reservation_effect_end(core, job, job->effects[0], -ETIMEDOUT,
				       NULL);
		job = jobs_find(&core->jobs, grant_id);
	}
}
