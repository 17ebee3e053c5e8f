/* SPDX-License-Identifier: BSD-3-Clause */
/* The engine's part of the configuration and the key file. */
#include "lanes/manager/role.h"

#include <sodium.h>
#include <string.h>

#include "sys/secret.h"

#define EVENTS_KEEP 100000 /* released grants whose events are kept */

void role_config_fill(const struct config *config, struct role_config *ret)
{
	const struct config_manager *manager = &config->manager;
	struct engine_config *engine = &ret->engine;

	*ret = (struct role_config){ 0 };
	for (size_t i = 0; i < config->driver_count; i++) {
		const struct config_driver *driver = &config->drivers[i];

		if (i == CORE_DRIVERS_MAX)
			break;
		ret->drivers[i] = (struct core_driver_config){
			.driver = driver->driver,
			.settings = driver->settings,
			.setting_count = driver->setting_count,
		};
		engine->core.driver_count = i + 1;
	}
	for (size_t i = 0; i < manager->submitter_count; i++)
		ret->submitters[i] = (struct engine_submitter){
			.name = manager->submitters[i].name,
			.uid = manager->submitters[i].uid,
		};
	engine->core.nodes = manager->nodes;
	engine->core.interconnect = manager->interconnect;
	engine->core.apply_timeout_ms = manager->apply_timeout_ms;
	engine->core.revoke_timeout_ms = manager->revoke_timeout_ms;
	engine->core.events_keep = EVENTS_KEEP;
	engine->core.drivers = ret->drivers;
	engine->core.cluster = config->cluster;
	engine->submitters = ret->submitters;
	engine->submitter_count = manager->submitter_count;
}

int role_keys_load(const char *path, struct manager_keys *ret_keys,
		   struct fairlead_error *ret_error)
{
	char bytes[KEYFILE_SIZE_MAX];
	ssize_t size = secret_read(path, bytes, sizeof(bytes), ret_error);
	int result;

	if (size < 0)
		return error_prefix(ret_error, "key");
	result = manager_keys_parse(bytes, (size_t)size, ret_keys, ret_error);
	sodium_memzero(bytes, sizeof(bytes));
	return result < 0 ? error_prefix(ret_error, "key: %s", path) : 0;
}
