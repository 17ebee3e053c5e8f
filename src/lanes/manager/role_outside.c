/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric managers that drivers name in their settings. */
#include "lanes/manager/role.h"

#include <errno.h>
#include <string.h>

#include "lanes/manager/outside/backend.h"

static void on_done(void *ctx, uint64_t id, const struct outside_end *end)
{
	struct manager *manager = ctx;

	if (end->result < 0)
		log_debug(manager->log, "fabric manager error=\"%s\"",
			  end->text);
	if (!manager->is_over)
		engine_outside_done(manager->engine, id, end);
}

/*
 * *ret_backend: NULL if the driver names no fabric manager. The terms come from
 * a state of the driver made for this, since the configuration is checked and
 * its credentials are read before the core takes it.
 */
static int open_one(struct manager *manager, const struct config *config,
		    const struct config_driver *driver,
		    struct backend **ret_backend,
		    struct fairlead_error *ret_error)
{
	const struct fairlead_manager_ops *ops = driver->driver->manager;
	struct fairlead_outside terms = { 0 };
	void *state = NULL;
	int result;

	*ret_backend = NULL;
	if (ops->outside == NULL)
		return 0;
	result = ops->configure(driver->settings, driver->setting_count, &state,
				ret_error);
	if (result < 0)
		return result;
	ops->outside(state, &terms);
	if (terms.url != NULL)
		result = backend_create(manager->loop, &terms, config->cluster,
					on_done, manager, ret_backend,
					ret_error);
	ops->destroy(state);
	return result;
}

void role_outside_fini(struct role_outside *outside)
{
	for (size_t i = 0; i < outside->count; i++)
		backend_destroy(outside->list[i].backend);
	outside->count = 0;
}

int role_outside_open(struct manager *manager, const struct config *config,
		      struct role_outside *ret_outside,
		      struct fairlead_error *ret_error)
{
	struct role_outside outside = { 0 };
	int result = 0;

	for (size_t i = 0;
	     i < config->driver_count && i < CORE_DRIVERS_MAX && result == 0;
	     i++) {
		__auto_type entry = &outside.list[outside.count];

		entry->driver = config->drivers[i].driver->name;
		result = open_one(manager, config, &config->drivers[i],
				  &entry->backend, ret_error);
		outside.count += result == 0 && entry->backend != NULL;
	}
	if (result < 0)
		role_outside_fini(&outside);
	*ret_outside = outside;
	return result;
}

void role_outside_take(struct manager *manager,
		       const struct role_outside *outside)
{
	struct role_outside old = manager->outside;

	manager->outside = *outside;
	for (size_t i = 0; i < old.count; i++)
		backend_cancel(old.list[i].backend);
	role_outside_fini(&old);
}

void role_outside_send(struct manager *manager,
		       const struct outside_request *request)
{
	static const struct outside_end none = {
		.result = -EAGAIN,
		.text = "the configuration names no fabric manager",
	};
	const struct role_outside *outside = &manager->outside;

	for (size_t i = 0; i < outside->count; i++) {
		if (strcmp(outside->list[i].driver, request->driver) != 0)
			continue;
		backend_send(outside->list[i].backend, request);
		return;
	}
	on_done(manager, request->id, &none);
}
