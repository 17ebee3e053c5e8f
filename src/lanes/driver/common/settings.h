/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The settings of a driver's section of the configuration. A driver begins,
 * asks for each value by name with its default, and finishes: all errors come
 * out together, one a line, each with the setting's line number.
 *
 *	struct settings settings;
 *
 *	settings_begin(&settings, list, count, driver.settings);
 *	settings_bool(&settings, "emulation", &emulation);
 *	...
 *	return settings_finish(&settings, ret_error);
 *
 * The values keep their defaults where a setting is absent or wrong. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fairlead_driver.h"

struct settings {
	const struct fairlead_setting *list; /* the caller's */
	size_t count;
	struct fairlead_error error; /* code 0 while nothing is wrong */
};

/* An error for each name that is not in `known` (ended by NULL) or twice. */
void settings_begin(struct settings *settings,
		    const struct fairlead_setting *list, size_t count,
		    const char *const *known);
/* The setting of that name, or NULL. */
const struct fairlead_setting *settings_find(const struct settings *settings,
					     const char *name);
/* As find, but a text: *value is replaced by the setting's own. */
void settings_text(const struct settings *settings, const char *name,
		   const char **value);
/* A decimal number from min to max. */
void settings_number(struct settings *settings, const char *name, uint32_t min,
		     uint32_t max, uint32_t *value);
/* "true", "yes", "on" or "false", "no", "off". */
void settings_bool(struct settings *settings, const char *name, bool *value);
/* Add an error of one setting: "line 12: 'vni_pool': " and the text. */
void settings_fail(struct settings *settings,
		   const struct fairlead_setting *setting, const char *format,
		   ...) __attribute__((format(printf, 3, 4)));
/* 0, or -EINVAL with all errors. */
int settings_finish(const struct settings *settings,
		    struct fairlead_error *ret_error);
