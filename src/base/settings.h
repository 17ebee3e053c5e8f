/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Read a list of settings by a table into a struct. Nothing here stops at the
 * first error: all of them are collected, each with its line. Pure.
 *
 *	struct settings_errors errors = { 0 };
 *	struct settings settings = { list, count, &errors };
 *	struct values values;
 *
 *	settings_read(&settings, &table, &values);
 *	if (values.low > values.high)
 *		settings_fail(&settings, "low", "is above 'high'");
 *	return settings_finish(&errors, ret_error);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "fairlead/setting.h"

#define SETTINGS_ERRORS_MAX 100 /* that are reported */

/* In the order of lines. Zero-initialised is empty. */
struct settings_errors {
	struct settings_error {
		unsigned int line; /* 0: of the file as a whole */
		char *text;
	} list[SETTINGS_ERRORS_MAX];
	size_t count;
	bool is_cut; /* there were more */
};

struct settings {
	const struct fairlead_setting *list;
	size_t count;
	struct settings_errors *errors;
};

/* An error that is there already, line and text, is not added again. */
void settings_errors_add(struct settings_errors *errors, unsigned int line,
			 const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* `name:line: text` a line; the caller frees it. Empties errors. */
char *settings_errors_format(struct settings_errors *errors, const char *name);
/* 0, or -EINVAL with "line N: text" a line. Empties errors. */
int settings_finish(struct settings_errors *errors,
		    struct fairlead_error *ret_error);

/*
 * Fill *values with the settings and defaults of the table; texts are those
 * of the list. Unknown and repeated names are errors. A number
 * that is wrong leaves what the struct has; a text is there all the same.
 */
void settings_read(const struct settings *settings,
		   const struct fairlead_settings *table, void *values);
/* The setting of that name, or NULL. */
const struct fairlead_setting *settings_find(const struct settings *settings,
					     const char *name);
/* Its text, or the default; NULL: neither. */
const char *settings_text_of(const struct settings *settings,
			     const struct fairlead_setting_spec *spec);
/* Add an error of one setting: "'vni_pool': " and the text. */
void settings_fail(const struct settings *settings, const char *name,
		   const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* A table without settings. */
extern const struct fairlead_settings settings_none;

/* const char *: not empty. */
extern const struct fairlead_setting_type settings_text;
/* const char *: an absolute path. */
extern const struct fairlead_setting_type settings_path;
extern const struct fairlead_setting_type settings_file;
extern const struct fairlead_setting_type settings_folder;
/* uint32_t: a decimal number from min to max. */
extern const struct fairlead_setting_type settings_number;
/* uint32_t: milliseconds, of min to max seconds. */
extern const struct fairlead_setting_type settings_seconds;
/* bool: true or false. */
extern const struct fairlead_setting_type settings_bool;
