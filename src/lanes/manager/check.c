/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records come from a core that was loaded and not started; its views are
 * what the events (check_events.c) and the pools are compared with.
 */
#include "lanes/manager/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/idset.h"
#include "base/memory.h"
#include "lanes/manager/store/store.h"
#include "sys/clock.h"
#include "sys/files.h"

void check_problem(struct check *check, const char *format, ...)
{
	va_list args;

	if (++check->problem_count > CHECK_LINES_MAX)
		return;
	va_start(args, format);
	vfprintf(check->out, format, args);
	va_end(args);
	fputc('\n', check->out);
}

/* --- records and pools --- */

static void take_records(struct check *check, const struct core *core)
{
	const struct core_caller root = { .is_root = true };
	struct core_filter filter = { 0 };
	bool has_more = true;

	while (has_more) {
		json_t *view = core_view_list(core, &root, &filter);
		size_t index;
		json_t *job;

		has_more = json_is_true(json_object_get(view, "more"));
		json_array_foreach (json_object_get(view, "jobs"), index, job) {
			struct record *record = memory_alloc(sizeof(*record));

			record->grant_id = (uint64_t)json_integer_value(
				json_object_get(job, "grant_id"));
			HASH_ADD(hh, check->records, grant_id,
				 sizeof(record->grant_id), record);
			memory_have(record->hh.tbl);
			record->view = json_incref(job);
		}
		filter.after = (uint64_t)json_integer_value(
			json_object_get(view, "after"));
		json_decref(view);
	}
}

/* All identifiers that records of an interconnect hold, as {pool: [ids]}. */
static json_t *collect_held(const struct check *check, const char *interconnect)
{
	json_t *sets = json_object();

	for (const struct record *record = check->records; record != NULL;
	     record = record->hh.next) {
		const char *name = json_string_value(
			json_object_get(record->view, "interconnect"));
		const char *pool;
		json_t *ids;

		if (strcmp(name, interconnect) != 0)
			continue;
		json_object_foreach (json_object_get(record->view, "ids"), pool,
				     ids)
			check_ids_add(sets, pool, json_string_value(ids));
	}
	check_ids_sort(sets);
	return sets;
}

static void compare_pools(struct check *check, const struct core *core)
{
	json_t *view = core_view_pools(core);
	const char *interconnect;
	json_t *pools;

	json_object_foreach (json_object_get(view, "pools"), interconnect,
			     pools) {
		json_t *held = collect_held(check, interconnect);
		json_t *taken = json_object();
		const char *name;
		json_t *pool;

		json_object_foreach (pools, name, pool) {
			check_ids_add(taken, name,
				      json_string_value(
					      json_object_get(pool, "held")));
			check_ids_add(taken, name,
				      json_string_value(json_object_get(
					      pool, "quarantined")));
			if (json_object_get(held, name) == NULL)
				json_object_set_new(held, name, json_array());
		}
		check_ids_sort(taken);
		/* Runs share identifiers where their positions differ. */
		check_ids_unique(held);
		check_ids_unique(taken);
		if (!json_equal(held, taken))
			check_problem(
				check,
				"pools of %s: what is held and quarantined is "
				"not what the records hold",
				interconnect);
		json_decref(held);
		json_decref(taken);
	}
	json_decref(view);
}

static void records_fini(struct check *check)
{
	struct record *record;
	struct record *next;

	HASH_ITER (hh, check->records, record, next) {
		HASH_DEL(check->records, record);
		json_decref(record->view);
		free(record);
	}
}

/* --- a core that is only looked at --- */

static void no_store(void *ctx, const struct store_row *row)
{
}

static const struct core_ops silent_ops = { .store = no_store };

struct load {
	struct core *core;
	struct fairlead_error *error;
};

static int on_row(void *arg, const struct store_row *row)
{
	const struct load *load = arg;

	if (row->table == STORE_META &&
	    strcmp(row->key, ENGINE_META_HALTED) == 0)
		return 0;
	return core_load(load->core, row, load->error);
}

static int load_core(struct store *store, struct core *core,
		     struct fairlead_error *ret_error)
{
	struct load load = { .core = core, .error = ret_error };
	int result = 0;

	for (size_t i = 0; i < CORE_LOAD_COUNT && result == 0; i++)
		result = store_scan(store, core_load_order[i], on_row, &load,
				    ret_error);
	return result;
}

static int compare(struct check *check, struct store *store, struct core *core,
		   struct fairlead_error *ret_error)
{
	int result = load_core(store, core, ret_error);

	if (result == 0)
		take_records(check, core);
	if (result == 0)
		result = store_scan(store, STORE_EVENT, check_event, check,
				    ret_error);
	if (result < 0)
		return result;
	check_events_end(check);
	for (const struct record *record = check->records; record != NULL;
	     record = record->hh.next) {
		if (!record->was_seen)
			check_problem(check,
				      "grant %" PRIu64 ": it has no events",
				      record->grant_id);
	}
	compare_pools(check, core);
	return 0;
}

static int open_drivers(struct check *check, struct fairlead_error *ret_error)
{
	const struct core_config *core = &check->config->engine.core;
	int result = 0;

	for (size_t i = 0; i < core->driver_count && result == 0; i++) {
		const struct core_driver_config *driver = &core->drivers[i];

		result = driver->driver->manager->configure(
			driver->settings, driver->setting_count,
			&check->states[i], ret_error);
	}
	return result;
}

static void close_drivers(struct check *check)
{
	const struct core_config *core = &check->config->engine.core;

	for (size_t i = 0; i < core->driver_count; i++)
		core->drivers[i].driver->manager->destroy(check->states[i]);
}

int manager_check_journal(const struct config *config, FILE *out,
			  struct fairlead_error *ret_error)
{
	const struct store_options options = { .files = sys_files() };
	const struct clock_seam clock = sys_clock();
	struct role_config filled;
	struct check check = { .out = out, .config = &filled };
	struct store *store = NULL;
	_auto_(core_destroyp) struct core *core = NULL;
	int result;

	role_config_fill(config, &filled);
	result = open_drivers(&check, ret_error);
	if (result == 0)
		result = store_open(config->manager.state, &options, &store,
				    ret_error);
	if (result == 0)
		result = store_check(store, ret_error);
	if (result == 0)
		result = core_create(&filled.engine.core, &silent_ops, NULL,
				     &clock, NULL, NULL, &core, ret_error);
	if (result == 0)
		result = compare(&check, store, core, ret_error);
	store_close(store);
	records_fini(&check);
	json_decref(check.replay.context);
	json_decref(check.replay.freed);
	close_drivers(&check);
	if (result < 0)
		return result;
	fprintf(out, "journal: %zu grants, %zu events: %zu contradictions\n",
		check.grant_count, check.event_count, check.problem_count);
	return check.problem_count > 0
		       ? error_set(ret_error, -EUCLEAN,
				   "records and events contradict each other")
		       : 0;
}

/*
 * --- sets of identifiers ---
 *
 * Sets of identifiers as JSON, and what a driver says of them. Which
 * identifiers an event of a driver means is the driver's to know: it is asked
 * to describe a lane with those that the record still has and those that were
 * freed, and its words have to be those of the event.
 */

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
