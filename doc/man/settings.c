/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * settings <PAGE.in.scd >PAGE.scd
 *
 * Makes the settings of a manual page from their tables: the line
 * @SECTION NAME becomes the setting's name, type, help, default and whether a
 * change needs a restart. SECTION is one of fairlead.conf, or a driver; "-":
 * outside of sections. A page that has one setting of a section has to have
 * all of them but those without help.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lanes/config/settings.h"
#include "lanes/driver/driver.h"

#define SECTIONS_MAX 16
#define SEEN_MAX     256

struct page {
	const struct fairlead_settings *tables[SECTIONS_MAX];
	size_t table_count;
	const struct fairlead_setting_spec *seen[SEEN_MAX];
	size_t seen_count;
};

static const struct fairlead_settings *table_find(const char *section)
{
	const struct fairlead_driver *driver = driver_find(section);

	if (driver != NULL)
		return driver->settings;
	if (strcmp(section, "submitter") == 0)
		return &config_submitter_settings;
	for (const struct config_section *known = config_sections;
	     known->name != NULL; known++)
		if (strcmp(section, *known->name != 0 ? known->name : "-") == 0)
			return &known->table;
	return NULL;
}

static const struct fairlead_setting_spec *spec_find(
	const struct fairlead_settings *table, const char *name)
{
	const struct fairlead_setting_spec *spec = table->specs;

	while (spec->name != NULL && strcmp(spec->name, name) != 0)
		spec++;
	return spec->name != NULL ? spec : NULL;
}

static void print(const struct fairlead_setting_spec *spec)
{
	const unsigned int restart = FAIRLEAD_SETTING_RESTART_MANAGER |
				     FAIRLEAD_SETTING_RESTART_NODE;

	printf("*%s* = _%s_\n\t%s", spec->name, spec->type->form, spec->help);
	if (spec->max > 0)
		printf(" %u to %u.", spec->min, spec->max);
	if (spec->fallback != NULL && *spec->fallback != 0)
		printf(" Default: *%s*.", spec->fallback);
	if ((spec->flags & restart) != 0)
		printf(" Restart.");
	putchar('\n');
}

static void note(struct page *page, const struct fairlead_settings *table,
		 const struct fairlead_setting_spec *spec)
{
	size_t i = 0;

	while (i < page->table_count && page->tables[i] != table)
		i++;
	if (i == page->table_count)
		page->tables[page->table_count++] = table;
	page->seen[page->seen_count++] = spec;
}

/* False: the line names no setting. */
static bool replace(struct page *page, char *line)
{
	const char *section = strtok(line, "@ \n");
	const char *name = strtok(NULL, "@ \n");
	const struct fairlead_settings *table =
		section == NULL ? NULL : table_find(section);
	const struct fairlead_setting_spec *spec =
		table == NULL || name == NULL ? NULL : spec_find(table, name);

	if (spec == NULL || page->seen_count == SEEN_MAX ||
	    page->table_count == SECTIONS_MAX) {
		fprintf(stderr, "settings: there is no %s %s\n", section, name);
		return false;
	}
	print(spec);
	note(page, table, spec);
	return true;
}

static bool is_seen(const struct page *page,
		    const struct fairlead_setting_spec *spec)
{
	for (size_t i = 0; i < page->seen_count; i++)
		if (page->seen[i] == spec)
			return true;
	return false;
}

static bool is_complete(const struct page *page)
{
	bool result = true;

	for (size_t i = 0; i < page->table_count; i++) {
		const struct fairlead_setting_spec *spec =
			page->tables[i]->specs;

		for (; spec->name != NULL; spec++) {
			if (spec->help == NULL || is_seen(page, spec))
				continue;
			fprintf(stderr, "settings: '%s' is missing\n",
				spec->name);
			result = false;
		}
	}
	return result;
}

int main(void)
{
	struct page page = { .table_count = 0 };
	char *line = NULL;
	size_t capacity = 0;

	while (getline(&line, &capacity, stdin) > 0) {
		if (*line != '@')
			fputs(line, stdout);
		else if (!replace(&page, line))
			return EXIT_FAILURE;
	}
	free(line);
	return is_complete(&page) ? EXIT_SUCCESS : EXIT_FAILURE;
}
