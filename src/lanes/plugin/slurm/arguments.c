/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lanes/plugin/slurm/arguments.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

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
			result = lane_expectation_parse(
				value, &arguments.otherwise, ret_error);
		else if ((value = value_of(texts[i], "submitter")))
			result = submitter_check(arguments.submitter = value,
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
