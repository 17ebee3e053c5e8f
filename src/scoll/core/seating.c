/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks and places: the root has rank 0, the others follow around the end of
 * the choice. A root that is not chosen comes before the first place.
 */
#include <assert.h>
#include <errno.h>

#include "scoll/core/choice.h"

void seating_init(const struct choice *choice, scoll_nid_t root,
		  struct seating *ret_seating)
{
	int place = choice_place(choice, root);

	*ret_seating = (struct seating){
		.choice = choice,
		.root = root,
		.root_place = place < 0 ? 0 : (uint32_t)place,
		.is_extra = place < 0,
		.count = choice->count + (place < 0 ? 1 : 0),
	};
}

/* rank is not that of an extra root. */
static uint32_t place_of(const struct seating *seating, uint32_t rank)
{
	uint32_t behind = seating->choice->count - seating->root_place;

	if (seating->is_extra)
		return rank - 1;
	return rank < behind ? seating->root_place + rank : rank - behind;
}

static bool is_extra_root(const struct seating *seating, uint32_t rank)
{
	assert(rank < seating->count);
	return seating->is_extra && rank == 0;
}

scoll_nid_t seating_nid(const struct seating *seating, uint32_t rank)
{
	const struct choice *choice = seating->choice;

	if (is_extra_root(seating, rank))
		return seating->root;
	return choice->membership
		->nids[choice_index(choice, place_of(seating, rank))];
}

int seating_rank(const struct seating *seating, scoll_nid_t nid)
{
	uint32_t place;
	int found;

	if (nid == seating->root)
		return 0;
	found = choice_place(seating->choice, nid);
	if (found < 0)
		return found;
	place = (uint32_t)found;
	if (seating->is_extra)
		return (int)(place + 1);
	return (int)(place >= seating->root_place
			     ? place - seating->root_place
			     : place + seating->count - seating->root_place);
}

uint32_t seating_entities(const struct seating *seating, uint32_t first,
			  uint32_t count)
{
	const struct choice *choice = seating->choice;
	uint32_t place, ahead;

	assert(first <= seating->count && count <= seating->count - first);
	if (seating->is_extra && first == 0 && count > 0) {
		first++;
		count--;
	}
	if (count == 0)
		return 0;
	place = place_of(seating, first);
	ahead = choice->count - place;
	if (count <= ahead)
		return choice_entities(choice, place, count);
	return choice_entities(choice, place, ahead) +
	       choice_entities(choice, 0, count - ahead);
}

void seating_target(const struct seating *seating, uint32_t rank,
		    scoll_target_t *ret_target)
{
	const struct choice *choice = seating->choice;

	if (is_extra_root(seating, rank)) {
		*ret_target = (scoll_target_t){ .nid = seating->root };
		return;
	}
	membership_target(choice->membership,
			  choice_index(choice, place_of(seating, rank)),
			  ret_target);
}
