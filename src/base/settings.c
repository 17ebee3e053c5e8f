/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/memory.h"
#include "base/text.h"

/* --- errors --- */

static void add(struct settings_errors *errors, unsigned int line, char *text)
{
	size_t at = errors->count;

	for (size_t i = 0; i < errors->count; i++)
		if (errors->list[i].line == line &&
		    strcmp(errors->list[i].text, text) == 0)
			return;
	if (errors->count == SETTINGS_ERRORS_MAX) {
		errors->is_cut = true;
		return;
	}
	for (; at > 0 && errors->list[at - 1].line > line; at--)
		errors->list[at] = errors->list[at - 1];
	errors->list[at].line = line;
	errors->list[at].text = memory_text(text);
	errors->count++;
}

void settings_errors_add(struct settings_errors *errors, unsigned int line,
			 const char *format, ...)
{
	char text[FAIRLEAD_ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	text_clean(text);
	add(errors, line, text);
}

static void errors_clear(struct settings_errors *errors)
{
	for (size_t i = 0; i < errors->count; i++)
		free(errors->list[i].text);
	*errors = (struct settings_errors){ 0 };
}

char *settings_errors_format(struct settings_errors *errors, const char *name)
{
	struct writer text = { 0 };

	for (size_t i = 0; i < errors->count; i++) {
		if (i > 0)
			write_plain(&text, "\n");
		write_plain(&text, name);
		if (errors->list[i].line > 0) {
			write_plain(&text, ":");
			write_decimal(&text, errors->list[i].line, 0);
		}
		write_plain(&text, ": ");
		write_plain(&text, errors->list[i].text);
	}
	if (errors->is_cut) {
		write_plain(&text, "\n");
		write_plain(&text, name);
		write_plain(&text, ": there are more errors");
	}
	write_u8(&text, 0);
	errors_clear(errors);
	return memory_have((char *)writer_take(&text, NULL));
}

int settings_finish(struct settings_errors *errors,
		    struct fairlead_error *ret_error)
{
	int result = errors->count > 0 ? -EINVAL : 0;
	struct fairlead_error all = { 0 };

	for (size_t i = 0; i < errors->count; i++) {
		const struct settings_error *error = &errors->list[i];

		if (error->line > 0)
			error_add(&all, -EINVAL, "line %u: %s", error->line,
				  error->text);
		else
			error_add(&all, -EINVAL, "%s", error->text);
	}
	errors_clear(errors);
	if (result < 0 && ret_error != NULL)
		*ret_error = all;
	return result;
}

/* --- a list --- */

const struct fairlead_setting *settings_find(const struct settings *settings,
					     const char *name)
{
	for (size_t i = 0; i < settings->count; i++)
		if (strcmp(settings->list[i].name, name) == 0)
			return &settings->list[i];
	return NULL;
}

const char *settings_text_of(const struct settings *settings,
			     const struct fairlead_setting_spec *spec)
{
	const struct fairlead_setting *setting =
		settings_find(settings, spec->name);

	return setting != NULL ? setting->value : spec->fallback;
}

void settings_fail(const struct settings *settings, const char *name,
		   const char *format, ...)
{
	const struct fairlead_setting *setting = settings_find(settings, name);
	char text[FAIRLEAD_ERROR_TEXT_MAX];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	settings_errors_add(settings->errors,
			    setting != NULL ? setting->line : 0, "'%s': %s",
			    name, text);
}

static const struct fairlead_setting_spec *spec_find(
	const struct fairlead_settings *table, const char *name)
{
	const struct fairlead_setting_spec *spec = table->specs;

	while (spec->name != NULL && strcmp(spec->name, name) != 0)
		spec++;
	return spec->name != NULL ? spec : NULL;
}

static void names_check(const struct settings *settings,
			const struct fairlead_settings *table)
{
	for (size_t i = 0; i < settings->count && !settings->errors->is_cut;
	     i++) {
		const struct fairlead_setting *setting = &settings->list[i];
		const struct fairlead_setting *first =
			settings_find(settings, setting->name);

		if (spec_find(table, setting->name) == NULL)
			settings_errors_add(settings->errors, setting->line,
					    "'%s': no such setting",
					    setting->name);
		else if (first != setting)
			settings_errors_add(settings->errors, setting->line,
					    "'%s': is set in line %u already",
					    setting->name, first->line);
	}
}

static int text_take(const struct fairlead_setting_spec *spec, const char *text,
		     const char **ret_value, struct fairlead_error *ret_error)
{
	*ret_value = text;
	if (*text == 0 && (spec->fallback == NULL || *spec->fallback != 0))
		return error_set(ret_error, -EINVAL, "must not be empty");
	return *text == 0 || spec->type->check == NULL
		       ? 0
		       : spec->type->check(text, ret_error);
}

void settings_read(const struct settings *settings,
		   const struct fairlead_settings *table, void *values)
{
	names_check(settings, table);
	for (const struct fairlead_setting_spec *spec = table->specs;
	     spec->name != NULL; spec++) {
		const char *text = settings_text_of(settings, spec);
		void *value = (char *)values + spec->offset;
		struct fairlead_error error;
		int result = 0;

		if (text != NULL && spec->type->parse != NULL)
			result = spec->type->parse(spec, text, value, &error);
		else if (text != NULL)
			result = text_take(spec, text, value, &error);
		if (result < 0)
			settings_fail(settings, spec->name, "%s", error.text);
	}
}

const struct fairlead_settings settings_none = {
	.specs = (const struct fairlead_setting_spec[]){ { NULL } },
};

/* --- types --- */

static int path_check(const char *text, struct fairlead_error *ret_error)
{
	if (*text == '/')
		return 0;
	return error_set(ret_error, -EINVAL, "'%s' is not an absolute path",
			 text);
}

static int number_parse(const struct fairlead_setting_spec *spec,
			const char *text, void *ret_value,
			struct fairlead_error *ret_error)
{
	uint32_t number;

	if (!text_number(text, strlen(text), &number) || number < spec->min ||
	    number > spec->max)
		return error_set(ret_error, -EINVAL,
				 "'%s' is not a number from %u to %u", text,
				 spec->min, spec->max);
	*(uint32_t *)ret_value = number;
	return 0;
}

static int seconds_parse(const struct fairlead_setting_spec *spec,
			 const char *text, void *ret_value,
			 struct fairlead_error *ret_error)
{
	uint32_t seconds;

	if (number_parse(spec, text, &seconds, NULL) < 0)
		return error_set(ret_error, -EINVAL,
				 "'%s' is not a number of seconds from %u to "
				 "%u",
				 text, spec->min, spec->max);
	*(uint32_t *)ret_value = seconds * 1000;
	return 0;
}

static int bool_parse(const struct fairlead_setting_spec *spec,
		      const char *text, void *ret_value,
		      struct fairlead_error *ret_error)
{
	bool is_true = strcmp(text, "true") == 0;

	if (!is_true && strcmp(text, "false") != 0)
		return error_set(ret_error, -EINVAL,
				 "'%s' is neither true nor false", text);
	*(bool *)ret_value = is_true;
	return 0;
}

const struct fairlead_setting_type settings_text = { "TEXT" };
const struct fairlead_setting_type settings_path = { "PATH", path_check };
const struct fairlead_setting_type settings_file = { "FILE", path_check };
const struct fairlead_setting_type settings_folder = { "FOLDER", path_check };
const struct fairlead_setting_type settings_number = { "NUMBER", NULL,
						       number_parse };
const struct fairlead_setting_type settings_seconds = { "SECONDS", NULL,
							seconds_parse };
const struct fairlead_setting_type settings_bool = { "true|false", NULL,
						     bool_parse };
