/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two questions that every test ends with. Do the tables agree with each
 * other? And does the journal say what the core thinks?
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <utlist.h>

#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grant.h"
#include "lanes/manager/core/record.h"
#include "lanes/manager/core/test/fixture.h"

/* --- the tables among themselves --- */

struct holders {
	struct idset *held[CORE_DRIVERS_MAX][FAIRLEAD_POOLS_MAX];
	struct idset *quarantined[CORE_DRIVERS_MAX][FAIRLEAD_POOLS_MAX];
	const struct core *core;
	const struct job *job;
	const struct core_held *run; /* of the job */
};

/* Never twice: no other run has a point of this one. */
static void run_alone(const struct core_held *held, void *arg)
{
	const struct holders *holders = arg;
	const struct core_held *mine = holders->run;

	if (held->run == NULL)
		return;
	assert_true(held->pool != mine->pool ||
		    held->run->low > mine->run->high ||
		    held->run->high < mine->run->low ||
		    held->first > mine->last || held->last < mine->first);
}

static void id_hold(const struct core_held *held, void *arg)
{
	struct holders *holders = arg;
	const struct job *job = holders->job;
	struct idset *holding = holders->held[job->driver][held->pool];
	struct idset *leaving = holders->quarantined[job->driver][held->pool];

	if (held->run != NULL) {
		const struct job *other;

		holders->run = held;
		for (other = job->hh.prev; other != NULL;
		     other = other->hh.prev)
			if (other->driver == job->driver)
				core_ids_each(holders->core, other, run_alone,
					      holders);
	}
	for (uint32_t id = held->first; id <= held->last; id++) {
		/* Never twice. */
		assert_true(held->run != NULL || (!idset_has(holding, id) &&
						  !idset_has(leaving, id)));
		idset_add(job->is_quarantined ? leaving : holding, id);
	}
}

static void job_verify(const struct core *core, const struct job *job)
{
	uint32_t unconfirmed = 0;

	for (uint32_t i = 0; i < job->part_count; i++) {
		const struct node *node =
			nodes_at(&core->nodes, job->parts[i].node);
		size_t found = 0;

		assert_non_null(node);
		for (uint32_t n = 0; n < node->job_count; n++)
			found += node->jobs[n] == job->slot;
		assert_int_equal(found, 1);
		unconfirmed += part_is_unconfirmed(&job->parts[i]);
		assert_true(job->parts[i].serial <= node->serial);
		/* What a rebooted node held is fenced. */
		if (part_is_unconfirmed(&job->parts[i]))
			assert_int_equal(job->parts[i].serial, node->serial);
	}
	assert_int_equal(job->unconfirmed_count, unconfirmed);
	assert_ptr_equal(jobs_at(&core->jobs, job->slot), job);
	if (job->state == JOB_RESERVED)
		assert_int_equal(unconfirmed, 0);
	if (job->state == JOB_ACTIVE && job->has_lane)
		assert_null(job->apply_run);
	/* A job that is over is kept for a reason. */
	if (job->state >= JOB_RELEASED)
		assert_true(unconfirmed > 0);
	assert_null(tombstones_find_key(&core->tombstones, job->key));
	assert_null(tombstones_find_id(&core->tombstones, job->grant_id));
	assert_true(job->grant_id < core->next_grant_id);
}

static void pools_verify(const struct core *core)
{
	struct holders holders = { .core = core };
	struct job *job, *next;

	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		const struct interconnect *ic = &core->interconnects.list[i];

		for (size_t n = 0; n < ic->pool_count; n++) {
			idset_create(ic->pools[n].limit, &holders.held[i][n]);
			idset_create(ic->pools[n].limit,
				     &holders.quarantined[i][n]);
		}
	}
	HASH_ITER (hh, core->jobs.by_id, job, next) {
		holders.job = job;
		core_ids_each(core, job, id_hold, &holders);
	}
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		const struct interconnect *ic = &core->interconnects.list[i];

		for (size_t n = 0; n < ic->pool_count; n++) {
			pool_verify(&ic->pools[n]);
			assert_true(idset_equal(holders.held[i][n],
						ic->pools[n].held));
			assert_true(idset_equal(holders.quarantined[i][n],
						ic->pools[n].quarantined));
			idset_destroy(holders.held[i][n]);
			idset_destroy(holders.quarantined[i][n]);
		}
	}
}

static void lists_verify(const struct core *core)
{
	uint32_t states[JOB_STATE_COUNT] = { 0 };
	const struct job *job;
	uint64_t before = 0;
	uint32_t over = 0, listed = 0;

	for (job = core->jobs.by_id; job != NULL; job = job->hh.next) {
		assert_true(job->grant_id > before);
		before = job->grant_id;
		states[job->state]++;
		over += job->state >= JOB_RELEASED;
		job_verify(core, job);
	}
	for (int i = 0; i < JOB_STATE_COUNT; i++)
		assert_int_equal(states[i], core->jobs.state_counts[i]);
	before = 0;
	DL_FOREACH (core->unapplied, job) {
		assert_true(job->has_lane && job->state <= JOB_APPLYING);
		assert_true(job->grant_id > before);
		before = job->grant_id;
	}
	DL_FOREACH (core->unconfirmed, job)
		listed += job->state >= JOB_RELEASED;
	assert_int_equal(over, listed);
}

