/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sets `free` and `draining` are kept, not computed: `refresh` puts one
 * identifier where it belongs after any of the other sets has changed, and is
 * the only function that touches them. Round robin goes on behind the last
 * identifier that was taken, so that a number comes back as late as it can;
 * what a job gets is sorted, since people and scripts compare the list.
 *
 * In a pool of runs a set says where a run is free, and counts by identifier
 * keep the sets that every pool has, for people.
 */
#include "lanes/manager/core/pool.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static struct idset *empty(uint32_t limit)
{
	struct idset *set;

	memory_check(idset_create(limit, &set));
	return set;
}

static struct idset *copy(const struct idset *set)
{
	struct idset *clone;

	memory_check(idset_clone(set, &clone));
	return clone;
}

static bool is_taken(const struct pool *pool, uint32_t id)
{
	return idset_has(pool->held, id) || idset_has(pool->quarantined, id);
}

static void idset_put(struct idset *set, uint32_t id, bool is_member)
{
	if (is_member)
		idset_add(set, id);
	else
		idset_remove(set, id);
}

static bool refresh(struct pool *pool, uint32_t id)
{
	bool is_ours = idset_has(pool->universe, id);
	bool is_free = is_ours && !is_taken(pool, id) &&
		       !idset_has(pool->withheld, id);

	idset_put(pool->free, id, is_free);
	idset_put(pool->draining, id, !is_ours && is_taken(pool, id));
	return is_free;
}

static int universe_parse(const struct fairlead_pool_spec *spec,
			  struct idset **ret_universe,
			  struct fairlead_error *ret_error)
{
	int result;

	if (spec->limit > IDSET_LIMIT_MAX)
		return error_set(ret_error, -EINVAL,
				 "pool '%s' has a limit of %" PRIu32
				 ", above %u",
				 spec->name, spec->limit, IDSET_LIMIT_MAX);
	if (spec->positions > 0 && (spec->limit > FAIRLEAD_RUN_IDS_MAX ||
				    spec->positions > FAIRLEAD_POSITIONS_MAX))
		return error_set(ret_error, -EINVAL,
				 "pool '%s' of runs has a limit of %" PRIu32
				 ", above %d, or %" PRIu32
				 " positions, above %d",
				 spec->name, spec->limit, FAIRLEAD_RUN_IDS_MAX,
				 spec->positions, FAIRLEAD_POSITIONS_MAX);
	result = memory_check(idset_parse(spec->universe, spec->limit,
					  ret_universe, ret_error));
	if (result < 0 && ret_error != NULL)
		error_prefix(ret_error, "pool '%s'", spec->name);
	return result;
}

int pool_init(struct pool *pool, const char *driver,
	      const struct fairlead_pool_spec *spec,
	      const struct edge_probe *probe, struct fairlead_error *ret_error)
{
	struct idset *universe;
	int result = universe_parse(spec, &universe, ret_error);

	if (result < 0)
		return result;
	*pool = (struct pool){
		.limit = spec->limit,
		.universe = universe,
		.free = copy(universe),
		.draining = empty(spec->limit),
		.held = empty(spec->limit),
		.quarantined = empty(spec->limit),
		.withheld = empty(spec->limit),
		.runs = pool_runs_create(spec),
		.probe_ref = probe,
	};
	strcpy(pool->name, spec->name);
	snprintf(pool->cursor_key, sizeof(pool->cursor_key), "cursor/%s/%s",
		 driver, spec->name);
	return 0;
}

void pool_fini(struct pool *pool)
{
	idset_destroy(pool->universe);
	idset_destroy(pool->free);
	idset_destroy(pool->draining);
	idset_destroy(pool->held);
	idset_destroy(pool->quarantined);
	idset_destroy(pool->withheld);
	free(pool->withheld_counts);
	pool_runs_destroy(pool->runs);
	memset(pool, 0, sizeof(*pool));
}

int pool_check(const struct pool *pool, const struct fairlead_pool_spec *spec,
	       struct fairlead_error *ret_error)
{
	_auto_(idset_destroyp) struct idset *universe = NULL;
	int result = universe_parse(spec, &universe, ret_error);
	uint32_t id;

