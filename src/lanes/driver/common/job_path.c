/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's name has no slash in it and is neither "." nor "..", but with what
 * stands around it in the pattern it could still make one of these: ".%j" and
 * "." do.
 */
#include "lanes/driver/common/job_path.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

int job_path_check(const char *pattern, struct fairlead_error *ret_error)
{
	bool is_of_job = false;

	for (const char *at = strchr(pattern, '%'); at;
	     at = strchr(at + 2, '%')) {
		if (at[1] == 'g' || at[1] == 'j')
			is_of_job = true;
		else if (at[1] != 'u')
			return error_set(ret_error, -EINVAL,
					 "'%s' has a %% that is none of %%g, "
					 "%%j and %%u",
					 pattern);
	}
	if (!is_of_job)
		return error_set(ret_error, -EINVAL,
				 "'%s' is the same for all jobs: it has "
				 "neither %%g (the grant's id) nor %%j (the "
				 "job's)",
				 pattern);
	return 0;
}

static bool has_dots(const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");

		if ((size == 1 && path[0] == '.') ||
		    (size == 2 && path[0] == '.' && path[1] == '.'))
			return true;
		path += size + (path[size] == '/');
	}
	return false;
}

int job_path_format(const char *pattern, const struct job_names *names,
		    char path[PATH_MAX], struct fairlead_error *ret_error)
{
	size_t size = 0;

	for (const char *at = pattern; *at; at++) {
		size_t left = PATH_MAX - size;
		int added;

		if (*at != '%')
			added = snprintf(path + size, left, "%c", *at);
		else if (*++at == 'j')
			added = snprintf(path + size, left, "%s", names->job);
		else if (*at == 'u')
			added = snprintf(path + size, left, "%" PRIu32,
					 names->uid);
		else
			added = snprintf(path + size, left, "%" PRIu64,
					 names->grant_id);
		if ((size_t)added >= left)
			return error_set(ret_error, -ENAMETOOLONG,
					 "'%.80s...' is too long for a path",
					 pattern);
		size += (size_t)added;
	}
	path[size] = '\0';
	if (strstr(pattern, "%j") && !names->job[0])
		return error_set(ret_error, -ENOENT,
				 "the lane does not say of which job it is");
	if (has_dots(path))
		return error_set(ret_error, -EINVAL,
				 "'%.300s' is no path of a job", path);
	return 0;
}
