/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sets of identifiers as JSON, and what a driver says of them. Which
 * identifiers an event of a driver means is the driver's to know: it is asked
 * to describe a lane with those that the record still has and those that were
 * freed, and its words have to be those of the event.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/memory.h"
#include "lanes/manager/check_internal.h"

int check_ids_add(json_t *sets, const char *pool, const char *text)
{
	_auto_(idset_destroyp) struct idset *ids = NULL;
	json_t *array = json_object_get(sets, pool);

	if (idset_parse(text, IDSET_LIMIT_MAX, &ids, NULL) < 0)
		return -EINVAL;
	if (array == NULL) {
		array = json_array();
		json_object_set_new(sets, pool, array);
	}
	idset_foreach (id, ids)
		json_array_append_new(array, json_integer(id));
	return 0;
}

static int by_number(const void *a, const void *b)
{
	json_int_t left = json_integer_value(*(json_t *const *)a);
	json_int_t right = json_integer_value(*(json_t *const *)b);

	return (left > right) - (left < right);
}

void check_ids_sort(json_t *value)
{
	size_t count = json_array_size(value);
	_auto_(freep) json_t **items = NULL;
	const char *name;
	json_t *member;

	json_object_foreach (value, name, member)
		check_ids_sort(member);
	for (size_t i = 0; i < count; i++) {
		check_ids_sort(json_array_get(value, i));
		if (!json_is_integer(json_array_get(value, i)))
			return;
	}
	items = memory_array(count, sizeof(*items));
	for (size_t i = 0; i < count; i++)
		items[i] = json_incref(json_array_get(value, i));
	qsort(items, count, sizeof(*items), by_number);
	for (size_t i = 0; i < count; i++)
		json_array_set_new(value, i, items[i]);
}

void check_ids_unique(json_t *sets)
{
	const char *name;
	json_t *ids;

	json_object_foreach (sets, name, ids)
		for (size_t i = json_array_size(ids); i > 1; i--)
			if (json_equal(json_array_get(ids, i - 1),
				       json_array_get(ids, i - 2)))
				json_array_remove(ids, i - 1);
}

static size_t find_driver(const struct check *check, const char *name)
{
	const struct core_config *core = &check->config->engine.core;
	size_t i = 0;

	while (i < core->driver_count &&
	       strcmp(core->drivers[i].driver->name, name) != 0)
		i++;
	return i;
}

/* The ends of a run, of which all identifiers are there; or nothing is. */
static bool fill_run(json_t *ids, struct fairlead_lane *lane)
{
	size_t count = json_array_size(ids);

	if (count == 0)
		return true;
	if (lane->id_count + 2 > FAIRLEAD_LANE_IDS_MAX)
		return false;
	lane->ids[lane->id_count++] =
		(uint32_t)json_integer_value(json_array_get(ids, 0));
	lane->ids[lane->id_count++] =
		(uint32_t)json_integer_value(json_array_get(ids, count - 1));
	return true;
}

/* Identifiers in the order of the driver's pools; false: there are too many. */
static bool fill_lane(const struct check *check, size_t driver, json_t *sets,
		      struct fairlead_lane *lane)
{
	const struct fairlead_manager_ops *ops =
		check->config->drivers[driver].driver->manager;
	struct fairlead_pool_spec pools[FAIRLEAD_POOLS_MAX];
	size_t count = ops->pools(check->states[driver], pools);

	for (size_t i = 0; i < count; i++) {
		json_t *ids = json_object_get(sets, pools[i].name);

		if (pools[i].positions > 0) {
			if (!fill_run(ids, lane))
				return false;
			continue;
		}
		for (size_t j = 0; j < json_array_size(ids); j++) {
			if (lane->id_count == FAIRLEAD_LANE_IDS_MAX)
				return false;
			lane->ids[lane->id_count++] =
				(uint32_t)json_integer_value(
					json_array_get(ids, j));
		}
	}
	return true;
}

bool check_is_reservation(const struct check *check, json_t *sets)
{
	const struct manager_replay *replay = &check->replay;
	size_t driver = find_driver(check, replay->interconnect);
	struct fairlead_lane lane = { .grant_id = replay->grant_id };
	_auto_(freep) char *text = NULL;
	const char *name;
	const char *reason = json_string_value(
		json_object_get(replay->context, "empty-reason"));
	json_t *described;
	bool is_equal;

	if (driver == check->config->engine.core.driver_count)
		return false;
	check_ids_sort(sets);
	if (!fill_lane(check, driver, sets, &lane) ||
	    check->config->drivers[driver].driver->manager->describe(
		    check->states[driver], &lane, reason == NULL ? "" : reason,
		    &name, &text) < 0)
		return false;
	described = json_loads(text, 0, NULL);
	check_ids_sort(described);
	check_ids_sort(replay->context);
	is_equal = json_equal(described, replay->context);
	json_decref(described);
	return is_equal;
}
