/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What differs between two configurations, a line each, for people: what is
 * taken live, and what only a restart takes. Of its nodes, pools, drivers and
 * timeouts the manager's core says more than could be said here.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/config/settings.h"

/* Lines without an end of line behind the last. */
struct lines {
	char *text;
	size_t size;
	FILE *out;
};

static void line(struct lines *lines, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void line(struct lines *lines, const char *format, ...)
{
	va_list args;

	if (ftell(lines->out) > 0)
		fputc('\n', lines->out);
	va_start(args, format);
	vfprintf(lines->out, format, args);
	va_end(args);
}

static char *lines_end(struct lines *lines)
{
	if (fclose(lines->out) == 0)
		return lines->text;
	free(lines->text);
	return NULL;
}

static const struct config_submitter *submitter_find(
	const struct config *config, const char *name)
{
	for (size_t i = 0; i < config->manager.submitter_count; i++)
		if (strcmp(config->manager.submitters[i].name, name) == 0)
			return &config->manager.submitters[i];
	return NULL;
}

static void lines_submitters(struct lines *lines, const struct config *running,
			     const struct config *wanted)
{
	for (size_t i = 0; i < wanted->manager.submitter_count; i++) {
		const struct config_submitter *after =
			&wanted->manager.submitters[i];
		const struct config_submitter *before =
			submitter_find(running, after->name);

		if (before == NULL)
			line(lines, "submitter '%s': added, uid %u",
			     after->name, after->uid);
		else if (before->uid != after->uid)
			line(lines, "submitter '%s': uid %u -> %u", after->name,
			     before->uid, after->uid);
	}
	for (size_t i = 0; i < running->manager.submitter_count; i++) {
		const char *name = running->manager.submitters[i].name;

		if (submitter_find(wanted, name) == NULL)
			line(lines, "submitter '%s': removed", name);
	}
}

static const char *value_find(const struct config_driver *driver,
			      const char *name)
{
	for (size_t i = 0; i < driver->setting_count; i++)
		if (strcmp(driver->settings[i].name, name) == 0)
			return driver->settings[i].value;
	return NULL;
}

static void lines_driver(struct lines *lines,
			 const struct config_driver *running,
			 const struct config_driver *wanted)
{
	const char *const *names = wanted->driver->node_settings;

	for (; names != NULL && *names != NULL; names++) {
		const char *old = value_find(running, *names);
		const char *new = value_find(wanted, *names);

		if (old == new ||
		    (old != NULL && new != NULL &&strcmp(old, new) == 0))
			continue;
		line(lines, "driver '%s' %s: %s instead of %s needs a restart",
		     wanted->driver->name, *names,
		     new == NULL ? "the default" : new,
		     old == NULL ? "the default" : old);
	}
}

/* A node's drivers are opened once. */
static void lines_drivers(struct lines *lines, const struct config *running,
			  const struct config *wanted)
{
	for (size_t i = 0; i < wanted->driver_count; i++) {
		const struct config_driver *after = &wanted->drivers[i];
		const struct config_driver *before =
			config_driver_find(running, after->driver->name);

		if (before == NULL)
			line(lines,
			     "driver '%s': on instead of off needs a "
			     "restart",
			     after->driver->name);
		else
			lines_driver(lines, before, after);
	}
	for (size_t i = 0; i < running->driver_count; i++) {
		const char *name = running->drivers[i].driver->name;

		if (config_driver_find(wanted, name) == NULL)
			line(lines,
			     "driver '%s': off instead of on needs a "
			     "restart",
			     name);
	}
}

char *config_changes(const struct config *running, const struct config *wanted,
		     unsigned int roles)
{
	struct lines lines = { 0 };

	lines.out = open_memstream(&lines.text, &lines.size);
	if (lines.out == NULL)
		return NULL;
	for (size_t i = 0; i < text_setting_count; i++) {
		const struct text_setting *setting = &text_settings[i];
		const char *old = text_setting_of(running, setting);
		const char *new = text_setting_of(wanted, setting);

		if ((setting->live_roles & roles) != 0 && strcmp(old, new) != 0)
			line(&lines, "%s: '%s' -> '%s'", setting->key, old,
			     new);
	}
	if ((roles & CONFIG_ROLE_MANAGER) != 0)
		lines_submitters(&lines, running, wanted);
	if (running->log_level != wanted->log_level)
		line(&lines, "log level: %s -> %s",
		     log_level_format(running->log_level),
		     log_level_format(wanted->log_level));
	return lines_end(&lines);
}

char *config_restart_needed(const struct config *running,
			    const struct config *wanted, unsigned int roles)
{
	struct lines lines = { 0 };

	lines.out = open_memstream(&lines.text, &lines.size);
	if (lines.out == NULL)
		return NULL;
	for (size_t i = 0; i < text_setting_count; i++) {
		const struct text_setting *setting = &text_settings[i];
		const char *old = text_setting_of(running, setting);
		const char *new = text_setting_of(wanted, setting);

		if ((setting->restart_roles & roles) != 0 &&
		    strcmp(old, new) != 0)
			line(&lines,
			     "%s %s: '%s' instead of '%s' needs a "
			     "restart",
			     setting->section, setting->key, new, old);
	}
	if ((roles & CONFIG_ROLE_NODE) != 0)
		lines_drivers(&lines, running, wanted);
	return lines_end(&lines);
}
