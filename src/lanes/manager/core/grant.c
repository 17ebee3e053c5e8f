/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Grants: who may do and see what, which live ones a selector means, a job as
 * drivers and people see it, what a client gets, and the job in the table.
 *
 * root may do everything, a submitter what concerns keys under its name, an
 * owner may look.
 *
 * Waived identifiers no longer belong to the job: its views leave them out.
 * Its nodes still know them, so the lane keeps them.
 *
 * The same job gives the same grant at any time, since a repeated request gets
 * the same one. A job's random bytes are drawn once, and are in its row of the
 * journal and nowhere else; what its driver makes of them is sealed as soon as
 * it is made, and wiped. It is made again each time, so that there is one copy
 * to guard.
 */
#include <assert.h>
#include <inttypes.h>
#include <sodium.h>
#include <stdio.h>
#include <utlist.h>

#include "base/json_text.h"
#include "base/runs.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"
#include "lanes/proto/grant.h"

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

/* --- as drivers and people see it --- */

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

/* In order: a lane has few identifiers, mostly in order. */
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

const char **core_node_names(const struct core *core, const struct job *job)
{
	const char **names = memory_array(job->part_count, sizeof(*names));

	for (uint32_t i = 0; i < job->part_count; i++)
		names[i] = nodes_at(&core->nodes, job->parts[i].node)->name;
	return names;
}

static bool is_meant(const struct core *core, const struct job *job,
		     const struct part *part, enum core_nodes which)
{
	switch (which) {
	case CORE_NODES_UNAPPLIED:
		return part->state != PART_APPLIED;
	case CORE_NODES_LOST:
		return part_is_lost(job, part);
	case CORE_NODES_UNCONFIRMED:
		return part_is_unconfirmed(part);
	case CORE_NODES_UNREACHABLE:
		return part_is_unconfirmed(part) &&
		       nodes_at(&core->nodes, part->node)->state != NODE_UP;
	default:
		return true;
	}
}

char *core_nodes_text(const struct core *core, const struct job *job,
		      enum core_nodes which)
{
	_auto_(freep) const char **names =
		memory_array(job->part_count, sizeof(*names));
	size_t count = 0;

	for (uint32_t i = 0; i < job->part_count; i++)
		if (is_meant(core, job, &job->parts[i], which))
			names[count++] =
				nodes_at(&core->nodes, job->parts[i].node)
					->name;
	return count == 0 ? NULL : memory_have(hostlist_format(names, count));
}

/* --- secrets --- */

void core_secret_draw(struct core *core, struct job *job, uint32_t size)
{
	assert(size <= FAIRLEAD_SECRET_MAX);
	assert(core_interconnect(core, job)->driver->manager->pack != NULL);
	job->secret = memory_array(size, 1);
	job->secret_size = size;
	rng_fill(core->rng, job->secret, size);
}

/* The driver's work; the caller wipes and frees *ret_bytes. */
static int pack(struct core *core, const struct job *job,
		const struct outside_item *outside, const char *const *nodes,
		uint8_t **ret_bytes, size_t *ret_size,
		struct fairlead_error *error)
{
	static const struct fairlead_run none[FAIRLEAD_POOLS_MAX];
	const struct interconnect *ic = core_interconnect(core, job);
	_auto_(freep) uint32_t *tasks = NULL;
	struct fairlead_lane lane;
	struct fairlead_pack wanted = {
		.lane = &lane,
		.runs = job->runs == NULL ? none : job->runs,
		.node_count = job->part_count,
		.nodes = nodes,
		.secret = job->secret,
		.secret_size = job->secret_size,
	};

	if (outside != NULL && outside->state == OUTSIDE_HELD) {
		wanted.outside = outside->secret;
		wanted.outside_size = outside->secret_size;
	}
	/* It was checked on arrival. */
	if (runs_parse(job->tasks, job->part_count, &tasks, NULL) < 0)
		abort();
	wanted.tasks = tasks;
	core_lane(job, &lane);
	error->code = 0;
	return core_driver_result(ic->driver->manager->pack(ic->state, &wanted,
							    ret_bytes, ret_size,
							    error),
				  error);
}

int core_secret_seal(struct core *core, const struct job *job,
		     const struct outside_item *outside, struct writer *writer,
		     struct fairlead_error *ret_error)
{
	_auto_(freep) const char **names = NULL;
	struct core_secrets secrets = {
		.grant_id = job->grant_id,
		.node_count = job->part_count,
		.seed = job->secret,
		.seed_size = job->secret_size,
	};
	uint8_t *bytes = NULL;
	int result;

