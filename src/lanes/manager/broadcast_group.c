/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Named groups. One is made anew, of the nodes that are asked now and those of
 * before whose address is known, when a node is not in it or has another
 * address. While one is populated those who want it wait. That takes until a
 * dead node in it is given up, which is most of the time that a command has: so
 * after it has failed the next commands do without for a while.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "lanes/manager/broadcast_internal.h"

#define TREE SCOLL_TREE_KNOMIAL(4)

static int compare(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static bool named_group_has(const struct named_group *named, uint64_t nid)
{
	return named->count > 0 && bsearch(&nid, named->nids, named->count,
					   sizeof(nid), compare) != NULL;
}

static bool named_group_covers(const struct named_group *named,
			       const struct collective *collective)
{
	if (named->group == NULL || named->is_stale)
		return false;
	for (size_t i = 0; i < collective->count; i++)
		if (!named_group_has(named, collective->nids[i]))
			return false;
	return true;
}

/* --- which there are --- */

static void named_group_release(struct named_group *named)
{
	if (named->group == NULL)
		return;
	scoll_group_destroy(named->group);
	named->group = NULL;
	named->owner->counters.group_count--;
}

static void named_group_destroy(struct named_group *named)
{
	named->owner->named_group_count--;
	free(named->nids);
	free(named);
}

/* It is in the hash no more. */
static void named_group_end(struct named_group *named)
{
	named_group_release(named);
	if (named->is_making)
		named->is_dropped = true;
	else
		named_group_destroy(named);
}

void named_group_drop(struct named_group *named)
{
	HASH_DEL(named->owner->named_groups, named);
	named_group_end(named);
}

static void named_groups_shrink(struct broadcasts *broadcasts)
{
	struct named_group *named, *next;

	HASH_ITER (hh, broadcasts->named_groups, named, next) {
		if (broadcasts->named_group_count < BROADCAST_GROUPS_MAX)
			return;
		if (!named->is_making)
			named_group_drop(named);
	}
}

struct named_group *named_group_get(struct broadcasts *broadcasts, uint64_t id)
{
	struct named_group *named;

	HASH_FIND(hh, broadcasts->named_groups, &id, sizeof(id), named);
	if (named != NULL) {
		HASH_DEL(broadcasts->named_groups, named);
	} else {
		named_groups_shrink(broadcasts);
		/* Those that are being made stay. */
		if (broadcasts->named_group_count >= BROADCAST_GROUPS_MAX)
			return NULL;
		named = calloc(1, sizeof(*named));
		if (named == NULL)
			return NULL;
		broadcasts->named_group_count++;
		named->owner = broadcasts;
		named->id = id;
	}
	HASH_ADD(hh, broadcasts->named_groups, id, sizeof(named->id), named);
	if (!hash_was_added(named))
		named_group_end(take_ptr(named));
	return named;
}

void named_groups_mark(struct broadcasts *broadcasts, uint64_t nid,
		       bool is_gone)
{
	for (struct named_group *named = broadcasts->named_groups;
	     named != NULL; named = named->hh.next) {
		if (!named_group_has(named, nid))
			continue;
		/* A group with one who is gone serves the others. */
		named->is_stale |= !is_gone;
		named->scatter_count = 0;
	}
}

void named_groups_fini(struct broadcasts *broadcasts)
{
	struct named_group *named, *next;

	/* Their handles went with the instance. */
	HASH_ITER (hh, broadcasts->named_groups, named, next) {
		HASH_DEL(broadcasts->named_groups, named);
		named_group_destroy(named);
	}
}

/* --- how they are made --- */

/* Those of the collective, then (is_exact: no) those of before. */
static int members_choose(struct named_group *named,
			  const struct collective *collective, bool is_exact,
			  uint64_t **ret_nids, size_t *ret_count)
{
	size_t most = collective->count + (is_exact ? 0 : named->count);
	uint64_t *nids = calloc(most, sizeof(*nids));
	uint64_t *sorted = calloc(most, sizeof(*sorted));
	size_t count = collective->count;

	if (nids == NULL || sorted == NULL) {
		free(nids);
		free(sorted);
		return -ENOMEM;
	}
	memcpy(nids, collective->nids, count * sizeof(*nids));
	memcpy(sorted, collective->nids, count * sizeof(*nids));
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; !is_exact && i < named->count; i++) {
		struct known_node *known;

		HASH_FIND(hh, named->owner->known_nodes, &named->nids[i],
			  sizeof(named->nids[i]), known);
		if (known != NULL &&
		    bsearch(&named->nids[i], sorted, collective->count,
			    sizeof(*sorted), compare) == NULL)
			nids[count++] = named->nids[i];
	}
	memcpy(sorted, nids, count * sizeof(*nids));
	qsort(sorted, count, sizeof(*sorted), compare);
	free(named->nids);
	named->nids = sorted;
	named->count = count;
	*ret_nids = nids;
	*ret_count = count;
	return 0;
}