	if (result < 0)
		return result;
	if (pool->runs == NULL ? spec->positions > 0
			       : spec->positions != pool->runs->positions ||
					 spec->limit != pool->limit)
		return error_set(ret_error, -EINVAL,
				 "pool '%s': its positions, and the limit of "
				 "one that has some, cannot change",
				 pool->name);
	id = idset_next(pool->held, spec->limit);
	if (id == IDSET_NONE)
		id = idset_next(pool->quarantined, spec->limit);
	if (id != IDSET_NONE)
		return error_set(
			ret_error, -EINVAL,
			"pool '%s': %" PRIu32
			" is in use and not below the new limit %" PRIu32,
			pool->name, id, spec->limit);
	return 0;
}

/* The set with another limit; members above it are dropped. */
static void relimit(struct idset **set, uint32_t limit)
{
	struct idset *wider = empty(limit);

	idset_foreach (id, *set)
		if (id < limit)
			idset_add(wider, id);
	idset_destroy(*set);
	*set = wider;
}

static void limit_change(struct pool *pool, uint32_t limit)
{
	if (limit == pool->limit)
		return;
	relimit(&pool->universe, limit);
	relimit(&pool->free, limit);
	relimit(&pool->draining, limit);
	relimit(&pool->held, limit);
	relimit(&pool->quarantined, limit);
	relimit(&pool->withheld, limit);
	if (pool->withheld_counts != NULL) {
		pool->withheld_counts =
			memory_resize(pool->withheld_counts, limit,
				      sizeof(*pool->withheld_counts));
		for (uint32_t id = pool->limit; id < limit; id++)
			pool->withheld_counts[id] = 0;
	}
	pool->limit = limit;
	if (pool->cursor >= limit)
		pool->cursor = 0;
}

void pool_configure(struct pool *pool, const struct fairlead_pool_spec *spec)
{
	struct idset *old, *universe;

	if (universe_parse(spec, &universe, NULL) < 0)
		abort();
	limit_change(pool, spec->limit);
	old = pool->universe;
	pool->universe = universe;
	idset_foreach (id, old) {
		bool was_free = idset_has(pool->free, id);

		if (!refresh(pool, id) && was_free)
			edge_hit(pool->probe_ref, EDGE_ID_LEAVE);
	}
	idset_foreach (id, universe)
		if (!idset_has(old, id) && refresh(pool, id))
			edge_hit(pool->probe_ref, EDGE_ID_ENTER);
	idset_destroy(old);
}

uint32_t pool_available(const struct pool *pool)
{
	return idset_count(pool->free);
}

static int compare_ids(const void *one, const void *two)
{
	uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)two;

	return (a > b) - (a < b);
}

void pool_take(struct pool *pool, uint32_t count, uint32_t *ret_ids)
{
	assert(count <= pool_available(pool));
	for (uint32_t i = 0; i < count; i++) {
		uint32_t id = idset_next(pool->free, pool->cursor);

		if (id == IDSET_NONE)
			id = idset_next(pool->free, 0);
		assert(id != IDSET_NONE && !is_taken(pool, id));
		idset_add(pool->held, id);
		refresh(pool, id);
		pool->cursor = id + 1 < pool->limit ? id + 1 : 0;
		ret_ids[i] = id;
		edge_hit(pool->probe_ref, EDGE_ID_TAKE);
	}
	qsort(ret_ids, count, sizeof(*ret_ids), compare_ids);
}

int pool_restore(struct pool *pool, uint32_t id, bool is_quarantined)
{
	if (id >= pool->limit || is_taken(pool, id))
		return -EBADMSG;
	idset_add(is_quarantined ? pool->quarantined : pool->held, id);
	refresh(pool, id);
	return 0;
}

void pool_set_cursor(struct pool *pool, uint64_t cursor)
{
	pool->cursor = cursor < pool->limit ? (uint32_t)cursor : 0;
}

void pool_quarantine(struct pool *pool, uint32_t id)
{
	assert(idset_has(pool->held, id));
	assert(!idset_has(pool->quarantined, id));
	idset_remove(pool->held, id);
	idset_add(pool->quarantined, id);
	edge_hit(pool->probe_ref, EDGE_ID_QUARANTINE);
}

