/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A deep copy of the configuration: the core is made again from it after a
 * failed commit. Drivers are constants and are shared.
 */
#include <string.h>

#include "base/memory.h"
#include "lanes/manager/internal.h"

/* With a zero behind it, so that an empty one is there too. */
static char *copy_content(const struct fairlead_setting *from)
{
	char *copy = memory_alloc(from->content_size + 1);

	memcpy(copy, from->content, from->content_size);
	return copy;
}

static void copy_driver(const struct core_driver_config *from,
			struct core_driver_config *to)
{
	struct fairlead_setting *settings =
		memory_array(from->setting_count, sizeof(*settings));

	*to = (struct core_driver_config){
		.driver = from->driver,
		.settings = settings,
		.setting_count = from->setting_count,
	};
	for (size_t i = 0; i < from->setting_count; i++) {
		settings[i].line = from->settings[i].line;
		settings[i].name = memory_text(from->settings[i].name);
		settings[i].value = memory_text(from->settings[i].value);
		if (from->settings[i].content == NULL)
			continue;
		settings[i].content_size = from->settings[i].content_size;
		settings[i].content = copy_content(&from->settings[i]);
	}
}

static void copy_core(const struct core_config *from, struct core_config *to)
{
	struct core_driver_config *drivers =
		memory_array(from->driver_count, sizeof(*drivers));

	*to = *from;
	to->nodes = memory_text(from->nodes);
	to->interconnect = memory_text(from->interconnect);
	to->drivers = drivers;
	for (size_t i = 0; i < from->driver_count; i++)
		copy_driver(&from->drivers[i], &drivers[i]);
}

static void copy_submitters(const struct engine_config *from,
			    struct engine_config *to)
{
	struct engine_submitter *submitters =
		memory_array(from->submitter_count, sizeof(*submitters));

	to->submitters = submitters;
	to->submitter_count = from->submitter_count;
	for (size_t i = 0; i < from->submitter_count; i++) {
		submitters[i].uid = from->submitters[i].uid;
		submitters[i].name = memory_text(from->submitters[i].name);
	}
}

struct engine_config *engine_config_copy(const struct engine_config *config)
{
	struct engine_config *copy = memory_alloc(sizeof(*copy));

	copy_core(&config->core, &copy->core);
	copy_submitters(config, copy);
	copy->cluster = memory_text(config->cluster);
	return copy;
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
