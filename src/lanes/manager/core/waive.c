/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An operator's assertion, for single identifiers and for whole nodes. It
 * counts for nodes that cannot confirm any more; a node that is up is asked
 * instead, and identifiers freed by force stay withheld until it confirms. If
 * the operator was wrong, the node's next registration shows it: what it
 * reports is withheld, and revoked again.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <utlist.h>

#include "lanes/manager/core/out.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"

bool core_operator_check(struct core *core, const struct core_operator *by,
			 size_t touched, size_t all, const char *what,
			 uint64_t token)
{
	if (by->is_forced || touched <= CORE_OPERATOR_FEW ||
	    touched * CORE_OPERATOR_SHARE <= all)
		return true;
	core_reply_error(core, token, EDGE_LIMIT_OPERATOR, -E2BIG,
			 "check that all of them are meant, then add --force",
			 "%zu of %zu %s would be touched, more than %d %%",
			 touched, all, what, 100 / CORE_OPERATOR_SHARE);
	return false;
}

/* --- identifiers --- */

/* How many identifiers of [first, last] are named. */
static uint32_t named_count(const struct idset *ids, uint32_t first,
			    uint32_t last)
{
	uint32_t count = 0;

	for (uint32_t id = first; id <= last; id++)
		count += idset_has(ids, id);
	return count;
}

/* The run that the job has of the pool, by its first identifier; or NULL. */
static const uint32_t *job_run(const struct job *job,
			       const struct interconnect *ic,
			       const struct pool *pool)
{
	size_t place = 0;

	if (pool->runs == NULL)
		return NULL;
	for (size_t i = 0; &ic->pools[i] != pool; i++)
		place += job->id_counts[i];
	return job->id_counts[pool - ic->pools] > 0 ? &job->ids[place] : NULL;
}

/*
 * The selected identifiers of the job, waived from now on. Any identifier
 * selects its run.
 */
static uint16_t waived_with(const struct core *core, const struct job *job,
			    const struct pool *pool, const struct idset *ids)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];
	const uint32_t *run = job_run(job, ic, pool);
	unsigned int waived = job->waived;
	size_t place = 0;

	if (run != NULL) {
		if (named_count(ids, run[0], run[1]) > 0)
			waived |= 3u << (run - job->ids);
		return (uint16_t)waived;
	}
	for (size_t i = 0; i < ic->pool_count; i++)
		for (size_t n = 0; n < job->id_counts[i]; n++, place++)
			if (&ic->pools[i] == pool &&
			    idset_has(ids, job->ids[place]))
				waived |= 1u << place;
	return (uint16_t)waived;
}

static bool is_meant(struct core *core, const struct job *job,
		     const struct interconnect *ic, const struct pool *pool,
		     const struct idset *ids)
{
	return job->is_quarantined && core_interconnect(core, job) == ic &&
	       waived_with(core, job, pool, ids) != job->waived;
}

/*
 * Nobody has said that a node that is up does not hold these any more: until
 * it does, they are withheld as if it had reported them.
 */
static void waived_withhold(struct core *core, const struct job *job,
			    unsigned int places)
{
	const struct interconnect *ic = &core->interconnects.list[job->driver];
	struct report report = { .kind = REPORT_RELEASED,
				 .grant_id = job->grant_id };

	strcpy(report.driver, ic->driver->name);
	for (size_t place = 0; place < job->id_count; place++)
		if (places >> place & 1)
			report.ids[report.id_count++] = job->ids[place];
	for (uint32_t i = 0; i < job->part_count; i++) {
		struct node *node = nodes_at(&core->nodes, job->parts[i].node);

		if (!part_is_unconfirmed(&job->parts[i]) ||
		    node->state != NODE_UP)
			continue;
		core_reports_add(core, node, &report);
		core_store_node(core, node);
		core_retry_reports(core);
		core->ops->look(core->ops_ctx, node->name);
	}
}

