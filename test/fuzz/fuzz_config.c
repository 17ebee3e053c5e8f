/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Configuration: a text is refused with errors that all name the file, or
 * everything in it is complete and in bounds.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "lanes/config/config.h"
#include "fuzz.h"

static const struct fairlead_driver none = {
	.name = "none",
	.settings = &settings_none,
};

static const struct fairlead_setting_spec specs[] = {
	{ "pool", &settings_text, 0, "1" },
	{ "library", &settings_path, sizeof(char *), "" },
	{ NULL },
};

static const struct fairlead_settings settings = { specs, 2 * sizeof(char *) };

static const struct fairlead_driver fast = {
	.name = "fast",
	.settings = &settings,
};

static const struct fairlead_driver *const drivers[] = { &none, &fast };

static void config_check(const struct config *config)
{
	const struct config_manager *manager = &config->manager;
	const struct config_node *node = &config->node;

	fuzz_check(manager->socket[0] == '/' && manager->state[0] == '/');
	fuzz_check(node->run[0] == '/' && node->incarnation[0] == '/');
	fuzz_check(manager->user[0] != 0 && node->user[0] != 0);
	fuzz_check(manager->apply_timeout_ms >= 1000);
	fuzz_check(node->housekeeping_timeout_ms <=
		   1000 * CONFIG_HOUSEKEEPING_MAX_S);
	fuzz_check(config_driver_find(config, manager->interconnect) != NULL);
	fuzz_check(manager->submitter_count <= CONFIG_SUBMITTERS_MAX);
	for (size_t i = 0; i < manager->submitter_count; i++)
		fuzz_check(manager->submitters[i].name[0] != 0);
	for (size_t i = 0; i < config->driver_count; i++) {
		const struct config_driver *driver = &config->drivers[i];

		for (size_t j = 0; j < driver->setting_count; j++)
			fuzz_check(driver->settings[j].line >= driver->line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_auto_(config_destroyp) struct config *config = NULL;
	_auto_(freep) char *errors = NULL;
	int result = config_parse((const char *)data, size, "f", 0, drivers, 2,
				  &config, &errors);

	if (result == 0) {
		config_check(config);
		return 0;
	}
	fuzz_check(result == -EINVAL);
	fuzz_check(errors != NULL && strncmp(errors, "f:", 2) == 0);
	for (const char *at = errors; (at = strchr(at, '\n')) != NULL; at++)
		fuzz_check(strncmp(at + 1, "f:", 2) == 0);
	return 0;
}
