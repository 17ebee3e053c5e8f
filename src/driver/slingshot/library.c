/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A library that another user could replace would give that user our
 * privileges. So the configured path and what it resolves to are walked from
 * the root, and the resolved file is what is loaded: a link that is changed
 * afterwards leads nowhere.
 *
 * The software NIC's library says what it is by a symbol that the vendor's
 * does not have, not by its name or place, which anybody can choose.
 */
#include "driver/slingshot/library.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static int check_entry(const char *path, bool may_be_emulated,
		       struct fairlead_error *ret_error)
{
	struct stat entry;

	if (lstat(path, &entry) < 0)
		return error_set(ret_error, -errno, "library: '%s': %s", path,
				 strerror(errno));
	if (!may_be_emulated && entry.st_uid != 0)
		return error_set(ret_error, -EPERM,
				 "library: '%s' belongs to uid %u, not root",
				 path, entry.st_uid);
	if (S_ISLNK(entry.st_mode))
		return 0; /* a link's mode says nothing */
	if (may_be_emulated && S_ISDIR(entry.st_mode) &&
	    entry.st_mode & S_ISVTX)
		return 0; /* in /tmp only owners replace their files */
	if (entry.st_mode & (may_be_emulated ? S_IWOTH : S_IWOTH | S_IWGRP))
		return error_set(ret_error, -EPERM,
				 "library: '%s' can be written by others",
				 path);
	return 0;
}

/* Every folder from the root to the file, then the file. */
static int check_path(const char *path, bool may_be_emulated,
		      struct fairlead_error *ret_error)
{
	char prefix[PATH_MAX];
	size_t size = strlen(path);
	int result = check_entry("/", may_be_emulated, ret_error);

	if (size >= sizeof(prefix))
		return error_set(ret_error, -ENAMETOOLONG,
				 "library: the path is too long");
	for (size_t i = 1; i <= size && result == 0; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		memcpy(prefix, path, i);
		prefix[i] = '\0';
		result = check_entry(prefix, may_be_emulated, ret_error);
	}
	return result;
}

/* The path of the file itself; the caller frees it. */
static int resolve(const char *path, bool may_be_emulated, char **ret_path,
		   struct fairlead_error *ret_error)
{
	_auto_(freep) char *resolved = NULL;
	struct stat file;
	int result;

	if (path[0] != '/')
		return error_set(ret_error, -EPERM,
				 "library: '%s' is not an absolute path", path);
	result = check_path(path, may_be_emulated, ret_error);
	if (result < 0)
		return result;
	resolved = realpath(path, NULL);
	if (!resolved || stat(resolved, &file) < 0)
		return error_set(ret_error, -errno, "library: '%s': %s", path,
				 strerror(errno));
	if (!S_ISREG(file.st_mode))
		return error_set(ret_error, -ELIBBAD,
				 "library: '%s' is not a file", path);
	result = check_path(resolved, may_be_emulated, ret_error);
	if (result == 0)
		*ret_path = take_ptr(resolved);
	return result;
}

static void find_functions(struct cxi_library *library, const char **missing)
{
#define FIND_OPTIONAL(name) \
	library->name = dlsym(library->handle, "cxil_" #name);
#define FIND_REQUIRED(name)                     \
	FIND_OPTIONAL(name)                     \
	if (!library->name && *missing == NULL) \
		*missing = "cxil_" #name;

	CXI_LIBRARY_REQUIRED(FIND_REQUIRED)
	CXI_LIBRARY_OPTIONAL(FIND_OPTIONAL)
#undef FIND_REQUIRED
#undef FIND_OPTIONAL
}

int cxi_library_open(const char *path, bool may_be_emulated,
		     struct cxi_library **ret_library,
		     struct fairlead_error *ret_error)
{
	_auto_(cxi_library_closep) struct cxi_library *library = NULL;
	_auto_(freep) char *resolved = NULL;
	const char *missing = NULL;
	int result;

	result = resolve(path, may_be_emulated, &resolved, ret_error);
	if (result < 0)
		return result;
	library = calloc(1, sizeof(*library));
	if (!library)
		return error_set(ret_error, -ENOMEM, "out of memory");
	library->handle = dlopen(resolved, RTLD_NOW | RTLD_LOCAL);
	if (!library->handle)
		return error_set(ret_error, -ELIBBAD, "library: %s", dlerror());
	find_functions(library, &missing);
	if (missing)
		return error_set(ret_error, -ELIBBAD,
				 "library: '%s' has no function '%s'", path,
				 missing);
	library->is_emulated = dlsym(library->handle, CXI_SOFTNIC_MARKER);
	if (library->is_emulated && !may_be_emulated)
		return error_set(ret_error, -EPERM,
				 "library: '%s' is the software NIC's; lanes "
				 "on it protect nothing, set emulation to "
				 "true if that is meant",
				 path);
	*ret_library = take_ptr(library);
	return 0;
}

void cxi_library_close(struct cxi_library *library)
{
	if (!library)
		return;
	if (library->handle)
		dlclose(library->handle);
	free(library);
}