static void put_hit(const struct pool *pool, uint32_t id, bool was_quarantined)
{
	static const enum edge edges[2][3] = {
		{ EDGE_ID_PUT, EDGE_ID_PUT_WITHHELD, EDGE_ID_PUT_OUTSIDE },
		{ EDGE_ID_CLEAR, EDGE_ID_CLEAR_WITHHELD,
		  EDGE_ID_CLEAR_OUTSIDE },
	};
	int where;

	if (!idset_has(pool->universe, id))
		where = 2;
	else
		where = idset_has(pool->withheld, id) ? 1 : 0;
	edge_hit(pool->probe_ref, edges[was_quarantined][where]);
}

void pool_put(struct pool *pool, uint32_t id)
{
	bool was_quarantined = idset_has(pool->quarantined, id);

	assert(was_quarantined != idset_has(pool->held, id));
	idset_remove(pool->held, id);
	idset_remove(pool->quarantined, id);
	refresh(pool, id);
	put_hit(pool, id, was_quarantined);
}

void pool_withhold(struct pool *pool, uint32_t id)
{
	bool was_free = idset_has(pool->free, id);

	assert(id < pool->limit);
	if (pool->withheld_counts == NULL)
		pool->withheld_counts = memory_array(
			pool->limit, sizeof(*pool->withheld_counts));
	pool->withheld_counts[id]++;
	idset_add(pool->withheld, id);
	refresh(pool, id);
	if (was_free)
		edge_hit(pool->probe_ref, EDGE_ID_WITHHOLD);
}

void pool_unwithhold(struct pool *pool, uint32_t id)
{
	assert(id < pool->limit && pool->withheld_counts != NULL);
	assert(pool->withheld_counts[id] > 0);
	if (--pool->withheld_counts[id] > 0)
		return;
	idset_remove(pool->withheld, id);
	if (refresh(pool, id))
		edge_hit(pool->probe_ref, EDGE_ID_UNWITHHOLD);
}

uint32_t pool_quarantined_only(const struct pool *pool)
{
	uint32_t count = idset_count(pool->quarantined);

	/* Only a pool of runs has both, and at most FAIRLEAD_RUN_IDS_MAX. */
	if (pool->runs == NULL)
		return count;
	idset_foreach (id, pool->quarantined)
		count -= idset_has(pool->held, id);
	return count;
}

void pool_verify(const struct pool *pool)
{
	_auto_(idset_destroyp) struct idset *expected = copy(pool->universe);
	_auto_(idset_destroyp) struct idset *both = copy(pool->held);
	_auto_(idset_destroyp) struct idset *draining = copy(pool->held);

	idset_intersect(both, pool->quarantined);
	if (pool->runs == NULL)
		assert(idset_count(both) == 0);
	else
		pool_runs_verify(pool);
	idset_subtract(expected, pool->held);
	idset_subtract(expected, pool->quarantined);
	idset_subtract(expected, pool->withheld);
	assert(idset_equal(expected, pool->free));
	idset_unite(draining, pool->quarantined);
	idset_subtract(draining, pool->universe);
	assert(idset_equal(draining, pool->draining));
}

/* --- pools of runs --- */

struct pool_runs *pool_runs_create(const struct fairlead_pool_spec *spec)
{
	struct pool_runs *runs;

	if (spec->positions == 0)
		return NULL;
	runs = memory_array(1, sizeof(*runs));
	runs->positions = spec->positions;
	runs->held_counts = memory_array(spec->limit, sizeof(uint32_t));
	runs->quarantined_counts = memory_array(spec->limit, sizeof(uint32_t));
	run_set_init(&runs->taken, spec->limit);
	return runs;
}

void pool_runs_destroy(struct pool_runs *runs)
{
	if (runs == NULL)
		return;
	run_set_fini(&runs->taken);
	free(runs->held_counts);
	free(runs->quarantined_counts);
	free(runs);
}

/*
 * Go through the runs that are free there, from the lowest; the length of the
 * longest, or of the first one that is long enough.
 */
