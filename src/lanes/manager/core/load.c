/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows of the journal, back into tables. Nothing is decided here but that the
 * rows fit each other: an identifier has one holder, a grant id and a key stand
 * for one grant, what is referred to is there. A journal that contradicts
 * itself is refused, with the name of the row: to go on would be to guess.
 */
#include "lanes/manager/core/fleet.h"

#include <inttypes.h>
#include <stdio.h>

#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/out.h"
#include "lanes/manager/core/record.h"
#include "lanes/proto/names.h"

#define CURSOR_PREFIX "cursor/"

static int meta_load(struct core *core, const struct store_row *row,
		     struct fairlead_error *error)
{
	if (strcmp(row->key, "next_grant_id") == 0) {
		if (row->id == 0)
			return error_set(error, -EBADMSG, "it is 0");
		core->next_grant_id = row->id;
	} else if (strcmp(row->key, "recovering") == 0) {
		core->recovery = row->id;
	} else if (strncmp(row->key, CURSOR_PREFIX, strlen(CURSOR_PREFIX)) ==
			   0 &&
		   strlen(row->key) <= POOL_CURSOR_KEY_MAX) {
		core_cursor_set(core, row->key, row->id);
		core_cursors_apply(core);
	}
	/* Others keep numbers here as well. */
	return 0;
}

static int names_load(struct core *core, const struct store_row *row,
		      struct fairlead_error *error)
{
	char **names;
	size_t count;
	char *end;
	unsigned long chunk = strtoul(row->key + 1, &end, 10);
	int result;

	if (row->key[1] == 0 || *end != 0 ||
	    chunk >= CORE_NODES_MAX / NODE_CHUNK)
		return error_set(error, -EBADMSG, "its key is malformed");
	result = record_decode_names(row->body, row->size, &names, &count,
				     error);
	if (result < 0)
		return result;
	for (size_t i = 0; i < count && result == 0; i++) {
		if (names[i][0] == 0)
			continue;
		if (nodes_find(&core->nodes, names[i]) != NULL ||
		    nodes_add(&core->nodes, names[i],
			      (uint32_t)(chunk * NODE_CHUNK + i)) == NULL)
			result =
				error_set(error, -EBADMSG,
					  "node '%s' is there twice", names[i]);
	}
	record_names_destroy(names, count);
	return result;
}

static int node_load(struct core *core, const struct store_row *row,
		     struct fairlead_error *error)
{
	struct node *node;
	int result;

	if (row->key[0] == '#')
		return names_load(core, row, error);
	node = nodes_find(&core->nodes, row->key);
	if (node == NULL)
		return error_set(error, -EBADMSG,
				 "no row of names has that node");
	if (node->is_stored)
		return error_set(error, -EBADMSG, "it is there twice");
	result = record_decode_node(node, row->body, row->size, error);
	nodes_changed(&core->nodes, node);
	return result;
}

/* A job's identifiers on their way into the pools. */
struct ids_loading {
	struct interconnect *ic;
	bool is_quarantined;
	struct fairlead_error *error;
	int result;
};

static void id_load(const struct core_held *held, void *arg)
{
	struct ids_loading *loading = arg;
	struct pool *pool = &loading->ic->pools[held->pool];
	struct run_area area;
	int result;

	if (held->run == NULL) {
		result = pool_restore(pool, held->first,
				      loading->is_quarantined);
	} else {
		area = core_held_area(held);
		result = pool_run_restore(pool, &area, loading->is_quarantined);
	}
	if (result < 0 && loading->result == 0)
		loading->result = error_set(
			loading->error, -EBADMSG,
			"identifier %" PRIu32
			" of pool '%s' has another holder or is out of range",
			held->first, pool->name);
}

static int ids_load(struct core *core, struct job *job,
		    struct fairlead_error *error)
{
	struct interconnect *ic = core_interconnect(core, job);
	struct ids_loading loading = { .ic = ic,
				       .is_quarantined = job->is_quarantined,
				       .error = error };

	for (size_t i = 0; i < FAIRLEAD_POOLS_MAX; i++) {
		bool has_run = job->runs != NULL && job->runs[i].length > 0;

		if (job->id_counts[i] == 0)
			continue;
		if (i >= ic->pool_count)
			return error_set(error, -EBADMSG,
					 "interconnect '%s' has no such pool",
					 ic->driver->name);
		if (has_run != (ic->pools[i].runs != NULL))
			return error_set(error, -EBADMSG,
					 "pool '%s' of interconnect '%s' is of "
					 "another kind",
					 ic->pools[i].name, ic->driver->name);
	}
	core_ids_each(core, job, id_load, &loading);
	return loading.result;
}

