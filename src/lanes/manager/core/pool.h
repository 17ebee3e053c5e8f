/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One pool of identifiers. An identifier below the limit is in exactly one of
 * these: held by a grant, quarantined, or neither; and one that is neither is
 * free when it is in the universe and no node withholds it.
 *
 *	free = universe - held - quarantined - withheld
 *
 * Whatever the configuration or a node says only adds to or takes from what is
 * free; it never makes a held or quarantined identifier another's. `draining`
 * is what is held or quarantined outside the universe. Both sets are kept as
 * the others change, so that nobody who looks at the pool has to compute them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/idset.h"
#include "fairlead_driver.h"
#include "lanes/manager/core/edge.h"
#include "lanes/manager/core/run_set.h"

/*
 * A pool of runs (fairlead_driver.h) has a set of the runs that are taken
 * besides. Its sets say what is so on some position: an identifier can be both
 * held and quarantined, by different grants, and is free where it is neither
 * anywhere. It is the set that says what can be taken. Withheld is withheld
 * on all positions, since reports name none.
 */
struct pool_runs {
	uint32_t positions;
	struct run_set taken;
	/* By how many runs each identifier is held, or quarantined. */
	uint32_t *held_counts;
	uint32_t *quarantined_counts;
};

/* "cursor/DRIVER/POOL" */
#define POOL_CURSOR_KEY_MAX \
	(7 + FAIRLEAD_DRIVER_NAME_MAX + 1 + FAIRLEAD_POOL_NAME_MAX)

struct pool {
	char name[FAIRLEAD_POOL_NAME_MAX + 1];
	char cursor_key[POOL_CURSOR_KEY_MAX + 1];
	uint32_t limit;
	uint32_t cursor; /* where round robin goes on */
	struct idset *universe;
	struct idset *free;
	struct idset *draining;
	struct idset *held;
	struct idset *quarantined;
	struct idset *withheld;
	uint32_t *withheld_counts; /* by how many reports; NULL: no withheld */
	struct pool_runs *runs;    /* NULL: it is not one of runs */
	const struct edge_probe *probe_ref;
};

/*
 * An empty pool with the specified universe. -EINVAL: the universe or the
 * limit is bad, with a text that names the pool.
 */
int pool_init(struct pool *pool, const char *driver,
	      const struct fairlead_pool_spec *spec,
	      const struct edge_probe *probe, struct fairlead_error *ret_error);
void pool_fini(struct pool *pool);

/*
 * Could the pool go on with this specification? -EINVAL: the universe is bad,
 * or an identifier in use is not below the limit.
 */
int pool_check(const struct pool *pool, const struct fairlead_pool_spec *spec,
	       struct fairlead_error *ret_error);
/* Take a specification that pool_check has passed. */
void pool_configure(struct pool *pool, const struct fairlead_pool_spec *spec);

uint32_t pool_available(const struct pool *pool);
/*
 * Take the next count free ones by round robin, which are there; ret_ids is in
 * ascending order.
 */
void pool_take(struct pool *pool, uint32_t count, uint32_t *ret_ids);
/*
 * An identifier that a record holds, while the journal is read. -EBADMSG when
 * another one has it already or it is not below the limit.
 */
int pool_restore(struct pool *pool, uint32_t id, bool is_quarantined);

/* Where round robin goes on; from the start when it is not below the limit. */
void pool_set_cursor(struct pool *pool, uint64_t cursor);

void pool_quarantine(struct pool *pool, uint32_t id);
/* A held or quarantined identifier has no holder any more. */
void pool_put(struct pool *pool, uint32_t id);

/* A report of a node withholds the identifier, or no longer. id < limit. */
void pool_withhold(struct pool *pool, uint32_t id);
void pool_unwithhold(struct pool *pool, uint32_t id);

/* --- pools of runs --- */

/* Before anything is taken; NULL in a pool that is not one of runs. */
struct pool_runs *pool_runs_create(const struct fairlead_pool_spec *spec);
void pool_runs_destroy(struct pool_runs *runs);

/* The lowest run of that length that is free there. False: there is none. */
bool pool_run_find(const struct pool *pool, const struct fairlead_run *wanted,
		   uint32_t *ret_first);
/* How long the longest one is. */
uint32_t pool_run_longest(const struct pool *pool,
			  const struct fairlead_run *wanted);
/* Take the lowest one, which is there: its first and last identifier. */
void pool_run_take(struct pool *pool, const struct fairlead_run *wanted,
		   uint32_t ret_ids[2]);
/* As pool_restore. */
int pool_run_restore(struct pool *pool, const struct run_area *area,
		     bool is_quarantined);
void pool_run_quarantine(struct pool *pool, const struct run_area *area);
void pool_run_put(struct pool *pool, const struct run_area *area,
		  bool was_quarantined);
void pool_runs_verify(const struct pool *pool);

/* How many are quarantined and not held as well, by a run elsewhere. */
uint32_t pool_quarantined_only(const struct pool *pool);
/* Abort unless each identifier is in one set only. */
void pool_verify(const struct pool *pool);