/* Waived identifiers of a pool no longer belong to the job. */
static void ids_waive(struct core *core, struct job *job, struct pool *pool,
		      unsigned int places, const struct core_operator *by)
{
	const struct interconnect *ic = core_interconnect(core, job);
	const uint32_t *run = job_run(job, ic, pool);
	char text[32];

	if (run != NULL && places != 0) {
		const struct core_held held = {
			.first = run[0],
			.last = run[1],
			.run = &job->runs[pool - ic->pools],
		};
		struct run_area area = core_held_area(&held);

		snprintf(text, sizeof(text),
			 run[0] == run[1] ? "%" PRIu32 : "%" PRIu32 "-%" PRIu32,
			 run[0], run[1]);
		core_free_event(core, job, pool->name, text, by);
		pool_run_put(pool, &area, true);
		return;
	}
	for (size_t place = 0; place < job->id_count; place++) {
		if (!(places >> place & 1))
			continue;
		snprintf(text, sizeof(text), "%" PRIu32, job->ids[place]);
		core_free_event(core, job, pool->name, text, by);
		pool_put(pool, job->ids[place]);
	}
}

/* The job may be gone afterwards. */
static void job_waive(struct core *core, struct job *job, struct pool *pool,
		      const struct idset *ids, const struct core_operator *by)
{
	uint16_t before = job->waived;
	uint16_t waived = waived_with(core, job, pool, ids);

	waived_withhold(core, job, waived & ~before);
	/* When nothing of it is quarantined any more it is gone; a node that
	 * still has it gets a REVOKE at its next registration. */
	if (waived == (1u << job->id_count) - 1)
		core_job_waived(core, job, by);
	job->waived = waived;
	ids_waive(core, job, pool, waived & ~before, by);
	if (!core_settle(core, job))
		core_store_job(core, job);
}

/* The pool that is meant and its interconnect: false, and it is answered. */
static bool pool_find(struct core *core, const char *driver, const char *name,
		      uint64_t token, struct interconnect **ret_ic,
		      struct pool **ret_pool)
{
	size_t count = 0;

	interconnects_foreach(ic, &core->interconnects)
	{
		struct pool *pool = driver_pool(ic, name);

		if (pool == NULL ||
		    (driver != NULL && strcmp(ic->driver->name, driver) != 0))
			continue;
		*ret_ic = ic;
		*ret_pool = pool;
		count++;
	}
	if (count == 0)
		core_reply_error(core, token, EDGE_ERROR_QUARANTINE_ENOENT,
				 -ENOENT, "see `fairlead status`",
				 "there is no pool '%s'", name);
	if (count > 1)
		core_reply_error(core, token, EDGE_ERROR_QUARANTINE_EINVAL,
				 -EINVAL, "name the interconnect",
				 "several interconnects have a pool '%s'",
				 name);
	return count == 1;
}

static int ids_check(const struct pool *pool, const struct idset *ids,
		     struct fairlead_error *error)
{
	if (idset_count(ids) > CORE_WAIVED_IDS_MAX)
		return error_set(error, -EINVAL,
				 "more than %d identifiers at once",
				 CORE_WAIVED_IDS_MAX);
	idset_foreach (id, ids)
		if (!idset_has(pool->quarantined, id))
			return error_set(error, -EINVAL,
					 "%" PRIu32
					 " is not quarantined in pool '%s'",
					 id, pool->name);
	return 0;
}

/* Indexes of the nodes that are up and have unconfirmed parts of these jobs. */
struct witnesses {
	bool *has; /* nodes.limit of them */
	size_t part_count;
	const struct node *full; /* has no room for a report, or NULL */
};

static void witnesses_add(const struct core *core, const struct job *job,
			  struct witnesses *all)
{
	for (uint32_t i = 0; i < job->part_count; i++) {
		const struct node *node =
			nodes_at(&core->nodes, job->parts[i].node);

		if (!part_is_unconfirmed(&job->parts[i]) ||
		    node->state != NODE_UP)
			continue;
		all->has[node->index] = true;
		all->part_count++;
		if (node->report_count > CORE_REPORTS_MAX - CORE_WAIVED_IDS_MAX)
			all->full = node;
	}
}

static char *witnesses_text(const struct core *core,
			    const struct witnesses *all)
{
	_auto_(freep) const char **names =
		memory_array(core->nodes.count, sizeof(*names));
	size_t count = 0;

	nodes_foreach(node, &core->nodes) if (all->has[node->index])
		names[count++] = node->name;
	return memory_have(hostlist_format(names, count));
}