static int parts_check(struct core *core, const struct job *job,
		       struct fairlead_error *error)
{
	int result = 0;
	uint32_t i;

	for (i = 0; i < job->part_count && result == 0; i++)
		if (nodes_at(&core->nodes, job->parts[i].node) == NULL)
			result = error_set(error, -EBADMSG,
					   "node %" PRIu32 " has no name",
					   job->parts[i].node);
	if (result < 0)
		return result;
	core_part_index_set(core, job);
	for (i = 0; i < job->part_count && result == 0; i++)
		if (core->part_numbers[job->parts[i].node] != i + 1)
			result = error_set(error, -EBADMSG,
					   "node %" PRIu32 " stands twice",
					   job->parts[i].node);
	core_part_index_clear(core, job);
	return result;
}

static int job_check(struct core *core, const struct job *job,
		     struct fairlead_error *error)
{
	if (job->grant_id <= core->last_loaded_id)
		return error_set(error, -EBADMSG,
				 "grant ids do not rise in the journal");
	if (job->grant_id >= core->next_grant_id)
		return error_set(error, -EBADMSG,
				 "the next grant id is %" PRIu64,
				 core->next_grant_id);
	if (jobs_find_key(&core->jobs, job->key) != NULL)
		return error_set(error, -EBADMSG,
				 "another grant has the same key");
	return parts_check(core, job, error);
}

static int job_load(struct core *core, const struct store_row *row,
		    struct fairlead_error *error)
{
	_auto_(job_destroyp) struct job *job = NULL;
	char driver[FAIRLEAD_DRIVER_NAME_MAX + 1];
	int result = record_decode_job(row->id, row->key, row->body, row->size,
				       &job, driver, error);

	if (result < 0)
		return result;
	result = job_check(core, job, error);
	if (result < 0)
		return result;
	job->driver = interconnect_find(&core->interconnects, driver);
	if (job->driver == DRIVER_NONE)
		return error_set(error, -EINVAL,
				 "interconnect '%s' is not turned on: turn it "
				 "on until its grants are released",
				 driver);
	result = ids_load(core, job, error);
	if (result < 0)
		return result;
	core->last_loaded_id = job->grant_id;
	core_job_add(core, take_ptr(job));
	return 0;
}

static int part_load(struct core *core, const struct store_row *row,
		     struct fairlead_error *error)
{
	struct job *job = jobs_find(&core->jobs, row->id);
	struct part loaded, *part;
	int result;

	if (job == NULL || row->sub >= job->part_count)
		return error_set(error, -EBADMSG, "there is no such part");
	result = record_decode_part(row->body, row->size, &loaded, error);
	if (result < 0)
		return result;
	part = &job->parts[row->sub];
	job->unconfirmed_count -= part_is_unconfirmed(part);
	part->state = loaded.state;
	part->serial = loaded.serial;
	job->unconfirmed_count += part_is_unconfirmed(part);
	job->has_part_rows = true;
	return 0;
}

static int tombstone_load(struct core *core, const struct store_row *row,
			  struct fairlead_error *error)
{
	struct record_tombstone tombstone;
	int result = record_decode_tombstone(row->body, row->size, &tombstone,
					     error);

	if (result < 0)
		return result;
	if (row->id >= core->next_grant_id ||
	    jobs_find(&core->jobs, row->id) != NULL || !name_is_key(row->key))
		return error_set(error, -EBADMSG,
				 "its grant is live or was never given");
	if (tombstone.is_trace) {
		core_trace_add(core, row->id, row->key, tombstone.uid);
		return 0;
	}
	if (jobs_find_key(&core->jobs, row->key) != NULL)
		return error_set(error, -EBADMSG, "its key is live");
	if (core->loaded_count == core->loaded_capacity) {
		core->loaded_capacity = memory_more(core->loaded_capacity);
		core->loaded =
			memory_resize(core->loaded, core->loaded_capacity,
				      sizeof(*core->loaded));
	}
	core->loaded[core->loaded_count++] = (struct loaded_tombstone){
		.grant_id = row->id,
		.number = row->sub,
		.key = memory_text(row->key),
		.uid = tombstone.uid,
		.gid = tombstone.gid,
	};
	return 0;
}

