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

#include "manager/broadcast_internal.h"

#define TREE SCOLL_TREE_KNOMIAL(4)

static int compare(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return (*one > *other) - (*one < *other);
}

static bool team_has(const struct team *team, uint64_t nid)
{
	return team->count > 0 && bsearch(&nid, team->nids, team->count,
					  sizeof(nid), compare) != NULL;
}

static bool team_covers(const struct team *team, const struct call *call)
{
	if (team->group == NULL || team->is_stale)
		return false;
	for (size_t i = 0; i < call->count; i++)
		if (!team_has(team, call->nids[i]))
			return false;
	return true;
}

/* --- which there are --- */

static void team_release(struct team *team)
{
	if (team->group == NULL)
		return;
	scoll_group_destroy(team->group);
	team->group = NULL;
	team->owner->counters.group_count--;
}

static void team_destroy(struct team *team)
{
	team->owner->team_count--;
	free(team->nids);
	free(team);
}

/* It is in the hash no more. */
static void team_end(struct team *team)
{
	team_release(team);
	if (team->is_making)
		team->is_dropped = true;
	else
		team_destroy(team);
}

void team_drop(struct team *team)
{
	HASH_DEL(team->owner->teams, team);
	team_end(team);
}

static void teams_shrink(struct broadcasts *broadcasts)
{
	struct team *team, *next;

	HASH_ITER (hh, broadcasts->teams, team, next) {
		if (broadcasts->team_count < BROADCAST_GROUPS_MAX)
			return;
		if (!team->is_making)
			team_drop(team);
	}
}

struct team *team_get(struct broadcasts *broadcasts, uint64_t id)
{
	struct team *team;

	HASH_FIND(hh, broadcasts->teams, &id, sizeof(id), team);
	if (team != NULL) {
		HASH_DEL(broadcasts->teams, team);
	} else {
		teams_shrink(broadcasts);
		/* Those that are being made stay. */
		if (broadcasts->team_count >= BROADCAST_GROUPS_MAX)
			return NULL;
		team = calloc(1, sizeof(*team));
		if (team == NULL)
			return NULL;
		broadcasts->team_count++;
		team->owner = broadcasts;
		team->id = id;
	}
	HASH_ADD(hh, broadcasts->teams, id, sizeof(team->id), team);
	if (!hash_was_added(team))
		team_end(take_ptr(team));
	return team;
}

void teams_mark(struct broadcasts *broadcasts, uint64_t nid, bool is_gone)
{
	for (struct team *team = broadcasts->teams; team != NULL;
	     team = team->hh.next) {
		if (!team_has(team, nid))
			continue;
		/* A group with one who is gone serves the others. */
		team->is_stale |= !is_gone;
		team->scatter_count = 0;
	}
}

void teams_fini(struct broadcasts *broadcasts)
{
	struct team *team, *next;

	/* Their handles went with the instance. */
	HASH_ITER (hh, broadcasts->teams, team, next) {
		HASH_DEL(broadcasts->teams, team);
		team_destroy(team);
	}
}

/* --- how they are made --- */

/* Those of the call, then (is_exact: no) those of before. */
static int members_choose(struct team *team, const struct call *call,
			  bool is_exact, uint64_t **ret_nids, size_t *ret_count)
{
	size_t most = call->count + (is_exact ? 0 : team->count);
	uint64_t *nids = calloc(most, sizeof(*nids));
	uint64_t *sorted = calloc(most, sizeof(*sorted));
	size_t count = call->count;

	if (nids == NULL || sorted == NULL) {
		free(nids);
		free(sorted);
		return -ENOMEM;
	}
	memcpy(nids, call->nids, count * sizeof(*nids));
	memcpy(sorted, call->nids, count * sizeof(*nids));
	qsort(sorted, count, sizeof(*sorted), compare);
	for (size_t i = 0; !is_exact && i < team->count; i++) {
		struct place *place;

		HASH_FIND(hh, team->owner->places, &team->nids[i],
			  sizeof(team->nids[i]), place);
		if (place != NULL &&
		    bsearch(&team->nids[i], sorted, call->count,
			    sizeof(*sorted), compare) == NULL)
			nids[count++] = team->nids[i];
	}
	memcpy(sorted, nids, count * sizeof(*nids));
	qsort(sorted, count, sizeof(*sorted), compare);
	free(team->nids);
	team->nids = sorted;
	team->count = count;
	*ret_nids = nids;
	*ret_count = count;
	return 0;
}

