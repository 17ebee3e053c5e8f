/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A deep copy of the configuration: the core is made again from it after a
 * failed commit. Drivers are constants and are shared.
 */
#include <errno.h>
#include <string.h>

#include "lanes/manager/internal.h"

/* With a zero behind it, so that an empty one is there too. */
static char *copy_content(const struct fairlead_setting *from)
{
	char *copy = malloc(from->content_size + 1);

	if (copy != NULL) {
		memcpy(copy, from->content, from->content_size);
		copy[from->content_size] = 0;
	}
	return copy;
}

static int copy_driver(const struct core_driver_config *from,
		       struct core_driver_config *to)
{
	struct fairlead_setting *settings;

	settings = calloc(from->setting_count + 1, sizeof(*settings));
	if (settings == NULL)
		return -ENOMEM;
	*to = (struct core_driver_config){
		.driver = from->driver,
		.settings = settings,
		.setting_count = from->setting_count,
	};
	for (size_t i = 0; i < from->setting_count; i++) {
		settings[i].line = from->settings[i].line;
		settings[i].name = strdup(from->settings[i].name);
		settings[i].value = strdup(from->settings[i].value);
		if (settings[i].name == NULL || settings[i].value == NULL)
			return -ENOMEM;
		if (from->settings[i].content == NULL)
			continue;
		settings[i].content_size = from->settings[i].content_size;
		settings[i].content = copy_content(&from->settings[i]);
		if (settings[i].content == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int copy_core(const struct core_config *from, struct core_config *to)
{
	struct core_driver_config *drivers;
	int result = 0;

	drivers = calloc(from->driver_count + 1, sizeof(*drivers));
	*to = *from;
	to->nodes = strdup(from->nodes);
	to->interconnect = strdup(from->interconnect);
	to->drivers = drivers;
	to->driver_count = drivers == NULL ? 0 : from->driver_count;
	if (to->nodes == NULL || to->interconnect == NULL || drivers == NULL)
		return -ENOMEM;
	for (size_t i = 0; i < from->driver_count && result == 0; i++)
		result = copy_driver(&from->drivers[i], &drivers[i]);
	return result;
}

static int copy_submitters(const struct engine_config *from,
			   struct engine_config *to)
{
	struct engine_submitter *submitters;

	submitters = calloc(from->submitter_count + 1, sizeof(*submitters));
	if (submitters == NULL)
		return -ENOMEM;
	to->submitters = submitters;
	to->submitter_count = from->submitter_count;
	for (size_t i = 0; i < from->submitter_count; i++) {
		submitters[i].uid = from->submitters[i].uid;
		submitters[i].name = strdup(from->submitters[i].name);
		if (submitters[i].name == NULL)
			return -ENOMEM;
	}
	return 0;
}

int engine_config_copy(const struct engine_config *config,
		       struct engine_config **ret_copy)
{
	struct engine_config *copy = calloc(1, sizeof(*copy));
	int result = copy == NULL ? -ENOMEM : 0;

	if (result == 0)
		result = copy_core(&config->core, &copy->core);
	if (result == 0)
		result = copy_submitters(config, copy);
	if (result == 0) {
		copy->cluster = strdup(config->cluster);
		result = copy->cluster == NULL ? -ENOMEM : 0;
	}
	if (result < 0) {
		engine_config_destroy(copy);
		return result;
	}
	*ret_copy = copy;
	return 0;
}

void engine_config_destroy(struct engine_config *config)
{
	if (config == NULL)
		return;
	for (size_t i = 0; i < config->core.driver_count; i++) {
		const struct core_driver_config *driver =
			&config->core.drivers[i];

		for (size_t j = 0; j < driver->setting_count; j++) {
			free((char *)driver->settings[j].name);
			free((char *)driver->settings[j].value);
			free((char *)driver->settings[j].content);
		}
		free((struct fairlead_setting *)driver->settings);
	}
	free((struct core_driver_config *)config->core.drivers);
	free((char *)config->core.nodes);
	free((char *)config->core.interconnect);
	for (size_t i = 0; i < config->submitter_count; i++)
		free((char *)config->submitters[i].name);
	free((struct engine_submitter *)config->submitters);
	free((char *)config->cluster);
	free(config);
}
