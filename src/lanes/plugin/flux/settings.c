/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/plugin/flux/settings.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

#define TIMEOUT_S     60
#define TIMEOUT_S_MAX 86400

void settings_init(struct flux_settings *settings)
{
	*settings = (struct flux_settings){
		.submitter = "flux",
		.otherwise = LANE_MUST,
		.prolog_timeout_s = TIMEOUT_S,
		.epilog_timeout_s = TIMEOUT_S,
	};
}

/* Flux's own form: a number, and ms, s, m or h (s where it is left out). */
static bool read_duration(const char *text, double *ret_s)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = { { "", 1 },
		      { "ms", 0.001 },
		      { "s", 1 },
		      { "m", 60 },
		      { "h", 3600 } };
	char *end;
	long number = strtol(text, &end, 10);

	if (!isdigit((unsigned char)*text))
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		double s = (double)number * units[i].factor;

		if (strcmp(end, units[i].unit) != 0)
			continue;
		if (s <= 0 || s > TIMEOUT_S_MAX)
			return false;
		*ret_s = s;
		return true;
	}
	return false;
}

static int take_member(struct flux_settings *settings, const char *name,
		       const char *text, struct fairlead_error *ret_error)
{
	double *timeout = NULL;

	if (strcmp(name, "default") == 0)
		return lane_expectation_parse(text, &settings->otherwise,
					      ret_error);
	if (strcmp(name, "manager") == 0) {
		if (strlen(text) >= sizeof(settings->manager))
			return error_set(ret_error, -EINVAL,
					 "manager is too long");
		strcpy(settings->manager, text);
		return 0;
	}
	if (strcmp(name, "submitter") == 0) {
		if (submitter_check(text, ret_error) < 0)
			return -EINVAL;
		strcpy(settings->submitter, text);
		return 0;
	}
	if (strcmp(name, "prolog-timeout") == 0)
		timeout = &settings->prolog_timeout_s;
	else if (strcmp(name, "epilog-timeout") == 0)
		timeout = &settings->epilog_timeout_s;
	else
		return error_set(ret_error, -EINVAL,
				 "there is no setting '%.100s'", name);
	if (!read_duration(text, timeout))
		return error_set(ret_error, -EINVAL,
				 "%s is '%.100s'; say \"60s\", "
				 "\"5m\", at most \"24h\"",
				 name, text);
	return 0;
}

int settings_take(struct flux_settings *settings, const json_t *table,
		  struct fairlead_error *ret_error)
{
	struct flux_settings taken = *settings;
	const char *name;
	json_t *value;

	if (table && !json_is_object(table))
		return error_set(ret_error, -EINVAL,
				 "its settings are no table");
	json_object_foreach ((json_t *)table, name, value) {
		const char *text = json_string_value(value);
		int result;

		if (!text)
			return error_set(ret_error, -EINVAL,
					 "%.100s is no text in quotes", name);
		result = take_member(&taken, name, text, ret_error);
		if (result < 0)
			return result;
	}
	*settings = taken;
	return 0;
}
