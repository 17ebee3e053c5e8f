/* SPDX-License-Identifier: BSD-3-Clause */
#include "lanes/cli/flux/said.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text.h"

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

bool flux_list_has(const char *text, const char *file)
{
	const char *line;
	size_t size;

	while ((line = text_line(&text, &size)))
		if (size == strlen(file) && strncmp(line, file, size) == 0)
			return true;
	return false;
}

/* Of flux-coral2: cray-slingshot.so; with another spelling in other releases. */
bool flux_is_rival(const char *file)
{
	return strcmp(file, FLUX_JOBTAP_FILE) != 0 &&
	       strcmp(file, FLUX_SHELL_FILE) != 0 && strstr(file, "slingshot");
}

char *flux_list_rival(const char *text)
{
	const char *line;
	size_t size;

	while ((line = text_line(&text, &size))) {
		_auto_(freep) char *file = strndup(line, size);

		if (file && flux_is_rival(file))
			return take_ptr(file);
	}
	return NULL;
}

int flux_config_loads(const char *text, const char *file, bool *ret_loads,
		      struct fairlead_error *ret_error)
{
	json_auto_t *root = json_loads(text, 0, NULL);
	const json_t *plugin;
	size_t i;

	if (!json_is_object(root))
		return error_set(ret_error, -EINVAL,
				 "'flux config get' prints no configuration");
	*ret_loads = false;
	json_array_foreach (
		json_object_get(json_object_get(root, "job-manager"),
				"plugins"),
		i, plugin) {
		const char *path =
			json_string_value(json_object_get(plugin, "load"));

		if (path && strcmp(file_name(path), file) == 0)
			*ret_loads = true;
	}
	return 0;
}

static const char *text_of(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text ? text : "";
}

/* One that makes no sense is as good as none. */
static double seconds_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	double seconds = json_is_real(value)
				 ? json_real_value(value)
				 : (double)json_integer_value(value);

	return seconds > 0 && seconds < 1e9 ? seconds : 0;
}

int flux_jobtap_parse(const char *text, struct flux_jobtap *ret_jobtap,
		      struct fairlead_error *ret_error)
{
	json_t *root = json_loads(text, 0, NULL);
	const json_t *manager = json_object_get(root, "manager");

	*ret_jobtap = (struct flux_jobtap){
		.root = root,
		.path = text_of(root, "path"),
		.version = text_of(root, "version"),
		.submitter = text_of(root, "submitter"),
		.otherwise = text_of(root, "default"),
		.inside = text_of(root, "inside"),
		.manager = text_of(manager, "address"),
		.trouble = text_of(manager, "trouble"),
		.is_up = json_is_true(json_object_get(manager, "is_up")),
		.prolog_timeout_s = seconds_of(root, "prolog_timeout_s"),
		.epilog_timeout_s = seconds_of(root, "epilog_timeout_s"),
	};
	if (!json_is_object(manager))
		return error_set(ret_error, -EINVAL,
				 "'flux jobtap query' prints nothing of our "
				 "plugin");
	return 0;
}

void flux_jobtap_fini(struct flux_jobtap *jobtap)
{
	json_decref(jobtap->root);
	*jobtap = (struct flux_jobtap){ 0 };
}

bool flux_number(const char *text, uint32_t *ret_number)
{
	size_t size = strcspn(text, "\n");

	return (!text[size] || !text[size + 1]) &&
	       text_number(text, size, ret_number);
}