static uint32_t run_seek(const struct pool *pool,
			 const struct fairlead_run *wanted, uint32_t enough,
			 uint32_t *ret_first)
{
	uint64_t busy[RUN_SET_WORDS_MAX];
	uint32_t first = 0, length = 0, longest = 0;

	run_set_busy(&pool->runs->taken, wanted->low, wanted->high, busy);
	for (uint32_t id = 0; id < pool->limit && longest < enough; id++) {
		if ((busy[id / 64] >> id % 64 & 1) ||
		    !idset_has(pool->universe, id) ||
		    idset_has(pool->withheld, id)) {
			length = 0;
			continue;
		}
		if (length++ == 0)
			first = id;
		if (length > longest) {
			longest = length;
			*ret_first = first;
		}
	}
	return longest;
}

bool pool_run_find(const struct pool *pool, const struct fairlead_run *wanted,
		   uint32_t *ret_first)
{
	uint32_t first = 0;

	if (wanted->low > wanted->high ||
	    wanted->high >= pool->runs->positions || wanted->length == 0 ||
	    run_seek(pool, wanted, wanted->length, &first) < wanted->length)
		return false;
	*ret_first = first;
	return true;
}

uint32_t pool_run_longest(const struct pool *pool,
			  const struct fairlead_run *wanted)
{
	uint32_t first;

	return run_seek(pool, wanted, UINT32_MAX, &first);
}

/* The identifiers of an area get one holder more, or less. */
static void count(struct pool *pool, const struct run_area *area,
		  bool is_quarantined, bool is_more)
{
	struct idset *set = is_quarantined ? pool->quarantined : pool->held;
	uint32_t *counts = is_quarantined ? pool->runs->quarantined_counts
					  : pool->runs->held_counts;

	for (uint32_t id = area->first; id <= area->last; id++) {
		assert(is_more || counts[id] > 0);
		counts[id] += is_more ? 1 : UINT32_MAX;
		if (counts[id] > 0)
			idset_add(set, id);
		else
			idset_remove(set, id);
		refresh(pool, id);
	}
}

void pool_run_take(struct pool *pool, const struct fairlead_run *wanted,
		   uint32_t ret_ids[2])
{
	struct run_area area = { .low = wanted->low, .high = wanted->high };

	if (!pool_run_find(pool, wanted, &area.first))
		abort();
	area.last = area.first + wanted->length - 1;
	run_set_add(&pool->runs->taken, &area);
	count(pool, &area, false, true);
	edge_hit(pool->probe_ref, EDGE_ID_TAKE);
	ret_ids[0] = area.first;
	ret_ids[1] = area.last;
}

int pool_run_restore(struct pool *pool, const struct run_area *area,
		     bool is_quarantined)
{
	if (area->first > area->last || area->last >= pool->limit ||
	    area->low > area->high || area->high >= pool->runs->positions ||
	    !run_set_is_free(&pool->runs->taken, area))
		return -EBADMSG;
	run_set_add(&pool->runs->taken, area);
	count(pool, area, is_quarantined, true);
	return 0;
}

void pool_run_quarantine(struct pool *pool, const struct run_area *area)
{
	count(pool, area, true, true);
	count(pool, area, false, false);
	edge_hit(pool->probe_ref, EDGE_ID_QUARANTINE);
}

void pool_run_put(struct pool *pool, const struct run_area *area,
		  bool was_quarantined)
{
	run_set_remove(&pool->runs->taken, area);
	count(pool, area, was_quarantined, false);
	put_hit(pool, area->first, was_quarantined);
}

void pool_runs_verify(const struct pool *pool)
{
	uint64_t busy[RUN_SET_WORDS_MAX];

	run_set_busy(&pool->runs->taken, 0, RUN_SET_POSITIONS - 1, busy);
	for (uint32_t id = 0; id < pool->limit; id++) {
		bool is_held = pool->runs->held_counts[id] > 0;
		bool is_quarantined = pool->runs->quarantined_counts[id] > 0;

		assert(idset_has(pool->held, id) == is_held);
		assert(idset_has(pool->quarantined, id) == is_quarantined);
		assert((busy[id / 64] >> id % 64 & 1) ==
		       (is_held || is_quarantined));
	}
}
