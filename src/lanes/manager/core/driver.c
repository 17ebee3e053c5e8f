/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A configuration of drivers is checked whole before any of it is taken: each
 * driver makes a new state from its settings, and what is in use must fit
 * into it. An interconnect that still has grants cannot be turned off, nor
 * can a pool that is in use disappear: both are said, with what to do.
 */
#include "lanes/manager/core/driver.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "lanes/proto/names.h"

uint8_t interconnect_find(const struct interconnects *interconnects,
			  const char *name)
{
	for (uint8_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		const struct fairlead_driver *driver =
			interconnects->list[i].driver;

		if (driver != NULL && strcmp(driver->name, name) == 0)
			return i;
	}
	return DRIVER_NONE;
}

struct pool *driver_pool(struct interconnect *interconnect, const char *name)
{
	for (size_t i = 0; i < interconnect->pool_count; i++)
		if (strcmp(interconnect->pools[i].name, name) == 0)
			return &interconnect->pools[i];
	return NULL;
}

/* --- checking --- */

/* Why the driver cannot be used at all; NULL: it can. */
static const char *driver_flaw(const struct fairlead_driver *driver)
{
	if (driver->abi != FAIRLEAD_DRIVER_ABI)
		return "was built for another version of fairlead";
	if (!name_is_driver(driver->name))
		return "has a name that cannot be used";
	if (driver->manager == NULL)
		return "has no manager half";
	return NULL;
}

static int index_assign(const struct interconnects *interconnects,
			const struct driver_plan *plan, const char *name)
{
	uint8_t index = interconnect_find(interconnects, name);

	if (index != DRIVER_NONE)
		return index;
	for (int i = 0; i < CORE_DRIVERS_MAX; i++) {
		bool is_used = interconnects->list[i].driver != NULL;

		for (size_t n = 0; n < plan->count; n++)
			is_used = is_used || plan->list[n].index == i;
		if (!is_used)
			return i;
	}
	return -ENOSPC;
}

/*
 * Jobs name pools by their index, so that a pool keeps its index while it is
 * in use.
 */
static void pools_check(const struct interconnect *ic,
			const struct fairlead_pool_spec *specs, size_t count,
			struct fairlead_error *ret_error)
{
	for (size_t i = 0; i < ic->pool_count; i++) {
		struct fairlead_error error = { 0 };

		if (i >= count || strcmp(ic->pools[i].name, specs[i].name)) {
			if (ic->job_count > 0)
				error_add(ret_error, -EINVAL,
					  "%s: pool '%s' is in use and cannot "
					  "go or move",
					  ic->driver->name, ic->pools[i].name);
		} else if (pool_check(&ic->pools[i], &specs[i], &error) < 0) {
			error_add(ret_error, -EINVAL, "%s: %s",
				  ic->driver->name, error.text);
		}
	}
}

static void new_pools_check(const char *driver,
			    const struct fairlead_pool_spec *specs,
			    size_t count, const struct edge_probe *probe,
			    struct fairlead_error *ret_error)
{
	for (size_t i = 0; i < count; i++) {
		struct fairlead_error error = { 0 };
		struct pool pool;

		if (pool_init(&pool, driver, &specs[i], probe, &error) < 0)
			error_add(ret_error, -EINVAL, "%s: %s", driver,
				  error.text);
		else
			pool_fini(&pool);
	}
}

static void plan_one(const struct interconnects *interconnects,
		     const struct core_driver_config *config,
		     const struct edge_probe *probe, struct driver_plan *plan,
		     struct fairlead_error *ret_error)
{
	const struct fairlead_driver *driver = config->driver;
	const char *flaw = driver_flaw(driver);
	struct fairlead_error error = { 0 };
	size_t i = plan->count;
	int index;

