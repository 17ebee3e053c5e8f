/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Where nodes are reached by the other nodes of a lane. A node reports it for
 * each driver when it registers and when it answers a query; the last report
 * counts, for later applies only. The driver knows what it means: an apply has
 * the places of the job's nodes put together, in the order of the job's host
 * list, and every node gets the same.
 */
#include <assert.h>

#include "lanes/manager/core/fit.h"
#include "lanes/manager/core/fleet.h"
#include "lanes/manager/core/grants.h"
#include "lanes/manager/core/out.h"

static_assert(NODE_PLACES_MAX == CORE_PLACES_MAX, "all places fit");
static_assert(FAIRLEAD_PLACE_MAX <= UINT8_MAX, "its size fits");

static bool is_same(const struct node *node, const struct node_place *places,
		    uint32_t count)
{
	return node->place_count == count &&
	       (count == 0 ||
		memcmp(node->places, places, count * sizeof(*places)) == 0);
}

bool core_places_take(struct node *node, const struct core_registration *from)
{
	struct node_place *places =
		memory_array(from->place_count, sizeof(*places));
	uint32_t count = 0;

	assert(from->place_count <= CORE_PLACES_MAX);
	for (size_t i = 0; i < from->place_count; i++) {
		const struct fairlead_place *place = &from->places[i].place;

		if (place->size == 0)
			continue;
		assert(place->size <= FAIRLEAD_PLACE_MAX);
		text_fit(places[count].driver, sizeof(places[count].driver),
			 from->places[i].driver);
		places[count].size = (uint8_t)place->size;
		memcpy(places[count].bytes, place->bytes, place->size);
		count++;
	}
	if (is_same(node, places, count)) {
		free(places);
		return false;
	}
	free(node->places);
	node->places = places;
	node->place_count = count;
	return true;
}

/* Size 0 when the node has reported none. */
static void place_of(const struct node *node, const char *driver,
		     struct fairlead_place *ret_place)
{
	*ret_place = (struct fairlead_place){ 0 };
	for (uint32_t i = 0; i < node->place_count; i++) {
		if (strcmp(node->places[i].driver, driver) != 0)
			continue;
		ret_place->size = node->places[i].size;
		memcpy(ret_place->bytes, node->places[i].bytes,
		       ret_place->size);
		return;
	}
}

int core_members_assemble(struct core *core, const struct job *job,
			  struct core_members *ret_members,
			  struct fairlead_error *ret_error)
{
	const struct interconnect *ic = core_interconnect(core, job);
	const struct fairlead_manager_ops *ops = ic->driver->manager;
	struct core_members members = { 0 };
	_auto_(freep) struct fairlead_place *places = NULL;
	_auto_(freep) const char **names = NULL;
	struct fairlead_lane lane;
	int result;

	if (ops->assemble == NULL) {
		*ret_members = members;
		return 0;
	}
	names = memory_array(job->part_count, sizeof(*names));
	places = memory_array(job->part_count, sizeof(*places));
	for (uint32_t i = 0; i < job->part_count; i++) {
		const struct node *node =
			nodes_at(&core->nodes, job->parts[i].node);

		names[i] = node->name;
		place_of(node, ic->driver->name, &places[i]);
	}
	core_lane(job, &lane);
	ret_error->code = 0;
	result = core_driver_result(
		ops->assemble(ic->state, &lane, names, places, job->part_count,
			      &members.bytes, &members.size, ret_error),
		ret_error);
	if (result < 0)
		return result;
	assert(members.size <= FAIRLEAD_MEMBERS_MAX);
	*ret_members = members;
	return 0;
}
