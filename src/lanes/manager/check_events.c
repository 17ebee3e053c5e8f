/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events of one grant are read in their order:
 *
 *	request -> DRIVER'S -> apply -> applied -> release -> revoked
 *
 * with exceptions, confirmations, frees and what became of an external
 * reservation in between. After the last one they have to have led to where the
 * record is, and to have freed what is gone.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "lanes/manager/check.h"

static const char *const phase_names[] = {
	[PHASE_NONE] = "nothing",      [PHASE_REQUESTED] = "requested",
	[PHASE_RESERVED] = "reserved", [PHASE_APPLYING] = "applying",
	[PHASE_ACTIVE] = "active",     [PHASE_RELEASING] = "releasing",
	[PHASE_OVER] = "over",
};

static bool phase_is(enum manager_phase phase, const char *state)
{
	if (strcmp(state, "released") == 0 || strcmp(state, "failed") == 0)
		return phase == PHASE_OVER || phase == PHASE_RELEASING;
	return strcmp(phase_names[phase], state) == 0;
}

static void compare_record(struct check *check, struct record *record)
{
	const struct manager_replay *replay = &check->replay;
	const char *state =
		json_string_value(json_object_get(record->view, "state"));
	const char *key =
		json_string_value(json_object_get(record->view, "key"));
	json_t *sets = json_deep_copy(replay->freed);
	const char *pool;
	json_t *ids;

	record->was_seen = true;
	if (!phase_is(replay->phase, state))
		check_problem(check,
			      "grant %" PRIu64 " (%s): the record says %s, its "
			      "events say %s",
			      replay->grant_id, key, state,
			      phase_names[replay->phase]);
	json_object_foreach (json_object_get(record->view, "ids"), pool, ids)
		check_ids_add(sets, pool, json_string_value(ids));
	if (!check_is_reservation(check, sets))
		check_problem(check,
			      "grant %" PRIu64
			      " (%s): what the record holds and "
			      "what was freed is not what its events reserved",
			      replay->grant_id, key);
	json_decref(sets);
}

static void compare_gone(struct check *check)
{
	const struct manager_replay *replay = &check->replay;

	if (replay->has_failed_reserve)
		return;
	if (replay->phase < PHASE_RELEASING)
		check_problem(check,
			      "grant %" PRIu64
			      ": there is no record, and its events "
			      "say %s",
			      replay->grant_id, phase_names[replay->phase]);
	else if (!check_is_reservation(check, replay->freed))
		check_problem(check,
			      "grant %" PRIu64
			      ": it is gone, and what it freed is "
			      "not what it had reserved",
			      replay->grant_id);
}

void check_events_end(struct check *check)
{
	struct manager_replay *replay = &check->replay;
	struct record *record;

	if (replay->grant_id == 0)
		return;
	check->grant_count++;
	HASH_FIND(hh, check->records, &replay->grant_id,
		  sizeof(replay->grant_id), record);
	if (record != NULL)
		compare_record(check, record);
	else
		compare_gone(check);
	json_decref(replay->context);
	json_decref(replay->freed);
	*replay = (struct manager_replay){ 0 };
}

static void on_request(struct check *check, json_t *context)
{
	struct manager_replay *replay = &check->replay;
	const char *name =
		json_string_value(json_object_get(context, "interconnect"));

	snprintf(replay->interconnect, sizeof(replay->interconnect), "%s",
		 name == NULL ? "" : name);
}

static void on_free(struct check *check, json_t *context)
{
	const char *pool = json_string_value(json_object_get(context, "pool"));
	const char *ids = json_string_value(json_object_get(context, "ids"));

	if (pool == NULL || ids == NULL ||
	    check_ids_add(check->replay.freed, pool, ids) < 0)
		check_problem(check,
			      "grant %" PRIu64 ": an event `free` is malformed",
			      check->replay.grant_id);
}

/* Where an event leads, by name; others lead nowhere. */
static const struct manager_step {
	const char *name;
	unsigned int from; /* phases, as bits */
	enum manager_phase to;
} steps[] = {
	{ "request", 1u << PHASE_NONE, PHASE_REQUESTED },
	{ "apply", 1u << PHASE_RESERVED, PHASE_APPLYING },
	{ "applied", 1u << PHASE_RESERVED | 1u << PHASE_APPLYING,
	  PHASE_ACTIVE },
	{ "release",
	  1u << PHASE_REQUESTED | 1u << PHASE_RESERVED | 1u << PHASE_APPLYING |
		  1u << PHASE_ACTIVE,
	  PHASE_RELEASING },
	{ "revoked", 1u << PHASE_RELEASING, PHASE_OVER },
};

static bool is_of_no_phase(const char *name)
{
	static const char *const names[] = { "node-reset", "exception",
					     "quarantine", "confirm",
					     "free",       "external" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}

static const struct manager_step *find_step(const char *name)
{
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		if (strcmp(name, steps[i].name) == 0)
			return &steps[i];
	}
	return NULL;
}

static void take_step(struct check *check, const char *name, json_t *context)
{
	struct manager_replay *replay = &check->replay;
	const struct manager_step *step = find_step(name);
	unsigned int from = 1u << PHASE_REQUESTED;
	enum manager_phase to = PHASE_RESERVED;

	if (step != NULL) {
		from = step->from;
		to = step->to;
	} else {
		json_decref(replay->context);
		replay->context = json_incref(context);
	}
	if ((from & 1u << replay->phase) == 0)
		check_problem(check, "grant %" PRIu64 ": event `%s` after %s",
			      replay->grant_id, name,
			      phase_names[replay->phase]);
	if (strcmp(name, "release") == 0)
		replay->has_failed_reserve = replay->phase == PHASE_REQUESTED;
	replay->phase = to;
}

int check_event(void *arg, const struct store_row *row)
{
	struct check *check = arg;
	struct manager_replay *replay = &check->replay;
	json_t *event = json_loadb(row->body, row->size, 0, NULL);
	const char *name = json_string_value(json_object_get(event, "name"));
	json_t *context = json_object_get(event, "context");

	if (row->id != replay->grant_id) {
		check_events_end(check);
		replay->grant_id = row->id;
		replay->freed = json_object();
	}
	check->event_count++;
	if (name == NULL || context == NULL) {
		check_problem(check, "grant %" PRIu64 ": an event is malformed",
			      row->id);
	} else if (is_of_no_phase(name)) {
		if (strcmp(name, "free") == 0)
			on_free(check, context);
	} else {
		if (strcmp(name, "request") == 0)
			on_request(check, context);
		take_step(check, name, context);
	}
	json_decref(event);
	return 0;
}