static void row_name(const struct store_row *row, char *name, size_t capacity)
{
	static const char *const tables[STORE_TABLE_COUNT] = {
		[STORE_META] = "meta",       [STORE_JOB] = "job",
		[STORE_PART] = "part",       [STORE_TOMBSTONE] = "tombstone",
		[STORE_EVENT] = "event",     [STORE_NODE] = "node",
		[STORE_OUTSIDE] = "outside",
	};
	const char *table =
		row->table < STORE_TABLE_COUNT ? tables[row->table] : "unknown";

	if (row->table == STORE_META || row->table == STORE_NODE)
		snprintf(name, capacity, "%s row '%.100s'", table, row->key);
	else
		snprintf(name, capacity, "%s row %" PRIu64, table, row->id);
}

const enum store_table core_load_order[CORE_LOAD_COUNT] = {
	STORE_META, STORE_NODE,      STORE_JOB,
	STORE_PART, STORE_TOMBSTONE, STORE_OUTSIDE,
};

int core_load(struct core *core, const struct store_row *row,
	      struct fairlead_error *ret_error)
{
	static int (*const loaders[STORE_TABLE_COUNT])(
		struct core * core, const struct store_row *row,
		struct fairlead_error *error) = {
		[STORE_META] = meta_load, [STORE_JOB] = job_load,
		[STORE_PART] = part_load, [STORE_TOMBSTONE] = tombstone_load,
		[STORE_NODE] = node_load, [STORE_OUTSIDE] = core_outside_load,
	};
	struct fairlead_error error = { 0 };
	char name[128];
	int result = -EBADMSG;

	if (row->table < STORE_TABLE_COUNT && loaders[row->table] != NULL)
		result = loaders[row->table](core, row, &error);
	else
		error_set(&error, -EBADMSG, "it is of no use here");
	if (result == 0)
		return 0;
	row_name(row, name, sizeof(name));
	return error_set(ret_error, result, "%s: %s", name, error.text);
}

/* --- when all rows are there --- */

/* The tombstones into the order of their numbers, which have no gap. */
static int tombstones_order(struct core *core, struct fairlead_error *error)
{
	size_t count = core->loaded_count;
	_auto_(freep) struct loaded_tombstone **ordered =
		memory_array(count, sizeof(*ordered));
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < count; i++)
		if (core->loaded[i].number < first)
			first = core->loaded[i].number;
	for (size_t i = 0; i < count; i++) {
		uint64_t slot = core->loaded[i].number - first;

		if (slot >= count || ordered[slot] != NULL || first == 0)
			return error_set(error, -EBADMSG,
					 "tombstone row %" PRIu64
					 ": its number does not fit",
					 core->loaded[i].grant_id);
		ordered[slot] = &core->loaded[i];
	}
	if (count > 0)
		core->tombstones.first = first;
	for (size_t i = 0; i < count; i++) {
		uint64_t old;

		if (tombstones_is_full(&core->tombstones, &old) ||
		    tombstones_add(&core->tombstones, ordered[i]->grant_id,
				   ordered[i]->key, ordered[i]->uid,
				   ordered[i]->gid) < 0)
			return error_set(error, -EBADMSG,
					 "tombstone row %" PRIu64
					 ": its key is there twice, or there "
					 "are too many",
					 ordered[i]->grant_id);
		if (tombstones_has_old_key(&core->tombstones, &old))
			tombstones_forget_old_key(&core->tombstones);
	}
	return 0;
}

void core_loaded_free(struct core *core)
{
	for (size_t i = 0; i < core->loaded_count; i++)
		free(core->loaded[i].key);
	free(core->loaded);
	core->loaded = NULL;
	core->loaded_count = 0;
	core->loaded_capacity = 0;
}

/* A node that registered again since has nothing of an earlier boot. */
static int parts_fence(struct core *core, struct job *job,
		       struct fairlead_error *error)
{
	for (uint32_t i = 0; i < job->part_count; i++) {
		struct part *part = &job->parts[i];
		const struct node *node = nodes_at(&core->nodes, part->node);

		if (!part_is_unconfirmed(part) || part->serial == node->serial)
			continue;
		if (part->serial > node->serial || job->state == JOB_APPLYING)
			return error_set(error, -EBADMSG,
					 "job row %" PRIu64
					 ": node '%s' has not that many boots",
					 job->grant_id, node->name);
		part->state = part_state_lost(job, part) & 7u;
		job->unconfirmed_count--;
	}
	return 0;
}

int core_loaded(struct core *core, struct fairlead_error *ret_error)
{
	int result = tombstones_order(core, ret_error);
	struct job *job, *next;

	core_loaded_free(core);
	HASH_ITER (hh, core->jobs.by_id, job, next) {
		if (result < 0)
			return result;
		result = parts_fence(core, job, ret_error);
	}
	return result;
}