	if (job->secret == NULL)
		return 0;
	names = core_node_names(core, job);
	result = pack(core, job, outside, names, &bytes, &secrets.packed_size,
		      ret_error);
	if (result < 0)
		return result;
	assert(secrets.packed_size <= FAIRLEAD_PACKED_MAX);
	secrets.nodes = names;
	secrets.packed = bytes;
	/* Until there is an external reservation, it may be nothing. */
	if (secrets.packed_size > 0)
		core->ops->seal(core->ops_ctx, &secrets, writer);
	sodium_memzero(bytes, secrets.packed_size);
	free(bytes);
	return 0;
}

/* --- the grant --- */

bool core_grant_answer(struct core *core, const struct job *job,
		       const char *nodes, const char *context, uint64_t token)
{
	const struct grant_public public = {
		.grant_id = job->grant_id,
		.key = job->key,
		.interconnect =
			core->interconnects.list[job->driver].driver->name,
		.nodes = nodes,
		.uid = job->uid,
		.gid = job->gid,
		.id_count = job->id_count,
		.ids = job->ids,
		.options = job->options,
		.has_lane = job->has_lane,
		.context = context,
	};
	_auto_(freep) char *public_text = NULL;
	_auto_(freep) char *grant = NULL;
	struct fairlead_error error;
	struct writer sealed = { 0 };
	struct json_text text;
	int result = core_secret_seal(core, job, NULL, &sealed, &error);

	if (result < 0) {
		core_reply_failed(core, token, result, "release it", error.text,
				  NULL);
		return false;
	}
	/* A request is not so long. */
	if (grant_make(&public, job->epoch, sealed.data, sealed.size,
		       &public_text, &grant) < 0)
		abort();
	writer_fini(&sealed);
	text.writer = writer_borrow(&core->scratch);
	json_text_begin(&text);
	json_text_string(&text, "grant", grant);
	json_text_number(&text, "grant_id", job->grant_id);
	json_text_raw(&text, "public", public_text);
	json_text_end(&text);
	write_u8(&text.writer, 0);
	memory_check(text.writer.result);
	core_reply_done(core, token, (const char *)text.writer.data);
	writer_return(&core->scratch, &text.writer);
	return true;
}

void core_grant_answer_again(struct core *core, const struct job *job,
			     uint64_t token)
{
	_auto_(freep) char *nodes = core_nodes_text(core, job, CORE_NODES_ALL);
	_auto_(freep) char *context = NULL;
	const char *name;

	core_describe(core, job, job->empty_reason, &name, &context);
	core_grant_answer(core, job, nodes, context, token);
}

static bool is_unapplied(const struct job *job)
{
	return job->has_lane &&
	       (job->state == JOB_RESERVED || job->state == JOB_APPLYING);
}

void core_job_add(struct core *core, struct job *job)
{
	jobs_add(&core->jobs, job);
	core->interconnects.list[job->driver].job_count++;
	for (uint32_t i = 0; i < job->part_count; i++)
		node_job_add(nodes_at(&core->nodes, job->parts[i].node),
			     job->slot);
	if (is_unapplied(job))
		DL_APPEND(core->unapplied, job);
	if (job->state >= JOB_RELEASED)
		DL_APPEND(core->unconfirmed, job);
}

void core_job_set_state(struct core *core, struct job *job,
			enum job_state state)
{
	bool was_unapplied = is_unapplied(job);

	jobs_set_state(&core->jobs, job, state, &core->probe);
	if (was_unapplied && !is_unapplied(job))
		DL_DELETE(core->unapplied, job);
	if (state == JOB_RELEASED || state == JOB_FAILED)
		DL_APPEND(core->unconfirmed, job);
}

void core_job_remove(struct core *core, struct job *job)
{
	assert(job->state >= JOB_RELEASED && job->unconfirmed_count == 0);
	core_hit(core, job->state == JOB_FAILED ? EDGE_JOB_FAILED_GONE
						: EDGE_JOB_RELEASED_GONE);
	DL_DELETE(core->unconfirmed, job);
	core->interconnects.list[job->driver].job_count--;
	for (uint32_t i = 0; i < job->part_count; i++) {
		struct node *node = nodes_at(&core->nodes, job->parts[i].node);

		node_job_remove(node, job->slot);
		core_node_settle(core, node);
	}
	jobs_remove(&core->jobs, job);
}
