/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The members of a lane. Each node of it gets the places of all its nodes, in
 * the order of the host list. None is older than what the node had reported to
 * this manager when the apply was asked for, and each was reported once. Where
 * there is none, the node may have reported none.
 */
#include <string.h>

#include "fabric.h"
#include "oracle_internal.h"

/*
 * At least so new: the manager had greeted the node before it was asked. 0:
 * anything.
 */
static uint32_t number_least(const struct oracle *oracle,
			     const struct lane *lane, uint64_t epoch,
			     unsigned int node)
{
	const struct obeyed *obeyed = &oracle->obeyed[node];

	return obeyed->has_epoch && obeyed->registered_epoch == epoch &&
			       obeyed->greeted_ms < lane->asked_ms
		       ? obeyed->greeted_number
		       : 0;
}

/* In place of the one with this number, or of a later one. */
static bool may_have_reported_none(const struct node *node, uint32_t least)
{
	return least == 0 || node_place_number(node) / FABRIC_PLACE_NONE >
				     least / FABRIC_PLACE_NONE;
}

static void check_member(struct oracle *oracle, const struct node *node,
			 const struct lane *lane, unsigned int expected,
			 struct fabric_place place)
{
	struct world *world = oracle->world;
	const struct node *reporter = world->nodes[expected];
	uint32_t least =
		number_least(oracle, lane, node_order(node)->epoch, expected);

	if (place.number == 0 && may_have_reported_none(reporter, least)) {
		coverage_hit(world->coverage, "check:no-place");
		return;
	}
	if (place.node != expected)
		world_fail(world,
			   "%s is given the place of n%u for that of n%u in "
			   "'%s'",
			   node_name(node), place.node, expected, lane->key);
	if (place.number > node_place_number(reporter))
		world_fail(world,
			   "%s is given place %u of n%u in '%s', which it "
			   "never reported",
			   node_name(node), place.number, expected, lane->key);
	if (place.number < least)
		world_fail(world,
			   "%s is given place %u of n%u in '%s', which has "
			   "reported place %u since",
			   node_name(node), place.number, expected, lane->key,
			   least);
}

void oracle_joined(struct oracle *oracle, struct node *node,
		   const struct fairlead_lane *made)
{
	struct world *world = oracle->world;
	struct lane *lane = oracle_lane_by_id(oracle, made->grant_id);
	unsigned int count = 0;

	if (lane == NULL || lane->is_unsure)
		return;
	oracle_token_given(oracle, node, lane, made);
	if (made->members_size != made->node_count * FABRIC_PLACE_SIZE)
		world_fail(world, "%s is given %zu bytes of members in '%s'",
			   node_name(node), made->members_size, lane->key);
	for (unsigned int i = 0; i < world->node_count; i++) {
		const uint8_t *at = made->members + count * FABRIC_PLACE_SIZE;

		if (!(lane->nodes & 1u << i))
			continue;
		if (i == node_index(node) && count != made->index)
			world_fail(world, "%s is number %u of '%s', not %u",
				   node_name(node), count, lane->key,
				   made->index);
		if (count == made->node_count)
			world_fail(world, "%s is given too few members in '%s'",
				   node_name(node), lane->key);
		check_member(oracle, node, lane, i,
			     fabric_place_read(at, FABRIC_PLACE_SIZE));
		count++;
	}
	if (count != made->node_count)
		world_fail(world, "%s is given %u members of %u in '%s'",
			   node_name(node), made->node_count, count, lane->key);
	coverage_hit(world->coverage, "check:members");
}

static bool is_same_key(const struct elan_userkey *a,
			const struct elan_userkey *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

/*
 * All nodes of a lane are given the same key, which is no other lane's: who has
 * the capability of one program has nothing of another one's.
 */
void oracle_elan_joined(struct oracle *oracle, struct node *node,
			uint64_t grant_id, const struct elan_userkey *key)
{
	struct world *world = oracle->world;
	struct lane *lane = oracle_lane_by_id(oracle, grant_id);
	const struct lane *other;

	if (lane == NULL || lane->is_unsure)
		return;
	if (lane->has_secret && !is_same_key(&lane->secret, key))
		world_fail(world, "%s is given another key of '%s'",
			   node_name(node), lane->key);
	lane->has_secret = true;
	lane->secret = *key;
	for (other = oracle->lanes; other != NULL; other = other->hh.next) {
		if (other != lane && other->has_secret &&
		    is_same_key(&other->secret, key))
			world_fail(world, "'%s' has the key of '%s'", lane->key,
				   other->key);
	}
	coverage_hit(world->coverage, "check:key");
}
