/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who mends a configuration wants to see every error in one go, so nothing
 * here stops at the first. Unknown names and repeated ones are errors: a
 * setting that has no effect without a word is worse than one that is refused.
 */
#include "lanes/driver/common/settings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lanes/driver/common/number.h"

#define FAIL_TEXT_MAX 256 /* bytes of one error, with its zero */

void settings_fail(struct settings *settings,
		   const struct fairlead_setting *setting, const char *format,
		   ...)
{
	char text[FAIL_TEXT_MAX];
	char where[32] = "";
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (setting->line)
		snprintf(where, sizeof(where), "line %u: ", setting->line);
	error_add(&settings->error, -EINVAL, "%s'%s': %s", where, setting->name,
		  text);
}

static bool is_known(const char *name, const char *const *known)
{
	for (; *known; known++) {
		if (strcmp(*known, name) == 0)
			return true;
	}
	return false;
}

void settings_begin(struct settings *settings,
		    const struct fairlead_setting *list, size_t count,
		    const char *const *known)
{
	*settings = (struct settings){ .list = list, .count = count };
	for (size_t i = 0; i < count; i++) {
		if (!is_known(list[i].name, known))
			settings_fail(settings, &list[i],
				      "there is no such setting");
		else if (settings_find(settings, list[i].name) != &list[i])
			settings_fail(settings, &list[i],
				      "is set a second time");
	}
}

const struct fairlead_setting *settings_find(const struct settings *settings,
					     const char *name)
{
	for (size_t i = 0; i < settings->count; i++) {
		if (strcmp(settings->list[i].name, name) == 0)
			return &settings->list[i];
	}
	return NULL;
}

void settings_text(const struct settings *settings, const char *name,
		   const char **value)
{
	const struct fairlead_setting *setting = settings_find(settings, name);

	if (setting)
		*value = setting->value;
}

void settings_number(struct settings *settings, const char *name, uint32_t min,
		     uint32_t max, uint32_t *value)
{
	const struct fairlead_setting *setting = settings_find(settings, name);

	if (setting && !number_parse(setting->value, min, max, value))
		settings_fail(settings, setting,
			      "'%s' is not a number from %u to %u",
			      setting->value, min, max);
}

void settings_bool(struct settings *settings, const char *name, bool *value)
{
	static const struct {
		const char *word;
		bool value;
	} words[] = {
		{ "true", true },   { "yes", true }, { "on", true },
		{ "false", false }, { "no", false }, { "off", false },
	};
	const struct fairlead_setting *setting = settings_find(settings, name);

	if (!setting)
		return;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (strcmp(words[i].word, setting->value) == 0) {
			*value = words[i].value;
			return;
		}
	}
	settings_fail(settings, setting, "'%s' is neither true nor false",
		      setting->value);
}

int settings_finish(const struct settings *settings,
		    struct fairlead_error *ret_error)
{
	if (settings->error.code < 0 && ret_error)
		*ret_error = settings->error;
	return settings->error.code;
}
