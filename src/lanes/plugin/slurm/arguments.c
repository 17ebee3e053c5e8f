/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/arguments.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

#define SUBMITTER_MAX 32 /* as of the key of a request */
#define SUBMITTER_BYTES                                                  \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789" \
	"_-"

static int parse_default(const char *value, enum lane_expectation *ret_lane,
			 struct fairlead_error *ret_error)
{
	if (strcmp(value, "must") == 0)
		*ret_lane = LANE_MUST;
	else if (strcmp(value, "may") == 0)
		*ret_lane = LANE_MAY;
	else if (strcmp(value, "none") == 0)
		*ret_lane = LANE_NONE;
	else
		return error_set(ret_error, -EINVAL,
				 "default=%.40s is not must, may or none",
				 value);
	return 0;
}

static int parse_submitter(const char *value, const char **ret_submitter,
			   struct fairlead_error *ret_error)
{
	size_t size = strnlen(value, SUBMITTER_MAX + 1);

	if (size == 0 || size > SUBMITTER_MAX ||
	    strspn(value, SUBMITTER_BYTES) < size)
		return error_set(
			ret_error, -EINVAL,
			"submitter=%.40s is no name of 1 to %d letters, "
			"digits, _ and -",
			value, SUBMITTER_MAX);
	*ret_submitter = value;
	return 0;
}

static int parse_path(const char *text, const char *value,
		      const char **ret_path, struct fairlead_error *ret_error)
{
	if (*value != '/')
		return error_set(ret_error, -EINVAL,
				 "%.200s: a path begins with /", text);
	*ret_path = value;
	return 0;
}

/* What stands behind NAME=, or NULL. */
static const char *value_of(const char *text, const char *name)
{
	size_t size = strlen(name);

	return strncmp(text, name, size) == 0 && text[size] == '='
		       ? text + size + 1
		       : NULL;
}

int arguments_parse(int count, char *const *texts,
		    struct spank_arguments *ret_arguments,
		    struct fairlead_error *ret_error)
{
	struct spank_arguments arguments = { LANE_MUST, "slurm", NULL };
	const char *value;
	int result = 0;

	for (int i = 0; i < count && result == 0; i++)
		if ((value = value_of(texts[i], "default")))
			result = parse_default(value, &arguments.otherwise,
					       ret_error);
		else if ((value = value_of(texts[i], "submitter")))
			result = parse_submitter(value, &arguments.submitter,
						 ret_error);
		else if ((value = value_of(texts[i], "jobs_dir")))
			result = parse_path(texts[i], value,
					    &arguments.jobs_dir, ret_error);
		else
			result =
				error_set(ret_error, -EINVAL,
					  "%.40s is not default=must|may|none, "
					  "submitter=NAME or jobs_dir=FOLDER",
					  texts[i]);
	if (result == 0)
		*ret_arguments = arguments;
	return result;
}
