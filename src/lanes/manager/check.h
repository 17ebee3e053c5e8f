/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the files of --check-journal. */
#pragma once

#include <jansson.h>

#include "base/hash.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/role.h"

enum manager_phase {
	PHASE_NONE,
	PHASE_REQUESTED,
	PHASE_RESERVED,
	PHASE_APPLYING,
	PHASE_ACTIVE,
	PHASE_RELEASING,
	PHASE_OVER,
};

/* A job's record, as `list` shows it. */
struct record {
	uint64_t grant_id;
	json_t *view;
	bool was_seen; /* among the events */
	UT_hash_handle hh;
};

/* What the events of one grant have said so far. */
struct manager_replay {
	uint64_t grant_id;
	enum manager_phase phase;
	bool has_failed_reserve;
	char interconnect[FAIRLEAD_DRIVER_NAME_MAX + 1];
	json_t *context; /* of the driver's event */
	json_t *freed;   /* {pool: [ids]} */
};

struct check {
	FILE *out;
	const struct role_config *config;
	void *states[CORE_DRIVERS_MAX]; /* of the drivers' manager halves */
	struct record *records;
	struct manager_replay replay;
	size_t grant_count;
	size_t event_count;
	size_t problem_count;
};

/* Write a contradiction, unless there were too many. */
void check_problem(struct check *check, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Add the text form of a set to {pool: [ids]}. -EINVAL. */
int check_ids_add(json_t *sets, const char *pool, const char *text);
/* Arrays of numbers, at any depth, in rising order: a set has none. */
void check_ids_sort(json_t *value);
/* The same numbers once only, of {pool: [ids]} that is sorted. */
void check_ids_unique(json_t *sets);
/*
 * Are these the identifiers of the reservation that is replayed? The driver is
 * asked to describe a lane with them.
 */
bool check_is_reservation(const struct check *check, json_t *sets);

/* --- check_events.c --- */

/* A store_row_fn for the EVENT rows of all grants, in their order. */
int check_event(void *check, const struct store_row *row);
/* After the last one. */
void check_events_end(struct check *check);
