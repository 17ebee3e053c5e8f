/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The root has rank 0; the others follow in the order of the choice, around its
 * end. A root that is not chosen comes before all of them.
 */
#include <assert.h>
#include <errno.h>

#include "scoll/core/choice.h"

void ranking_init(const struct choice *choice, scoll_nid_t root,
		  struct ranking *ret_ranking)
{
	int position = choice_position(choice, root);

	*ret_ranking = (struct ranking){
		.choice = choice,
		.root = root,
		.root_position = position < 0 ? 0 : (uint32_t)position,
		.is_extra = position < 0,
		.count = choice->count + (position < 0 ? 1 : 0),
	};
}

/* rank is not that of an extra root. */
static uint32_t position_of(const struct ranking *ranking, uint32_t rank)
{
	uint32_t behind = ranking->choice->count - ranking->root_position;

	if (ranking->is_extra)
		return rank - 1;
	return rank < behind ? ranking->root_position + rank : rank - behind;
}

static bool is_extra_root(const struct ranking *ranking, uint32_t rank)
{
	assert(rank < ranking->count);
	return ranking->is_extra && rank == 0;
}

scoll_nid_t ranking_nid(const struct ranking *ranking, uint32_t rank)
{
	const struct choice *choice = ranking->choice;

	if (is_extra_root(ranking, rank))
		return ranking->root;
	return choice->membership
		->nids[choice_index(choice, position_of(ranking, rank))];
}

int ranking_rank(const struct ranking *ranking, scoll_nid_t nid)
{
	uint32_t position;
	int found;

	if (nid == ranking->root)
		return 0;
	found = choice_position(ranking->choice, nid);
	if (found < 0)
		return found;
	position = (uint32_t)found;
	if (ranking->is_extra)
		return (int)(position + 1);
	return (int)(position >= ranking->root_position
			     ? position - ranking->root_position
			     : position + ranking->count -
				       ranking->root_position);
}

uint32_t ranking_entities(const struct ranking *ranking, uint32_t first,
			  uint32_t count)
{
	const struct choice *choice = ranking->choice;
	uint32_t position, ahead;

	assert(first <= ranking->count && count <= ranking->count - first);
	if (ranking->is_extra && first == 0 && count > 0) {
		first++;
		count--;
	}
	if (count == 0)
		return 0;
	position = position_of(ranking, first);
	ahead = choice->count - position;
	if (count <= ahead)
		return choice_entities(choice, position, count);
	return choice_entities(choice, position, ahead) +
	       choice_entities(choice, 0, count - ahead);
}

void ranking_target(const struct ranking *ranking, uint32_t rank,
		    scoll_target_t *ret_target)
{
	const struct choice *choice = ranking->choice;

	if (is_extra_root(ranking, rank)) {
		*ret_target = (scoll_target_t){ .nid = ranking->root };
		return;
	}
	membership_target(choice->membership,
			  choice_index(choice, position_of(ranking, rank)),
			  ret_target);
}
