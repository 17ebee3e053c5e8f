/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named groups. One is made again, of the nodes that are asked now and those of
 * before whose address is known, when a node is not in it or has another
 * address. While one is populated those who want it wait. That takes until a
 * dead node in it is given up, which is most of the time that a command has: so
 * after it has failed the next commands do without for a while.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/memory.h"
#include "lanes/manager/fanout/scoll_rounds.h"

static int compare(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static bool group_has(const struct round_group *named, uint64_t nid)
{
	return named->count > 0 && bsearch(&nid, named->nids, named->count,
					   sizeof(nid), compare) != NULL;
}

static bool group_covers(const struct round_group *named,
			 const struct round *round)
{
	if (named->group == NULL || named->is_stale)
		return false;
	for (size_t i = 0; i < round->count; i++)
		if (!group_has(named, round->nids[i]))
			return false;
	return true;
}

/* --- which there are --- */

static void group_release(struct round_group *named)
{
	if (named->group == NULL)
		return;
	scoll_group_destroy(named->group);
	named->group = NULL;
	named->owner->counters.group_count--;
}

static void group_destroy(struct round_group *named)
{
	named->owner->group_count--;
	free(named->nids);
	free(named);
}

/* It is in the hash no more. */
static void group_end(struct round_group *named)
{
	group_release(named);
	if (named->is_making)
		named->is_dropped = true;
	else
		group_destroy(named);
}

void round_group_drop(struct round_group *named)
{
	HASH_DEL(named->owner->groups, named);
	group_end(named);
}

static void groups_shrink(struct rounds *rounds)
{
	struct round_group *named, *next;

	HASH_ITER (hh, rounds->groups, named, next) {
		if (rounds->group_count < ROUNDS_GROUPS_MAX)
			return;
		if (!named->is_making)
			round_group_drop(named);
	}
}

struct round_group *round_group_get(struct rounds *rounds, uint64_t id)
{
	struct round_group *named;

	HASH_FIND(hh, rounds->groups, &id, sizeof(id), named);
	if (named != NULL) {
		HASH_DEL(rounds->groups, named);
	} else {
		groups_shrink(rounds);
		/* Those that are being made stay. */
		if (rounds->group_count >= ROUNDS_GROUPS_MAX)
			return NULL;
		named = memory_alloc(sizeof(*named));
		rounds->group_count++;
		named->owner = rounds;
		named->id = id;
	}
	HASH_ADD(hh, rounds->groups, id, sizeof(named->id), named);
	memory_have(named->hh.tbl);
	return named;
}

void round_groups_mark(struct rounds *rounds, uint64_t nid, bool is_gone)
{
	for (struct round_group *named = rounds->groups; named != NULL;
	     named = named->hh.next) {
		if (!group_has(named, nid))
			continue;
		/* A group with a missing node serves the others. */
		named->is_stale |= !is_gone;
		named->scatter_count = 0;
	}
}

void round_groups_fini(struct rounds *rounds)
{
	struct round_group *named, *next;

	/* Their handles went with the instance. */
	HASH_ITER (hh, rounds->groups, named, next) {
		HASH_DEL(rounds->groups, named);
		group_destroy(named);
	}
}

/* --- how they are made --- */

static int group_create(struct rounds *rounds, const uint64_t *nids,
			size_t count, scoll_tree_type_t tree, bool is_populated,
			scoll_create_group_cb_t done, void *ctx)
{
	static const scoll_tag_t tag;
	_auto_(freep) scoll_target_t *targets =
		memory_array(count, sizeof(*targets));
	int result;

	for (size_t i = 0; i < count; i++)
		targets[i] = (scoll_target_t){ nids[i], &tag, 1 };
	result = memory_check(
		scoll_group_create(rounds->scoll, PARCEL_SERVICE, NULL, targets,
				   (int)count, tree, is_populated, done, ctx));
	rounds->counters.made_count += result == 0;
	return result;
}

static void made(int status, scoll_group_t *group, const void *private_data)
{
	scoll_group_t **slot = (scoll_group_t **)private_data;

	*slot = group;
}

int round_group_create(struct rounds *rounds, const uint64_t *nids,
		       size_t count, scoll_tree_type_t tree,
		       scoll_group_t **ret_group)
{
	return group_create(rounds, nids, count, tree, false, made, ret_group);
}

/* Those of the round, then (is_exact: no) those of before. */
static uint64_t *nodes_choose(struct round_group *named,
			      const struct round *round, bool is_exact,
			      size_t *ret_count)
{
	size_t most = round->count + (is_exact ? 0 : named->count);
	uint64_t *nids = memory_array(most, sizeof(*nids));
	uint64_t *sorted = memory_array(most, sizeof(*sorted));
	size_t count = round->count;

	memcpy(nids, round->nids, count * sizeof(*nids));
	memcpy(sorted, round->nids, count * sizeof(*nids));
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; !is_exact && i < named->count; i++) {
		struct round_node *known;

		HASH_FIND(hh, named->owner->nodes, &named->nids[i],
			  sizeof(named->nids[i]), known);
		if (known != NULL &&
		    bsearch(&named->nids[i], sorted, round->count,
			    sizeof(*sorted), compare) == NULL)
			nids[count++] = named->nids[i];
	}
	memcpy(sorted, nids, count * sizeof(*nids));
	qsort(sorted, count, sizeof(*sorted), compare);
	free(named->nids);
	named->nids = sorted;
	named->count = count;
	*ret_count = count;
	return nids;
}

