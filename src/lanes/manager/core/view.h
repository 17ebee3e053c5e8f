/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by view*.c and metrics.c. */
#pragma once

#include "lanes/manager/core/state.h"

struct pool_counts {
	uint32_t universe, free, held, quarantined, withheld, draining;
};

/*
 * While a recovery is under way what would be free is withheld. In a pool of
 * runs an identifier is counted as held where it is held on some position, else
 * as quarantined where it is that.
 */
struct pool_counts view_pool_counts(const struct core *core,
				    const struct pool *pool);

/* --- view_outside.c --- */

/* {interconnect: its fabric manager, and reservations in numbers} */
json_t *view_outsides(const struct core *core);
json_t *view_shares(const struct core *core);
/* Add the grant's external reservation to its item, where it has one. */
void view_outside_add(const struct core *core, json_t *item, uint64_t grant_id);

/* --- view.c --- */

/* An array that stays within CORE_VIEW_BYTES_MAX. */
struct view_array {
	json_t *items;
	size_t bytes;
	bool has_more;
};

void view_array_init(struct view_array *array);
/*
 * Add an item of about so many bytes. False: it does not fit, the item is
 * dropped and the array has more.
 */
bool view_array_add(struct view_array *array, json_t *item_owned, size_t bytes);
/* The same with all elements of an array, or none. */
bool view_array_extend(struct view_array *array, json_t *items_owned,
		       size_t bytes);
/*
 * {name: items}, and where there is more "more" and "after", where the next
 * view goes on (NULL: there is none); ends the array.
 */
json_t *view_array_end(struct view_array *array, const char *name,
		       json_t *after_owned);

/* Set a member, or abort when memory is out. */
void view_set(json_t *object, const char *name, json_t *value_owned);
void view_text(json_t *object, const char *name, const char *text);
void view_number(json_t *object, const char *name, uint64_t number);
/* A moment: seconds since 1970 with a fraction. */
void view_moment(json_t *object, const char *name, uint64_t time_us);
