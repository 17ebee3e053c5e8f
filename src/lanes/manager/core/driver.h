/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The interconnects that the configuration turns on, with their drivers'
 * state and their pools. An interconnect keeps its index, by which jobs name
 * it, for the life of the core. On disk it goes by its name.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fairlead_driver.h"
#include "lanes/manager/core/core.h"
#include "lanes/manager/core/pool.h"

#define DRIVER_NONE UINT8_MAX

struct interconnect {
	const struct fairlead_driver *driver; /* NULL: not in use */
	void *state;
	uint32_t job_count; /* jobs in the table that use it */
	size_t pool_count;
	struct pool pools[FAIRLEAD_POOLS_MAX];
	/* Its settings, owned by the configuration. */
	const struct fairlead_setting *settings;
	size_t setting_count;
};

struct interconnects {
	struct interconnect list[CORE_DRIVERS_MAX];
};

/* A configuration of the drivers that has been checked and can be taken. */
struct driver_plan {
	size_t count;
	struct {
		const struct core_driver_config *config; /* the caller's */
		uint8_t index;
		void *state;
		size_t pool_count;
		struct fairlead_pool_spec specs[FAIRLEAD_POOLS_MAX];
	} list[CORE_DRIVERS_MAX];
};

/*
 * Check the drivers of a configuration against those that are there; errors
 * are added to ret_error, which is not NULL. Returns its code. The plan is to
 * be taken or dropped in any case.
 */
int drivers_plan(const struct interconnects *interconnects,
		 const struct core_config *config,
		 const struct edge_probe *probe, struct driver_plan *ret_plan,
		 struct fairlead_error *ret_error);
void drivers_drop(struct driver_plan *plan);
/* Interconnects that are not in the plan have no jobs (it was checked). */
void drivers_take(struct interconnects *interconnects, struct driver_plan *plan,
		  const struct edge_probe *probe);
void drivers_fini(struct interconnects *interconnects);

/* DRIVER_NONE when it is not turned on. */
uint8_t interconnect_find(const struct interconnects *interconnects,
			  const char *name);
/* NULL when there is no such pool. */
struct pool *driver_pool(struct interconnect *interconnect, const char *name);

#define interconnects_foreach(ic, interconnects)                  \
	for (__auto_type ic = (interconnects)->list;              \
	     ic < (interconnects)->list + CORE_DRIVERS_MAX; ic++) \
		if (ic->driver != NULL)