	for (size_t n = 0; n < plan->count && flaw == NULL; n++)
		if (strcmp(plan->list[n].config->driver->name, driver->name) ==
		    0)
			flaw = "is turned on twice";
	index = index_assign(interconnects, plan, driver->name);
	if (flaw == NULL && index < 0)
		flaw = "is one driver too many";
	if (flaw != NULL) {
		error_add(ret_error, -EINVAL, "driver '%s' %s", driver->name,
			  flaw);
		return;
	}
	if (driver->manager->configure(config->settings, config->setting_count,
				       &plan->list[i].state, &error) < 0) {
		error_add(ret_error, -EINVAL, "%s", error.text);
		return;
	}
	plan->list[i].config = config;
	plan->list[i].index = (uint8_t)index;
	plan->list[i].pool_count = driver->manager->pools(plan->list[i].state,
							  plan->list[i].specs);
	assert(plan->list[i].pool_count <= FAIRLEAD_POOLS_MAX);
	plan->count++;
	new_pools_check(driver->name, plan->list[i].specs,
			plan->list[i].pool_count, probe, ret_error);
	if (ret_error->code == 0 && interconnects->list[index].driver)
		pools_check(&interconnects->list[index], plan->list[i].specs,
			    plan->list[i].pool_count, ret_error);
}

/* Also when its settings are wrong, of which there is an error already. */
static bool is_configured(const struct core_config *config,
			  const struct fairlead_driver *driver)
{
	for (size_t i = 0; i < config->driver_count; i++)
		if (strcmp(config->drivers[i].driver->name, driver->name) == 0)
			return true;
	return false;
}

int drivers_plan(const struct interconnects *interconnects,
		 const struct core_config *config,
		 const struct edge_probe *probe, struct driver_plan *ret_plan,
		 struct fairlead_error *ret_error)
{
	ret_plan->count = 0;
	for (size_t i = 0; i < config->driver_count; i++)
		plan_one(interconnects, &config->drivers[i], probe, ret_plan,
			 ret_error);
	for (uint8_t i = 0; i < CORE_DRIVERS_MAX; i++) {
		const struct interconnect *ic = &interconnects->list[i];

		if (ic->driver != NULL && ic->job_count > 0 &&
		    !is_configured(config, ic->driver))
			error_add(ret_error, -EINVAL,
				  "driver '%s' has %" PRIu32
				  " grants: it cannot be turned off before "
				  "they are released",
				  ic->driver->name, ic->job_count);
	}
	return ret_error->code;
}

void drivers_drop(struct driver_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		plan->list[i].config->driver->manager->destroy(
			plan->list[i].state);
	plan->count = 0;
}

/* --- taking --- */

static void interconnect_fini(struct interconnect *ic)
{
	if (ic->driver == NULL)
		return;
	ic->driver->manager->destroy(ic->state);
	for (size_t i = 0; i < ic->pool_count; i++)
		pool_fini(&ic->pools[i]);
	*ic = (struct interconnect){ 0 };
}

static void pools_take(struct interconnect *ic, const char *name,
		       const struct fairlead_pool_spec *specs, size_t count,
		       const struct edge_probe *probe)
{
	/* Only pools that are not in use can go or change their index. */
	while (ic->pool_count > count)
		pool_fini(&ic->pools[--ic->pool_count]);
	for (size_t i = 0; i < count; i++) {
		struct pool *pool = &ic->pools[i];

		if (i < ic->pool_count &&
		    strcmp(pool->name, specs[i].name) == 0) {
			pool_configure(pool, &specs[i]);
			continue;
		}
		if (i < ic->pool_count)
			pool_fini(pool);
		if (pool_init(pool, name, &specs[i], probe, NULL) < 0)
			abort();
	}
	ic->pool_count = count;
}

void drivers_take(struct interconnects *interconnects, struct driver_plan *plan,
		  const struct edge_probe *probe)
{
	bool is_kept[CORE_DRIVERS_MAX] = { 0 };

	for (size_t i = 0; i < plan->count; i++)
		is_kept[plan->list[i].index] = true;
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		if (!is_kept[i])
			interconnect_fini(&interconnects->list[i]);
	for (size_t i = 0; i < plan->count; i++) {
		const struct core_driver_config *config = plan->list[i].config;
		struct interconnect *ic =
			&interconnects->list[plan->list[i].index];

		if (ic->driver != NULL)
			ic->driver->manager->destroy(ic->state);
		ic->driver = config->driver;
		ic->settings = config->settings;
		ic->setting_count = config->setting_count;
		ic->state = plan->list[i].state;
		pools_take(ic, config->driver->name, plan->list[i].specs,
			   plan->list[i].pool_count, probe);
	}
	plan->count = 0;
}

void drivers_fini(struct interconnects *interconnects)
{
	for (size_t i = 0; i < CORE_DRIVERS_MAX; i++)
		interconnect_fini(&interconnects->list[i]);
}