static void group_took(struct round_group *named, scoll_group_t *group)
{
	named->group = group;
	named->owner->counters.group_count++;
}

static int group_use(struct round_group *named, struct round *round)
{
	const uint64_t *nids =
		round->count == named->count ? NULL : round->nids;
	int result =
		round_bcast_start(round, named->group, nids, round->count, 0);

	if (result == -EMSGSIZE)
		result = round_bcast_start(round, named->group, nids,
					   round->count, BCAST_BULK);
	if (result == 0)
		round->is_begun = true;
	return result;
}

/* With the first broadcast over it. -EMSGSIZE: that has no room for its list. */
static int make_delayed(struct round_group *named, struct round *round,
			const uint64_t *nids, size_t count)
{
	const uint64_t *chosen = round->count == count ? NULL : nids;
	unsigned int flags = round_prefers_bulk(round) ? BCAST_BULK : 0;
	scoll_group_t *group;
	int result =
		round_group_create(named->owner, nids, count, TREE, &group);

	if (result < 0)
		return result;
	result = round_bcast_start(round, group, chosen, round->count, flags);
	if (result < 0) {
		scoll_group_destroy(group);
		return result;
	}
	group_took(named, group);
	round->is_begun = true;
	return 0;
}

static void populated(int status, scoll_group_t *group,
		      const void *private_data);

static int populate(struct round_group *named, const uint64_t *nids,
		    size_t count)
{
	int result = group_create(named->owner, nids, count, TREE, true,
				  populated, named);

	if (result < 0)
		return result;
	named->owner->counters.populate_count++;
	named->is_making = true;
	return 0;
}

static void group_wait(struct round_group *named, struct round *round)
{
	round->named = named;
	DL_APPEND(named->waiting, round);
}

static int group_make(struct round_group *named, struct round *round,
		      bool is_exact)
{
	size_t count;
	_auto_(freep) uint64_t *nids =
		nodes_choose(named, round, is_exact, &count);
	int result;

	group_release(named);
	named->is_stale = false;
	result = make_delayed(named, round, nids, count);
	if (result != -EMSGSIZE)
		return result;
	if (named->scatter_count > 0) {
		named->scatter_count--;
		return round_scatter(round);
	}
	result = populate(named, nids, count);
	if (result == 0)
		group_wait(named, round);
	return result;
}

int round_group_serve(struct round_group *named, struct round *round)
{
	bool is_exact = false;

	if (named->is_making) {
		group_wait(named, round);
		return 0;
	}
	if (group_covers(named, round)) {
		int result = group_use(named, round);

		/* The choice does not fit in one message. */
		is_exact = round->count < named->count;
		if (result != -EMSGSIZE || !is_exact)
			return result;
	}
	return group_make(named, round, is_exact);
}

/* A group that is there, or could not be made for all. */
static void populated(int status, scoll_group_t *group,
		      const void *private_data)
{
	struct round_group *named = (struct round_group *)private_data;
	struct round *waiting = named->waiting, *round, *next;

	named->is_making = false;
	named->waiting = NULL;
	if (status == 0) {
		group_took(named, group);
	} else {
		named->scatter_count = ROUNDS_SCATTERS_MAX;
		named->owner->counters.failed_count++;
	}
	DL_FOREACH_SAFE (waiting, round, next) {
		int result;

		round->named = NULL;
		result = status == 0 && !named->is_dropped
				 ? round_group_serve(named, round)
				 : round_scatter(round);
		if (result < 0)
			round_fail(round, result);
	}
	if (!named->is_dropped)
		return;
	group_release(named);
	group_destroy(named);
}
