/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The differences of two configurations, one a line, for people. The manager's
 * core reports those of its nodes, pools, drivers and timeouts.
 */
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "lanes/config/config.h"
#include "lanes/config/settings.h"

/* Lines without an end of line behind the last. */
static void line(struct writer *lines, char *text)
{
	if (lines->size > 0)
		write_plain(lines, "\n");
	write_plain(lines, text);
	free(text);
}

static char *lines_end(struct writer *lines)
{
	write_u8(lines, 0);
	return memory_have((char *)writer_take(lines, NULL));
}

/* Of one section; where: what it is called. */
static void lines_settings(struct writer *lines, const char *where,
			   const struct fairlead_settings *table,
			   const struct settings *before,
			   const struct settings *after, unsigned int flag)
{
	for (const struct fairlead_setting_spec *spec = table->specs;
	     spec->name != NULL; spec++) {
		const char *old = settings_text_of(before, spec);
		const char *new = settings_text_of(after, spec);

		if (old == NULL)
			old = "the default";
		if (new == NULL)
			new = "the default";
		if ((spec->flags & flag) == 0 || strcmp(old, new) == 0)
			continue;
		if (flag == FAIRLEAD_SETTING_LIVE)
			line(lines, memory_format("%s%s: '%s' -> '%s'", where,
						  spec->name, old, new));
		else
			line(lines,
			     memory_format("%s%s: '%s' instead of '%s' needs a "
					   "restart",
					   where, spec->name, new, old));
	}
}

static void lines_sections(struct writer *lines, const struct config *running,
			   const struct config *wanted, unsigned int flag)
{
	for (const struct config_section *section = config_sections;
	     section->name != NULL; section++) {
		const struct settings before = conf_settings(
			conf_find(&running->conf, 0, section->name, ""), NULL);
		const struct settings after = conf_settings(
			conf_find(&wanted->conf, 0, section->name, ""), NULL);
		_auto_(freep) char *where = memory_format(
			"%s%s", section->name, *section->name != 0 ? " " : "");

		lines_settings(lines, where, &section->table, &before, &after,
			       flag);
	}
}

static const struct config_submitter *submitter_find(
	const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->manager.submitter_count; i++)
		if (strcmp(config->manager.submitters[i].name, name) == 0)
			return &config->manager.submitters[i];
	return NULL;
}

static void lines_submitters(struct writer *lines, const struct config *running,
			     const struct config *wanted)
{
	for (size_t i = 0; i < wanted->manager.submitter_count; i++) {
		const struct config_submitter *after =
			&wanted->manager.submitters[i];
		const struct config_submitter *before =
			submitter_find(running, after->name);

		if (before == NULL)
			line(lines,
			     memory_format("submitter '%s': added, uid %u",
					   after->name, after->uid));
		else if (before->uid != after->uid)
			line(lines,
			     memory_format("submitter '%s': uid %u -> %u",
					   after->name, before->uid,
					   after->uid));
	}
	for (size_t i = 0; i < running->manager.submitter_count; i++) {
		const char *name = running->manager.submitters[i].name;

		if (submitter_find(wanted, name) == NULL)
			line(lines,
			     memory_format("submitter '%s': removed", name));
	}
}

static void lines_driver(struct writer *lines,
			 const struct config_driver *running,
			 const struct config_driver *wanted)
{
	const struct settings before = { running->settings,
					 running->setting_count };
	const struct settings after = { wanted->settings,
					wanted->setting_count };
	_auto_(freep) char *where =
		memory_format("driver '%s' ", wanted->driver->name);

	lines_settings(lines, where, wanted->driver->settings, &before, &after,
		       FAIRLEAD_SETTING_RESTART_NODE);
}

/* A node's drivers are opened once. */
static void lines_drivers(struct writer *lines, const struct config *running,
			  const struct config *wanted)
{
	for (size_t i = 0; i < wanted->driver_count; i++) {
		const struct config_driver *after = &wanted->drivers[i];
		const struct config_driver *before =
			config_driver_find(running, after->driver->name);

		if (before == NULL)
			line(lines,
			     memory_format(
				     "driver '%s': on instead of off needs a "
				     "restart",
				     after->driver->name));
		else
			lines_driver(lines, before, after);
	}
	for (size_t i = 0; i < running->driver_count; i++) {
		const char *name = running->drivers[i].driver->name;

		if (config_driver_find(wanted, name) == NULL)
			line(lines,
			     memory_format(
				     "driver '%s': off instead of on needs a "
				     "restart",
				     name));
	}
}

char *config_changes(const struct config *running, const struct config *wanted)
{
	struct writer lines = { 0 };

	lines_sections(&lines, running, wanted, FAIRLEAD_SETTING_LIVE);
	lines_submitters(&lines, running, wanted);
	return lines_end(&lines);
}

char *config_restart_needed(const struct config *running,
			    const struct config *wanted, enum config_role role)
{
	struct writer lines = { 0 };
	bool is_node = role == CONFIG_ROLE_NODE;

	lines_sections(&lines, running, wanted,
		       is_node ? FAIRLEAD_SETTING_RESTART_NODE
			       : FAIRLEAD_SETTING_RESTART_MANAGER);
	if (is_node)
		lines_drivers(&lines, running, wanted);
	return lines_end(&lines);
}