static void nodes_verify(const struct core *core)
{
	uint32_t counts[NODE_COUNT_COUNT] = { 0 };

	nodes_foreach(node, &core->nodes)
	{
		assert_ptr_equal(nodes_find(&core->nodes, node->name), node);
		assert_false(node->is_pinned);
		assert_true(node->is_configured || node_is_needed(node));
		assert_true(node->is_drained || !node->is_drained_by_us);
		if (node->is_drained_by_us)
			assert_true(core_node_pending_count(core, node) > 0);
		counts[NODE_COUNT_UP] += node->state == NODE_UP;
		counts[NODE_COUNT_DOWN] += node->state != NODE_UP;
		counts[NODE_COUNT_LEAVING] += !node->is_configured;
		counts[NODE_COUNT_DRAINED] += node->is_drained;
		counts[NODE_COUNT_UNNOTIFIED] += node->is_unnotified;
	}
	assert_memory_equal(counts, core->nodes.counts, sizeof(counts));
}

/* --- the core and its journal --- */

static void bytes_compare(struct writer *left, struct writer *right,
			  const char *what, uint64_t id)
{
	assert_int_equal(left->result, 0);
	assert_int_equal(right->result, 0);
	if (left->size != right->size ||
	    memcmp(left->data, right->data, left->size) != 0)
		fail_msg("%s %llu is different in the journal", what,
			 (unsigned long long)id);
	writer_fini(left);
	writer_fini(right);
}

/*
 * What nodes have answered to a release that is under way is on disk only when
 * it is over: a manager that dies before asks them again.
 */
static void releasing_parts_allow(const struct job *job, struct job *twin)
{
	for (uint32_t i = 0; job->state == JOB_RELEASING && i < job->part_count;
	     i++)
		if (job->parts[i].state == PART_REVOKED &&
		    twin->parts[i].state == PART_REVOKING)
			twin->parts[i].state = PART_REVOKED;
}

static void jobs_compare(const struct core *core, struct core *other)
{
	const struct job *job;

	assert_int_equal(core->jobs.count, other->jobs.count);
	for (job = core->jobs.by_id; job != NULL; job = job->hh.next) {
		struct job *twin = jobs_find(&other->jobs, job->grant_id);
		struct writer left = { 0 }, right = { 0 };

		assert_non_null(twin);
		assert_string_equal(job->key, twin->key);
		releasing_parts_allow(job, twin);
		record_encode_job(job, "x", &left);
		record_encode_job(twin, "x", &right);
		bytes_compare(&left, &right, "grant", job->grant_id);
	}
}

static void nodes_compare(const struct core *core, const struct core *other)
{
	nodes_foreach(node, &core->nodes)
	{
		const struct node *twin = nodes_at(&other->nodes, node->index);
		struct writer left = { 0 }, right = { 0 };

		assert_non_null(twin);
		assert_string_equal(node->name, twin->name);
		record_encode_node(node, &left);
		record_encode_node(twin, &right);
		bytes_compare(&left, &right, node->name, 0);
	}
	assert_int_equal(core->nodes.count, other->nodes.count);
}

static void pools_compare(const struct core *core, const struct core *other)
{
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		const struct interconnect *ic = &core->interconnects.list[i];
		const struct interconnect *twin = &other->interconnects.list[i];

		assert_int_equal(ic->pool_count, twin->pool_count);
		for (size_t n = 0; n < ic->pool_count; n++) {
			const struct pool *a = &ic->pools[n];
			const struct pool *b = &twin->pools[n];

			assert_true(idset_equal(a->held, b->held));
			assert_true(
				idset_equal(a->quarantined, b->quarantined));
			assert_true(idset_equal(a->free, b->free));
			assert_true(idset_equal(a->withheld, b->withheld));
			assert_int_equal(a->cursor, b->cursor);
			assert_int_equal(a->runs != NULL, b->runs != NULL);
		}
	}
}

static void tombstones_compare(const struct core *core,
			       const struct core *other)
{
	const struct tombstone *left, *right;
	const struct trace *trace, *twin = other->traces;

	assert_int_equal(core->tombstones.count, other->tombstones.count);
	if (core->tombstones.count > 0)
		assert_int_equal(core->tombstones.first,
				 other->tombstones.first);
	for (size_t i = 0; i < core->tombstones.count; i++) {
		left = tombstones_newest(&core->tombstones, i);
		right = tombstones_newest(&other->tombstones, i);
		assert_int_equal(left->grant_id, right->grant_id);
		assert_memory_equal(left->key_digest, right->key_digest, 16);
		assert_int_equal(left->uid, right->uid);
		assert_int_equal(left->gid, right->gid);
	}
	DL_FOREACH (core->traces, trace) {
		assert_non_null(twin);
		assert_int_equal(trace->grant_id, twin->grant_id);
		assert_string_equal(trace->key, twin->key);
		assert_int_equal(trace->uid, twin->uid);
		twin = twin->next;
	}
	assert_null(twin);
}

static void journal_verify(struct fixture *fixture)
{
	struct fairlead_error error = { 0 };
	struct fixture copy = *fixture;
	struct core *other = NULL;
	int result;

	/* Nothing that this one gives out is for us. */
	copy.is_failing = true;
	result = fixture_load(&copy, &other, &error);
	fixture->journal = copy.journal; /* it has been sorted */
	if (result == 0)
		result = core_loaded(other, &error);
	if (result < 0)
		fail_msg("the journal does not load: %s", error.text);
	nodes_foreach(node, &other->nodes) core_reports_attach(other, node);
	jobs_compare(fixture->core, other);
	nodes_compare(fixture->core, other);
	pools_compare(fixture->core, other);
	tombstones_compare(fixture->core, other);
	assert_int_equal(fixture->core->next_grant_id, other->next_grant_id);
	assert_int_equal(fixture->core->recovery, other->recovery);
	core_destroy(other);
}

void verify(struct fixture *fixture)
{
	lists_verify(fixture->core);
	pools_verify(fixture->core);
	nodes_verify(fixture->core);
	journal_verify(fixture);
}
