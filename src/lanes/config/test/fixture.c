/* SPDX-License-Identifier: BSD-3-Clause */
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

#define TEXTS ((size_t)4 * sizeof(char *))

static const struct fairlead_driver none = {
	.name = "none",
	.settings = &settings_none,
};

static const struct fairlead_setting_spec fast_specs[] = {
	{ "pool", &settings_text, 0, "1" },
	{ "library", &settings_text, sizeof(char *), "/lib",
	  FAIRLEAD_SETTING_RESTART_NODE },
	{ NULL },
};

static const struct fairlead_settings fast_settings = { fast_specs, TEXTS };

static const struct fairlead_driver fast = {
	.name = "fast",
	.settings = &fast_settings,
};

static int wide_configure(const struct fairlead_setting *settings, size_t count,
			  void **ret_state, struct fairlead_error *ret_error)
{
	struct fairlead_error error = { 0 };

	for (size_t i = 0; i < count; i++)
		if (strcmp(settings[i].value, "bad") == 0)
			error_add(&error, -EINVAL, "line %u: '%s': is bad",
				  settings[i].line, settings[i].name);
	*ret_error = error;
	return error.code;
}

static void wide_destroy(void *state)
{
}

static const struct fairlead_manager_ops wide_manager = {
	.configure = wide_configure,
	.destroy = wide_destroy,
};

static const struct fairlead_setting_spec wide_specs[] = {
	{ "pool", &settings_text, 0, "" },
	{ "width", &settings_text, 0, "" },
	{ "map", &settings_file, 0, "", FAIRLEAD_SETTING_FILE },
	{ NULL },
};

static const struct fairlead_settings wide_settings = { wide_specs, TEXTS };

static const struct fairlead_driver wide = {
	.name = "wide",
	.manager = &wide_manager,
	.settings = &wide_settings,
};

const struct fairlead_driver *const config_test_drivers[] = { &none, &fast,
							      &wide };

int config_test_parse(const char *text, unsigned int roles,
		      struct config **ret_config, char **ret_errors)
{
	return config_parse(text, strlen(text), "f", roles, config_test_drivers,
			    3, ret_config, ret_errors);
}

struct config *config_test_parsed(const char *text)
{
	struct config *config = NULL;
	char *errors = NULL;

	if (config_test_parse(text, 0, &config, &errors) < 0)
		fail_msg("%s", errors);
	return config;
}

void config_test_refused(const char *text, const char *expected)
{
	struct config *config = NULL;
	_auto_(freep) char *errors = NULL;

	assert_int_equal(config_test_parse(text, 0, &config, &errors), -EINVAL);
	assert_null(config);
	assert_string_equal(errors, expected);
}
