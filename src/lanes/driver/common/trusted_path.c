/* SPDX-License-Identifier: BSD-3-Clause */
/* The configured path and what it resolves to are walked from the root. */
#include "lanes/driver/common/trusted_path.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"

static int check_entry(const char *what, const char *path, bool may_be_users,
		       struct fairlead_error *ret_error)
{
	struct stat entry;

	if (lstat(path, &entry) < 0)
		return error_set(ret_error, -errno, "%s: '%s': %s", what, path,
				 strerror(errno));
	if (!may_be_users && entry.st_uid != 0)
		return error_set(ret_error, -EPERM,
				 "%s: '%s' belongs to uid %u, not root", what,
				 path, entry.st_uid);
	if (S_ISLNK(entry.st_mode))
		return 0; /* a link's mode says nothing */
	if (may_be_users && S_ISDIR(entry.st_mode) && entry.st_mode & S_ISVTX)
		return 0; /* in /tmp only owners replace their files */
	if (entry.st_mode & (may_be_users ? S_IWOTH : S_IWOTH | S_IWGRP))
		return error_set(ret_error, -EPERM,
				 "%s: '%s' can be written by others", what,
				 path);
	return 0;
}

/* Every folder from the root to the file, then the file. */
static int check_path(const char *what, const char *path, bool may_be_users,
		      struct fairlead_error *ret_error)
{
	char prefix[PATH_MAX];
	size_t size = strlen(path);
	int result = check_entry(what, "/", may_be_users, ret_error);

	if (size >= sizeof(prefix))
		return error_set(ret_error, -ENAMETOOLONG,
				 "%s: the path is too long", what);
	for (size_t i = 1; i <= size && result == 0; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		result = check_entry(what, prefix, may_be_users, ret_error);
	}
	return result;
}

int trusted_path_resolve(const char *what, const char *path, bool may_be_users,
			 char **ret_path, struct fairlead_error *ret_error)
{
	_auto_(freep) char *resolved = NULL;
	struct stat file;
	int result;

	if (path[0] != '/')
		return error_set(ret_error, -EPERM,
				 "%s: '%s' is not an absolute path", what,
				 path);
	result = check_path(what, path, may_be_users, ret_error);
	if (result < 0)
		return result;
	resolved = realpath(path, NULL);
	if (!resolved || stat(resolved, &file) < 0)
		return error_set(ret_error, -errno, "%s: '%s': %s", what, path,
				 strerror(errno));
	if (!S_ISREG(file.st_mode))
		return error_set(ret_error, -ELIBBAD, "%s: '%s' is not a file",
				 what, path);
	result = check_path(what, resolved, may_be_users, ret_error);
	if (result == 0)
		*ret_path = take_ptr(resolved);
	return result;
}