static void team_took(struct team *team, scoll_group_t *group)
{
	team->group = group;
	team->owner->counters.group_count++;
}

static int team_use(struct team *team, struct call *call)
{
	const uint64_t *nids = call->count == team->count ? NULL : call->nids;
	int result = leg_start(call, team->group, nids, call->count, 0);

	if (result == -EMSGSIZE)
		result = leg_start(call, team->group, nids, call->count,
				   LEG_BULK);
	if (result == 0)
		call->is_begun = true;
	return result;
}

/* With the first broadcast over it. -EMSGSIZE: that has no room for its list. */
static int make_delayed(struct team *team, struct call *call,
			const uint64_t *nids, size_t count)
{
	const uint64_t *chosen = call->count == count ? NULL : nids;
	unsigned int flags = call_prefers_bulk(call) ? LEG_BULK : 0;
	scoll_group_t *group;
	int result = moment_create(team->owner, nids, count, TREE, &group);

	if (result < 0)
		return result;
	result = leg_start(call, group, chosen, call->count, flags);
	if (result < 0) {
		scoll_group_destroy(group);
		return result;
	}
	team_took(team, group);
	call->is_begun = true;
	return 0;
}

static void populated(int status, scoll_group_t *group,
		      const void *private_data);

static int populate(struct team *team, const uint64_t *nids, size_t count)
{
	static const scoll_tag_t tag;
	struct broadcasts *broadcasts = team->owner;
	scoll_target_t *targets = calloc(count, sizeof(*targets));
	int result = -ENOMEM;

	for (size_t i = 0; targets != NULL && i < count; i++)
		targets[i] = (scoll_target_t){ nids[i], &tag, 1 };
	if (targets != NULL)
		result = scoll_group_create(broadcasts->scoll, PARCEL_SERVICE,
					    NULL, targets, (int)count, TREE,
					    true, populated, team);
	free(targets);
	if (result < 0)
		return result;
	broadcasts->counters.made_count++;
	broadcasts->counters.populate_count++;
	team->is_making = true;
	return 0;
}

static void team_wait(struct team *team, struct call *call)
{
	call->team = team;
	DL_APPEND(team->waiting, call);
}

static int team_make(struct team *team, struct call *call, bool is_exact)
{
	_auto_(freep) uint64_t *nids = NULL;
	size_t count;
	int result = members_choose(team, call, is_exact, &nids, &count);

	if (result < 0)
		return result;
	team_release(team);
	team->is_stale = false;
	result = make_delayed(team, call, nids, count);
	if (result != -EMSGSIZE)
		return result;
	if (team->scatter_count > 0) {
		team->scatter_count--;
		return call_scatter(call);
	}
	result = populate(team, nids, count);
	if (result == 0)
		team_wait(team, call);
	return result;
}

int team_serve(struct team *team, struct call *call)
{
	bool is_exact = false;

	if (team->is_making) {
		team_wait(team, call);
		return 0;
	}
	if (team_covers(team, call)) {
		int result = team_use(team, call);

		/* Who is chosen cannot be said in one message. */
		is_exact = call->count < team->count;
		if (result != -EMSGSIZE || !is_exact)
			return result;
	}
	return team_make(team, call, is_exact);
}

/* A group that is there, or could not be made for all. */
static void populated(int status, scoll_group_t *group,
		      const void *private_data)
{
	struct team *team = (struct team *)private_data;
	struct call *waiting = team->waiting, *call, *next;

	team->is_making = false;
	team->waiting = NULL;
	if (status == 0) {
		team_took(team, group);
	} else {
		team->scatter_count = BROADCAST_SCATTERS_MAX;
		team->owner->counters.failed_count++;
	}
	DL_FOREACH_SAFE (waiting, call, next) {
		int result;

		call->team = NULL;
		result = status == 0 && !team->is_dropped
				 ? team_serve(team, call)
				 : call_scatter(call);
		if (result < 0)
			call_fail(call, result);
	}
	if (!team->is_dropped)
		return;
	team_release(team);
	team_destroy(team);
}
