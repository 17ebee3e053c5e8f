/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A pool of runs: a set says where a run is free, and counts by identifier
 * keep the sets that every pool has, for people.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/manager/core/memory.h"
#include "lanes/manager/core/pool.h"

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
		pool_refresh(pool, id);
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
	pool_put_hit(pool, area->first, was_quarantined);
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
