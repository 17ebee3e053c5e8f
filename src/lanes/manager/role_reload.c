/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration and keys again. A reload takes the whole configuration or
 * nothing of it; keys that are right are taken in any case.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/role_internal.h"

/* One more text to those that are there, a line of its own. */
static void text_add(char **texts, const char *text)
{
	char *joined;

	if (*text == 0)
		return;
	joined =
		memory_format("%s%s%s", *texts, **texts == 0 ? "" : "\n", text);
	free(*texts);
	*texts = joined;
}

/* For people. What waits for a restart is reported again each time. */
static char *report(const struct manager *manager, const struct config *config,
		    bool has_new_keys, const char *core_changes)
{
	const struct config *started =
		manager->started == NULL ? manager->config : manager->started;
	_auto_(freep) char *restart =
		config_restart_needed(started, config, CONFIG_ROLE_MANAGER);
	char *all = config_changes(manager->config, config);

	if (has_new_keys)
		text_add(&all, "keys: those of the file are taken");
	text_add(&all, core_changes);
	text_add(&all, restart);
	return all;
}

static int take_config(struct manager *manager, struct config *config,
		       char **ret_text)
{
	_auto_(freep) char *changes = NULL;
	struct manager_keys keys = { 0 };
	struct role_config filled;
	struct fairlead_error error;
	bool has_new_keys = false;
	int result = role_keys_load(config->manager.key, &keys, &error);

	if (result == 0)
		result = engine_rekey(manager->engine, &keys, &error);
	if (result >= 0) {
		has_new_keys = result > 0;
		role_endpoint_keys(manager, &keys);
		role_config_fill(config, &filled);
		result = engine_configure(manager->engine, &filled.engine,
					  &changes, &error);
	}
	manager_keys_fini(&keys);
	if (result < 0) {
		*ret_text = memory_text(error.text);
		return result;
	}
	manager->log->level = config->log_level;
	*ret_text = report(manager, config, has_new_keys, changes);
	return 0;
}

int role_reconfigure(struct manager *manager, char **ret_text)
{
	_auto_(config_destroyp) struct config *config = NULL;
	int result = config_load(manager->config_path, manager->roles,
				 manager->drivers, manager->driver_count,
				 &config, ret_text);

	if (result == 0)
		result = config_check_files(config, CONFIG_ROLE_MANAGER,
					    ret_text);
	if (result == 0)
		result = take_config(manager, config, ret_text);
	if (result < 0)
		return result;
	if (manager->started == NULL)
		manager->started = manager->config;
	else
		config_destroy(manager->config);
	manager->config = take_ptr(config);
	return 0;
}

void manager_reload(struct manager *manager)
{
	_auto_(freep) char *text = NULL;
	int result = role_reconfigure(manager, &text);

	if (result < 0)
		log_error(manager->log, "reload refused, the old one stays: %s",
			  text);
	else
		log_info(manager->log, "reloaded: %s",
			 *text == 0 ? "nothing has changed" : text);
}