/* False, and it is answered: nodes that are up know better. */
static bool witnesses_check(struct core *core, const struct witnesses *all,
			    const struct core_operator *by, uint64_t token)
{
	_auto_(freep) char *nodes = NULL;

	if (all->part_count == 0)
		return true;
	if (!by->is_forced) {
		nodes = witnesses_text(core, all);
		core_reply_error(core, token, EDGE_ERROR_QUARANTINE_EBUSY,
				 -EBUSY,
				 "it is free when they have confirmed: see "
				 "what keeps them with `fairlead node query "
				 "NODE objects`, or reboot them; --force "
				 "withholds it until they say that it is gone",
				 "nodes that are up may still hold it: %s",
				 nodes);
		return false;
	}
	if (all->part_count <= CORE_FORCED_PARTS_MAX && all->full == NULL)
		return true;
	core_reply_error(core, token, EDGE_ERROR_QUARANTINE_EINVAL, -EINVAL,
			 "name fewer identifiers",
			 "more is held on nodes that are up than can be "
			 "withheld at once");
	return false;
}

/* False, and it is answered: a part of a run is named. */
static bool run_named(struct core *core, const struct job *job,
		      const struct interconnect *ic, const struct pool *pool,
		      const struct idset *ids, uint64_t token)
{
	const uint32_t *run = job_run(job, ic, pool);

	if (run == NULL ||
	    named_count(ids, run[0], run[1]) == run[1] - run[0] + 1)
		return true;
	core_reply_error(core, token, EDGE_ERROR_QUARANTINE_EINVAL, -EINVAL,
			 "name the whole run",
			 "%" PRIu32 "-%" PRIu32 " of pool '%s' are one run of "
			 "grant %" PRIu64,
			 run[0], run[1], pool->name, job->grant_id);
	return false;
}

/* False, and it is answered: the assertion is refused. */
static bool release_check(struct core *core, const struct interconnect *ic,
			  const struct pool *pool, const struct idset *ids,
			  const struct core_operator *by, uint64_t token)
{
	_auto_(freep) bool *has = memory_array(core->nodes.limit, sizeof(*has));
	struct witnesses witnesses = { .has = has };
	const struct job *job;
	size_t touched = 0;

	DL_FOREACH (core->unconfirmed, job) {
		if (!is_meant(core, job, ic, pool, ids))
			continue;
		if (!run_named(core, job, ic, pool, ids, token))
			return false;
		touched++;
		witnesses_add(core, job, &witnesses);
	}
	return witnesses_check(core, &witnesses, by, token) &&
	       core_operator_check(core, by, touched, core->jobs.count,
				   "grants", token);
}

void core_quarantine_release(struct core *core, const struct core_operator *by,
			     const char *driver, const char *pool_name,
			     const char *ids, uint64_t token)
{
	_auto_(idset_destroyp) struct idset *set = NULL;
	struct idset *before[CORE_DRIVERS_MAX][FAIRLEAD_POOLS_MAX];
	struct fairlead_error error = { 0 };
	struct interconnect *ic = NULL;
	struct pool *pool = NULL;
	struct job *job, *next;

	if (!pool_find(core, driver, pool_name, token, &ic, &pool))
		return;
	if (idset_parse(ids, pool->limit, &set, &error) < 0 ||
	    ids_check(pool, set, &error) < 0) {
		core_reply_error(core, token, EDGE_ERROR_QUARANTINE_EINVAL,
				 -EINVAL, "see `fairlead quarantine list`",
				 "%s", error.text);
		return;
	}
	if (!release_check(core, ic, pool, set, by, token))
		return;
	core_quarantine_copy(core, before);
	DL_FOREACH_SAFE (core->unconfirmed, job, next)
		if (is_meant(core, job, ic, pool, set))
			job_waive(core, job, pool, set, by);
	core_quarantine_answer(core, token, before);
}

/* --- nodes --- */

/* Host list to nodes; false: one is unknown, and it is answered. */
bool core_nodes_named(struct core *core, const char *text, uint64_t token,
		      struct node ***ret_nodes, size_t *ret_count)
{
	_auto_(hostlist_destroyp) struct hostlist *list = NULL;
	struct fairlead_error error = { 0 };
	struct node **nodes;
	int duplicate;