static void named_group_took(struct named_group *named, scoll_group_t *group)
{
	named->group = group;
	named->owner->counters.group_count++;
}

static int named_group_use(struct named_group *named,
			   struct collective *collective)
{
	const uint64_t *nids =
		collective->count == named->count ? NULL : collective->nids;
	int result =
		leg_start(collective, named->group, nids, collective->count, 0);

	if (result == -EMSGSIZE)
		result = leg_start(collective, named->group, nids,
				   collective->count, LEG_BULK);
	if (result == 0)
		collective->is_begun = true;
	return result;
}

/* With the first broadcast over it. -EMSGSIZE: that has no room for its list. */
static int make_delayed(struct named_group *named,
			struct collective *collective, const uint64_t *nids,
			size_t count)
{
	const uint64_t *chosen = collective->count == count ? NULL : nids;
	unsigned int flags = collective_prefers_bulk(collective) ? LEG_BULK : 0;
	scoll_group_t *group;
	int result = moment_create(named->owner, nids, count, TREE, &group);

	if (result < 0)
		return result;
	result = leg_start(collective, group, chosen, collective->count, flags);
	if (result < 0) {
		scoll_group_destroy(group);
		return result;
	}
	named_group_took(named, group);
	collective->is_begun = true;
	return 0;
}

static void populated(int status, scoll_group_t *group,
		      const void *private_data);

static int populate(struct named_group *named, const uint64_t *nids,
		    size_t count)
{
	static const scoll_tag_t tag;
	struct broadcasts *broadcasts = named->owner;
	scoll_target_t *targets = calloc(count, sizeof(*targets));
	int result = -ENOMEM;

	for (size_t i = 0; targets != NULL && i < count; i++)
		targets[i] = (scoll_target_t){ nids[i], &tag, 1 };
	if (targets != NULL)
		result = scoll_group_create(broadcasts->scoll, PARCEL_SERVICE,
					    NULL, targets, (int)count, TREE,
					    true, populated, named);
	free(targets);
	if (result < 0)
		return result;
	broadcasts->counters.made_count++;
	broadcasts->counters.populate_count++;
	named->is_making = true;
	return 0;
}

static void named_group_wait(struct named_group *named,
			     struct collective *collective)
{
	collective->named = named;
	DL_APPEND(named->waiting, collective);
}

static int named_group_make(struct named_group *named,
			    struct collective *collective, bool is_exact)
{
	_auto_(freep) uint64_t *nids = NULL;
	size_t count;
	int result = members_choose(named, collective, is_exact, &nids, &count);

	if (result < 0)
		return result;
	named_group_release(named);
	named->is_stale = false;
	result = make_delayed(named, collective, nids, count);
	if (result != -EMSGSIZE)
		return result;
	if (named->scatter_count > 0) {
		named->scatter_count--;
		return collective_scatter(collective);
	}
	result = populate(named, nids, count);
	if (result == 0)
		named_group_wait(named, collective);
	return result;
}

int named_group_serve(struct named_group *named, struct collective *collective)
{
	bool is_exact = false;

	if (named->is_making) {
		named_group_wait(named, collective);
		return 0;
	}
	if (named_group_covers(named, collective)) {
		int result = named_group_use(named, collective);

		/* Who is chosen cannot be said in one message. */
		is_exact = collective->count < named->count;
		if (result != -EMSGSIZE || !is_exact)
			return result;
	}
	return named_group_make(named, collective, is_exact);
}

/* A group that is there, or could not be made for all. */
static void populated(int status, scoll_group_t *group,
		      const void *private_data)
{
	struct named_group *named = (struct named_group *)private_data;
	struct collective *waiting = named->waiting, *collective, *next;

	named->is_making = false;
	named->waiting = NULL;
	if (status == 0) {
		named_group_took(named, group);
	} else {
		named->scatter_count = BROADCAST_SCATTERS_MAX;
		named->owner->counters.failed_count++;
	}
	DL_FOREACH_SAFE (waiting, collective, next) {
		int result;

		collective->named = NULL;
		result = status == 0 && !named->is_dropped
				 ? named_group_serve(named, collective)
				 : collective_scatter(collective);
		if (result < 0)
			collective_fail(collective, result);
	}
	if (!named->is_dropped)
		return;
	named_group_release(named);
	named_group_destroy(named);
}