	if (hostlist_parse(text, &list, &error) < 0) {
		core_reply_error(core, token, EDGE_ERROR_NODE_EINVAL, -EINVAL,
				 NULL, "%s", error.text);
		return false;
	}
	if (list->count > CORE_NAMED_NODES_MAX) {
		core_reply_error(core, token, EDGE_ERROR_NODE_EINVAL, -EINVAL,
				 "name fewer nodes",
				 "more than %d nodes at once",
				 CORE_NAMED_NODES_MAX);
		return false;
	}
	duplicate = hostlist_duplicate(list);
	if (duplicate >= 0) {
		core_reply_error(core, token, EDGE_ERROR_NODE_EINVAL, -EINVAL,
				 NULL, "node '%s' stands twice in the list",
				 list->names[duplicate]);
		return false;
	}
	nodes = memory_array(list->count, sizeof(struct node *));
	for (size_t i = 0; i < list->count; i++) {
		nodes[i] = nodes_find(&core->nodes, list->names[i]);
		if (nodes[i] != NULL)
			continue;
		core_reply_error(core, token, EDGE_ERROR_NODE_ENOENT, -ENOENT,
				 "see `fairlead node list`",
				 "node '%s' is not known", list->names[i]);
		free(nodes);
		return false;
	}
	*ret_nodes = nodes;
	*ret_count = list->count;
	return true;
}

/* Grants with unconfirmed parts on these nodes. */
static size_t unconfirmed_jobs(const struct core *core,
			       struct node *const *nodes, size_t count)
{
	_auto_(freep) bool *has =
		memory_array(core->jobs.slot_capacity, sizeof(*has));
	size_t unconfirmed_count = 0;

	for (size_t i = 0; i < count; i++) {
		for (uint32_t n = 0; n < nodes[i]->job_count; n++) {
			uint32_t slot = nodes[i]->jobs[n];
			const struct job *job = jobs_at(&core->jobs, slot);

			if (has[slot] || !part_is_unconfirmed(job_part(
						 job, nodes[i]->index)))
				continue;
			has[slot] = true;
			unconfirmed_count++;
		}
	}
	return unconfirmed_count;
}

/* False, and it is answered: the assertion is refused. */
static bool fence_check(struct core *core, const struct core_operator *by,
			struct node *const *nodes, size_t count, uint64_t token)
{
	uint64_t jobs = 0;

	for (size_t i = 0; i < count; i++) {
		jobs += nodes[i]->job_count;
		if (nodes[i]->state == NODE_UP) {
			core_reply_error(core, token, EDGE_ERROR_NODE_EBUSY,
					 -EBUSY,
					 "take the node down first; one that "
					 "is up is asked again and again",
					 "node '%s' is up and can confirm "
					 "by itself",
					 nodes[i]->name);
			return false;
		}
	}
	if (jobs <= CORE_FENCED_JOBS_MAX)
		return core_operator_check(core, by,
					   unconfirmed_jobs(core, nodes, count),
					   core->jobs.count, "grants", token);
	core_reply_error(core, token, EDGE_ERROR_NODE_EINVAL, -EINVAL,
			 "name fewer nodes",
			 "the nodes have %" PRIu64
			 " grants together, more than %d at once",
			 jobs, CORE_FENCED_JOBS_MAX);
	return false;
}

static void node_fence(struct core *core, struct node *node,
		       const struct core_operator *by)
{
	/* The node's jobs change while they are looked at. */
	uint32_t count = node->job_count;
	_auto_(freep) uint32_t *slots = memory_array(count, sizeof(*slots));

	if (count > 0)
		memcpy(slots, node->jobs, count * sizeof(*slots));
	for (uint32_t i = 0; i < count; i++) {
		struct job *job = jobs_at(&core->jobs, slots[i]);
		struct part *part = job_part(job, node->index);

		if (!part_is_unconfirmed(part))
			continue;
		core_parts_confirmed(core, job, &part, 1, CONFIRM_WAIVED, by);
		if (job->state >= JOB_RELEASED)
			core_settle(core, job);
	}
	/* Whichever machine comes next under this name is the right one. */
	node->past_count = 0;
	if (!node->is_configured)
		core_reports_set(core, node, NULL, 0);
	core_store_node(core, node);
	core_drain_settle(core, node);
}

void core_node_fence(struct core *core, const struct core_operator *by,
		     const char *text, uint64_t token)
{
	_auto_(freep) struct node **nodes = NULL;
	struct idset *before[CORE_DRIVERS_MAX][FAIRLEAD_POOLS_MAX];
	size_t count;

	if (!core_nodes_named(core, text, token, &nodes, &count))
		return;
	if (!fence_check(core, by, nodes, count, token))
		return;
	core_quarantine_copy(core, before);
	for (size_t i = 0; i < count; i++)
		nodes[i]->is_pinned = true;
	for (size_t i = 0; i < count; i++)
		node_fence(core, nodes[i], by);
	for (size_t i = 0; i < count; i++)
		core_node_unpin(core, nodes[i]);
	core_quarantine_answer(core, token, before);
}
